"""An engine in plain Python: structures drawn from the prior, taken or left by their likelihood.

It shows what a new engine is: this module, and one line in `adjoin.inference.engines.ENGINES`. A
proposal does not look at where the chain is, so that it is slow where the others are fast, and
right where they are right.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.grammar.terms import Structure
from adjoin.inference.engine import Modes, Packed, Visits
from adjoin.inference.moves import Moves
from adjoin.inference.objective import Noise, Objective, Residual
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.rows import conditional_mode
from adjoin.inference.settings import RunSettings
from adjoin.inference.traces import ChainTrace, from_arrays, join, to_arrays
from adjoin.levels import GOOD, Finding

TOY = Objective("toy", Residual.ONE_STEP, Noise.FED_BACK)
_WARM_UPS = 3  # pieces of preparation, so that there is something to be interrupted in


@dataclass(frozen=True)
class ToySettings:
    """What this engine alone has."""

    rule: str = "default"

    @property
    def plain(self) -> dict[str, Any]:
        return {"rule": self.rule}


@dataclass(frozen=True, eq=False)
class ToyEngine:
    """An independence sampler on structures, with coefficients at their conditional mode."""

    problem: Problem
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    samples: int = 0
    thin: int = 1
    table_bytes: int = 0
    rule: str = "default"
    burn_in: float = 0.5

    name: ClassVar[str] = TOY.name
    options: ClassVar[Mapping[str, str]] = {"rule": "rule"}
    objective = TOY
    power = 1.0
    has_stages = False
    n_apart = 0
    schedule = ()
    settled_by = ""

    @staticmethod
    def kernel() -> None:
        """Nothing is compiled."""

    @property
    def own_settings(self) -> ToySettings:
        return ToySettings(self.rule)

    def warm_up(self) -> None:
        """Nothing is compiled."""

    def start(self, seed: np.random.SeedSequence | int) -> ToyChain:
        rng = np.random.Generator(np.random.PCG64(seed))
        return ToyChain(self, rng, self.problem.alphabet.fixed)

    def resume(self, packed: Mapping[str, np.ndarray]) -> ToyChain:
        words = [int(word) for word in packed["generator"]]
        rng = np.random.Generator(np.random.PCG64())
        state = {"state": words[0] << 64 | words[1], "inc": words[2] << 64 | words[3]}
        more = {"has_uint32": words[4], "uinteger": words[5]}
        rng.bit_generator.state = {"bit_generator": "PCG64", "state": state, **more}
        structure = self.problem.encoding.structure(tuple(packed["keys"].tolist()))
        chain = ToyChain(self, rng, structure, *packed["counts"].tolist())
        prefix = "trace."
        arrays = {k.removeprefix(prefix): v for k, v in packed.items() if k.startswith(prefix)}
        chain.recorded = from_arrays(arrays)
        return chain

    def agree(self, packed: Sequence[Packed]) -> Sequence[Packed]:
        return packed

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        return TOY

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> ToySettings:
        if strangers := set(values) - {"rule"}:
            raise AdjoinError(f"settings: '{min(strangers)}' is not known")
        return ToySettings(**values)

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        def mode(structure: Structure, visits: Visits) -> Float1D:
            return _fit(problem, structure)[0] * problem.rows.factors(structure)

        return mode

    @staticmethod
    def excuse(trace: ChainTrace) -> str:
        return "it recorded nothing"

    @staticmethod
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """All chains count."""
        return {}

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        return {"toy": {str(number): trace.n_samples for number, trace in traces.items()}}

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        return [(GOOD, f"{sum(diagnostics['toy'].values())} samples of a toy", "")]


@dataclass
class ToyChain:
    """One chain: a structure, a generator, and what was recorded."""

    engine: ToyEngine
    rng: np.random.Generator
    structure: Structure
    n_samples: int = 0
    n_accepted: int = 0
    n_prepared: int = 0
    recorded: ChainTrace | None = None

    @property
    def n_terms(self) -> int:
        return len(self.structure)

    @property
    def acceptance(self) -> float:
        return self.n_accepted / max(self.n_samples, 1)

    @property
    def is_prepared(self) -> bool:
        return self.n_prepared == _WARM_UPS

    def prepare(self) -> None:
        self.structure = self._propose()
        self.n_prepared += 1

    def advance(self, n_samples: int) -> None:
        while not self.is_prepared:
            self.prepare()
        for _ in range(n_samples):
            proposed, log_uniform = self._propose(), math.log(self.rng.random())
            ratio = self._log_lik(proposed) - self._log_lik(self.structure)
            if log_uniform < ratio:
                self.structure, self.n_accepted = proposed, self.n_accepted + 1
            self.n_samples += 1
            if self.n_samples % self.engine.thin == 0:
                self._record()

    def _propose(self) -> Structure:
        engine = self.engine
        table = engine.prior.table(engine.problem.encoding)
        return engine.prior.draw_structure(self.rng, engine.problem.encoding, table)

    def _log_lik(self, structure: Structure) -> float:
        n_rows = len(self.engine.problem.rows.fitted)
        return -0.5 * n_rows * math.log(_fit(self.engine.problem, structure)[1])

    def _record(self) -> None:
        theta, noise = _fit(self.engine.problem, self.structure)
        keys = tuple(map(self.engine.problem.encoding.key, self.structure))
        one = ChainTrace(
            structures=[keys],
            structure=np.zeros(1, dtype=np.int64),
            theta=theta,
            offset=np.array([0, len(keys)]),
            noise=np.array([noise]),
            coefficient=np.ones(1),
            log_lik=np.array([self._log_lik(self.structure)]),
            log_prior=np.zeros(1),
            move=np.zeros((9, 3), dtype=np.int64),
            trouble=np.zeros(3, dtype=np.int64),
            n_samples=self.n_samples,
        )
        self.recorded = one if self.recorded is None else join(self.recorded, one)

    def pack(self) -> Packed:
        inner = self.rng.bit_generator.state
        halves = [*divmod(inner["state"]["state"], 2**64), *divmod(inner["state"]["inc"], 2**64)]
        words = [*halves, inner["has_uint32"], inner["uinteger"]]
        keys = list(map(self.engine.problem.encoding.key, self.structure))
        return {
            "generator": np.array(words, dtype=np.uint64),
            "keys": np.array(keys, dtype=np.int64),
            "counts": np.array([self.n_samples, self.n_accepted, self.n_prepared]),
            **{f"trace.{name}": values for name, values in to_arrays(self.finish()).items()},
        }

    def finish(self) -> ChainTrace:
        if self.recorded is not None:
            return self.recorded._replace(n_samples=self.n_samples)
        whole, none = np.zeros(0, dtype=np.int64), np.zeros(0)
        counters = np.zeros((9, 3), dtype=np.int64), np.zeros(3, dtype=np.int64)
        edge = np.zeros(1, dtype=np.int64)
        return ChainTrace([], whole, none, edge, none, none, none, none, *counters, self.n_samples)


def _fit(problem: Problem, structure: Structure) -> tuple[Float1D, float]:
    """Coefficients in model units, and the mean square of what they leave."""
    columns, output = problem.rows.design(structure), problem.rows.fitted
    theta = conditional_mode(columns, output, 1e-3, 1.0, 1.0)
    left = output - columns @ theta
    return theta, float(left @ left) / len(output)
