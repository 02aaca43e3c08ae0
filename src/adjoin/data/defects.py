"""Defects planted in clean data: what goes wrong between a rig and a file, one at a time.

Receives a `Dataset` or a pandas frame, whose last column counts as the output; gives the same kind
back with one defect, for tests and benchmarks of whatever should notice it. Sampling too fast
cannot be planted in data that are there; ``adjoin.datasets.rig(name, oversampling=5)`` does it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from adjoin.arrays import Float1D
from adjoin.checks import is_count
from adjoin.data.dataset import Dataset, Record
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError

Data = TypeVar("Data")
"""A `Dataset` or a pandas frame."""
_Columns = Mapping[str, Float1D]


def gap(data: Data, begin: int | None = None, length: int = 60) -> Data:
    """Take out `length` rows from row `begin` on (default: from the middle), without a mark.

    In a frame the gap shows in the column of times, if there is one; a `Dataset` has none, and
    what was far apart lies side by side. Of several records each loses its rows.
    """

    def change(columns: _Columns) -> _Columns:
        n = len(_last(columns))
        start = (n - length) // 2 if begin is None else begin
        if not (is_count(length) and 0 < start < start + length < n):
            raise AdjoinError(
                f"a gap of {length!r} rows from row {start!r} on is not inside the {n} there are"
            )
        cut = np.r_[0:start, start + length : n]
        return {name: column[cut] for name, column in columns.items()}

    return _changed(data, change)


def offset(data: Data, by: float = 3.0, signal: str | None = None) -> Data:
    r"""Shift a signal (default: the output) by so many of its standard deviations.

    .. math:: y ← y + \mathrm{by} · σ_y
    """
    name = signal or _output(data)
    shift = by * float(np.std(_all_of(data, name)))
    return _changed(data, lambda columns: {**columns, name: columns[name] + shift})


def saturation(data: Data, quantile: float = 0.9) -> Data:
    """Clip the output at its own quantile, as a sensor or an amplifier at the end of its range."""
    if not 0.0 < quantile < 1.0:
        raise AdjoinError(f"the quantile must be between 0 and 1, not {quantile!r}")
    name = _output(data)
    limit = float(np.quantile(_all_of(data, name), quantile))
    return _changed(data, lambda columns: {**columns, name: np.minimum(columns[name], limit)})


def swapped(data: Data, first: str | None = None, second: str | None = None) -> Data:
    """Exchange the values of two signals, whose names stay; default: the last input and the output.

    So a model is asked to find the cause from its effect.
    """
    names = _names(data)
    if len(names) < 2:
        raise AdjoinError(f"there is one signal only, {names[-1]!r}; two are needed to swap them")
    one, other = first or names[-2], second or names[-1]
    for name in (one, other):
        _all_of(data, name)
    return _changed(data, lambda columns: {**columns, one: columns[other], other: columns[one]})


def leak(data: Data, name: str = "monitor") -> Data:
    """Copy the output into one more input, which then explains it without saying anything."""
    if name in _names(data):
        raise AdjoinError(f"a signal is called {name!r} already; give the copy another name")

    def change(columns: _Columns) -> _Columns:
        *inputs, output = columns
        copied = {key: columns[key] for key in inputs}
        return {**copied, name: columns[output].copy(), output: columns[output]}

    return _changed(data, change)


def _changed(data: Data, change: Callable[[_Columns], _Columns]) -> Data:
    """Apply a change to the columns of every record, or of the frame."""
    if not isinstance(data, Dataset):
        frame: Any = data
        return type(frame)(change(_tables(data)[0]))  # type: ignore[no-any-return]
    tables = [change(columns) for columns in _tables(data)]
    *inputs, output = tables[0]
    records = []
    for columns in tables:
        series = [columns[name] for name in inputs]
        empty = np.empty((len(columns[output]), 0))
        records.append(Record(np.column_stack([empty, *series]), columns[output]))
    return replace(data, records=tuple(records), names=SignalNames.declare(inputs, output))


def _tables(data: Any) -> list[dict[str, Float1D]]:
    """The columns by name, output last: one table for each record, or one of the frame."""
    if isinstance(data, Dataset):
        names = data.names.ordered[:-1]
        every = [np.column_stack([record.inputs, record.output]) for record in data.records]
        return [dict(zip(names, table.T, strict=True)) for table in every]
    if not hasattr(data, "columns"):
        raise AdjoinError(f"defects are planted in a Dataset or a frame, not in {type(data)}")
    return [{name: data[name].to_numpy() for name in data.columns}]


def _names(data: Any) -> list[str]:
    return list(_tables(data)[0])


def _output(data: Any) -> str:
    return _names(data)[-1]


def _all_of(data: Any, name: str) -> Float1D:
    """A signal over all records."""
    if name not in _names(data):
        raise AdjoinError(f"no signal is called {name!r}; known are {', '.join(_names(data))}")
    return np.concatenate([columns[name] for columns in _tables(data)])


def _last(columns: _Columns) -> Float1D:
    return columns[list(columns)[-1]]
