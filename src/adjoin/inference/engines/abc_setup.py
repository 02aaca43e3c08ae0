"""What a ladder of tolerances samples: the settings of the free-run engine, checked and laid out.

Receives a `Problem`, prior, moves and the ladder's settings; both the engine (``abc``) and its
chains (``abc_chain``) work by it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.inference.ladder import DEFAULT, PAPER, Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.kernels.ladders import AbcRules, AbcTarget
from adjoin.kernels.layouts import Regression
from adjoin.kernels.state import PriorTable

Distance = Callable[[Float1D, Float1D], float]
"""Of one record: simulated and measured output, in the user's units, seeding samples left out."""

_REACH = 1.2  # of the guided ellipsoid: the linearised tolerance is a little too narrow


@dataclass(frozen=True, eq=False)
class AbcSetup:
    r"""The posterior of structures and coefficients whose free run is near the measured output.

    .. math:: p(T, θ) \propto p(T)\, N(θ; 0, σ_θ² I)\, 1\{d(T, θ) ≤ ε_0\}

    Parameters
    ----------
    problem : Problem
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
        Every n-th sample is recorded.
    table_bytes : int
        Most memory for the fits of one chain. Results do not depend on it.
    burn_in : float
        Not used: what anneals is the ladder's own share.
    """

    problem: Problem
    samples: int
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    ladder: Ladder = field(default_factory=Ladder)
    rule: str = DEFAULT
    distance: Distance | None = None
    thin: int = 1
    table_bytes: int = 64 * 2**20
    burn_in: float = 0.5

    def __post_init__(self) -> None:
        object.__setattr__(self, "ladder", Ladder.read(self.ladder))
        self._check()

    def _check(self) -> None:
        if self.problem.has_noise:
            raise AdjoinError("a free run has no past noise; use a grammar without it")
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
    def schedule(self) -> tuple[int, ...]:
        """See `adjoin.inference.engine.Engine`."""
        return (self.n_annealing,)

    @property
    def encoding(self) -> Encoding:
        """Numbers for atoms and terms."""
        return self.problem.encoding

    @property
    def regression(self) -> Regression:
        """The data, for the kernels."""
        return self.problem.regression

    @property
    def scaling(self) -> Scaling:
        """From the user's units to those of the chain."""
        return self.problem.rows.scaling

    @property
    def capacity(self) -> int:
        """How many terms a structure may have."""
        return self.problem.capacity

    @cached_property
    def prior_table(self) -> PriorTable:
        """The prior, for the kernels."""
        return self.prior.table(self.encoding)

    @cached_property
    def rules(self) -> AbcRules:
        """What the ladder samples, and by which moves, for the kernels."""
        return AbcRules(self.prior_table, self.moves.table(self.encoding), self._target())

    @property
    def target(self) -> AbcTarget:
        """What the ladder samples and how it proposes."""
        return self.rules.target

    def _target(self) -> AbcTarget:
        ladder, n_rows = self.ladder, self.regression.n_rows
        normaliser = float(np.var(self.problem.rows.fitted)) or 1.0  # as of any NMSE
        return AbcTarget(
            coefficient=float(self.prior.coefficient_sd) ** 2,
            birth_sd=float(ladder.birth_sd),
            acceptance=float(ladder.acceptance),
            guided=float(ladder.guided) if self.is_guided else 0.0,
            reach=_REACH,
            unit=n_rows * normaliser / 100.0,
            is_squared=self.distance is None,
            n_rows=n_rows,
            swap_interval=int(ladder.swap_interval),
            thin=int(self.thin),
            n_pinned=len(self.problem.pinned),
        )
