"""How a posterior was made: the settings that go with it, but for what only its run can say.

Receives the arguments of an `Identifier` and what was made of them; gives it `RunSettings`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoin.grammar import Grammar
from adjoin.inference.arguments import call_text
from adjoin.inference.engine import Engine
from adjoin.inference.settings import RunSettings
from adjoin.results.power import PowerEstimate


def make_settings(
    given: Mapping[str, Any],
    default: Mapping[str, Any],
    engine: Engine,
    grammar: Grammar,
    estimate: PowerEstimate | None,
) -> RunSettings:
    """The settings of a run, but for how long it took.

    Parameters
    ----------
    given, default : mapping
        The arguments by name, with the seed that was used, and what each is if it is not given.
    engine : Engine
    grammar : Grammar
    estimate : PowerEstimate, optional
        Of the power of the likelihood, where it was estimated.
    """
    scaling = engine.problem.rows.scaling
    fixed, choices = grammar.alphabet.fixed, grammar.alphabet.choices
    return RunSettings(
        objective=engine.objective,
        inputs=grammar.signals.inputs,
        output=grammar.signals.output,
        grammar=grammar.name,
        max_lag=grammar.max_lag,
        max_degree=grammar.alphabet.max_degree,
        functions=tuple(sorted({choice.function for choice in choices} - {""})),
        initial=str(fixed) if len(fixed) else None,
        initial_mode=given["initial_mode"],
        burn_in=float(given["burn_in"]),
        thin=int(given["thin"]),
        chains=int(given["chains"]),
        seed=given["seed"],
        prior=engine.prior,
        moves=engine.moves,
        center=bool(np.any(scaling.offset != 0.0)),
        scale=bool(np.any(scaling.scale != 1.0)),
        likelihood_power=float(engine.power),
        is_power_estimated=estimate is not None,
        is_power_refused=estimate is not None and estimate.is_refused,
        power_note=estimate.note if estimate is not None else "",
        call=call_text(given, default, engine.objective),
        runaway=engine.problem.runaway,
        own_settings=engine.own_settings,
    )
