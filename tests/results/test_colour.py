"""Autoregressive noise on top of a free run: drawn, predicted, whitened; and bands that hold it.

z-scores and p-values, Bonferroni over what one test compares: a false alarm once in a thousand
seeds. The seeds are fixed.
"""

from __future__ import annotations

import os
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter

from adjoin import Identifier, Model
from adjoin.results.colour import (
    draw_noise,
    innovations,
    predict_noise,
    stationary_covariance,
)

FALSE_ALARM = 1e-3
COLOURS = {
    "one": [0.8],
    "one, negative": [-0.6],
    "two": [0.5, 0.3],
    "two, oscillating": [1.2, -0.8],
    "two, without the first": [0.0, 0.6],
}


def impulse(rho: np.ndarray, n: int) -> np.ndarray:
    """ψ: what e leaves of itself in v, so many samples on."""
    return lfilter([1.0], [1.0, *-rho], np.eye(n)[0])


def covariance(rho: np.ndarray, n: int) -> np.ndarray:
    """Of n neighbours, by the sum over a long past."""
    psi = impulse(rho, 4000)
    lagged = [float(psi[: len(psi) - lag] @ psi[lag:]) for lag in range(n)]
    return np.array([[lagged[abs(i - j)] for j in range(n)] for i in range(n)])


# Drawing


@pytest.mark.parametrize("name", COLOURS)
def test_the_covariance_of_neighbours(name: str) -> None:
    rho = np.array(COLOURS[name])
    expected = covariance(rho, len(rho))
    np.testing.assert_allclose(stationary_covariance(rho), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", ["white", *COLOURS])
def test_drawn_noise_is_stationary_from_its_first_sample_on(name: str) -> None:
    """Means and covariances of the first six samples of many series."""
    rho, sd, n, n_series = np.array(COLOURS.get(name, [])), 1.7, 6, 8000
    rng = np.random.default_rng(4)
    series = np.array([draw_noise(rng, sd, rho, n) for _ in range(n_series)])
    expected = sd**2 * covariance(rho, n)
    found = series.T @ series / n_series
    variance = np.diag(expected)
    error = np.sqrt((np.outer(variance, variance) + expected**2) / n_series)
    upper = np.triu_indices(n)
    z = np.append(
        ((found - expected) / error)[upper],
        series.mean(axis=0) / np.sqrt(variance / n_series),
    )
    assert np.abs(z).max() < stats.norm.isf(FALSE_ALARM / 2 / len(z))


# Predicting


@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_predictions_are_the_recursion_without_noise(name: str, steps: int) -> None:
    rho = np.array(COLOURS[name])
    v = np.random.default_rng(3).standard_normal(25)
    expected = []
    for k in range(len(v)):
        past = [0.0] * len(rho) + v[: max(k - steps + 1, 0)].tolist()
        for _ in range(min(steps, k + 1)):
            past.append(sum(r * past[-lag] for lag, r in enumerate(rho, start=1)))
        expected.append(past[-1])
    predicted, spread = predict_noise(v, rho, steps)
    np.testing.assert_allclose(predicted, expected, rtol=1e-12, atol=1e-14)
    psi = impulse(rho, steps)
    np.testing.assert_allclose(spread[steps:], np.sqrt(psi @ psi), rtol=1e-12)
    unpredicted = np.sqrt(stationary_covariance(rho)[0, 0])  # without a past
    np.testing.assert_allclose(spread[:steps], unpredicted, rtol=1e-12)


def test_spread_of_order_one_in_closed_form() -> None:
    for rho in (0.9, -0.4):
        for steps in (1, 2, 5, 50):
            _, spread = predict_noise(np.zeros(steps + 1), np.array([rho]), steps)
            expected = (1.0 - rho ** (2 * steps)) / (1.0 - rho**2)
            assert spread[-1] ** 2 == pytest.approx(expected, rel=1e-12)


def test_white_noise_is_not_predicted() -> None:
    v = np.arange(4.0)
    predicted, spread = predict_noise(v, np.empty(0), 3)
    assert (predicted.tolist(), spread.tolist()) == ([0.0] * 4, [1.0] * 4)
    assert innovations(v, np.empty(0)).tolist() == v.tolist()


def test_a_record_shorter_than_the_way_ahead_is_not_predicted() -> None:
    predicted, _ = predict_noise(np.ones(3), np.array([0.5, 0.2]), 5)
    assert predicted.tolist() == [0.0] * 3


@pytest.mark.parametrize("name", COLOURS)
def test_innovations_are_what_the_noise_was_made_of(name: str) -> None:
    rho, white = np.array(COLOURS[name]), np.random.default_rng(8).standard_normal(200)
    v = lfilter([1.0], [1.0, *-rho], white)  # from rest
    np.testing.assert_allclose(innovations(v, rho), white, atol=1e-11)


@pytest.mark.parametrize("name", COLOURS)
@pytest.mark.parametrize("steps", [1, 3])
def test_what_predictions_miss_has_their_spread(name: str, steps: int) -> None:
    """Errors of every `steps`-th sample have no e in common, and so are independent."""
    rho, sd, n = np.array(COLOURS[name]), 0.4, 30_000
    v = draw_noise(np.random.default_rng(6), sd, rho, n)
    predicted, spread = predict_noise(v, rho, steps)
    missed = ((v - predicted) / (sd * spread))[10::steps]
    assert stats.kstest(missed, "norm").pvalue > FALSE_ALARM


# Bands of a posterior

N_SETS, N_FITTED, N_FRESH = 8, 500, 3000
RHO, SD = 0.6, 0.2
TRUTH = Model.parse("y(k) = 0.5*u(k-1) + 0.6*y(k-1)")


class Held(NamedTuple):
    """Shares of fresh samples in their 95 % bands, and root mean squared errors."""

    free: float
    by_steps: dict[int, float]
    free_error: float
    error_by_steps: dict[int, float]


@cache
def held() -> list[Held]:
    found = []
    for seed in range(N_SETS):
        rng = np.random.default_rng([21, seed])
        u = rng.standard_normal(N_FITTED + N_FRESH)
        y = TRUTH.simulate(u) + draw_noise(rng, SD, np.array([RHO]), len(u))
        model = Identifier(
            objective="simulation",
            noise="ar",
            samples=2500,
            chains=2,
            max_lag=1,
            max_degree=1,
            seed=seed,
        )
        posterior = model.fit(u[:N_FITTED], y[:N_FITTED]).posterior_
        u, y = u[N_FITTED:], y[N_FITTED:]
        free = posterior.simulate(u, y[:1], draws=300)
        ahead = {s: posterior.predict(u, y, steps_ahead=s, draws=300) for s in (1, 3)}
        found.append(
            Held(
                free.coverage(y),
                {s: p.coverage(y) for s, p in ahead.items()},
                float(np.sqrt(np.mean((free.mean - y) ** 2))),
                {s: float(np.sqrt(np.mean((p.mean - y) ** 2))) for s, p in ahead.items()},
            )
        )
    return found


in_full = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
        reason="far too many samples for plain Python",
    ),
]


class TestBands:
    pytestmark = in_full

    def test_bands_of_free_runs_cover_fresh_data(self) -> None:
        """Their mean over the sets has a standard error near 0.0045: a false alarm in 1e5."""
        covered = float(np.mean([each.free for each in held()]))
        print(f"95 % bands of free runs hold {covered:.3f} of fresh samples")  # pytest -rP
        assert 0.93 < covered < 0.97

    @pytest.mark.parametrize("steps", [1, 3])
    def test_bands_of_predictions_cover_what_they_say(self, steps: int) -> None:
        """A t test over the sets, and a mean whose standard error is near 0.003."""
        covered = np.array([each.by_steps[steps] for each in held()])
        assert stats.ttest_1samp(covered, 0.95).pvalue > FALSE_ALARM / 2
        assert abs(covered.mean() - 0.95) < 0.013

    def test_predictions_are_better_than_free_runs_by_what_the_past_says(self) -> None:
        r"""By :math:`\sqrt{1 - ρ^{2s}}`; of 24,000 samples the ratio is known to a hundredth."""
        for steps in (1, 3):
            ratio = np.array([each.error_by_steps[steps] / each.free_error for each in held()])
            assert (ratio < 1.0).all()
            assert ratio.mean() == pytest.approx(np.sqrt(1.0 - RHO ** (2 * steps)), abs=0.02)
