"""A run in stages, until its chains agree.

Receives an engine and what runs and gathers its chains; gives the posterior of the last stage that
counts with a note of all. What ends it is a function of the draws, unless there is a time limit.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Generic, TypeVar

import numpy as np

from adjoin.inference.best import (
    Valued,
    best_structure,
    choose_leaders,
    is_far,
    leading_structures,
)
from adjoin.inference.engine import Engine
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.flips import Keys
from adjoin.inference.runner import Sampled
from adjoin.inference.stages import MOST_SAMPLES, Stage, plan_stages
from adjoin.results.collection import Collection
from adjoin.results.stage_words import (
    AGREEMENT,
    CLIMB,
    CLIMBING,
    INTERRUPT,
    MAX_SAMPLES,
    NEAR,
    TIME_LIMIT,
)
from adjoin.results.stopping import agreement

_STAGE_KEY = 2**32 - 2  # of seeds that no other chain has
_BEHIND = 10.0  # nats: structures farther behind the best are no place to begin
_MOST_KNOWN = 96  # structures whose differences may be flipped

Gathered = TypeVar("Gathered", bound=Collection)


@dataclass
class Found:
    """What the stages so far have found.

    ``best`` : the best structure of every chain, with its log posterior. ``leaders`` : structures
    whose differences the next stage may flip. ``notes`` : what is told of every stage.
    ``visited`` : all structures of the stage that is reported. ``has_news`` : whether the last
    stage has found what that one has not: something better, or as good and far from all of it.
    """

    best: dict[Keys, float] = field(default_factory=dict)
    leaders: list[Valued] = field(default_factory=list)
    notes: list[dict[str, Any]] = field(default_factory=list)
    visited: set[frozenset[int]] = field(default_factory=set)
    has_news: bool = False

    @property
    def height(self) -> float:
        """The log posterior of the best of all."""
        return max(self.best.values(), default=-np.inf)

    @property
    def starts(self) -> tuple[Keys, ...]:
        """The best of all chains, and those that are not far behind."""
        limit = self.height - _BEHIND
        return tuple(keys for keys, value in self.best.items() if value >= limit)

    def add(self, stage: Stage, engine: PredictionEngine, posterior: Collection) -> bool:
        """What one stage has found; whether its chains agree."""
        reached = agreement(posterior)
        best = [best_structure(engine, trace) for trace in posterior.traces]
        leading = [leading_structures(engine, trace) for trace in posterior.traces]
        self.has_news = self._is_news(best)
        self.best |= {keys: value for value, keys in best}
        if not stage.is_control:
            found = (map(frozenset, trace.structures) for trace in posterior.traces)
            self.visited = set(chain.from_iterable(found))
        self.leaders = choose_leaders([*self.leaders, *chain.from_iterable(leading)], _MOST_KNOWN)
        self.notes.append(
            {
                "samples": stage.samples,
                "is_joint": stage.is_joint,
                "is_control": stage.is_control,
                **stage.search.plain,
                **reached.plain,
                "log_posterior": [value for value, _ in best],
            }
        )
        return reached.is_reached

    def _is_news(self, best: list[Valued]) -> bool:
        """Whether any of these is better than all before, or as good and nowhere near."""
        height = self.height
        if max(value for value, _ in best) > height + NEAR:
            return True
        good = [frozenset(keys) for value, keys in best if value >= height - NEAR]
        return any(all(is_far(terms, one) for one in self.visited) for terms in good)


@dataclass
class StagedRun(Generic[Gathered]):
    """A run in stages under way; see `run_stages` for the parameters.

    ``posterior`` : of the last stage that counts; ``seconds`` : of all so far. ``_rate`` : seconds
    for a sample of a rung in the last.
    """

    engine: PredictionEngine
    seed: np.random.SeedSequence
    run: Callable[[Engine, int, np.random.SeedSequence, str], Sampled]
    gather: Callable[[Engine, Sampled, int], Gathered]
    found: Found = field(default_factory=Found)
    posterior: Gathered | None = None
    seconds: float = 0.0
    _rate: float = 0.0

    def go(self, max_samples: int | None, time_limit: float | None) -> str:
        """Draw stage after stage; what ended it."""
        is_agreed = False
        for number, stage in enumerate(plan_stages(max_samples or MOST_SAMPLES)):
            end = self.seconds + self._rate * stage.samples * stage.search.rungs
            if self.posterior is not None and time_limit is not None and end > time_limit:
                return TIME_LIMIT
            height = self.found.height
            is_complete, is_reached = self._draw(number, stage)
            risen = self.found.height - height
            if not is_complete:
                return INTERRUPT
            if stage.is_joint:
                is_agreed = is_reached
                if max_samples is None and risen > CLIMB:
                    return CLIMBING
            elif is_agreed and not self.found.has_news if stage.is_control else is_reached:
                return AGREEMENT
        return MAX_SAMPLES

    def _draw(self, number: int, stage: Stage) -> tuple[bool, bool]:
        """One stage; whether it came to its end, and whether its chains agree."""
        engine = replace(
            self.engine,
            search=stage.search,
            samples=stage.samples,
            starts=self.found.starts if stage.is_joint else (),
            known=tuple(keys for _, keys in self.found.leaders),
            listed=self.engine.listing,
        )
        engine.warm_up()
        seed = np.random.SeedSequence(self.seed.entropy, spawn_key=(_STAGE_KEY, number))
        try:
            sampled = self.run(engine, stage.samples, seed, f"stage {number + 1}, chain")
        except KeyboardInterrupt:  # before there was anything to show of this stage
            if self.posterior is None:
                raise
            return False, False
        self.seconds += sampled.seconds
        self._rate = sampled.seconds / (stage.samples * stage.search.rungs)
        if not sampled.is_complete and self.posterior is not None:
            return False, False
        posterior = self.gather(engine, sampled, stage.samples)
        if not stage.is_control:
            self.posterior = posterior
        return sampled.is_complete, self.found.add(stage, engine, posterior)


def run_stages(
    engine: PredictionEngine,
    seed: np.random.SeedSequence,
    run: Callable[[Engine, int, np.random.SeedSequence, str], Sampled],
    gather: Callable[[Engine, Sampled, int], Gathered],
    max_samples: int | None = None,
    time_limit: float | None = None,
) -> tuple[Gathered, float]:
    """The posterior of the last stage that counts, and the seconds of all.

    Parameters
    ----------
    engine : PredictionEngine
        Of the run; each stage has its own way to search.
    seed : SeedSequence
        Every stage has seeds of its own from it.
    run, gather : callable
        What runs the chains of an engine, and makes a posterior of them.
    max_samples : int, optional
        Most samples of a chain in all stages together. Default: `MOST_SAMPLES`, and no more after a
        joint stage whose chains still rose by more than `CLIMB` nats.
    time_limit : float, optional
        No stage is begun that would probably end later, in seconds from the first.
    """
    staged = StagedRun(engine, seed, run, gather)
    ended_by = staged.go(max_samples, time_limit)
    posterior = staged.posterior
    assert posterior is not None  # there always is a first stage
    if ended_by == INTERRUPT and posterior.settings.is_complete:
        warnings.warn("interrupted: the posterior is that of the stage before", stacklevel=3)
    changed = {"is_auto": True, "stages": tuple(staged.found.notes), "ended_by": ended_by}
    is_complete = ended_by != INTERRUPT
    return posterior.with_settings(**changed, is_complete=is_complete), staged.seconds
