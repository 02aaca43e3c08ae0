"""What all chains of the prediction engine share: data, prior, moves, and how they search.

Receives a `Problem`, prior and moves; hands chains the kernels' rules, and the alphabet as a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from adjoin.errors import AdjoinError
from adjoin.grammar.encoding import Encoding
from adjoin.inference.flips import Keys, make_flips
from adjoin.inference.moves import Moves
from adjoin.inference.pool import list_alphabet
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search
from adjoin.kernels.layouts import Regression
from adjoin.kernels.screening import Terms
from adjoin.kernels.state import Rules, Target
from adjoin.kernels.tables import Flips


@dataclass(frozen=True, eq=False)
class PredictionSetup:
    """The posterior of structures, coefficients and noise given one-step-ahead residuals.

    Parameters
    ----------
    problem : Problem
    prior : Prior
    moves : Moves
    power : float
        w, to which the likelihood is raised; 0 samples the prior.
    samples : int
        How many samples a chain is meant to draw; it may go on.
    thin : int
        Every n-th sample is recorded.
    table_bytes : int
        Most memory that one chain's table of inner products may take. Results do not depend on it.
    search : Search
        Informed moves, flips and tempering.
    burn_in : float
        The share of the samples during which pool and rungs may change.
    starts : tuple of tuple of int
        Structures, as keys of their terms, that the colder half of the rungs begins with, in an
        order of the chain's own. Default: none, and every rung begins with a term from the prior.
    known : tuple of tuple of int
        Structures, alike, whose differences are the groups of terms to flip.
    listed : Terms, optional
        The alphabet as another setup with the same problem and prior has listed it.

    Attributes
    ----------
    rules : Rules
        As the kernels take them.
    shared : dict
        What chains work out once for all of them, as it depends on none; see `PredictionChain`.
    """

    problem: Problem
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    power: float = 1.0
    samples: int = 0
    thin: int = 1
    table_bytes: int = 128 * 2**20
    search: Search = field(default_factory=Search)
    burn_in: float = 0.5
    starts: tuple[Keys, ...] = ()
    known: tuple[Keys, ...] = ()
    listed: Terms | None = None
    rules: Rules = field(init=False)
    shared: dict[str, Any] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.problem.has_noise:
            raise AdjoinError(
                "terms with past noise are no columns, so nothing is conjugate here; they are for"
                " adjoin.inference.engines.innovations, which Identifier(objective='prediction')"
                " finds by itself"
            )
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

    @property
    def adaptations(self) -> tuple[int, ...]:
        """After how many samples pool and rungs are chosen, the last time for good."""
        return self.search.adaptations(int(self.burn_in * self.samples))

    @property
    def schedule(self) -> tuple[int, ...]:
        """See `adjoin.inference.engine.Engine`."""
        return self.adaptations

    @cached_property
    def listing(self) -> Terms:
        """The alphabet, to choose candidates from."""
        if self.listed is not None:
            return self.listed
        return list_alphabet(self.rules.prior, self.encoding)

    def flips(self) -> Flips:
        """Groups of terms to flip, with room to note which are in: one for each chain."""
        return make_flips(self.encoding, self.known, self.search.flips)

    def rules_at(self, power: float) -> Rules:
        """The rules of another rung."""
        return self.rules._replace(target=self.rules.target._replace(power=float(power)))
