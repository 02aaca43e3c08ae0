"""Which equations can be said: the grammar that an `Identifier`'s arguments ask for.

Receives the arguments by name, and the data; gives a `Grammar` with its fixed terms.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar import Grammar, Structure
from adjoin.grammar.functions import HINGE
from adjoin.grammar.library import Functions, functions_by_signal
from adjoin.grammar.parser import read_equation
from adjoin.inference.knots import place_hinges
from adjoin.inference.prior import Prior


def choose_grammar(
    given: Mapping[str, Any], default: Mapping[str, Any], data: Dataset, prior: Prior
) -> Grammar:
    """The user's grammar, or polynomial NARX or NARMAX of the data's signals, with fixed terms.

    Parameters
    ----------
    given, default : mapping
        The arguments by name, and what each is if it is not given.
    data : Dataset
    prior : Prior
        It says whether there may be a constant.
    """
    grammar = given["grammar"]
    if grammar is None:
        grammar = Grammar.narx(
            inputs=data.names.inputs,
            output=data.names.output,
            noise=bool(given["past_noise"]),
            functions=_functions(given, default, data),
            constant=prior.constant_odds > 0.0,
            max_lag=given["max_lag"],
            max_degree=given["max_degree"],
        )
    elif not isinstance(grammar, Grammar):
        raise AdjoinError(f"grammar must be an adjoin.Grammar, not {grammar!r}")
    elif given["functions"]:
        raise AdjoinError("the grammar has its own functions; set them there only")
    elif given["past_noise"]:
        raise AdjoinError(
            "the grammar says whether there is past noise; set it there only, as"
            " Grammar.narx(noise=True)"
        )
    else:
        if given["knots"] != default["knots"]:
            raise AdjoinError("the grammar has its own hinges; set their knots there only")
        for name in ("max_lag", "max_degree"):
            asked, own = given[name], getattr(grammar, name)
            if asked not in (default[name], own):
                raise AdjoinError(f"{name}={asked!r}, but the grammar has {own}; set it there only")
    initial = given["initial"]
    if initial is None or isinstance(initial, Structure):
        return grammar if initial is None else grammar.with_initial(initial)
    fixed = read_equation(initial, grammar.signals)
    if any(part.value != 1.0 for parts in fixed.coefficients for part in parts):
        warnings.warn(
            f"the coefficients of fixed terms are learned; the numbers in '{initial}' are not used",
            stacklevel=3,
        )
    return grammar.with_initial(fixed.structure)


def _functions(given: Mapping[str, Any], default: Mapping[str, Any], data: Dataset) -> Functions:
    """The functions of the default grammar, hinges with their knots."""
    asked = functions_by_signal(given["functions"], data.names.ordered[:-1])
    knots = given["knots"]
    if not any(HINGE in words for words in asked.values()):
        if knots != default["knots"]:
            raise AdjoinError(f"knots={knots!r} are of hinges; add functions='hinge'")
        return asked
    # Knots are where the signals of the model bend: of deviations, if these are modelled.
    offset = Scaling.from_dataset(data, bool(given["center"]), scale=False).offset
    return place_hinges(asked, data, offset, knots)
