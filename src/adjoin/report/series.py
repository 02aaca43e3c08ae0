"""Series as pictures need them: one record, its clock, and no more samples than can be seen.

Receives what users pass and predictions hold; hands arrays to the plots.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from adjoin.arrays import Float1D, Int1D
from adjoin.checks import require_count
from adjoin.data.dataset import Dataset
from adjoin.data.timing import SECONDS
from adjoin.errors import AdjoinError

_LONGEST = ((3 * 86400.0, "d"), (3 * 3600.0, "h"), (1200.0, "min"))
"""From so many seconds on, a record is shown in that unit."""
_SHORT = 0.2  # seconds, below which it is shown in milliseconds


def envelope(x: Float1D, n_columns: int) -> Int1D:
    """The samples that draw a series of any length in so many columns, extremes included.

    Of each column the smallest and the largest value are kept, in the order of time, and the first
    and last sample of all. A column of NaN keeps one, so that the gap remains.

    Parameters
    ----------
    x : (n,) float
    n_columns : int

    Returns
    -------
    (m,) int, increasing, m <= 2 * n_columns + 2
        All n samples where they are no more than that.
    """
    require_count("n_columns", n_columns)
    return extremes(np.asarray(x, dtype=float), np.asarray(x, dtype=float), n_columns)


def extremes(low: Float1D, high: Float1D, n_columns: int) -> Int1D:
    """Of each column the samples with the smallest `low` and the largest `high`."""
    n = len(low)
    if n <= 2 * n_columns + 2:
        return np.arange(n)
    edges = np.linspace(0, n, n_columns + 1).astype(int)
    start, length = edges[:-1, None], np.diff(edges)[:, None]
    # One row a column, the shorter ones filled up with their last sample.
    sample = start + np.minimum(np.arange(length.max()), length - 1)
    # NaN neither smallest nor largest; a column of nothing else gives its first sample.
    below = np.where(np.isnan(low), np.inf, low)[sample].argmin(axis=1)
    above = np.where(np.isnan(high), -np.inf, high)[sample].argmax(axis=1)
    return np.unique(np.concatenate([[0, n - 1], edges[:-1] + below, edges[:-1] + above]))


def records_of(given: Any, what: str) -> list[Float1D]:
    """The records of a series, of a list of series, or of a data set's output."""
    given = given.y if isinstance(given, Dataset) else given
    several = isinstance(given, list | tuple) and len(given) > 0 and np.ndim(given[0]) > 0
    records = [np.asarray(series, dtype=float) for series in (given if several else [given])]
    for series in records:
        if series.ndim != 1 or not len(series):
            raise AdjoinError(f"{what} must be a series of numbers, not of shape {series.shape}")
    return records


def one_record(given: Any, record: int, what: str) -> Float1D:
    """One of `records_of`."""
    records = records_of(given, what)
    if not 0 <= record < len(records):
        raise AdjoinError(f"there is no record {record} of {what}; there are {len(records)}")
    return records[record]


def clock_of(time: Any, n: int, record: int = 0) -> tuple[Float1D, str]:
    """The time of every sample, and what to call it; a lone series of times is of any record."""
    if time is None:
        return np.arange(n, dtype=float), "sample"
    if isinstance(time, Real):
        return _in_units(float(time) * np.arange(n, dtype=float))
    is_lone = len(records_of(time, "the time")) == 1
    found = one_record(time, 0 if is_lone else record, "the time")
    if len(found) != n:
        raise AdjoinError(f"there are {n} samples, but {len(found)} times")
    return _in_units(found)


def _in_units(seconds: Float1D) -> tuple[Float1D, str]:
    """Times in the unit that makes them short to read, and what to call them."""
    size = float(np.ptp(seconds))
    unit = next((name for least, name in _LONGEST if size >= least), "s")
    if 0.0 < size < _SHORT:
        unit = "ms"
    return seconds if unit == "s" else seconds / SECONDS[unit], f"time ({unit})"


def unit_of(data: Dataset, signal: str) -> str:
    """The unit of a signal; nothing where it is not known."""
    signals = (*data.names.inputs, data.names.output)
    return dict(zip(signals, data.units, strict=True)).get(signal, "") if data.units else ""


def set_range(ax: Axes, time: Float1D) -> None:
    """Show exactly the time there is."""
    if time[-1] > time[0]:
        ax.set_xlim(time[0], time[-1])
