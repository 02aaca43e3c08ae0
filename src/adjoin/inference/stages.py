"""Runs as long as they need: stages from the nine moves to flips and many rungs.

Receives how many samples a chain may draw in all; gives one stage after another to the
`Identifier`, which ends when the chains agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from adjoin.inference.search import Search

AUTO = "auto"
MOST_SAMPLES = 500_000
"""Of a chain in all stages together, where nobody says otherwise."""

PILOT = Search(candidates=256, moves=5, interval=20, screenings=1)
"""For a short run that decides something beforehand."""
_QUICK = Search(candidates=256, moves=5, interval=100, screenings=1)
_INFORMED = Search(candidates=512, moves=10, interval=10, screenings=3, flips=200)
_TEMPERED = Search(candidates=1024, moves=20, interval=20, screenings=3, flips=200)
# A short ladder weighs what is near; a long one, down to a fiftieth, finds what is far.
_SHORT = replace(_TEMPERED, rungs=8, hottest=0.25)
_LONG = replace(_TEMPERED, rungs=24)
# Flips would only lead it to what is known.
_CONTROL = replace(_SHORT, flips=0)
_FRESH = 20_000


class Stage(NamedTuple):
    """How the chains of one stage search, and how many samples each draws.

    ``is_joint``: its chains begin with the best structures that all chains of the stages before
    have found, so that each can weigh them against each other. ``is_control``: its chains begin
    anywhere, after a joint stage, to see whether there is anything else; they are not reported.
    """

    search: Search
    samples: int
    is_joint: bool = False
    is_control: bool = False


def plan_stages(max_samples: int) -> Iterator[Stage]:
    """Nearly plain, informed with flips, joint, then tempered; as long as all stay in bounds.

    The first stage is drawn whatever the bound is, cut to it. No joint stage without its control.
    """
    stages = _unbounded()
    first = next(stages)
    n_drawn = min(first.samples, max_samples)
    yield first._replace(samples=n_drawn)
    for stage in stages:
        if n_drawn + stage.samples + (_FRESH if stage.is_joint else 0) > max_samples:
            return
        n_drawn += stage.samples
        yield stage


def _unbounded() -> Iterator[Stage]:
    yield Stage(_QUICK, _FRESH)
    for _ in range(3):
        yield Stage(_INFORMED, _FRESH)
    joint = [Stage(_INFORMED, n) for n in (40_000, 120_000, 200_000)] + [Stage(_SHORT, 80_000)]
    while True:
        for stage in joint:
            yield stage._replace(is_joint=True)
            yield Stage(_CONTROL, _FRESH, is_control=True)
        joint = [Stage(_LONG, 2 * joint[-1].samples)]
