"""Whether signals are centred: decided by the evidence, by nothing else, and said."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from tests.engines import prediction_engine

from adjoin import Dataset, Grammar, Identifier, Prior, Structure
from adjoin.inference.centring import log_evidence

QUICK = {"samples": 500, "chains": 2, "max_lag": 3, "max_degree": 3, "progress": False}


def oscillator(seed: int, offset: float, n: int = 800) -> tuple[np.ndarray, np.ndarray]:
    """A mass on a hardening spring; `offset` of the sensor in standard deviations."""
    rng = np.random.default_rng(seed)
    u = np.convolve(rng.standard_normal(n), np.ones(8) / 3.0, "same")
    y = np.zeros(n)
    for k in range(2, n):
        y[k] = 1.9 * y[k - 1] - 0.95 * y[k - 2] - 0.02 * y[k - 1] ** 3 + 0.05 * u[k - 1]
    spread = y.std()
    return u, y + spread * (offset + 0.01 * rng.standard_normal(n))


@pytest.mark.parametrize("power", [1.0, 0.4])
@pytest.mark.parametrize("text", ["0", "1 + u(k)", "u(k) + u(k)^2 + y(k-1)"])
def test_the_evidence_of_a_structure_equals_its_integral(text: str, power: float) -> None:
    rng = np.random.default_rng(3)
    u = rng.standard_normal(60)
    data = Dataset.from_arrays(u, 0.7 * u + 0.5 * rng.standard_normal(60) + 0.3)
    grammar = Grammar.narx(max_lag=1, max_degree=2)
    prior = Prior(noise_shape=0.5, noise_scale=0.2, coefficient_sd=0.8)
    engine = prediction_engine(data, grammar.alphabet, prior, power=power)
    structure = Structure.parse(text, grammar.signals)
    rows = engine.problem.rows
    columns, output, target = rows.design(structure), rows.fitted, engine.rules.target

    def density(log_noise: float) -> float:
        noise = math.exp(log_noise)
        covariance = noise / power * np.eye(len(output)) + 0.8**2 * columns @ columns.T
        _, log_det = np.linalg.slogdet(covariance * power / noise)
        error = output @ np.linalg.solve(covariance, output)
        value = -0.5 * power * len(output) * log_noise - 0.5 * (log_det + error)
        return value - target.noise_shape * log_noise - target.noise_scale / noise

    peak = max(map(density, np.linspace(-4.0, 3.0, 200)))
    integral, _ = quad(lambda x: math.exp(density(x) - peak), -8.0, 8.0, limit=200)
    # Laplace's method errs by about one over the number of samples that count.
    found = log_evidence(engine, structure, 0.8**2)
    assert found == pytest.approx(peak + math.log(integral), abs=1.0 / (power * len(output)))


@pytest.mark.parametrize(("offset", "is_centred"), [(0.0, False), (1.0, True), (3.0, True)])
def test_the_better_units_are_found_whatever_the_seed_and_on_part_of_the_record(
    offset: float, is_centred: bool
) -> None:
    u, y = oscillator(1, offset)
    gains = []
    for seed, n in ((0, 800), (1, 800), (0, 560)):
        settings = Identifier(seed=seed, **QUICK).fit(u[:n], y[:n]).posterior_.settings
        assert settings.center is is_centred
        gains.append(settings.center_gain)
    assert gains[0] == gains[1]  # no matter of the seed
    assert all((gain > 0.0) is is_centred for gain in gains)


def test_nothing_is_decided_where_there_are_no_means() -> None:
    u, y = oscillator(1, 1.0, 300)
    settings = Identifier(seed=0, **QUICK).fit(u - u.mean(), y - y.mean()).posterior_.settings
    assert not settings.center
    assert settings.center_gain is None


def test_who_says_so_is_obeyed() -> None:
    u, y = oscillator(1, 1.0, 300)
    for center in (True, False):
        settings = Identifier(seed=0, center=center, **QUICK).fit(u, y).posterior_.settings
        assert settings.center is center
        assert settings.center_gain is None


@pytest.mark.parametrize("changed", [{"prior": "paper"}, {"functions": "abs"}, {"initial": "u(k)"}])
def test_raw_signals_where_units_have_a_meaning(changed: dict[str, str]) -> None:
    u, y = oscillator(1, 3.0, 300)
    settings = Identifier(seed=0, **QUICK, **changed).fit(u, y).posterior_.settings
    assert not settings.center
    assert settings.center_gain is None
