"""What a run is of, as plain values: to tell whether a checkpoint is of the same one.

Receives arguments and data; gives `checkpoint` mappings that JSON has, and the words for what
differs between two of them.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.blocks import pieces
from adjoin.data.dataset import Dataset
from adjoin.grammar import Grammar, Structure
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search

NOT_THE_RESULT = ("n_jobs", "progress", "checkpoint", "memory_mb", "warm_start", "scheduler")
"""Arguments of which the result is no function."""

_DATA = (("data", "the data"), ("held_out", "the held-out data"), ("test", "the test data"))
_LENGTHS = ("samples", "max_samples", "burn_in")
_LONGEST = 60  # characters of a value that is told


def describe_run(
    kind: str, given: Mapping[str, Any], data: Dataset, held_out: Dataset | None = None
) -> dict[str, Any]:
    """What makes a run what it is.

    Parameters
    ----------
    kind : str
        What was called, such as ``fit``.
    given : mapping
        Its arguments by name; those that change no result are left out.
    data, held_out : Dataset
    """
    settings = {name: plain(v) for name, v in given.items() if name not in NOT_THE_RESULT}
    kept = None if held_out is None else describe_data(held_out)
    return {"kind": kind, "settings": settings, "data": describe_data(data), "held_out": kept}


def describe_data(data: Dataset) -> dict[str, Any]:
    """Names, sampling time, and a checksum of every signal of every record."""
    names = (*data.names.inputs, data.names.output)
    records = [
        {
            name: _checksum(series)
            for name, series in zip(names, [*record.inputs.T, record.output], strict=True)
        }
        for record in data.records
    ]
    return {
        "signals": list(names),
        "samples": [len(record) for record in data.records],
        "sampling_time": data.sampling_time,
        "records": records,
    }


def _checksum(series: Float1D) -> str:
    found = hashlib.sha256()
    for begin, end in pieces(0, len(series)):
        found.update(np.ascontiguousarray(series[begin:end]).data)
    return found.hexdigest()[:32]


def plain(value: Any) -> Any:
    """A value of an argument as JSON has it; equal ones come out alike, in every process."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    return _described(value)


def _described(value: Any) -> Any:
    if isinstance(value, Grammar):
        return value.to_text()
    if isinstance(value, Structure):
        return str(value)
    if isinstance(value, Moves):
        return plain(value.probabilities)
    if isinstance(value, Prior | Ladder):
        return plain(value.settings)
    return plain(value.plain) if isinstance(value, Search) else _name_of(value)


def _name_of(value: Any) -> str:
    """What a function is known by; that one of the user's own is the same is up to the user."""
    kind = type(value)
    if kind.__module__.startswith("adjoin."):  # its text has all that it was made of
        return repr(value)
    name = getattr(value, "__qualname__", kind.__qualname__)
    return f"{getattr(value, '__module__', kind.__module__)}.{name}"


def differences(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two descriptions, in words."""
    if saved.get("kind") != now.get("kind"):
        return [f"it was begun by {saved.get('kind')}, and this is {now.get('kind')}"]
    found = [*_settings_differ(saved.get("settings", {}), now.get("settings", {}))]
    for name, title in _DATA:
        found += _data_differ(title, saved.get(name), now.get(name))
    if saved.get("adjoin") != now.get("adjoin"):
        found.append(f"adjoin was {saved.get('adjoin')} and is {now.get('adjoin')}")
    return found


def differ_in_length(saved: Mapping[str, Any], now: Mapping[str, Any]) -> bool:
    """Whether two runs differ in how long they are, and in nothing else.

    A burn-in that is another share may be the same number of samples; chains know.
    """
    was, is_now = (one.get("settings", {}).get("samples") for one in (saved, now))
    is_counted = isinstance(was, int) and isinstance(is_now, int)
    if not (is_counted or was == is_now):  # stages are no longer chains
        return False
    return not differences(_without_length(saved), _without_length(now))


def _without_length(described: Mapping[str, Any]) -> dict[str, Any]:
    settings = dict(described.get("settings", {}))
    for name in _LENGTHS:
        settings.pop(name, None)
    ladder = dict(settings.pop("ladder", None) or {})
    ladder.pop("annealing", None)
    return {**described, "settings": {**settings, "ladder": ladder}}


def _settings_differ(saved: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys([*saved, *now]):
        was, is_now = saved.get(name), now.get(name)
        if was != is_now:
            words = f"{name} was {was!r} and is {is_now!r}"
            yield words if len(words) <= len(name) + 2 * _LONGEST else f"{name} differs"


def _data_differ(
    title: str, saved: Mapping[str, Any] | None, now: Mapping[str, Any] | None
) -> Iterator[str]:
    if saved == now:
        return
    if saved is None or now is None:
        words = title.removeprefix("the ")
        yield f"there were no {words}" if saved is None else f"there are no {words} any more"
        return
    for name, words in (
        ("signals", "signals"),
        ("samples", "samples by record"),
        ("sampling_time", "sampling time"),
    ):
        if saved[name] != now[name]:
            yield f"{title} differ: {words} were {saved[name]} and are {now[name]}"
            return
    places = [
        f"'{name}' of record {number}"
        for number, (was, is_now) in enumerate(zip(saved["records"], now["records"], strict=True))
        for name in was
        if was[name] != is_now.get(name)
    ]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    yield f"{title} differ: {places[0]}{more}"
