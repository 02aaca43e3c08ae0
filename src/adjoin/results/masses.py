"""Masses of structures in words: a number where the chains agree on it, else the range over them.

Receives masses, pooled and chain by chain; every page, table and sentence that shows one asks here,
so that none is shown as certain which another chain denies.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoin.arrays import Float1D
from adjoin.levels import POOR
from adjoin.text import percent

APART = 0.1
"""Masses of one structure that differ by more from chain to chain are not settled."""


def is_settled(masses: Sequence[float] | Float1D, agreement: str = "") -> bool:
    """Whether chains with these masses agree on one; `agreement` is their level, if it is known."""
    return len(masses) == 1 or (agreement != POOR and max(masses) - min(masses) <= APART)


def mass_text(
    mass: float, masses: Sequence[float] | Float1D, agreement: str = "", places: int = 3
) -> str:
    """A mass for a table: ``0.982``, or ``0.00 to 0.98`` by chain where it is not settled."""
    if is_settled(masses, agreement):
        return f"{mass:.{places}f}"
    low, high = f"{min(masses):.2f}", f"{max(masses):.2f}"
    return low if low == high else f"{low} to {high}"


def mass_percent(mass: float, masses: Sequence[float] | Float1D, agreement: str = "") -> str:
    """A mass in percent for a sentence: ``98.2 %``, or ``0 % to 98 %``."""
    if is_settled(masses, agreement):
        return percent(mass)
    low, high = percent(min(masses), 0), percent(max(masses), 0)
    return low if low == high else f"{low} to {high}"
