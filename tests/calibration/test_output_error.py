"""The sampler by free runs with noise on the output against posteriors that can be enumerated.

Every structure of a small alphabet is enumerated, its evidence and moments integrated by importance
sampling (``enumeration``), which comes with a standard error; that and the error of the chains'
batch means are added in every test. Two-sided Welch t tests, Bonferroni over what one test
compares: each test gives a false alarm once in a thousand sets of seeds, and the total variation
distance is below 0.01 besides. The seeds are fixed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.signal import lfilter
from tests.calibration.enumeration import N_SCRAMBLED, Exact, Problem
from tests.calibration.test_prior_recovery import UNEVEN
from tests.engines import simulation_engine
from tests.naive.output_error import Twin

from adjoin import Dataset, Grammar
from adjoin.inference.engines.simulation_chain import SimulationChain
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search
from adjoin.inference.traces import ChainTrace, TraceLog

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
        reason="far too many samples for plain Python",
    ),
]

FALSE_ALARM = 1e-3
N_CHAINS = 2

# Products of two atoms, u(k-1) and y(k-1): five terms, of which three feed back, one as a square.
_TEXT = """
name         five
start        expr0
nonterminals expr0 expr1 op par
terminals    u y ε + θ × q⁻¹
inputs       u
output       y
max_lag      1
max_degree   2
tree η1 = expr0(ε)
tree α1 = expr0(par(θ) op(×) expr1(op(q⁻¹) u) op(+) expr0*)
tree α2 = expr0(par(θ) op(×) expr1(op(q⁻¹) y) op(+) expr0*)
tree β1 = expr1(op(q⁻¹) u op(×) expr1*)
tree β2 = expr1(op(q⁻¹) y op(×) expr1*)
"""
FIVE = Grammar.from_text(_TEXT)
SIX = Grammar.from_text(_TEXT + "tree α3 = expr0(par(θ) op(+) expr0*)\n")
"""And the constant."""
PAST_NOISE = Grammar.from_text(_TEXT.replace("op(q⁻¹) y", "op(q⁻¹) ε")).with_initial("y(k-1)")
"""Products of two atoms, u(k-1) and e(k-1), and the output's own past in all structures."""
LOOSE = Prior(
    coefficient_sd=0.15, noise_shape=2.0, noise_scale=0.1, expected_terms=2.5, degree_rate=1.0
)
HYPER = Prior(**{**LOOSE.settings, "coefficient_shape": 6.0, "coefficient_scale": 0.15})
EVEN = Moves(0.3, 0.15, 0.15, 0.1, 0.1, 0.0, 0.0, 0.1, 0.1)


def series(
    seed: int,
    lengths: tuple[int, ...] = (41,),
    level: float = 0.0,
    rho: tuple[float, ...] = (),
    noise_sd: float = 2.0,
) -> Dataset:
    """Free runs that are weakly nonlinear, and as much noise on what is measured.

    Inputs and outputs are large and coefficients small: where less is known of a coefficient than
    its prior says, one mode is not all there is, and chains need far longer than a test has.
    """
    rng, inputs, outputs = np.random.default_rng(seed), [], []
    for n in lengths:
        u, y = 3.0 * rng.standard_normal(n), np.zeros(n)
        for k in range(1, n):
            y[k] = 0.5 * u[k - 1] + 0.5 * y[k - 1] + level
            y[k] += 0.06 * u[k - 1] * y[k - 1] - 0.04 * y[k - 1] ** 2
        inputs.append(u)
        white = noise_sd * rng.standard_normal(n)
        outputs.append(y + lfilter([1.0], [1.0, *(-r for r in rho)], white))
    return Dataset.from_arrays(inputs, outputs)


def memory(seed: int, lengths: tuple[int, ...]) -> Dataset:
    """Records whose noise has a memory, by itself and in a product."""
    rng, inputs, outputs = np.random.default_rng(seed), [], []
    for n in lengths:
        u, e, y = 3.0 * rng.standard_normal(n), 2.0 * rng.standard_normal(n), np.zeros(n)
        for k in range(1, n):
            y[k] = 0.3 * u[k - 1] + 0.2 * y[k - 1] + e[k] + 0.4 * e[k - 1]
            y[k] += 0.05 * u[k - 1] * e[k - 1]
        inputs.append(u)
        outputs.append(y)
    return Dataset.from_arrays(inputs, outputs)


class Run(NamedTuple):
    """How chains sample; a batch is of so many samples."""

    search: Search = Search(rungs=1)
    n_batches: int = 25
    batch: int = 36_000
    thin: int = 3
    burn_in: int = 4_000


RUNGS = Run(Search(rungs=3, hottest=0.3, interval=3), batch=18_000)
FEWER = RUNGS._replace(n_batches=16)
INFORMED = FEWER._replace(search=replace(RUNGS.search, candidates=99, moves=1))
"""All terms are candidates; where they are fewer, which ones is decided before anything counts."""
FEW = FEWER._replace(search=replace(RUNGS.search, candidates=3, moves=2))
PROBLEMS = {
    "one rung": (Problem(series(13), FIVE, LOOSE, moves=EVEN), Run()),
    "three rungs": (Problem(series(11), FIVE, LOOSE, moves=UNEVEN), RUNGS),
    "constant": (Problem(series(11, level=0.5), SIX, LOOSE, moves=EVEN), INFORMED),
    "power": (Problem(series(11, (81,)), FIVE, LOOSE, power=0.3, moves=EVEN), Run()),
    "power, rungs": (Problem(series(13, (81,)), SIX, LOOSE, power=0.3, moves=EVEN), FEW),
    "fixed terms": (
        Problem(series(13), FIVE.with_initial("u(k-1) + abs(u(k-1))*y(k-1)"), LOOSE, moves=UNEVEN),
        RUNGS,
    ),
    "hyperprior": (Problem(series(11), FIVE, HYPER, moves=EVEN), Run()),
    "hyperprior, rungs": (Problem(series(17), FIVE, HYPER, moves=EVEN), RUNGS),
    "two records": (Problem(series(9, (24, 18)), FIVE, LOOSE, moves=EVEN), INFORMED),
    "residual": (
        Problem(series(10), FIVE.with_initial("y(k-1)"), LOOSE, moves=EVEN, is_residual=True),
        INFORMED,
    ),
    "coloured": (
        Problem(series(13, rho=(0.6,), noise_sd=1.6), FIVE, LOOSE, moves=EVEN, noise="ar"),
        Run(n_batches=16),
    ),
    "coloured, rungs, two records": (
        Problem(series(11, (24, 18), rho=(-0.5,)), FIVE, LOOSE, moves=EVEN, noise="ar"),
        INFORMED,
    ),
    "nearly a walk, rungs": (
        Problem(series(11, rho=(0.95,), noise_sd=1.6), FIVE, LOOSE, moves=UNEVEN, noise="ar"),
        FEWER,
    ),
    "order two, power, rungs": (
        Problem(
            series(11, (81,), rho=(0.5, -0.3)), FIVE, LOOSE, power=0.5, moves=EVEN, noise="ar2"
        ),
        FEWER,
    ),
    "past noise, rungs, two records": (
        Problem(memory(3, (30, 18)), PAST_NOISE, LOOSE, moves=EVEN),
        INFORMED,
    ),
}


@dataclass(frozen=True, eq=False)
class Batch:
    """Draws of a stretch of a chain: each one's structure by number, θ by term, ρ, variances."""

    structure: np.ndarray
    theta: np.ndarray
    rho: np.ndarray
    noise: np.ndarray
    coefficient: np.ndarray


def _batch(problem: Problem, chain: SimulationChain, trace: ChainTrace) -> Batch:
    assert not trace.trouble.any()
    key = chain.engine.encoding.key
    column = {key(problem.law.decode(t)): j for j, t in enumerate(problem.terms)}
    place = {subset: i for i, subset in enumerate(problem.subsets)}
    columns = [[column[k] for k in keys] for keys in trace.structures]
    number = np.array([place[tuple(sorted(c))] for c in columns])
    padded = np.full((len(columns), len(problem.terms)), -1)
    for row, found in zip(padded, columns, strict=True):
        row[: len(found)] = found
    entry = padded[trace.structure]
    row, at = np.nonzero(entry >= 0)
    theta = np.zeros(entry.shape)
    theta[row, entry[row, at]] = trace.theta
    rho = np.empty((len(theta), 0)) if trace.rho is None else trace.rho
    assert rho.shape == (len(theta), problem.order)
    return Batch(number[trace.structure], theta, rho, trace.noise, trace.coefficient)


def sampled(problem: Problem, run: Run) -> list[Batch]:
    """Batches of all chains, after rungs and references were chosen in the burn-in."""
    engine = simulation_engine(
        problem.data,
        problem.grammar.alphabet,
        problem.prior,
        problem.moves,
        problem.power,
        search=run.search,
        thin=run.thin,
        samples=2 * run.burn_in,
        is_residual=problem.is_residual,
        runaway=problem.runaway,
        noise=problem.noise,
    )

    def sample(seed: int) -> Iterator[Batch]:
        chain = engine.start(seed)
        chain.advance(run.burn_in)
        for _ in range(run.n_batches):
            chain.finish()
            chain.log = TraceLog(engine.encoding)  # what was recorded before is counted
            chain.advance(run.batch)
            yield _batch(problem, chain, chain.finish())

    with ThreadPoolExecutor(N_CHAINS) as pool:
        done = pool.map(lambda seed: list(sample(seed)), range(N_CHAINS))
        return [batch for batches in done for batch in batches]


def p_values(batches: np.ndarray, expected: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Welch tests of column means against estimates of `N_SCRAMBLED` replicates."""
    n, gap = len(batches), batches.mean(axis=0) - expected
    mine, other = batches.var(axis=0, ddof=1) / n, error**2
    total = mine + other
    freedom = total**2 / (mine**2 / (n - 1) + other**2 / (N_SCRAMBLED - 1))
    return 2.0 * stats.t.sf(np.abs(gap) / np.sqrt(total), freedom)


class Outcome(NamedTuple):
    """Total variation, and p-values of structures and of what is within the common ones."""

    distance: float
    of_mass: np.ndarray
    within: np.ndarray


def compare(exact: Exact, batches: list[Batch], often: int = 40, least: int = 300) -> Outcome:
    """Structures with `often` draws a batch one by one; features of those with `least`."""
    problem, size = exact.problem, len(batches[0].structure)
    share = np.array([np.bincount(b.structure, minlength=len(exact.mass)) for b in batches]) / size
    distance = 0.5 * float(np.abs(share.mean(axis=0) - exact.mass).sum())
    keep = exact.mass * size > often
    compared = np.column_stack([share[:, keep], share[:, ~keep].sum(axis=1)])
    expected = np.append(exact.mass[keep], exact.mass[~keep].sum())
    error = np.append(exact.error[keep], np.sqrt((exact.error[~keep] ** 2).sum()))
    rows, errors = [], []
    for i in np.flatnonzero(exact.mass * size > least):
        columns = list(problem.subsets[i][len(problem.pinned) :])
        drawn = [(b, b.structure == i) for b in batches]
        given = [np.column_stack([b.theta[:, columns], b.rho]) for b in batches]
        for feature in exact.features(i):
            values = [
                (feature.function(numbers, b.noise, b.coefficient) - feature.mean)[here]
                for (b, here), numbers in zip(drawn, given, strict=True)
            ]
            # Σ over the draws in the structure of f - E[f|T] is 0 on average.
            rows.append([float(v.sum()) / size for v in values])
            errors.append(feature.error * exact.mass[i])
    within = p_values(np.array(rows).T, np.zeros(len(rows)), np.array(errors))
    return Outcome(distance, p_values(compared, expected, error), within)


def _assert_one_mode(exact: Exact) -> None:
    """Laplace's evidence, where it is of the same prior, is good to a factor of two.

    These problems are chosen for it. Where it is worse, by a second mode or a bulk far from the
    mode, chains are as exact, but stay for a hundred thousand samples where they are.
    """
    problem = exact.problem
    if problem.prior.coefficient_shape is not None:
        return
    twin = make_twin(problem)
    for i in np.flatnonzero(exact.mass > 0.005):
        gaussian = twin.gaussian([problem.terms[j] for j in problem.subsets[i]], problem.power)
        assert abs(gaussian.log_evidence - exact.weighted[i].log_evidence.mean()) < np.log(2.0)


def make_twin(problem: Problem, **more: bool) -> Twin:
    return Twin(
        problem.data,
        problem.grammar.alphabet,
        problem.prior,
        problem.moves,
        powers=(problem.power,),
        is_residual=problem.is_residual,
        order=problem.order,
        **more,
    )


@pytest.mark.parametrize("name", PROBLEMS)
def test_draws_equal_the_enumerated_posterior(name: str) -> None:
    problem, run = PROBLEMS[name]
    exact = problem.exact()
    assert exact.mass.max() < 0.6
    _assert_one_mode(exact)
    assert 0.5 * exact.error.sum() < 0.002  # of the total variation, by importance sampling
    found = compare(exact, sampled(problem, run))
    assert found.distance < 0.01
    assert len(found.of_mass) > 8
    assert found.of_mass.min() > FALSE_ALARM / 2 / len(found.of_mass)
    assert len(found.within) > 50
    assert found.within.min() > FALSE_ALARM / 2 / len(found.within)


SHORT = Problem(series(13, (21,)), FIVE, LOOSE, moves=EVEN)
N_PLAIN, PLAIN_BATCH = 4, 600
"""Chains of the plain sampler, and how many of its samples are a batch; it is slow."""


@pytest.mark.parametrize("is_delayed", [True, False])
def test_one_stage_and_two_have_the_same_target(is_delayed: bool) -> None:
    """The plain sampler, which can also decide at once, on draws of structures and of σ²."""
    exact, batches, noises = SHORT.exact(), [], []
    place = {subset: i for i, subset in enumerate(SHORT.subsets)}
    for seed in range(N_PLAIN):
        twin, rng = make_twin(SHORT, is_delayed=is_delayed), np.random.default_rng(seed)
        samples = list(twin.run(rng, 6 * PLAIN_BATCH))[PLAIN_BATCH:]
        number = [place[tuple(sorted(map(SHORT.terms.index, s.terms)))] for s in samples]
        batches += list(np.array(number).reshape(-1, PLAIN_BATCH))
        noises += list(np.array([s.noise for s in samples]).reshape(-1, PLAIN_BATCH))
    share = np.array([np.bincount(b, minlength=len(exact.mass)) for b in batches]) / PLAIN_BATCH
    noise = np.array([row.mean() for row in noises])
    given = [exact.features(i)[0] for i in range(len(exact.mass))]
    of_noise = np.array([[feature.mean, feature.error] for feature in given])
    mean_noise = exact.mass @ of_noise[:, 0]
    # Errors of masses add up in the worst case: they are of the same points.
    noise_error = exact.mass @ of_noise[:, 1] + exact.error @ np.abs(of_noise[:, 0] - mean_noise)
    keep = exact.mass > 0.03
    has = np.array([[j in s for j in range(len(SHORT.terms))] for s in SHORT.subsets])
    compared = np.column_stack([share[:, keep], share @ has, noise])
    expected = np.concatenate([exact.mass[keep], exact.mass @ has, [mean_noise]])
    error = np.concatenate([exact.error[keep], exact.error @ has, [noise_error]])
    p = p_values(compared, expected, error)
    assert len(p) > 8
    assert p.min() > FALSE_ALARM / len(p)
