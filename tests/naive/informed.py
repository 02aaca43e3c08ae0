"""Informed moves, flips and rungs of likelihood powers by their formulas, in plain Python.

Every structure is judged from scratch, by dense matrices of explicit columns; what one move may do
is listed outcome by outcome (`InformedMoves.outcomes`). The chain consumes the same random numbers
as the compiled one: equal seeds give equal chains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from tests.naive.prediction import Change, Sample, State, Twin, log_evidence
from tests.naive.prior import Term, draw_index

CLEAR, LEAST = 1e-10, 1e-9
MOVES = ("exchange", "birth", "death")
Sides = tuple[tuple[Term, ...], tuple[Term, ...]]
"""A group to flip: two sets of terms that stand in for each other."""


class Explained(NamedTuple):
    """A structure at some noise variance: what is left of ‖y‖², and how far it is from singular.

    ``left`` : R. ``log_volume`` : Σ log U_ii d_i. ``clearance`` : 1/(C⁻¹)_qq of all terms.
    """

    left: float
    log_volume: float
    clearance: dict[Term, float]

    @property
    def is_clear(self) -> bool:
        return self.left > LEAST and all(s > CLEAR for s in self.clearance.values())


class Surrogate:
    """The posterior of structures with σ² integrated out, nearly, and σ² given each of them."""

    def __init__(self, twin: InformedTwin, power: float, reference: float, coefficient: float):
        self.twin, self.power, self.reference = twin, power, reference
        self.coefficient = coefficient
        self.square = float(twin.output @ twin.output) if power else 0.0
        self._seen: dict[frozenset[Term], Explained] = {}

    def explain(self, terms: list[Term]) -> Explained:
        """At the reference variance."""
        key = frozenset(terms)
        if key not in self._seen:
            self._seen[key] = self.twin.explain(terms, self.reference, self.coefficient, self.power)
        return self._seen[key]

    @property
    def shape(self) -> float:
        """A."""
        n_rows = len(self.twin.output)
        return self.twin.prior.noise_shape + 0.5 * self.power * n_rows

    def law(self, terms: list[Term]) -> tuple[float, float]:
        """E and B: shape and scale of q̂(σ²|T)."""
        scale = self.twin.noise_scale - self.twin.penalties[self.twin.rung]
        scale += 0.5 * self.power * self.square * self.explain(terms).left
        if self.power == 0.0:
            return self.shape, scale
        return max(self.shape - 0.5 * len(terms), 0.5 * self.shape), scale

    def is_possible(self, terms: list[Term]) -> bool:
        """Whether the surrogate has any mass there."""
        return self.explain(terms).is_clear and self.law(terms)[1] > 0.0

    def log_mass(self, terms: list[Term]) -> float:
        """Log m̂(T)."""
        e, b = self.law(terms)
        found = self.twin.law.log_structure(terms) + math.lgamma(e) - e * math.log(b)
        found += (e - self.shape) * math.log(self.reference)
        return found - self.explain(terms).log_volume

    def log_noise(self, terms: list[Term], noise: float) -> float:
        """Log q̂(σ²|T)."""
        e, b = self.law(terms)
        return e * math.log(b) - math.lgamma(e) - (e + 1.0) * math.log(noise) - b / noise

    def log_remainder(self, terms: list[Term], noise: float) -> float:
        """Log ω, up to a constant."""
        e, b = self.law(terms)
        exact = self.twin.explain(terms, noise, self.coefficient, self.power)
        found = -0.5 * self.power * self.square * exact.left / noise - exact.log_volume
        found += (b - self.twin.noise_scale) / noise + self.explain(terms).log_volume
        return found - (self.shape - e) * math.log(noise / self.reference)


class InformedMoves:
    """Exchange, birth and death over a pool, by the odds of a surrogate."""

    def __init__(self, pool: list[Term], surrogate: Surrogate) -> None:
        self.pool, self.surrogate = pool, surrogate

    def members(self, terms: list[Term]) -> list[Term]:
        return [term for term in terms if term in self.pool]

    def odds(self, terms: list[Term]) -> dict[Term, float]:
        """o_j(T) of all candidates that are not in, as far as they are clear of the others."""
        found = {}
        present = self.surrogate.log_mass(terms)
        for term in self.pool:
            if term not in terms:
                after = [*terms, term]
                known = self.surrogate.explain(after)
                is_there = self.surrogate.law(after)[1] > 0.0
                if known.clearance[term] > CLEAR and known.left > LEAST and is_there:
                    found[term] = math.exp(self.surrogate.log_mass(after) - present)
        return found

    @staticmethod
    def without(terms: list[Term], old: Term | None) -> list[Term]:
        return [term for term in terms if term != old]

    def outcomes(self, move: str, terms: list[Term]) -> Iterator[tuple[Change, float]]:
        """Every change that the move may make, with its probability; nothing happens otherwise."""
        members = self.members(terms)
        m = len(members)
        for old in [None] if move == "birth" else members:
            rest = self.without(terms, old)
            odds = self.odds(rest)
            total = math.fsum(odds.values())
            if move == "death":
                yield (old, None), min(1.0, m / total) / m
                continue
            share = min(1.0, total / (m + 1)) if move == "birth" else 1.0 / m
            for new, value in odds.items():
                if new != old and self.surrogate.explain([*rest, new]).is_clear:
                    yield (old, new), share * value / total

    def draw(
        self, rng: np.random.Generator, move: str, terms: list[Term]
    ) -> tuple[bool, Change | None, Change | None]:
        """One move: whether it was possible, its change, and what was drawn and not clear.

        Members are picked in the order of `terms`.
        """
        members, old = self.members(terms), None
        if move != "birth":
            if not members:
                return False, None, None
            old = members[draw_index(rng, len(members))]
        rest = self.without(terms, old)
        odds = self.odds(rest)
        total = math.fsum(odds.values())
        if total == 0.0:
            return False, None, None
        if move != "exchange":
            ratio = total / (len(members) + 1) if move == "birth" else len(members) / total
            if not math.log(1.0 - rng.random()) < math.log(ratio):
                return True, None, None
        if move == "death":
            return True, (old, None), None
        value = rng.random() * total
        new = next(term for term, below in _running(odds) if value < below)
        if new == old:
            return True, None, None
        if not self.surrogate.explain([*rest, new]).is_clear:
            return True, None, (old, new)
        return True, (old, new), None


def _running(odds: dict[Term, float]) -> Iterator[tuple[Term, float]]:
    total = 0.0
    for term, value in odds.items():
        total += value
        yield term, total


class InformedTwin(Twin):
    """The sampler with sweeps of informed moves, and rungs of powers."""

    def __init__(
        self,
        *problem: Any,
        n_moves: int = 0,
        interval: int = 10,
        n_rungs: int = 1,
        hottest: float = 0.02,
        known: tuple[tuple[Term, ...], ...] = (),
        n_flips: int = 0,
        penalty: float = 0.0,
        n_settling: int = 0,
        **options: Any,
    ) -> None:
        """With `n_moves` = 0 there are no informed moves; the pool is the whole alphabet.

        `n_flips` of the differences of the `known` structures are proposed before each sweep;
        `penalty` is κσ_r² of all rungs, and σ_r² the variance that chains begin at; for
        `n_settling` samples both are those of the present state, and sweeps are at first taken as
        they come.
        """
        super().__init__(*problem, **options)
        self.interval, self.n_moves = interval, n_moves
        n_rungs = n_rungs if self.power else 1
        self.powers = [self.power * hottest ** (c / max(n_rungs - 1, 1)) for c in range(n_rungs)]
        editable = [t for t in self.law.terms if t not in self.law.fixed]
        editable = [t for t in editable if self.law.is_possible(t)]
        self.pool = sorted(editable, key=lambda t: (len(t), t)) if n_moves else []
        self.inclusion, self.n_averaged = np.zeros(len(self.pool)), 0
        self.use = dict.fromkeys(self.pool, 0)
        self.groups, self.n_flips = list_groups(known), n_flips
        self.n_settling, self.rung = n_settling, 0
        self.references, self.penalties = [self.variance] * n_rungs, [penalty] * n_rungs
        self.informed_counts = {name: [0, 0, 0] for name in (*MOVES, "sweep", "flip")}
        self.swaps = [[0, 0] for _ in self.powers]
        self.is_from_hot, self.n_trips = [0] * n_rungs, 0
        self._counts = [self.counts, {name: [0, 0, 0] for name in self.moves.names}]
        self.n_unclear = 0

    def correlations(
        self, terms: list[Term], noise: float, coefficient: float, power: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """C, (h_i ρ_i) and d of the terms."""
        free = self._free(terms)
        columns, tau = self.columns.matrix(free), power * coefficient / noise
        size = np.sqrt(tau * (columns**2).sum(axis=0))
        spread = np.sqrt(1.0 + size**2)
        scaled = math.sqrt(tau) * columns / spread
        matrix = scaled.T @ scaled
        np.fill_diagonal(matrix, 1.0)
        lead = scaled.T @ self.output / math.sqrt(float(self.output @ self.output))
        return matrix, lead, spread

    def explain(
        self, terms: list[Term], noise: float, coefficient: float, power: float
    ) -> Explained:
        """R, Σ log U_ii d_i, and whether all is clear, at some noise variance."""
        matrix, lead, spread = self.correlations(terms, noise, coefficient, power)
        upper = np.linalg.cholesky(matrix).T
        projection = np.linalg.solve(upper.T, lead)
        clearance = 1.0 / np.diag(np.linalg.inv(matrix))
        return Explained(
            1.0 - float(projection @ projection),
            float(np.log(np.diag(upper) * spread).sum()),
            dict(zip(self._free(terms), clearance.tolist(), strict=True)),
        )

    def log_density(self, terms: list[Term], noise: float, coefficient: float) -> float:
        """Log π(T, σ²) given σ_θ², up to a constant."""
        shape = self.prior.noise_shape
        found = self.law.log_structure(terms)
        found -= (shape + 1.0) * math.log(noise) + self.noise_scale / noise
        return found + self.log_tempered(terms, noise, coefficient, self.power)

    def log_tempered(
        self, terms: list[Term], noise: float, coefficient: float, power: float
    ) -> float:
        """Log ∫ N(θ; 0, σ_θ² I) p(y|θ, σ²)^w dθ, up to a constant."""
        if power == 0.0:
            return 0.0
        columns = self.columns.matrix(self._free(terms))
        found = log_evidence(columns, self.output, noise, coefficient, power)
        n = len(self.output)
        return found + 0.5 * n * math.log(noise / power) - 0.5 * n * power * math.log(noise)

    def run(self, seed: int, n_samples: int) -> Iterator[Sample]:
        rng = np.random.Generator(np.random.PCG64(seed))
        rungs = [self._first(rng) for _ in self.powers]
        is_stirred = len(rungs) > 1 or bool(self.pool or self.groups)
        for n_drawn in range(n_samples):
            if is_stirred and n_drawn % self.interval == 0:
                self._begin_round(rng, rungs, n_drawn // self.interval)
            rungs[0], sample = self._draw(rng, rungs[0])
            yield sample

    def _begin_round(self, rng: np.random.Generator, rungs: list[State], number: int) -> None:
        """Samples of all other rungs, exchanges, flips and informed moves of the coldest."""
        for c in range(len(rungs) - 1, -1, -1):
            if c == 0:
                self._exchange(rng, rungs, number % 2)
            self.rung, self.power, self.counts = c, self.powers[c], self._counts[min(c, 1)]
            n_drawn = number * self.interval
            if self.groups:
                rungs[c] = self._flip(rng, rungs[c])
            if self.pool:
                if n_drawn < self.n_settling:
                    self._follow(rungs[c])
                rungs[c] = self._sweep(rng, rungs[c], 2 * n_drawn < self.n_settling)
            if c == 0 and self.pool and n_drawn >= self.n_settling:
                self.inclusion += self.inclusion_given_others(rungs[c])
                self.n_averaged += 1
            for _ in range(self.interval if c > 0 else 0):
                rungs[c], _ = self._draw(rng, rungs[c])

    def _exchange(self, rng: np.random.Generator, rungs: list[State], first: int) -> None:
        last = len(rungs) - 1
        for c in range(first, last, 2):
            log_uniform = math.log(1.0 - rng.random())
            straight = self._log_tempered_pair(rungs[c], rungs[c + 1], c)
            crossed = self._log_tempered_pair(rungs[c + 1], rungs[c], c)
            self.swaps[c][0] += 1
            if log_uniform < crossed - straight:
                self.swaps[c][1] += 1
                rungs[c], rungs[c + 1] = rungs[c + 1], rungs[c]
                been = self.is_from_hot
                been[c], been[c + 1] = been[c + 1], been[c]
        self.is_from_hot[last] = 1
        if last > 0 and self.is_from_hot[0]:
            self.n_trips += 1
            self.is_from_hot[0] = 0

    def _log_tempered_pair(self, cold: State, hot: State, c: int) -> float:
        found = self.log_tempered(*cold, self.powers[c])
        return found + self.log_tempered(*hot, self.powers[c + 1])

    def surrogate(self, coefficient: float) -> Surrogate:
        """That of the present rung."""
        return Surrogate(self, self.power, self.references[self.rung], coefficient)

    def _follow(self, state: State) -> None:
        """The reference of the present rung, and κσ_r², from a state."""
        columns, weight = self.columns.matrix(self._free(state.terms)), self.power / state.noise
        precision = weight * columns.T @ columns + np.eye(columns.shape[1]) / state.coefficient
        theta = np.linalg.solve(precision, weight * columns.T @ self.output)
        square = float(theta @ theta) if self.power else 0.0
        self.references[self.rung] = state.noise
        self.penalties[self.rung] = 0.5 * square / state.coefficient * state.noise

    def _sweep(self, rng: np.random.Generator, state: State, is_taken: bool = False) -> State:
        """Moves reversible with respect to m̂, σ² from q̂, and a decision on the whole."""
        counts, surrogate = self.informed_counts, self.surrogate(state.coefficient)
        counts["sweep"][0] += 1
        terms, order = list(state.terms), list(state.terms)
        if not surrogate.explain(terms).is_clear:
            return state
        if not surrogate.is_possible(terms):
            counts["sweep"][1] += 1
            return state
        counts["sweep"][1] += 1
        log_ratio = -surrogate.log_remainder(terms, state.noise)
        moves = InformedMoves(self.pool, surrogate)
        for _ in range(self.n_moves):
            value = rng.random()
            move = "exchange" if value < 0.5 else "birth" if value < 0.75 else "death"
            counts[move][0] += 1
            is_possible, change, unclear = moves.draw(rng, move, order)
            counts[move][1] += is_possible
            if change is not None:
                counts[move][2] += 1
                terms = self.moves.apply(terms, change)
                order = _last(moves.without(order, change[0]), change[1])
            elif unclear is not None:  # what was taken out comes back as the last
                self.n_unclear += 1
                order = _last(moves.without(order, unclear[0]), unclear[0])
        shape, scale = surrogate.law(terms)
        noise = scale / rng.standard_gamma(shape)
        log_uniform = math.log(1.0 - rng.random())
        for term in moves.members(terms):
            self.use[term] += 1
        log_ratio += surrogate.log_remainder(terms, noise)
        if not (is_taken or log_uniform < log_ratio):
            return state
        counts["sweep"][2] += 1
        return State(terms, noise, state.coefficient)

    def flip(self, terms: list[Term], group: Sides) -> list[Term] | None:
        """The terms after a flip; None where it is not possible."""
        for out, into in (group, group[::-1]):
            if set(out) <= set(terms) and not set(into) & set(terms):
                after = list(terms)
                for term in out:
                    after = self.moves.apply(after, (term, None))
                return [*after, *into]
        return None

    def _flip(self, rng: np.random.Generator, state: State) -> State:
        """Flips one after another, each decided on its own."""
        counts, terms = self.informed_counts["flip"], list(state.terms)
        rest = state.noise, state.coefficient
        for _ in range(self.n_flips):
            group = self.groups[draw_index(rng, len(self.groups))]
            counts[0] += 1
            after = self.flip(terms, group)
            if after is None:
                continue
            counts[1] += 1
            log_uniform = math.log(1.0 - rng.random())
            if log_uniform < self.log_density(after, *rest) - self.log_density(terms, *rest):
                counts[2] += 1
                terms = after
        return State(terms, *rest)

    def inclusion_given_others(self, state: State) -> np.ndarray:
        """The probability of every candidate's being in, given all other terms and σ²."""
        terms, rest = state.terms, (state.noise, state.coefficient)
        is_in = np.array([float(term in terms) for term in self.pool])
        if not self.explain(terms, *rest, self.power).is_clear:
            return is_in
        for j, term in enumerate(self.pool):
            without = [t for t in terms if t != term]
            known = self.explain([*without, term], *rest, self.power)
            if known.clearance[term] > CLEAR:
                log_odds = self.log_density([*without, term], *rest)
                log_odds -= self.log_density(without, *rest)
                is_in[j] = 1.0 / (1.0 + math.exp(-log_odds)) if log_odds > -65.0 else 0.0
        return is_in


def list_groups(known: tuple[tuple[Term, ...], ...]) -> list[Sides]:
    """Differences of structures, each once, but for those of one term or of one for another."""
    found: list[Sides] = []
    for left, right in combinations(known, 2):
        one = tuple(sorted(set(left) - set(right), key=_by_degree))
        other = tuple(sorted(set(right) - set(left), key=_by_degree))
        group = min((one, other), (other, one), key=lambda g: [[*map(_by_degree, s)] for s in g])
        if max(len(one), len(other)) > 1 and group not in found:
            found.append(group)
    return found


def _by_degree(term: Term) -> tuple[int, Term]:
    return len(term), term


def _last(terms: list[Term], term: Term | None) -> list[Term]:
    return terms if term is None else [*terms, term]
