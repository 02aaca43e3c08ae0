r"""The engine of past noise: NARMAX posteriors one step ahead, by the simulation engine's chains.

.. math:: y(k) = f(u, y, e;\, k) + e(k), \qquad \hat e(k) = y(k) - \hat f(k), \quad
    e(k) \sim N(0, σ²)

with f of measured signals and of past errors, which are those of the model itself, one after the
other, and none before the first fitted sample. So a term with noise is not a column: predictions
are a run that feeds its residual back, slopes go through it, and what the simulation engine does
with free runs is done with these.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from adjoin.inference.engines.simulation import SimulationEngine, describe_chains
from adjoin.inference.engines.simulation_setup import SEARCH, Start
from adjoin.inference.forward import PREDICTION as FORWARD_PREDICTION
from adjoin.inference.objective import PREDICTION, Objective
from adjoin.inference.search import SearchSettings
from adjoin.inference.settings import OwnSettings
from adjoin.inference.start_findings import EMPTY, ONE_STEP, find_stragglers
from adjoin.inference.traces import ChainTrace

STARTS = (ONE_STEP, EMPTY)


class InnovationsEngine(SimulationEngine):
    """Chains one step ahead with past noise; see `SimulationSetup` for the parameters."""

    name: ClassVar[str] = PREDICTION.name
    options: ClassVar[Mapping[str, str]] = {"likelihood_power": "power", "search": "search"}
    start_names: ClassVar[tuple[str, ...]] = STARTS
    has_noise: ClassVar[bool] = True

    @property
    def objective(self) -> Objective:
        """One step ahead."""
        return PREDICTION

    @property
    def own_settings(self) -> OwnSettings:
        """How it searches."""
        return SearchSettings(self.search)

    def _find_starts(self) -> dict[str, Start | None]:
        return {ONE_STEP: self._selected(FORWARD_PREDICTION)}

    @staticmethod
    def read_objective(settings: Mapping[str, Any]) -> Objective:
        """There is one only."""
        return PREDICTION

    @staticmethod
    def read_own_settings(values: Mapping[str, Any]) -> OwnSettings:
        """How it searches; what is missing has its default."""
        return SearchSettings.read(values, SEARCH)

    @staticmethod
    def stragglers(traces: Mapping[int, ChainTrace]) -> dict[int, str]:
        """Chains that stayed where no posterior mass is."""
        return find_stragglers(traces, STARTS)

    @staticmethod
    def diagnostics(traces: Mapping[int, ChainTrace]) -> dict[str, Any]:
        """What the rungs of every chain did, where it began, and how good it ended."""
        return describe_chains(traces, STARTS)
