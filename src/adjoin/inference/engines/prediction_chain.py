"""One chain of the prediction engine: its rungs, its generator, its pool and its caches.

Receives an engine; runs ``kernels/prediction.py``, and between its samples, before anything counts,
chooses the pool of candidates and places the rungs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.inference.engine import Packed
from adjoin.inference.engines.prediction_setup import PredictionSetup
from adjoin.inference.engines.workspace import (
    as_rung,
    make_chain,
    make_informed,
    make_table,
    make_work,
    pack_generator,
    pack_trace,
    unpack_generator,
    unpack_trace,
    write_terms,
)
from adjoin.inference.pool import (
    best_terms,
    join,
    likely_terms,
    make_screening,
    no_terms,
    take,
    terms_of,
)
from adjoin.inference.prior import draw_prior_terms
from adjoin.inference.rows import conditional_mode
from adjoin.inference.tempering import first_powers, place_rungs
from adjoin.inference.traces import ChainTrace, SearchTrace, TraceLog, make_buffer
from adjoin.kernels.hashing import rehash
from adjoin.kernels.powers import PowerLadder
from adjoin.kernels.prediction import run_prediction
from adjoin.kernels.screening import Terms, screen_state, weigh_state
from adjoin.kernels.state import Chain, Trace
from adjoin.kernels.tables import Desk, ProductTable

_FIRST_CAPACITY = 256
_SCREENED_RUNGS = 3  # whose states say what the alphabet has to offer
_FIRST_POOL = "first pool"
_SPARE = 0.5  # of the pool: how much may be new candidates at a time


class PredictionChain:
    """One chain under way; see `adjoin.inference.engine.Chain`."""

    def __init__(self, setup: PredictionSetup, ladder: PowerLadder, rng: np.random.Generator):
        self.engine, self.ladder, self.rng = setup, ladder, rng
        capacity, max_degree = setup.problem.capacity, setup.encoding.max_degree
        self.buffer: Trace = make_buffer(capacity)
        self._idle: Trace = make_buffer(capacity)
        self.log = TraceLog(setup.encoding, setup.table_bytes)
        self.n_adapted = 0
        self._work = make_work(capacity, max_degree, 2 * setup.search.candidates)
        self.informed = make_informed(no_terms(max_degree), capacity, setup.search.moves)
        self._flips = setup.flips()
        first = max(_FIRST_CAPACITY, 2 * capacity + 2)
        most = int((setup.table_bytes // 8) ** 0.5)
        self._table = make_table(max(min(first, most), 2 * capacity + 2), max_degree)

    @classmethod
    def begin(cls, setup: PredictionSetup, rng: np.random.Generator) -> Self:
        """Every rung at the fixed terms and one term drawn from the prior, noise at output scale.

        A term whose column is not finite on these data, such as ``exp`` of a large signal, is left
        out, and so is every one where no move changes the terms.
        """
        problem, search, regression = setup.problem, setup.search, setup.regression
        n_rungs = search.rungs if setup.power > 0.0 else 1
        state = make_chain(problem.capacity, setup.encoding.max_degree, n_rungs)
        state.noise[:] = problem.output_variance
        state.coefficient[:] = float(setup.prior.coefficient_sd) ** 2
        fixed = problem.alphabet.fixed.terms
        drawn = draw_prior_terms(rng, setup.encoding, setup.rules.prior, n_rungs)
        for c, (first, _) in enumerate(drawn):
            is_used = first not in fixed and problem.rows.is_finite(first)
            # Where no move changes the terms, it would never go again.
            is_used &= not setup.moves.keep_terms or setup.search.changes_terms
            write_terms(as_rung(state, c), setup.encoding, (*fixed, first) if is_used else fixed)
            state.theta[c, : len(regression.pinned_theta)] = regression.pinned_theta
        if setup.starts:
            order = rng.permutation(len(setup.starts))
            for c in range((n_rungs + 1) // 2):
                _begin_at(setup, as_rung(state, c), setup.starts[order[c % len(order)]])
        power = first_powers(setup.power, n_rungs, search.hottest)
        return cls(setup, _make_ladder(setup, state, power), rng)

    @classmethod
    def unpack(cls, setup: PredictionSetup, packed: Mapping[str, np.ndarray]) -> Self:
        """A chain from what `pack` gave; it continues bit for bit."""
        rng = np.random.Generator(np.random.PCG64())
        rng.bit_generator.state = unpack_generator(packed["generator"])
        state = Chain(**{name: packed[name].copy() for name in Chain._fields})
        ladder = _make_ladder(setup, state, packed["power"].copy())
        for name in ("reference", "penalty", "swap", "is_from_hot", "n_trips"):
            getattr(ladder, name)[:] = packed[name]
        chain = cls(setup, ladder, rng)
        terms = Terms(*(packed[f"pool_{name}"].copy() for name in Terms._fields))
        chain._set_pool(terms)
        for name in ("inclusion", "n_averaged", "use", "counter"):
            getattr(chain.informed, name)[:] = packed[name]
        chain.n_adapted = int(packed["n_adapted"][0])
        chain.buffer.move[:] = packed["move"]
        chain.buffer.trouble[:] = packed["trouble"]
        chain.log = TraceLog.of(setup.encoding, unpack_trace(packed), setup.table_bytes)
        return chain

    @property
    def state(self) -> Chain:
        """The coldest rung."""
        return as_rung(self.ladder.state, 0)

    @property
    def n_samples(self) -> int:
        """How many samples were drawn since the chain began."""
        return int(self.state.n_drawn[0])

    @property
    def n_terms(self) -> int:
        """The present number of terms."""
        return int(self.state.n_terms[0])

    @property
    def acceptance(self) -> float:
        """The share of structure moves that were accepted so far."""
        move = self.buffer.move[1:]
        return float(move[:, 2].sum() / max(move[:, 0].sum(), 1))

    @property
    def table_size(self) -> int:
        """Bytes the table of inner products takes now."""
        return self._n_bytes * len(self._table.key) ** 2

    @property
    def _n_bytes(self) -> int:
        """Of an entry: twice as many where remainders are in use, which take no memory before."""
        return 16 if self._table.rest.is_begun.any() else 8

    @property
    def _needed(self) -> int:
        """How many terms the table must have room for to go on."""
        search, n_candidates = self.engine.search, len(self.informed.pool.key)
        n_terms = int(self.ladder.state.n_terms.sum())
        if search.is_plain:
            return n_terms + 1
        n_flipped = len(self._flips.key)
        return 2 * n_terms + n_candidates + n_flipped + search.rungs * search.interval + 1

    @property
    def _largest(self) -> int:
        """How many terms the table may hold."""
        most = int((self.engine.table_bytes // self._n_bytes) ** 0.5)
        least = 2 * self.engine.problem.capacity + 2
        return max(most, least, 0 if self.engine.search.is_plain else 2 * self._needed)

    @property
    def is_prepared(self) -> bool:
        """There is nothing to prepare."""
        return True

    def prepare(self) -> None:
        """Do nothing."""

    def advance(self, n_samples: int) -> None:
        """Draw so many samples more."""
        until = self.n_samples + n_samples
        while self.n_samples < until:
            times = self.engine.adaptations[self.n_adapted :]
            if times and times[0] == self.n_samples:
                self._adapt()
                self.n_adapted += 1
                times = times[1:]
            self._draw(min([until, *times[:1]]) - self.n_samples)

    def _draw(self, n_samples: int) -> None:
        engine = self.engine
        while n_samples > 0:
            if self._table.size[0] + self._needed > self._table.key.shape[0]:
                self._make_room()
            n_drawn = run_prediction(
                self.rng,
                self.ladder,
                engine.rules,
                engine.regression,
                self._desk,
                n_samples,
            )
            if n_drawn < 0:
                raise AdjoinError(self._singular())
            n_samples -= n_drawn
            if n_samples > 0 and self.buffer.cursor.n_draws[0]:
                self.log.drain(self.buffer)

    @property
    def _desk(self) -> Desk:
        trace, idle = self.buffer, self._idle
        informed, flips, evidence = self.informed, self._flips, np.full(1, np.nan)
        return Desk(self._table, self._work, informed, flips, trace, idle, evidence)

    def _singular(self) -> str:
        structure = self.engine.encoding.structure(tuple(self.state.key[: self.n_terms].tolist()))
        return (
            f"the terms '{structure}' cannot be told apart on these data, or are not finite; check"
            " the fixed terms and the units of the signals, or scale them"
        )

    def _adapt(self) -> None:
        """Choose the pool and place the rungs by what was seen; count from here on."""
        if self.ladder.swap[:, 0].any():
            self.ladder.power[:] = place_rungs(self.ladder.power, self.ladder.swap)
        if self.engine.search.candidates:
            self._set_pool(self._choose_pool())
        self.ladder.swap[:] = 0
        self.ladder.n_trips[:] = 0
        self.ladder.is_from_hot[:] = 0

    def _set_pool(self, terms: Terms) -> None:
        capacity = self.engine.problem.capacity
        self.informed = make_informed(terms, capacity, self.engine.search.moves)

    def _choose_pool(self) -> Terms:
        """What the alphabet has to offer, beside what is in use."""
        every, most = self.engine.listing, self.engine.search.candidates
        if len(every.key) <= most:
            return every
        pool = terms_of(self.informed.pool)
        if not len(pool.key):
            return self._first_pool(every, most)
        n_rungs = len(self.ladder.power)
        screened = sorted({c * (n_rungs - 1) // max(_SCREENED_RUNGS - 1, 1) for c in range(3)})
        kept = self._in_use(every, most)
        pool = join(kept, best_terms(pool, self._use(pool), kept.key, most - len(kept.key)))
        n_new = max(int(_SPARE * most) // len(screened), 1)
        for c in screened:
            self._set_pool(pool)
            found = self._screen(c)
            pool = join(pool, best_terms(every, found, pool.key, n_new))
        self._set_pool(pool)
        score = np.max([self._weigh(c) for c in screened], axis=0)
        return join(kept, best_terms(pool, score, kept.key, most - len(kept.key)))

    def _first_pool(self, every: Terms, most: int) -> Terms:
        """The likeliest terms, and those that explain most beside the fixed ones alone.

        It is the same for all chains, and worked out once.
        """
        if _FIRST_POOL not in self.engine.shared:
            setup, likely = self.engine, likely_terms(every, most // 2)
            fixed = PredictionChain.begin(setup, np.random.default_rng(0))
            fixed.ladder.state.n_terms[:] = len(setup.problem.alphabet.fixed)
            fixed._set_pool(likely)
            found = best_terms(every, fixed._screen(0), likely.key, most - len(likely.key))
            setup.shared[_FIRST_POOL] = join(likely, found)
        terms: Terms = self.engine.shared[_FIRST_POOL]
        return terms

    def _in_use(self, every: Terms, most: int) -> Terms:
        """The terms of the rungs that can be candidates, those of the coldest first; of flips."""
        state = self.ladder.state
        keys = [state.key[c, : state.n_terms[c, 0]] for c in range(len(self.ladder.power))]
        keys.append(self._flips.key)
        found = dict.fromkeys(np.concatenate(keys).tolist())
        listed = set(every.key[np.isin(every.key, list(found))].tolist())
        first = [key for key in found if key in listed][:most]
        return take(every, np.flatnonzero(np.isin(every.key, first)))

    def _use(self, pool: Terms) -> Float1D:
        """How much each candidate was in use since the pool was chosen."""
        use = dict(zip(self.informed.pool.key.tolist(), self.informed.use.tolist(), strict=True))
        return np.array([use.get(key, 0.0) for key in pool.key.tolist()])

    def _screen(self, c: int) -> Float1D:
        """Scores of the whole alphabet by what the structure of a rung leaves over."""
        engine, state = self.engine, self.ladder.state
        n_terms = int(state.n_terms[c, 0])
        n_left_out = n_terms if engine.search.screenings > 1 else 0
        screening = make_screening(engine.listing, engine.regression, n_terms, n_left_out, self.rng)
        screen_state(
            c,
            int(self.rng.integers(max(n_terms, 1))),
            self.ladder,
            engine.rules_at(self.ladder.power[c]),
            engine.regression,
            self._desk,
            engine.listing,
            screening,
        )
        return np.nan_to_num(screening.score, nan=-np.inf, posinf=np.inf, neginf=-np.inf)

    def _weigh(self, c: int) -> Float1D:
        """Scores of the pool by the odds of joining a rung's structure or replacing a term."""
        score = np.zeros(len(self.informed.pool.key))
        rules = self.engine.rules_at(self.ladder.power[c])
        self._make_room_for_pool()
        if not weigh_state(c, self.ladder, rules, self.engine.regression, self._desk, score):
            score[:] = -np.inf
        return np.nan_to_num(score, nan=-1e300, neginf=-1e300)

    def _make_room_for_pool(self) -> None:
        while self._table.size[0] + self._needed > self._table.key.shape[0]:
            self._make_room()

    def _make_room(self) -> None:
        """Double the table, or, at its largest, forget the half looked at longest ago."""
        table, n = self._table, int(self._table.size[0])
        capacity = min(2 * table.key.shape[0], self._largest)
        capacity = max(capacity, min(n + self._needed, self._largest))
        keep = np.arange(n)
        if capacity < n + self._needed:
            keep = np.sort(np.argsort(table.used[:n], kind="stable")[n // 2 :])
        self._table = _copied(table, keep, capacity)

    def pack(self) -> Packed:
        """Everything needed to continue, and the trace so far, as plain arrays."""
        packed = {name: value.copy() for name, value in self.ladder.state._asdict().items()}
        for name in ("power", "reference", "penalty", "swap", "is_from_hot", "n_trips"):
            packed[name] = getattr(self.ladder, name).copy()
        terms = terms_of(self.informed.pool)
        packed |= {f"pool_{name}": values.copy() for name, values in terms._asdict().items()}
        for name in ("inclusion", "n_averaged", "use", "counter"):
            packed[name] = getattr(self.informed, name).copy()
        packed["n_adapted"] = np.array([self.n_adapted])
        packed["generator"] = pack_generator(self.rng)
        packed["move"] = self.buffer.move.copy()
        packed["trouble"] = self.buffer.trouble.copy()
        return packed | pack_trace(self.finish())

    def finish(self) -> ChainTrace:
        """What the chain recorded."""
        trace = self.log.finish(self.buffer, self.n_samples)
        if self.engine.search.is_plain:
            return trace
        informed, ladder = self.informed, self.ladder
        # Before the pool is frozen its averages are of what does not count.
        is_frozen = self.n_adapted == len(self.engine.adaptations)
        n = len(informed.pool.key) if is_frozen and informed.n_averaged[0] else 0
        search = SearchTrace(
            key=informed.pool.key[:n].copy(),
            inclusion=informed.inclusion[:n] / max(int(informed.n_averaged[0]), 1),
            counter=informed.counter.copy(),
            power=ladder.power.copy(),
            swap=ladder.swap.copy(),
            n_trips=ladder.n_trips.copy(),
        )
        return trace._replace(search=search)


def _begin_at(setup: PredictionSetup, state: Chain, keys: tuple[int, ...]) -> None:
    """Put a structure into a state, with the noise that least squares leaves."""
    structure = setup.encoding.structure(keys)
    fixed = setup.problem.alphabet.fixed.terms
    others = [term for term in structure if term not in fixed]
    state.atom[:] = -1
    write_terms(state, setup.encoding, (*fixed, *others))
    rows = setup.problem.rows
    columns, output = rows.reduced(structure)
    theta = conditional_mode(columns, output, 1.0, float("inf"), 1.0)
    left = output - columns @ theta
    state.noise[0] = max(float(left @ left) / rows.n_rows, setup.rules.target.noise_scale)


def _make_ladder(setup: PredictionSetup, state: Chain, power: Float1D) -> PowerLadder:
    """A ladder that has exchanged nothing yet."""
    n_rungs = len(power)
    return PowerLadder(
        state=state,
        power=power,
        reference=state.noise[:, 0].copy(),
        penalty=np.zeros(n_rungs),
        swap=np.zeros((n_rungs, 2), dtype=np.int64),
        is_from_hot=np.zeros(n_rungs, dtype=np.int64),
        n_trips=np.zeros(1, dtype=np.int64),
        interval=setup.search.interval,
        n_settling=max(setup.adaptations, default=0),
    )


def _copied(table: ProductTable, keep: np.ndarray, capacity: int) -> ProductTable:
    """A table with some of the terms of another, and room for more."""
    copy = make_table(capacity, table.atom.shape[1])
    k, begun = len(keep), np.flatnonzero(table.rest.is_begun[keep])
    for name in ("key", "degree", "atom", "norm", "target", "used"):
        getattr(copy, name)[:k] = getattr(table, name)[keep]
    for name in ("is_begun", "target"):
        getattr(copy.rest, name)[:k] = getattr(table.rest, name)[keep]
    copy.correlation[:k, :k] = table.correlation[np.ix_(keep, keep)]
    known = table.rest.correlation[np.ix_(keep[begun], keep[begun])]
    copy.rest.correlation[np.ix_(begun, begun)] = known
    copy.rest.square[:] = table.rest.square
    copy.size[0] = k
    rehash(copy)
    return copy
