"""Atoms and terms as integers, as the samplers handle them.

Receives an `Alphabet`; gives each atom a number in canonical order and each term a key, and says
which atom a lag or swap move turns another one into.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.alphabet import Alphabet
from adjoin.grammar.terms import Atom, Structure, Term, atom_key

_LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True)
class Encoding:
    """Numbers for the atoms of an alphabet and of its fixed terms.

    Atoms that occur in fixed terms only are numbered too, but no move reaches them.

    Parameters
    ----------
    alphabet : Alphabet
        What to number. Keys have as many digits as the highest degree, so an alphabet can be too
        large for them; that is an error.
    """

    alphabet: Alphabet

    def __post_init__(self) -> None:
        # Every factor takes at least a bit; so no power of absurd size is worked out.
        is_long = self.max_degree > _LARGEST_KEY.bit_length()
        if is_long or (len(self.atoms) + 1) ** self.max_degree > _LARGEST_KEY:
            raise AdjoinError(
                f"{len(self.atoms)} atoms in terms of degree {self.max_degree} are more than the"
                " samplers can number; lower max_degree or max_lag"
            )

    @property
    def names(self) -> SignalNames:
        """The declared signals."""
        return self.alphabet.names

    @cached_property
    def atoms(self) -> tuple[Atom, ...]:
        """Every atom in canonical order; its place is its number."""
        fixed = {atom for term in self.alphabet.fixed for atom in term}
        every = {*self.alphabet.atoms, *fixed}
        return tuple(sorted(every, key=lambda atom: atom_key(atom, self.names)))

    @cached_property
    def number(self) -> dict[Atom, int]:
        """The number of each atom."""
        return {atom: i for i, atom in enumerate(self.atoms)}

    @property
    def max_degree(self) -> int:
        """The highest degree of any term, fixed ones included."""
        return max(self.alphabet.max_degree, self.alphabet.fixed.max_degree)

    def key(self, term: Term) -> int:
        """The integer that stands for a term, as `kernels.terms.term_key` makes it."""
        key = 0
        for atom in term:
            key = key * (len(self.atoms) + 1) + self.number[atom] + 1
        return key

    def digits(self, key: int) -> tuple[int, ...]:
        """The numbers of the atoms of the term a key stands for; ordered as terms are."""
        found = []
        while key:
            key, digit = divmod(key, len(self.atoms) + 1)
            found.append(digit - 1)
        return tuple(reversed(found))

    def term(self, key: int) -> Term:
        """The term a key stands for."""
        return tuple(self.atoms[number] for number in self.digits(key))

    def structure(self, keys: tuple[int, ...]) -> Structure:
        """The structure of the terms with these keys."""
        return Structure(tuple(self.term(key) for key in keys), self.names)

    def _changes(self, change: Callable[[Atom], list[Atom]]) -> dict[int, list[int]]:
        """For each atom the derivable ones that `change` turns it into, by number."""
        derivable = set(self.alphabet.atoms)
        return {
            self.number[atom]: [self.number[a] for a in change(atom) if a in derivable]
            for atom in derivable
        }

    @property
    def older(self) -> dict[int, list[int]]:
        """For each atom the one with a delay more, if there is one."""
        return self._changes(lambda atom: [atom._replace(lag=atom.lag + 1)])

    @property
    def newer(self) -> dict[int, list[int]]:
        """For each atom the one with a delay less, if there is one."""
        return self._changes(lambda atom: [atom._replace(lag=atom.lag - 1)])

    @property
    def output(self) -> dict[int, list[int]]:
        """For each input at lag 1 the output at lag 1 inside the same function."""
        return self._changes(lambda atom: self._swap(atom, self.names.inputs, [self.names.output]))

    @property
    def inputs(self) -> dict[int, list[int]]:
        """For each output at lag 1 all inputs at lag 1 inside the same function."""
        return self._changes(lambda atom: self._swap(atom, [self.names.output], self.names.inputs))

    @staticmethod
    def _swap(atom: Atom, old: Sequence[str], new: Sequence[str]) -> list[Atom]:
        if atom.signal not in old or atom.lag != 1:
            return []
        return [atom._replace(signal=name) for name in new]
