"""A verdict on a comparison of candidates where there are test data too, of which it speaks first.

Receives the verdict of ``compared``, the part of the data that counts and the answer about it;
gives the verdict that an `Assessment` shows.
"""

from __future__ import annotations

from dataclasses import replace

from adjoin.levels import CAUTION, GOOD, POOR, worst
from adjoin.results.advice import Verdict
from adjoin.results.answers import Answer
from adjoin.results.discovered import Discovered
from adjoin.results.scoring import Part

_PART_MISSED, _HALF_MISSED = 10.0, 50.0  # percent of the variance, as answers about free runs have


def judge_test(found: Discovered, own: Verdict, part: Part, trusted: Answer) -> Verdict:
    """Say how it simulates the test data, and then the held-out ones; the worse level counts.

    Nobody asks for a test to be told about something else, and what was held out helped to choose.
    """
    missed = part.scores.free_run.nmse
    if found.chosen is None or (missed is None and part.scores.free_run.rmse is not None):
        return own  # nothing was found, or the output stands still
    before = f" (held-out data: {explained(found.chosen['validation']['nmse'])})"
    level = _level(missed)
    how = "" if missed is None else explained(missed)
    summary = {
        GOOD: f"it simulates {part.words}: {how}",
        CAUTION: f"it simulates {part.words} in part: {how}",
        POOR: f"it does not simulate {part.words}: {how or 'it runs away'}",
    }[level]
    # Of what else is said of the test, only what forbids to trust it changes the level.
    levels = [own.level, level, POOR if trusted.level == POOR else GOOD]
    return replace(own, level=worst(levels), summary=summary + before)


def explained(missed: float) -> str:
    """How much of the variance, in words."""
    if missed > _HALF_MISSED:
        return f"{missed:.0f} % of the variance missed"
    return f"{100.0 - missed:.{1 if missed <= _PART_MISSED else 0}f} % of the variance explained"


def _level(missed: float | None) -> str:
    if missed is None or missed > _HALF_MISSED:
        return POOR
    return GOOD if missed <= _PART_MISSED else CAUTION
