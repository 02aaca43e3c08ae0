"""Terms as ascending lists of atom numbers, and the key that stands for each."""

from __future__ import annotations

from adjoin.arrays import Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.state import Chain


@kernel()
def term_key(atom: Int1D, degree: int, n_atoms: int) -> int:
    """The integer that stands for a term: its atoms as digits to the base n_atoms + 1.

    Mutates: nothing. Allocates: nothing.
    """
    key = 0
    for i in range(degree):
        key = key * (n_atoms + 1) + atom[i] + 1
    return key


@kernel()
def insert_atom(atom: Int1D, degree: int, new: int) -> None:
    """Insert an atom into an ascending list of `degree` atoms.

    Mutates: atom. Allocates: nothing.
    """
    i = degree
    while i > 0 and atom[i - 1] > new:
        atom[i] = atom[i - 1]
        i -= 1
    atom[i] = new


@kernel()
def copy_without(source: Int1D, degree: int, place: int, target: Int1D) -> None:
    """Copy a term without the atom at one place.

    Mutates: target. Allocates: nothing.
    """
    for i in range(place):
        target[i] = source[i]
    for i in range(place + 1, degree):
        target[i - 1] = source[i]


@kernel()
def multiplicity(atom: Int1D, degree: int, which: int) -> int:
    """How often an atom occurs in a term.

    Mutates: nothing. Allocates: nothing.
    """
    count = 0
    for i in range(degree):
        if atom[i] == which:
            count += 1
    return count


@kernel()
def contains(chain: Chain, key: int) -> bool:
    """Whether the structure has the term with that key.

    Mutates: nothing. Allocates: nothing.
    """
    for i in range(chain.n_terms[0]):
        if chain.key[i] == key:
            return True
    return False
