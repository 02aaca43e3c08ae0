"""Simulation-based calibration: the truth ranks uniformly among draws from its posterior.

Truths are drawn from the prior, data from the model; each chain then gives 99 draws, thinned to
near independence, and the rank of the truth among them must be uniform (ties broken at random). One
χ² test on 20 bins per statistic, Bonferroni over statistics and cases: a false alarm once in a
thousand sets of seeds. The seeds are fixed.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from tests.engines import prediction_engine

from adjoin import Dataset, Grammar, Model
from adjoin.grammar import Structure
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.prior import Prior
from adjoin.inference.traces import ChainTrace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
        reason="far too many samples for plain Python",
    ),
]

FALSE_ALARM = 1e-3
N_SETS, N_DRAWS, N_BINS = 500, 99, 20
THIN, BURN_IN = 120, 40  # samples between draws, draws left out


@dataclass(frozen=True)
class Case:
    """A grammar and a proper prior; `watched` are the terms whose fate is ranked."""

    grammar: Grammar
    prior: Prior
    n_samples: int
    largest_input: float
    watched: tuple[str, ...]


PROPER = {"noise_shape": 5.0, "units": "raw", "degree_rate": 1.0, "expected_terms": 3.0}
CASES = {
    "inputs alone": Case(
        Grammar.volterra(max_lag=2, max_degree=2),
        Prior(noise_scale=8.0, **PROPER),
        n_samples=42,
        largest_input=2.0,
        watched=("1", "u(k)", "u(k-1)^2", "u(k)*u(k-1)"),
    ),
    # Coefficients of 0.05 cannot make y grow: inputs stay below 3 and outputs near 1, so that what
    # feeds y(k-1) back has a gain of at most a few times 0.05·3. The test checks every record.
    "outputs too": Case(
        Grammar.narx(max_lag=2, max_degree=2),
        Prior(noise_scale=0.2, coefficient_sd=0.05, **PROPER),
        n_samples=62,
        largest_input=3.0,
        watched=("1", "u(k)", "y(k-1)", "u(k-1)*y(k-1)"),
    ),
    "fixed terms and hyperpriors": Case(
        Grammar.volterra(inputs=("u", "v"), max_lag=1, max_degree=2).with_initial("u(k-2) + v(k)"),
        Prior(
            noise_scale=8.0,
            coefficient_shape=4.0,
            coefficient_scale=2.0,
            terms_shape=2.0,
            lag_uniform=0.3,
            **PROPER,
        ),
        n_samples=42,
        largest_input=2.0,
        watched=("u(k)", "v(k)", "u(k-1)*v(k)"),
    ),
}


def _simulate(case: Case, model: Model, rng: np.random.Generator) -> Dataset:
    """Data from the model, given inputs and the first outputs, which are not modelled."""
    names, n = case.grammar.signals, case.n_samples
    u = rng.uniform(-case.largest_input, case.largest_input, (n, len(names.inputs)))
    seeds = 0.3 * rng.standard_normal(case.grammar.alphabet.max_lag)
    y = model.simulate(u, seeds, noise=model.noise_sd * rng.standard_normal(n))
    assert np.abs(y).max() < 100.0  # nothing diverged (that would also warn)
    return Dataset.from_arrays(u, y, names=(*names.inputs, names.output))


def _truth(case: Case, model: Model, data: Dataset) -> dict[str, float]:
    first = case.grammar.alphabet.max_lag
    error = (data.y - model.predict(data.u, data.y))[first:]
    variance = model.noise_sd**2
    found = {
        "noise": variance,
        "n_terms": float(len(model.structure)),
        "square": float(np.square(model.theta).sum()),
        "log_lik": -0.5 * (len(error) * np.log(2 * np.pi * variance) + error @ error / variance),
    }
    for text in case.watched:
        found[f"{text} in"] = float(text in model.coefficients)
        found[f"θ of {text}"] = model.coefficients.get(text, 0.0)
    return found


def _draws(case: Case, trace: ChainTrace, engine: PredictionEngine) -> dict[str, np.ndarray]:
    number = np.repeat(np.arange(len(trace.structure)), np.diff(trace.offset))
    found = {
        "noise": trace.noise,
        "n_terms": np.diff(trace.offset).astype(float),
        "square": np.bincount(number, trace.theta**2, len(trace.structure)),
        "log_lik": trace.log_lik,
    }
    for text in case.watched:
        (term,) = Structure.parse(text, case.grammar.signals)
        key = engine.encoding.key(term)
        place = [keys.index(key) if key in keys else -1 for keys in trace.structures]
        place = np.array(place)[trace.structure]
        theta = np.zeros(len(place))
        is_in = place >= 0
        theta[is_in] = trace.theta[trace.offset[:-1][is_in] + place[is_in]]
        found[f"{text} in"], found[f"θ of {text}"] = is_in.astype(float), theta
    return found


def _ranks(case: Case, model: Model, number: int) -> dict[str, int]:
    rng = np.random.default_rng([77, number])
    data = _simulate(case, model, rng)
    engine = prediction_engine(data, case.grammar.alphabet, case.prior, thin=THIN)
    chain = engine.start(number)
    chain.advance(THIN * (BURN_IN + N_DRAWS))
    truth, draws = _truth(case, model, data), _draws(case, chain.finish(), engine)
    ranks = {}
    for name, value in truth.items():
        drawn = draws[name][BURN_IN:]
        n_less, n_equal = int((drawn < value).sum()), int((drawn == value).sum())
        ranks[name] = n_less + int(rng.integers(0, n_equal + 1))
    return ranks


@pytest.mark.parametrize("name", CASES)
def test_truths_rank_uniformly(name: str) -> None:
    case = CASES[name]
    models = case.prior.draw(case.grammar, n=N_SETS, seed=101)
    with ThreadPoolExecutor(2) as pool:
        ranks = list(pool.map(_ranks, [case] * N_SETS, models, range(N_SETS)))
    p_values = {}
    for statistic in ranks[0]:
        bins = np.bincount(
            [rank[statistic] * N_BINS // (N_DRAWS + 1) for rank in ranks], minlength=N_BINS
        )
        p_values[statistic] = stats.chisquare(bins).pvalue
    limit = FALSE_ALARM / len(CASES) / len(p_values)
    assert {s: p for s, p in p_values.items() if p < limit} == {}
    # The truths are of all kinds: each watched term is in some of them and out of others.
    shares = [np.mean([text in model.coefficients for model in models]) for text in case.watched]
    assert min(shares) > 0.02
