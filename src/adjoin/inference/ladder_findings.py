"""What a tolerance ladder did, in numbers and in words.

Receives the `LadderTrace` of each free-run chain; gives the part of `Posterior.diagnostics` that is
about it, and findings for the verdict.
"""

from __future__ import annotations

import math
from typing import Any

from adjoin.inference.traces import LadderTrace
from adjoin.levels import CAUTION, GOOD, POOR, Finding

_APART, _FAR_APART = 1.1, 2.0  # coldest tolerances of two chains, one as a multiple of the other
_STUCK = 0.001  # of its proposals: a coldest rung that accepts fewer hardly moves
_RARE = 0.01  # of its chances: neighbours that exchange less often hardly help each other

_MASSES = (
    "masses are shares of what is within the tolerance, and surer than a likelihood's: on 240"
    " systems drawn from the prior the leading ones claimed 56 %, and 45 % were right"
)
"""By ``benchmarks/abc_calibration.py``, where objective='simulation' claims 52 % and has 47 %."""

_WIDER = "raise the tolerance, ladder={'tolerance': …}"


def describe_ladder(ladder: LadderTrace) -> dict[str, Any]:
    """Tolerances, acceptance and exchanges by rung, coldest first, since the ladder was frozen.

    `smallest_swap_rate` is that of the colder half: the hottest rungs have little to hand down.
    `stages` has the coldest tolerance and the smallest distance met, after calibration and after
    every stage of annealing.
    """
    rates = _shares(ladder.swap[:-1, 1], ladder.swap[:-1, 0])
    colder = rates[: (len(rates) + 1) // 2]
    proposed, accepted = ladder.move[:, :, 0].sum(axis=1), ladder.move[:, :, 2].sum(axis=1)
    return {
        "tolerance": [_number(value) for value in ladder.tolerance[-1]],
        "acceptance": _shares(accepted, proposed),
        "guided_acceptance": _shares(ladder.guided[:, 1], ladder.guided[:, 0]),
        "swap_rate": rates,
        "smallest_swap_rate": min((rate for rate in colder if rate is not None), default=None),
        "width": [float(value) for value in ladder.width],
        "stages": [
            {"tolerance": _number(row[0]), "smallest_distance": _number(floor)}
            for row, floor in zip(ladder.tolerance, ladder.floor, strict=True)
        ],
        "reason": ladder.reason,
    }


def _number(value: float) -> float | None:
    """A number as JSON has it; None if it is infinite."""
    return float(value) if abs(value) < float("inf") else None


def _shares(part: Any, whole: Any) -> list[float | None]:
    return [float(p / w) if w else None for p, w in zip(part, whole, strict=True)]


def on_ladder(ladders: list[dict[str, Any]]) -> list[Finding]:
    """What the ladders of all chains mean for the result."""
    if not ladders:
        return []
    coldest = [ladder["tolerance"][0] for ladder in ladders]
    if None in coldest:
        return [(CAUTION, "the tolerance is infinite: this is the prior, not an answer", "")]
    findings = [_on_tolerances(ladders, coldest), (GOOD, _MASSES, "")]
    stuck = [x["chain"] for x in ladders if (x["acceptance"][0] or 0.0) < _STUCK]
    if stuck:
        findings.append(
            (
                CAUTION,
                f"the coldest rung of {_chains(stuck)} accepted less than one proposal of"
                f" {round(1 / _STUCK):,}: it hardly moved",
                f"draw more samples; or {_WIDER}",
            )
        )
    rates = {x["chain"]: x["smallest_swap_rate"] for x in ladders}
    apart = [chain for chain, rate in rates.items() if rate is not None and rate < _RARE]
    if apart:
        findings.append(
            (
                CAUTION,
                f"neighbouring rungs of {_chains(apart)} hardly exchanged: the ladder does not mix",
                "use more rungs, ladder={'rungs': …}",
            )
        )
    return findings


def _on_tolerances(ladders: list[dict[str, Any]], coldest: list[float]) -> Finding:
    """Whether the chains sample the same law: each has found its own tolerance."""
    low, high = min(coldest), max(coldest)
    if high <= _APART * low:
        span = f"{low:.4g}" if f"{low:.4g}" == f"{high:.4g}" else f"{low:.4g} to {high:.4g}"
        return GOOD, f"annealing ended at a tolerance of {span}: {ladders[0]['reason']}", ""
    level = POOR if high > _FAR_APART * low else CAUTION
    reason = (
        f"the chains ended at tolerances from {low:.4g} to {high:.4g}: they sample different"
        f" posteriors, the widest the vaguest ({ladders[coldest.index(high)]['reason']})"
    )
    # Rounded up: no chain could meet a tolerance below what the best one reached.
    step = 10.0 ** (math.floor(math.log10(low)) - 2)
    asked = math.ceil(1.001 * low / step) * step
    advice = f"draw more samples; or give all the same, ladder={{'tolerance': {asked:.3g}}}"
    return level, reason, advice


def _chains(numbers: list[int]) -> str:
    return f"chain{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}"
