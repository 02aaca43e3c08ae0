"""The prior of terms and structures by its formulas, in plain Python.

A term is an ascending tuple of atom numbers, atoms being numbered in canonical order. Sums over
atoms and terms are spelled out. Draws consume the same random numbers as the compiled ones.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache, cached_property
from itertools import accumulate, combinations_with_replacement

import numpy as np

from adjoin.grammar import Alphabet, Atom
from adjoin.grammar.spelling import reduce_product
from adjoin.grammar.terms import atom_key
from adjoin.inference.prior import Prior

Term = tuple[int, ...]


def draw_index(rng: np.random.Generator, n: int) -> int:
    """A whole number below n, by one uniform."""
    return int(rng.random() * n)


def draw_categorical(rng: np.random.Generator, weights: list[float]) -> int:
    """An index by one uniform and the inverse of the running sum."""
    running = list(accumulate(weights))
    value = rng.random() * running[-1]
    return next(i for i, total in enumerate(running) if total > value)


def truncated_poisson(rate: float, max_degree: int) -> list[float]:
    """P(d) for d = 0 … max_degree, where d - 1 is Poisson; nothing on d = 0."""
    mass = [math.exp(-rate) * rate**n / math.factorial(n) for n in range(max_degree)]
    return [0.0, *(m / sum(mass) for m in mass)]


class TermPrior:
    """p(t) of an alphabet, and all that the moves ask of it."""

    def __init__(self, alphabet: Alphabet, prior: Prior) -> None:
        self.alphabet, self.prior = alphabet, prior
        names = alphabet.names
        in_fixed = {atom for term in alphabet.fixed for atom in term}
        every = {*alphabet.atoms, *in_fixed}
        self.atoms: list[Atom] = sorted(every, key=lambda atom: atom_key(atom, names))
        self.number = {atom: i for i, atom in enumerate(self.atoms)}
        self.derivable = [self.number[atom] for atom in alphabet.atoms]
        self.fixed = [self.encode(term) for term in alphabet.fixed]
        self.max_degree = alphabet.max_degree
        self.weight = [0.0] * len(self.atoms)
        for atom in alphabet.atoms:
            self.weight[self.number[atom]] = self._atom_weight(atom)
        self.product_degree = truncated_poisson(prior.degree_rate, self.max_degree)
        self.power_degree = truncated_poisson(prior.power_rate, self.max_degree)
        self.has_constant = alphabet.constant is not None and () not in self.fixed
        self.constant_share = 0.0
        if self.has_constant:
            share = prior.constant_odds / (prior.constant_odds + prior.expected_terms)
            self.constant_share = min(share, 0.2)
        self.density = cache(self._density)

    def encode(self, term: tuple[Atom, ...]) -> Term:
        return tuple(sorted(self.number[atom] for atom in term))

    def decode(self, term: Term) -> tuple[Atom, ...]:
        return tuple(self.atoms[i] for i in term)

    def _atom_weight(self, atom: Atom) -> float:
        """1/V times a geometric law of the delay, cut off and renormalised."""
        choices, decay = self.alphabet.choices, self.prior.lag_decay
        (choice,) = (c for c in choices if (c.signal, c.function) == (atom.signal, atom.function))
        lags = range(choice.min_lag, choice.max_lag + 1)
        mass = {lag: decay ** (lag - choice.min_lag) for lag in lags}
        near, share = mass[atom.lag] / sum(mass.values()), self.prior.lag_uniform
        return ((1.0 - share) * near + share / len(lags)) / len(choices)

    def power_part(self, term: Term) -> float:
        """λ_m P(d) w(a) of a pure power, else 0."""
        if len(set(term)) > 1 or len(term) > self.max_degree:
            return 0.0
        return self.prior.power_weight * self.power_degree[len(term)] * self.weight[term[0]]

    def product_part(self, term: Term) -> float:
        """(1 - λ_m) P(d) times the number of orders of the atoms times their weights."""
        if len(term) > self.max_degree:
            return 0.0
        orders = math.factorial(len(term))
        for count in Counter(term).values():
            orders //= math.factorial(count)
        weight = math.prod(self.weight[a] for a in term)
        return (1.0 - self.prior.power_weight) * self.product_degree[len(term)] * orders * weight

    def spelled(self, term: Term) -> bool:
        """Whether a product is in its own spelling, or the alphabet lacks the other one."""
        atoms = self.decode(term)
        reduced = reduce_product(atoms)
        is_derivable = all(self.number.get(atom, -1) in self.derivable for atom in reduced)
        return sorted(reduced) == sorted(atoms) or not is_derivable

    def drawn(self, term: Term) -> float:
        """The density of a product of atoms, whatever its spelling."""
        return self.product_part(term) + self.power_part(term)

    @cached_property
    def spelled_mass(self) -> float:
        """What `drawn` sums to over all terms in their own spelling."""
        return math.fsum(self.drawn(term) for term in self.terms if term)

    def _density(self, term: Term) -> float:
        """p(t); the constant is not drawn from it."""
        if not term:
            return 0.0
        return self.drawn(term) / self.spelled_mass if self.spelled(term) else 0.0

    def rate(self, n_terms: int) -> float:
        """λ of one more term beside so many that are not the constant."""
        prior = self.prior
        if prior.terms_shape is None:
            return prior.expected_terms
        return (prior.terms_shape + n_terms) / (1.0 + prior.terms_shape / prior.expected_terms)

    def odds(self, term: Term) -> float:
        """Prior odds of a term, where the expected number of terms is known."""
        assert self.prior.terms_shape is None
        return self.prior.expected_terms * self.density(term) if term else self.prior.constant_odds

    def is_possible(self, term: Term) -> bool:
        """Whether a structure may have the term."""
        return self.density(term) > 0.0 if term else self.has_constant

    def log_structure(self, terms: list[Term]) -> float:
        """Log prior of the terms that are not fixed, up to a constant.

        Of a learned λ by its integral, ∫ Ga(λ; a, b) e^(-λ) λ^m dλ = b^a Γ(a+m)/Γ(a)/(b+1)^(a+m).
        """
        free = [term for term in terms if term not in self.fixed]
        counted = [term for term in free if term]
        total = math.fsum(math.log(self.density(term)) for term in counted)
        if len(counted) < len(free):
            total += math.log(self.prior.constant_odds)
        a, m = self.prior.terms_shape, len(counted)
        if a is None:
            return total + m * math.log(self.prior.expected_terms)
        b = a / self.prior.expected_terms
        return total + math.lgamma(a + m) - math.lgamma(a) - m * math.log(b + 1.0)

    @cached_property
    def terms(self) -> list[Term]:
        """Every term that the grammar derives, each in one spelling; the constant last."""
        products = [
            term
            for degree in range(1, self.max_degree + 1)
            for term in combinations_with_replacement(self.derivable, degree)
            if self.spelled(term)
        ]
        return [*products, *[()] * (self.alphabet.constant is not None)]

    def extensions(self, term: Term) -> Iterator[tuple[Term, float]]:
        """t·a and its density for every atom a, whatever the spelling."""
        for atom in self.derivable:
            extended = tuple(sorted((*term, atom)))
            yield extended, self.drawn(extended)

    def reductions(self, term: Term) -> Iterator[tuple[Term, float]]:
        """t/a and p(t/a) for every distinct atom a of t, ascending."""
        for atom in sorted(set(term)):
            place = term.index(atom)
            reduced = (*term[:place], *term[place + 1 :])
            yield reduced, self.drawn(reduced)

    def draw(self, rng: np.random.Generator) -> Term:
        """A term from p(t): what is spelled otherwise is drawn again."""
        while not self.spelled(term := self._draw_any(rng)):
            pass
        return term

    def _draw_any(self, rng: np.random.Generator) -> Term:
        """A pure power or a product of independent atoms."""
        if rng.random() < self.prior.power_weight:
            degree = draw_categorical(rng, self.power_degree)
            return (draw_categorical(rng, self.weight),) * degree
        degree = draw_categorical(rng, self.product_degree)
        return tuple(sorted(draw_categorical(rng, self.weight) for _ in range(degree)))

    def draw_extension(self, rng: np.random.Generator, term: Term) -> Term:
        """t·a with probability p(t·a)/Z(t): the power, or by rejection from the atom weights."""
        total = sum(density for _, density in self.extensions(term))
        again = tuple(sorted((*term, term[0])))
        if rng.random() < self.power_part(again) / total:
            return again
        while True:
            atom = draw_categorical(rng, self.weight)
            count = term.count(atom)
            if count == 0 or rng.random() < 1.0 / (count + 1):
                return tuple(sorted((*term, atom)))

    def draw_reduction(self, rng: np.random.Generator, term: Term) -> Term:
        """t/a with probability p(t/a)/Z'(t)."""
        reduced, density = zip(*self.reductions(term), strict=True)
        return reduced[draw_categorical(rng, list(density))]
