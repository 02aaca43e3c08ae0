"""Chain frequencies against the exact posterior of alphabets small enough to enumerate.

Every structure is enumerated; σ² (and σ_θ², where it has a prior) is integrated by the trapezoid
rule on a logarithmic grid, which converges exponentially for integrands that die away on both
sides; the tests check that finer and wider grids change nothing. z tests use batch means and are
Bonferroni corrected: each test gives at most three false alarms in a thousand sets of seeds. The
seeds are fixed.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain as join
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp
from tests.engines import prediction_engine
from tests.naive.prediction import Columns, noise_scale
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.inference.engines.prediction_chain import PredictionChain
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
N_CHAINS = 4
UNEVEN = Moves(0.05, 0.21, 0.10, 0.14, 0.07, 0.09, 0.15, 0.06, 0.13)


@dataclass(frozen=True)
class Size:
    """How long each chain is, in samples: by default 8 million of all chains."""

    n_batches: int = 50
    batch: int = 40_000
    thin: int = 1
    burn_in: int = 20_000

    @property
    def n_recorded(self) -> int:
        """Draws of a batch."""
        return self.batch // self.thin


@dataclass(frozen=True)
class Grid:
    """Nodes of log σ² and log σ_θ²."""

    n_noise: int = 160
    n_coefficient: int = 80
    width: float = 1.0


@dataclass(frozen=True, eq=False)
class Moments:
    """Exact mass of every structure, and E[σ²; T], E[θ; T] there; the inclusion of every term."""

    mass: np.ndarray
    noise: np.ndarray
    theta: np.ndarray
    inclusion: np.ndarray


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, grammar and prior, enumerated."""

    data: Dataset
    grammar: Grammar
    prior: Prior
    power: float = 1.0
    moves: Moves = field(default_factory=Moves)

    @cached_property
    def law(self) -> TermPrior:
        return TermPrior(self.grammar.alphabet, self.prior)

    @cached_property
    def terms(self) -> list[Term]:
        """Fixed terms, then all others: columns of `Moments.theta`."""
        return [*self.law.fixed, *(t for t in self.law.terms if t not in self.law.fixed)]

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        n_fixed, n = len(self.law.fixed), len(self.terms)
        free, head = range(n_fixed, n), tuple(range(n_fixed))
        sizes = range(n - n_fixed + 1)
        return [head + s for s in join.from_iterable(combinations(free, k) for k in sizes)]

    def exact(self, grid: Grid = Grid()) -> Moments:  # noqa: B008
        columns = Columns(self.data, self.law)
        y, every = columns.output, columns.matrix(self.terms)
        noise, weight = self._noise_nodes(grid)
        if self.prior.coefficient_shape is None:
            scale, scale_weight = np.array([self.prior.coefficient_sd**2]), np.zeros(1)
        else:
            a, b = self.prior.coefficient_shape, self.prior.coefficient_scale
            scale = np.exp(np.linspace(-10 * grid.width, 12 * grid.width, grid.n_coefficient))
            scale_weight = -a * np.log(scale) - b / scale
        ratio = scale[:, None] / noise * self.power  # τ on the grid (σ_θ², σ²)
        n, k = len(self.subsets), len(self.terms)
        log_mass, mean_noise, mean_theta = np.empty(n), np.empty(n), np.zeros((n, k))
        for i, subset in enumerate(self.subsets):
            x = every[:, subset]
            value, vector = np.linalg.eigh(x.T @ x)
            value, pull = np.maximum(value, 0.0), vector.T @ (x.T @ y)
            inflated = 1.0 + ratio[:, :, None] * value
            gain = self.power * ratio[:, :, None] / noise[:, None] * pull**2 / inflated
            log_density = 0.5 * gain.sum(axis=2) - 0.5 * np.log(inflated).sum(axis=2)
            log_density += weight + scale_weight[:, None]
            log_density += self.law.log_structure([self.terms[j] for j in subset])
            log_mass[i] = logsumexp(log_density)
            share = np.exp(log_density - log_mass[i])
            mean_noise[i] = (share * noise).sum()
            # E[θ] = V (τ⁻¹ + Λ)⁻¹ Vᵀ Φᵀy on average over the grid
            shrunk = (share[:, :, None] * ratio[:, :, None] / inflated).sum(axis=(0, 1)) * pull
            mean_theta[i, list(subset)] = vector @ shrunk
        mass = np.exp(log_mass - logsumexp(log_mass))
        is_in = np.array([[j in subset for j in range(k)] for subset in self.subsets])
        return Moments(mass, mass * mean_noise, mass[:, None] * mean_theta, mass @ is_in)

    def _noise_nodes(self, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
        """σ² on a logarithmic grid, with log p(y|∅, σ²)^w p(σ²) dσ²/d(log σ²)."""
        y = Columns(self.data, self.law).output
        variance = float(np.var(np.concatenate([r.output for r in self.data.records])))
        beta = noise_scale(self.prior, self.data, self.grammar.alphabet.max_lag)
        middle = np.log(variance)
        spread = 8.0 * grid.width
        noise = np.exp(np.linspace(middle - spread, middle + spread, grid.n_noise))
        weight = -self.prior.noise_shape * np.log(noise) - beta / noise
        weight -= 0.5 * self.power * (len(y) * np.log(noise) + y @ y / noise)
        return noise, weight

    def batches(
        self,
        size: Size = Size(),  # noqa: B008
        search: Search = Search(),  # noqa: B008
        moves: Moves | None = None,
        n_known: int = 0,
    ) -> Moments:
        """The same per batch of a run, stacked: mass, σ² and θ summed over each structure.

        The inclusion is that of informed moves, where there are any: given all other terms. Flips
        are of the differences between `n_known` of the structures.
        """
        engine = prediction_engine(
            self.data,
            self.grammar.alphabet,
            self.prior,
            moves or self.moves,
            self.power,
            search=search,
            thin=size.thin,
            samples=2 * size.burn_in,  # what is chosen by what was seen is chosen in the burn-in
        )
        key = [engine.encoding.key(self.law.decode(t)) for t in self.terms]
        drawn = np.random.default_rng(4).choice(len(self.subsets), n_known, replace=False)
        known = tuple(tuple(key[j] for j in self.subsets[i]) for i in drawn)
        engine = replace(engine, known=known)
        column = {k: j for j, k in enumerate(key)}
        place = {frozenset(subset): i for i, subset in enumerate(self.subsets)}

        def run(seed: int) -> list[tuple[np.ndarray, ...]]:
            chain, found = engine.start(seed), []
            chain.advance(size.burn_in)
            for _ in range(size.n_batches):
                chain.finish()
                chain.log = TraceLog(engine.encoding)  # what was recorded before is counted
                chain.informed.inclusion[:] = 0.0
                chain.informed.n_averaged[:] = 0
                chain.advance(size.batch)
                trace = chain.finish()
                assert not trace.trouble.any()
                found.append((*self._counted(trace, column, place), averaged(chain)))
            return found

        def averaged(chain: PredictionChain) -> np.ndarray:
            informed, share = chain.informed, np.full(len(column), np.nan)
            share[[column[k] for k in informed.pool.key.tolist()]] = informed.inclusion
            return share / max(informed.n_averaged[0], 1)

        with ThreadPoolExecutor(2) as pool:
            rows = list(join.from_iterable(pool.map(run, range(N_CHAINS))))
        return Moments(*(np.array(part) for part in zip(*rows, strict=True)))

    def _counted(
        self,
        trace: ChainTrace,
        column: dict[int, int],
        place: dict[frozenset[int], int],
    ) -> tuple[np.ndarray, ...]:
        """Share of every structure, and σ² and θ summed over it."""
        subsets = [[column[k] for k in keys] for keys in trace.structures]
        number = np.array([place[frozenset(s)] for s in subsets])
        row, n, n_draws = number[trace.structure], len(self.subsets), len(trace.structure)
        padded = np.full((len(subsets), len(self.terms)), -1)
        for line, subset in zip(padded, subsets, strict=True):
            line[: len(subset)] = subset
        entry = padded[trace.structure]
        entry = entry[entry >= 0]
        flat = np.repeat(row, np.diff(trace.offset)) * len(self.terms) + entry
        theta = np.bincount(flat, trace.theta, n * len(self.terms))
        return (
            np.bincount(row, minlength=n) / n_draws,
            np.bincount(row, trace.noise, n) / n_draws,
            theta.reshape(n, -1) / n_draws,
        )


def _series(seed: int, n: int, n_inputs: int, strength: float, level: float = 0.0) -> Dataset:
    """A weakly nonlinear response in a lot of noise, about a level."""
    rng = np.random.default_rng(seed)
    u, y = rng.standard_normal((n, n_inputs)), np.zeros(n)
    noise = rng.standard_normal(n)
    for k in range(1, n):
        signal = 0.6 * u[k - 1, 0] + 0.4 * y[k - 1] + 0.5 * u[k, -1] * u[k - 1, 0]
        y[k] = strength * signal + noise[k] + level
    return Dataset.from_arrays(u, y, names=(*("u", "v")[:n_inputs], "y"))


NINE = Grammar.narx(max_lag=1, max_degree=2, constant=False)
TEN = Grammar.narx(max_lag=1, max_degree=2)
# u and its functions: nine products of ten or fifteen spellings.
SPELLINGS = Grammar.volterra(functions="sign, sqrtabs", max_lag=0, max_degree=2, constant=False)
# Three atoms u(k-1), v(k-1), y(k-1) in products: swaps with a choice of inputs, and repeated atoms.
SWAPS = Grammar.from_text(
    """
name         swaps
start        expr0
nonterminals expr0 expr1 op par
terminals    u v y ε + θ × q⁻¹
inputs       u v
output       y
max_lag      1
max_degree   2
tree η1 = expr0(ε)
tree α1 = expr0(par(θ) op(×) expr1(op(q⁻¹) u) op(+) expr0*)
tree α2 = expr0(par(θ) op(×) expr1(op(q⁻¹) v) op(+) expr0*)
tree α3 = expr0(par(θ) op(×) expr1(op(q⁻¹) y) op(+) expr0*)
tree β1 = expr1(op(q⁻¹) u op(×) expr1*)
tree β2 = expr1(op(q⁻¹) v op(×) expr1*)
tree β3 = expr1(op(q⁻¹) y op(×) expr1*)
"""
)
PROBLEMS = {
    "weak": Problem(_series(1, 40, 1, 0.5), NINE, Prior(noise_scale=1e-5)),
    "constant": Problem(
        _series(8, 40, 1, 0.4, level=0.4), TEN, Prior(constant_odds=0.5, noise_scale=1e-5)
    ),
    "learned number of terms": Problem(
        _series(9, 40, 1, 0.5, level=0.2),
        TEN,
        Prior(terms_shape=1.5, expected_terms=3.0, lag_uniform=0.4, noise_scale=1e-5),
        moves=UNEVEN,
    ),
    "spellings": Problem(
        _series(10, 40, 1, 0.5), SPELLINGS, Prior(noise_scale=1e-5, degree_rate=1.0)
    ),
    "noise alone, uneven moves": Problem(
        _series(2, 25, 1, 0.0), NINE, Prior(noise_scale=0.5, power_weight=0.2), moves=UNEVEN
    ),
    "clear": Problem(_series(3, 60, 1, 1.5), NINE, Prior(units="raw", noise_scale=1.0)),
    "hinges of each signal": Problem(
        _series(8, 40, 1, 0.5),
        Grammar.narx(
            functions={"u": "pos[0.3], pos[-0.2]", "y": "pos[0.3]"},
            constant=False,
            max_lag=1,
            max_degree=1,
        ),
        Prior(noise_scale=1e-5),
        moves=UNEVEN,
    ),
    "two inputs": Problem(
        _series(4, 40, 2, 0.5), SWAPS, Prior(degree_rate=1.0, noise_scale=1e-5), moves=UNEVEN
    ),
    "fixed terms": Problem(
        _series(5, 40, 1, 0.5),
        NINE.with_initial("u(k-1) + abs(u(k))*y(k-1)"),
        Prior(noise_scale=1e-5),
    ),
    "power": Problem(_series(6, 60, 1, 0.8), NINE, Prior(noise_scale=1e-5), power=0.3),
    "hyperpriors": Problem(
        _series(7, 40, 1, 0.8, level=0.3),
        Grammar.narx(max_lag=1, max_degree=1),
        Prior(
            coefficient_shape=2.0,
            coefficient_scale=0.3,
            expected_terms=3.0,
            terms_shape=2.0,
            noise_scale=1e-5,
        ),
        moves=UNEVEN,
    ),
}
UNCERTAIN = PROBLEMS.keys() - {"clear", "hyperpriors"}


def largest_t(batches: np.ndarray, expected: np.ndarray) -> tuple[float, float]:
    """The largest |t| of column means, and the limit for so many columns."""
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    t = (batches.mean(axis=0) - expected) / error
    limit = stats.t.isf(FALSE_ALARM / 2 / t.size, len(batches) - 1)
    return float(np.abs(t).max()), float(limit)


def assert_equal(run: Moments, exact: Moments, n_recorded: int, least: int = 400) -> None:
    """Batches of so many draws against the exact posterior.

    Variances and coefficients where a batch has `least` draws of the structure.
    """
    frequency = run.mass.mean(axis=0)
    assert 0.5 * np.abs(frequency - exact.mass).sum() < 0.01

    # Structures one by one where batches hold enough of them for a t test; the others together.
    keep = exact.mass * n_recorded > 40
    mass, expected = run.mass[:, keep], exact.mass[keep]
    if not keep.all():
        mass = np.column_stack([mass, run.mass[:, ~keep].sum(axis=1)])
        expected = np.append(expected, exact.mass[~keep].sum())
    largest, limit = largest_t(mass, expected)
    assert largest < limit

    # Σ over the draws in a structure of σ² - E[σ²|T] and of θ - E[θ|T] is 0 on average.
    often = exact.mass * n_recorded > least
    given = exact.noise[often] / exact.mass[often]
    largest, limit = largest_t(run.noise[:, often] - run.mass[:, often] * given, 0.0)
    assert largest < limit
    rows, columns = np.nonzero(exact.theta * often[:, None])
    given = exact.theta[rows, columns] / exact.mass[rows]
    largest, limit = largest_t(run.theta[:, rows, columns] - run.mass[:, rows] * given, 0.0)
    assert largest < limit
    assert len(rows) > 10


@pytest.mark.parametrize("name", PROBLEMS)
def test_frequencies_equal_the_exact_posterior(name: str) -> None:
    problem = PROBLEMS[name]
    exact = problem.exact()
    for grid in (Grid(n_noise=320, n_coefficient=160), Grid(320, 160, width=2.0)):
        finer = problem.exact(grid)
        np.testing.assert_allclose(exact.mass, finer.mass, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(exact.noise, finer.noise, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(exact.theta, finer.theta, rtol=1e-6, atol=1e-9)
    assert exact.mass.max() < (0.5 if name in UNCERTAIN else 0.95)

    assert_equal(problem.batches(), exact, Size().n_recorded)
