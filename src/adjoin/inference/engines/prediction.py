"""The one-step-ahead engine: conjugate reversible-jump chains (the paper's Approach 1).

Receives data, grammar, prior and moves; runs ``kernels/prediction.py`` on its own workspace and
table, and gives traces.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.alphabet import Alphabet
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.terms import Structure, Term
from adjoin.inference.engines.workspace import (
    MAX_TERMS,
    make_chain,
    make_table,
    make_work,
    pack_generator,
    unpack_generator,
    write_terms,
)
from adjoin.inference.moves import Moves
from adjoin.inference.prior import STANDARD, Prior, draw_prior_terms
from adjoin.inference.problem import design, lay_out
from adjoin.inference.traces import ChainTrace, TraceLog, make_buffer
from adjoin.kernels.hashing import rehash
from adjoin.kernels.layouts import Regression
from adjoin.kernels.prediction import run_prediction
from adjoin.kernels.state import Chain, Rules, Target, Trace

_FIRST_CAPACITY = 256


@dataclass(frozen=True, eq=False)
class PredictionEngine:
    """The posterior of structures, coefficients and noise given one-step-ahead residuals.

    Parameters
    ----------
    data : Dataset
        In the user's units.
    alphabet : Alphabet
        What structures are made of; its fixed terms are in all of them.
    prior : Prior
    moves : Moves
    power : float
        w, to which the likelihood is raised; 0 samples the prior.
    thin : int
        Every which sample is recorded.
    table_bytes : int
        Most memory that one chain's table of inner products may take. Results do not depend on it.
    scaling : Scaling, optional
        From the user's units to those of the chain; default: none.
    is_residual : bool
        Whether fixed terms keep the coefficients of their own least-squares fit.
    """

    data: Dataset
    alphabet: Alphabet
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    power: float = 1.0
    thin: int = 1
    table_bytes: int = 128 * 2**20
    scaling: Scaling | None = None
    is_residual: bool = False
    encoding: Encoding = field(init=False)
    regression: Regression = field(init=False)
    rules: Rules = field(init=False)

    kernel = staticmethod(run_prediction)

    def __post_init__(self) -> None:
        encoding = Encoding(self.alphabet)
        object.__setattr__(self, "encoding", encoding)
        is_off = self.power == 0.0
        regression = lay_out(self.data, encoding, self.scaling, is_off, self.is_residual)
        object.__setattr__(self, "regression", regression)
        prior, variance = self.prior, self.output_variance
        relative = variance if prior.units == STANDARD else 1.0
        target = Target(
            noise_shape=float(prior.noise_shape),
            noise_scale=float(prior.noise_scale) * relative,
            power=float(self.power),
            coefficient_shape=float(prior.coefficient_shape or 0.0),
            coefficient_scale=float(prior.coefficient_scale or 0.0),
            thin=int(self.thin),
        )
        rules = Rules(prior.table(encoding), self.moves.table(encoding), target)
        object.__setattr__(self, "rules", rules)

    @property
    def output_variance(self) -> float:
        """Variance of the output in model units; 1 for a constant one."""
        return float(np.var(self.regression.output)) or 1.0

    @property
    def capacity(self) -> int:
        """How many terms a structure may have."""
        return min(self.alphabet.n_terms, MAX_TERMS) + len(self.alphabet.fixed)

    def warm_up(self) -> None:
        """Compile what a chain runs."""
        self.start(0).advance(1)

    def start(self, seed: np.random.SeedSequence | int) -> PredictionChain:
        """A chain at the fixed terms and one term drawn from the prior, noise at output scale.

        A term whose column is not finite on these data, such as ``exp`` of a large signal, is left
        out.
        """
        rng = np.random.Generator(np.random.PCG64(seed))
        state = make_chain(self.capacity, self.encoding.max_degree)
        state.noise[0] = self.output_variance
        state.coefficient[0] = float(self.prior.coefficient_sd) ** 2
        fixed = self.alphabet.fixed.terms
        ((first, _),) = draw_prior_terms(rng, self.encoding, self.rules.prior, 1)
        is_used = first not in fixed and self._is_finite(first)
        write_terms(state, self.encoding, (*fixed, first) if is_used else fixed)
        state.theta[: len(self.regression.pinned_theta)] = self.regression.pinned_theta
        return PredictionChain(self, state, rng)

    def _is_finite(self, term: Term) -> bool:
        structure = Structure((term,), self.alphabet.names)
        with np.errstate(over="ignore"):
            columns, _ = design(self.data, structure, self.alphabet.max_lag, self.scaling)
            return bool(np.isfinite(columns.T @ columns).all())

    def resume(self, packed: Mapping[str, np.ndarray]) -> PredictionChain:
        """A chain from what `PredictionChain.pack` gave; it continues bit for bit."""
        rng = np.random.Generator(np.random.PCG64())
        rng.bit_generator.state = unpack_generator(packed["generator"])
        state = Chain(**{name: packed[name].copy() for name in Chain._fields})
        chain = PredictionChain(self, state, rng)
        chain.buffer.move[:] = packed["move"]
        chain.buffer.trouble[:] = packed["trouble"]
        return chain


class PredictionChain:
    """One chain: its state, its generator, and the caches it works with."""

    def __init__(self, engine: PredictionEngine, state: Chain, rng: np.random.Generator) -> None:
        self.engine, self.state, self.rng = engine, state, rng
        self.n_start = int(state.n_drawn[0])
        self.buffer: Trace = make_buffer(engine.capacity)
        self.log = TraceLog(engine.encoding)
        self._work = make_work(engine.capacity, engine.encoding.max_degree)
        most = int((engine.table_bytes // 8) ** 0.5)
        self._largest = max(most, 2 * engine.capacity + 2)
        first = max(_FIRST_CAPACITY, 2 * engine.capacity + 2)
        self._table = make_table(min(first, self._largest), engine.encoding.max_degree)

    @property
    def n_samples(self) -> int:
        """How many samples this object has drawn."""
        return int(self.state.n_drawn[0]) - self.n_start

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
        return int(self._table.correlation.nbytes)

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
            if n_samples > 0 and self.buffer.cursor.n_records[0]:
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
        k = len(keep)
        for old, new in zip(table, self._table, strict=True):
            if old is table.correlation:
                new[:k, :k] = old[np.ix_(keep, keep)]
            elif old is not table.bucket and old is not table.size:
                new[:k] = old[keep]
        self._table.size[0] = k
        rehash(self._table)

    def pack(self) -> dict[str, np.ndarray]:
        """Everything needed to continue, as plain arrays."""
        packed = {name: value.copy() for name, value in self.state._asdict().items()}
        packed["generator"] = pack_generator(self.rng)
        packed["move"] = self.buffer.move.copy()
        packed["trouble"] = self.buffer.trouble.copy()
        return packed

    def finish(self) -> ChainTrace:
        """What the chain recorded."""
        return self.log.finish(self.buffer, self.n_samples)
