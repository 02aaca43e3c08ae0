"""The free-run engine: the paper's Algorithm 2, a ladder of tolerances on the free run's distance.

Receives data, grammar, prior, moves and the ladder's settings; starts chains (``abc_chain``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.alphabet import Alphabet
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.terms import Structure
from adjoin.inference.engines.abc_chain import AbcChain, Distance, as_rung, state_arrays
from adjoin.inference.engines.workspace import MAX_TERMS, unpack_generator, write_terms
from adjoin.inference.ladder import DEFAULT, NMSE, PAPER, Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.problem import lay_out
from adjoin.kernels.abc import run_abc
from adjoin.kernels.ladders import AbcTarget
from adjoin.kernels.layouts import Regression
from adjoin.kernels.state import DESCEND, POLISH, RECORD, MoveTable, PriorTable

_REACH = 1.2  # of the guided ellipsoid: the linearised tolerance is a little too narrow


@dataclass(frozen=True, eq=False)
class AbcEngine:
    r"""The posterior of structures and coefficients whose free run is near the measured output.

    .. math:: p(T, θ) \propto p(T)\, N(θ; 0, σ_θ² I)\, 1\{d(T, θ) ≤ ε_0\}

    Parameters
    ----------
    data : Dataset
        In the user's units.
    alphabet : Alphabet
        What structures are made of; its fixed terms are in all of them.
    samples : int
        How many samples a chain will draw; a share of them anneals.
    prior : Prior
        Its noise is not used: the tolerance takes that part.
    moves : Moves
    ladder : Ladder
    rule : {"default", "paper"}
        How the final tolerance is found, and whether proposals are guided; see `Ladder`.
    distance : callable, optional
        Of simulated and measured output; default: the normalised mean square error in percent.
    thin : int
        Every which sample is recorded.
    table_bytes : int
        Most memory for the fits of one chain. Results do not depend on it.
    scaling : Scaling, optional
        From the user's units to those of the chain; default: none.
    is_residual : bool
        Whether fixed terms keep the coefficients of their own least-squares fit.
    """

    data: Dataset
    alphabet: Alphabet
    samples: int
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    ladder: Ladder = field(default_factory=Ladder)
    rule: str = DEFAULT
    distance: Distance | None = None
    thin: int = 1
    table_bytes: int = 64 * 2**20
    scaling: Scaling | None = None
    is_residual: bool = False
    encoding: Encoding = field(init=False)
    regression: Regression = field(init=False)
    prior_table: PriorTable = field(init=False)
    move_table: MoveTable = field(init=False)
    target: AbcTarget = field(init=False)

    power = 1.0
    kernel = staticmethod(run_abc)

    def __post_init__(self) -> None:
        self._check()
        encoding = Encoding(self.alphabet)
        object.__setattr__(self, "encoding", encoding)
        regression = lay_out(self.data, encoding, self.scaling, is_residual=self.is_residual)
        object.__setattr__(self, "regression", regression)
        object.__setattr__(self, "prior_table", self.prior.table(encoding))
        object.__setattr__(self, "move_table", self.moves.table(encoding))
        ladder, n_rows = self.ladder, regression.n_rows
        target = AbcTarget(
            coefficient=float(self.prior.coefficient_sd) ** 2,
            birth_sd=float(ladder.birth_sd),
            acceptance=float(ladder.acceptance),
            guided=float(ladder.guided) if self.is_guided else 0.0,
            reach=_REACH,
            unit=n_rows * self.output_variance / 100.0,
            is_squared=self.distance is None,
            n_rows=n_rows,
            swap_interval=int(ladder.swap_interval),
            thin=int(self.thin),
            n_pinned=len(regression.pinned_key),
        )
        object.__setattr__(self, "target", target)

    def _check(self) -> None:
        if self.rule not in (DEFAULT, PAPER):
            raise AdjoinError(f"rule must be '{DEFAULT}' or '{PAPER}', not {self.rule!r}")
        if self.distance is not None and not callable(self.distance):
            raise AdjoinError(
                "distance must be a function of simulated and measured output, or None, not"
                f" {self.distance!r}"
            )
        if self.prior.coefficient_shape is not None:
            raise AdjoinError(
                "the free-run engine has no hyperprior of coefficients; leave coefficient_shape and"
                " coefficient_scale of the Prior at None"
            )
        if self.n_annealing < self.ladder.stages:
            n_least = math.ceil(self.ladder.stages / self.ladder.annealing)
            n_least += int(self.ladder.annealing * n_least) < self.ladder.stages  # rounding
            raise AdjoinError(
                f"{self.samples} samples are too few for {self.ladder.stages} stages of annealing;"
                f" draw at least {n_least}"
            )
        if self.samples - self.n_annealing < self.thin:
            raise AdjoinError(
                f"annealing takes {self.n_annealing} of {self.samples} samples, and"
                f" thin={self.thin} keeps none of the rest; draw more samples or thin less"
            )

    @property
    def is_guided(self) -> bool:
        """Whether free-run fits guide proposals and set the tolerance: for squared errors only."""
        return self.rule == DEFAULT and self.distance is None

    @property
    def n_annealing(self) -> int:
        """How many samples anneal."""
        return int(self.ladder.annealing * self.samples)

    @property
    def output_variance(self) -> float:
        """Variance of the output that is fitted, in model units; 1 for a constant one."""
        blocks = zip(self.regression.start, self.regression.stop, strict=True)
        fitted = np.concatenate([self.regression.output[first:stop] for first, stop in blocks])
        return float(np.var(fitted)) or 1.0

    @property
    def capacity(self) -> int:
        """How many terms a structure may have."""
        return min(self.alphabet.n_terms, MAX_TERMS) + len(self.alphabet.fixed)

    def warm_up(self) -> None:
        """Compile what a chain runs."""
        chain = self.start(0)
        chain.run(RECORD, 0)
        if self.distance is not None:
            chain.decide(np.full(self.ladder.rungs, math.inf), DESCEND)

    def start(self, seed: np.random.SeedSequence | int) -> AbcChain:
        """A chain that has drawn nothing yet; it calibrates before its first sample."""
        return AbcChain(self, np.random.Generator(np.random.PCG64(seed)))

    def resume(self, packed: Mapping[str, np.ndarray]) -> AbcChain:
        """A chain from what `AbcChain.pack` gave; it continues bit for bit."""
        chain = self.start(0)
        chain.rng.bit_generator.state = unpack_generator(packed["generator"])
        for name, values in state_arrays(chain).items():
            values[:] = packed[name]
        chain.stage, chain.hottest = int(packed["stage"][0]), float(packed["hottest"][0])
        chain.history = list(zip(packed["tolerances"], packed["floors"].tolist(), strict=True))
        chain.reason = bytes(packed["reason"]).decode()
        chain.is_stranded = bool(packed["is_stranded"][0])
        chain.n_start = chain.n_drawn
        return chain

    def polish(self, structure: Structure, theta: Float1D, distance: float) -> Float1D:
        """The coefficients of the structure's own fit, or θ if it, at this distance, is nearer."""
        if self.distance is not None:
            return theta
        chain = self.start(0)
        state = as_rung(chain.ladder.rungs.state, 0)
        # In the chain's order fixed terms come first.
        fixed = [term for term in structure if term in self.alphabet.fixed.terms]
        terms = [*fixed, *(term for term in structure if term not in fixed)]
        order = [structure.terms.index(term) for term in terms]
        write_terms(state, self.encoding, terms)
        state.theta[: len(terms)] = np.asarray(theta)[order]
        chain.ladder.tolerances.distance[:] = distance
        chain.ladder.rungs.error[:] = distance * self.target.unit
        chain.run(POLISH, 1)
        found = np.empty(len(terms))
        found[order] = state.theta[: len(terms)]
        return found


def name_of(distance: Distance | None) -> str:
    """What to call a distance; shipped ones say how they were made."""
    if distance is None:
        return NMSE
    module = type(distance).__module__
    if module == "adjoin.distances":
        return f"{module}.{distance!r}"
    name = str(getattr(distance, "__name__", type(distance).__name__))
    if name == NMSE:  # which is the name of adjoin's own
        return f"my_{name}"
    return name if name.isidentifier() else "my_distance"  # a lambda has no name to call it by
