"""How good a finding is, in the three words that every verdict uses."""

from __future__ import annotations

from collections.abc import Iterable

GOOD, CAUTION, POOR = "good", "caution", "poor"
LEVEL_WORDS = {GOOD: "Good", CAUTION: "With care", POOR: "Problem"}
"""What pages and notebooks call them: the one word that every question is answered by."""

Finding = tuple[str, str, str]
"""A level, why, and what to do (nothing if empty)."""


def worst(levels: Iterable[str]) -> str:
    """The worst of some levels; good where there are none."""
    met = set(levels)
    return next((level for level in (POOR, CAUTION) if level in met), GOOD)
