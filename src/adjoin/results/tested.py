"""What test data say of the choice among candidates, of which the verdict then speaks first.

Receives the part of the data that counts and the answer about it; gives ``compared`` a `Tested`.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.results.answers import Answer
from adjoin.results.scoring import Part

_PART_MISSED, _HALF_MISSED = 10.0, 50.0  # percent of the variance, as answers about free runs have


class Tested(NamedTuple):
    """How good it is there, in words, and what decided where it is not good."""

    level: str
    summary: str
    cause: str


def judge_test(part: Part, trusted: Answer) -> Tested | None:
    """How the test data are simulated; None where the output stands still, so that nobody knows.

    Of what else the answer says, only what forbids to trust it changes the level: the bands, say,
    have a question of their own.
    """
    missed = part.scores.free_run.nmse
    if missed is None and part.scores.free_run.rmse is not None:
        return None
    level = POOR if missed is None else level_of(missed)
    how = "it runs away" if missed is None else f"{explained(missed, ' of the variance')}"
    summary = {
        GOOD: f"it simulates {part.words}: {how}",
        CAUTION: f"it simulates {part.words} in part: {how}",
        POOR: f"it does not simulate {part.words}: {how}",
    }[level]
    if trusted.level == POOR != level:
        return Tested(POOR, summary, trusted.cause)
    return Tested(level, summary, "" if level == GOOD else f"it misses a part of {part.words}")


def level_of(missed: float) -> str:
    """How good a simulation is that misses so much of the variance, in percent."""
    if missed <= _PART_MISSED:
        return GOOD
    return CAUTION if missed <= _HALF_MISSED else POOR


def explained(missed: float, of: str = "") -> str:
    """How much is explained, or missed where that is more, in words."""
    if missed > _HALF_MISSED:
        return f"{missed:.0f} %{of} missed"
    return f"{100.0 - missed:.{1 if missed <= _PART_MISSED else 0}f} %{of} explained"
