r"""Posteriors of free runs with noise on the output, by enumeration and importance sampling.

The evidence of a structure, with σ² ~ IG(a, b) integrated out, n rows, power w and S the squared
error of the free run, is

.. math:: Z_T = \int p(θ)\, B(S(θ))^{-A} dθ, \qquad A = a + \tfrac{wn}2, \quad B = b + \tfrac w2 S

with p(θ) normal, or, where σ_θ² ~ IG(a', b'), the t of 2a' degrees of freedom that integrating it
leaves; runs that leave their bounds count nothing. It is estimated by importance sampling from a t
around moments that were matched on the way from the prior, with a part of draws from the prior
itself (weights by the mixture of both), on scrambled Sobol points; independent scramblings give the
error of everything. Only NumPy and SciPy; free runs are vectorised over coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain as join
from itertools import combinations

import numpy as np
from scipy import stats
from scipy.special import gammaincc, gammaln, logsumexp, ndtri
from tests.naive.prediction import Columns, noise_scale
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior

N_SCRAMBLED, N_POINTS, N_PRIOR = 8, 2**11, 2**9  # replicates, and points of each from t and prior
FREEDOM = 5.0
TEMPERED = (0.03, 0.1, 0.3, 0.6, 1.0, 1.0)
WIDER = 1.3
RUNAWAY = 10.0
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda x: x,
    "abs": np.abs,
    "tanh": np.tanh,
}


def inverse_gamma_cdf(x: float, shape: float, scale: np.ndarray) -> np.ndarray:
    return gammaincc(shape, scale / x)


class Runs:
    """Squared errors of free runs for many coefficients at once; infinite out of bounds."""

    def __init__(self, data: Dataset, law: TermPrior, terms: list[Term], runaway: float) -> None:
        self.data, self.terms, self.lag = data, terms, law.alphabet.max_lag
        names = data.names
        everything = np.concatenate([record.output for record in data.records])
        middle = (everything.max() + everything.min()) / 2.0
        reach = min(runaway * np.ptp(everything) / 2.0, 1e100)
        self.lower, self.upper = middle - reach, middle + reach
        self.known: list[list[np.ndarray]] = []  # of each record, of each term: what inputs give
        self.back = [
            [(a.lag, FUNCTIONS[a.function]) for a in law.decode(t) if a.signal == names.output]
            for t in terms
        ]
        for record in data.records:
            rows = []
            for term in terms:
                value = np.ones(len(record.output))
                for atom in law.decode(term):
                    if atom.signal != names.output:
                        signal = record.inputs[:, names.inputs.index(atom.signal)]
                        value = value * FUNCTIONS[atom.function](np.roll(signal, atom.lag))
                rows.append(value)
            self.known.append(rows)

    def errors(self, places: tuple[int, ...], theta: np.ndarray) -> np.ndarray:
        """S of every row of θ, whose columns are the terms at these places."""
        total, is_lost = np.zeros(len(theta)), np.zeros(len(theta), dtype=bool)
        columns = list(theta.T.copy())
        for record, known in zip(self.data.records, self.known, strict=True):
            output = record.output.tolist()
            run = [np.full(len(theta), value) for value in output[: self.lag]]
            for k in range(self.lag, len(output)):
                value = np.zeros(len(theta))
                for j, column in zip(places, columns, strict=True):
                    product = column * known[j][k]
                    for lag, function in self.back[j]:
                        product = product * function(run[k - lag])
                    value += product
                is_out = ~((value >= self.lower) & (value <= self.upper))
                is_lost |= is_out
                value[is_out] = 0.0
                total += (value - output[k]) ** 2
                run.append(value)
        total[is_lost] = math.inf
        return total


@dataclass(frozen=True, eq=False)
class Weighted:
    """Draws of one structure, (n_replicates, n_points, ...), with log weights."""

    theta: np.ndarray
    error: np.ndarray
    log_weight: np.ndarray

    @property
    def log_evidence(self) -> np.ndarray:
        """(n_replicates,)."""
        return logsumexp(self.log_weight, axis=1) - math.log(self.log_weight.shape[1])

    def mean(self, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """E[value|T] and its standard error; `value` : (n_replicates, n_points, n)."""
        weight = np.exp(self.log_weight - self.log_weight.max())
        found = np.einsum("rn,rnj->rj", weight, value) / weight.sum(axis=1)[:, None]
        return pooled(found)

    def quantile(self, j: int, level: float) -> float:
        weight = np.exp(self.log_weight - self.log_weight.max()).ravel()
        order = np.argsort(self.theta[:, :, j].ravel())
        running = np.cumsum(weight[order])
        place = int(np.searchsorted(running, level * running[-1]))
        return float(self.theta[:, :, j].ravel()[order[min(place, len(order) - 1)]])


def pooled(replicates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over replicates, and its standard error."""
    n = len(replicates)
    return replicates.mean(axis=0), replicates.std(axis=0, ddof=1) / math.sqrt(n)


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, grammar and prior, enumerated; with `is_residual` fixed terms are pinned."""

    data: Dataset
    grammar: Grammar
    prior: Prior
    power: float = 1.0
    moves: Moves = field(default_factory=Moves)
    is_residual: bool = False
    runaway: float = RUNAWAY

    @cached_property
    def law(self) -> TermPrior:
        return TermPrior(self.grammar.alphabet, self.prior)

    @cached_property
    def terms(self) -> list[Term]:
        """Fixed terms, then all others."""
        return [*self.law.fixed, *(t for t in self.law.terms if t not in self.law.fixed)]

    @cached_property
    def subsets(self) -> list[tuple[int, ...]]:
        """Every structure, as places in `terms`."""
        n_fixed, n = len(self.law.fixed), len(self.terms)
        free, head = range(n_fixed, n), tuple(range(n_fixed))
        sizes = range(n - n_fixed + 1)
        return [head + s for s in join.from_iterable(combinations(free, k) for k in sizes)]

    @cached_property
    def pinned(self) -> np.ndarray:
        """Coefficients of the terms that are not learned, the first of all."""
        fixed = self.law.fixed if self.is_residual else []
        return np.array([*Columns(self.data, self.law).white_box(fixed).values()])

    @cached_property
    def runs(self) -> Runs:
        return Runs(self.data, self.law, self.terms, self.runaway)

    @cached_property
    def shape(self) -> float:
        """A."""
        n_rows = sum(len(r.output) - self.grammar.alphabet.max_lag for r in self.data.records)
        return self.prior.noise_shape + 0.5 * self.power * n_rows

    def scale(self, error: np.ndarray) -> np.ndarray:
        """B."""
        beta = noise_scale(self.prior, self.data, self.grammar.alphabet.max_lag)
        return beta + 0.5 * self.power * error

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """log p(θ), σ_θ² integrated out where it has a prior."""
        square, p = (theta**2).sum(axis=1), theta.shape[1]
        a, b = self.prior.coefficient_shape, self.prior.coefficient_scale
        if a is None:
            variance = self.prior.coefficient_sd**2
            return -0.5 * (square / variance + p * math.log(2.0 * math.pi * variance))
        constant = a * math.log(b) + gammaln(a + 0.5 * p) - gammaln(a)
        constant -= 0.5 * p * math.log(2.0 * math.pi)
        return constant - (a + 0.5 * p) * np.log(b + 0.5 * square)

    def errors(self, subset: tuple[int, ...], theta: np.ndarray) -> np.ndarray:
        """S, with the pinned terms before."""
        pinned = np.broadcast_to(self.pinned, (len(theta), len(self.pinned)))
        return self.runs.errors(subset, np.column_stack([pinned, theta]))

    def log_likelihood(self, error: np.ndarray) -> np.ndarray:
        """-A log B."""
        is_there = error < math.inf
        scale = self.scale(np.where(is_there, error, 0.0))
        return np.where(is_there, -self.shape * np.log(scale), -math.inf)

    def draw_prior(self, points: np.ndarray) -> np.ndarray:
        """θ from the prior at points of the unit cube, one coordinate more than θ has."""
        normal, a = ndtri(points[:, :-1]), self.prior.coefficient_shape
        if a is None:
            return self.prior.coefficient_sd * normal
        variance = stats.invgamma(a, scale=self.prior.coefficient_scale).ppf(points[:, -1])
        return np.sqrt(variance)[:, None] * normal

    def integrate(self, subset: tuple[int, ...], seed: int, factor: int = 1) -> Weighted:
        p = len(subset) - len(self.pinned)
        if p == 0:
            theta = np.empty((1, 0))
            error = self.errors(subset, theta)
            shape = (N_SCRAMBLED, 1)
            log_weight = np.broadcast_to(self.log_likelihood(error), shape)
            return Weighted(np.empty((*shape, 0)), np.broadcast_to(error, shape), log_weight)
        rng = np.random.default_rng([seed, *subset])
        law = self._matched(subset, p, rng)
        parts = [
            self._weigh(subset, law, p, rng, factor * N_POINTS, factor * N_PRIOR)
            for _ in range(N_SCRAMBLED)
        ]
        return Weighted(*(np.array(part) for part in zip(*parts, strict=True)))

    def _matched(
        self, subset: tuple[int, ...], p: int, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Mean and factor of a t, from the prior to the posterior by powers between."""
        law = None
        for temperature in TEMPERED:
            theta, _, log_weight = self._weigh(subset, law, p, rng, N_POINTS, N_PRIOR, temperature)
            weight = np.exp(log_weight - log_weight.max())
            weight /= weight.sum()
            mean = weight @ theta
            covariance = (theta - mean).T @ ((theta - mean) * weight[:, None])
            covariance += 1e-9 * np.eye(p) * np.trace(covariance)
            law = mean, math.sqrt(WIDER) * np.linalg.cholesky(covariance)
        return law

    def _weigh(
        self,
        subset: tuple[int, ...],
        law: tuple[np.ndarray, np.ndarray] | None,
        p: int,
        rng: np.random.Generator,
        n_points: int,
        n_prior: int,
        temperature: float = 1.0,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Draws from t and prior, and log of p(θ) L(θ)^temperature by their mixture."""
        points = [stats.qmc.Sobol(p + 1, rng=rng).random(n) for n in (n_points, n_prior)]
        if law is None:
            theta = self.draw_prior(points[0])
            log_mixture = self.log_prior(theta)
        else:
            mean, lower = law
            normal = ndtri(points[0][:, :-1])
            size = np.sqrt(FREEDOM / stats.chi2(FREEDOM).ppf(points[0][:, -1]))
            around = mean + size[:, None] * normal @ lower.T
            theta = np.concatenate([around, self.draw_prior(points[1])])
            student = stats.multivariate_t(mean, lower @ lower.T, FREEDOM).logpdf(theta)
            share = n_points / (n_points + n_prior)
            log_mixture = np.logaddexp(
                student + math.log(share), self.log_prior(theta) + math.log(1.0 - share)
            )
        error = self.errors(subset, theta)
        log_target = self.log_prior(theta) + temperature * self.log_likelihood(error)
        return theta, error, log_target - log_mixture

    def exact(self, seed: int = 1, factor: int = 1) -> Exact:
        weighted = [self.integrate(subset, seed, factor) for subset in self.subsets]
        log_prior = [self.law.log_structure([self.terms[j] for j in s]) for s in self.subsets]
        log_evidence = np.array([w.log_evidence for w in weighted])
        log_mass = log_evidence + np.array(log_prior)[:, None]
        mass = np.exp(log_mass - logsumexp(log_mass, axis=0))
        return Exact(self, weighted, *pooled(mass.T))


@dataclass(frozen=True, eq=False)
class Exact:
    """Every structure's posterior mass with its standard error, and draws within it."""

    problem: Problem
    weighted: list[Weighted]
    mass: np.ndarray
    error: np.ndarray

    def features(self, i: int) -> list[Feature]:
        """What is compared within structure i: coefficients and variances."""
        weighted, problem = self.weighted[i], self.problem
        a, found = problem.prior.coefficient_shape, []
        scale, shape = problem.scale(weighted.error), problem.shape
        # A run out of bounds has no weight, but 0 times infinity is none either.
        scale = np.where(np.isfinite(scale), scale, 1.0)
        middle = float(weighted.mean(scale[:, :, None])[0][0])
        p = weighted.theta.shape[2]

        def add(value: np.ndarray, function: Callable[..., np.ndarray]) -> None:
            mean, error = weighted.mean(value[:, :, None])
            found.append(Feature(function, float(mean[0]), float(error[0])))

        add(scale / (shape - 1.0), lambda theta, noise, coefficient: noise)
        for level in (0.1, 0.5, 0.9):
            at = float(stats.invgamma(shape, scale=middle).ppf(level))
            add(
                inverse_gamma_cdf(at, shape, scale),
                lambda theta, noise, coefficient, at=at: noise <= at,
            )
        for j in range(p):
            values = weighted.theta[:, :, j]
            add(values, lambda theta, noise, coefficient, j=j: theta[:, j])
            for level in (0.05, 0.25, 0.5, 0.75, 0.95):
                at = weighted.quantile(j, level)
                add(
                    (values <= at).astype(float),
                    lambda theta, noise, coefficient, j=j, at=at: theta[:, j] <= at,
                )
        if a is not None and p:
            square = problem.prior.coefficient_scale + 0.5 * (weighted.theta**2).sum(axis=2)
            for level in (0.1, 0.5, 0.9):
                law = stats.invgamma(a + 0.5 * p, scale=float(np.median(square)))
                at = float(law.ppf(level))
                add(
                    inverse_gamma_cdf(at, a + 0.5 * p, square),
                    lambda theta, noise, coefficient, at=at: coefficient <= at,
                )
        return found


@dataclass(frozen=True, eq=False)
class Feature:
    """A function of θ (free terms in the order of the subset), σ² and σ_θ², and E[·|T]."""

    function: Callable[..., np.ndarray]
    mean: float
    error: float
