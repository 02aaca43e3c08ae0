"""A run in stages, until its chains agree.

Receives an engine and what runs and gathers its chains; gives the posterior of the last stage with
a note of all. What ends it is a function of the draws, unless there is a time limit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from adjoin.inference.best import best_structure
from adjoin.inference.engine import Engine
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.runner import Sampled
from adjoin.inference.stages import plan_stages
from adjoin.results.collection import Collection
from adjoin.results.stage_words import AGREEMENT, INTERRUPT, MAX_SAMPLES, TIME_LIMIT
from adjoin.results.stopping import agreement

_STAGE_KEY = 2**32 - 2  # of seeds that no other chain has

Gathered = TypeVar("Gathered", bound=Collection)


def run_stages(
    engine: PredictionEngine,
    seed: np.random.SeedSequence,
    run: Callable[[Engine, int, np.random.SeedSequence, str], Sampled],
    gather: Callable[[Engine, Sampled, int], Gathered],
    max_samples: int,
    time_limit: float | None = None,
) -> tuple[Gathered, float]:
    """The posterior of the last stage, and the seconds of all.

    Parameters
    ----------
    engine : PredictionEngine
        Of the run; each stage has its own way to search.
    seed : SeedSequence
        Every stage has seeds of its own from it.
    run, gather : callable
        What runs the chains of an engine, and makes a posterior of them.
    max_samples : int
        Most samples of a chain in all stages together.
    time_limit : float, optional
        No stage is begun that would probably end later, in seconds from the first.
    """
    seconds, rate, ended_by = 0.0, 0.0, MAX_SAMPLES
    notes: list[dict[str, Any]] = []
    starts: dict[tuple[int, ...], None] = {}
    posterior: Gathered | None = None
    for number, stage in enumerate(plan_stages(max_samples)):
        size = stage.samples * stage.search.rungs
        is_late = time_limit is not None and seconds + rate * size > time_limit
        if posterior is not None and is_late:
            ended_by = TIME_LIMIT
            break
        given = tuple(starts) if stage.is_joint else ()
        staged = replace(engine, search=stage.search, samples=stage.samples, starts=given)
        staged.warm_up()
        own_seed = np.random.SeedSequence(seed.entropy, spawn_key=(_STAGE_KEY, number))
        try:
            sampled = run(staged, stage.samples, own_seed, f"stage {number + 1}, chain")
        except KeyboardInterrupt:  # before there was anything to show of this stage
            if posterior is None:
                raise
            ended_by = INTERRUPT
            break
        seconds += sampled.seconds
        rate = sampled.seconds / size
        if not sampled.is_complete:
            ended_by = INTERRUPT
        if sampled.is_complete or posterior is None:
            posterior = gather(staged, sampled, stage.samples)
            found = agreement(posterior)
            best = [best_structure(staged, trace) for trace in posterior.traces]
            starts |= dict.fromkeys(keys for _, keys in best)
            notes.append(
                {
                    "samples": stage.samples,
                    "is_joint": stage.is_joint,
                    **stage.search.plain,
                    **found.plain,
                    "log_posterior": [value for value, _ in best],
                }
            )
            if found.is_reached and sampled.is_complete:
                ended_by = AGREEMENT
        if ended_by in (AGREEMENT, INTERRUPT):
            break
    assert posterior is not None  # there always is a first stage
    if ended_by == INTERRUPT and posterior.settings.is_complete:
        warnings.warn("interrupted: the posterior is that of the stage before", stacklevel=3)
    changed = {"is_auto": True, "stages": tuple(notes), "ended_by": ended_by}
    is_complete = ended_by != INTERRUPT
    return posterior.with_settings(**changed, is_complete=is_complete), seconds
