"""The options of a fit, as a command line or a plan has them, made arguments of an `Identifier`.

Receives plain values by the names of the options; gives the arguments by name. Defaults are those
of ``adjoin fit``, where the number of samples depends on the objective.
"""

from __future__ import annotations

import os
from typing import Any

from adjoin.grammar import Grammar
from adjoin.inference.objective import SIMULATION, objective_name
from adjoin.inference.prior import without_constant
from adjoin.inference.stages import AUTO

_SAMPLES = {"abc": 30_000, SIMULATION.name: 10_000}


def identifier_arguments(
    *,
    objective: str = "prediction",
    noise: str = "white",
    horizon: int | None = None,
    past_noise: bool = False,
    rule: str = "default",
    tolerance: float | None = None,
    rungs: int | None = None,
    max_lag: int = 10,
    max_degree: int = 4,
    expected_terms: float = 5.0,
    samples: int | str | None = None,
    max_samples: int | None = None,
    time_limit: float | None = None,
    chains: int = 4,
    prior: str = "default",
    constant: bool = True,
    initial: str | None = None,
    initial_mode: str = "joint",
    functions: str = "",
    knots: int = 3,
    grammar: str | os.PathLike[str] | None = None,
    likelihood_power: float | str = 1.0,
    burn_in: float = 0.5,
    thin: int = 5,
    center: bool | None = None,
    scale: bool | None = None,
    runaway: float = 10.0,
) -> dict[str, Any]:
    """The arguments of an `Identifier` that these options ask for.

    Those that an `Identifier` has are passed on; ``grammar`` is a file, ``constant`` is of the
    prior, and ``tolerance`` and ``rungs`` are of the ladder or the search, whichever the objective
    has. Without ``samples``: ``"auto"``, and of objectives that have no stages so many as do.
    """
    chosen = None if grammar is None else Grammar.read(grammar)
    has_noise = past_noise or (chosen is not None and chosen.alphabet.has_noise)
    name = objective_name(objective)
    has_powers = has_noise or name == SIMULATION.name
    if samples is None:
        samples = _SAMPLES.get(SIMULATION.name if has_powers else name, AUTO)
    ladder = {"tolerance": tolerance, "rungs": None if has_powers else rungs}
    return {
        "objective": objective,
        "grammar": chosen,
        "past_noise": past_noise,
        "max_lag": max_lag,
        "max_degree": max_degree,
        "expected_terms": expected_terms,
        "samples": samples,
        "max_samples": max_samples,
        "time_limit": time_limit,
        "burn_in": burn_in,
        "thin": thin,
        "chains": chains,
        "prior": prior if constant else without_constant(prior, expected_terms),
        "center": center,
        "scale": scale,
        "initial": initial,
        "initial_mode": initial_mode,
        "functions": functions,
        "knots": knots,
        "likelihood_power": likelihood_power,
        "rule": rule,
        "ladder": {k: value for k, value in ladder.items() if value is not None} or None,
        "search": {"rungs": rungs} if has_powers and rungs is not None else None,
        "noise": noise,
        "horizon": horizon,
        "runaway": runaway,
    }
