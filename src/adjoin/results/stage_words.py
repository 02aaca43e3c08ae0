"""How a run in stages went, and why it ended, in words.

Receives the settings of a run, which have a note of its stages.
"""

from __future__ import annotations

from adjoin.inference.settings import RunSettings
from adjoin.levels import CAUTION, GOOD, Finding
from adjoin.text import counted

AGREEMENT, MAX_SAMPLES, TIME_LIMIT, INTERRUPT = (
    "agreement",
    "max_samples",
    "time_limit",
    "interrupt",
)
"""What ends a run."""
NEAR = 3.0
"""Nats: log posteriors this close are equal."""
_OFTEN = 2
"""Chains that find the best on their own, for it not to be luck."""

_ENDS = {
    AGREEMENT: "the chains of the last agree",
    MAX_SAMPLES: "the next would exceed max_samples, and the chains do not agree yet",
    TIME_LIMIT: "the next would probably exceed the time limit, and the chains do not agree yet;"
    " without a limit, or on another machine, there may be more",
    INTERRUPT: "it was interrupted",
}


def found_alone(settings: RunSettings) -> tuple[int, int] | None:
    """How many chains of the last stage that began anywhere found what the last stage found.

    Also how many chains it had. The best structure of a chain is as good if its log posterior is at
    most `NEAR` nats below. None where no stage began with what others had found.
    """
    if not settings.stages or not settings.stages[-1]["is_joint"]:
        return None
    best = max(settings.stages[-1]["log_posterior"])
    alone = [stage for stage in settings.stages if not stage["is_joint"]][-1]["log_posterior"]
    return sum(value >= best - NEAR for value in alone), len(alone)


def in_words(settings: RunSettings) -> str:
    """How a run in stages went and why it ended; nothing of one that was not."""
    if not settings.is_auto:
        return ""
    last, end = settings.stages[-1], _ENDS[settings.ended_by]
    if settings.chains == 1 and settings.ended_by == AGREEMENT:
        end = "the halves of the chain agree, and there is no other to compare it with"
    search = f"{last['candidates']} candidates"
    if last["rungs"] > 1:
        search += f" and {last['rungs']} powers of the likelihood"
    words = (
        f"{counted(len(settings.stages), 'stage')}, the last with {last['samples']:,} samples a"
        f" chain, {search}; {end}"
    )
    if (found := found_alone(settings)) is not None:
        words += (
            f"; it began with what the chains before had found, and {found[0]} of {found[1]} of"
            " these had come to the best of it on their own"
        )
    return words


def on_stages(settings: RunSettings) -> list[Finding]:
    """What the stages mean for the result."""
    found = found_alone(settings)
    if found is None:
        return []
    reason = (
        f"{found[0]} of {found[1]} chains had come to the best structure on their own before all of"
        " them began with it"
    )
    if found[0] >= _OFTEN:
        return [(GOOD, reason, "")]
    return [(CAUTION, f"{reason}: there may be better ones that none has found", "")]
