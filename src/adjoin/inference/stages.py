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

_QUICK = Search(candidates=256, moves=5, interval=50, screenings=1)
_INFORMED = Search(candidates=512, moves=10, interval=10)
_LENGTHS = (20_000, 20_000)
_FIRST_RUNGS, _MOST_RUNGS = 12, 24


class Stage(NamedTuple):
    """How the chains of one stage search, and how many samples each draws."""

    search: Search
    samples: int


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
    n_rungs, samples = _FIRST_RUNGS, _LENGTHS[1]
    while True:
        yield Stage(Search(candidates=512, moves=20, interval=20, rungs=n_rungs), samples)
        n_rungs, samples = _MOST_RUNGS, 4 * samples
