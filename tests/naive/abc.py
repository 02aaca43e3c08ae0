"""The free-run sampler by its formulas, in plain Python and NumPy.

Free runs are simulated sample by sample and to their end, slopes follow the chain rule, fits keep
explicit Jacobians, and ellipsoids are written with the factor of JᵀJ as it is. What the compiled
sampler leaves undone (a run that is too far off already, a proposal that the ratio refuses) is done
here all the same, or left undone where it changes nothing. The chain consumes the same random
numbers as the compiled one: equal seeds and equal states give equal chains.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from tests.naive import simulate
from tests.naive.osa import Change, Columns, Moves
from tests.naive.prior import Term, TermPrior, draw_categorical

from adjoin import Dataset, Structure
from adjoin import moves as product
from adjoin.grammar import Alphabet, Atom
from adjoin.prior import Prior

# The recipe of a fit: other numbers are other proposals.
ROUNDS, TRIES, HALVINGS = 10, 8, 12
SETTLED, START_NOISE, BAD_START, HOPELESS = 0.01, 1e-8, 2.0, 4.0
SMALLEST_PIVOT = 1e-13

Functions = dict[str, Callable[[float], float]]

DERIVATIVES: Functions = {
    "": lambda x: 1.0,
    "abs": lambda x: float((x > 0) - (x < 0)),
    "sin": math.cos,
    "cos": lambda x: -math.sin(x),
    "tanh": lambda x: 1.0 - math.tanh(x) ** 2,
    "sign": lambda x: 0.0,
    "exp": simulate.FUNCTIONS["exp"],
    "sqrtabs": lambda x: math.copysign(0.5 / math.sqrt(abs(x)), x) if x != 0 else 0.0,
}


class FreeRuns:
    """Free runs of any terms from the measured start of every record, and their slopes."""

    def __init__(self, data: Dataset, law: TermPrior) -> None:
        self.data, self.law, self.names = data, law, data.names
        self.first = law.alphabet.max_lag
        self.measured = np.concatenate([r.output[self.first :] for r in data.records])
        self.inputs = [
            {name: r.inputs[:, i].tolist() for i, name in enumerate(self.names.inputs)}
            for r in data.records
        ]

        self.run = lru_cache(maxsize=4)(self._run)  # an error is mostly followed by its slopes

    def _run(self, terms: tuple[Term, ...], theta: tuple[float, ...]) -> list[list[float]] | None:
        """The output of every record, its seeds included; None if a record diverges."""
        pairs = sorted(zip(terms, theta, strict=True))
        structure = Structure(tuple(self.law.decode(term) for term in terms), self.names)
        values, found = [value for _, value in pairs], []
        for inputs, record in zip(self.inputs, self.data.records, strict=True):
            seeds, n = record.output[: self.first].tolist(), len(record.output)
            run = simulate.free_run(structure, values, inputs, seeds, n)
            if len(run) < n or not abs(run[-1]) <= 1e100:
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
        slopes = [
            self._slopes(atoms, theta, {**inputs, self.names.output: run})
            for inputs, run in zip(self.inputs, runs, strict=True)
        ]
        return np.concatenate(slopes), self._residual(runs)

    def _slopes(
        self, terms: list[tuple[Atom, ...]], theta: list[float], series: simulate.Series
    ) -> np.ndarray:
        """∂y(k)/∂θ = φ(k) + Σ_j θ_j Σ_a f_a'(y(k-l_a)) Π_{b≠a} f_b · ∂y(k-l_a)/∂θ."""
        n, first = len(series[self.names.output]), self.first
        slope, gain = np.zeros((n, len(terms))), {}
        for j, term in enumerate(terms):
            value = [self._values(simulate.FUNCTIONS, atom, series) for atom in term]
            slope[first:, j] = np.prod(value, axis=0)
            for i, atom in enumerate(term):
                if atom.signal == self.names.output:
                    rest = np.prod([*value[:i], np.ones(n - first), *value[i + 1 :]], axis=0)
                    inner = self._values(DERIVATIVES, atom, series)
                    gain[atom.lag] = gain.get(atom.lag, 0.0) + theta[j] * inner * rest
        for k in range(first, n):
            for lag, factor in gain.items():
                slope[k] += factor[k - first] * slope[k - lag]
        return slope[first:]

    def _values(self, function: Functions, atom: Atom, series: simulate.Series) -> np.ndarray:
        signal = series[atom.signal]
        past = signal[self.first - atom.lag : len(signal) - atom.lag]
        return np.array([function[atom.function](x) for x in past])


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
    """A structure's optimum and the factor of its JᵀJ, terms in the order `terms`."""

    terms: list[Term]
    error: float = math.inf
    foreseen: float = math.inf
    theta: np.ndarray = field(default_factory=lambda: np.empty(0))
    factor: np.ndarray = field(default_factory=lambda: np.empty((0, 0)))

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
        if not terms:
            return []
        direction = np.array([rng.standard_normal() for _ in terms])
        radius = math.sqrt(square) * rng.random() ** (1.0 / len(terms))
        inside = radius * direction / np.linalg.norm(direction)
        theta = self.theta + solve_triangular(self.factor, inside)
        found = dict(zip(self.terms, theta.tolist(), strict=True))
        return [found[term] for term in terms]


class Fitting:
    """Free-run least-squares fits: Levenberg-Marquardt from the one-step solution."""

    def __init__(self, runs: FreeRuns, coefficient: float) -> None:
        self.runs, self.coefficient = runs, coefficient
        self.columns = Columns(runs.data, runs.law)
        self.square = float(runs.measured @ runs.measured)

    def n_back(self, term: Term) -> int:
        return sum(atom.signal == self.runs.names.output for atom in self.runs.law.decode(term))

    def ordered(self, terms: list[Term]) -> list[Term]:
        """By number of fed-back atoms, pure before mixed, short before long, then by atoms."""
        return sorted(terms, key=lambda t: (self.n_back(t), 0 < self.n_back(t) < len(t), len(t), t))

    def fit(self, terms: list[Term], level: float) -> Fit:
        terms = self.ordered(terms)
        columns, output = self.columns.matrix(terms), self.runs.measured
        theta = self._one_step(columns, output)
        if theta is None:
            return Fit(terms)
        if not any(map(self.n_back, terms)):
            factor = unit_factor(columns.T @ columns)
            if factor is None:
                return Fit(terms)
            error = float(np.sum((output - columns @ theta) ** 2))
            return Fit(terms, error, 0.0, theta, factor)
        theta, error = self._damped(terms, theta)
        return Fit(terms) if error == math.inf else self._descend(terms, theta, error, level)

    def _one_step(self, columns: np.ndarray, output: np.ndarray) -> np.ndarray | None:
        """(ΦᵀΦ + σ²/σ_θ² I)⁻¹Φᵀy with a small σ²; None if singular or a column is nothing."""
        if not columns.shape[1]:
            return np.empty(0)
        length = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(length).all() and (length > 0.0).all()):
            return None
        ridge = START_NOISE * self.square / len(output) / self.coefficient
        precision = columns.T @ columns + ridge * np.eye(len(length))
        if unit_factor(precision) is None:
            return None
        return np.linalg.solve(precision, columns.T @ output)

    def _damped(self, terms: list[Term], theta: np.ndarray) -> tuple[np.ndarray, float]:
        """Halve what is fed back until the run is at most so much worse than none."""
        gain = np.array([0.5 if self.n_back(term) else 1.0 for term in terms])
        for _ in range(HALVINGS):
            error = self.runs.error(terms, theta.tolist())
            if error <= BAD_START * self.square:
                return theta, error
            theta = theta * gain
        return theta, math.inf

    def _descend(self, terms: list[Term], theta: np.ndarray, error: float, level: float) -> Fit:
        damping, foreseen, factor = 0.0, 0.0, None
        for number in range(ROUNDS):
            slopes, residual = self.runs.linearised(terms, theta.tolist())
            if not np.isfinite(slopes).all():
                return Fit(terms)
            normal, gradient = slopes.T @ slopes, slopes.T @ residual
            factor = unit_factor(normal)
            if factor is None:
                return Fit(terms)
            gain = float(np.sum(solve_triangular(factor, gradient, trans=1) ** 2))
            foreseen = max(foreseen, error - gain) if number else 0.0
            if foreseen > HOPELESS * level:
                return Fit(terms, foreseen=foreseen)
            if gain < SETTLED * error / len(residual):
                break
            for _ in range(TRIES):
                damped = unit_factor(normal, damping)
                step = solve_triangular(damped, solve_triangular(damped, gradient, trans=1))
                found = self.runs.error(terms, (theta + step).tolist())
                if found < error:
                    break
                damping = max(10.0 * damping, 1e-3)
            else:
                break
            theta, error = theta + step, found
            damping = damping / 10.0 if damping > 1e-3 else 0.0
        return Fit(terms, error, foreseen, theta, factor)


@dataclass
class Rung:
    """One tolerance and its state, terms in the chain's order."""

    terms: list[Term]
    theta: list[float]
    tolerance: float
    width: float
    distance: float
    n_steps: int = 0


class Sample(NamedTuple):
    """A recorded state of the coldest rung."""

    terms: tuple[Term, ...]
    theta: tuple[float, ...]
    noise: float
    log_prior: float
    distance: float


@dataclass
class Proposal:
    """What a rung may become, and what the densities make of it."""

    move: str
    log_uniform: float
    is_guided: bool
    terms: list[Term] | None = None
    theta: list[float] = field(default_factory=list)
    log_ratio: float = 0.0


def log_normal(theta: list[float], variance: float) -> float:
    return sum(-0.5 * (math.log(2.0 * math.pi * variance) + x * x / variance) for x in theta)


class Twin:
    """The sampler, one ladder at a time; `rungs` and `level` are the caller's to set."""

    def __init__(
        self,
        data: Dataset,
        alphabet: Alphabet,
        prior: Prior,
        moves: product.Moves,
        *,
        birth_sd: float = 0.1,
        acceptance: float = 0.234,
        guided: float = 0.0,
        reach: float = 1.2,
        swap_interval: int = 25,
        thin: int = 1,
    ) -> None:
        self.law = TermPrior(alphabet, prior)
        self.moves = Moves(self.law, moves.probabilities)
        self.runs = FreeRuns(data, self.law)
        self.coefficient = prior.coefficient_sd**2
        self.fitting = Fitting(self.runs, self.coefficient)
        self.birth, self.acceptance, self.guided = birth_sd**2, acceptance, guided
        self.reach, self.swap_interval, self.thin = reach, swap_interval, thin
        measured = self.runs.measured
        self.unit = len(measured) * float(np.var(measured)) / 100.0
        self.rungs: list[Rung] = []
        self.level, self.n_drawn = math.inf, 0
        self.fits: dict[frozenset[Term], Fit] = {}
        self.smallest, self.champion, self.score = math.inf, Fit([]), -math.inf
        self.cold: list[float] = []
        self.counts: list[dict[str, list[int]]] = []
        self.guides: list[list[int]] = []
        self.swaps: list[list[int]] = []
        self.saved = dict.fromkeys(("impossible", "unguided", "by ratio", "simulated", "near"), 0)

    def put(self, terms: list[Term], theta: list[float], tolerance: float, width: float) -> None:
        """One more rung, looser than those before."""
        distance = self.runs.error(terms, theta) / self.unit
        self.rungs.append(Rung(list(terms), list(theta), tolerance, width, distance))
        self.counts.append({name: [0, 0, 0] for name in self.moves.names})
        self.guides.append([0, 0])
        self.swaps.append([0, 0])

    def run(self, rng: np.random.Generator, n_samples: int, mode: str) -> Iterator[Sample]:
        """Samples by "record" or "anneal"; the latter adapts widths and gives none."""
        for _ in range(n_samples):
            for c in range(len(self.rungs)):
                self.step(rng, c, is_adapting=mode == "anneal")
            self.n_drawn += 1
            if self.n_drawn % self.swap_interval == 0:
                self.swap(self.n_drawn // self.swap_interval % 2)
            if mode == "anneal":
                self.cold.append(self.rungs[0].distance)
            elif self.n_drawn % self.thin == 0:
                yield self.sample()

    def descend(self, rng: np.random.Generator, n_samples: int) -> None:
        """Greedy steps: a rung's tolerance is where it is."""
        for _ in range(n_samples):
            for c, rung in enumerate(self.rungs):
                rung.tolerance = rung.distance
                self.step(rng, c, is_adapting=True)

    def polish(self) -> None:
        """Every rung to the optimum of its structure, if that is nearer."""
        for c, rung in enumerate(self.rungs):
            rung.tolerance = rung.distance
            fit = self.fit(rung.terms)
            if fit.error < (1.0 - 1e-9) * rung.distance * self.unit:
                found = dict(zip(fit.terms, fit.theta.tolist(), strict=True))
                proposal = Proposal("stay", -math.inf, True, rung.terms)
                proposal.theta = [found[term] for term in rung.terms]
                self.decide(c, proposal, self.simulate(rung, proposal))

    def sample(self) -> Sample:
        cold = self.rungs[0]
        terms, theta = tuple(cold.terms), tuple(cold.theta)
        noise = cold.tolerance * self.unit / len(self.runs.measured)
        return Sample(terms, theta, noise, self.law.log_structure(cold.terms), cold.distance)

    def step(self, rng: np.random.Generator, c: int, is_adapting: bool) -> None:
        rung, proposal, error = self.rungs[c], self.propose(rng, c), math.inf
        if proposal.terms is not None and self.is_likely(rung, proposal):
            error = self.simulate(rung, proposal)
        is_accepted = self.decide(c, proposal, error)
        if is_adapting and proposal.move == "stay" and proposal.theta and not proposal.is_guided:
            aim = self.acceptance
            slope, rung.n_steps = 1.0 / (aim * (1.0 - aim)), rung.n_steps + 1
            gain = slope * (is_accepted - aim) / (rung.n_steps + 5.0 * slope)
            rung.width *= math.exp(gain)

    def propose(self, rng: np.random.Generator, c: int) -> Proposal:
        """The move, whether it is guided, the uniform that decides, then what is proposed."""
        rung = self.rungs[c]
        weights = list(self.moves.probability.values())
        move = self.moves.names[draw_categorical(rng, weights)]
        is_guided = self.guided > 0.0 and rng.random() < self.guided
        is_guided = is_guided and rung.tolerance * self.unit <= self.level
        proposal = Proposal(move, math.log(1.0 - rng.random()), is_guided)
        self.counts[c][move][0] += 1
        change = None if move == "stay" else self.moves.draw(rng, move, rung.terms)
        after = rung.terms
        if move != "stay":
            after = None if change is None else self.moves.apply(rung.terms, change)
        if after is None:
            self.saved["impossible"] += 1
            return proposal
        self.counts[c][move][1] += 1
        if change is not None:
            proposal.log_ratio = self.moves.log_ratio(move, rung.terms, change)
        if is_guided:
            self.guides[c][0] += 1
            self.draw_guided(rng, rung, proposal, after)
            self.saved["unguided"] += proposal.terms is None
            return proposal
        proposal.terms = after
        if change is None:
            proposal.theta = [x + rung.width * rng.standard_normal() for x in rung.theta]
        else:
            self.draw_birth(rng, rung, proposal, change)
        return proposal

    def draw_birth(
        self, rng: np.random.Generator, rung: Rung, proposal: Proposal, change: Change
    ) -> None:
        """The paper's proposal: retained terms keep θ, a new term's is N(0, σ_u²)."""
        kept = dict(zip(rung.terms, rung.theta, strict=True))
        lost, gained = change
        if lost is not None:
            proposal.log_ratio += log_normal([kept[lost]], self.birth)
        if gained is not None:
            kept[gained] = math.sqrt(self.birth) * rng.standard_normal()
            proposal.log_ratio -= log_normal([kept[gained]], self.birth)
        proposal.theta = [kept[term] for term in proposal.terms]

    def draw_guided(
        self, rng: np.random.Generator, rung: Rung, proposal: Proposal, after: list[Term]
    ) -> None:
        """Uniform on E_T'; 1/|E_T'| there, 1/|E_T| back, if the present θ is in E_T at all."""
        here = self.ellipsoid(rung, rung.terms)
        if here is None or here[0].deviation(rung.terms, rung.theta) > here[1]:
            return
        if (there := self.ellipsoid(rung, after)) is not None:
            fit, square = there
            proposal.terms, proposal.theta = after, fit.draw(rng, square, after)
            proposal.log_ratio += fit.log_volume(square) - here[0].log_volume(here[1])

    def ellipsoid(self, rung: Rung, terms: list[Term]) -> tuple[Fit, float] | None:
        """The fit of the terms and r(ε - S_T), the square of the ellipsoid's size."""
        fit = self.fit(terms)
        square = self.reach * (rung.tolerance * self.unit - fit.error)
        if not square > 0.0 or fit.foreseen > HOPELESS * self.level:
            return None
        return fit, square

    def fit(self, terms: list[Term]) -> Fit:
        key = frozenset(terms)
        if key not in self.fits:
            self.fits[key] = self.fitting.fit(terms, self.level)
            self.note(self.fits[key])
        return self.fits[key]

    def note(self, fit: Fit) -> None:
        """The champion is the fit with the largest Laplace approximation of its posterior."""
        if fit.error == math.inf:
            return
        n_rows, n = len(self.runs.measured), len(fit.terms)
        variance = fit.error / n_rows
        score = self.law.log_structure(fit.terms) + log_normal(fit.theta, self.coefficient)
        score -= 0.5 * n_rows * math.log(variance) + fit.log_determinant
        score += 0.5 * n * math.log(2.0 * math.pi * variance)
        if score > self.score:
            self.champion, self.score = fit, score

    def is_likely(self, rung: Rung, proposal: Proposal) -> bool:
        ratio = proposal.log_ratio + log_normal(proposal.theta, self.coefficient)
        is_likely = proposal.log_uniform < ratio - log_normal(rung.theta, self.coefficient)
        self.saved["by ratio"] += not is_likely
        return is_likely

    def simulate(self, rung: Rung, proposal: Proposal) -> float:
        error = self.runs.error(proposal.terms, proposal.theta)
        self.saved["simulated"] += 1
        self.saved["near"] += error <= rung.tolerance * self.unit
        return error

    def decide(self, c: int, proposal: Proposal, error: float) -> bool:
        rung, distance = self.rungs[c], error / self.unit
        if error == math.inf or distance > rung.tolerance:
            return False
        self.counts[c][proposal.move][2] += 1
        self.guides[c][1] += proposal.is_guided
        rung.terms, rung.theta, rung.distance = list(proposal.terms), proposal.theta, distance
        self.smallest = min(self.smallest, distance)
        return True

    def swap(self, first: int) -> None:
        """Exchange every other pair of neighbours if the looser one is near enough."""
        for c in range(first, len(self.rungs) - 1, 2):
            cold, hot = self.rungs[c], self.rungs[c + 1]
            self.swaps[c][0] += 1
            if hot.distance <= cold.tolerance:
                self.swaps[c][1] += 1
                cold.terms, hot.terms = hot.terms, cold.terms
                cold.theta, hot.theta = hot.theta, cold.theta
                cold.distance, hot.distance = hot.distance, cold.distance
