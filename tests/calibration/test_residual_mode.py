"""Chains beside a white box (``initial_mode="residual"``) sample exactly what they should.

The fixed terms have the coefficients of their own least-squares fit; what is left, y - F, is
explained by the other terms, over all structures of these. Against enumeration and quadrature one
step ahead, against plain rejection in free runs, and against the prior where nothing is measured.
All tests are two-sided t tests on batch means, Bonferroni over what one test compares; each gives a
false alarm once in a thousand sets of seeds. The seeds are fixed.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain as join
from itertools import combinations

import numpy as np
import pytest
from scipy.special import logsumexp
from tests.calibration import test_abc_validity as validity
from tests.calibration.test_prior_recovery import LONG, UNEVEN, t_limit, t_values
from tests.engines import prediction_engine
from tests.naive.prediction import Columns, log_evidence, noise_scale
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.inference.engines.abc import AbcEngine
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


def _series(seed: int, n: int) -> Dataset:
    """A weakly nonlinear response in a lot of noise."""
    rng = np.random.default_rng(seed)
    u, y = rng.standard_normal(n), rng.standard_normal(n)
    for k in range(1, n):
        y[k] += 0.4 * u[k - 1] + 0.3 * y[k - 1] + 0.3 * u[k] * u[k - 1]
    return Dataset.from_arrays(u, y)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, grammar and prior; the fixed terms of the grammar are pinned."""

    data: Dataset
    grammar: Grammar
    prior: Prior = field(default_factory=Prior)
    power: float = 1.0
    moves: Moves = field(default_factory=Moves)
    batch_size: int = 12_000
    thin: int = 1

    @cached_property
    def law(self) -> TermPrior:
        return TermPrior(self.grammar.alphabet, self.prior)

    @cached_property
    def free(self) -> list[Term]:
        """The terms that come and go."""
        return [t for t in self.law.terms if t not in self.law.fixed]

    def exact(self, n_nodes: int) -> np.ndarray:
        """Every structure, one a row: its mass, and E[σ²; T], E[σ_θ²; T], E[θ; T]."""
        columns = Columns(self.data, self.law)
        rest = columns.rest(columns.white_box(self.law.fixed))
        variance = float(np.var(np.concatenate([r.output for r in self.data.records])))
        alpha = self.prior.noise_shape
        beta = noise_scale(self.prior, self.data, self.grammar.alphabet.max_lag)
        nodes = [(s, self.prior.coefficient_sd**2, 0.0) for s in _nodes(variance, n_nodes)]
        if (a := self.prior.coefficient_shape) is not None:
            b = self.prior.coefficient_scale
            spreads = _nodes(1.0, n_nodes, 7.0)
            nodes = [(s, c, -a * np.log(c) - b / c) for s, _, _ in nodes for c in spreads]
        rows, log_mass = [], []
        for subset in self.subsets:
            terms = [self.free[j] for j in subset]
            matrix, log_prior = columns.matrix(terms), self.law.log_structure(terms)
            normal, pull = matrix.T @ matrix, matrix.T @ rest
            density, means = [], []
            for noise, coefficient, extra in nodes:
                found = log_evidence(matrix, rest, noise, coefficient, 1.0)
                density.append(found - alpha * np.log(noise) - beta / noise + extra)
                ridge = noise / coefficient * np.eye(len(terms))
                theta = np.zeros(len(self.free))
                theta[list(subset)] = np.linalg.solve(normal + ridge, pull) if terms else ()
                means.append([1.0, noise, coefficient, *theta])
            log_mass.append(logsumexp(density) + log_prior)
            rows.append(np.exp(density - logsumexp(density)) @ np.array(means))
        return np.exp(np.array(log_mass) - logsumexp(log_mass))[:, None] * np.array(rows)

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        n = len(self.free)
        return list(join.from_iterable(combinations(range(n), k) for k in range(n + 1)))

    def traces(self) -> list[ChainTrace]:
        engine = prediction_engine(
            self.data,
            self.grammar.alphabet,
            self.prior,
            self.moves,
            self.power,
            thin=self.thin,
            is_residual=True,
        )
        found = []
        for seed in range(N_CHAINS):
            chain = engine.start(seed)
            chain.advance(self.thin * self.batch_size * (N_BATCHES + 1))
            found.append(chain.finish())
            assert not found[-1].trouble.any()
        return found

    def batches(self) -> np.ndarray:
        """(n_batches, n_structures, 3 + n_free) as `exact`, of stretches of chains."""
        engine = prediction_engine(self.data, self.grammar.alphabet, self.prior, is_residual=True)
        column = {engine.encoding.key(self.law.decode(t)): j for j, t in enumerate(self.free)}
        pinned = dict(zip(engine.regression.pinned_key.tolist(), self.law.fixed, strict=True))
        place, found = {frozenset(s): i for i, s in enumerate(self.subsets)}, []
        for trace in self.traces():
            at = [[column.get(key, -1) for key in keys] for keys in trace.structures]
            assert all(set(pinned) <= set(keys) for keys in trace.structures)
            number = np.array([place[frozenset(a) - {-1}] for a in at])[trace.structure]
            entry = np.concatenate([at[s] for s in trace.structure])
            owner = np.repeat(np.arange(len(number)), np.diff(trace.offset))
            value = np.zeros((len(number), 3 + len(self.free)))
            value[:, 0], value[:, 1], value[:, 2] = 1.0, trace.noise, trace.coefficient
            is_free = entry >= 0
            value[owner[is_free], 3 + entry[is_free]] = trace.theta[is_free]
            for i in range(1, N_BATCHES + 1):  # the first is burn-in
                rows = slice(i * self.batch_size, (i + 1) * self.batch_size)
                total = np.zeros((len(self.subsets), value.shape[1]))
                np.add.at(total, number[rows], value[rows])
                found.append(total / self.batch_size)
        return np.array(found)


def _nodes(middle: float, n: int, reach: float = 5.0) -> np.ndarray:
    """Evenly spaced in the logarithm: sums of smooth integrands converge exponentially."""
    return middle * np.exp(np.linspace(-reach, reach, n))


NINE = Grammar.narx(max_lag=1, max_degree=2)
LINEAR = Grammar.narx(max_lag=1, max_degree=1)
PROBLEMS = {
    "inputs": Problem(_series(1, 40), NINE.with_initial("u(k-1) + u(k)^2 + u(k)*u(k-1)")),
    "the output": Problem(
        _series(2, 40), NINE.with_initial("y(k-1) + abs(u(k))*y(k-1) + u(k-1)"), moves=UNEVEN
    ),
    "hyperprior": Problem(
        _series(3, 40),
        LINEAR.with_initial("abs(y(k-1)) + u(k)^2"),
        Prior(coefficient_shape=2.0, coefficient_scale=0.3, expected_terms=3.0),
    ),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_frequencies_beside_a_white_box_equal_the_exact_posterior(name: str) -> None:
    problem = PROBLEMS[name]
    exact = problem.exact(40)
    np.testing.assert_allclose(exact, problem.exact(50), rtol=1e-4, atol=1e-7)
    mass = exact[:, 0]
    assert mass.max() < 0.6
    found = problem.batches()
    assert 0.5 * np.abs(found[:, :, 0].mean(axis=0) - mass).sum() < 0.02
    # Structures one by one where batches hold enough of them for a t test, the others together;
    # in frequent ones the sum of σ², σ_θ², θ over the draws, each less its mean there.
    is_often, is_common = mass * problem.batch_size > 40, mass * problem.batch_size > 400
    compared = [found[:, is_often, 0], found[:, ~is_often, 0].sum(axis=1)[:, None]]
    expected = [*mass[is_often], mass[~is_often].sum()]
    given = exact[is_common] / mass[is_common, None]
    centred = found[:, is_common] - found[:, is_common, :1] * given
    is_random = (np.abs(given) > 0.0) & (centred.std(axis=0) > 1e-12)
    compared.append(centred[:, is_random])
    values = np.column_stack(compared)
    wanted = np.append(expected, np.zeros(is_random.sum()))
    is_there = values.std(axis=0) > 0.0
    t = t_values(values[:, is_there], wanted[is_there])
    assert np.abs(t).max() < t_limit(len(values), len(t))
    assert len(t) > 20


def test_without_likelihood_free_terms_follow_their_prior_beside_a_white_box() -> None:
    """A term is in with probability λp/(1 + λp), those that are pinned always and only once."""
    prior = Prior(**{**LONG.settings, "noise_shape": 1.0})
    grammar = Grammar.narx(max_lag=2, max_degree=2).with_initial("u(k-1)^2 + y(k-1)")
    problem = Problem(_series(4, 30), grammar, prior, 0.0, UNEVEN, batch_size=2000, thin=10)
    law, rows = problem.law, []
    engine = prediction_engine(problem.data, grammar.alphabet, is_residual=True)
    place = {engine.encoding.key(law.decode(t)): j for j, t in enumerate(problem.free)}
    fixed = {engine.encoding.key(law.decode(t)) for t in law.fixed}
    for trace in problem.traces():
        is_in = np.zeros((len(trace.structures), len(place)))
        for row, keys in zip(is_in, trace.structures, strict=True):
            assert fixed <= set(keys)
            assert len(set(keys)) == len(keys)
            row[[place[key] for key in keys if key not in fixed]] = 1.0
        batches = trace.structure.reshape(-1, problem.batch_size)[1:]
        rows += [is_in[batch].mean(axis=0) for batch in batches]
    odds = np.array([law.odds(term) for term in problem.free])
    expected, found = odds / (1.0 + odds), np.array(rows)
    keep = expected * problem.batch_size > 20
    assert keep.sum() > 10
    t = t_values(found[:, keep], expected[keep])
    assert np.abs(t).max() < t_limit(len(found), len(t))


@dataclass(frozen=True, eq=False)
class PinnedProblem(validity.Problem):
    """As there; θ of pinned terms is what they differ by from their least squares: nothing."""

    @cached_property
    def pinned(self) -> np.ndarray:
        found = Columns(self.data, self.law).white_box(self.law.fixed)
        return np.array([found.get(term, 0.0) for term in self.terms])

    @cached_property
    def rejected(self) -> validity.Draws:
        rng, found, n_fixed = np.random.default_rng(78), [], len(self.law.fixed)
        odds = np.array([self.law.odds(term) for term in self.terms[n_fixed:]])
        for _ in range(self.n_prior // validity.CHUNK):
            is_in = np.ones((validity.CHUNK, len(self.terms)), dtype=bool)
            is_in[:, n_fixed:] = rng.random((len(is_in), len(odds))) > 1.0 / (1.0 + odds)
            normal = self.prior.coefficient_sd * rng.standard_normal(is_in.shape)
            theta = np.where(is_in, normal, 0.0)
            theta[:, :n_fixed] = 0.0
            near, distance = self.simulate(theta)
            found.append(validity.Draws(theta[near], is_in[near], distance))
        return validity.join(found)

    def simulate(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return super().simulate(theta + self.pinned)

    def draws(self, engine: AbcEngine, trace: ChainTrace) -> validity.Draws:
        found, n_fixed = super().draws(engine, trace), len(self.law.fixed)
        np.testing.assert_allclose(found.theta[0, :n_fixed], self.pinned[:n_fixed], rtol=1e-9)
        assert (found.theta[:, :n_fixed] == found.theta[0, :n_fixed]).all()  # to the last bit
        found.theta[:, :n_fixed] = 0.0
        return found


@dataclass(frozen=True)
class PinnedRun(validity.Run):
    """How it is sampled."""

    def engine(self) -> AbcEngine:
        engine = super().engine()
        return replace(engine, problem=replace(engine.problem, is_residual=True))


BESIDE = PinnedProblem(
    validity._series(2, (40,)),
    NINE.with_initial("u(k-1) + y(k-1) + abs(y(k-1))*u(k)"),
    70.0,  # by itself the white box is at 72.6
    validity.HALF,
    n_prior=1_500_000,
)
RUNS = {
    "guided": PinnedRun(BESIDE, {"rungs": 2, "guided": 0.7}, n_samples=200_000),
    "paper": PinnedRun(BESIDE, {"rungs": 2}, rule="paper", moves=UNEVEN, n_samples=200_000),
}


@pytest.mark.parametrize("name", RUNS)
def test_free_runs_beside_a_white_box_are_those_that_rejection_keeps(name: str) -> None:
    run = RUNS[name]
    batches = run.batches(run.traces())
    validity.assert_same_law(batches, run.problem.rejected)
    some = validity.join(batches).rows(slice(None, None, 50))
    near, distance = run.problem.simulate(some.theta)
    assert len(near) == len(some.distance)
    np.testing.assert_allclose(distance, some.distance, rtol=1e-9)
