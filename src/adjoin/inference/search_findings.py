"""What informed moves and rungs of powers did, in numbers and in words.

Receives the `SearchTrace` of each chain; gives the plain values and findings of diagnostics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adjoin.inference.traces import SearchTrace
from adjoin.kernels.state import ACCEPTED, BIRTH, DEATH, EXCHANGE, FLIP, PROPOSED, SWEEP
from adjoin.levels import CAUTION, GOOD, Finding
from adjoin.text import counted

_STUCK = 0.05  # of exchanges made: below, hardly a state gets past that pair of rungs
_FEW_TRIPS = 1
_MOVES = {"exchange": EXCHANGE, "birth": BIRTH, "death": DEATH, "sweep": SWEEP, "flip": FLIP}


def describe_search(search: SearchTrace) -> dict[str, Any]:
    """One chain's search as plain values; shares are None where nothing was tried."""
    tried, made = search.swap[:-1, 0], search.swap[:-1, 1]
    return {
        "candidates": len(search.key),
        "acceptance": {
            name: _share(search.counter[row, ACCEPTED], search.counter[row, PROPOSED])
            for name, row in _MOVES.items()
        },
        "power": search.power.tolist(),
        "exchanged": [_share(m, t) for m, t in zip(made, tried, strict=True)],
        "round_trips": int(search.n_trips[0]),
    }


def _share(made: np.integer[Any] | int, tried: np.integer[Any] | int) -> float | None:
    return float(made / tried) if tried else None


def on_search(chains: Sequence[Mapping[str, Any]]) -> list[Finding]:
    """What the rungs of all chains mean for the result."""
    tempered = [chain for chain in chains if len(chain["power"]) > 1]
    if not tempered:
        return []
    rates = [rate for chain in tempered for rate in chain["exchanged"] if rate is not None]
    trips = sorted(chain["round_trips"] for chain in tempered)
    span = f"{trips[0]}" if trips[0] == trips[-1] else f"{trips[0]} to {trips[-1]}"
    reason = (
        f"{counted(len(tempered[0]['power']), 'power')} of the likelihood exchanged their states;"
        f" {span} round trips a chain"
    )
    if rates and min(rates) < _STUCK:
        reason += f", and between two of them {min(rates):.0%} of the exchanges were made"
    level = GOOD if trips[0] >= _FEW_TRIPS else CAUTION
    return [(level, reason, "" if level == GOOD else "draw more samples")]
