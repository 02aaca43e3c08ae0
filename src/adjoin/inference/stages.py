"""Runs as long as they need: stages that grow, from the nine moves to many rungs.

Receives how many samples a chain may draw in all; gives one stage after another to the
`Identifier`, which ends when the chains agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from adjoin.inference.search import Search

AUTO = "auto"
MOST_SAMPLES = 150_000
"""Of a chain in all stages together, where nobody says otherwise."""

_QUICK = Search(candidates=256, moves=5, interval=100, screenings=1)
_INFORMED = Search(candidates=512, moves=10, interval=10)
_TEMPERED = Search(candidates=1024, moves=20, interval=20, rungs=24)
_LENGTHS = (20_000, 20_000, 40_000)


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
    yield Stage(_QUICK, _LENGTHS[0])
    yield Stage(_INFORMED, _LENGTHS[1])
    samples = _LENGTHS[2]
    yield Stage(_TEMPERED, samples)
    while True:
        yield Stage(_TEMPERED, samples, is_joint=True)
        samples *= 2
