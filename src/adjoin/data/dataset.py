"""Records and data sets: equally long named signals, checked once, then read-only.

Receives what a user passes (arrays, pandas objects, lists of those) or ``readers`` read; hands lag
tables to whatever fits or runs models. Samples and records count from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D, Int1D
from adjoin.blocks import is_constant, is_mapped, moments, spread
from adjoin.checks import is_count, is_real, require_count
from adjoin.data.columns import Columns, place_of, require_range, shared_labels, tabulate
from adjoin.data.names import SignalNames, legal_name, split_names
from adjoin.data.preparation import decimated, detrended
from adjoin.data.timing import Timing, shared_step
from adjoin.errors import AdjoinError
from adjoin.markup import html_heading, html_table
from adjoin.text import counted, ordinal

_MOST_LEVELS = 150  # powers of ten, half of what a double has
_ROUNDING = 1e-12  # fractions such as 0.7 + 0.2 + 0.1 miss 1 by a few units in the last place


class SignalTable(NamedTuple):
    """All records of a data set, end to end, one row per signal.

    ``value`` : (n_signals, n_samples) inputs in declared order, then the output.
    ``start`` : (n_records + 1,) record ``r`` occupies columns ``start[r] : start[r + 1]``.
    ``first`` : (n_records,) first column of each record whose whole lag window lies inside it.
    """

    value: Float2D
    start: Int1D
    first: Int1D


@dataclass(frozen=True, eq=False)
class Record:
    """One experiment: inputs ``(n, n_inputs)`` and output ``(n,)``, read-only.

    They are copies, but of what nobody can write to, and of memory-mapped files, which are read
    where they are.
    """

    inputs: Float2D
    output: Float1D

    def __post_init__(self) -> None:
        freeze(self, "inputs", "output")

    def __len__(self) -> int:
        return len(self.output)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records of the same signals, checked by `from_arrays`; the sampling time is in seconds.

    `units` are those of the inputs, then of the output, empty where not known (or all of it), and
    `timing` is what a file's time column said. `prepared` says in sentences what was done to the
    data since they were measured: a model found on them is one of the data as prepared.
    """

    records: tuple[Record, ...]
    names: SignalNames
    sampling_time: float | None = None
    label: str = ""
    units: tuple[str, ...] = ()
    timing: Timing | None = None
    prepared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        is_typed = isinstance(self.names, SignalNames) and isinstance(self.records, tuple)
        if not (is_typed and self.records and all(map(self._has_shape, self.records))):
            raise AdjoinError(
                "a Dataset is made of Records and SignalNames; build it from your own data by"
                " Dataset.from_arrays(u, y)."
            )
        step = self.sampling_time
        if step is not None and not (is_real(step) and 0 < step < np.inf):
            raise AdjoinError(f"the sampling time must be a positive number, not {step!r}.")
        if not isinstance(self.label, str):
            raise AdjoinError(f"the label must be a text, not {self.label!r}.")
        if len(self.units) not in (0, len(self.names.inputs) + 1):
            raise AdjoinError(
                f"there are {len(self.units)} units of {len(self.names.inputs) + 1} signals; give"
                " one for each input, then one for the output, or none."
            )

    def _has_shape(self, record: object) -> bool:
        width = len(self.names.inputs)
        return isinstance(record, Record) and record.inputs.shape == (record.output.size, width)

    @classmethod
    def from_arrays(
        cls,
        u: Any,
        y: Any,
        names: SignalNames | Iterable[str] | None = None,
        sampling_time: float | None = None,
        label: str = "",
    ) -> Dataset:
        """Check and copy the user's data.

        Memory-mapped arrays of 64-bit floats (``numpy.load(path, mmap_mode="r")``) stay in their
        files, which must not change while they are in use.

        Parameters
        ----------
        u : (n,) or (n, n_inputs) array, pandas Series or DataFrame, list of those, or None
            Columns of a frame name the inputs. A list of numbers is one record, a list of arrays
            or frames several. None: an autonomous system.
        y : (n,) or (n, 1) array, pandas Series or one-column DataFrame, or list of those
            The name of a Series names the output.
        names : SignalNames or sequence of str, optional
            The inputs in order, then the output. Replaces the names in the data, by position
            (frames with exactly these columns are matched by name). Default: the names in the
            data, respelled where they are not legal (``Force (N)`` is ``Force_N``), else `u`
            (`u1`, `u2`, …) and `y`.
        sampling_time : float, optional
            Seconds between two samples.
        label : str
            What reports call the data.
        """
        outputs, _ = tabulate(y, "output")
        none = [target._replace(labels=(), series=()) for target in outputs]
        inputs = none if u is None else tabulate(u, "input")[0]
        if len(inputs) != len(outputs):
            raise AdjoinError(
                f"the inputs have {counted(len(inputs), 'record')}, but the output has"
                f" {len(outputs)} (join several inputs of one record by numpy.column_stack)."
            )
        if names is None:
            labels = (*shared_labels(inputs, "u"), *(shared_labels(outputs, "y")[:1] or ("y",)))
            names = tuple(map(legal_name, labels))
        if not isinstance(names, SignalNames):
            names = _declared(names)
        titles, expected = input_titles(names, "`names` has")
        records = []
        for columns, target in zip(inputs, outputs, strict=True):
            if columns.n_samples != target.n_samples:
                raise AdjoinError(
                    f"the inputs{target.place} have {counted(columns.n_samples, 'sample')}, but the"
                    f" output has {target.n_samples}; give every signal one value per sample"
                    " (transpose an array that holds its signals as rows)."
                )
            is_named = set(columns.labels) == set(names.inputs)
            chosen = columns.select(names.inputs) if is_named else columns
            matrix = chosen.matrix(titles, expected)
            series = target.matrix([f"output {names.output!r}"], "there must be 1 output")
            for checked in (matrix, series):  # nobody else has them, so that they are kept
                checked.setflags(write=False)
            records.append(Record(matrix, series[:, 0]))
        for i, title in enumerate(titles):
            require_range(title, [record.inputs[:, i] for record in records])
        require_range(f"output {names.output!r}", [record.output for record in records])
        return cls(tuple(records), names, sampling_time, label)

    @classmethod
    def join(cls, datasets: Sequence[Dataset]) -> Dataset:
        """One data set of the records of several with the same signals."""
        first, *others = datasets
        if not others:
            return first
        for other in others:
            if other.names != first.names:
                raise AdjoinError(
                    f"the signals differ: {', '.join(first.names.ordered[:-1])} and"
                    f" {', '.join(other.names.ordered[:-1])}; name the inputs and the output."
                )
            if other.units and first.units and other.units != first.units:
                raise AdjoinError(
                    f"the units differ: {', '.join(first.units)} and {', '.join(other.units)};"
                    " give every signal in one unit."
                )
        records = tuple(record for dataset in datasets for record in dataset.records)
        step = shared_step([dataset.sampling_time for dataset in datasets])
        seen = [dataset.timing for dataset in datasets if dataset.timing is not None]
        return cls(
            records,
            first.names,
            step,
            first.label,
            first.units,
            reduce(Timing.joined, seen) if seen else None,
            tuple(dict.fromkeys(note for dataset in datasets for note in dataset.prepared)),
        )

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.records)

    @property
    def n_samples(self) -> int:
        """Number of samples of all records together."""
        return sum(map(len, self.records))

    @property
    def inputs(self) -> list[Float2D]:
        """(n, n_inputs) of every record."""
        return [record.inputs for record in self.records]

    @property
    def outputs(self) -> list[Float1D]:
        """(n,) of every record."""
        return [record.output for record in self.records]

    @property
    def u(self) -> Any:
        """Inputs, ``(n,)`` if there is one, else ``(n, n_inputs)``; several records: a list."""
        column = 0 if len(self.names.inputs) == 1 else slice(None)
        inputs = [record.inputs[:, column] for record in self.records]
        return inputs if self.n_records > 1 else inputs[0]

    @property
    def y(self) -> Any:
        """Output ``(n,)``; several records: a list."""
        outputs = [record.output for record in self.records]
        return outputs if self.n_records > 1 else outputs[0]

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        inputs = ", ".join(self.names.inputs) or "none"
        parts = [counted(self.n_records, "record"), counted(self.n_samples, "sample")]
        parts += [f"inputs ({inputs})", f"output {self.names.output}"]
        parts += [f"sampling time {self.sampling_time:g} s"] if self.sampling_time else []
        parts += [f"prepared: {'; '.join(self.prepared)}"] if self.prepared else []
        return f"Dataset({self.label + ': ' if self.label else ''}{', '.join(parts)})"

    def _repr_html_(self) -> str:
        title = f"Dataset{': ' + self.label if self.label else ''}"
        parts = [counted(self.n_records, "record"), counted(self.n_samples, "sample")]
        parts += [f"sampling time {self.sampling_time:g} s"] if self.sampling_time else []
        rows = []
        for name, parts_of in self._signals():
            ends = min(map(np.min, parts_of)), max(map(np.max, parts_of))
            figures = (f"{x:.4g}" for x in (*moments(parts_of), *ends))
            rows.append((name, "output" if name == self.names.output else "input", *figures))
        heads = ("signal", "role", "mean", "standard deviation", "smallest", "largest")
        return html_heading(title, ", ".join(parts)) + html_table(heads, rows)

    def __getitem__(self, part: slice) -> Dataset:
        is_run = isinstance(part, slice) and part.step in (None, 1)
        is_whole = is_run and all(isinstance(i, Integral | None) for i in (part.start, part.stop))
        if self.n_records > 1 or not is_whole:
            raise AdjoinError(
                f"{part!r} of {counted(self.n_records, 'record')} is not one run of samples, as is"
                " dataset[100:200] of one record; use .split, .records, or the values .u and .y."
            )
        return self._cut([part.indices(self.n_samples)[:2]])

    def split(self, *parts: float) -> tuple[Dataset, ...]:
        """Cut every record into consecutive parts: ``train, test = dataset.split(0.8)``.

        `parts` are all fractions in (0, 1), or all numbers of samples; what they leave over is one
        more part.
        """
        counts = [int(part) for part in parts if is_count(part)]
        fractions = [float(part) for part in parts if isinstance(part, Real) and 0 < part < 1]
        total = sum(fractions)
        if not parts or len(parts) not in (len(counts), len(fractions)) or total > 1 + _ROUNDING:
            raise AdjoinError(
                f"cannot split by {parts}; give fractions between 0 and 1 that add up to at most 1,"
                " or whole numbers of samples: split(0.6, 0.2, 0.2), split(1000, 500)."
            )
        shares = np.cumsum(counts or fractions)
        edges = []
        for n_samples in map(len, self.records):
            cuts = [round(float(share)) for share in shares * (1 if counts else n_samples)]
            edges.append([0, *cuts, n_samples])
        is_used_up = (
            all(edge[-2] == edge[-1] for edge in edges) if counts else total > 1 - _ROUNDING
        )
        if is_used_up:
            edges = [edge[:-1] for edge in edges]
        return tuple(self._cut([e[i : i + 2] for e in edges]) for i in range(len(edges[0]) - 1))

    def _cut(self, bounds: Sequence[Sequence[int]]) -> Dataset:
        records = []
        for i, (record, (start, stop)) in enumerate(zip(self.records, bounds, strict=True)):
            if not start < stop <= len(record):
                raise AdjoinError(
                    f"the part from sample {start} up to {stop}{place_of(i, self.n_records)} is"
                    f" empty or beyond the {counted(len(record), 'sample')} there are."
                )
            records.append(Record(record.inputs[start:stop], record.output[start:stop]))
        begins = [start for start, _ in bounds]
        timing = None if self.timing is None else self.timing.moved(begins)
        return replace(self, records=tuple(records), timing=timing)

    def windows(self, length: int, n_seed: int) -> Dataset:
        """Every record as many: stretches of `length` samples, each after `n_seed` that seed it.

        So each sample beyond the first `n_seed` of a record is in one stretch, and seeds are the
        samples before it, measured ones. The last of a record is up to half as long again, or down
        to half as long.
        """
        records = []
        for record in self.records:
            cuts = list(range(n_seed, len(record), length)) or [n_seed]
            if len(cuts) > 1 and 2 * (len(record) - cuts[-1]) < length:
                cuts.pop()
            for begin, end in pairwise([*cuts, len(record)]):
                part = slice(begin - n_seed, end)
                records.append(Record(record.inputs[part], record.output[part]))
        return replace(self, records=tuple(records), timing=None)

    def excerpt(self, n_seed: int, most: int) -> Dataset:
        """Stretches spread over all records, some `most` samples together; all where that is less.

        Each has the `n_seed` samples before it beside its own.
        """
        parts = spread([len(record) - n_seed for record in self.records], most)
        if parts is None:
            return self
        return self.stretches([(i, a, b + n_seed) for i, a, b in parts])

    def stretches(self, parts: Sequence[tuple[int, int, int]]) -> Dataset:
        """Some stretches as records of their own: each a record, its first sample and its end."""
        records = tuple(
            Record(self.records[i].inputs[begin:end], self.records[i].output[begin:end])
            for i, begin, end in parts
        )
        return replace(self, records=records, timing=None)

    def decimate(self, factor: int) -> Dataset:
        """Every `factor`-th sample of every record, after a filter against aliasing.

        Inputs and output pass the same filter, forth and back, so that nothing is delayed and the
        relation between them stays. A model found on the result is one of the slower rate: its
        lags count the new, longer samples.
        """
        require_count("the factor", factor)
        if factor == 1:
            return self
        step = None if self.sampling_time is None else self.sampling_time * factor
        timing = None if self.timing is None else self.timing.slower(factor)
        note = f"every {ordinal(factor)} sample kept, after a filter against aliasing"
        decimate = partial(decimated, factor=factor)
        return replace(self._prepared(decimate, note), sampling_time=step, timing=timing)

    def detrend(self, signals: str | Iterable[str] | None = None) -> Dataset:
        """Without the straight line through every record of some signals, by default of all.

        The slope is removed and the mean stays, so that offsets and constants keep their meaning.
        It is for sensors that drift: where an input drifts and the output follows it, the trend is
        part of what is to be learned, and should stay.
        """
        names = self.names.ordered[:-1]
        chosen = names if signals is None else split_names(signals)
        if unknown := [name for name in chosen if name not in names]:
            raise AdjoinError(
                f"no signal is called {unknown[0]!r}; the signals are {', '.join(names)}."
            )
        columns = [names.index(name) for name in chosen]
        listed = "all signals" if signals is None else ", ".join(chosen)
        note = f"linear trend of {listed} removed from every record"
        return self._prepared(partial(detrended, columns=columns), note)

    def _prepared(self, prepare: Callable[[Float2D], Float2D], note: str) -> Dataset:
        """Every record prepared, and a note of it."""
        tables = [
            prepare(np.column_stack([record.inputs, record.output])) for record in self.records
        ]
        records = tuple(Record(table[:, :-1], table[:, -1]) for table in tables)
        return replace(self, records=records, prepared=(*self.prepared, note))

    def require_window(self, max_lag: int) -> None:
        """Refuse records shorter than a lag window and two samples to fit."""
        for i, record in enumerate(self.records):
            if len(record) < max_lag + 2:
                raise AdjoinError(
                    f"too few samples{place_of(i, self.n_records)}: {len(record)}, but max_lag="
                    f"{max_lag} needs at least {max_lag + 2}; lower max_lag or use longer records."
                )

    def require_variation(self) -> None:
        """Refuse signals that are constant over all records together."""
        if self.n_samples == 1:
            raise AdjoinError("there is one sample only; a fit needs many more than max_lag.")
        constant = [
            f"{name!r} (always {records[0][0]:g})"
            for name, records in self._signals()
            if is_constant(records)
        ]
        if constant:
            raise AdjoinError(
                f"constant signals: {', '.join(constant)}; leave such an input out, or use data"
                " that vary."
            )

    def require_degree(self, degree: int) -> None:
        """Refuse signals whose products of so many factors leave the range of numbers.

        With L the powers of ten from 1 to the size or spread of any signal, coefficients and
        columns are within 10^(±(degree + 1)·L), of which the square must be finite.
        """
        for name, records in self._signals():
            low, high = min(map(np.min, records)), max(map(np.max, records))
            sizes = [float(max(-low, high)), moments(records)[1]]
            levels = [abs(np.log10(size)) for size in sizes if size > 0.0]
            if (degree + 1) * max(levels, default=0.0) > _MOST_LEVELS:
                raise AdjoinError(
                    f"{name!r} is up to {sizes[0]:.3g} in size with a standard deviation of"
                    f" {sizes[1]:.3g}, so terms of {degree} factors leave the range of numbers;"
                    " give it in another unit, or lower max_degree."
                )

    def lag_table(self, max_lag: int) -> SignalTable:
        """All records end to end, with the first sample of each whose lag window is complete."""
        self.require_window(max_lag)
        start = np.cumsum([0, *map(len, self.records)], dtype=np.int64)
        return SignalTable(self._values(), start, start[:-1] + max_lag)

    def _columns(self) -> tuple[list[Columns], bool]:
        """Return the inputs as `tabulate` would return frames."""
        n, labels = self.n_records, self.names.inputs
        return [
            Columns(labels, tuple(record.inputs.T), len(record), place_of(i, n), is_frame=True)
            for i, record in enumerate(self.records)
        ], n > 1

    def _signals(self) -> list[tuple[str, list[Float1D]]]:
        """Each signal by its name, inputs before the output: one series per record."""
        series = [
            *(
                [record.inputs[:, i] for record in self.records]
                for i in range(len(self.names.inputs))
            ),
            self.outputs,
        ]
        return list(zip(self.names.ordered, series, strict=False))

    def _values(self) -> Float2D:
        """Return a fresh (n_signals, n_samples) array: inputs, then the output."""
        signals = self._signals()
        values = np.empty((len(signals), self.n_samples))
        for row, (_, records) in zip(values, signals, strict=True):
            np.concatenate(records, out=row)
        return values


def input_titles(names: SignalNames, owner: str) -> tuple[list[str], str]:
    """Return what errors call each input, and how many they say there should be."""
    listed = f" ({', '.join(names.inputs)})" if names.inputs else ""
    expected = f"{owner} {counted(len(names.inputs), 'input')}{listed}"
    return [f"input {name!r}" for name in names.inputs], expected


def _declared(names: Any) -> SignalNames:
    """Take inputs in order, then the output."""
    if not (found := split_names(names)):
        raise AdjoinError("`names` is empty; give the inputs in order, then the output.")
    return SignalNames.declare(found[:-1], found[-1])


def freeze(owner: object, *fields: str) -> None:
    """Replace arrays of a frozen object by read-only ones: copies, where somebody could write."""
    for field in fields:
        given = getattr(owner, field)
        array = given.view() if _is_safe(given) else np.array(given, dtype=np.float64, order="C")
        array.setflags(write=False)
        object.__setattr__(owner, field, array)


def _is_safe(values: Any) -> bool:
    """Whether an array need not be copied: its file is mapped, or nobody can write to it."""
    if type(values) is not np.ndarray or values.dtype != np.float64 or not values.flags.aligned:
        return False
    if is_mapped(values):
        return True
    base: Any = values
    while isinstance(base, np.ndarray):
        if base.flags.writeable:
            return False
        base = base.base
    return base is None and values.flags.c_contiguous
