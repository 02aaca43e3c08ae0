"""Where a table is cut into records: by a column of records, by its times, at missing values.

Receives the columns of a file from ``readers``; gives the stretches of rows that are records, what
the time column said, and what was filled in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.data.missing import Missing, Truths, runs
from adjoin.data.names import split_unit
from adjoin.data.tables import Column
from adjoin.data.timing import (
    SECONDS,
    Steps,
    Timing,
    describe,
    measure,
    measure_counts,
    to_counts,
    to_seconds,
)
from adjoin.errors import AdjoinError
from adjoin.text import counted

_TIME = re.compile(  # a lone T may be a temperature
    r"(?P<name>t|(?i:time|zeit|timestamp|date|datetime|secs?|seconds?))"
    r"(?:[\s_,./-]+(?:in )?(?P<unit>(?i:[mµμun]?s|secs?|min|minutes?|h|hours?)))?"  # a unit behind
)
_COUNTER = re.compile(r"(?i:index|idx|samples?|counter|row|(sample|row)[\s_-]*(no|nr|number)\.?)")
_RECORD = re.compile(r"(?i:(record|run|experiment|trial|segment)s?([\s_-]*(id|no|nr|number)\.?)?)")
_NEAR_WHOLE = 0.3
"""A gap this close to a whole number of steps is one of lost samples, which can be filled in."""


def is_time(column: Column) -> bool:
    """Whether a column is called a time."""
    return _TIME.fullmatch(split_unit(column.group)[0]) is not None


def is_counter(column: Column) -> bool:
    """Whether a column is called what only counts samples."""
    return _COUNTER.fullmatch(split_unit(column.group)[0]) is not None


def is_record(column: Column) -> bool:
    """Whether a column is called what tells records apart."""
    return _RECORD.fullmatch(split_unit(column.group)[0]) is not None


class Axes(NamedTuple):
    """The columns of a table that are about its rows, where there are any."""

    record: Column | None
    time: Column | None
    seconds: Float1D | None
    has_unit: bool
    counter: Column | None = None
    """What counts samples, where no column tells the time; then `seconds` are its counts."""

    @classmethod
    def find(cls, columns: Sequence[Column], target: Column, chosen: Sequence[Column]) -> Axes:
        """Look beside the output, among columns that are no signals and as long as it."""
        paths = {target.path, *(column.path for column in chosen)}
        n = len(target.values)
        beside = [
            c
            for c in columns
            if c.owner == target.owner and c.path not in paths and len(c.values) == n
        ]
        record = next(filter(is_record, beside), None)
        times = [c for c in beside if is_time(c) and c.group == c.name]
        for column in times:
            seconds = to_seconds(column.values, _time_unit(column), _is_date(column))
            if seconds is not None:
                return cls(record, column, seconds, _time_unit(column).lower() in SECONDS)
        time = times[0] if times else None
        for column in beside:
            counts = to_counts(column.values) if is_counter(column) else None
            if counts is not None:
                return cls(record, time, counts, False, column)
        return cls(record, time, None, False)

    def measure(self, seconds: Float1D, is_new: Truths) -> Steps | None:
        """The steps of the time column or counter."""
        return (measure if self.counter is None else measure_counts)(seconds, is_new)

    def describe(
        self, seconds: Float1D | None, steps: Steps | None, is_new: Truths, first: Int1D
    ) -> Timing | None:
        """What is worth knowing of them: of a counter, only that it does not just count on."""
        if self.counter is not None and seconds is not None and steps is not None:
            found = describe(self.counter.path, seconds, steps, is_new, first)
            if (np.rint(np.diff(seconds)) != steps.step)[~is_new].any():
                return replace(found, is_counter=True)
        if self.time is None:
            return None
        if seconds is None or self.counter is not None:
            return Timing(self.time.path)
        return describe(self.time.path, seconds, steps, is_new, first)


def _time_unit(column: Column) -> str:
    name, unit = split_unit(column.name)
    found = _TIME.fullmatch(name)
    return unit or column.unit or (found["unit"] if found and found["unit"] else "")


def _is_date(column: Column) -> bool:
    return split_unit(column.name)[0].lower() in ("date", "datetime")


class Layout(NamedTuple):
    """The rows of a table as records.

    ``values`` : one array per signal, with rows filled in where that was wanted.
    ``bounds`` : first row of every record, and the row behind its last.
    ``prepared`` : what was done to the data, in sentences.
    """

    values: list[Any]
    bounds: list[tuple[int, int]]
    timing: Timing | None
    step: float | None
    prepared: tuple[str, ...]
    missing: Missing


def lay_out(
    values: Sequence[Any],
    names: Sequence[str],
    axes: Axes,
    fill: int | None = None,
    fills_gaps: bool = True,
) -> Layout:
    """Cut rows into records, and fill in up to `fill` missing samples in a row.

    Parameters
    ----------
    values : sequence of (n,) arrays
        Signals; not a number where a cell is missing, which only happens with `fill`.
    names : sequence of str
        What the file calls them.
    axes : Axes
    fill : int, optional
        Missing samples up to so many in a row are interpolated linearly, those of gaps in the time
        column or counter too; where there are more, a record ends.
    fills_gaps : bool
        Whether gaps in the time column are filled like missing cells, or left to be seen.
    """
    series = list(values)
    n = len(series[0])
    seconds = axes.seconds
    is_new = _changes(axes.record, n)
    notes: list[str] = []
    missing, is_cut = Missing(), np.zeros(n, bool)
    if fill is not None:
        missing = _count(series, names)
        if seconds is not None and fills_gaps:
            series, seconds, is_new, note = _insert(series, axes, seconds, is_new, fill)
            notes += [note] if note else []
        series, is_cut, more = _interpolate(series, is_new, fill)
        notes += more
    steps = None if seconds is None else axes.measure(seconds, is_new)
    is_break = is_new if steps is None else is_new | steps.is_gap | steps.is_backward
    bounds = _stretches(is_break, is_cut)
    if not bounds:
        raise AdjoinError("no sample has a value of every signal; correct the file.")
    first = np.array([start for start, _ in bounds])
    timing = axes.describe(seconds, steps, is_new, first)
    step = steps.step if steps is not None and axes.has_unit else None
    return Layout(series, bounds, timing, step, tuple(notes), missing)


def _changes(column: Column | None, n: int) -> Truths:
    """Where the value of a record column differs from the one before; a counter tells nothing."""
    none = np.zeros(max(n - 1, 0), bool)
    if column is None:
        return none
    import pandas

    codes, _ = pandas.factorize(pandas.Series(column.values))
    changes: Truths = codes[1:] != codes[:-1]
    # with a value of its own in every row or two, it counts samples and not records
    return changes if 2 * (changes.sum() + 1) <= n else none


def _count(series: Sequence[Any], names: Sequence[str]) -> Missing:
    is_missing = np.column_stack([np.isnan(values) for values in series])
    found_runs = runs(np.asarray(is_missing.any(axis=1)))
    found = tuple(name for name, bad in zip(names, is_missing.T, strict=True) if bad.any())
    longest = max((b - a for a, b in found_runs), default=0)
    return Missing(int(is_missing.sum()), longest, found, tuple(found_runs), len(is_missing))


def _insert(
    series: list[Any], axes: Axes, seconds: Float1D, is_new: Truths, fill: int
) -> tuple[list[Any], Float1D, Truths, str]:
    """Put empty rows where the time column or counter says that up to `fill` samples were lost."""
    found = axes.measure(seconds, is_new)
    if found is None or not found.is_gap.any():
        return series, seconds, is_new, ""
    ratio = np.diff(seconds) / found.step
    n_lost = np.rint(ratio).astype(np.int64) - 1
    off = np.abs(ratio - n_lost - 1)
    is_whole = (off < _NEAR_WHOLE if axes.counter is None else off == 0.0) & (n_lost > 0)
    is_lost = found.is_gap & is_whole & (n_lost <= fill)
    if not is_lost.any():
        return series, seconds, is_new, ""
    where = np.repeat(np.flatnonzero(is_lost) + 1, n_lost[is_lost])
    rows = np.arange(len(seconds), dtype=np.float64)
    inside = np.concatenate([np.arange(1, m + 1) / (m + 1) for m in n_lost[is_lost].tolist()])
    position = np.insert(rows, where, where - 1 + inside)
    grown = [np.insert(np.asarray(values, np.float64), where, np.nan) for values in series]
    marks = np.concatenate([[False], is_new])  # a row before which a record begins
    wider = np.insert(marks, where, False)[1:]
    samples, gaps = counted(len(where), "sample"), counted(int(is_lost.sum()), "gap")
    clock = "time column" if axes.counter is None else "counter"
    note = f"{samples} missing in {gaps} of the {clock} interpolated"
    return grown, np.interp(position, rows, seconds), wider, note


def _interpolate(
    series: list[Any], is_new: Truths, fill: int
) -> tuple[list[Any], Truths, list[str]]:
    """Fill short runs of missing cells; which rows are still incomplete, and what was done."""
    starts = [0, *(np.flatnonzero(is_new) + 1).tolist(), len(is_new) + 1]
    filled = [np.array(values, np.float64) for values in series]
    n_filled = 0
    for start, stop in pairwise(starts):
        for values in filled:
            part = values[start:stop]
            for first, end in runs(np.isnan(part)):
                if end - first <= fill and first > 0 and end < len(part):
                    ends = [first - 1, end]
                    part[first:end] = np.interp(range(first, end), ends, part[ends])
                    n_filled += end - first
    is_cut: Truths = np.asarray(np.isnan(np.column_stack(filled)).any(axis=1))
    notes = []
    if n_filled:
        notes.append(f"{counted(n_filled, 'missing value')} interpolated, up to {fill} in a row")
    if is_cut.any():
        rows = counted(int(is_cut.sum()), "row")
        notes.append(f"{rows} with missing values left out, where a record ends")
    return filled, is_cut, notes


def _stretches(is_break: Truths, is_cut: Truths) -> list[tuple[int, int]]:
    """First and last rows of records: between breaks, without the rows that are cut out."""
    n = len(is_break) + 1
    edges = [0, *(np.flatnonzero(is_break) + 1).tolist(), n]
    is_kept = ~is_cut if len(is_cut) == n else np.ones(n, bool)
    return [
        (start + a, start + b)
        for start, stop in pairwise(edges)
        for a, b in runs(is_kept[start:stop])
    ]
