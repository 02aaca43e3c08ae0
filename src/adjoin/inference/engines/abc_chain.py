"""A chain of the free-run engine: calibration, annealing, and then a frozen ladder.

Receives an `AbcSetup` and a generator; runs ``kernels/abc.py`` on its own workspace, and gives the
trace of the coldest rung.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Self

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.inference.engine import Packed
from adjoin.inference.engines.abc_setup import AbcSetup
from adjoin.inference.engines.free_run_work import (
    forget_all,
    make_fit_work,
    make_free_run,
    make_ladder,
)
from adjoin.inference.engines.workspace import (
    arrays_of,
    as_rung,
    pack_generator,
    pack_trace,
    unpack_generator,
    unpack_trace,
    write_terms,
)
from adjoin.inference.traces import ChainTrace, LadderTrace, TraceLog, make_buffer
from adjoin.kernels.abc import decide_all, run_abc
from adjoin.kernels.state import ANNEAL, DESCEND, POLISH, PROPOSALS, PROPOSE, RECORD, Chain, Trace

_POLISHES = 5  # in calibration, with as many greedy descents between
_DECADES = 100.0  # of the hottest tolerance over the floor, where nothing else is known
_LEAST_SHARE = 1e-12  # of the coldest tolerance, of the distance of no model at all
_LEAST_EXCESS = 1e-3  # of the coldest tolerance over the floor: else there is no ladder above it


class AbcChain:
    """One chain: its ladder, its generator, and the caches it works with."""

    def __init__(self, engine: AbcSetup, rng: np.random.Generator) -> None:
        self.engine, self.rng = engine, rng
        capacity, degree, rungs = engine.capacity, engine.encoding.max_degree, engine.ladder.rungs
        n_series = len(engine.regression.output) if engine.distance is not None else 0
        self.ladder = make_ladder(capacity, degree, rungs, engine.n_annealing + 1, n_series)
        self.ladder.walk.width[:] = engine.ladder.width
        self.ladder.rungs.state.coefficient[:] = engine.target.coefficient
        free_run = make_free_run(engine.problem)
        self.fitting = make_fit_work(free_run, capacity, degree, engine.table_bytes)
        self.buffer: Trace = make_buffer(capacity)
        self.log = TraceLog(engine.encoding, engine.table_bytes)
        self.stage = -1  # not calibrated; then stages that are over
        self.n_rounds = 0  # of calibration that are over
        self.hottest = math.inf
        self.history: list[tuple[Float1D, float]] = []
        self.reason = "annealing has not ended"
        self.is_stranded = False  # a tolerance was asked for that it could not meet

    @property
    def n_samples(self) -> int:
        """How many samples were drawn since the chain began."""
        return int(self.ladder.rungs.state.n_drawn[0, 0])

    @property
    def n_terms(self) -> int:
        """The present number of terms of the coldest rung."""
        return int(self.ladder.rungs.state.n_terms[0, 0])

    @property
    def acceptance(self) -> float:
        """The share of structure moves that the coldest rung accepted."""
        move = self.ladder.rungs.counters.move[0, 1:]
        return float(move[:, 2].sum() / max(move[:, 0].sum(), 1))

    @property
    def is_prepared(self) -> bool:
        """Whether calibration is over."""
        return self.stage >= 0

    @property
    def is_frozen(self) -> bool:
        """Whether annealing is over."""
        return self.stage == self.engine.ladder.stages

    @property
    def floor(self) -> float:
        """The smallest distance met so far."""
        known = [self.ladder.best.distance[0], self.ladder.tolerances.distance.min()]
        if self.engine.is_guided:
            known.append(self.ladder.champion.error[0] / self.engine.target.unit)
        return float(min(known))

    def advance(self, n_samples: int) -> None:
        """Draw so many samples more, after calibration, through the stages of annealing."""
        settings = self.engine.ladder
        while not self.is_prepared:
            self.prepare()
        while n_samples > 0:
            n_block = n_samples
            if not self.is_frozen:
                end = self.engine.n_annealing * (self.stage + 1) // settings.stages
                n_block = min(n_samples, end - self.n_samples)
            before = self.n_samples
            if self.is_stranded:
                self.ladder.rungs.state.n_drawn[0, 0] += n_block  # there is nothing it could record
            else:
                self.run(RECORD if self.is_frozen else ANNEAL, n_block)
            n_samples -= self.n_samples - before
            if not self.is_frozen and self.n_samples == end:
                self._end_stage()

    def run(self, mode: int, n_samples: int) -> None:
        """Run the kernel in one of its modes; see `kernels.abc.run_abc`."""
        if self.engine.distance is not None and n_samples:
            self._run_by_distance(mode, n_samples)
            return
        while True:
            n_samples -= self._call(mode, n_samples)
            if n_samples <= 0:
                return
            self.log.drain(self.buffer)

    def _call(self, mode: int, n_samples: int) -> int:
        engine, rules = self.engine, self.engine.rules
        if mode == DESCEND:
            # Calibration is by the paper's proposals: there is no tolerance yet to be guided by.
            rules = rules._replace(target=rules.target._replace(guided=0.0))
        return run_abc(
            self.rng,
            rules,
            engine.regression,
            self.ladder,
            self.fitting,
            self.buffer,
            mode,
            n_samples,
        )

    def _run_by_distance(self, mode: int, n_samples: int) -> None:
        """As `run`, with the user's distance between proposal and decision."""
        if mode == POLISH:
            return
        runs, is_open = self.ladder.runs, self.ladder.rungs.pending.is_open
        distance = np.empty(self.engine.ladder.rungs)
        for _ in range(n_samples):
            if not self._call(PROPOSE, 1):
                self.log.drain(self.buffer)
                self._call(PROPOSE, 1)
            for c in range(len(distance)):
                distance[c] = math.inf
                if is_open[c] and runs.error[c] < math.inf:
                    distance[c] = self._distance(runs.series[c])
            self.decide(distance, mode)

    def decide(self, distance: Float1D, mode: int) -> None:
        """Decide on what all rungs have proposed, by its distances."""
        decide_all(self.engine.rules, self.ladder, self.buffer, distance, mode)

    def _distance(self, simulated: Float1D) -> float:
        """The user's distance in the user's units, averaged over records by their length."""
        engine = self.engine
        assert engine.distance is not None
        offset, scale = float(engine.scaling.offset[-1]), float(engine.scaling.scale[-1])
        total = 0.0
        for first, stop in zip(
            self.fitting.run.data.first, self.fitting.run.data.stop, strict=True
        ):
            measured = engine.regression.output[first:stop] * scale + offset
            try:
                value = float(engine.distance(simulated[first:stop] * scale + offset, measured))
            except Exception as error:
                raise AdjoinError(
                    f"the distance function failed ({type(error).__name__}: {error}); it must take"
                    " two arrays, simulated and measured, and return a number"
                ) from error
            if value < 0.0:
                raise AdjoinError(
                    f"the distance function returned {value:g}; a distance is 0 where both series"
                    " are alike, and positive elsewhere"
                )
            total += value * (stop - first)
        total /= engine.regression.n_rows
        return total if math.isfinite(total) else math.inf

    def prepare(self) -> None:
        """One round of calibration: a greedy descent of every rung, and a polish.

        The first begins with random structures, the last ends with the first ladder.
        """
        if self.n_rounds == 0:
            self._begin_calibration()
        self.run(DESCEND, max(self.engine.ladder.descent // _POLISHES, 1))
        self.run(POLISH, 1)
        self.n_rounds += 1
        if self.n_rounds == _POLISHES:
            self._end_calibration()

    def _begin_calibration(self) -> None:
        """Random structures, one per rung."""
        engine, ladder = self.engine, self.ladder
        fixed = engine.problem.alphabet.fixed.terms
        for c in range(engine.ladder.rungs):
            drawn = engine.prior.draw_structure(self.rng, engine.encoding, engine.prior_table)
            terms = [*fixed, *(term for term in drawn if term not in fixed)]
            state = as_rung(ladder.rungs.state, c)
            write_terms(state, engine.encoding, terms[: engine.capacity])
            state.theta[: engine.target.n_pinned] = engine.regression.pinned_theta
        nothing = engine.regression.output_norm**2, np.zeros_like(engine.regression.output)
        lower, upper = engine.problem.bounds
        if not lower <= 0.0 <= upper:  # at rest it is farther away than a run that is lost
            nothing = math.inf, nothing[1]
        self.hottest = self._judged(*nothing)[1]
        start = self._run_of_pinned() if engine.target.n_pinned else nothing
        tolerances = ladder.tolerances
        ladder.rungs.error[:], tolerances.distance[:] = self._judged(*start)
        tolerances.tolerance[:] = tolerances.distance

    def _end_calibration(self) -> None:
        """The first ladder, from no model at all down to a little above the best that was met."""
        engine, ladder = self.engine, self.ladder
        ladder.walk.n_steps[:] = 0
        ladder.walk.width[:] = engine.ladder.width
        wanted = engine.ladder.tolerance
        is_enough = wanted is not None and self.floor <= wanted and math.isfinite(self.floor)
        if not (self.floor < self.hottest or is_enough):
            n_proposals = ladder.rungs.counters.saved[PROPOSALS]
            lower, upper = engine.problem.bounds
            level = "" if lower <= 0.0 <= upper else "let the output be centred (center=True); "
            raise AdjoinError(
                f"none of {n_proposals:,} models came nearer to the measured output"
                " than no model at all: every free run ran away or went astray. Check that input"
                f" and output belong together and are in order; {level}let signals be scaled"
                " (scale=True); lower max_degree; or start with objective='prediction'"
            )
        if not math.isfinite(self.hottest):  # no model at all has no distance
            self.hottest = _DECADES * self.floor
        self.stage = 0
        self._respace(max(engine.ladder.cold_margin * self.floor, wanted or 0.0))

    def _judged(self, error: float, series: Float1D) -> tuple[float, float]:
        """The squared error of a run, and its distance."""
        if self.engine.distance is not None and math.isfinite(error):
            return error, self._distance(series)
        return error, error / self.engine.target.unit

    def _run_of_pinned(self) -> tuple[float, Float1D]:
        """Squared error and series of the free run of the pinned terms alone."""
        problem, run = self.engine.problem, self.fitting.run.data
        scaling, n_seed = problem.rows.scaling, problem.rows.max_lag
        inputs = [record.inputs for record in problem.data.records]
        seeds = [record.output[:n_seed] for record in problem.data.records]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # an infinite error says it
            found = problem.white_box(problem.pinned).simulate(inputs, seeds)
        series = (np.concatenate(found) - scaling.offset[-1]) / scaling.scale[-1]
        if not np.isfinite(series).all():
            return math.inf, series
        error = series - run.measured
        stretches = zip(run.first, run.stop, strict=True)
        return float(sum(error[a:b] @ error[a:b] for a, b in stretches)), series

    def _end_stage(self) -> None:
        """Tighten the ladder, and after the last stage freeze it."""
        settings, ladder = self.engine.ladder, self.ladder
        self.stage += 1
        visited = ladder.tolerances.cold[: ladder.tolerances.n_cold[0]]
        quantile = float(np.quantile(visited, settings.quantile))
        coldest = min(quantile, float(ladder.tolerances.tolerance[0]))
        reason = f"the {settings.quantile:g} quantile of the distances in the last of"
        self.reason = f"{reason} {settings.stages} stages"
        if self.engine.is_guided and math.isfinite(ladder.champion.error[0]):
            n_terms = int(ladder.champion.state.n_terms[0]) - self.engine.target.n_pinned
            margin = settings.margin(n_terms, self.engine.regression.n_rows)
            coldest = float(ladder.champion.error[0]) / self.engine.target.unit * (1.0 + margin)
            self.reason = (
                f"the squared error of the best structure fitted, of {n_terms} terms, and"
                f" {100 * margin:.3g} % more"
            )
        if settings.tolerance is not None:
            coldest = settings.tolerance if self.is_frozen else max(coldest, settings.tolerance)
            self.reason = "the tolerance that was asked for"
            if self.is_frozen and self.floor > settings.tolerance:
                self._strand(
                    f"the tolerance {settings.tolerance:g} cannot be met: the smallest distance"
                    f" found is {self.floor:.4g}. Raise the tolerance, or leave it to the rule;"
                    " draw more samples; or allow a richer model (expected_terms, max_lag,"
                    " max_degree)"
                )
                return
        self._respace(coldest)
        if self.is_frozen:
            counters = ladder.rungs.counters
            for counter in (counters.move, counters.guided, counters.swap):
                counter[:] = 0

    def _strand(self, reason: str) -> None:
        """Record nothing from here on, and say why."""
        self.is_stranded, self.reason = True, reason

    def settle(self, tolerance: float, reason: str) -> None:
        """Take the tolerance that all chains share instead of one's own, before the first record.

        A chain that has met nothing within it has nothing to record.
        """
        if self.floor > tolerance:
            self._strand(
                f"it met nothing within the tolerance {tolerance:.4g} that all chains share: the"
                f" smallest distance it found is {self.floor:.4g}"
            )
            return
        self.reason = reason
        self.history.pop()
        self._respace(tolerance)

    def _respace(self, coldest: float) -> None:
        """Place the ladder above the floor, and give each rung a state that satisfies it."""
        engine, ladder = self.engine, self.ladder
        if math.isfinite(self.hottest):  # of data without noise: rounding leaves nothing to anneal
            coldest = max(coldest, _LEAST_SHARE * self.hottest)
        lowest = min(self.floor, (1.0 - _LEAST_EXCESS) * coldest)
        tolerances = ladder.tolerances
        tolerances.tolerance[:] = engine.ladder.spaced(lowest, coldest, self.hottest)
        self.history.append((tolerances.tolerance.copy(), self.floor))
        # Above, free runs are found without a guide, and every structure would have to be fitted.
        level = float(tolerances.tolerance[(engine.ladder.rungs - 1) // 2]) * engine.target.unit
        if level > tolerances.level[0]:  # what was given up may have a chance now
            forget_all(self.fitting.fits)
        tolerances.level[0] = level
        self._reassign()
        ladder.walk.n_steps[:] = 0
        tolerances.n_cold[:] = 0

    def _reassign(self) -> None:
        """Give rungs beyond their tolerance the farthest known state within it.

        The coldest rung goes to the best structure fitted, if there is one: where the posterior has
        many modes, it should begin in the largest that is known.
        """
        ladder, unit = self.ladder, self.engine.target.unit
        tolerances, champion_error = ladder.tolerances, ladder.champion.error[0]
        known = [
            (d, e, _copied(as_rung(ladder.rungs.state, c)))
            for c, (d, e) in enumerate(zip(tolerances.distance, ladder.rungs.error, strict=True))
        ]
        if math.isfinite(ladder.best.distance[0]):
            best = ladder.best
            known.append((best.distance[0], best.error[0], _copied(best.state)))
        champion = None
        if self.engine.is_guided and math.isfinite(ladder.champion.error[0]):
            champion = champion_error / unit, champion_error, _copied(ladder.champion.state)
            known.append(champion)
        for c, tolerance in enumerate(tolerances.tolerance):
            place = known[c]
            if c == 0 and champion is not None and champion[0] <= tolerance:
                place = champion
            elif not place[0] <= tolerance or place[0] == math.inf:
                near = (p for p in known if p[0] <= tolerance and p[0] < math.inf)
                place = max(near, key=lambda p: p[0])
            state = as_rung(ladder.rungs.state, c)
            tolerances.distance[c], ladder.rungs.error[c] = place[0], place[1]
            for name in ("atom", "degree", "key", "theta", "n_terms"):
                getattr(state, name)[:] = getattr(place[2], name)

    def pack(self) -> Packed:
        """Everything needed to continue, and the trace so far, as plain arrays."""
        packed = {name: values.copy() for name, values in state_arrays(self).items()}
        packed["generator"] = pack_generator(self.rng)
        packed["stage"], packed["hottest"] = np.array([self.stage]), np.array([self.hottest])
        packed["n_rounds"] = np.array([self.n_rounds])
        packed["is_stranded"] = np.array([self.is_stranded])
        return packed | pack_trace(self.finish())

    @classmethod
    def unpack(cls, engine: AbcSetup, packed: Mapping[str, np.ndarray]) -> Self:
        """The chain that was packed."""
        chain, trace = cls(engine, np.random.Generator(np.random.PCG64())), unpack_trace(packed)
        chain.rng.bit_generator.state = unpack_generator(packed["generator"])
        for name, values in state_arrays(chain).items():
            values[:] = packed[name]
        chain.stage, chain.hottest = int(packed["stage"][0]), float(packed["hottest"][0])
        chain.n_rounds, chain.is_stranded = (
            int(packed["n_rounds"][0]),
            bool(packed["is_stranded"][0]),
        )
        assert trace.ladder is not None
        chain.history = list(zip(trace.ladder.tolerance, trace.ladder.floor.tolist(), strict=True))
        chain.reason = trace.ladder.reason
        chain.log = TraceLog.of(engine.encoding, trace, engine.table_bytes)
        return chain

    def finish(self) -> ChainTrace:
        """What the chain recorded."""
        counters = self.ladder.rungs.counters
        self.buffer.move[:] = counters.move[0]
        trace = LadderTrace(
            distance=np.empty(0),
            tolerance=np.array([row for row, _ in self.history]).reshape(
                -1, self.engine.ladder.rungs
            ),
            floor=np.array([floor for _, floor in self.history]),
            width=self.ladder.walk.width.copy(),
            move=counters.move.copy(),
            guided=counters.guided.copy(),
            swap=counters.swap.copy(),
            saved=counters.saved.copy(),
            reason=self.reason,
        )
        return self.log.finish(self.buffer, self.n_samples, trace)


def _copied(state: Chain) -> Chain:
    return Chain(**{name: values.copy() for name, values in state._asdict().items()})


def state_arrays(chain: AbcChain) -> dict[str, np.ndarray]:
    """Every array that makes up the state of a chain, by name."""
    found = {"trouble": chain.buffer.trouble} | arrays_of(chain.ladder)
    # Runs that were handed out are of no use once all is decided.
    return {name: values for name, values in found.items() if not name.startswith("runs_")}
