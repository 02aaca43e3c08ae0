"""What the comparison says: the held-out free run first, then what makes it less sure.

Receives the ranking and the trial on one fold; gives `Findings`, whose verdict puts the held-out
error before everything else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjoin.discovery.folds import Fold
from adjoin.discovery.ranking import Candidate
from adjoin.levels import CAUTION, GOOD, POOR, worst
from adjoin.results.advice import Verdict
from adjoin.results.assessment import Assessment
from adjoin.text import counted

_PART_MISSED, _HALF_MISSED = 10.0, 50.0  # percent of the variance, as answers about free runs have
_FAR_APART = 0.1  # standard deviations between the equation's run and the average of the best
_MOST_NAMED = 3


@dataclass(frozen=True)
class Findings:
    """A verdict, and how far the equation's free run is from the average of the best.

    `apart` is in standard deviations of the output; None where there is nothing to average.
    """

    verdict: Verdict
    apart: float | None


def judge(
    ranked: Sequence[Candidate],
    chosen: Candidate | None,
    folds: Sequence[Fold],
    trial: Assessment[Any],
    apart: float | None,
) -> Findings:
    """Put the comparison before what the trial on one fold says."""
    beyond = list(_on_range(folds))
    if chosen is None:
        reasons = (
            "no candidate's held-out free run is surely better than the mean of the output: the"
            f" best of {len(ranked):,} misses {ranked[0].nmse:.3g} % of the variance",
            *beyond,
        )
        steps = (
            "check that inputs and output belong together and are not swapped (adjoin check)",
            "measure with a larger or richer input, or another input that drives the output",
        )
        return Findings(Verdict(POOR, "no model: nothing was found", reasons, (), steps), None)
    own, n_lost = trial.verdict, sum(one.n_lost > 0 for one in ranked)
    level = _level(chosen.nmse)
    said = [
        f"held-out free runs miss {chosen.nmse:.3g} ± {chosen.sd:.2g} % of the variance"
        f" ({counted(len(folds), 'fold')}), {_compared(ranked, chosen)}",
        *beyond,
    ]
    if n_lost:
        said.append(f"{n_lost:,} of {len(ranked):,} candidates ran away on held-out data")
    if apart is not None:
        said.append(
            f"its free run is {apart:.1%} of the output's standard deviation from the average of"
            " the best candidates"
        )
    levels = [level, CAUTION if beyond else GOOD]
    levels.append(CAUTION if apart is not None and apart > _FAR_APART else GOOD)
    summary = {
        GOOD: f"it simulates held-out data: {100.0 - chosen.nmse:.1f} % of the variance explained",
        CAUTION: f"it simulates held-out data in part: {100.0 - chosen.nmse:.0f} % of the variance"
        " explained",
        POOR: f"it does not simulate held-out data: {chosen.nmse:.0f} % of the variance missed",
    }[level]
    advice = (*_on_steps(chosen, beyond), *own.next)
    return Findings(
        Verdict(
            worst(levels), summary, (*said, *own.on_model), own.on_chains, advice[:3], own.settled
        ),
        apart,
    )


def _level(nmse: float) -> str:
    if nmse <= _PART_MISSED:
        return GOOD
    return CAUTION if nmse <= _HALF_MISSED else POOR


def _compared(ranked: Sequence[Candidate], chosen: Candidate) -> str:
    """How the chosen one stands among the others."""
    n_settings, best = len({one.setting for one in ranked}), ranked[0]
    tried = f"the best of {len(ranked):,} models in {n_settings} classes"
    if chosen is best:
        return tried
    return f"as good as {tried} ({best.nmse:.3g} % with {best.n_terms} terms), and simpler"


def _on_range(folds: Sequence[Fold]) -> list[str]:
    """Where what was held out goes beyond what was fitted."""
    farthest: dict[str, float] = {}
    for fold in folds:
        for name, times in fold.beyond.items():
            farthest[name] = max(times, farthest.get(name, 0.0))
    if not farthest:
        return []
    named = [f"{name} ({times:.1f} times)" for name, times in farthest.items()][:_MOST_NAMED]
    return [f"some held-out data go beyond the range that was fitted: {', '.join(named)}"]


def _on_steps(chosen: Candidate, beyond: Sequence[str]) -> list[str]:
    """What the comparison itself suggests."""
    steps = []
    if beyond:
        steps.append("measure records that each cover the whole range of the signals")
    if chosen.nmse > _HALF_MISSED or not math.isfinite(chosen.nmse):
        steps.append("look at the data first: adjoin check")
    return steps
