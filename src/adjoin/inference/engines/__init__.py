"""The samplers, one per objective, found by name.

A new engine is a module with a class that fulfils `adjoin.inference.engine.Engine`, and one line
here. Modules are imported when their engine is asked for.
"""

from __future__ import annotations

from importlib import import_module

from adjoin.errors import AdjoinError
from adjoin.inference.engine import Engine
from adjoin.inference.objective import PREDICTION, objective_name

ENGINES = {
    "prediction": "adjoin.inference.engines.prediction:PredictionEngine",
    "simulation": "adjoin.inference.engines.simulation:SimulationEngine",
    "abc": "adjoin.inference.engines.abc:AbcEngine",
}
"""Where the engine of each objective is; with past noise, predictions have another."""


_PAST_NOISE = "adjoin.inference.engines.innovations:InnovationsEngine"


def find_engine(objective: object, has_noise: bool = False) -> type[Engine]:
    """The engine of an objective, by any of its names; `has_noise`: models may have past noise."""
    name = objective_name(objective)
    if name not in ENGINES:
        choice = " or ".join(f"'{each}'" for each in ENGINES)
        raise AdjoinError(f"objective={objective!r} is unknown; use {choice}")
    if has_noise and name != PREDICTION.name:
        raise AdjoinError(
            f"past noise is what one-step predictions leave, and objective='{name}' makes none; use"
            f" objective='{PREDICTION.name}', models without past noise, or objective='simulation'"
            " with noise='ar'"
        )
    module, _, engine = (_PAST_NOISE if has_noise else ENGINES[name]).partition(":")
    found: type[Engine] = getattr(import_module(module), engine)
    return found
