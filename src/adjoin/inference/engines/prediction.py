"""The prediction engine: conjugate reversible-jump chains one step ahead (the paper's Approach 1).

Receives a `Problem`, prior and moves; runs ``kernels/prediction.py`` on its own workspace and
table, and gives traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.terms import Structure
from adjoin.inference.engine import Modes, Packed, Visits
from adjoin.inference.engines.workspace import (
    make_chain,
    make_table,
    make_work,
    pack_generator,
    pack_trace,
    unpack_generator,
    unpack_trace,
    write_terms,
)
from adjoin.inference.moves import Moves
from adjoin.inference.objective import PREDICTION, Objective
from adjoin.inference.prior import Prior, draw_prior_terms
from adjoin.inference.problem import Problem
from adjoin.inference.rows import conditional_mode
from adjoin.inference.settings import NoSettings, RunSettings
from adjoin.inference.traces import ChainTrace, TraceLog, make_buffer
from adjoin.kernels.hashing import rehash
from adjoin.kernels.layouts import Regression
from adjoin.kernels.prediction import run_prediction
from adjoin.kernels.state import Chain, Rules, Target, Trace
from adjoin.levels import Finding

_FIRST_CAPACITY = 256


@dataclass(frozen=True, eq=False)
class PredictionEngine:
    """The posterior of structures, coefficients and noise given one-step-ahead residuals.

    Parameters
    ----------
    problem : Problem
    prior : Prior
    moves : Moves
    power : float
        w, to which the likelihood is raised; 0 samples the prior.
    samples : int
        Not used: a chain may go on for ever.
    thin : int
        Every n-th sample is recorded.
    table_bytes : int
        Most memory that one chain's table of inner products may take. Results do not depend on it.
    """

    problem: Problem
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    power: float = 1.0
    samples: int = 0
    thin: int = 1
    table_bytes: int = 128 * 2**20
    rules: Rules = field(init=False)

    name: ClassVar[str] = PREDICTION.name
    options: ClassVar[Mapping[str, str]] = {"likelihood_power": "power"}
    kernel: ClassVar[Callable[..., Any]] = staticmethod(run_prediction)
    objective = PREDICTION
    own_settings = NoSettings()

    def __post_init__(self) -> None:
        prior, encoding = self.prior, self.encoding
        target = Target(
            noise_shape=float(prior.noise_shape),
            noise_scale=self.problem.noise_scale(prior),
            power=float(self.power),
            coefficient_shape=float(prior.coefficient_shape or 0.0),
            coefficient_scale=float(prior.coefficient_scale or 0.0),
            thin=int(self.thin),
        )
        rules = Rules(prior.table(encoding), self.moves.table(encoding), target)
        object.__setattr__(self, "rules", rules)

    @property
    def encoding(self) -> Encoding:
        """Numbers for atoms and terms."""
        return self.problem.encoding

    @property
    def regression(self) -> Regression:
        """The data, or none where the likelihood is off."""
        return self.problem.regression if self.power > 0.0 else self.problem.without_data

    def warm_up(self) -> None:
        """Compile what a chain runs."""
        self.start(0).advance(1)

    def start(self, seed: np.random.SeedSequence | int) -> PredictionChain:
        """A chain at the fixed terms and one term drawn from the prior, noise at output scale.

        A term whose column is not finite on these data, such as ``exp`` of a large signal, is left
        out.
        """
        problem, rng = self.problem, np.random.Generator(np.random.PCG64(seed))
        state = make_chain(problem.capacity, self.encoding.max_degree)
        state.noise[0] = problem.output_variance
        state.coefficient[0] = float(self.prior.coefficient_sd) ** 2
        fixed = problem.alphabet.fixed.terms
        ((first, _),) = draw_prior_terms(rng, self.encoding, self.rules.prior, 1)
        is_used = first not in fixed and problem.rows.is_finite(first)
        write_terms(state, self.encoding, (*fixed, first) if is_used else fixed)
        state.theta[: len(self.regression.pinned_theta)] = self.regression.pinned_theta
        return PredictionChain(self, state, rng)

    def resume(self, packed: Mapping[str, np.ndarray]) -> PredictionChain:
        """A chain from what `PredictionChain.pack` gave; it continues bit for bit."""
        rng = np.random.Generator(np.random.PCG64())
        rng.bit_generator.state = unpack_generator(packed["generator"])
        state = Chain(**{name: packed[name].copy() for name in Chain._fields})
        chain = PredictionChain(self, state, rng)
        chain.buffer.move[:] = packed["move"]
        chain.buffer.trouble[:] = packed["trouble"]
        chain.log = TraceLog.of(self.encoding, unpack_trace(packed))
        return chain

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """There is one only."""
        return PREDICTION

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> NoSettings:
        """It has none."""
        if values:
            raise AdjoinError(f"settings: '{next(iter(values))}' is not known")
        return NoSettings()

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        r"""The maximum of the coefficients' full conditional at the structure's mean variances.

        Pinned coefficients stay, and the others explain what is left.
        """
        pinned = set(problem.pinned)

        def mode(structure: Structure, visits: Visits) -> Float1D:
            columns, output = problem.rows.design(structure), problem.rows.fitted
            is_free = np.array([term not in pinned for term in structure], dtype=bool)
            theta = np.zeros(len(structure))
            theta[~is_free] = problem.pinned_theta
            if pinned:
                output = output - columns @ theta
            noise, coefficient = float(visits.noise.mean()), float(visits.coefficient.mean())
            power = settings.likelihood_power
            theta[is_free] = conditional_mode(
                columns[:, is_free], output, noise, coefficient, power
            )
            return theta * problem.rows.factors(structure)

        return mode

    @staticmethod
    def excuse(trace: ChainTrace) -> str:
        """A chain that runs always records."""
        return "it recorded nothing; draw more samples, or thin less"

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """Nothing beyond what all chains have."""
        return {}

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        """Nothing either."""
        return ()


class PredictionChain:
    """One chain: its state, its generator, and the caches it works with."""

    def __init__(self, engine: PredictionEngine, state: Chain, rng: np.random.Generator) -> None:
        self.engine, self.state, self.rng = engine, state, rng
        capacity, max_degree = engine.problem.capacity, engine.encoding.max_degree
        self.buffer: Trace = make_buffer(capacity)
        self.log = TraceLog(engine.encoding)
        self._work = make_work(capacity, max_degree)
        first = max(_FIRST_CAPACITY, 2 * capacity + 2)
        most = int((engine.table_bytes // 8) ** 0.5)
        self._table = make_table(max(min(first, most), 2 * capacity + 2), max_degree)

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
    def _largest(self) -> int:
        """How many terms the table may hold."""
        most = int((self.engine.table_bytes // self._n_bytes) ** 0.5)
        return max(most, 2 * self.engine.problem.capacity + 2)

    @property
    def is_prepared(self) -> bool:
        """There is nothing to prepare."""
        return True

    def prepare(self) -> None:
        """Do nothing."""

    def advance(self, n_samples: int) -> None:
        """Draw so many samples more."""
        engine = self.engine
        while n_samples > 0:
            if self._table.size[0] + self.n_terms >= self._table.key.shape[0]:
                self._make_room()
            n_drawn = run_prediction(
                self.rng,
                self.state,
                engine.rules,
                engine.regression,
                self._table,
                self._work,
                self.buffer,
                n_samples,
            )
            if n_drawn < 0:
                raise AdjoinError(self._singular())
            n_samples -= n_drawn
            if n_samples > 0 and self.buffer.cursor.n_draws[0]:
                self.log.drain(self.buffer)

    def _singular(self) -> str:
        structure = self.engine.encoding.structure(tuple(self.state.key[: self.n_terms].tolist()))
        return (
            f"the terms '{structure}' cannot be told apart on these data, or are not finite; check"
            " the fixed terms and the units of the signals, or scale them"
        )

    def _make_room(self) -> None:
        """Double the table, or, at its largest, forget the half looked at longest ago."""
        table, n = self._table, int(self._table.size[0])
        capacity = min(2 * table.key.shape[0], self._largest)
        keep = np.arange(n)
        if capacity < n + self.n_terms + 1:
            keep = np.sort(np.argsort(table.used[:n], kind="stable")[n // 2 :])
        self._table = make_table(capacity, table.atom.shape[1])
        k, begun = len(keep), np.flatnonzero(table.rest.is_begun[keep])
        for name in ("key", "degree", "atom", "norm", "target", "used"):
            getattr(self._table, name)[:k] = getattr(table, name)[keep]
        for name in ("is_begun", "target"):
            getattr(self._table.rest, name)[:k] = getattr(table.rest, name)[keep]
        self._table.correlation[:k, :k] = table.correlation[np.ix_(keep, keep)]
        known = table.rest.correlation[np.ix_(keep[begun], keep[begun])]
        self._table.rest.correlation[np.ix_(begun, begun)] = known
        self._table.rest.square[:] = table.rest.square
        self._table.size[0] = k
        rehash(self._table)

    def pack(self) -> Packed:
        """Everything needed to continue, and the trace so far, as plain arrays."""
        packed = {name: value.copy() for name, value in self.state._asdict().items()}
        packed["generator"] = pack_generator(self.rng)
        packed["move"] = self.buffer.move.copy()
        packed["trouble"] = self.buffer.trouble.copy()
        return packed | pack_trace(self.finish())

    def finish(self) -> ChainTrace:
        """What the chain recorded."""
        return self.log.finish(self.buffer, self.n_samples)
