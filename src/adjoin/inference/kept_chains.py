"""Which chains of a run have something to show, and what is to be said of the others.

Receives what the runner has sampled; gives the `Identifier` the traces of a posterior.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.errors import AdjoinError
from adjoin.inference.engine import Engine
from adjoin.inference.runner import Sampled
from adjoin.inference.traces import ChainTrace


class Kept(NamedTuple):
    """The traces by chain number, which chains are left out and why, and all there is to say."""

    traces: dict[int, ChainTrace]
    left_out: tuple[str, ...]
    notes: tuple[str, ...]


def keep_chains(sampled: Sampled, engine: type[Engine], n_chains: int, n_samples: int) -> Kept:
    """The chains of which a posterior is made.

    Raises
    ------
    AdjoinError
        If none of those that ran to their end has recorded anything.
    """
    kept = {i: trace for i, trace in sampled.traces.items() if len(trace.structure)}
    if not sampled.is_complete:
        done = min(trace.n_samples for trace in kept.values())
        note = (
            f"interrupted: the posterior is what there was, {len(kept)} of {n_chains} chains"
            f" and {done} of {n_samples} samples of the shortest"
        )
        return Kept(kept, (), (note,))
    excuses = {i: engine.excuse(trace) for i, trace in sampled.traces.items() if i not in kept}
    if not kept:
        raise AdjoinError(min(excuses.values(), key=len))
    excuses |= engine.stragglers(kept)
    said = tuple(f"chain {number} is left out: {why}" for number, why in excuses.items())
    return Kept({n: trace for n, trace in kept.items() if n not in excuses}, said, said)
