r"""One spelling for one function: products of a signal's own functions, reduced.

Of one lagged signal x, products of x, ``abs(x)``, ``sign(x)`` and ``sqrt(abs(x))`` are all

.. math:: \mathrm{sign}(x)^a\, |x|^{b/2}, \qquad a ∈ \{0, 1\}, \; b ≥ 0

(but where x = 0), so that ``sign(x)*abs(x)`` is x, and ``sqrt(abs(x))^2`` is ``abs(x)``. Each such
function has one spelling here: a power of x, at most one ``abs(x)`` beside it, at most one
``sqrt(abs(x))``, and ``sign(x)`` only where there is neither x nor ``abs(x)``. Beside the hinge
``pos(x)``, which is 0 where x is negative, all are powers of it: x·pos(x) is pos(x)²; and beside
``pos(x - c)`` with c > 0 they are powers of x. A part of a spelling is a spelling.

Receives atoms. What is typed and what a tree yields is reduced; ``alphabet`` lists the atoms that
may not stand together, so that the samplers make no other spelling.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations_with_replacement

from adjoin.grammar.functions import find_function, hinge_word, is_hinge
from adjoin.grammar.terms import Atom, Structure

_KINK = hinge_word(0.0)
_HALVES = {"": 2, "abs": 2, "sqrtabs": 1, "sign": 0, _KINK: 2}
"""b of each function that is a sign times a power; those of x and the sign are odd."""

Clashes = Mapping[Atom, Sequence[Atom]]
"""For every atom those that it never stands beside, itself among them where it is never squared."""


def reduce_product(atoms: Iterable[Atom]) -> tuple[Atom, ...]:
    """The atoms of the one spelling of a product, those of each lagged signal together.

    Examples
    --------
    >>> u = Atom("u", 1)
    >>> reduce_product([u, u._replace(function="sign")])
    (Atom(signal='u', lag=1, function='abs'),)
    """
    found: list[Atom] = []
    powers: dict[Atom, list[str]] = {}
    positive: set[Atom] = set()
    for atom in map(Atom._make, atoms):
        plain = atom._replace(function="")
        if atom.function in _HALVES:
            powers.setdefault(plain, []).append(atom.function)
        else:
            found.append(atom)
            if is_hinge(atom.function) and find_function(atom.function).shift > 0.0:
                positive.add(plain)
    for plain, functions in powers.items():
        is_odd = sum(name in ("", "sign") for name in functions) % 2
        whole, half = divmod(sum(_HALVES[name] for name in functions), 2)
        names = ["sqrtabs"] * half
        if plain in positive:
            names += [""] * whole
        elif _KINK in functions:
            names += [_KINK] * whole
        elif whole == 0:
            names += ["sign"] * is_odd
        elif whole % 2 == is_odd:
            names += [""] * whole
        else:
            names += [*[""] * (whole - 1), "abs"]
        found += [plain._replace(function=name) for name in names]
    return tuple(found)


def reduce_structure(structure: Structure) -> Structure:
    """The structure with its terms in their one spelling."""
    return Structure(tuple(map(reduce_product, structure)), structure.names)


def find_clashes(atoms: Iterable[Atom]) -> Clashes:
    """Which of these atoms never stand together, because their product is spelled otherwise.

    Only where that other spelling is made of these atoms too: an alphabet with ``sign(u)`` and u
    but without ``abs(u)`` can say the last one as their product only.
    """
    derivable = set(atoms)
    moments: dict[tuple[str, int], list[Atom]] = {}
    for atom in sorted(derivable):
        moments.setdefault((atom.signal, atom.lag), []).append(atom)
    found: dict[Atom, list[Atom]] = {}
    for together in moments.values():
        for pair in combinations_with_replacement(together, 2):
            reduced = reduce_product(pair)
            if sorted(reduced) != sorted(pair) and derivable.issuperset(reduced):
                for atom, other in {pair, pair[::-1]}:
                    found.setdefault(atom, []).append(other)
    return found


def reduced_products(
    atoms: Sequence[Atom], clashes: Clashes, max_degree: int
) -> Iterator[tuple[Atom, ...]]:
    """Every product of up to so many of these atoms in which none clash; the empty one first."""
    for degree in range(max_degree + 1):
        for product in combinations_with_replacement(atoms, degree):
            if is_reduced(product, clashes):
                yield product


def is_reduced(product: Sequence[Atom], clashes: Clashes) -> bool:
    """Whether no two atoms of a product clash."""
    return not any(
        other in clashes.get(atom, ()) for i, atom in enumerate(product) for other in product[:i]
    )
