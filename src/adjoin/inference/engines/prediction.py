"""The prediction engine: conjugate reversible-jump chains one step ahead (the paper's Approach 1).

Receives a `Problem`, prior and moves; runs ``kernels/prediction.py`` on its own workspace and
table, and gives traces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.grammar.terms import Structure
from adjoin.inference.engine import Modes, Packed, Visits
from adjoin.inference.engines.prediction_chain import PredictionChain
from adjoin.inference.engines.prediction_setup import PredictionSetup
from adjoin.inference.objective import PREDICTION, Objective
from adjoin.inference.problem import Problem
from adjoin.inference.rows import conditional_mode
from adjoin.inference.search import Search, SearchSettings
from adjoin.inference.search_findings import describe_search, on_search
from adjoin.inference.settings import NoSettings, OwnSettings, RunSettings
from adjoin.inference.traces import ChainTrace
from adjoin.kernels.prediction import run_prediction
from adjoin.levels import Finding


class PredictionEngine(PredictionSetup):
    """Chains one step ahead; see `PredictionSetup` for the parameters."""

    name: ClassVar[str] = PREDICTION.name
    options: ClassVar[Mapping[str, str]] = {"likelihood_power": "power", "search": "search"}
    default_search: ClassVar[Search] = Search()
    settled_by: ClassVar[str] = "burn_in={share}"
    has_stages: ClassVar[bool] = True
    kernel: ClassVar[Callable[..., Any]] = staticmethod(run_prediction)
    n_apart: ClassVar[int] = 0
    objective = PREDICTION

    @property
    def own_settings(self) -> OwnSettings:
        """How it searches; nothing where there are the nine moves only."""
        return NoSettings() if self.search.is_plain else SearchSettings(self.search)

    def warm_up(self) -> None:
        """Compile what a chain runs."""
        self.start(0).advance(1)

    def start(self, seed: np.random.SeedSequence | int) -> PredictionChain:
        """A chain that has drawn nothing yet."""
        return PredictionChain.begin(self, np.random.Generator(np.random.PCG64(seed)))

    def resume(self, packed: Mapping[str, np.ndarray]) -> PredictionChain:
        """A chain from what `PredictionChain.pack` gave; it continues bit for bit."""
        return PredictionChain.unpack(self, packed)

    def agree(self, packed: Sequence[Packed]) -> Sequence[Packed]:
        """Each chain goes its own way."""
        return packed

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """There is one only."""
        return PREDICTION

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> OwnSettings:
        """How it searches; nothing where nothing is said of it: the nine moves alone."""
        return SearchSettings.read(values) if values else NoSettings()

    @staticmethod
    def modes(problem: Problem, settings: RunSettings) -> Modes:
        r"""The maximum of the coefficients' full conditional at the structure's mean variances.

        Pinned coefficients stay, and the others explain what is left.
        """
        pinned = set(problem.pinned)

        def mode(structure: Structure, visits: Visits) -> Float1D:
            columns, output = problem.rows.reduced(structure)
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
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """All chains count."""
        return {}

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """What informed moves and rungs did, where there are any."""
        searches = {number: trace.search for number, trace in traces.items()}
        found = [
            {"chain": number} | describe_search(search)
            for number, search in searches.items()
            if search is not None
        ]
        return {"search": found} if found else {}

    @staticmethod
    def findings(diagnostics: Mapping[str, Any]) -> Sequence[Finding]:
        """What that means for the result."""
        return on_search(diagnostics.get("search", ()))
