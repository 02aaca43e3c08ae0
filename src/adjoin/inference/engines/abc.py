"""The free-run engine: the paper's Algorithm 2, a ladder of tolerances on the free run's distance.

Receives a `Problem`, prior, moves and the ladder's settings (``abc_setup``); starts chains
(``abc_chain``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.grammar.terms import Structure
from adjoin.inference.engine import Modes, Packed, Visits
from adjoin.inference.engines.abc_chain import AbcChain
from adjoin.inference.engines.abc_common import common_tolerance
from adjoin.inference.engines.abc_polish import Polish
from adjoin.inference.engines.abc_setup import AbcSetup, Distance
from adjoin.inference.ladder import DEFAULT, PAPER, Ladder
from adjoin.inference.ladder_findings import describe_ladder, on_ladder
from adjoin.inference.objective import ABC, SQUARED_ERROR, Objective
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search
from adjoin.inference.settings import RunSettings
from adjoin.inference.traces import ChainTrace
from adjoin.kernels.abc import run_abc
from adjoin.kernels.state import DESCEND, RECORD
from adjoin.levels import Finding

_NONE = 1000  # samples that are drawn to find a mode: none, but a setup wants some to anneal


@dataclass(frozen=True)
class AbcSettings:
    """What this engine alone has; arguments of `Identifier` by the same name."""

    rule: str
    distance: str
    ladder: Ladder

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has."""
        return {"rule": self.rule, "distance": self.distance, "ladder": self.ladder.settings}


class AbcEngine(AbcSetup):
    """Chains whose rungs are tolerances; see `AbcSetup` for the parameters."""

    name: ClassVar[str] = ABC.name
    options: ClassVar[Mapping[str, str]] = {
        "rule": "rule",
        "distance": "distance",
        "ladder": "ladder",
    }
    default_search: ClassVar[Search] = Search()
    settled_by: ClassVar[str] = "ladder={{'annealing': {share}}}"
    has_stages: ClassVar[bool] = False
    kernel = staticmethod(run_abc)
    power = 1.0

    @property
    def objective(self) -> Objective:
        """Free runs, by their squared error or a distance of the user's own."""
        return ABC.by(name_of(self.distance))

    @property
    def own_settings(self) -> AbcSettings:
        """The rule, the distance by name, and the ladder."""
        rule = self.rule if self.distance is None else PAPER
        return AbcSettings(rule, name_of(self.distance), self.ladder)

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
        return AbcChain.unpack(self, packed)

    @property
    def n_apart(self) -> int:
        """All of annealing, unless each chain keeps its tolerance or all were given one."""
        is_open = self.ladder.common and self.ladder.tolerance is None
        return self.n_annealing if is_open else 0

    def agree(self, packed: Sequence[Packed]) -> Iterator[Packed]:
        """The chains at one tolerance; one after the other, since each needs its own tables."""
        tolerance, reason = common_tolerance(self, packed)
        for one in packed:
            chain = AbcChain.unpack(self, one)
            chain.settle(tolerance, reason)
            yield chain.pack()

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """The objective of a saved run: its distance is among the settings."""
        return ABC.by(str(settings.get("distance", SQUARED_ERROR)))

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> AbcSettings:
        """Rule, distance and ladder; what is missing has its default."""
        if strangers := set(values) - {"rule", "distance", "ladder"}:
            raise AdjoinError(f"settings: '{min(strangers)}' is not known")
        rule, distance = values.get("rule", DEFAULT), values.get("distance", SQUARED_ERROR)
        ladder = values.get("ladder", {})
        if rule not in (DEFAULT, PAPER) or not isinstance(distance, str):
            raise AdjoinError(f"settings: there is no rule {rule!r} with the distance {distance!r}")
        if not isinstance(ladder, Mapping):
            raise AdjoinError(f"settings: ladder cannot be {ladder!r}")
        if ladder:  # a run of a version that did not have it
            ladder = {"common": False, **ladder}
        if ladder.get("tolerance") == "inf":  # as JSON has no infinity
            ladder = {**ladder, "tolerance": math.inf}
        return AbcSettings(rule, distance, Ladder.read(ladder))

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        """Where the squared error of the free run is smallest, or the nearest draw if it is nearer.

        With a distance of the user's own, the nearest draw.
        """
        if not settings.objective.is_squared:
            return lambda structure, visits: visits.theta[visits.distance.argmin()]
        polish = Polish(AbcSetup(problem, _NONE, settings.prior, ladder=Ladder(rungs=1)))

        def mode(structure: Structure, visits: Visits) -> Float1D:
            nearest, factor = int(visits.distance.argmin()), problem.rows.factors(structure)
            distance = float(visits.distance[nearest])
            return polish(structure, visits.theta[nearest] / factor, distance) * factor

        return mode

    @staticmethod
    def excuse(trace: ChainTrace) -> str:
        """Why annealing ended where nothing can be recorded."""
        return trace.ladder.reason if trace.ladder is not None else ""

    @staticmethod
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """All chains count."""
        return {}

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """What the ladder of every chain did."""
        ladders = {number: trace.ladder for number, trace in traces.items()}
        return {
            "ladder": [
                {"chain": number} | describe_ladder(ladder)
                for number, ladder in ladders.items()
                if ladder is not None
            ]
        }

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        """What the ladders of all chains mean for the result."""
        return on_ladder(diagnostics["ladder"])


def name_of(distance: Distance | None) -> str:
    """What to call a distance; shipped ones say how they were made."""
    if distance is None:
        return SQUARED_ERROR
    module = type(distance).__module__
    if module == "adjoin.distances":
        return f"{module}.{distance!r}"
    name = str(getattr(distance, "__name__", type(distance).__name__))
    if name == SQUARED_ERROR:  # which is the name of adjoin's own
        return f"my_{name}"
    return name if name.isidentifier() else "my_distance"  # a lambda has no name to call it by
