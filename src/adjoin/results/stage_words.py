"""How a run in stages went, and why it ended, in words.

Receives the settings of a run, which have a note of its stages.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from adjoin.inference.settings import RunSettings
from adjoin.levels import CAUTION, GOOD, Finding
from adjoin.text import counted

AGREEMENT, MAX_SAMPLES, CLIMBING, TIME_LIMIT, INTERRUPT = (
    "agreement",
    "max_samples",
    "climbing",
    "time_limit",
    "interrupt",
)
"""What ends a run."""
NEAR = 3.0
"""Nats: log posteriors this close are equal."""
CLIMB = 50.0
"""Nats: chains that begin with the best structures and rise farther are far from the end."""
_OFTEN = 2
"""Chains that find the best on their own, for it not to be luck."""

_ENDS = {
    AGREEMENT: "its chains agree",
    MAX_SAMPLES: "one more would exceed max_samples, and the chains do not agree yet",
    CLIMBING: "its chains still rise so steeply that no more of a run this long would make them"
    " agree; more is drawn with max_samples",
    TIME_LIMIT: "one more would probably exceed the time limit, and the chains do not agree yet;"
    " without a limit, or on another machine, there may be more",
    INTERRUPT: "it was interrupted",
}

_STEEP = (
    f"the best structure was still overtaken by more than {CLIMB:g} nats when the run ended: on"
    " this record almost any further term pays"
)
_LESS_STEEP = (
    "expect less of the record (likelihood_power='auto' where residuals are correlated), make the"
    " choice smaller (max_lag, max_degree), or say how far to go (max_samples)"
)


def reported_stage(settings: RunSettings) -> Mapping[str, Any]:
    """The stage whose draws are the posterior: the last that is no control."""
    return [stage for stage in settings.stages if not stage.get("is_control", False)][-1]


def found_alone(settings: RunSettings) -> tuple[int, int] | None:
    """How many chains of the last stage that began anywhere found what the reported one found.

    Also how many chains it had. The best structure of a chain is as good if its log posterior is at
    most `NEAR` nats below. None where the reported stage began anywhere itself.
    """
    if not settings.stages or not reported_stage(settings)["is_joint"]:
        return None
    best = max(reported_stage(settings)["log_posterior"])
    alone = [stage for stage in settings.stages if not stage["is_joint"]][-1]["log_posterior"]
    return sum(value >= best - NEAR for value in alone), len(alone)


def in_words(settings: RunSettings) -> str:
    """How a run in stages went and why it ended; nothing of one that was not."""
    if not settings.is_auto:
        return ""
    last, end = reported_stage(settings), _ENDS[settings.ended_by]
    if settings.chains == 1 and settings.ended_by == AGREEMENT:
        end = "the halves of the chain agree, and there is no other to compare it with"
    search = f"{last['candidates']} candidates"
    if last["rungs"] > 1:
        search += f" and {last['rungs']} powers of the likelihood"
    words = (
        f"{counted(len(settings.stages), 'stage')}, the one reported with {last['samples']:,}"
        f" samples a chain, {search}; {end}"
    )
    if (found := found_alone(settings)) is not None:
        words += (
            f"; it began with what the chains before had found, and {found[0]} of {found[1]} chains"
            " that began anywhere came to the best of it on their own"
        )
    return words


def on_stages(settings: RunSettings) -> list[Finding]:
    """What the stages mean for the result."""
    findings: list[Finding] = []
    if settings.ended_by == CLIMBING:
        findings.append((CAUTION, _STEEP, _LESS_STEEP))
    found = found_alone(settings)
    if found is None:
        return findings
    reason = (
        f"{found[0]} of {found[1]} chains that began anywhere came to the best structure, with"
        " which the others had begun"
    )
    if found[0] >= _OFTEN:
        return [*findings, (GOOD, reason, "")]
    return [*findings, (CAUTION, f"{reason}: there may be better ones that none has found", "")]
