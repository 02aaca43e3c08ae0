"""The power of the likelihood, given or estimated, as a user meets it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from scipy.signal import lfilter
from tests.systems import LINEAR, quick, simulated

from adjoin import Grammar, Model, Prior
from adjoin.inference.autocorrelation import integrated_time

TRUTH = Model.parse(LINEAR).structure
U, Y = simulated()
Z = 4.5  # two-sided; false alarm 7e-6 a comparison


def autoregressive(phi: float, n: int, rng: np.random.Generator) -> np.ndarray:
    """A stationary first-order autoregression of unit variance."""
    white = rng.standard_normal(n + 200)
    return np.sqrt(1 - phi**2) * np.asarray(lfilter([1.0], [1.0, -phi], white))[200:]


def coloured(
    n: int = 20_000, phi: float = 0.8, input_phi: float = 0.9, seed: int = 8
) -> tuple[np.ndarray, np.ndarray]:
    """A gain with a slow input and autoregressive noise on its output."""
    rng = np.random.default_rng(seed)
    u = autoregressive(input_phi, n, rng)
    return u, 0.5 * u + 0.5 * autoregressive(phi, n, rng)


ONLY_GAIN = {"grammar": Grammar.fir(max_lag=1), "max_lag": 1, "max_degree": 1}


def test_white_residuals_deserve_the_whole_likelihood() -> None:
    """Exactly: the same test of the residuals that a report shows finds nothing."""
    u, y = simulated(n=4000)
    posterior = quick(likelihood_power="auto").fit(u, y).posterior_
    assert posterior.power == 1.0
    assert posterior.residual_tests()[0].is_passed
    assert posterior.settings.power_note == (
        "the residuals of a first run of 2,000 samples look independent"
    )


def test_autocorrelated_residuals_deserve_less() -> None:
    """No output among the regressors, so that the model cannot whiten its residuals."""
    u, y = coloured()
    posterior = quick(**ONLY_GAIN, likelihood_power="auto").fit(u, y).posterior_
    assert str(posterior.map_model.structure) == "u(k)"
    assert posterior.settings["likelihood_power"] == posterior.power
    assert posterior.diagnostics["likelihood_power"] == posterior.power
    # ρ_ε(i) ρ_u(i) = 0.72^i: τ = 1.72/0.28, with Sokal's relative error sqrt(2(2·5·τ + 1)/n).
    expected = 1.72 / 0.28
    assert abs(posterior.power * expected - 1) < Z * np.sqrt(2 * (10 * expected + 1) / len(u))
    # The spread of coefficients grows as the root of τ.
    sure = quick(**ONLY_GAIN).fit(u, y).posterior_
    ratio = posterior.coefficients()["sd"] / sure.coefficients()["sd"]
    np.testing.assert_allclose(ratio, posterior.power**-0.5, rtol=0.2)
    assert posterior.noise["mean"] == pytest.approx(sure.noise["mean"], rel=0.02)


def test_a_fast_input_averages_slow_noise_out() -> None:
    """The residuals' own time is 9, but samples of a white input are as good as independent."""
    u, y = coloured(input_phi=0.0)
    posterior = quick(**ONLY_GAIN, likelihood_power="auto").fit(u, y).posterior_
    assert integrated_time(posterior.residuals()) > 6.0
    assert 0.9 < posterior.power <= 1.0


def test_what_the_input_still_explains_is_not_taken_for_noise() -> None:
    """The input acts twelve samples ago, which a window of one sample cannot say."""
    rng = np.random.default_rng(3)
    u = autoregressive(0.9, 2000, rng)
    y = np.roll(u, 12) + 0.3 * u**2 + 0.1 * rng.standard_normal(2000)
    settings = {**ONLY_GAIN, "grammar": Grammar.volterra(max_lag=1, max_degree=2), "max_degree": 2}
    settings |= {"likelihood_power": "auto", "samples": 500}
    with pytest.warns(
        UserWarning, match="estimate refused: .* the input still .* explains"
    ) as told:
        posterior = quick(**settings).fit(u, y).posterior_
    assert posterior.power == 1.0
    assert posterior.settings.is_power_refused
    note = posterior.settings["power_note"]
    assert "a first run of 500 samples" in note
    assert "the whole likelihood counts instead" in note
    assert "set likelihood_power to a number" in str(told[0].message)
    verdict = posterior.diagnostics["verdict"]
    assert f"likelihood_power='auto': {note}" in verdict["reasons"]
    assert any("set likelihood_power to a number" in step for step in verdict["advice"])
    assert verdict["level"] != "good"


def oscillating(n: int = 3000) -> tuple[np.ndarray, np.ndarray]:
    """A slow, lightly damped system, sampled often."""
    rng = np.random.default_rng(5)
    u = autoregressive(0.95, n, rng)
    model = Model.parse("y(k) = 0.01*u(k-1) + 1.97*y(k-1) - 0.98*y(k-2)")
    return u, model.simulate(u, noise=1e-3 * rng.standard_normal(n))


def test_a_first_run_that_is_too_short_is_made_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Residuals of ``y(k-1)`` alone are slow; those of the equation that is found are white."""
    u, y = oscillating()
    monkeypatch.setattr("adjoin.results.pilot.SHORTEST", 10)
    posterior = quick(likelihood_power="auto").fit(u, y).posterior_
    found = re.search(r"a first run of ([\d,]+) samples", posterior.settings.power_note)
    assert found is not None
    assert 10 < int(found[1].replace(",", "")) <= 2000
    assert not posterior.settings.is_power_refused
    assert posterior.power == 1.0


def test_a_first_run_that_stays_poor_does_not_cost_the_model() -> None:
    """Ten samples a chain find next to nothing; what they leave is no noise to be careful of."""
    u, y = oscillating()
    with pytest.warns(UserWarning, match="estimate refused: after a first run of 10 samples"):
        posterior = quick(samples=10, thin=1, likelihood_power="auto").fit(u, y).posterior_
    assert posterior.power == 1.0


def test_the_power_does_not_depend_on_units_and_offsets() -> None:
    u, y = coloured(2000)
    settings = {**ONLY_GAIN, "likelihood_power": "auto", "center": True}
    plain = quick(**settings).fit(u, y).posterior_.power
    moved = quick(**settings).fit(1e3 * u + 7e4, 1e-2 * y - 30.0).posterior_.power
    assert moved == pytest.approx(plain, rel=1e-6)
    assert plain < 0.5


def test_a_power_of_one_is_the_default_and_of_a_half_is_less_sure() -> None:
    half = quick(likelihood_power=0.5).fit(U, Y).posterior_
    whole = quick().fit(U, Y).posterior_
    assert (half.power, whole.power) == (0.5, 1.0)
    ratio = half.coefficients(TRUTH)["sd"] / whole.coefficients(TRUTH)["sd"]
    np.testing.assert_allclose(ratio, np.sqrt(2), rtol=0.2)


def test_without_likelihood_it_samples_the_prior() -> None:
    """Inclusion λp/(1 + λp) of all 21 terms of the alphabet, errors by autocorrelation."""
    prior = Prior(expected_terms=3.0, noise_shape=2.0, noise_scale=1.0)
    model = quick(samples=40_000, thin=4, burn_in=0.0, chains=4, likelihood_power=0)
    posterior = model.set_params(prior=prior).fit(U, Y).posterior_
    draws, alphabet = posterior.draws, model.grammar_.alphabet
    rows = np.repeat(np.arange(len(draws)), np.diff(draws.offset))
    z = []
    for number, key in enumerate(posterior._terms):
        present = np.zeros(len(draws))
        present[rows[draws.term == number]] = 1.0
        expected = prior.inclusion(posterior.encoding.term(key), alphabet)
        time = integrated_time([present[draws.chain == chain] for chain in range(4)])
        z.append(
            (present.mean() - expected) / np.sqrt(expected * (1 - expected) * time / len(draws))
        )
    assert len(z) == alphabet.n_terms == 21
    assert np.max(np.abs(z)) < Z + 0.5  # 21 comparisons: false alarm 21 × 6e-7 = 1e-5
    assert set(posterior.map_model.theta) <= {0.0}  # the mode of the prior
