"""Runs as long as they need: stages that grow, from the nine moves to many rungs.

Receives how many samples a chain may draw in all; gives one stage after another to the
`Identifier`, which ends when the chains agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from adjoin.inference.search import Search

AUTO = "auto"
MOST_SAMPLES = 200_000
"""Of a chain in all stages together, where nobody says otherwise."""

PILOT = Search(candidates=256, moves=5, interval=20, screenings=1)
"""For a short run that decides something beforehand."""
_QUICK = Search(candidates=256, moves=5, interval=100, screenings=1)
_INFORMED = Search(candidates=512, moves=10, interval=10)
# A short ladder weighs what is near; a long one, down to a fiftieth, finds what is far.
_SHORT = Search(candidates=1024, moves=20, interval=20, rungs=8, hottest=0.25)
_LONG = Search(candidates=1024, moves=20, interval=20, rungs=24)


class Stage(NamedTuple):
    """How the chains of one stage search, and how many samples each draws.

    ``is_joint``: its chains begin with the best structures that all chains of the stages before
    have found, so that each can weigh them against each other.
    """

    search: Search
    samples: int
    is_joint: bool = False


def plan_stages(max_samples: int) -> Iterator[Stage]:
    """Nearly plain, informed, then tempered; each longer, as long as all of them stay in bounds.

    The first stage is drawn whatever the bound is, cut to it.
    """
    stages = _unbounded()
    first = next(stages)
    n_drawn = min(first.samples, max_samples)
    yield first._replace(samples=n_drawn)
    for stage in stages:
        n_drawn += stage.samples
        if n_drawn > max_samples:
            return
        yield stage


def _unbounded() -> Iterator[Stage]:
    yield Stage(_QUICK, 20_000)
    yield Stage(_INFORMED, 20_000)
    yield Stage(_SHORT, 40_000)
    yield Stage(_LONG, 20_000)
    samples = 80_000
    while True:
        yield Stage(_SHORT, samples, is_joint=True)
        samples *= 2
