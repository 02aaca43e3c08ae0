"""The free-run sampler against plain rejection: draw from the prior, simulate, keep what is near.

The coldest rung must sample p(T) N(θ; 0, σ_θ²) 1{d ≤ ε}, and that is the law of what rejection
keeps. Both are reduced to the same features: indicators of terms and of the common structures,
moments of the coefficients within these, moments of the distance. Their means are compared by
two-sided tests, with batch means for the chain and independent draws for the rejection, Bonferroni
over the features; each test gives at most one false alarm in a thousand sets of seeds. The seeds
are fixed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations_with_replacement

import numpy as np
import pytest
from tests.calibration.test_prior_recovery import UNEVEN, t_limit
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.engines.abc import AbcEngine
from adjoin.engines.ladder import Ladder
from adjoin.grammar import Atom
from adjoin.moves import Moves
from adjoin.prior import Prior
from adjoin.signals import Scaling
from adjoin.traces import ChainTrace

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

    def within(self, tolerance: float) -> Draws:
        near = self.distance <= tolerance
        return Draws(self.theta[near], self.is_in[near], self.distance[near])


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
        chunks = [self._reject(rng) for _ in range(self.n_prior // CHUNK)]
        parts = ([getattr(c, name) for c in chunks] for name in ("theta", "is_in", "distance"))
        return Draws(*(np.concatenate(part) for part in parts))

    def _reject(self, rng: np.random.Generator) -> Draws:
        """One chunk; a run is given up as soon as it is beyond the tolerance."""
        odds = np.array([np.inf if t in self.law.fixed else self.law.odds(t) for t in self.terms])
        is_in = rng.random((CHUNK, len(odds))) > 1.0 / (1.0 + odds)
        theta = np.where(is_in, self.prior.coefficient_sd * rng.standard_normal(is_in.shape), 0.0)
        scaling = self.scaling or Scaling.identity(self.data.names)
        records, lag = scaling.apply(self.data).records, self.grammar.alphabet.max_lag
        fitted = np.concatenate([record.output[lag:] for record in records])
        unit = len(fitted) * np.var(fitted) / 100.0
        if self.is_absolute:
            unit = len(fitted) / scaling.scale[-1]
        total = np.zeros(CHUNK)
        for record in records:
            # By signal, newest sample last; the output's are the model's own.
            past = {name: record.inputs[:, i] for i, name in enumerate(self.data.names.inputs)}
            back = [np.full(len(theta), value) for value in record.output[:lag]]
            for k in range(lag, len(record.output)):
                value = np.zeros(len(theta))
                for j, term in enumerate(self.terms):
                    value += theta[:, j] * self._product(self.law.decode(term), past, back, k)
                error = np.abs(value - record.output[k])
                total = total + (error if self.is_absolute else error**2)
                back.append(value)
                near = total <= self.tolerance * unit
                if near.mean() < 0.8 or k == len(record.output) - 1:
                    theta, is_in, total = theta[near], is_in[near], total[near]
                    back = [b[near] for b in back[-lag:]]
        return Draws(theta, is_in, total / unit)

    def _product(
        self, term: tuple[Atom, ...], past: dict[str, np.ndarray], back: list[np.ndarray], k: int
    ) -> np.ndarray | float:
        found: np.ndarray | float = 1.0
        for atom in term:
            is_back = atom.signal == self.data.names.output
            value = back[-atom.lag] if is_back else past[atom.signal][k - atom.lag]
            found = found * FUNCTIONS[atom.function](value)
        return found

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


def worst_t(batches: list[Draws], reference: Draws) -> tuple[float, float, int]:
    """The largest |t| of all features, the limit for so many, and how many there are."""
    found = np.array([[np.mean(f) for f in features(batch, reference)] for batch in batches])
    expected = [(f.mean(), f.var(ddof=1) / len(f)) for f in features(reference, reference)]
    mean, variance = np.array(expected).T
    error = np.sqrt(found.var(axis=0, ddof=1) / len(found) + variance)
    t = (found.mean(axis=0) - mean) / error
    return float(np.abs(t).max()), t_limit(len(batches), len(t)), len(t)


@dataclass(frozen=True)
class Run:
    """How a problem is sampled, and for how long."""

    problem: str
    ladder: dict[str, float]
    rule: str = "default"
    moves: Moves = field(default_factory=Moves)
    n_samples: int = 1_500_000
    thin: int = 5

    def engine(self) -> AbcEngine:
        problem = PROBLEMS[self.problem]
        settings = {"birth_sd": 0.35, "annealing": ANNEALING, "tolerance": problem.tolerance}
        return AbcEngine(
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
        )

    def batches(self) -> tuple[list[Draws], list[ChainTrace]]:
        """Equal stretches of all chains; the first of each chain is left out."""
        engine, problem = self.engine(), PROBLEMS[self.problem]

        def run(seed: int) -> ChainTrace:
            chain = engine.start(seed)
            chain.advance(self.n_samples)
            return chain.finish()

        with ThreadPoolExecutor(2) as pool:
            traces = list(pool.map(run, range(1, N_CHAINS + 1)))
        found = []
        for trace in traces:
            draws = problem.draws(engine, trace)
            size = len(draws.distance) // (N_BATCHES + 1)
            for i in range(1, N_BATCHES + 1):
                rows = slice(i * size, (i + 1) * size)
                found.append(Draws(draws.theta[rows], draws.is_in[rows], draws.distance[rows]))
        return found, traces


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
TWO_RECORDS = _series(3, (30, 22), n_inputs=2)
PROBLEMS = {
    "nine terms": Problem(_series(1, (40,)), NINE, 52.0, HALF, n_prior=4_000_000),
    "fixed terms": Problem(
        _series(2, (40,)),
        NINE.with_initial("u(k-1) + abs(y(k-1))*u(k)"),
        70.0,
        HALF,
        n_prior=4_000_000,
    ),
    "two inputs": Problem(
        TWO_RECORDS,
        Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=1),
        65.0,
        HALF,
        scaling=Scaling.from_dataset(TWO_RECORDS, center=True, scale=True),
    ),
    "absolute error": Problem(
        _series(4, (25, 15)), Grammar.narx(max_lag=1, max_degree=1), 0.6, HALF, is_absolute=True
    ),
    "loose": Problem(_series(1, (40,)), NINE, 200.0, HALF, n_prior=200_000),
}

RUNS = {
    "paper, one rung": Run("nine terms", {"rungs": 1}, rule="paper"),
    "paper, four rungs": Run("nine terms", {"rungs": 4}, rule="paper"),
    "unguided": Run("nine terms", {"rungs": 2, "guided": 0.0}, moves=UNEVEN),
    "guided": Run("nine terms", {"rungs": 1}),
    "guided, uneven moves": Run("nine terms", {"rungs": 1}, moves=UNEVEN),
    "guided, five rungs": Run("nine terms", {"rungs": 5, "swap_interval": 4}),
    "guided, no swaps": Run("nine terms", {"rungs": 2, "swap_interval": 10**9}),
    "mostly guided": Run("nine terms", {"rungs": 1, "guided": 0.9}),
    "fixed terms": Run("fixed terms", {"rungs": 2, "guided": 0.7}),
    "fixed terms, paper": Run("fixed terms", {"rungs": 2}, rule="paper", moves=UNEVEN),
    "two inputs": Run("two inputs", {"rungs": 3}, moves=UNEVEN),
    "two inputs, mostly guided": Run("two inputs", {"rungs": 1, "guided": 0.9}),
    "absolute error": Run("absolute error", {"rungs": 2}, n_samples=100_000, thin=1),
    "all rungs alike": Run("loose", {"rungs": 3, "swap_interval": 2}),
}


@pytest.mark.parametrize("name", RUNS)
def test_the_coldest_rung_samples_what_rejection_keeps(name: str) -> None:
    run = RUNS[name]
    problem = PROBLEMS[run.problem]
    reference = problem.rejected
    assert len(reference.distance) > 10_000
    batches, traces = run.batches()
    worst, limit, n_features = worst_t(batches, reference)
    assert worst < limit
    assert n_features > 30
    for trace in traces:
        assert trace.ladder is not None
        assert trace.ladder.tolerance[-1, 0] == problem.tolerance
        assert trace.ladder.distance.max() <= problem.tolerance
        assert not trace.trouble.any()
