"""The noise prior is no floor, and noise-free data are safe."""

from __future__ import annotations

import json
import math
import warnings

import numpy as np
import pytest
from tests.systems import quick, simulated

from adjoin import Dataset, Grammar, Identifier, Prior
from adjoin.data.scaling import Scaling
from adjoin.inference.problem import Problem
from adjoin.inference.rows import conditional_mode
from adjoin.report.findings import describe, noise_in_words
from adjoin.results.assessment import assess

ALPHABET = Grammar.narx(max_lag=2, max_degree=2).alphabet


def _problem(factor: float = 1.0, n: int = 100, scaled: bool = False) -> Problem:
    u, y = simulated(n=n)
    data = Dataset.from_arrays(u, factor * (y + 3.0))
    return Problem(data, ALPHABET, Scaling.from_dataset(data, False, True) if scaled else None)


def test_the_rule_by_its_formula() -> None:
    problem = _problem()
    fitted = problem.data.y[2:]
    assert problem.noise_scale(Prior()) == pytest.approx(0.5 * 2.0**-80 * np.sum(fitted**2))
    assert problem.noise_scale(Prior(units="raw")) == problem.noise_scale(Prior())
    limit = problem.noise_limit(Prior(), 1.0)
    assert limit == pytest.approx(2.0**-40 * math.sqrt(np.mean(fitted**2)), rel=1e-6)
    assert problem.noise_limit(Prior(), 0.25) == pytest.approx(2.0 * limit, rel=1e-6)


def test_the_limit_knows_neither_units_nor_the_number_of_samples() -> None:
    limits = []
    for factor, n, scaled in [(1.0, 200, False), (1e-6, 200, False), (1e6, 200, True)]:
        problem = _problem(factor, n, scaled)
        found = problem.noise_limit(Prior(), 1.0) * problem.rows.scaling.noise_factor
        limits.append(found / math.sqrt(np.mean(problem.data.y[2:] ** 2)))
    assert limits == pytest.approx([2.0**-40] * 3, rel=1e-6)
    assert _problem(n=4000).noise_limit(Prior(), 1.0) == pytest.approx(
        _problem(n=400).noise_limit(Prior(), 1.0), rel=0.1
    )


def test_a_number_in_the_prior_means_what_it_meant() -> None:
    problem = _problem(7.0)
    prior = Prior(noise_scale=1e-5)
    assert problem.noise_scale(prior) == pytest.approx(1e-5 * np.var(problem.data.y))
    assert problem.noise_scale(Prior(noise_scale=1e-5, units="raw")) == 1e-5
    assert problem.noise_scale(Prior.paper()) == 1.0


def test_an_output_of_zeros_has_a_proper_prior() -> None:
    u = np.random.default_rng(0).standard_normal(50)
    problem = Problem(Dataset.from_arrays(u, np.zeros(50)), ALPHABET)
    assert problem.noise_scale(Prior()) == 0.5 * 2.0**-80 * 48


def test_noise_is_not_drawn_before_the_data_are_known() -> None:
    grammar = Grammar.narx(max_lag=2, max_degree=2)
    assert {m.noise_sd for m in Prior(noise_shape=2.0).draw(grammar, 5)} == {None}


@pytest.mark.parametrize("noise", [1e-3, 1e-6, 1e-9, 1e-11])
def test_the_prior_is_no_floor(noise: float) -> None:
    """Down to a tenth of the step of a converter with 33 bits; five standard errors of σ."""
    u, y = simulated(n=2000, noise=noise)
    posterior = quick(samples=4000).fit(u, y).posterior_
    assert posterior.structures["structure"][0] == "u(k-1) + y(k-1)"
    assert posterior.noise["mean"] / noise == pytest.approx(1.0, abs=5 / math.sqrt(4000))
    assert posterior.is_noise_told
    if noise < 1e-3:
        floored = quick(samples=4000, prior=Prior(noise_scale=1e-5)).fit(u, y).posterior_
        assert floored.noise["mean"] > 10 * noise
        assert not floored.is_noise_told
        assert noise_in_words(floored)[1].endswith("], raised by the prior's noise_scale")


def _noise_free(kind: str) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if kind == "academic":
        u, y = rng.standard_normal(1000), np.zeros(1000)
        for k in range(5, 1000):
            y[k] = 0.5 * u[k - 1] - 0.3 * u[k - 5] ** 3 + 0.3 * y[k - 1]
        return u, y
    u, y = np.zeros(3000), np.zeros(3000)
    for k, step in enumerate(rng.standard_normal(2999), 1):
        u[k] = 0.99 * u[k - 1] + 0.1 * step
    for k in range(2, 3000):
        y[k] = 1.99 * y[k - 1] - 0.9901 * y[k - 2] + 1e-4 * u[k - 1]
    return u, y


TRUTH = {
    "academic": {"u(k-1)": 0.5, "u(k-5)^3": -0.3, "y(k-1)": 0.3},
    "oversampled": {"u(k-1)": 1e-4, "y(k-1)": 1.99, "y(k-2)": -0.9901},
}


@pytest.mark.parametrize("kind", TRUTH)
@pytest.mark.parametrize("seed", [0, 1])
def test_noise_free_data_give_the_truth_and_nothing_else(kind: str, seed: int) -> None:
    u, y = _noise_free(kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        posterior = Identifier(chains=2, seed=seed, progress=False).fit(u, y).posterior_
    best = posterior.structures.iloc[0]
    assert best["structure"] == " + ".join(TRUTH[kind])
    assert best["mass"] > 0.98
    assert list(posterior.map_model.theta) == pytest.approx(list(TRUTH[kind].values()), rel=1e-9)
    for name in ("noise", "theta", "log_lik"):
        assert np.isfinite(getattr(posterior.draws, name)).all()
    assert not posterior.is_noise_told
    value, note = noise_in_words(posterior)
    assert value.startswith("at most ")
    assert float(value.split()[-1]) < 2.0**-39 * np.std(y)
    assert note == "which is below what can be told from these data"
    if kind == "academic":
        assert posterior.diagnostics["verdict"]["level"] == "good"
        facts = json.loads(json.dumps(describe(assess(posterior, draws=10))))
        assert facts["noise"]["is_told"] is False


def test_the_mode_keeps_the_digits_of_the_columns() -> None:
    """What it leaves exceeds the least squares by far less than the noise, on a smooth output."""
    u, y = _noise_free("oversampled")
    rng = np.random.default_rng(1)
    columns = np.column_stack([u[1:-1], y[1:-1], y[:-2], np.roll(y, 3)[2:]])
    sd = 1e-9 * np.std(y)
    output = y[2:] + sd * rng.standard_normal(len(columns))
    found = conditional_mode(columns, output, sd**2, 1.0, 1.0)
    basis, _ = np.linalg.qr(columns)
    left = output - basis @ (basis.T @ output)
    excess = (output - columns @ found) - left
    assert np.linalg.norm(excess) < 0.01 * sd * math.sqrt(len(output))
