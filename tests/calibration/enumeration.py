r"""Posteriors of free runs with noise on the output, by enumeration and importance sampling.

The evidence of a structure, with σ² ~ IG(a, b) integrated out, n rows, power w and S the squared
error of the free run, is

.. math:: Z_T = \int p(θ)\, B(S(θ))^{-A} dθ, \qquad A = a + \tfrac{wn}2, \quad B = b + \tfrac w2 S

with p(θ) normal, or, where σ_θ² ~ IG(a', b'), the t of 2a' degrees of freedom that integrating it
leaves; runs that leave their bounds count nothing. With autoregressive noise of order q, V the past
of the residual, ρ̂ its regression and S what that leaves,

.. math:: Z_T = \int p(θ)\, |V^TV|^{-1/2} B(S)^{-(A - q/2)} P(ρ \text{ is stationary} | θ)\, dθ

with n the rows that are not given and ρ a t around ρ̂ of :math:`2A - q` degrees of freedom and scale
:math:`\tfrac{2B}{w(2A - q)} (V^TV)^{-1}`. It is estimated by importance sampling from a t
around moments that were matched on the way from the prior, with a part of draws from the prior
itself (weights by the mixture of both), on scrambled Sobol points; independent scramblings give the
error of everything. Every point comes with a ρ, for order 1 from the t within (-1, 1) with the
probability of that, for order 2 from the t, and without weight where it is not stationary. Only
NumPy and SciPy; free runs are vectorised over coefficients. Where the alphabet has past noise, runs
are predictions one step ahead, with e what they left before, and none before the first.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain as join
from itertools import combinations, combinations_with_replacement

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
ORDERS = {"white": 0, "ar": 1, "ar2": 2}
N_COORDINATES = (0, 1, 3)  # of a point, for ρ: by inversion of the t, or two normals and their size
FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "": lambda x: x,
    "abs": np.abs,
    "tanh": np.tanh,
}


def inverse_gamma_cdf(x: float, shape: float, scale: np.ndarray) -> np.ndarray:
    return gammaincc(shape, scale / x)


class Runs:
    """Squared errors of runs for many coefficients at once; infinite out of bounds."""

    def __init__(self, data: Dataset, law: TermPrior, terms: list[Term], runaway: float) -> None:
        self.data, self.terms, self.lag = data, terms, law.alphabet.max_lag
        names, self.has_noise = data.names, law.alphabet.has_noise
        fed_back = names.noise if self.has_noise else names.output
        everything = np.concatenate([record.output for record in data.records])
        middle = (everything.max() + everything.min()) / 2.0
        reach = min(runaway * np.ptp(everything) / 2.0, 1e100)
        self.lower, self.upper = middle - reach, middle + reach
        self.known: list[list[np.ndarray]] = []  # of each record, of each term: what is measured
        self.back = [
            [(a.lag, FUNCTIONS[a.function]) for a in law.decode(t) if a.signal == fed_back]
            for t in terms
        ]
        for record in data.records:
            rows = []
            for term in terms:
                value = np.ones(len(record.output))
                for atom in law.decode(term):
                    if atom.signal != fed_back:
                        signal = record.output
                        if atom.signal != names.output:
                            signal = record.inputs[:, names.inputs.index(atom.signal)]
                        value = value * FUNCTIONS[atom.function](np.roll(signal, atom.lag))
                rows.append(value)
            self.known.append(rows)

    def moments(self, places: tuple[int, ...], theta: np.ndarray, order: int) -> np.ndarray:
        """Σ v(k-a) v(k-b) of every row of θ, whose columns are the terms at these places.

        (n, order + 1, order + 1), over all k with so much past; infinite out of bounds.
        """
        total, is_lost = np.zeros((order + 1, order + 1, len(theta))), np.zeros(len(theta), bool)
        columns = list(theta.T.copy())
        for record, known in zip(self.data.records, self.known, strict=True):
            output = record.output.tolist()
            seeds = [0.0] * self.lag if self.has_noise else output[: self.lag]
            run = [np.full(len(theta), value) for value in seeds]  # what is fed back
            left: list[np.ndarray] = []
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
                run.append(output[k] - value if self.has_noise else value)
                left = [output[k] - value, *left[:order]]
                if len(left) > order:
                    for a, b in combinations_with_replacement(range(order + 1), 2):
                        total[a, b] += left[a] * left[b]
        for a, b in combinations(range(order + 1), 2):
            total[b, a] = total[a, b]
        total[:, :, is_lost] = math.inf
        return np.moveaxis(total, 2, 0)


def is_stationary(rho: np.ndarray) -> np.ndarray:
    """Whether the partial autocorrelations of every row, of one or two, are within (-1, 1)."""
    last = rho[:, -1]
    first = rho[:, 0] / (1.0 - last) if rho.shape[1] == 2 else last
    return (np.abs(first) < 1.0) & (np.abs(last) < 1.0)


@dataclass(frozen=True, eq=False)
class Weighted:
    """Draws of one structure, (n_replicates, n_points, ...), with log weights; S is given ρ."""

    theta: np.ndarray
    rho: np.ndarray
    error: np.ndarray
    log_weight: np.ndarray

    @cached_property
    def numbers(self) -> np.ndarray:
        """θ, then ρ."""
        return np.concatenate([self.theta, self.rho], axis=2)

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
        values = self.numbers[:, :, j].ravel()
        order = np.argsort(values)
        running = np.cumsum(weight[order])
        place = int(np.searchsorted(running, level * running[-1]))
        return float(values[order[min(place, len(order) - 1)]])


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
    noise: str = "white"

    @property
    def order(self) -> int:
        """q, how many coefficients the noise has."""
        return ORDERS[self.noise]

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
        """A, with ρ given."""
        n_given = self.grammar.alphabet.max_lag + self.order
        n_rows = sum(len(r.output) - n_given for r in self.data.records)
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

    def judge(
        self, subset: tuple[int, ...], theta: np.ndarray, points: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """A ρ for every θ by points of the unit cube, S given it, and the log weight of both.

        With white noise that is -A log B. The pinned terms are before θ.
        """
        pinned = np.broadcast_to(self.pinned, (len(theta), len(self.pinned)))
        moment = self.runs.moments(subset, np.column_stack([pinned, theta]), self.order)
        is_there, q = moment[:, 0, 0] < math.inf, self.order
        moment[~is_there] = np.eye(q + 1)
        past, with_past = moment[:, 1:, 1:], moment[:, 1:, :1]
        best = np.linalg.solve(past, with_past)[:, :, 0]
        scale = self.scale(moment[:, 0, 0] - (with_past[:, :, 0] * best).sum(axis=1))
        log_lik = -(self.shape - 0.5 * q) * np.log(scale) - 0.5 * np.linalg.slogdet(past)[1]
        freedom = 2.0 * self.shape - q
        rho = best
        if q == 1:
            spread = np.sqrt(2.0 * scale / (self.power * freedom * past[:, 0, 0]))
            law = stats.t(freedom)
            low, high = law.cdf((-1.0 - best[:, 0]) / spread), law.cdf((1.0 - best[:, 0]) / spread)
            is_there = is_there & (high > low)
            log_lik += np.log(np.where(is_there, high - low, 1.0))
            rho = best + (spread * law.ppf(low + points[:, 0] * (high - low)))[:, None]
        elif q == 2:
            size = np.sqrt(2.0 * scale / (self.power * stats.chi2(freedom).ppf(points[:, 2])))
            normal = size[:, None] * ndtri(points[:, :2])
            lower = np.linalg.cholesky(np.linalg.inv(past))
            rho = best + np.einsum("nij,nj->ni", lower, normal)
            is_there = is_there & is_stationary(rho)
        weight = np.column_stack([np.ones(len(rho)), -rho])
        error = np.einsum("ni,nij,nj->n", weight, moment, weight)
        error = np.where(is_there, error, math.inf)
        return rho, error, np.where(is_there, log_lik, -math.inf)

    def draw_prior(self, points: np.ndarray) -> np.ndarray:
        """θ from the prior at points of the unit cube, one coordinate more than θ has."""
        normal, a = ndtri(points[:, :-1]), self.prior.coefficient_shape
        if a is None:
            return self.prior.coefficient_sd * normal
        variance = stats.invgamma(a, scale=self.prior.coefficient_scale).ppf(points[:, -1])
        return np.sqrt(variance)[:, None] * normal

    def integrate(self, subset: tuple[int, ...], seed: int, factor: int = 1) -> Weighted:
        p = len(subset) - len(self.pinned)
        rng = np.random.default_rng([seed, *subset])
        if p == 0:
            n = 1 if self.order == 0 else factor * N_POINTS
            parts = []
            for _ in range(N_SCRAMBLED):
                points = stats.qmc.Sobol(max(N_COORDINATES[self.order], 1), rng=rng).random(n)
                theta = np.empty((n, 0))
                parts.append((theta, *self.judge(subset, theta, points)))
            return Weighted(*(np.array(part) for part in zip(*parts, strict=True)))
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
            theta, _, _, log_weight = self._weigh(
                subset, law, p, rng, N_POINTS, N_PRIOR, temperature
            )
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
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draws from t and prior, and log of p(θ) L(θ)^temperature by their mixture."""
        n_coordinates = p + 1 + N_COORDINATES[self.order]
        cubes = [stats.qmc.Sobol(n_coordinates, rng=rng).random(n) for n in (n_points, n_prior)]
        points = [cube[:, : p + 1] for cube in cubes]
        for_rho = np.concatenate(cubes[: 1 if law is None else 2])[:, p + 1 :]
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
        rho, error, log_lik = self.judge(subset, theta, for_rho)
        log_target = self.log_prior(theta) + temperature * log_lik
        return theta, rho, error, log_target - log_mixture

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
        for j in range(p + problem.order):
            values = weighted.numbers[:, :, j]
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
    """A function of θ (free terms in the order of the subset) and ρ, σ² and σ_θ², and E[·|T]."""

    function: Callable[..., np.ndarray]
    mean: float
    error: float
