"""Where the chains of the simulation engine began, and whether that still shows, in words.

Receives the trace of each chain; gives the plain values and findings of diagnostics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoin.inference.traces import ChainTrace
from adjoin.levels import CAUTION, GOOD, Finding

FREE_RUNS, ONE_STEP, EMPTY = "free-run selection", "one-step selection", "nothing"
STARTS = (FREE_RUNS, ONE_STEP, EMPTY)
"""Where chains begin, one after the other: whether they meet says more than that they agree."""

_LOST = 30.0
"""Nats that a chain may be behind before it counts for nothing: a share of 1e-13."""
_APART = 3.0
"""Nats of the log posterior, beyond what the draws of a chain scatter by."""


def start_name(number: int, names: Sequence[str] = STARTS) -> str:
    """Where the chain of that number begins."""
    return names[number % len(names)]


def describe_start(number: int, trace: ChainTrace, names: Sequence[str] = STARTS) -> dict[str, Any]:
    """Where a chain began, and the log likelihood and prior of its second half: mean and spread."""
    power = float(trace.search.power[0]) if trace.search is not None else 1.0
    value = (power * trace.log_lik + trace.log_prior)[len(trace.log_lik) // 2 :]
    return {
        "start": start_name(number, names),
        "log_posterior": float(np.mean(value)) if len(value) else None,
        "spread": float(np.std(value)) if len(value) else None,
    }


def find_stragglers(
    traces: Mapping[int, ChainTrace], names: Sequence[str] = STARTS
) -> dict[int, str]:
    """Chains that are hopelessly behind the best, by number, and what to say of them.

    A mode so far down has no mass; but a chain that cannot leave it would have as much of a say in
    masses and averages as the others.
    """
    known = {n: describe_start(n, t, names) for n, t in traces.items() if len(t.log_lik)}
    if not known:
        return {}
    best = max(known.values(), key=lambda chain: chain["log_posterior"])
    found = {}
    for number, chain in known.items():
        behind = best["log_posterior"] - chain["log_posterior"]
        if behind > _LOST + 3.0 * (best["spread"] + chain["spread"]):
            found[number] = (
                f"it began with {chain['start']}, and is still {behind:,.0f} nats behind the best:"
                " the starts have not met"
            )
    return found


def on_starts(chains: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """Whether chains that began elsewhere ended in the same place."""
    known = [chain for chain in chains if chain["log_posterior"] is not None]
    if len({chain["start"] for chain in known}) < 2:
        return []
    best = max(known, key=lambda chain: chain["log_posterior"])
    worst = min(known, key=lambda chain: chain["log_posterior"])
    apart = best["log_posterior"] - worst["log_posterior"]
    if apart <= _APART + best["spread"] + worst["spread"] or best["start"] == worst["start"]:
        return [(GOOD, "chains that began in different places have met", "")]
    return [
        (
            CAUTION,
            f"the chain that began with {worst['start']} is {apart:.0f} nats behind the one that"
            f" began with {best['start']}: the starts have not met",
            "draw more samples",
        )
    ]
