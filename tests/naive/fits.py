"""Free-run least-squares fits by their formulas, in plain Python and NumPy.

Free runs are simulated sample by sample and to their end, slopes follow the chain rule, fits keep
explicit Jacobians, and ellipsoids are written with the factor of JᵀJ as it is. *Pinned* terms run
with all others, each with a coefficient that is given: what is fitted are the others, the *free*
ones, and a fit knows no columns, slopes or dimensions but theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy.linalg import solve_triangular
from tests.naive import simulate
from tests.naive.prediction import Columns
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Structure
from adjoin.grammar import Atom

# The recipe of a fit: other numbers are other proposals.
ROUNDS, TRIES, HALVINGS = 10, 8, 12
SETTLED, START_NOISE, BAD_START, HOPELESS = 0.01, 1e-8, 2.0, 4.0
SMALLEST_PIVOT = 1e-13
RUNAWAY = 10.0  # half ranges of the output from its middle: beyond, a run is lost

Functions = dict[str, Callable[[float], float]]


class FreeRuns:
    """Free runs of any terms from the measured start of every record, and their slopes."""

    sign = 1.0
    """Of what is fed back, by the run."""

    def __init__(self, data: Dataset, law: TermPrior) -> None:
        self.data, self.law, self.names = data, law, data.names
        self.first = law.alphabet.max_lag
        outputs = np.concatenate([record.output for record in data.records])
        middle, half = (outputs.max() + outputs.min()) / 2, (outputs.max() - outputs.min()) / 2
        self.bounds = (middle - RUNAWAY * half, middle + RUNAWAY * half)
        self.measured = np.concatenate([r.output[self.first :] for r in data.records])
        self.inputs = [
            {name: r.inputs[:, i].tolist() for i, name in enumerate(self.names.inputs)}
            for r in data.records
        ]

        self.run = lru_cache(maxsize=4)(self._run)  # an error is mostly followed by its slopes

    @property
    def fed_back(self) -> str:
        """The signal that a run makes itself."""
        return self.names.output

    def _series(self, number: int, run: list[float]) -> simulate.Series:
        """All signals of a record, with its run."""
        return {**self.inputs[number], self.names.output: run}

    def _run(self, terms: tuple[Term, ...], theta: tuple[float, ...]) -> list[list[float]] | None:
        """The output of every record, its seeds included; None if a record diverges."""
        pairs = sorted(zip(terms, theta, strict=True))
        structure = Structure(tuple(self.law.decode(term) for term in terms), self.names)
        values, found = [value for _, value in pairs], []
        for inputs, record in zip(self.inputs, self.data.records, strict=True):
            seeds, n = record.output[: self.first].tolist(), len(record.output)
            run = simulate.free_run(structure, values, inputs, seeds, n, bounds=self.bounds)
            if len(run) < n or not self.bounds[0] <= run[-1] <= self.bounds[1]:
                return None
            found.append(run)
        return found

    def error(self, terms: list[Term], theta: list[float]) -> float:
        """Σ(y - ŷ)² over all records, infinite where one diverges."""
        runs = self.run(tuple(terms), tuple(theta))
        return math.inf if runs is None else float(np.sum(self._residual(runs) ** 2))

    def _residual(self, runs: list[list[float]]) -> np.ndarray:
        return self.measured - np.concatenate([run[self.first :] for run in runs])

    def linearised(self, terms: list[Term], theta: list[float]) -> tuple[np.ndarray, np.ndarray]:
        """J = ∂ŷ/∂θ and the residual y - ŷ; both infinite where a record diverges."""
        runs = self.run(tuple(terms), tuple(theta))
        if runs is None:
            return np.full((len(self.measured), len(terms)), math.inf), math.inf * self.measured
        atoms = [self.law.decode(term) for term in terms]
        slopes = [self._slopes(atoms, theta, self._series(i, run)) for i, run in enumerate(runs)]
        return np.concatenate(slopes), self._residual(runs)

    def _slopes(
        self, terms: list[tuple[Atom, ...]], theta: list[float], series: simulate.Series
    ) -> np.ndarray:
        """∂y(k)/∂θ = φ(k) ± Σ_j θ_j Σ_a f_a'(z(k-l_a)) Π_{b≠a} f_b · ∂y(k-l_a)/∂θ.

        With z what is fed back: the run y itself, or what it leaves.
        """
        n, first = len(series[self.names.output]), self.first
        slope, gain = np.zeros((n, len(terms))), {}
        for j, term in enumerate(terms):
            value = [self._values(simulate.FUNCTIONS, atom, series) for atom in term]
            slope[first:, j] = np.prod(value, axis=0)
            for i, atom in enumerate(term):
                if atom.signal == self.fed_back:
                    rest = np.prod([*value[:i], np.ones(n - first), *value[i + 1 :]], axis=0)
                    inner = self.sign * self._values(simulate.SLOPES, atom, series)
                    gain[atom.lag] = gain.get(atom.lag, 0.0) + theta[j] * inner * rest
        for k in range(first, n):
            for lag, factor in gain.items():
                slope[k] += factor[k - first] * slope[k - lag]
        return slope[first:]

    def _values(self, function: Functions, atom: Atom, series: simulate.Series) -> np.ndarray:
        signal = series[atom.signal]
        past = signal[self.first - atom.lag : len(signal) - atom.lag]
        return np.array([simulate.apply(function, atom.function, x) for x in past])


def unit_factor(matrix: np.ndarray, damping: float = 0.0) -> np.ndarray | None:
    """R with RᵀR = M + μ diag(M); None if M, with its diagonal taken out, is singular."""
    length = np.sqrt(np.diag(matrix))
    if not (np.isfinite(length).all() and (length > 0.0).all()):
        return None
    scaled = matrix / np.outer(length, length) + damping * np.eye(len(length))
    try:
        factor = np.linalg.cholesky(scaled).T
    except np.linalg.LinAlgError:
        return None
    return factor * length if (np.diag(factor) ** 2 > SMALLEST_PIVOT).all() else None


@dataclass
class Fit:
    """A structure's optimum and the factor of its JᵀJ, free terms in the order `terms`."""

    terms: list[Term]
    error: float = math.inf
    foreseen: float = math.inf
    theta: np.ndarray = field(default_factory=lambda: np.empty(0))
    factor: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))
    pinned: dict[Term, float] = field(default_factory=dict)

    def deviation(self, terms: list[Term], theta: list[float]) -> float:
        """‖J(θ - θ̂)‖² of coefficients in any order of terms."""
        given = dict(zip(terms, theta, strict=True))
        delta = np.array([given[term] for term in self.terms]) - self.theta
        return float(np.sum((self.factor @ delta) ** 2))

    @property
    def log_determinant(self) -> float:
        """½ log|JᵀJ|."""
        return float(np.log(np.diag(self.factor)).sum())

    def log_volume(self, square: float) -> float:
        """Of {θ : ‖J(θ - θ̂)‖² ≤ square}: π^{n/2} / Γ(n/2 + 1) · square^{n/2} / |J|."""
        half = len(self.terms) / 2
        ball = half * math.log(math.pi) - math.lgamma(half + 1.0)
        return ball + half * math.log(square) - self.log_determinant

    def draw(self, rng: np.random.Generator, square: float, terms: list[Term]) -> list[float]:
        """A uniform θ of the ellipsoid, in the order of `terms`: a direction, then a radius."""
        if not self.terms:
            return self.in_order(self.theta, terms)
        direction = np.array([rng.standard_normal() for _ in self.terms])
        radius = math.sqrt(square) * rng.random() ** (1.0 / len(self.terms))
        inside = radius * direction / np.linalg.norm(direction)
        return self.in_order(self.theta + solve_triangular(self.factor, inside), terms)

    def in_order(self, theta: np.ndarray, terms: list[Term]) -> list[float]:
        """Coefficients of the free terms and the pinned ones, in the order of `terms`."""
        found = {**self.pinned, **dict(zip(self.terms, theta.tolist(), strict=True))}
        return [found[term] for term in terms]


class Fitting:
    """Free-run least-squares fits: Levenberg-Marquardt from the one-step solution.

    `noise` : a guess of past noise in every record, for that solution.
    """

    def __init__(
        self,
        runs: FreeRuns,
        coefficient: float,
        is_residual: bool = False,
        noise: list[list[float]] | None = None,
    ) -> None:
        self.runs, self.coefficient = runs, coefficient
        self.columns = Columns(runs.data, runs.law, noise)
        self.square = float(runs.measured @ runs.measured)
        self.pinned = self.columns.white_box(runs.law.fixed if is_residual else [])

    def n_back(self, term: Term) -> int:
        return sum(atom.signal == self.runs.fed_back for atom in self.runs.law.decode(term))

    def ordered(self, terms: list[Term]) -> list[Term]:
        """By number of fed-back atoms, pure before mixed, short before long, then by atoms."""
        return sorted(terms, key=lambda t: (self.n_back(t), 0 < self.n_back(t) < len(t), len(t), t))

    def fit(self, terms: list[Term], level: float) -> Fit:
        free = [term for term in self.ordered(terms) if term not in self.pinned]
        columns, output = self.columns.matrix(free), self.columns.rest(self.pinned)
        theta = self._one_step(columns, output)
        if theta is None:
            return Fit(free)
        if not any(map(self.n_back, terms)):
            factor = unit_factor(columns.T @ columns)
            if factor is None:
                return Fit(free)
            if self._error(free, theta) == math.inf:
                return Fit(free)
            error = float(np.sum((output - columns @ theta) ** 2))
            return Fit(free, error, 0.0, theta, factor, self.pinned)
        theta, error = self._damped(free, theta)
        return Fit(free) if error == math.inf else self._descend(free, theta, error, level)

    def _one_step(self, columns: np.ndarray, output: np.ndarray) -> np.ndarray | None:
        """(ΦᵀΦ + σ²/σ_θ² I)⁻¹Φᵀy with a small σ²; None if singular or a column is nothing."""
        if not columns.shape[1]:
            return np.empty(0)
        length = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(length).all() and (length > 0.0).all()):
            return None
        ridge = START_NOISE * float(output @ output) / len(output) / self.coefficient
        precision = columns.T @ columns + ridge * np.eye(len(length))
        if unit_factor(precision) is None:
            return None
        return np.linalg.solve(precision, columns.T @ output)

    def _error(self, free: list[Term], theta: np.ndarray) -> float:
        """Of the run of free and pinned terms together."""
        return self.runs.error([*free, *self.pinned], [*theta.tolist(), *self.pinned.values()])

    def _damped(self, free: list[Term], theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Halve what is fed back until the run is at most so much worse than none."""
        gain = np.array([0.5 if self.n_back(term) else 1.0 for term in free])
        for _ in range(HALVINGS):
            error = self._error(free, theta)
            if error <= BAD_START * self.square:
                return theta, error
            theta = theta * gain
        return theta, math.inf

    def _descend(self, free: list[Term], theta: np.ndarray, error: float, level: float) -> Fit:
        damping, foreseen, factor = 0.0, 0.0, np.empty((0, 0))
        for number in range(ROUNDS if free else 0):
            everything = [*free, *self.pinned], [*theta.tolist(), *self.pinned.values()]
            slopes, residual = self.runs.linearised(*everything)
            slopes = slopes[:, : len(free)]
            if not np.isfinite(slopes).all():
                return Fit(free)
            normal, gradient = slopes.T @ slopes, slopes.T @ residual
            factor = unit_factor(normal)
            if factor is None:
                return Fit(free)
            gain = float(np.sum(solve_triangular(factor, gradient, trans=1) ** 2))
            foreseen = max(foreseen, error - gain) if number else 0.0
            if foreseen > HOPELESS * level:
                return Fit(free, foreseen=foreseen)
            if gain < SETTLED * error / len(residual):
                break
            for _ in range(TRIES):
                damped = unit_factor(normal, damping)
                step = solve_triangular(damped, solve_triangular(damped, gradient, trans=1))
                found = self._error(free, theta + step)
                if found < error:
                    break
                damping = max(10.0 * damping, 1e-3)
            else:
                break
            theta, error = theta + step, found
            damping = damping / 10.0 if damping > 1e-3 else 0.0
        return Fit(free, error, foreseen, theta, factor, self.pinned)
