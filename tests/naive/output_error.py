"""The sampler by free runs with noise on the output, by its formulas, in plain Python and NumPy.

Free runs go to their end, modes are searched with explicit Jacobians, and Gaussians are written
with the matrices as they are, of the free coefficients only. A decision is a sum of named log
densities (`Ratio`), so that what is multiplied can be checked. The chain consumes the same random
numbers as the compiled one: equal seeds and equal states give equal chains. Where an alphabet has
past noise, predictions one step ahead take the place of free runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from tests.naive.colours import LOST, Noise, Run, is_stationary, judged, whitened
from tests.naive.fits import Fitting, FreeRuns, unit_factor
from tests.naive.past_noise import Predictions, guess
from tests.naive.prediction import Moves, Sample, noise_scale
from tests.naive.prior import Term, TermPrior, draw_categorical

from adjoin import Dataset
from adjoin.grammar import Alphabet
from adjoin.inference import moves as product
from adjoin.inference.prior import Prior

# The recipe of a mode and of a proposal: other numbers are other proposals.
ROUNDS, TRIES, SETTLED = 12, 6, 0.01
FREEDOM, WALK, WIDTH, WIDE = 10.0, 0.3, 2.38, 0.05


@dataclass
class Mode:
    """θ̂ of the free terms in the order `terms`, Ŝ, N = JᵀJ and g = Jᵀr there."""

    terms: list[Term]
    theta: np.ndarray
    error: float
    normal: np.ndarray
    gradient: np.ndarray
    volume: float = 0.0


class Modes(Fitting):
    """Modes of p_w(y|θ) N(θ; 0, σ_θ² I) by Levenberg-Marquardt steps from two starts."""

    def __init__(
        self,
        runs: FreeRuns,
        coefficient: float,
        noise: Noise,
        power: float,
        is_residual: bool,
        order: int = 0,
    ) -> None:
        has_noise = isinstance(runs, Predictions)
        super().__init__(
            runs, coefficient, is_residual, guess(runs.data, runs.first) if has_noise else None
        )
        self.noise, self.power, self.order = noise, power, order
        self.lengths = [len(record.output) - runs.first for record in runs.data.records]
        self.references: list[dict[Term, float]] = []

    def find(self, terms: list[Term]) -> Mode:
        """The better of both starts, the first unless the other gains something."""
        free = [term for term in self.ordered(terms) if term not in self.pinned]
        best, value = self._nowhere(free), -math.inf
        if self.power == 0.0:
            return best
        columns, output = self.columns.matrix(free), self.columns.rest(self.pinned)
        n_shared = max((len(r.keys() & set(terms)) for r in self.references), default=0)
        for start, theta in enumerate(
            (self._referred(terms, free), self._one_step(columns, output))
        ):
            if theta is None or (start == 1 and value > -math.inf and n_shared >= len(terms) - 1):
                continue
            begin, error = self._damped(free, theta)
            found = None if error == math.inf else self._climb(free, begin)
            if found is not None and found[0] > value + SETTLED:
                value, best = found
        return best

    def _nowhere(self, free: list[Term]) -> Mode:
        n = len(free)
        error = self.square if self.noise.n_rows else 0.0
        return Mode(free, np.zeros(n), error, np.zeros((n, n)), np.zeros(n))

    def _referred(self, terms: list[Term], free: list[Term]) -> np.ndarray | None:
        """θ of the reference with most of the terms and the fewest others; None if it has none."""
        ranked = sorted(self.references, key=lambda r: (-len(r.keys() & set(terms)), len(r)))
        if not ranked or not ranked[0].keys() & set(terms):
            return None
        return np.array([ranked[0].get(term, 0.0) for term in free])

    def judge(self, terms: list[Term], theta: list[float]) -> Run:
        runs = self.runs.run(tuple(terms), tuple(theta))
        if runs is None:
            return LOST
        residual = self.runs._residual(runs)
        return judged(np.split(residual, np.cumsum(self.lengths)[:-1]), self.order)

    def _judge(self, free: list[Term], theta: np.ndarray) -> Run:
        return self.judge([*free, *self.pinned], [*theta.tolist(), *self.pinned.values()])

    def _log_posterior(self, theta: np.ndarray, run: Run) -> float:
        return self.noise.log_run(self.power, run) - 0.5 * float(theta @ theta) / self.coefficient

    def _climb(self, free: list[Term], theta: np.ndarray) -> tuple[float, Mode] | None:
        """Its log posterior and the mode; None where slopes are not finite."""
        damping, ridge = 0.0, np.eye(len(free)) / self.coefficient
        run = self._judge(free, theta)
        value = self._log_posterior(theta, run)
        for number in range(ROUNDS + 1):
            everything = [*free, *self.pinned], [*theta.tolist(), *self.pinned.values()]
            slopes, residual = self.runs.linearised(*everything)
            rows = [whitened(row, self.lengths, run.rho) for row in slopes[:, : len(free)].T]
            slopes = np.array(rows).reshape(len(free), len(residual)).T
            residual = whitened(residual, self.lengths, run.rho)
            normal, gradient = slopes.T @ slopes, slopes.T @ residual
            if not np.isfinite(np.diag(normal)).all():
                return None
            found = value, Mode(free, theta, run.error, normal, gradient, run.volume)
            if number == ROUNDS or not free:
                break
            weight = self.noise.precision(self.power, run.error)
            uphill = weight * gradient - theta / self.coefficient
            for _ in range(TRIES):
                factor = unit_factor(weight * normal + ridge, damping)
                if factor is not None:
                    half = solve_triangular(factor, uphill, trans=1)
                    if 0.5 * float(half @ half) < SETTLED:
                        return found
                    new = theta + solve_triangular(factor, half)
                    reached = self._judge(free, new)
                    if self._log_posterior(new, reached) > value:
                        break
                damping = max(10.0 * damping, 1e-3)
            else:
                break
            theta, run, value = new, reached, self._log_posterior(new, reached)
            damping = damping / 10.0 if damping > 1e-3 else 0.0
        return found


@dataclass
class Gaussian:
    """m, a factor RᵀR = P of the precision, and log Λ of a mode at some power."""

    terms: list[Term]
    mean: np.ndarray
    factor: np.ndarray
    log_evidence: float

    @classmethod
    def of(
        cls, mode: Mode, noise: Noise, power: float, coefficient: float, order: int = 0
    ) -> Gaussian:
        n, weight = len(mode.terms), noise.precision(power, mode.error)
        precision = weight * mode.normal + np.eye(n) / coefficient
        raised = 0.0
        while (factor := unit_factor(precision, raised)) is None:
            raised = max(10.0 * raised, 1e-12)
        uphill = weight * mode.gradient - mode.theta / coefficient
        step = np.linalg.solve(factor.T @ factor, uphill)
        mean = mode.theta + step
        error = mode.error - 2.0 * mode.gradient @ step + step @ mode.normal @ step
        log_evidence = noise.log_fit(power, max(float(error), 0.0))
        shape, scale = noise.posterior(power, max(float(error), 0.0))
        least = 0.5 * order * math.log(noise.n_rows * scale / shape) if order else 0.0
        log_evidence -= max(mode.volume, least)
        log_evidence -= 0.5 * float(mean @ mean) / coefficient + 0.5 * n * math.log(coefficient)
        return cls(mode.terms, mean, factor, log_evidence - float(np.log(np.diag(factor)).sum()))

    def log_proposal(self, theta: dict[Term, float], coefficient: float) -> float:
        """log of (1 - ε) t_ν(θ; m, P⁻¹) + ε N(θ; 0, σ_θ² I)."""
        wide = sum(
            theta[t] ** 2 / coefficient + math.log(2.0 * math.pi * coefficient) for t in self.terms
        )
        near, far = math.log(1.0 - WIDE) + self.log_student(theta), math.log(WIDE) - 0.5 * wide
        return float(np.logaddexp(near, far))

    def log_student(self, theta: dict[Term, float]) -> float:
        """log t_ν(θ; m, P⁻¹)."""
        n, delta = len(self.terms), np.array([theta[t] for t in self.terms]) - self.mean
        constant = math.lgamma(0.5 * (FREEDOM + n)) - math.lgamma(0.5 * FREEDOM)
        constant -= 0.5 * n * math.log(FREEDOM * math.pi)
        square = float(np.sum((self.factor @ delta) ** 2))
        tail = 0.5 * (FREEDOM + n) * math.log1p(square / FREEDOM)
        return constant + float(np.log(np.diag(self.factor)).sum()) - tail

    def draw(
        self, rng: np.random.Generator, size: float, middle: dict[Term, float] | None
    ) -> dict[Term, float]:
        """`size` times P^-½ times normals from the mean, or from a given middle."""
        white = np.array([size * rng.standard_normal() for _ in self.terms])
        step = solve_triangular(self.factor, white) if self.terms else white
        begin = self.mean if middle is None else np.array([middle[t] for t in self.terms])
        return dict(zip(self.terms, (begin + step).tolist(), strict=True))


class Ratio(NamedTuple):
    """What a change of terms is decided by; logs of π(θ|T) L_w, Λ and t before and after.

    ``moves`` : log p(T') j(T' → T) / (p(T) j(T → T')).
    """

    moves: float
    evidence: tuple[float, float]
    student: tuple[float, float]
    posterior: tuple[float, float]

    @property
    def first(self) -> float:
        return self.moves + self.evidence[1] - self.evidence[0]

    @property
    def second(self) -> float:
        """What is left of the whole."""
        weight = [p - e - t for p, e, t in zip(self.posterior, *self[1:3], strict=True)]
        return weight[1] - weight[0]


class Decision(NamedTuple):
    """One decision on a change of terms that passed the first stage, for whom it concerns."""

    rung: int
    move: str
    before: dict[Term, float]
    after: dict[Term, float]
    coefficient: float
    ratio: Ratio
    is_accepted: bool


@dataclass
class Rung:
    """One power and its state, terms in the chain's order."""

    power: float
    terms: list[Term]
    theta: dict[Term, float]
    coefficient: float
    run: Run
    rho: np.ndarray
    is_from_hot: bool = False
    swaps: list[int] = field(default_factory=lambda: [0, 0])
    passed: list[int] = field(default_factory=lambda: [0, 0])
    counts: dict[str, list[int]] = field(default_factory=dict)


class Twin:
    """The sampler; `rungs` and `modes.references` are the caller's to change between samples.

    With `is_residual` the fixed terms are pinned. Where `is_delayed` is not, changes of terms are
    decided at once, by the first of both uniforms.
    """

    def __init__(
        self,
        data: Dataset,
        alphabet: Alphabet,
        prior: Prior,
        moves: product.Moves,
        *,
        powers: tuple[float, ...] = (1.0,),
        interval: int = 1,
        thin: int = 1,
        is_residual: bool = False,
        is_delayed: bool = True,
        order: int = 0,
    ) -> None:
        self.law, self.prior, self.power = TermPrior(alphabet, prior), prior, powers[0]
        self.moves = Moves(self.law, moves.probabilities)
        self.runs = (Predictions if alphabet.has_noise else FreeRuns)(data, self.law)
        self.order = order if self.power else 0
        n_rows = len(self.runs.measured) - self.order * len(data.records) if self.power else 0
        scale = noise_scale(prior, data, alphabet.max_lag)
        # Integrating over ρ takes half its order from the shape.
        self.given = Noise(prior.noise_shape, scale, n_rows)
        self.noise = self.given._replace(shape=prior.noise_shape - 0.5 * self.order)
        self.middle = prior.coefficient_sd**2
        self.modes = Modes(self.runs, self.middle, self.noise, self.power, is_residual, self.order)
        self.pinned = self.modes.pinned
        self.interval, self.thin, self.is_delayed = interval, thin, is_delayed
        self.rungs = [self._begun(power) for power in powers]
        self.n_drawn = self.n_trips = 0
        self.found: dict[frozenset[Term], Mode] = {}
        self.decisions: list[Decision] = []
        self.rho: list[list[float]] = []

    def _begun(self, power: float) -> Rung:
        """The fixed terms alone, at rest unless they are pinned."""
        terms = list(self.law.fixed)
        theta = {term: self.pinned.get(term, 0.0) for term in terms}
        rung = Rung(power, terms, theta, self.middle, self.judge(theta), np.zeros(self.order))
        rung.counts = {name: [0, 0, 0] for name in self.moves.names}
        return rung

    def adapt(self, powers: list[float]) -> None:
        """New powers, and the present states as references; what was counted is forgotten."""
        self.modes.references = [dict(rung.theta) for rung in self.rungs]
        self.found.clear()
        self.n_trips = 0
        for rung, power in zip(self.rungs, powers, strict=True):
            rung.power, rung.swaps, rung.passed, rung.is_from_hot = power, [0, 0], [0, 0], False

    def judge(self, theta: dict[Term, float]) -> Run:
        if not self.power:
            return LOST._replace(error=0.0)
        return self.modes.judge(list(theta), list(theta.values()))

    def mode(self, terms: list[Term]) -> Mode:
        key = frozenset(terms)
        if key not in self.found:
            self.found[key] = self.modes.find(terms)
        return self.found[key]

    def gaussian(self, terms: list[Term], power: float) -> Gaussian:
        return Gaussian.of(self.mode(terms), self.noise, power, self.middle, self.order)

    def log_posterior(
        self, theta: dict[Term, float], run: Run, power: float, coefficient: float
    ) -> float:
        """log N(θ; 0, σ_θ² I) B^-A of free coefficients."""
        free = [value for term, value in theta.items() if term not in self.pinned]
        log_prior = sum(x * x / coefficient + math.log(2.0 * math.pi * coefficient) for x in free)
        return self.noise.log_run(power, run) - 0.5 * log_prior

    def run(self, rng: np.random.Generator, n_samples: int) -> Iterator[Sample]:
        for _ in range(n_samples):
            for c, rung in enumerate(self.rungs):
                self.step(rng, c)
                if self.prior.coefficient_shape is not None:
                    self._draw_coefficient(rng, rung)
            self.n_drawn += 1
            for c in range(len(self.rungs) if self.n_drawn % self.interval == 0 else 0):
                self.sweep(rng, c)
            if len(self.rungs) > 1 and self.n_drawn % self.interval == 0:
                self._exchange(rng, self.n_drawn // self.interval % 2)
            if self.n_drawn % self.thin == 0:
                yield self._sample(rng)

    def _draw_rho(self, rng: np.random.Generator, run: Run, power: float) -> np.ndarray:
        """From its conditional with σ² integrated out, stationary or not."""
        shape, scale = self.noise.posterior(power, run.error)
        spread = math.sqrt(scale / rng.standard_gamma(shape) / power)
        white = np.array([spread * rng.standard_normal() for _ in range(self.order)])
        return run.rho + np.linalg.solve(np.linalg.cholesky(run.moment[1:, 1:]).T, white)

    def _sample(self, rng: np.random.Generator) -> Sample:
        cold = self.rungs[0]
        if self.order:
            rho = self._draw_rho(rng, cold.run, self.power)
            cold.rho = rho if is_stationary(rho) else cold.rho
        error = cold.run.given(cold.rho)
        shape, scale = self.given.posterior(self.power, error)
        noise, terms = scale / rng.standard_gamma(shape), tuple(sorted(cold.terms))
        log_lik = -0.5 * (self.noise.n_rows * math.log(2.0 * math.pi * noise) + error / noise)
        theta = tuple(cold.theta[term] for term in terms)
        log_prior = self.law.log_structure(cold.terms)
        self.rho.append(cold.rho.tolist())
        return Sample(terms, theta, noise, cold.coefficient, log_lik, log_prior)

    def _take_over(
        self, rng: np.random.Generator, rung: Rung, theta: dict[Term, float], run: Run
    ) -> bool:
        """Make it the state, unless the noise that is drawn with it is not stationary."""
        rho = self._draw_rho(rng, run, rung.power) if self.order else rung.rho
        if not is_stationary(rho):
            return False
        rung.terms, rung.theta, rung.run, rung.rho = list(theta), theta, run, rho
        return True

    def step(self, rng: np.random.Generator, c: int) -> None:
        rung = self.rungs[c]
        move = self.moves.names[draw_categorical(rng, list(self.moves.probability.values()))]
        is_walk = move == "stay" and rng.random() < WALK
        log_first, log_second = (math.log(1.0 - rng.random()) for _ in range(2))
        rung.counts[move][0] += 1
        if move == "stay":
            rung.counts[move][1] += 1
            self._move_within(rng, rung, is_walk, log_second)
            return
        change = self.moves.draw(rng, move, rung.terms)
        after = None if change is None else self.moves.apply(rung.terms, change)
        if after is None:
            return
        rung.counts[move][1] += 1
        log_moves = self.moves.log_ratio(move, rung.terms, change)
        is_accepted = self.decide(rng, c, move, after, log_moves, log_first, log_second)
        rung.passed[0] += self.has_passed
        rung.passed[1] += is_accepted
        rung.counts[move][2] += is_accepted

    def decide(
        self,
        rng: np.random.Generator,
        c: int,
        move: str,
        after: list[Term],
        log_moves: float,
        log_first: float,
        log_second: float,
    ) -> bool:
        """In two stages, by these uniforms; whether the terms are the rung's now."""
        rung, self.has_passed = self.rungs[c], False
        here, there = (self.gaussian(terms, rung.power) for terms in (rung.terms, after))
        evidence = (here.log_evidence, there.log_evidence)
        if self.is_delayed and not log_first < log_moves + evidence[1] - evidence[0]:
            return False
        self.has_passed = True
        theta = self._ordered(self._drawn(rng, there), after)
        run = self.judge(theta)
        students = (self._log_proposal(here, rung.theta), self._log_proposal(there, theta))
        posteriors = (self._present(rung), self._present(rung, theta, run))
        ratio = Ratio(log_moves, evidence, students, posteriors)
        is_accepted = log_second < ratio.second
        if not self.is_delayed:
            is_accepted = log_first < ratio.first + ratio.second
        self.decisions.append(
            Decision(c, move, rung.theta, theta, rung.coefficient, ratio, is_accepted)
        )
        return is_accepted and self._take_over(rng, rung, theta, run)

    def sweep(self, rng: np.random.Generator, c: int) -> None:
        """Moves that are made before every exchange; here none."""

    def _move_within(
        self, rng: np.random.Generator, rung: Rung, is_walk: bool, log_uniform: float
    ) -> None:
        """θ around the mode again, or a step from where it is."""
        here = self.gaussian(rung.terms, rung.power)
        if is_walk:
            size = WIDTH / math.sqrt(max(len(here.terms), 1))
            theta = self._ordered(here.draw(rng, size, rung.theta), rung.terms)
            log_ratio = 0.0
        else:
            theta = self._ordered(self._drawn(rng, here), rung.terms)
            log_ratio = self._log_proposal(here, rung.theta) - self._log_proposal(here, theta)
        run = self.judge(theta)
        log_ratio += self._present(rung, theta, run) - self._present(rung)
        if log_uniform < log_ratio and self._take_over(rng, rung, theta, run):
            rung.counts["stay"][2] += 1

    def _present(
        self, rung: Rung, theta: dict[Term, float] | None = None, run: Run = LOST
    ) -> float:
        """Log posterior of a rung's state, or of others there."""
        if theta is None:
            theta, run = rung.theta, rung.run
        return self.log_posterior(theta, run, rung.power, rung.coefficient)

    def _ordered(self, theta: dict[Term, float], terms: list[Term]) -> dict[Term, float]:
        found = {**self.pinned, **theta}
        return {term: found[term] for term in terms}

    def _log_proposal(self, gaussian: Gaussian, theta: dict[Term, float]) -> float:
        return gaussian.log_proposal(theta, self.middle)

    def _drawn(self, rng: np.random.Generator, gaussian: Gaussian) -> dict[Term, float]:
        """Around the mode, or now and then from the prior."""
        if rng.random() < WIDE:
            return {t: math.sqrt(self.middle) * rng.standard_normal() for t in gaussian.terms}
        return gaussian.draw(rng, self._size(rng), None)

    @staticmethod
    def _size(rng: np.random.Generator) -> float:
        """By which a normal becomes a t."""
        return math.sqrt(FREEDOM / (2.0 * rng.standard_gamma(0.5 * FREEDOM)))

    def _draw_coefficient(self, rng: np.random.Generator, rung: Rung) -> None:
        free = [value for term, value in rung.theta.items() if term not in self.pinned]
        shape = self.prior.coefficient_shape + 0.5 * len(free)
        scale = self.prior.coefficient_scale + 0.5 * sum(x * x for x in free)
        rung.coefficient = scale / rng.standard_gamma(shape)

    def _exchange(self, rng: np.random.Generator, first: int) -> None:
        """Even or odd pairs of neighbours; the powers stay where they are."""
        for c in range(first, len(self.rungs) - 1, 2):
            cold, hot = self.rungs[c], self.rungs[c + 1]
            log_uniform = math.log(1.0 - rng.random())
            mine, other = cold.run.given(cold.rho), hot.run.given(hot.rho)
            gained = self.given.log_fit(cold.power, other) + self.given.log_fit(hot.power, mine)
            lost = self.given.log_fit(cold.power, mine) + self.given.log_fit(hot.power, other)
            cold.swaps[0] += 1
            if log_uniform < gained - lost:
                cold.swaps[1] += 1
                for name in ("terms", "theta", "coefficient", "run", "rho", "is_from_hot"):
                    left, right = getattr(cold, name), getattr(hot, name)
                    setattr(cold, name, right)
                    setattr(hot, name, left)
        self.rungs[-1].is_from_hot = True
        if self.rungs[0].is_from_hot:
            self.n_trips += 1
            self.rungs[0].is_from_hot = False
