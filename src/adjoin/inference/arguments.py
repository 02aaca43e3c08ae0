"""The arguments of an `Identifier`: what means nothing is refused before anything is computed."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from adjoin.checks import is_real, require_count, require_seed
from adjoin.cluster.connection import check_scheduler
from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.grammar import Grammar, Structure
from adjoin.inference.checkpoint import Checkpoint
from adjoin.inference.described import NOT_THE_RESULT
from adjoin.inference.engine import Engine
from adjoin.inference.engines import ENGINES, find_engine
from adjoin.inference.ladder import Ladder
from adjoin.inference.model_class import choose_grammar
from adjoin.inference.moves import Moves
from adjoin.inference.objective import Objective
from adjoin.inference.prior import Prior
from adjoin.inference.settings import JOINT, RESIDUAL, is_runaway
from adjoin.inference.stages import AUTO, MOST_SAMPLES


def check_fit(
    given: Mapping[str, Any], default: Mapping[str, Any], u: Any, y: Any, held_out: Any
) -> tuple[type[Engine], Dataset, Grammar, Prior]:
    """The engine, data, grammar and prior of a fit; refuses what means nothing.

    Parameters
    ----------
    given, default : mapping
        The arguments by name, and what each is if it is not given.
    u, y, held_out
        As they were passed to `fit`.
    """
    engine = find_engine(given["objective"])
    check_arguments(given, default, engine)
    data = given_data(u, y, given["grammar"])
    data.require_variation()
    prior = Prior.read(given["prior"], given["expected_terms"])
    grammar = choose_grammar(given, default, data, prior)
    data.require_window(grammar.alphabet.max_lag)  # before atoms are made for every lag
    data.require_degree(max(grammar.alphabet.max_degree, grammar.alphabet.fixed.max_degree))
    check_held_out(held_out, data, grammar.alphabet.max_lag)
    if grammar.alphabet.has_noise:  # only now is it known
        engine = find_engine(given["objective"], has_noise=True)
        check_arguments(given, default, engine)
    return engine, data, grammar, prior


def check_arguments(
    given: Mapping[str, Any], default: Mapping[str, Any], engine: type[Engine]
) -> None:
    """Refuse settings that mean nothing, and those that only other engines know.

    Parameters
    ----------
    given, default : mapping
        The arguments by name, and what each is if it is not given.
    engine : type of Engine
        The engine of the objective.
    """
    if given["initial_mode"] not in (JOINT, RESIDUAL):
        raise AdjoinError(
            f"initial_mode={given['initial_mode']!r} is unknown; use '{JOINT}' or '{RESIDUAL}'"
        )
    if not isinstance(given["checkpoint"], str | os.PathLike | Checkpoint | None):
        raise AdjoinError(f"checkpoint must be a folder or None, not {given['checkpoint']!r}")
    check_scheduler(given["scheduler"])
    for name in ("thin", "chains", "memory_mb", "knots"):
        require_count(name, given[name])
    samples, thin = given["samples"], given["thin"]
    _check_auto(given, default, engine)
    if samples != AUTO:
        require_count("samples", samples)
    if (given["max_samples"] or MOST_SAMPLES if samples == AUTO else samples) < thin:
        raise AdjoinError(f"thin={thin} keeps none of {samples} samples; thin less")
    if given["n_jobs"] is not None and given["n_jobs"] != -1:
        require_count("n_jobs", given["n_jobs"])
    burn_in, power, initial = given["burn_in"], given["likelihood_power"], given["initial"]
    if not (is_real(burn_in) and 0.0 <= burn_in < 1.0):
        raise AdjoinError(f"burn_in must be a share from 0 to below 1, not {burn_in!r}")
    if power != "auto" and not (is_real(power) and 0.0 <= float(power) <= 1.0):
        raise AdjoinError(f"likelihood_power must be 'auto' or from 0 to 1, not {power!r}")
    if not is_runaway(given["runaway"]):
        raise AdjoinError(
            "runaway must be a number above 1 (times half the range of the measured output), or"
            f" infinite, not {given['runaway']!r}"
        )
    _check_options(given, default, engine)
    require_seed(given["seed"])
    _check_switches(given)
    if initial is not None and not isinstance(initial, str | Structure):
        raise AdjoinError(f"initial must be an equation's right-hand side, not {initial!r}")


def _check_switches(given: Mapping[str, Any]) -> None:
    """Refuse what is neither on nor off, nor left open where it may be."""
    for name in ("center", "scale", "progress"):
        is_known = isinstance(given[name], bool | np.bool) or given[name] is None
        if not is_known and not (name == "progress" and callable(given[name])):
            raise AdjoinError(f"{name} must be True, False or None, not {given[name]!r}")
    for name in ("past_noise", "warm_start"):
        if not isinstance(given[name], bool | np.bool):
            raise AdjoinError(f"{name} must be True or False, not {given[name]!r}")
    if given["warm_start"] and given["checkpoint"] is None:
        raise AdjoinError(
            "warm_start=True goes on with the chains of a checkpoint, and there is none; pass"
            " checkpoint='…', a folder, to both fits"
        )


def _check_auto(given: Mapping[str, Any], default: Mapping[str, Any], engine: type[Engine]) -> None:
    """Refuse settings that do not go with the way the number of samples is found."""
    is_auto = isinstance(given["samples"], str) and given["samples"] == AUTO
    if isinstance(given["samples"], str) and not is_auto:
        raise AdjoinError(f"samples must be a whole number or '{AUTO}', not {given['samples']!r}")
    if is_auto and not engine.has_stages:
        raise AdjoinError(
            f"samples='{AUTO}' is for objective='prediction' without past noise; here, say how many"
        )
    if is_auto and given["search"] is not None:
        raise AdjoinError(f"samples='{AUTO}' chooses search itself; leave search at None")
    for name in ("max_samples", "time_limit"):
        if not is_auto and given[name] != default[name]:
            raise AdjoinError(f"{name} is for samples='{AUTO}'; samples is {given['samples']!r}")
    if given["max_samples"] is not None:
        require_count("max_samples", given["max_samples"])
    limit = given["time_limit"]
    if limit is not None and not (is_real(limit) and float(limit) > 0.0):
        raise AdjoinError(f"time_limit must be a number of seconds above 0, or None, not {limit!r}")


def _check_options(
    given: Mapping[str, Any], default: Mapping[str, Any], engine: type[Engine]
) -> None:
    """Refuse arguments that only other engines know."""
    for other in map(find_engine, ENGINES):
        for name in other.options:
            if name in engine.options or given[name] == default[name]:
                continue
            if name == "likelihood_power":
                raise AdjoinError(
                    f"objective='{engine.name}' has no likelihood to be raised to a power; leave"
                    " likelihood_power at 1, and set a wider tolerance to be less sure:"
                    " ladder={'tolerance': …}"
                )
            raise AdjoinError(
                f"{name} is for objective='{other.name}'; the objective is '{engine.name}'"
            )


def call_text(given: Mapping[str, Any], default: Mapping[str, Any], objective: Objective) -> str:
    """The arguments that make a run again, as Python text; `run` is the saved posterior."""
    parts = []
    for name, value in given.items():
        is_default = value == default[name] or (name == "functions" and not value)
        if name in NOT_THE_RESULT or (name != "seed" and is_default):
            continue
        text = repr(value)
        if isinstance(value, Grammar):
            text = "run.grammar"
        elif isinstance(value, Moves):
            text = repr(value.probabilities)
        elif isinstance(value, Prior):
            text = f"adjoin.Prior({value.changes})"
        elif isinstance(value, Structure):
            text = repr(str(value))
        elif isinstance(value, Ladder):
            text = repr(value.changes).replace("inf", "float('inf')")
        elif name == "distance":
            text = objective.distance
        elif isinstance(value, np.generic):
            text = repr(value.item())
        if name == "runaway" and value == math.inf:
            text = "float('inf')"
        parts.append(f"{name}={text}")
    return ", ".join(parts)


def check_held_out(held_out: Any, data: Dataset, max_lag: int) -> None:
    """Refuse held-out data that could not be scored."""
    if held_out is None:
        return
    if not isinstance(held_out, Dataset):
        raise AdjoinError("held_out must be a Dataset, as adjoin.read_data gives")
    if held_out.names.ordered[:-1] != data.names.ordered[:-1]:
        raise AdjoinError(
            f"the held-out data have the signals {', '.join(held_out.names.ordered[:-1])}, but the"
            f" fitted ones {', '.join(data.names.ordered[:-1])}"
        )
    try:
        held_out.require_window(max_lag)
    except AdjoinError as error:
        raise AdjoinError(f"the validation part: {error}") from None


def given_data(u: Any, y: Any, grammar: Any) -> Dataset:
    """The data that were passed to `fit`, by the names of a grammar if there is one."""
    names = grammar.names if isinstance(grammar, Grammar) else None
    if not isinstance(u, Dataset):
        if y is None:
            raise AdjoinError(
                "fit requires y to be passed, but the target y is None, so there is no output;"
                " call fit(u, y), or fit(dataset)"
            )
        return Dataset.from_arrays(u, y, names)
    if y is not None:
        raise AdjoinError("a Dataset holds its output already; call fit(dataset) without y")
    if names is not None and names.ordered[:-1] != u.names.ordered[:-1]:
        raise AdjoinError(
            f"the grammar is of the signals {', '.join(names.ordered[:-1])}, but the data have"
            f" {', '.join(u.names.ordered[:-1])}"
        )
    return u
