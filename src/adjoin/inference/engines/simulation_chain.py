"""One chain of the simulation engine: its rungs, its generator, its references and its table.

Receives a `SimulationSetup`; runs ``kernels/output_error.py``, and between its samples, before
anything counts, places the rungs and takes their states as references of modes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from adjoin.inference.engine import Packed
from adjoin.inference.engines.free_run_work import forget_all, make_fit_work, make_free_run
from adjoin.inference.engines.simulation_setup import SimulationSetup, Start
from adjoin.inference.engines.slope_pool import choose_candidates, make_informed
from adjoin.inference.engines.workspace import (
    arrays_of,
    as_rung,
    make_chain,
    pack_generator,
    pack_trace,
    unpack_generator,
    unpack_trace,
    write_terms,
)
from adjoin.inference.tempering import first_powers, place_rungs
from adjoin.inference.traces import ChainTrace, SearchTrace, TraceLog, make_buffer
from adjoin.kernels.modes import References
from adjoin.kernels.output_error import judge_rungs, run_output_error
from adjoin.kernels.run_rungs import FreeRunLadder, RungRuns
from adjoin.kernels.slope_moves import Desk
from adjoin.kernels.state import N_MOVES, Chain, Trace


class SimulationChain:
    """One chain under way; see `adjoin.inference.engine.Chain`."""

    def __init__(self, setup: SimulationSetup, rng: np.random.Generator) -> None:
        self.engine, self.rng = setup, rng
        capacity, degree = setup.capacity, setup.encoding.max_degree
        self.ladder = make_ladder(setup)
        run = make_free_run(setup.runs)
        self.fitting = make_fit_work(run, capacity, degree, setup.table_bytes, setup.order)
        self.informed = make_informed(setup, run)
        self.buffer: Trace = make_buffer(capacity)
        self.log = TraceLog(setup.encoding, setup.table_bytes)
        self.n_adapted = 0

    @classmethod
    def begin(cls, setup: SimulationSetup, rng: np.random.Generator, start: Start) -> Self:
        """Every rung at one structure, or at the fixed terms alone, at rest unless pinned."""
        chain, fixed = cls(setup, rng), setup.problem.alphabet.fixed.terms
        state, pinned = chain.ladder.state, setup.regression.pinned_theta
        state.noise[:] = setup.problem.output_variance
        state.coefficient[:] = setup.how.coefficient
        for c in range(setup.n_rungs):
            terms = [setup.encoding.term(key) for key in start.keys] or fixed
            write_terms(as_rung(state, c), setup.encoding, terms)
            state.theta[c, : len(start.theta)] = start.theta
            state.theta[c, : len(pinned)] = pinned
        judge_rungs(setup.regression, chain.ladder, chain.fitting)
        if len(start.keys):
            chain._take_references()
        chain._choose_candidates()
        return chain

    @classmethod
    def unpack(cls, setup: SimulationSetup, packed: Mapping[str, np.ndarray]) -> Self:
        """A chain from what `pack` gave; it continues bit for bit."""
        chain = cls(setup, np.random.Generator(np.random.PCG64()))
        chain.rng.bit_generator.state = unpack_generator(packed["generator"])
        for name, values in chain._state_arrays().items():
            values[:] = packed[name]
        chain.n_adapted = int(packed["n_adapted"][0])
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
        """The share of structure moves that the coldest rung accepted so far."""
        move = self.ladder.move[0, 1:]
        return float(move[:, 2].sum() / max(move[:, 0].sum(), 1))

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
            self._draw(min([until, *times[:1]]) - self.n_samples)
            if times and times[0] == self.n_samples:
                self._adapt()
                self.n_adapted += 1

    def _draw(self, n_samples: int) -> None:
        engine = self.engine
        while n_samples > 0:
            n_samples -= run_output_error(
                self.rng,
                engine.rules,
                engine.how,
                engine.regression,
                self.ladder,
                Desk(self.fitting, self.informed),
                self.buffer,
                n_samples,
            )
            if n_samples > 0:
                self.log.drain(self.buffer)

    def _adapt(self) -> None:
        """Place the rungs by what was seen, search modes from their states, and count anew."""
        ladder = self.ladder
        if ladder.swap[:, 0].any():
            ladder.power[:] = place_rungs(ladder.power, ladder.swap)
        self._take_references()
        self._choose_candidates()
        counters = (ladder.swap, ladder.n_trips, ladder.is_from_hot, ladder.passed)
        for counter in (*counters, self.informed.counter):
            counter[:] = 0

    def _choose_candidates(self) -> None:
        choose_candidates(self.engine, self.ladder, self.fitting, self.informed, self.rng)

    def _take_references(self) -> None:
        """Search modes from the present states of the rungs; those found before are forgotten."""
        references, state = self.ladder.references, self.ladder.state
        references.key[:], references.theta[:] = state.key, state.theta
        references.n_terms[:] = state.n_terms[:, 0]
        forget_all(self.fitting.fits)

    def _state_arrays(self) -> dict[str, np.ndarray]:
        informed = {"counter": self.informed.counter} | arrays_of(self.informed.pool)
        named = {f"informed_{name}": values for name, values in informed.items()}
        return {"trouble": self.buffer.trouble} | named | arrays_of(self.ladder)

    def pack(self) -> Packed:
        """Everything needed to continue, and the trace so far, as plain arrays."""
        packed = {name: values.copy() for name, values in self._state_arrays().items()}
        packed["generator"] = pack_generator(self.rng)
        packed["n_adapted"] = np.array([self.n_adapted])
        return packed | pack_trace(self.finish())

    def finish(self) -> ChainTrace:
        """What the chain recorded."""
        ladder = self.ladder
        self.buffer.move[:] = ladder.move[0]
        trace = self.log.finish(self.buffer, self.n_samples, order=self.engine.order)
        search = SearchTrace(
            key=np.empty(0, dtype=np.int64),  # no term's probability given all others is worked out
            inclusion=np.empty(0),
            counter=self.informed.counter.copy(),
            power=ladder.power.copy(),
            swap=ladder.swap.copy(),
            n_trips=ladder.n_trips.copy(),
        )
        return trace._replace(search=search)


def make_references(n: int, capacity: int) -> References:
    """Room for so many references; there is none yet."""
    return References(
        key=np.zeros((n, capacity), dtype=np.int64),
        theta=np.zeros((n, capacity)),
        n_terms=np.full(n, -1, dtype=np.int64),
    )


def make_ladder(setup: SimulationSetup) -> FreeRunLadder:
    """An empty ladder."""
    capacity, degree, n_rungs = setup.capacity, setup.encoding.max_degree, setup.n_rungs
    return FreeRunLadder(
        state=make_chain(capacity, degree, n_rungs),
        proposed=make_chain(capacity, degree),
        runs=RungRuns(
            error=np.zeros(n_rungs),
            volume=np.zeros(n_rungs),
            moment=np.zeros((n_rungs, setup.order + 1, setup.order + 1)),
            rho=np.zeros((n_rungs, setup.order)),
        ),
        power=first_powers(setup.power, n_rungs, setup.search.hottest),
        references=make_references(n_rungs, capacity),
        move=np.zeros((n_rungs, N_MOVES, 3), dtype=np.int64),
        passed=np.zeros((n_rungs, 2), dtype=np.int64),
        swap=np.zeros((n_rungs, 2), dtype=np.int64),
        is_from_hot=np.zeros(n_rungs, dtype=np.int64),
        n_trips=np.zeros(1, dtype=np.int64),
        interval=setup.search.interval,
    )
