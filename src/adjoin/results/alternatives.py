"""Terms that stand in for each other: of some, always the same number is in, but not the same ones.

Receives a `Sample`; gives `Alternatives`, which diagnostics, terminal, JSON and page show. Where
data cannot tell u(k-1)*y(k-2) from u(k-2)*y(k-1), each has an inclusion of one half and looks
doubtful, though it is certain that one of them is needed. Such groups are found among the
structures drawn, each weighed by its mass: beginning with the term that is in most often, the term
is added that is in most often where the group falls short, and least where it does not, until
nothing is gained. A group counts if in at least 95 % of the draws exactly one of it is in (or, of
three and more, exactly one is out), and if all of its terms take part: in at least 80 % of the
draws with a term the others are out, and in at least 80 % of those without it one other is in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.grammar.equation import term_text
from adjoin.results.sample import Sample

NEARLY_ALL = 0.95
"""Of the draws, in which the number must be the same."""
_OPEN = 0.02, 0.98  # inclusion: a term beyond is out, or in, and has no alternative
_GIVEN = 0.8  # of the draws with, and of those without a term, in which the others make up for it
_MOST_TERMS = 300
_MOST_STRUCTURES = 20_000  # by mass; further ones have next to none
_MOST_MEMBERS = 12
_WORDS = {1: "one", 2: "two", 3: "three", 4: "four"}


@dataclass(frozen=True)
class Alternatives:
    """Terms of which always the same number is in.

    Parameters
    ----------
    terms : tuple of str
        The one that is in most often first.
    shares : tuple of float
        The share of draws that have each.
    number : int
        How many of them are in, in at least 95 % of the draws.
    """

    terms: tuple[str, ...]
    shares: tuple[float, ...]
    number: int

    @property
    def words(self) -> str:
        """Such as ``one of u(k-1), u(k-2) is always in (62 %, 38 %)``."""
        number = _WORDS.get(self.number, str(self.number))
        shares = ", ".join(f"{100.0 * share:.0f} %" for share in self.shares)
        verb = "is" if self.number == 1 else "are"
        return f"{number} of {', '.join(self.terms)} {verb} always in ({shares})"

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"terms": list(self.terms), "shares": list(self.shares), "number": self.number}


def find_alternatives(sample: Sample) -> tuple[Alternatives, ...]:
    """All groups, that of the largest share first; no term is in two of them."""
    inclusion = sample.inclusion
    is_open = np.flatnonzero((inclusion >= _OPEN[0]) & (inclusion <= _OPEN[1]))
    order = is_open[np.argsort(-inclusion[is_open], kind="stable")][:_MOST_TERMS]
    if len(order) < 2:
        return ()
    table, mass = _incidence(sample, order)
    texts = [term_text(sample.encoding.term(sample.term_keys[i])) for i in order]
    found: list[Alternatives] = []
    is_free = np.ones(len(order), dtype=bool)
    for is_out in (False, True):  # exactly one in, then exactly one out
        states = 1.0 - table if is_out else table
        share = mass @ states
        both = (states * mass[:, None]).T @ states
        for seed in np.argsort(-share, kind="stable"):
            if not is_free[seed] or not _may_do(seed, share, both, is_free):
                continue
            members = _grow(int(seed), states, mass, is_free)
            if len(members) < (3 if is_out else 2) or not _holds(members, states, mass):
                continue
            members.sort(key=lambda i: (-inclusion[order[i]], i))
            is_free[members] = False
            shares = tuple(float(inclusion[order[i]]) for i in members)
            number = len(members) - 1 if is_out else 1
            found.append(Alternatives(tuple(texts[i] for i in members), shares, number))
    return tuple(found)


def _incidence(sample: Sample, chosen: np.ndarray) -> tuple[Float2D, Float1D]:
    """(n_structures, n_chosen) which structure has which of the chosen terms; and their masses."""
    keys = {sample.term_keys[i]: column for column, i in enumerate(chosen)}
    n_structures = min(len(sample.structures), _MOST_STRUCTURES)
    table = np.zeros((n_structures, len(chosen)))
    for rank, structure in enumerate(sample.drawn_keys(n_structures)):
        table[rank, [keys[key] for key in structure if key in keys]] = 1.0
    mass = sample.structures["mass"].to_numpy()[:n_structures]
    return table, mass / mass.sum()


def _may_do(seed: int, share: Float1D, both: Float2D, is_free: np.ndarray) -> bool:
    """Whether terms that hardly ever go with the first could make up for it at all."""
    is_apart = is_free & (both[seed] <= (1.0 - _GIVEN) * share)
    is_apart[seed] = False
    return bool(is_apart.any() and share[seed] + share[is_apart].sum() >= NEARLY_ALL)


def _grow(seed: int, states: Float2D, mass: Float1D, is_free: np.ndarray) -> list[int]:
    """Add terms as long as the mass of exactly one grows."""
    members, count = [seed], states[:, seed].copy()
    while len(members) < _MOST_MEMBERS:
        gain = (mass * ((count == 0.0) * 1.0 - (count == 1.0) * 1.0)) @ states
        gain[~is_free] = -1.0
        gain[members] = -1.0
        best = int(gain.argmax())
        if gain[best] <= 0.0:
            break
        members.append(best)
        count += states[:, best]
    return members


def _holds(members: list[int], states: Float2D, mass: Float1D) -> bool:
    """Whether exactly one is always in, and every member is made up for by the others."""
    count = states[:, members].sum(axis=1)
    if mass[count == 1.0].sum() < NEARLY_ALL:
        return False
    for member in members:
        is_in = states[:, member] == 1.0
        inside, outside = mass[is_in].sum(), mass[~is_in].sum()
        alone = mass[is_in & (count == 1.0)].sum()
        others = mass[~is_in & (count == 1.0)].sum()
        if alone < _GIVEN * inside or others < _GIVEN * outside:
            return False
    return True
