"""With an infinite tolerance the free-run sampler draws from the prior.

A term must be in with probability λ_t p/(1 + λ_t p), all independently, with coefficients
N(0, σ_θ²). A run that diverges is refused at any tolerance, so nothing here can: either only inputs
are there, or coefficients are small and records short. Two-sided t tests on batch means, Bonferroni
over what one test compares; each gives a false alarm once in a thousand sets of seeds.
"""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from tests.calibration.test_abc_validity import GREY, NINE, Problem, Run, mean_absolute_error
from tests.calibration.test_prior_recovery import LONG, UNEVEN, t_limit, t_values
from tests.engines import abc_engine

from adjoin import Dataset, Grammar, Model, Structure
from adjoin.inference.engines.workspace import as_rung
from adjoin.inference.ladder import Ladder
from adjoin.inference.prior import Prior

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


def _problem(grammar: Grammar, coefficient_sd: float) -> Problem:
    rng = np.random.default_rng(6)
    names = grammar.alphabet.names
    u, y = rng.standard_normal((15, len(names.inputs))), rng.standard_normal(15)
    data = Dataset.from_arrays(u, y, names=(*names.inputs, names.output))
    prior = Prior(**{**LONG.settings, "coefficient_sd": coefficient_sd})
    return Problem(data, grammar, math.inf, prior, runaway=math.inf)


INPUTS_ALONE = _problem(Grammar.volterra(max_lag=1, max_degree=2), 0.5)
FED_BACK = _problem(NINE, 0.05)
FIXED = _problem(GREY, 0.05)
WITH_TWO_INPUTS = _problem(Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=2), 0.05)
NEAR_ZERO = {"birth_sd": 0.04, "width": 0.05}
RUNS = {
    "inputs alone": Run(INPUTS_ALONE, {"rungs": 1}),
    "inputs alone, paper": Run(INPUTS_ALONE, {"rungs": 3}, rule="paper", moves=UNEVEN),
    "fed back": Run(FED_BACK, {"rungs": 2, **NEAR_ZERO}, rule="paper"),
    "fixed terms": Run(FIXED, {"rungs": 1, **NEAR_ZERO}, rule="paper"),
    "two inputs": Run(WITH_TWO_INPUTS, {"rungs": 1, **NEAR_ZERO}, rule="paper", moves=UNEVEN),
}


@pytest.mark.slow
@pytest.mark.skipif(not IS_COMPILED, reason="far too many samples for plain Python")
@pytest.mark.parametrize("name", RUNS)
def test_an_infinite_tolerance_recovers_the_prior(name: str) -> None:
    run = RUNS[name]
    problem, batches = run.problem, run.batches(run.traces())
    sd, law = problem.prior.coefficient_sd, problem.law
    odds = np.array([np.inf if t in law.fixed else law.odds(t) for t in problem.terms])
    inclusion = 1.0 - 1.0 / (1.0 + odds)
    variance = (inclusion * (1.0 - inclusion)).sum()
    is_free = np.isfinite(odds)

    def row(batch) -> np.ndarray:
        z, n_terms = batch.theta / sd, batch.is_in.sum(axis=1)
        moments = [np.mean(z**power, axis=0) for power in (1, 2, 4)]
        size = [n_terms.mean(), np.mean((n_terms - inclusion.sum()) ** 2)]
        return np.concatenate([batch.is_in.mean(axis=0)[is_free], *moments, size])

    moments = [0.0 * inclusion, inclusion, 3.0 * inclusion]
    wanted = np.concatenate([inclusion[is_free], *moments, [inclusion.sum(), variance]])
    found = np.array([row(batch) for batch in batches])
    assert np.abs(t_values(found, wanted)).max() < t_limit(len(found), len(wanted))
    # Tight enough to mean something: the number of terms is known to a few percent.
    error = found[:, -2].std(ddof=1) / math.sqrt(len(found))
    assert error < 0.03 * inclusion.sum()


@pytest.mark.parametrize("distance", [None, mean_absolute_error])
def test_diverging_runs_are_refused_at_any_tolerance(distance) -> None:
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal(40), rng.standard_normal(40))
    chain = abc_engine(
        data,
        Grammar.narx(max_lag=1, max_degree=3).alphabet,
        samples=400,
        prior=Prior(coefficient_sd=2.0),
        ladder=Ladder(tolerance=math.inf, rungs=1, birth_sd=2.0, descent=5),
        rule="paper",
        distance=distance,
    ).start(0)
    chain.advance(400)
    ladder = chain.finish().ladder
    assert ladder is not None
    assert np.isfinite(ladder.distance).all()


@pytest.mark.parametrize(
    ("distance", "level"), [(None, 0.0), (mean_absolute_error, 0.0), (None, 40.0)]
)
def test_no_rung_ever_holds_a_run_that_ran_away(distance, level: float) -> None:
    """At an infinite tolerance too, and where no model at all (0) is out of range itself."""
    rng = np.random.default_rng(1)
    data = Dataset.from_arrays(rng.standard_normal(60), level + rng.standard_normal(60))
    engine = abc_engine(
        data,
        Grammar.narx(max_lag=1, max_degree=2).alphabet,
        samples=300,
        ladder=Ladder(tolerance=math.inf, rungs=3, descent=20),
        rule="paper",
        distance=distance,
        runaway=3.0,
    )
    lower, upper = engine.problem.bounds
    y = data.records[0].output
    assert (lower, upper) == pytest.approx(
        [(y.max() + y.min()) / 2 + side * 1.5 * np.ptp(y) for side in (-1, 1)]
    )
    chain = engine.start(2)
    n_terms, farthest = 0, 0.0
    for _ in range(30):
        chain.advance(10)
        for c in range(3):
            state = as_rung(chain.ladder.rungs.state, c)
            keys = tuple(state.key[: state.n_terms[0]])
            terms = [engine.encoding.term(key) for key in keys]
            given = dict(zip(terms, state.theta[: len(terms)], strict=True))
            structure = Structure(tuple(terms), data.names)
            model = Model(structure, tuple(given[term] for term in structure))
            run = model.simulate(data.u, y[:1])[1:] if terms else np.zeros(59)
            assert ((run >= lower) & (run <= upper)).all()
            n_terms, farthest = n_terms + len(terms), max(farthest, np.abs(run - y[1:]).max())
    assert n_terms > 0
    assert farthest > np.ptp(y) / 2  # far away all the same: the tolerance is infinite
