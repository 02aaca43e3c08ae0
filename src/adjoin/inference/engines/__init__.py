"""The samplers, one per objective, found by name.

A new engine is a module with a class that fulfils `adjoin.inference.engine.Engine`, and one line
here. Modules are imported when their engine is asked for.
"""

from __future__ import annotations

from importlib import import_module

from adjoin.errors import AdjoinError
from adjoin.inference.engine import Engine
from adjoin.inference.objective import objective_name

ENGINES = {
    "prediction": "adjoin.inference.engines.prediction:PredictionEngine",
    "simulation": "adjoin.inference.engines.simulation:SimulationEngine",
    "abc": "adjoin.inference.engines.abc:AbcEngine",
}
"""Where the engine of each objective is."""


def find_engine(objective: object) -> type[Engine]:
    """The engine of an objective, by any of its names."""
    name = objective_name(objective)
    if name not in ENGINES:
        choice = " or ".join(f"'{each}'" for each in ENGINES)
        raise AdjoinError(f"objective={objective!r} is unknown; use {choice}")
    module, _, engine = ENGINES[name].partition(":")
    found: type[Engine] = getattr(import_module(module), engine)
    return found
