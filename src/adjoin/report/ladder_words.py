"""A tolerance ladder for people: what the page, its pictures and the terminal say of it alike.

Receives a free-run posterior; gives texts, and rows of a table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from adjoin.errors import AdjoinError
from adjoin.inference.objective import Tempered
from adjoin.results.collection import Collection
from adjoin.text import counted, percent


def ladders_of(posterior: Collection) -> list[dict[str, Any]]:
    """What the ladder of every chain did, as `Posterior.diagnostics` has it."""
    if posterior.objective.ladder is not Tempered.TOLERANCE:
        raise AdjoinError("only a run with objective='abc' has a tolerance ladder")
    traces = dict(zip(posterior.chain_numbers, posterior.traces, strict=True))
    ladders: list[dict[str, Any]] = posterior.run.engine.diagnostics(traces)["ladder"]
    return ladders


def distance_unit(posterior: Collection) -> str:
    """What distances and tolerances are measured in; nothing if the distance is the user's own."""
    return "% of variance" if posterior.objective.is_squared else ""


def ladder_rows(ladders: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row per chain, None where there is nothing to tell.

    `chain`, `tolerance` (the coldest), `distance` (the smallest met until the ladder was frozen),
    `accepted` and `guided` (shares of the proposals on the coldest rung), `exchanged` (the smallest
    rate in the colder half: the hottest rungs have little to hand down), `reason`.
    """
    rows = []
    for ladder in ladders:
        rows.append(
            {
                "chain": ladder["chain"],
                "tolerance": ladder["tolerance"][0],
                "distance": ladder["stages"][-1]["smallest_distance"],
                "accepted": ladder["acceptance"][0],
                "guided": ladder["guided_acceptance"][0],
                "exchanged": ladder["smallest_swap_rate"],
                "reason": ladder["reason"],
            }
        )
    return rows


def ladder_reasons(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Where annealing ended and why: one text for all chains, or one for each if they differ."""
    texts = list(dict.fromkeys(row["reason"] for row in rows))
    if len(texts) == 1:
        return texts
    return [f"chain {row['chain']}: {row['reason']}" for row in rows]


def ladder_line(ladders: Sequence[dict[str, Any]], unit: str) -> str:
    """The ladders of all chains in one line, with the unit of their tolerances."""
    rows, n_rungs = ladder_rows(ladders), len(ladders[0]["tolerance"])
    parts = [
        f"tolerance {span([row['tolerance'] for row in rows], unknown='∞')} ({unit})",
        counted(n_rungs, "rung"),
        f"the coldest accepted {span([row['accepted'] for row in rows], percent)}",
    ]
    if n_rungs > 1:
        fewest = span([row["exchanged"] for row in rows], percent)
        parts.append(f"fewest exchanges in the colder half {fewest}")
    return ", ".join(parts)


def short(value: float) -> str:
    """A tolerance in three digits."""
    return f"{value:.3g}"


def span(
    values: Sequence[float | None], write: Callable[[float], str] = short, unknown: str = "–"
) -> str:
    """The smallest and the largest that are known, or one text where they read alike."""
    known = [value for value in values if value is not None]
    if not known:
        return unknown
    low, high = write(min(known)), write(max(known))
    return low if low == high else f"{low} to {high}"
