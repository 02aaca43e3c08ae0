"""What one chain leaves behind, kept small: structure numbers and ragged coefficients.

Receives the kernels' `Trace` buffers; hands the posterior arrays. A trace can be taken apart into
plain arrays, put together again, and joined with the piece that follows it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.grammar.encoding import Encoding
from adjoin.growing import Growing, Room
from adjoin.kernels.state import N_MOVES, Cursor, Trace

IN_MEMORY = 2**28
"""Bytes that a chain's records may take in memory where nobody says how many."""
_DRAWS, _VALUES = 4096, 65_536  # per buffer: a few hundred kilobytes
_SCALARS = ("noise", "coefficient", "log_lik", "log_prior")  # one of each a draw
_OWN = 2  # numbers a draw that one engine alone has
_MOST_SEEN = 50_000  # orders of terms remembered; a long chain of large structures meets millions


class LadderTrace(NamedTuple):
    """How the tolerance ladder of a free-run chain came about, and how it did once it was frozen.

    ``distance`` : (n_draws,) of each recorded state, in the unit of the tolerances.
    ``tolerance`` : (n_stages, n_rungs) the ladder after calibration and after every stage of
    annealing; the last row is the frozen one. ``floor`` : (n_stages,) smallest distance met so far.
    ``width`` : (n_rungs,) of the random walk. ``move`` : (n_rungs, 9, 3), ``guided`` : (n_rungs, 2)
    and ``swap`` : (n_rungs, 2) as in `kernels.ladders.Counters`, counted since it was frozen.
    ``saved`` : (8,) what became of all proposals, see there.
    ``reason`` : why annealing ended where it did.
    """

    distance: Float1D
    tolerance: Float2D
    floor: Float1D
    width: Float1D
    move: Int2D
    guided: Int2D
    swap: Int2D
    saved: Int1D
    reason: str


class SearchTrace(NamedTuple):
    """What informed moves and rungs of powers did since pool and rungs were frozen.

    ``key`` : (n_candidates,) the pool; ``inclusion`` : (n_candidates,) the probability of each
    being in, given all else, on average over the chain. Both are empty where nothing is frozen yet.
    ``counter`` : (5, 3) exchanges, births, deaths, sweeps and flips proposed, possible, accepted.
    ``power`` : (n_rungs,) powers of the likelihood; ``swap`` : (n_rungs, 2) exchanges with the next
    rung, tried and made; ``n_trips`` : (1,) states that came back from the hottest rung.
    """

    key: Int1D
    inclusion: Float1D
    counter: Int2D
    power: Float1D
    swap: Int2D
    n_trips: Int1D


class ChainTrace(NamedTuple):
    """All recorded draws of one chain, one row each; structures are numbered by first appearance.

    ``structures`` : keys of the terms of each structure, in canonical order.
    ``structure`` : (n_draws,) number of the structure.
    ``theta`` : coefficients of all draws end to end, in canonical order of the terms.
    ``offset`` : (n_draws + 1,) the coefficients of draw i are theta[offset[i] : offset[i + 1]].
    ``noise``, ``coefficient`` : (n_draws,) variances σ² and σ_θ².
    ``log_lik``, ``log_prior`` : (n_draws,) of the draw, and of its structure.
    ``move`` : (9, 3) moves proposed, possible, accepted; ``trouble`` : (3,) see `Trace`.
    ``n_samples`` : how many samples were drawn.
    ``ladder`` : of a free-run chain; its draws begin when the ladder is frozen.
    ``search`` : of a chain with informed moves or with rungs of powers.
    ``rho`` : (n_draws, order) coefficients of autoregressive noise, where it is coloured.
    """

    structures: list[tuple[int, ...]]
    structure: Int1D
    theta: Float1D
    offset: Int1D
    noise: Float1D
    coefficient: Float1D
    log_lik: Float1D
    log_prior: Float1D
    move: Int2D
    trouble: Int1D
    n_samples: int
    ladder: LadderTrace | None = None
    search: SearchTrace | None = None
    rho: Float2D | None = None


_PREFIX, _SEARCH = "ladder_", "search_"


def to_arrays(trace: ChainTrace) -> dict[str, np.ndarray]:
    """A trace as plain arrays: the structures' keys end to end with their edges, and the rest."""
    found = {k: v for k, v in trace._asdict().items() if isinstance(v, np.ndarray)}
    found["key"] = np.array([*chain.from_iterable(trace.structures)], dtype=np.int64)
    found["key_offset"] = np.cumsum([0, *map(len, trace.structures)], dtype=np.int64)
    found["n_samples"] = np.array([trace.n_samples])
    if trace.ladder is not None:
        ladder = trace.ladder._asdict()
        reason = np.frombuffer(ladder.pop("reason").encode(), dtype=np.uint8)
        found |= {_PREFIX + name: values for name, values in (ladder | {"reason": reason}).items()}
    if trace.search is not None:
        found |= {_SEARCH + name: values for name, values in trace.search._asdict().items()}
    return found


def from_arrays(arrays: Mapping[str, np.ndarray]) -> ChainTrace:
    """The trace that `to_arrays` took apart."""
    of_ladder = {k for k in arrays if k.startswith(_PREFIX)}
    ladder: dict[str, Any] = {k.removeprefix(_PREFIX): arrays[k].copy() for k in of_ladder}
    of_search = {k for k in arrays if k.startswith(_SEARCH)}
    search = {k.removeprefix(_SEARCH): arrays[k].copy() for k in of_search}
    others = of_ladder | of_search
    plain: dict[str, Any] = {k: v.copy() for k, v in arrays.items() if k not in others}
    keys, edges = plain.pop("key").tolist(), plain.pop("key_offset").tolist()
    structures = [tuple(keys[first:last]) for first, last in pairwise(edges)]
    n_samples = int(plain.pop("n_samples")[0])
    found = ChainTrace(structures=structures, n_samples=n_samples, **plain)
    if search:
        found = found._replace(search=SearchTrace(**search))
    if not ladder:
        return found
    reason = bytes(ladder.pop("reason")).decode()
    return found._replace(ladder=LadderTrace(reason=reason, **ladder))


def join(first: ChainTrace, second: ChainTrace) -> ChainTrace:
    """Two pieces of one chain, the second recorded after the first, as one.

    Counters, ladder and search, and how many samples there were, count from the beginning of the
    chain, so that those of the second are those of the whole.
    """
    number = {keys: i for i, keys in enumerate(first.structures)}
    place = np.array(
        [number.setdefault(keys, len(number)) for keys in second.structures], dtype=np.int64
    )
    joined: dict[str, Any] = {
        name: np.concatenate([getattr(first, name), getattr(second, name)])
        for name in ("theta", "noise", "coefficient", "log_lik", "log_prior")
    }
    ladder = second.ladder
    if ladder is not None and first.ladder is not None:
        distance = np.concatenate([first.ladder.distance, ladder.distance])
        ladder = ladder._replace(distance=distance)
    if first.rho is not None and second.rho is not None:
        joined["rho"] = np.concatenate([first.rho, second.rho])
    return second._replace(
        structures=list(number),
        structure=np.concatenate([first.structure, place[second.structure]]),
        offset=np.append(first.offset, first.offset[-1] + second.offset[1:]),
        ladder=ladder,
        **joined,
    )


def without_draws(trace: ChainTrace) -> ChainTrace:
    """What a trace says of its chain, without a draw; `join` puts draws before what follows."""
    none, ladder, rho = np.empty(0), trace.ladder, trace.rho
    return trace._replace(
        structures=[],
        structure=np.zeros(0, dtype=np.int64),
        theta=none,
        offset=np.zeros(1, dtype=np.int64),
        noise=none,
        coefficient=none,
        log_lik=none,
        log_prior=none,
        ladder=None if ladder is None else ladder._replace(distance=none),
        rho=None if rho is None else rho[:0],
    )


def make_buffer(capacity: int) -> Trace:
    """An empty buffer for chains of at most `capacity` terms."""
    return Trace(
        n_terms=np.zeros(_DRAWS, dtype=np.int64),
        is_new=np.zeros(_DRAWS, dtype=np.int64),
        noise=np.zeros(_DRAWS),
        coefficient=np.zeros(_DRAWS),
        log_lik=np.zeros(_DRAWS),
        log_prior=np.zeros(_DRAWS),
        own=np.zeros((_DRAWS, _OWN)),
        theta=np.zeros(_VALUES + capacity),
        key=np.zeros(_VALUES + capacity, dtype=np.int64),
        cursor=Cursor(*np.zeros((3, 1), dtype=np.int64)),
        move=np.zeros((N_MOVES, 3), dtype=np.int64),
        trouble=np.zeros(3, dtype=np.int64),
    )


class _Columns:
    """The series of a `TraceLog`: in memory, beyond so many bytes in files."""

    def __init__(self, most: int) -> None:
        room = Room(most)
        self.structure, self.offset = Growing(np.int64, room), Growing(np.int64, room)
        self.theta = Growing(np.float64, room)
        self.scalar = {name: Growing(np.float64, room) for name in _SCALARS}
        self.own = [Growing(np.float64, room) for _ in range(_OWN)]
        self.last = 0
        self.offset.append(np.zeros(1, dtype=np.int64))

    def append(
        self, structure: Int1D, n_terms: Int1D, theta: Float1D, values: Sequence[Float1D]
    ) -> None:
        """Draws behind the others; `values` are the scalars, then what one engine alone has."""
        offset = self.last + np.cumsum(n_terms)
        self.last = int(offset[-1]) if len(offset) else self.last
        for series, added in zip(
            [self.structure, self.offset, self.theta, *self.scalar.values(), *self.own],
            [structure, offset, theta, *values],
            strict=True,
        ):
            series.append(added)


@dataclass
class TraceLog:
    """Collects the buffers of one chain; beyond `most` bytes they are in files."""

    encoding: Encoding
    most: int = IN_MEMORY
    structures: dict[tuple[int, ...], int] = field(default_factory=dict)
    _seen: dict[bytes, tuple[int, Int1D]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._columns = _Columns(self.most)

    @classmethod
    def of(cls, encoding: Encoding, trace: ChainTrace, most: int = IN_MEMORY) -> TraceLog:
        """A log that goes on where a trace ended."""
        log = cls(encoding, most, {keys: i for i, keys in enumerate(trace.structures)})
        own = np.zeros((_OWN, len(trace.structure)))
        if trace.ladder is not None:
            own[0] = trace.ladder.distance
        if trace.rho is not None:
            own[: trace.rho.shape[1]] = trace.rho.T
        values = trace.noise, trace.coefficient, trace.log_lik, trace.log_prior, *own
        log._columns.append(trace.structure, np.diff(trace.offset), trace.theta, values)
        return log

    def drain(self, buffer: Trace) -> None:
        """Take over what a buffer holds, and empty it; its counters go on counting."""
        n_draws, n_theta = buffer.cursor.n_draws[0], buffer.cursor.n_theta[0]
        is_new, n_terms = buffer.is_new[:n_draws] != 0, buffer.n_terms[:n_draws].copy()
        stay = np.cumsum(is_new) - 1  # of every draw: which of the stays in one structure it is in
        edge = np.append(0, np.cumsum(n_terms[is_new]))
        numbers, order = self._recognise(buffer.key[: edge[-1]], edge)
        # In canonical order coefficient j of a draw is the one that the chain has at order[j].
        first = np.cumsum(n_terms) - n_terms
        here = np.arange(n_theta) + np.repeat(edge[stay] - first, n_terms)
        theta = buffer.theta[order[here] + np.repeat(first, n_terms)]
        scalars = [getattr(buffer, name)[:n_draws].copy() for name in _SCALARS]
        own = buffer.own[:n_draws].T.copy()
        self._columns.append(numbers[stay], n_terms, theta, [*scalars, *own])
        for written in buffer.cursor:
            written[:] = 0

    def _recognise(self, keys: Int1D, edge: Int1D) -> tuple[Int1D, Int1D]:
        """The numbers of structures that lie end to end, and where each one's terms belong.

        That is, end to end as well, the places of a structure's terms in canonical order.
        """
        if len(self._seen) > _MOST_SEEN:
            self._seen.clear()
        numbers, orders = [], [np.empty(0, dtype=np.int64)]
        code, at = keys.tobytes(), (keys.itemsize * edge).tolist()
        for first, last in pairwise(at):  # a chain changes its structure every few samples
            known = self._seen.get(code[first:last])
            if known is None:
                known = self._seen[code[first:last]] = self._meet(code[first:last])
            numbers.append(known[0])
            orders.append(known[1])
        return np.array(numbers, dtype=np.int64), np.concatenate(orders)

    def _meet(self, code: bytes) -> tuple[int, Int1D]:
        """The same of one structure, by its terms' keys as the chain has them."""
        keys = np.frombuffer(code, dtype=np.int64)
        digits = [self.encoding.digits(key) for key in keys.tolist()]
        order = np.array(sorted(range(len(digits)), key=digits.__getitem__), dtype=np.int64)
        number = self.structures.setdefault(tuple(keys[order].tolist()), len(self.structures))
        return number, order

    def finish(
        self, buffer: Trace, n_samples: int, ladder: LadderTrace | None = None, order: int = 0
    ) -> ChainTrace:
        """Everything collected, and what the buffer still holds.

        The distances of the draws are put into the `ladder`, if there is one; with an `order`, each
        has so many coefficients of its noise.
        """
        self.drain(buffer)
        columns = self._columns
        return ChainTrace(
            structures=list(self.structures),
            structure=columns.structure.whole,
            theta=columns.theta.whole,
            offset=columns.offset.whole,
            noise=columns.scalar["noise"].whole,
            coefficient=columns.scalar["coefficient"].whole,
            log_lik=columns.scalar["log_lik"].whole,
            log_prior=columns.scalar["log_prior"].whole,
            move=buffer.move.copy(),
            trouble=buffer.trouble.copy(),
            n_samples=n_samples,
            ladder=None if ladder is None else ladder._replace(distance=columns.own[0].whole),
            rho=np.array([one.whole for one in columns.own[:order]]).T.copy() if order else None,
        )
