"""Simulation-based calibration of the sampler by free runs with noise on the output.

As ``test_sbc``: structures, coefficients and noise are drawn from the prior, free runs of them from
given first outputs are measured with noise, and the truth must rank uniformly among 99 draws of its
posterior (ties broken at random). Runs may go anywhere (`runaway` is infinite), so that the target
has no bounds that depend on the data; what leaves all numbers has no likelihood, and is drawn
again. Coloured noise is conditional on the first outputs that are modelled, as many as its order,
and so these must not depend on what is inferred: outputs themselves are drawn from a fixed law, not
their residuals, which would say something of the coefficients that the likelihood does not hear.

One χ² test on 10 bins per statistic, Bonferroni over statistics and cases; and z tests of
how many truths are in their 95 % intervals: a false alarm at most once in five hundred sets of
seeds, and as much for coloured noise. The seeds are fixed.
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats
from tests.calibration.enumeration import ORDERS
from tests.calibration.test_output_error import FIVE, SIX
from tests.engines import simulation_engine
from tests.naive.simulate import free_run

from adjoin import Dataset, Grammar, Model
from adjoin.grammar import Structure
from adjoin.inference.engines.simulation_chain import SimulationChain
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
        reason="far too many samples for plain Python",
    ),
]

FALSE_ALARM = 1e-3
N_SETS, N_DRAWS, N_BINS = 200, 99, 10
N_TRIES = 5  # models of which the first with a run is the truth
COVERAGE = 0.95
BURN_IN = 40  # draws left out
LARGEST_INPUT = 2.0
FIRST_SD = 0.5  # of the outputs that are given
PROPER = {
    "noise_shape": 5.0,
    "noise_scale": 0.3,
    "units": "raw",
    "degree_rate": 1.0,
    "expected_terms": 2.5,
}


@dataclass(frozen=True)
class Case:
    """A grammar, a proper prior, how chains search, and samples between two draws.

    So many that neighbours are next to independent: on average over twelve truths the number of
    terms, which is the slowest, correlates with itself 90 samples later by 0.03 with one rung, and
    60 samples later by 0.05 with three.
    """

    grammar: Grammar
    prior: Prior
    search: Search
    thin: int
    watched: tuple[str, ...]
    lengths: tuple[int, ...] = (31,)
    noise: str = "white"

    @property
    def order(self) -> int:
        return ORDERS[self.noise]


CASES = {
    "one rung": Case(
        FIVE,
        Prior(coefficient_sd=0.2, **PROPER),
        Search(rungs=1),
        100,
        ("u(k-1)", "y(k-1)", "y(k-1)^2"),
    ),
    "three rungs, constant, hyperprior, two records": Case(
        SIX,
        Prior(coefficient_sd=0.2, coefficient_shape=8.0, coefficient_scale=0.2, **PROPER),
        Search(rungs=3, hottest=0.3, interval=3),
        60,
        ("1", "u(k-1)", "y(k-1)"),
        (20, 16),
    ),
}
COLOURED = {
    "one rung": Case(
        FIVE,
        Prior(coefficient_sd=0.2, **PROPER),
        Search(rungs=1),
        150,
        ("u(k-1)", "y(k-1)", "y(k-1)^2"),
        noise="ar",
    ),
    "three rungs, two records": Case(
        SIX,
        Prior(coefficient_sd=0.2, **PROPER),
        Search(rungs=3, hottest=0.3, interval=3),
        60,
        ("1", "u(k-1)", "y(k-1)"),
        (20, 16),
        noise="ar",
    ),
}


def _free_run(model: Model, u: np.ndarray, seeds: np.ndarray) -> np.ndarray:
    """One sample after another; shorter than the input where it leaves all numbers."""
    inputs = {model.names.inputs[0]: u.tolist()}
    return np.array(free_run(model.structure, model.theta, inputs, seeds.tolist(), len(u)))


def _measured(
    case: Case, model: Model, rho: np.ndarray, rng: np.random.Generator
) -> Dataset | None:
    """Free runs from given first outputs, which are not modelled, and noise on all that follow.

    Where it is coloured, as many more outputs as its order are given. None where a run leaves all
    numbers.
    """
    inputs, outputs, lag = [], [], case.grammar.alphabet.max_lag
    for n in case.lengths:
        u = rng.uniform(-LARGEST_INPUT, LARGEST_INPUT, n)
        seeds = FIRST_SD * rng.standard_normal(lag)
        y = _free_run(model, u, seeds)
        if not (len(y) == n and abs(y[-1]) < 1e100):
            return None
        assert np.abs(y).max() < 1e3  # nothing is on its way there
        white = model.noise_sd * rng.standard_normal(n - lag)
        residual = np.zeros(n - lag)
        given = FIRST_SD * rng.standard_normal(case.order)
        residual[: case.order] = given - y[lag : lag + case.order]
        for k in range(case.order, n - lag):
            residual[k] = white[k] + sum(r * residual[k - 1 - i] for i, r in enumerate(rho))
        y[lag:] += residual
        inputs.append(u)
        outputs.append(y)
    return Dataset.from_arrays(inputs, outputs)


def _truth(case: Case, model: Model, rho: np.ndarray, data: Dataset) -> dict[str, float]:
    lag, variance = case.grammar.alphabet.max_lag, model.noise_sd**2
    residuals = [
        (r.output - _free_run(model, r.inputs[:, 0], r.output[:lag]))[lag:] for r in data.records
    ]
    error = np.concatenate([np.convolve(v, [1.0, *-rho])[case.order : len(v)] for v in residuals])
    found = {
        "noise": variance,
        "n_terms": float(len(model.structure)),
        "square": float(np.square(model.theta).sum()),
        "log_lik": -0.5 * (len(error) * np.log(2 * np.pi * variance) + error @ error / variance),
    }
    for text in case.watched:
        found[f"θ of {text}"] = model.coefficients.get(text, 0.0)
    return found | {f"ρ of {lag}": float(r) for lag, r in enumerate(rho, start=1)}


def _draws(case: Case, chain: SimulationChain) -> dict[str, np.ndarray]:
    trace = chain.finish()
    assert not trace.trouble.any()
    number = np.repeat(np.arange(len(trace.structure)), np.diff(trace.offset))
    found = {
        "noise": trace.noise,
        "n_terms": np.diff(trace.offset).astype(float),
        "square": np.bincount(number, trace.theta**2, len(trace.structure)),
        "log_lik": trace.log_lik,
    }
    for text in case.watched:
        (term,) = Structure.parse(text, case.grammar.signals)
        key = chain.engine.encoding.key(term)
        place = [keys.index(key) if key in keys else -1 for keys in trace.structures]
        place = np.array(place)[trace.structure]
        theta = np.zeros(len(place))
        is_in = place >= 0
        theta[is_in] = trace.theta[trace.offset[:-1][is_in] + place[is_in]]
        found[f"θ of {text}"] = theta
    if trace.rho is not None:
        found |= {f"ρ of {lag}": r for lag, r in enumerate(trace.rho.T, start=1)}
    return {name: values[BURN_IN:] for name, values in found.items()}


def _ranks(case: Case, models: list[Model], number: int) -> dict[str, int]:
    """How many of the draws are below the truth, the first of the models that has a run."""
    rng = np.random.default_rng([78, number])
    rho = np.random.default_rng([79, number]).uniform(-1.0, 1.0, case.order)
    found = ((model, _measured(case, model, rho, rng)) for model in models)
    model, data = next((model, data) for model, data in found if data is not None)
    engine = simulation_engine(
        data,
        case.grammar.alphabet,
        case.prior,
        search=case.search,
        thin=case.thin,
        samples=2 * case.thin * BURN_IN,  # half of which may adapt
        table_bytes=2**18,
        runaway=math.inf,
        noise=case.noise,
    )
    chain = engine.start(number)
    chain.advance(case.thin * (BURN_IN + N_DRAWS))
    truth, draws = _truth(case, model, rho, data), _draws(case, chain)
    ranks = {}
    for name, value in truth.items():
        n_less, n_equal = int((draws[name] < value).sum()), int((draws[name] == value).sum())
        ranks[name] = n_less + int(rng.integers(0, n_equal + 1))
    return ranks


def ranks_of(case: Case) -> dict[str, np.ndarray]:
    """(n_sets,) of every statistic."""
    drawn = case.prior.draw(case.grammar, n=N_SETS * N_TRIES, seed=102)
    models = [drawn[i::N_SETS] for i in range(N_SETS)]
    with ThreadPoolExecutor(2) as pool:
        ranks = list(pool.map(_ranks, [case] * N_SETS, models, range(N_SETS)))
    return {statistic: np.array([rank[statistic] for rank in ranks]) for statistic in ranks[0]}


def p_value(rank: np.ndarray) -> float:
    bins = np.bincount(rank * N_BINS // (N_DRAWS + 1), minlength=N_BINS)
    return float(stats.chisquare(bins).pvalue)


def covered(rank: np.ndarray) -> float:
    """The share of truths in the middle 95 of 100 places between and beside the draws."""
    outside = (1.0 - COVERAGE) / 2.0 * (N_DRAWS + 1)
    # Half a place on each side is in with half its weight.
    low, high = math.floor(outside), N_DRAWS - math.floor(outside)
    share = outside - low
    is_edge = (rank == low) | (rank == high)
    return float(np.mean((rank > low) & (rank < high)) + (1.0 - share) * np.mean(is_edge))


def _assert_uniform(case: Case, n_cases: int) -> None:
    ranks = ranks_of(case)
    n_compared = n_cases * len(ranks)
    p_values = {statistic: p_value(rank) for statistic, rank in ranks.items()}
    coverage = {statistic: covered(rank) for statistic, rank in ranks.items()}
    for statistic in ranks:  # shown by pytest -rP
        print(f"{statistic:12} p {p_values[statistic]:.2f}, 95 % hold {coverage[statistic]:.3f}")
    assert {s: p for s, p in p_values.items() if p < FALSE_ALARM / n_compared} == {}
    error = math.sqrt(COVERAGE * (1.0 - COVERAGE) / N_SETS)
    z = {statistic: (share - COVERAGE) / error for statistic, share in coverage.items()}
    limit = stats.norm.isf(FALSE_ALARM / 2 / n_compared)
    assert {s: value for s, value in z.items() if abs(value) > limit} == {}


@pytest.mark.parametrize("name", CASES)
def test_truths_rank_uniformly(name: str) -> None:
    _assert_uniform(CASES[name], len(CASES))


@pytest.mark.parametrize("name", COLOURED)
def test_truths_rank_uniformly_with_coloured_noise(name: str) -> None:
    _assert_uniform(COLOURED[name], len(COLOURED))
