"""How a run's terms were found, in the file of the run.

::

    /discovered        facts: JSON (byte); trial: a whole run without a seal (byte)

Receives a `Discovered`; gives back an equal one. ``run_file`` writes and reads the trial, which is
a run as any other.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from adjoin.checks import is_real
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.exchange.stored_group import StoredGroup, refuse_constant
from adjoin.model import Model
from adjoin.modelling.model_file import model_from_text, model_to_text
from adjoin.results.average import Average
from adjoin.results.discovered import Discovered, Trial

_BYTE = "|u1"
_ROW = {
    "words": str,
    "settings": dict,
    "n_terms": int,
    "validation": dict,
    "is_checked": bool,
    "chosen": bool,
}
_LATER = {"timing", "tried_on", "tried_records"}  # files of earlier versions lack them
_LARGEST_COUNT = 2**53


def write_discovered(group: Any, found: Discovered, trial: bytes) -> None:
    """Write into an h5netcdf group; `trial` is the content of its own file."""
    facts = found.plain | {"average": [model_to_text(model) for model in found.average.models]}
    try:
        text = json.dumps(facts, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AdjoinError(f"what was discovered must be plain values ({error})") from None
    for name, content in (("facts", text.encode()), ("trial", trial)):
        values = np.frombuffer(content, dtype=np.uint8)
        group.create_variable(name, (f"{name}_byte",), data=values, compression="gzip")


def read_trial(group: StoredGroup) -> bytes:
    """The content of the trial's file."""
    return group.variable("trial", _BYTE, (None,)).tobytes()


def read_discovered(group: StoredGroup, names: SignalNames, trial: Trial) -> Discovered:
    """What `write_discovered` wrote; `names` are those of the run it belongs to."""
    facts = _facts(group)
    rows = facts["candidates"]
    if not (isinstance(rows, list) and rows and all(map(_is_row, rows))):
        raise group.fault("facts", "must have candidates, each with its held-out error")
    if not all(
        isinstance(facts[name], int) and 0 <= facts[name] < _LARGEST_COUNT
        for name in ("n_tried", "n_lost")
    ):
        raise group.fault("facts", "must say how many models were tried, and how many were lost")
    beyond, apart, folds = facts["beyond"], facts["apart"], facts["folds"]
    if not (isinstance(beyond, dict) and all(map(is_real, beyond.values()))):
        raise group.fault("facts", "must have numbers for signals beyond the range")
    if not (apart is None or is_real(apart)):
        raise group.fault("facts", "must have a number for the distance from the average")
    if not (isinstance(folds, list) and all(isinstance(words, str) for words in folds)):
        raise group.fault("facts", "must say what was held out in words")
    if not isinstance(facts["settings"], dict):
        raise group.fault("facts", "must have settings")
    timing = facts.get("timing", {})
    if not (isinstance(timing, dict) and all(map(is_real, timing.values()))):
        raise group.fault("facts", "must have numbers of seconds")
    words, numbers = facts.get("tried_on", ""), facts.get("tried_records", [])
    is_counted = isinstance(numbers, list) and all(isinstance(i, int) and i >= 0 for i in numbers)
    if not (isinstance(words, str) and is_counted):
        raise group.fault("facts", "must say which fold the trial held out")
    return Discovered(
        tuple(rows),
        facts["n_tried"],
        facts["n_lost"],
        tuple(folds),
        beyond,
        apart,
        facts["settings"],
        _average(group, facts["average"], names),
        trial,
        timing,
        words,
        tuple(numbers),
    )


def _facts(group: StoredGroup) -> dict[str, Any]:
    content = group.variable("facts", _BYTE, (None,)).tobytes()
    try:
        found = json.loads(content.decode(), parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        raise group.fault("facts", f"is not JSON ({error})") from None
    expected = (
        "candidates",
        "n_tried",
        "n_lost",
        "folds",
        "beyond",
        "apart",
        "settings",
        "average",
    )
    if not isinstance(found, dict) or set(found) - _LATER != set(expected):
        raise group.fault("facts", f"must be a JSON object of {', '.join(expected)}")
    return found


def _is_row(row: Any) -> bool:
    """Whether a value is a candidate as tables and verdicts read it."""
    if not isinstance(row, dict) or not all(
        isinstance(row.get(name), kind) for name, kind in _ROW.items()
    ):
        return False
    error = row["validation"]
    names = ("nmse", "sd", *({"mean_nmse"} & error.keys()))  # earlier versions have no mean
    return isinstance(error.get("n_lost"), int) and all(
        error.get(name, math.nan) is None or is_real(error.get(name)) for name in names
    )


def _read_model(text: str) -> Model:
    fields = model_from_text(text)
    return Model(*fields[:-1], origin=fields.origin)


def _average(group: StoredGroup, texts: Any, names: SignalNames) -> Average:
    if not (isinstance(texts, list) and texts and all(isinstance(text, str) for text in texts)):
        raise group.fault("facts", "must have models to average")
    try:
        models = tuple(map(_read_model, texts))
    except AdjoinError as error:
        raise group.fault("facts", f"must have models to average ({error})") from None
    if any(model.names.ordered[:-1] != names.ordered[:-1] for model in models):
        raise group.fault("facts", "must have models of the run's signals")
    return Average(models)
