"""What to do next: situations, most urgent first, and for each the step that mends it.

Receives what was `Seen` of a run and its `Origin`; gives at most three `Step`, each with a command
that can be run as it stands. A step stands here only if it was followed and helped: the held-out
error of runs that begin badly, before and after, is measured by ``benchmarks/advice.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from adjoin.results.command import CHECK, DISCOVER, FIT, Origin
from adjoin.results.seen import Seen

MOST = 3
_GOOD = 10.0  # percent of the variance that a good simulation misses
_TIMES = 4.0  # a simulation that misses so many times what a prediction does: that is what to mend
_WELL, _HALF = 1.0, 50.0  # percent: so little is well, and so much is not
_MANY_LOST = 0.05  # of the draws
_DEGREE = 3  # what is tried where linear terms are not enough
_FEW_LAGS = 2
_SHARE = 0.3  # held out
_MOST_EFFORT = "thorough"  # of discover


@dataclass(frozen=True)
class Step:
    """What to do and why, and the command that does it.

    Parameters
    ----------
    words : str
    changes : mapping
        Arguments that differ from those of the present run, by name; None takes one away.
    command : str
        ``fit``, which is the present command once more, ``discover``, ``check``; empty where
        nothing can be run.
    """

    words: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    command: str = FIT

    def spell(self, origin: Origin) -> str:
        """In words, and as a command or a call."""
        command = origin.command if self.command == FIT else self.command
        line = origin.spell(command, self.changes) if command else ""
        return f"{self.words}: {line}" if line else self.words


@dataclass(frozen=True)
class Situation:
    """When it is met, and the step it asks for."""

    name: str
    is_met: Callable[[Seen], bool]
    step: Callable[[Seen], Step]


def falls_short(seen: Seen) -> bool:
    """Whether the simulation is to be mended.

    It misses a part, or runs away, or misses much more than predictions one step ahead do.
    """
    is_lost = seen.missed is None and not seen.is_still
    return is_lost or seen.lost > _MANY_LOST or (seen.missed or 0.0) > _GOOD or _is_apart(seen)


def _is_apart(seen: Seen) -> bool:
    """Whether predictions are much better than the simulation, where that matters."""
    if seen.missed is None or seen.one_step is None:
        return seen.one_step is not None and not seen.is_still
    return seen.missed > max(_TIMES * seen.one_step, _WELL)


def _predicts_only(seen: Seen) -> bool:
    """Whether models were judged by predictions, and are good at nothing else."""
    is_worse = _is_apart(seen) or seen.lost > 0.0
    return seen.is_one_step and (seen.one_step or 100.0) < _HALF and is_worse


def _of_copies(seen: Seen) -> Step:
    names = ", ".join(f"'{name}'" for name in seen.copies)
    rest = [name for name in seen.inputs if name not in seen.copies]
    if not rest:
        return Step(f"check the columns: {names} is the output itself", {}, CHECK)
    return Step(f"leave {names} out, which repeats another signal", {"inputs": ",".join(rest)})


def _of_swapped(seen: Seen) -> Step:
    changes = {"inputs": seen.output, "output": seen.inputs[0]}
    return Step(f"swap the columns: {seen.inputs[0]} follows {seen.output}", changes)


def _of_short(seen: Seen) -> Step:
    if seen.max_lag <= _FEW_LAGS:
        return Step("measure longer records: there are too few samples to tell", {}, "")
    words = "look less far back, or measure longer records: there are too few samples"
    return Step(words, {"max_lag": _FEW_LAGS})


def _of_offset(seen: Seen) -> Step:
    words = f"allow a constant: the mean of {seen.offset} is far from zero"
    return Step(words, {"constant": None, "prior": None})


def _of_far(seen: Seen) -> Step:
    if seen.left is not None and seen.left.lag > seen.max_lag:
        why = f"what is left follows {seen.left.signal} about {seen.left.lag} samples later"
    else:
        why = f"{seen.output} begins to follow an input later than {seen.max_lag} samples"
    return Step(f"look further back: {why}", {"max_lag": seen.far})


def _of_noise(seen: Seen) -> Step:
    words = "check the columns, or measure another input: nothing at hand predicts"
    return Step(f"{words} {seen.output}", {}, CHECK)


def _of_simulation(seen: Seen) -> Step:
    words = "judge models by their simulation: predictions one step ahead are much better"
    return Step(words, {"objective": "simulation"})


def _of_degree(seen: Seen) -> Step:
    degree = max(_DEGREE, seen.max_degree + 1)
    what = "the system is not linear, it seems"
    if seen.left is not None:
        what = f"what is left follows {seen.left.words}"
    return Step(f"allow products of signals: {what}", {"max_degree": degree})


def _of_unsettled(seen: Seen) -> Step:
    if seen.effort == _MOST_EFFORT:
        words = "rely on its simulation and not on single terms: the chains differ in the equation"
        return Step(f"{words} even so; longer records tell more terms apart", {}, "")
    words = "let the chains run longer, which takes much longer: they have not converged"
    return Step(words, {"effort": _MOST_EFFORT}, DISCOVER)


SITUATIONS: tuple[Situation, ...] = (
    Situation("copies", lambda seen: bool(seen.copies), _of_copies),
    Situation("swapped", lambda seen: seen.is_swapped, _of_swapped),
    Situation("short", lambda seen: seen.is_short, _of_short),
    Situation("noise", lambda seen: seen.is_noise, _of_noise),
    Situation(
        "offset",
        lambda seen: falls_short(seen) and not seen.has_constant and bool(seen.offset),
        _of_offset,
    ),
    Situation("far", lambda seen: seen.far > 0, _of_far),
    Situation(
        "missed",
        lambda seen: seen.is_missed,
        lambda seen: Step(
            f"let the search go on until the chains agree: {seen.output} can be predicted",
            {"samples": "auto", "search": None, "rungs": None},
        ),
    ),
    Situation(
        "bends",
        lambda seen: falls_short(seen) and bool(seen.bent) and not seen.functions,
        lambda seen: Step(
            "allow shapes that bend, as dead zones and saturation do: what is left follows"
            f" {seen.bent} only beyond some value",
            {"functions": "hinge"},
        ),
    ),
    Situation("linear", lambda seen: falls_short(seen) and seen.max_degree == 1, _of_degree),
    Situation(
        "oversampled",
        lambda seen: falls_short(seen) and seen.decimate > 1,
        lambda seen: Step(
            "keep fewer samples: neighbouring ones hardly differ", {"decimate": seen.decimate}
        ),
    ),
    Situation("simulation", _predicts_only, _of_simulation),
    Situation(
        "left",
        lambda seen: seen.left is not None and seen.left.power > 1 and seen.max_degree < _DEGREE,
        _of_degree,
    ),
    Situation(
        "coloured",
        lambda seen: seen.is_white and seen.is_coloured,
        lambda seen: Step(
            "let the noise have a memory: only its own past explains it", {"noise": "ar"}
        ),
    ),
    Situation(
        "bad",
        lambda seen: falls_short(seen) and not seen.is_discovered,
        lambda seen: Step("compare many models on held-out data", {}, DISCOVER),
    ),
    Situation(
        "untried",
        lambda seen: not seen.is_tried and not seen.is_discovered,
        lambda seen: Step("hold data out to try it on", {"validation": _SHARE}),
    ),
    Situation(
        "beyond",
        lambda seen: bool(seen.beyond),
        lambda seen: Step(
            f"measure with inputs as far as it is to be run on ({'; '.join(seen.beyond)})", {}, ""
        ),
    ),
    Situation(
        "chains",
        lambda seen: seen.chains_differ and not seen.is_discovered,
        lambda seen: Step("compare models, for chains differ in the equation", {}, DISCOVER),
    ),
    Situation(
        "unsettled",
        lambda seen: seen.chains_differ and seen.is_discovered and seen.is_sampled,
        _of_unsettled,
    ),
    Situation(
        "switched",
        lambda seen: bool(seen.switched) and seen.max_degree > 1,
        lambda seen: Step(
            f"measure with more levels of {', '.join(seen.switched)}, if the model is to be run"
            " between or beyond the two: how the system bends there was not seen",
            {},
            "",
        ),
    ),
)
"""The most urgent first."""


def next_steps(seen: Seen, origin: Origin) -> tuple[str, ...]:
    """The first steps for what was seen, in words and as commands; no command twice."""
    found: dict[str, str] = {}
    for step in _steps(seen, origin):
        found.setdefault(origin.spell(step.command, step.changes) or step.words, step.spell(origin))
    return tuple(found.values())[:MOST]


def _steps(seen: Seen, origin: Origin) -> Iterator[Step]:
    for situation in SITUATIONS:
        if situation.is_met(seen):
            step = situation.step(seen)
            if step.command != FIT or origin.allows(step.changes):
                yield step
