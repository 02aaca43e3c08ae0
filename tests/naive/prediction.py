"""The one-step-ahead sampler by its formulas, in plain Python and NumPy.

What a move may do is listed draw by draw (`Moves.outcomes`), so that the probability of a proposal
and of its reverse are sums over that list. The evidence is the density of the output under its
marginal normal law, on explicit columns. The chain consumes the same random numbers as the compiled
one: equal seeds give equal chains.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from tests.naive.prior import Term, TermPrior, draw_categorical, draw_index
from tests.naive.simulate import FUNCTIONS, apply

from adjoin import Dataset
from adjoin.grammar import Alphabet, Atom
from adjoin.inference import moves as product
from adjoin.inference.prior import Prior

INVERSE = {
    "add_term": "remove_term",
    "remove_term": "add_term",
    "add_factor": "remove_factor",
    "remove_factor": "add_factor",
    "add_lag": "remove_lag",
    "remove_lag": "add_lag",
    "swap_input": "swap_output",
    "swap_output": "swap_input",
}

Change = tuple[Term | None, Term | None]
"""The term that goes (None: none) and the term that comes."""


class Moves:
    """The nine moves on a list of terms whose first are fixed."""

    def __init__(self, term_prior: TermPrior, probability: dict[str, float]) -> None:
        self.law, self.probability = term_prior, probability
        self.names = list(probability)
        self.n_fixed = len(term_prior.fixed)

    def choices(self, move: str, number: int) -> list[int]:
        """The atoms that a lag or swap move may put in an atom's place."""
        atom, names = self.law.atoms[number], self.law.alphabet.names
        if number not in self.law.derivable:
            return []
        new: list[Atom] = []
        if move == "add_lag":
            new = [atom._replace(lag=atom.lag + 1)]
        elif move == "remove_lag":
            new = [atom._replace(lag=atom.lag - 1)]
        elif move == "swap_input" and atom.signal in names.inputs and atom.lag == 1:
            new = [atom._replace(signal=names.output)]
        elif move == "swap_output" and atom.signal == names.output and atom.lag == 1:
            new = [atom._replace(signal=name) for name in names.inputs]
        numbers = [self.law.number.get(a, -1) for a in new]
        return [i for i in numbers if i in self.law.derivable]

    def places(self, move: str, terms: list[Term]) -> list[tuple[int, int]]:
        """Every (term, place) in editable terms whose atom the move can change."""
        return [
            (i, place)
            for i in range(self.n_fixed, len(terms))
            for place, atom in enumerate(terms[i])
            if self.choices(move, atom)
        ]

    def pickable(self, move: str, terms: list[Term]) -> list[int]:
        """The editable terms that a factor or removal move may pick."""
        lowest, highest = {
            "remove_term": (0, math.inf),
            "add_factor": (1, self.law.max_degree - 1),
            "remove_factor": (2, self.law.max_degree),
        }[move]
        every = range(self.n_fixed, len(terms))
        return [i for i in every if lowest <= len(terms[i]) <= highest]

    def outcomes(self, move: str, terms: list[Term]) -> Iterator[tuple[Change, float]]:
        """Everything the move could draw, with its probability; a change may occur repeatedly."""
        if move == "add_term":
            share = self.law.constant_share
            for term in self.law.terms:
                chance = (1.0 - share) * self.law.density(term) if term else share
                yield (None, term), chance
        elif move == "remove_term":
            picked = self.pickable(move, terms)
            for i in picked:
                yield (terms[i], None), 1.0 / len(picked)
        elif move in ("add_factor", "remove_factor"):
            picked = self.pickable(move, terms)
            for i in picked:
                new = self.law.extensions if move == "add_factor" else self.law.reductions
                weighted = list(new(terms[i]))
                total = sum(weight for _, weight in weighted)
                for term, weight in weighted:
                    yield (terms[i], term), weight / total / len(picked)
        else:
            places = self.places(move, terms)
            for i, place in places:
                others = self.choices(move, terms[i][place])
                for atom in others:
                    yield self.replaced(terms[i], place, atom), 1.0 / len(places) / len(others)

    @staticmethod
    def replaced(term: Term, place: int, atom: int) -> Change:
        return term, tuple(sorted((*term[:place], *term[place + 1 :], atom)))

    def chance(self, move: str, terms: list[Term], change: Change) -> float:
        """The probability of the move being tried and drawing this change."""
        total = sum(p for found, p in self.outcomes(move, terms) if found == change)
        return self.probability[move] * total

    def apply(self, terms: list[Term], change: Change) -> list[Term] | None:
        """The terms after a change: the last one fills a gap. None if that is no structure."""
        old, new = change
        after = list(terms)
        if new is not None and (new in terms or not self.law.is_possible(new)):
            return None
        if old is None:
            return [*after, new]
        place = after.index(old)
        if new is None:
            last = after.pop()
            if place < len(after):
                after[place] = last
            return after
        after[place] = new
        return after

    def log_ratio(self, move: str, terms: list[Term], change: Change) -> float:
        """log p(T')/p(T) + log j(T' → T)/j(T → T')."""
        after = self.apply(terms, change)
        back = self.chance(INVERSE[move], after, (change[1], change[0]))
        there = self.chance(move, terms, change)
        prior = self.law.log_structure(after) - self.law.log_structure(terms)
        return prior + math.log(back) - math.log(there)

    def draw(self, rng: np.random.Generator, move: str, terms: list[Term]) -> Change | None:
        """One draw of a move; None if the state does not allow it."""
        if move == "add_term":
            share = self.law.constant_share
            is_constant = share > 0.0 and rng.random() < share
            return None, () if is_constant else self.law.draw(rng)
        if move in ("remove_term", "add_factor", "remove_factor"):
            picked = self.pickable(move, terms)
            if not picked:
                return None
            term = terms[picked[draw_index(rng, len(picked))]]
            if move == "remove_term":
                return term, None
            draw = self.law.draw_extension if move == "add_factor" else self.law.draw_reduction
            return term, draw(rng, term)
        places = self.places(move, terms)
        if not places:
            return None
        i, place = places[draw_index(rng, len(places))]
        others = self.choices(move, terms[i][place])
        choice = draw_index(rng, len(others)) if len(others) > 1 else 0
        return self.replaced(terms[i], place, others[choice])


class Columns:
    """Explicit columns of terms, and the output, over all records; past noise as it is given."""

    def __init__(
        self, data: Dataset, law: TermPrior, noise: list[list[float]] | None = None
    ) -> None:
        self.data, self.law, self.noise = data, law, noise
        self.max_lag = law.alphabet.max_lag
        self.output = np.concatenate([r.output[self.max_lag :] for r in data.records])
        self._seen: dict[Term, np.ndarray] = {}

    def atom(self, atom: Atom) -> np.ndarray:
        names, parts = self.data.names, []
        for number, record in enumerate(self.data.records):
            signal = record.output
            if atom.signal == names.noise:
                signal = np.array(self.noise[number])
            elif atom.signal != names.output:
                signal = record.inputs[:, names.inputs.index(atom.signal)]
            past = signal[self.max_lag - atom.lag : len(signal) - atom.lag]
            parts += [apply(FUNCTIONS, atom.function, x) for x in past.tolist()]
        return np.array(parts)

    def term(self, term: Term) -> np.ndarray:
        if term not in self._seen:
            atoms = [self.atom(self.law.atoms[i]) for i in term]
            self._seen[term] = np.prod([np.ones(len(self.output)), *atoms], axis=0)
        return self._seen[term]

    def matrix(self, terms: list[Term]) -> np.ndarray:
        if not terms:
            return np.empty((len(self.output), 0))
        return np.column_stack([self.term(term) for term in terms])

    def white_box(self, terms: list[Term]) -> dict[Term, float]:
        """These terms alone, with the coefficients of their least-squares fit."""
        theta = np.linalg.lstsq(self.matrix(terms), self.output)[0] if terms else np.empty(0)
        return dict(zip(terms, theta.tolist(), strict=True))

    def rest(self, pinned: dict[Term, float]) -> np.ndarray:
        """y - F: what terms with given coefficients leave to explain, one step ahead."""
        return self.output - sum(theta * self.term(term) for term, theta in pinned.items())


def log_evidence(
    columns: np.ndarray, output: np.ndarray, noise: float, coefficient: float, power: float
) -> float:
    """log N(y; 0, σ²/w·I + σ_θ²·ΦΦᵀ), which is the evidence up to what no structure changes."""
    if power == 0.0:
        return 0.0
    covariance = noise / power * np.eye(len(output)) + coefficient * columns @ columns.T
    lower = np.linalg.cholesky(covariance)
    white = solve_triangular(lower, output, lower=True)
    return float(-0.5 * white @ white - np.log(np.diag(lower)).sum())


def noise_scale(prior: Prior, data: Dataset, max_lag: int) -> float:
    """β: n/2 · 2⁻⁸⁰ of the mean square of the fitted output, or what the prior has."""
    if prior.noise_scale is None:
        fitted = [y for record in data.records for y in record.output[max_lag:]]
        return 0.5 * 2.0**-80 * (math.fsum(y * y for y in fitted) or len(fitted))
    outputs = np.concatenate([record.output for record in data.records])
    variance = float(np.mean((outputs - outputs.mean()) ** 2)) or 1.0
    return prior.noise_scale * (variance if prior.units == "standard" else 1.0)


class State(NamedTuple):
    """What a chain continues from, terms in their own order."""

    terms: list[Term]
    noise: float
    coefficient: float


class Sample(NamedTuple):
    """One recorded draw, terms in canonical order."""

    terms: tuple[Term, ...]
    theta: tuple[float, ...]
    noise: float
    coefficient: float
    log_lik: float
    log_prior: float


class Twin:
    """The sampler, one state at a time.

    With `is_residual` the fixed terms are *pinned*: fitted alone and beforehand, never sampled. All
    the sampler sees of them is the output, y - F instead of y.
    """

    def __init__(
        self,
        data: Dataset,
        alphabet: Alphabet,
        prior: Prior,
        moves: product.Moves,
        power: float = 1.0,
        is_residual: bool = False,
    ) -> None:
        self.law = TermPrior(alphabet, prior)
        self.moves = Moves(self.law, moves.probabilities)
        self.columns = Columns(data, self.law)
        self.pinned = self.columns.white_box(self.law.fixed if is_residual else [])
        self.output = self.columns.rest(self.pinned)
        self.prior, self.power = prior, power
        outputs = np.concatenate([record.output for record in data.records])
        self.variance = float(np.mean((outputs - outputs.mean()) ** 2)) or 1.0
        self.noise_scale = noise_scale(prior, data, alphabet.max_lag)
        self.counts = {name: [0, 0, 0] for name in self.moves.names}

    def run(self, seed: int, n_samples: int) -> Iterator[Sample]:
        rng = np.random.Generator(np.random.PCG64(seed))
        state = self._first(rng)
        for _ in range(n_samples):
            state, sample = self._draw(rng, state)
            yield sample

    def _first(self, rng: np.random.Generator) -> State:
        first, fixed = self.law.draw(rng), self.law.fixed
        terms = list(fixed) if first in fixed else [*fixed, first]
        return State(terms, self.variance, self.prior.coefficient_sd**2)

    def _draw(self, rng: np.random.Generator, state: State) -> tuple[State, Sample]:
        terms = self._step_structure(rng, *state)
        free = self._free(terms)
        theta = self._draw_theta(rng, terms, state.noise, state.coefficient)
        noise, coefficient, error = self._draw_variances(rng, free, theta, state.coefficient)
        found = {**self.pinned, **dict(zip(free, theta.tolist(), strict=True))}
        n_rows = len(self.columns.output) if self.power else 0
        sample = Sample(
            tuple(sorted(found)),
            tuple(found[term] for term in sorted(found)),
            noise,
            coefficient,
            -0.5 * (n_rows * math.log(2.0 * math.pi * noise) + error / noise),
            self.law.log_structure(terms),
        )
        return State(terms, noise, coefficient), sample

    def _free(self, terms: list[Term]) -> list[Term]:
        return [term for term in terms if term not in self.pinned]

    def _evidence(self, terms: list[Term], noise: float, coefficient: float) -> float:
        columns = self.columns.matrix(self._free(terms))
        return log_evidence(columns, self.output, noise, coefficient, self.power)

    def _step_structure(
        self, rng: np.random.Generator, terms: list[Term], noise: float, coefficient: float
    ) -> list[Term]:
        probabilities = list(self.moves.probability.values())
        move = self.moves.names[draw_categorical(rng, probabilities)]
        self.counts[move][0] += 1
        if move == "stay":
            self.counts[move][1] += 1
            self.counts[move][2] += 1
            return terms
        change = self.moves.draw(rng, move, terms)
        after = None if change is None else self.moves.apply(terms, change)
        if after is None:
            return terms
        self.counts[move][1] += 1
        log_uniform = math.log(1.0 - rng.random())
        ratio = self.moves.log_ratio(move, terms, change)
        ratio += self._evidence(after, noise, coefficient)
        ratio -= self._evidence(terms, noise, coefficient)
        if log_uniform < ratio:
            self.counts[move][2] += 1
            return after
        return terms

    def _draw_theta(
        self, rng: np.random.Generator, terms: list[Term], noise: float, coefficient: float
    ) -> np.ndarray:
        """θ = mean + U⁻¹ξ, with the precision UᵀU in the chain's order of terms.

        A number is drawn for every term; those of pinned ones are thrown away.
        """
        drawn = {term: rng.standard_normal() for term in terms}
        free = self._free(terms)
        if not free:
            return np.empty(0)
        xi = np.array([drawn[term] for term in free])
        columns, weight = self.columns.matrix(free), self.power / noise
        precision = weight * columns.T @ columns + np.eye(len(free)) / coefficient
        mean = np.linalg.solve(precision, weight * columns.T @ self.output)
        return mean + solve_triangular(np.linalg.cholesky(precision).T, xi)

    def _draw_variances(
        self, rng: np.random.Generator, terms: list[Term], theta: np.ndarray, coefficient: float
    ) -> tuple[float, float, float]:
        error = self._squared_error(terms, theta) if self.power else 0.0
        n_rows = len(self.output)
        shape = self.prior.noise_shape + 0.5 * self.power * n_rows
        noise = (self.noise_scale + 0.5 * self.power * error) / rng.standard_gamma(shape)
        if self.prior.coefficient_shape is not None:
            shape = self.prior.coefficient_shape + 0.5 * len(terms)
            scale = self.prior.coefficient_scale + 0.5 * float(theta @ theta)
            coefficient = scale / rng.standard_gamma(shape)
        return noise, coefficient, error

    def _squared_error(self, terms: list[Term], theta: np.ndarray) -> float:
        residual = self.output - self.columns.matrix(terms) @ theta
        return float(residual @ residual)
