"""Intervals by the default tolerance are as wide as those of Gaussian noise.

Where no output is fed back, squared errors are an exact quadratic, and coefficients within the
tolerance fill an ellipsoid. 1.96 standard errors to either side of least squares must hold 95 % of
the draws: a two-sided t test on batch means, Bonferroni over coefficients and cases; a false alarm
once in a thousand sets of seeds. The seeds are fixed.
"""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy import stats
from tests.calibration.test_prior_recovery import t_limit
from tests.engines import abc_engine

from adjoin import Dataset, Grammar
from adjoin.inference.ladder import Ladder
from adjoin.inference.prior import Prior

CASES = {1: "u(k)", 2: "u(k) + u(k-1)", 4: "u(k) + u(k-1) + u(k-2) + u(k-3)"}
N_ROWS, N_SAMPLES, N_BATCHES = 150, 60_000, 20


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="takes long")
@pytest.mark.parametrize("n_terms", CASES)
def test_intervals_are_those_of_gaussian_noise(n_terms: int) -> None:
    rng = np.random.default_rng(n_terms)
    u = rng.standard_normal(N_ROWS + 3)
    columns = np.column_stack([u[3 - lag : len(u) - lag] for lag in range(n_terms)])
    y = np.zeros(len(u))
    y[3:] = columns @ np.full(n_terms, 0.7) + 0.5 * rng.standard_normal(N_ROWS)
    grammar = Grammar.volterra(max_lag=3, max_degree=1).with_initial(CASES[n_terms])
    # Nothing but the fixed terms, and a prior that has no say in their coefficients.
    prior = Prior(expected_terms=1e-9, coefficient_sd=100.0, constant_odds=0.0)
    ladder = Ladder(rungs=2, descent=20, annealing=0.1, guided=0.9)
    engine = abc_engine(
        Dataset.from_arrays(u, y), grammar.alphabet, N_SAMPLES, prior=prior, ladder=ladder
    )
    chain = engine.start(0)
    chain.advance(N_SAMPLES)
    trace = chain.finish()
    assert len(trace.structures) == 1
    drawn = trace.theta.reshape(-1, n_terms)
    best, left, *_ = np.linalg.lstsq(columns, y[3:])
    variance = float(left[0]) / (N_ROWS - n_terms)
    error = np.sqrt(variance * np.diag(np.linalg.inv(columns.T @ columns)))
    is_inside = np.abs(drawn - best) <= stats.norm.isf(0.025) * error
    size = len(drawn) // N_BATCHES
    share = is_inside[: N_BATCHES * size].reshape(N_BATCHES, size, n_terms).mean(axis=1)
    t = (share.mean(axis=0) - 0.95) / (share.std(axis=0, ddof=1) / np.sqrt(N_BATCHES))
    assert np.abs(t).max() < t_limit(N_BATCHES, sum(CASES))
    # Tight enough to tell it from a tolerance that has the variance right, and the tails wrong.
    assert share.std(axis=0, ddof=1).max() / np.sqrt(N_BATCHES) < 0.005


def test_the_margin_is_that_of_the_variance_where_there_are_many_terms() -> None:
    ladder, n = Ladder(), 10_000
    ratio = [ladder.margin(p, n) * (n - p) / (p + 2) for p in (1, 2, 5, 20, 200)]
    assert ratio == sorted(ratio, reverse=True)
    assert ratio[0] == pytest.approx(1.42, abs=0.01)
    assert ratio[-1] == pytest.approx(1.0, abs=0.02)
    assert Ladder(kappa=3.0).margin(2, n) == pytest.approx(3.0 * ladder.margin(2, n))
    assert ladder.margin(5, 3) > 0.0  # more terms than samples
