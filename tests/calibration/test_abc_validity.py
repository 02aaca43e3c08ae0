"""The free-run sampler against plain rejection: draw from the prior, simulate, keep what is near.

The coldest rung must sample p(T) N(θ; 0, σ_θ²) 1{d ≤ ε}, and that is the law of what rejection
keeps. Both are reduced to the same features: indicators of terms and of the common structures,
moments of the coefficients within these, moments of the distance. Their means are compared by
two-sided t tests on batch means, Bonferroni over the features; each test gives at most one false
alarm in a thousand sets of seeds. The seeds are fixed.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.calibration.test_prior_recovery import UNEVEN, t_limit
from tests.engines import abc_engine
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.data.dataset import Record
from adjoin.data.scaling import Scaling
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.traces import ChainTrace

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("NUMBA_DISABLE_JIT", "0") != "0",
        reason="far too many samples for plain Python",
    ),
]

N_CHAINS, N_BATCHES = 2, 25
ANNEALING = 0.04  # with the first batch after it, that is the burn-in
CHUNK = 50_000
COMMON, FREQUENT = 0.01, 0.05  # mass of structures that are compared, and whose θ are
FUNCTIONS = {"": lambda x: x, "abs": np.abs}


@dataclass(frozen=True, eq=False)
class Draws:
    """Models, one a row: θ with 0 where a term is out, which terms are in, the distance."""

    theta: np.ndarray
    is_in: np.ndarray
    distance: np.ndarray

    @cached_property
    def code(self) -> np.ndarray:
        """Every structure as a number, a bit for each term."""
        return self.is_in @ (1 << np.arange(self.is_in.shape[1]))

    def rows(self, which: np.ndarray | slice) -> Draws:
        return Draws(self.theta[which], self.is_in[which], self.distance[which])

    def batches(self, n: int) -> list[Draws]:
        """So many equal stretches; a remainder at the beginning is left out."""
        size = len(self.distance) // n
        first = len(self.distance) - n * size
        return [self.rows(slice(first + i * size, first + (i + 1) * size)) for i in range(n)]


def join(parts: list[Draws]) -> Draws:
    names = ("theta", "is_in", "distance")
    return Draws(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, grammar, prior and tolerance, and what rejection makes of them."""

    data: Dataset
    grammar: Grammar
    tolerance: float
    prior: Prior
    n_prior: int = 1_500_000
    is_absolute: bool = False
    scaling: Scaling | None = None
    runaway: float = 10.0

    @cached_property
    def law(self) -> TermPrior:
        return TermPrior(self.grammar.alphabet, self.prior)

    @cached_property
    def terms(self) -> list[Term]:
        """Fixed terms, then all others: columns of `Draws`."""
        return [*self.law.fixed, *(t for t in self.law.terms if t not in self.law.fixed)]

    @cached_property
    def rejected(self) -> Draws:
        """What is kept of `n_prior` draws from the prior."""
        rng = np.random.default_rng(77)
        odds = np.array([np.inf if t in self.law.fixed else self.law.odds(t) for t in self.terms])
        found = []
        for _ in range(self.n_prior // CHUNK):
            is_in = rng.random((CHUNK, len(odds))) > 1.0 / (1.0 + odds)
            normal = self.prior.coefficient_sd * rng.standard_normal(is_in.shape)
            theta = np.where(is_in, normal, 0.0)
            near, distance = self.simulate(theta)
            found.append(Draws(theta[near], is_in[near], distance))
        return join(found)

    def simulate(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The rows of θ whose free runs are near, and their distances."""
        scaling = self.scaling or Scaling.identity(self.data.names)
        records, lag = scaling.apply(self.data).records, self.grammar.alphabet.max_lag
        fitted = np.concatenate([record.output[lag:] for record in records])
        unit = len(fitted) * np.var(fitted) / 100.0
        if self.is_absolute:
            unit = len(fitted) / scaling.scale[-1]
        everything = np.concatenate([record.output for record in records])
        middle, reach = (everything.max() + everything.min()) / 2.0, math.inf
        if self.runaway < math.inf:
            reach = self.runaway * np.ptp(everything) / 2.0
        row, total = np.arange(len(theta)), np.zeros(len(theta))
        for record in records:
            back = [np.full(len(row), value) for value in record.output[:lag]]
            for k in range(lag, len(record.output)):
                back.append(self._step(theta[row], record, back, k))
                error = np.abs(back[-1] - record.output[k])
                total = total + (error if self.is_absolute else error**2)
                near = (total <= self.tolerance * unit) & (np.abs(back[-1] - middle) <= reach)
                # What is beyond stays beyond.
                row, total, back = row[near], total[near], [b[near] for b in back[-lag:]]
        return row, total / unit

    def _step(
        self, theta: np.ndarray, record: Record, back: list[np.ndarray], k: int
    ) -> np.ndarray:
        """One sample of every free run, given the last ones."""
        value, names = np.zeros(len(theta)), self.data.names
        for j, term in enumerate(self.terms):
            product = theta[:, j]
            for atom in self.law.decode(term):
                if atom.signal == names.output:
                    signal = back[-atom.lag]
                else:
                    signal = record.inputs[k - atom.lag, names.inputs.index(atom.signal)]
                product = product * FUNCTIONS[atom.function](signal)
            value += product
        return value

    def draws(self, engine: AbcEngine, trace: ChainTrace) -> Draws:
        """The records of a chain."""
        column = {engine.encoding.key(self.law.decode(t)): j for j, t in enumerate(self.terms)}
        places = [[column[key] for key in keys] for keys in trace.structures]
        is_in = np.zeros((len(places), len(self.terms)), dtype=bool)
        padded = np.full((len(places), len(self.terms)), -1)
        for i, place in enumerate(places):
            is_in[i, place] = True
            padded[i, : len(place)] = place
        entry = padded[trace.structure]
        row, place = np.nonzero(entry >= 0)
        theta = np.zeros(entry.shape)
        theta[row, entry[row, place]] = trace.theta
        assert trace.ladder is not None
        return Draws(theta, is_in[trace.structure], trace.ladder.distance)


def features(draws: Draws, reference: Draws) -> Iterator[np.ndarray]:
    """What is compared, one column after another; `reference` says what is common."""
    yield from draws.is_in.T[~reference.is_in.all(axis=0)].astype(float)
    n_terms = draws.is_in.sum(axis=1).astype(float)
    yield from (n_terms, n_terms**2, draws.distance, draws.distance**2)
    codes, counts = np.unique(reference.code, return_counts=True)
    for code, share in zip(codes, counts / counts.sum(), strict=True):
        if share > COMMON:
            here, there = draws.code == code, reference.code == code
            yield here.astype(float)
            terms = np.flatnonzero(reference.is_in[there][0]) if share > FREQUENT else []
            mean = reference.theta[there].mean(axis=0)
            centred, known = draws.theta - mean, reference.theta[there] - mean
            # Centred, or the noise of the structure's own frequency would cover all else.
            yield from (here * centred[:, j] for j in terms)
            for i, j in combinations_with_replacement(terms, 2):
                yield here * (centred[:, i] * centred[:, j] - (known[:, i] * known[:, j]).mean())


def worst_t(left: list[Draws], right: list[Draws], reference: Draws) -> tuple[float, float, int]:
    """The largest |t| of differences of batch means, its limit, and how many features there are."""
    one, other = (
        np.array([[np.mean(f) for f in features(batch, reference)] for batch in batches])
        for batches in (left, right)
    )
    variance = one.var(axis=0, ddof=1) / len(one) + other.var(axis=0, ddof=1) / len(other)
    gap = one.mean(axis=0) - other.mean(axis=0)
    t = np.divide(gap, np.sqrt(variance), out=np.zeros(len(gap)), where=gap != 0.0)
    return float(np.abs(t).max()), t_limit(min(len(one), len(other)), len(t)), len(t)


def assert_same_law(left: list[Draws], reference: Draws) -> None:
    """Batches of a chain have the law of independent draws."""
    assert len(reference.distance) > 10_000
    right = reference.batches(N_CHAINS * N_BATCHES)
    worst, limit, n_features = worst_t(left, right, reference)
    assert worst < limit
    assert n_features > 30


@dataclass(frozen=True)
class Run:
    """How a problem is sampled, and for how long."""

    problem: Problem
    ladder: dict[str, float]
    rule: str = "default"
    moves: Moves = field(default_factory=Moves)
    n_samples: int = 400_000
    thin: int = 5

    def engine(self) -> AbcEngine:
        problem = self.problem
        # Wide enough that the density of a new coefficient is far from 1, and matters.
        settings = {"birth_sd": 0.7, "annealing": ANNEALING, "tolerance": problem.tolerance}
        return abc_engine(
            problem.data,
            problem.grammar.alphabet,
            self.n_samples,
            prior=problem.prior,
            moves=self.moves,
            ladder=Ladder(**{**settings, **self.ladder}),
            rule=self.rule,
            distance=mean_absolute_error if problem.is_absolute else None,
            thin=self.thin,
            scaling=problem.scaling,
            runaway=problem.runaway,
        )

    def traces(self) -> list[ChainTrace]:
        engine = self.engine()

        def run(seed: int) -> ChainTrace:
            chain = engine.start(seed)
            chain.advance(self.n_samples)
            return chain.finish()

        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(run, range(1, N_CHAINS + 1)))

    def batches(self, traces: list[ChainTrace]) -> list[Draws]:
        """Equal stretches of all chains; the first of each chain is left out."""
        engine = self.engine()
        draws = [self.problem.draws(engine, trace) for trace in traces]
        return [batch for d in draws for batch in d.batches(N_BATCHES + 1)[1:]]


def mean_absolute_error(simulated: np.ndarray, measured: np.ndarray) -> float:
    return float(np.abs(simulated - measured).mean())


def _series(seed: int, lengths: tuple[int, ...], n_inputs: int = 1) -> Dataset:
    """A response with a memory, in a lot of noise."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, y = rng.standard_normal((n, n_inputs)), rng.standard_normal(n)
        for k in range(1, n):
            y[k] = 0.6 * u[k - 1, 0] + 0.5 * y[k - 1] + 0.3 * u[k, -1] * u[k - 1, 0] + 0.5 * y[k]
        inputs.append(u)
        outputs.append(y)
    return Dataset.from_arrays(inputs, outputs, names=(*("u", "v")[:n_inputs], "y"))


HALF = Prior(coefficient_sd=0.5, expected_terms=3.0, degree_rate=1.0, power_rate=1.0)
NINE = Grammar.narx(max_lag=1, max_degree=2)
NO_CONSTANT = Grammar.narx(max_lag=1, max_degree=2, constant=False)
LINEAR = Grammar.narx(max_lag=1, max_degree=1)
GREY = NINE.with_initial("u(k-1) + abs(y(k-1))*u(k)")
TWO_INPUTS = Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=1)
TWENTY = Grammar.narx(max_lag=2, max_degree=2)
TWO_RECORDS = _series(3, (30, 22), n_inputs=2)
SCALED = Scaling.from_dataset(TWO_RECORDS, center=True, scale=True)
NINE_TERMS = Problem(_series(1, (40,)), NO_CONSTANT, 52.0, HALF, n_prior=3_600_000)
FIXED_TERMS = Problem(_series(2, (40,)), GREY, 70.0, HALF, n_prior=4_000_000)
WITH_TWO_INPUTS = Problem(TWO_RECORDS, TWO_INPUTS, 65.0, HALF, scaling=SCALED)
ABSOLUTE_ERROR = Problem(_series(4, (25, 15)), LINEAR, 0.6, HALF, is_absolute=True)
LOOSE = Problem(_series(1, (40,)), NINE, 150.0, HALF, n_prior=100_000)
HOTTEST = Problem(_series(1, (40,)), NINE, 105.0, HALF, n_prior=450_000)
TWENTY_TERMS = Problem(_series(5, (80,)), TWENTY, 34.0, HALF)
LIMITED = Problem(_series(1, (40,)), NINE, 120.0, HALF, n_prior=250_000, runaway=1.2)
LIMITED_ALONE = Problem(_series(1, (40,)), NINE, math.inf, HALF, n_prior=100_000, runaway=1.5)
RUNS = {
    "paper, one rung": Run(NINE_TERMS, {"rungs": 1}, rule="paper"),
    "paper, four rungs": Run(NINE_TERMS, {"rungs": 4}, rule="paper"),
    "unguided": Run(NINE_TERMS, {"rungs": 2, "guided": 0.0}, moves=UNEVEN),
    "guided": Run(NINE_TERMS, {"rungs": 1}),
    "guided, uneven moves": Run(NINE_TERMS, {"rungs": 1}, moves=UNEVEN),
    "guided, five rungs": Run(NINE_TERMS, {"rungs": 5, "swap_interval": 4}),
    "guided, no swaps": Run(NINE_TERMS, {"rungs": 2, "swap_interval": 10**9}),
    "mostly guided": Run(NINE_TERMS, {"rungs": 1, "guided": 0.9}),
    "fixed terms": Run(FIXED_TERMS, {"rungs": 2, "guided": 0.7}),
    "fixed terms, paper": Run(FIXED_TERMS, {"rungs": 2}, rule="paper", moves=UNEVEN),
    "two inputs": Run(WITH_TWO_INPUTS, {"rungs": 3}, moves=UNEVEN),
    "two inputs, mostly guided": Run(WITH_TWO_INPUTS, {"rungs": 1, "guided": 0.9}),
    "a distance of one's own": Run(ABSOLUTE_ERROR, {"rungs": 2}, n_samples=12_000, thin=1),
    "limited runs": Run(LIMITED, {"rungs": 2}, n_samples=250_000),
    "limited runs at any distance": Run(LIMITED_ALONE, {"rungs": 2}, n_samples=250_000),
    "all rungs alike": Run(LOOSE, {"rungs": 3, "swap_interval": 2}, n_samples=250_000),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_coldest_rung_samples_what_rejection_keeps(name: str) -> None:
    run = RUNS[name]
    problem, traces = run.problem, run.traces()
    batches = run.batches(traces)
    assert_same_law(batches, problem.rejected)
    for trace in traces:
        assert trace.ladder is not None
        assert trace.ladder.tolerance[-1, 0] == problem.tolerance
        assert not trace.trouble.any()
    # What was recorded is what the models do.
    some = join(batches).rows(slice(None, None, 50))
    near, distance = problem.simulate(some.theta)
    assert len(near) == len(some.distance)
    np.testing.assert_allclose(distance, some.distance, rtol=1e-9)


def test_every_rung_samples_its_own_tolerance() -> None:
    """States of all rungs, looked at every so often; the two colder ones are guided."""
    run, n_looks, stride = Run(HOTTEST, {"rungs": 3, "tolerance": 80.0}), 4000, 40
    problem, engine = run.problem, run.engine()
    column = {engine.encoding.key(problem.law.decode(t)): j for j, t in enumerate(problem.terms)}
    shape = (N_CHAINS, 3, n_looks, len(problem.terms))
    theta, is_in, distance = np.zeros(shape), np.zeros(shape, dtype=bool), np.zeros(shape[:3])
    for seed in range(N_CHAINS):
        chain = engine.start(seed)
        chain.advance(engine.n_annealing)
        state = chain.ladder.rungs.state
        for i in range(n_looks):
            chain.advance(stride)
            distance[seed, :, i] = chain.ladder.tolerances.distance
            for c in range(3):
                n_terms = state.n_terms[c, 0]
                place = [column[key] for key in state.key[c, :n_terms].tolist()]
                theta[seed, c, i, place] = state.theta[c, :n_terms]
                is_in[seed, c, i, place] = True
        assert (chain.ladder.rungs.counters.guided[:, 0] > 0).tolist() == [True, True, False]
    for c, tolerance in enumerate(chain.ladder.tolerances.tolerance):
        draws = [Draws(theta[s, c], is_in[s, c], distance[s, c]) for s in range(N_CHAINS)]
        batches = [batch for d in draws for batch in d.batches(N_BATCHES + 1)[1:]]
        reference = problem.rejected
        assert_same_law(batches, reference.rows(reference.distance <= tolerance))


def test_guided_and_unguided_chains_agree_where_rejection_keeps_little() -> None:
    """Twenty terms and a tolerance that a few of a million draws from the prior meet."""
    guided = Run(TWENTY_TERMS, {"rungs": 3, "birth_sd": 0.25}, n_samples=250_000)
    paper = Run(TWENTY_TERMS, {"rungs": 3, "birth_sd": 0.25}, rule="paper")
    batches = [run.batches(run.traces()) for run in (guided, paper)]
    worst, limit, n_features = worst_t(*batches, join(batches[0]))
    assert worst < limit
    assert n_features > 30


@pytest.mark.parametrize("rule", ["default", "paper"])
def test_a_single_rung_has_nobody_to_swap_with(rule: str) -> None:
    runs = [Run(NINE_TERMS, {"rungs": 1, "swap_interval": n}, rule=rule) for n in (1, 10**9)]
    traces = []
    for run in runs:
        chain = run.engine().start(3)
        chain.advance(50_000)
        traces.append(chain.finish())
    left, right = traces
    assert left.structures == right.structures
    assert left.structure.tolist() == right.structure.tolist()
    assert left.theta.tobytes() == right.theta.tobytes()
