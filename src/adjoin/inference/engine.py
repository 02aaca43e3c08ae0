"""The contract of engines: what the runner, the `Identifier` and the posterior ask of one.

An engine is set up from a `Problem` and keywords; it starts chains. A chain is a value: what it
draws does not depend on how it is cut into pieces, on the process it runs in, or on other chains
but where all of them `agree`, and what it packs is enough to continue bit for bit.
``adjoin.inference.engines`` finds an engine by the name of its objective.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.grammar.terms import Structure
from adjoin.inference.moves import Moves
from adjoin.inference.objective import Objective
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search
from adjoin.inference.settings import OwnSettings, RunSettings
from adjoin.inference.traces import ChainTrace
from adjoin.levels import Finding

Packed = dict[str, np.ndarray]
"""A chain, or its trace, as plain arrays by name."""


class Chain(Protocol):
    """One chain under way."""

    @property
    def n_samples(self) -> int:
        """How many samples were drawn since the chain began, also before it was packed."""

    @property
    def n_terms(self) -> int:
        """Its present number of terms."""

    @property
    def acceptance(self) -> float:
        """The share of structure moves accepted so far."""

    @property
    def is_prepared(self) -> bool:
        """Whether it can draw its first sample."""

    def prepare(self) -> None:
        """Do one more piece of what comes before the first sample, such as calibration."""

    def advance(self, n_samples: int) -> None:
        """Draw so many samples more; what was not prepared yet is prepared first."""

    def pack(self) -> Packed:
        """All that is needed to continue, and the trace so far, as `pack_trace` has it."""

    def finish(self) -> ChainTrace:
        """What was recorded since the chain began; it can go on afterwards."""


class Visits(NamedTuple):
    """What the draws of one structure were.

    ``theta`` : (n_visits, n_terms) coefficients in the user's units, terms in canonical order.
    ``noise``, ``coefficient`` : (n_visits,) variances σ² and σ_θ².
    ``distance`` : (n_visits,) of the free run, where the objective has a tolerance; else empty.
    """

    theta: Float2D
    noise: Float1D
    coefficient: Float1D
    distance: Float1D


Modes = Callable[[Structure, Visits], Float1D]
"""From a structure and its draws to its best coefficients, in the user's units."""


class Engine(Protocol):
    """A sampler of one objective.

    All engines take the keywords `problem`, `prior`, `moves`, `samples`, `burn_in`, `thin` and
    `table_bytes`, and those that `options` names. Nothing about a chain adapts after the share
    `burn_in` of its samples.
    """

    name: ClassVar[str]
    """Of the objective it samples, by which it is found."""
    options: ClassVar[Mapping[str, str]]
    """Arguments of `Identifier` that only some engines know, and this one's keyword for each."""
    default_search: ClassVar[Search]
    """How its chains search where nobody says otherwise; of those that take `search`."""
    has_stages: ClassVar[bool]
    """Whether it can find out by itself how many samples it needs."""
    kernel: ClassVar[Callable[..., Any]]
    """The compiled loop: a user who waits for its first compilation is told so."""

    def __init__(
        self,
        *,
        problem: Problem,
        prior: Prior,
        moves: Moves,
        samples: int,
        burn_in: float,
        thin: int,
        table_bytes: int,
        **own: Any,
    ) -> None: ...

    @property
    def objective(self) -> Objective:
        """What it judges models by."""

    @property
    def problem(self) -> Problem:
        """What it samples."""

    @property
    def prior(self) -> Prior:
        """What is believed before."""

    @property
    def moves(self) -> Moves:
        """How structures are explored."""

    @property
    def power(self) -> float:
        """The power w to which the likelihood is raised; 1 where there is none."""

    @property
    def own_settings(self) -> OwnSettings:
        """What it alone has."""

    @property
    def schedule(self) -> tuple[int, ...]:
        """After how many samples its chains change for good: all that they know of `samples`.

        Two engines that differ in `samples`, with one schedule, draw the same as far as both go.
        """

    settled_by: ClassVar[str]
    """The argument by which the last of these is a share of the samples."""

    def warm_up(self) -> None:
        """Compile what a chain runs."""

    def start(self, seed: np.random.SeedSequence | int) -> Chain:
        """A new chain; it is a function of the seed."""

    def resume(self, packed: Mapping[str, np.ndarray]) -> Chain:
        """A chain from what it packed; it continues bit for bit."""

    @property
    def n_apart(self) -> int:
        """After how many samples chains `agree` before they go on; 0 if each goes its own way."""

    def agree(self, packed: Sequence[Packed]) -> Iterable[Packed]:
        """All chains of a run, in order, as they go on after `n_apart` samples."""

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """The objective of a saved run with these plain settings."""

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> OwnSettings:
        """Its own settings from plain values; what it does not know is an error."""

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        """What finds the best coefficients of a structure; it needs no chain."""

    @staticmethod
    def excuse(trace: ChainTrace) -> str:
        """Why a chain that ran to its end recorded nothing."""

    @staticmethod
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """Chains that are so far behind the others that they say nothing, and why."""

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """What only its chains have to report, by chain number; plain values."""

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        """What that means for the result."""
