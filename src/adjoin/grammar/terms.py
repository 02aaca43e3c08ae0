"""Atoms, terms and structures: what the derived tree of a dynamical grammar means.

Receives signal names (``data.names``) and gives canonical objects, so that equal structures are
equal values and print equally. Text forms are in ``equation.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import find_function


class Atom(NamedTuple):
    """One lagged signal, optionally inside one function: ``u(k-1)``, ``abs(u(k))``.

    The function is a word of ``functions.py``: ``abs``, or ``pos[0.25]`` for a hinge.
    """

    signal: str
    lag: int
    function: str = ""


Term = tuple[Atom, ...]
"""A product of atoms, repeated ones repeated, in canonical order. The empty product is 1."""


def atom_key(atom: Atom, names: SignalNames) -> tuple[int, int, int, float]:
    """Canonical order of atoms: declared signal order, lag, plain before in a function, knot."""
    try:
        place, knot = function_key(atom.function)
    except AdjoinError as error:
        raise AdjoinError(f"{error} of {atom.signal}") from None
    return names.position(atom.signal), atom.lag, place, knot


@lru_cache(maxsize=4096)
def function_key(word: str) -> tuple[int, float]:
    """Canonical order of functions: that of the register, hinges by their knot."""
    function = find_function(word)
    return function.code, function.shift


def make_term(atoms: Iterable[Atom], names: SignalNames) -> Term:
    """The canonical term that is the product of `atoms`; checks that it looks into the past only.

    Raises
    ------
    AdjoinError
        For unknown signals or functions, and for output or noise atoms that are not delayed.
    """
    ordered = tuple(sorted((Atom(*atom) for atom in atoms), key=lambda a: atom_key(a, names)))
    for atom in ordered:
        if atom.function and atom.signal == names.noise:
            raise AdjoinError(f"the noise '{names.noise}' cannot stand inside {atom.function}(...)")
        smallest = 0 if atom.signal in names.inputs else 1
        if atom.lag < smallest:
            raise AdjoinError(
                f"{atom.signal}(k{-atom.lag:+d}) cannot stand on the right-hand side".replace(
                    "k+0", "k"
                )
                + f": the smallest lag of '{atom.signal}' is {smallest}"
            )
    return ordered


def powers(term: Term) -> Iterator[tuple[Atom, int]]:
    """The distinct atoms of a term with their multiplicities."""
    yield from Counter(term).items()


def exponents(term: Term) -> dict[str, float]:
    r"""Homogeneous degree of a term in every signal it contains.

    .. math:: t(s_1 x_1, …, s_V x_V) = \prod_i s_i^{e_i} \; t(x_1, …, x_V)

    Signals inside functions that do not scale, such as ``sin``, are not counted: they keep their
    unit when the others are scaled. Knots of hinges scale with their signal.
    """
    degree: dict[str, float] = {}
    for atom in term:
        homogeneity = find_function(atom.function).homogeneity
        if homogeneity is not None:
            degree[atom.signal] = degree.get(atom.signal, 0.0) + homogeneity
    return degree


@dataclass(frozen=True, repr=False)
class Structure:
    """A set of distinct terms in canonical order, over named signals.

    Parameters
    ----------
    terms : iterable of Term
        In any order; repeated ones count once.
    names : SignalNames
        The declared signals, which fix the canonical order.

    Examples
    --------
    >>> print(Structure.parse("y(k-1) + u(k-5)^3 + u(k-1)"))
    u(k-1) + u(k-5)^3 + y(k-1)
    """

    terms: tuple[Term, ...]
    names: SignalNames

    def __post_init__(self) -> None:
        distinct = {make_term(term, self.names) for term in self.terms}
        object.__setattr__(self, "terms", tuple(sorted(distinct, key=self._term_key)))

    def _term_key(self, term: Term) -> tuple[tuple[int, int, int, float], ...]:
        return tuple(atom_key(atom, self.names) for atom in term)

    def __len__(self) -> int:
        return len(self.terms)

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    @property
    def max_lag(self) -> int:
        """The largest lag, 0 for the empty structure."""
        return max((atom.lag for term in self.terms for atom in term), default=0)

    @property
    def max_degree(self) -> int:
        """The largest number of atoms in a term, 0 for the empty structure."""
        return max(map(len, self.terms), default=0)

    @property
    def has_noise(self) -> bool:
        """Whether past noise occurs."""
        return any(atom.signal == self.names.noise for term in self.terms for atom in term)

    @property
    def functions(self) -> tuple[str, ...]:
        """The functions that occur, in canonical order."""
        used = {atom.function for term in self.terms for atom in term} - {""}
        return tuple(sorted(used, key=function_key))

    @classmethod
    def parse(cls, text: str, names: SignalNames | None = None) -> Structure:
        """Read a structure, or the right-hand side of an equation whose numbers are ignored."""
        from adjoin.grammar.parser import read_equation

        return read_equation(text, names).structure

    def __repr__(self) -> str:
        return f"Structure('{self}')"

    def __str__(self) -> str:
        from adjoin.grammar.equation import term_text

        return " + ".join(term_text(term) for term in self.terms) or "0"
