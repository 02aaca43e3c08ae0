"""Chains that are drawn in pieces elsewhere: what they need to go on, and what they have recorded.

A packed chain has both. What it needs is of one size, and goes to and fro with every piece; what it
has recorded grows, and each draw of it travels once. Receives packed chains from ``runner``, and
gives it back a chain that has drawn all of its pieces.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from adjoin.inference.engine import Chain, Engine, Packed
from adjoin.inference.engines.workspace import pack_trace, unpack_trace
from adjoin.inference.traces import ChainTrace, join, without_draws


class Drawn(NamedTuple):
    """What comes back from a piece: the chain with the draws of the piece alone, and its state.

    ``cpu_s`` : CPU seconds that it took there.
    """

    packed: Packed
    n_samples: int
    n_terms: int
    acceptance: float
    cpu_s: float


def draw_piece(
    engine: Engine,
    seed: np.random.SeedSequence,
    packed: Packed | None,
    go_on: Callable[[Chain], None],
) -> Drawn:
    """Draw one piece, as long as `go_on` does, from where the chain is."""
    begin = time.thread_time()
    chain = engine.start(seed) if packed is None else engine.resume(packed)
    go_on(chain)
    return Drawn(
        chain.pack(),
        chain.n_samples,
        chain.n_terms,
        chain.acceptance,
        time.thread_time() - begin,
    )


@dataclass
class PiecewiseChain:
    """A chain by its pieces, as far as they are there; it is saved and finished as any other.

    Parameters
    ----------
    engine : Engine
    seed : SeedSequence
    whole : mapping, optional
        The packed chain that it begins with, its trace included.
    """

    engine: Engine
    seed: np.random.SeedSequence
    whole: Packed | None = None
    state: Packed | None = None
    """What the next piece begins with: without draws."""
    n_samples: int = 0
    n_terms: int = 0
    acceptance: float = 0.0
    _traces: list[ChainTrace] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.whole is None:
            return
        chain = self._here()
        self.n_samples, self.n_terms = chain.n_samples, chain.n_terms
        self.acceptance = chain.acceptance
        self._take(self.whole)

    def add(self, piece: Drawn) -> None:
        """Take over what one more piece has drawn."""
        self._take(piece.packed)
        _, self.n_samples, self.n_terms, self.acceptance, _ = piece

    def _take(self, packed: Packed) -> None:
        trace = unpack_trace(packed)
        self._traces.append(trace)
        self.state = {**packed, **pack_trace(without_draws(trace))}

    def pack(self) -> Packed:
        """All that is needed to continue, and the trace so far."""
        return self._here().pack() if self.state is None else {**self.state, **self._trace()}

    def finish(self) -> ChainTrace:
        """What was recorded since the chain began."""
        return self._here().finish() if self.state is None else unpack_trace(self._trace())

    def _here(self) -> Chain:
        """The chain as it begins, in this process."""
        if self.whole is None:
            return self.engine.start(self.seed)
        return self.engine.resume(self.whole)

    def _trace(self) -> Mapping[str, np.ndarray]:
        """The pieces joined, two and two: each draw is copied as often as they can be halved."""
        while len(self._traces) > 1:
            pairs = zip(self._traces[::2], self._traces[1::2], strict=False)
            last = self._traces[-1:] if len(self._traces) % 2 else []
            self._traces = [*(join(*pair) for pair in pairs), *last]
        return pack_trace(self._traces[0])
