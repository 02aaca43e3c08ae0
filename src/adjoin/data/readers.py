"""Data sets from text tables, MATLAB files and objects of other packages.

Receives paths or foreign objects from the user or the command line, and the columns of a file from
``tables``; hands a `Dataset` of ``signals`` to the model.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import pieces
from adjoin.checks import is_count
from adjoin.data.choosing import listing, pick, pick_inputs, pick_output, require_once
from adjoin.data.columns import require_range, tabulate
from adjoin.data.dataset import Dataset, Record
from adjoin.data.missing import Missing
from adjoin.data.names import SignalNames, legal_name
from adjoin.data.preparation import decimated
from adjoin.data.records import Axes, Layout, lay_out
from adjoin.data.tables import Column, Table, read_matlab, read_numpy, read_text
from adjoin.errors import AdjoinError
from adjoin.text import counted

_TEXT_TYPES = (".csv", ".txt", ".tsv", ".dat")
_FILLED = 5  # missing values in a row that a check fills in


def read_data(
    path: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
    decimal: str | None = None,
    fill: int | None = None,
) -> Dataset:
    """Read a data set from a text table (.csv, .txt, .tsv, .dat), a MATLAB file or an array file.

    Parameters
    ----------
    path : str or path, or a list of those
        A MATLAB file ends in ``.mat``. One in ``.npy`` has an array with a row per sample, whose
        columns are called c1, c2, …, or by its fields; it is memory-mapped, and columns of 64-bit
        floats stay in the file. Of several files, each is a record, or more.
    inputs : sequence of str, or comma-separated str, optional
        Names of the input columns; empty for an autonomous system. Default: every numeric column
        but the output and those called t, time, date, index, sample, record and the like.
    output : str, optional
        Name of the output column. Default: `y`.
    sampling_time : float, optional
        Seconds between two samples. Default: the usual step of the time column, if there is one.
    decimal : {".", ","}, optional
        The decimal mark of a text table. Default: found out.
    fill : int, optional
        Missing values up to so many in a row are interpolated linearly, and so are samples that
        the time column or counter lacks; where more are missing, a record ends. What was done is in
        ``dataset.prepared``. Default: missing values are an error.

    Notes
    -----
    A record ends where the value of a column called record, run, experiment, trial or segment
    changes, where the time column has a gap (a step of more than 1.5 usual ones), and where time
    goes back; without times, where a counter (``sample``, ``row``, …) jumps or begins anew. What
    was seen there is in ``dataset.timing``.

    Columns are chosen by the text in the file, or by its respelling. A text that is no legal signal
    name is respelled:
    ``"Force (N)"`` becomes ``Force_N``; two chosen columns with one spelling are an error. If a
    signal is called `e`, the noise is called `e_noise`.
    """
    reader = partial(_by_suffix, decimal=decimal)
    if isinstance(path, list | tuple) and path:
        read = [_read(reader, file, inputs, output, sampling_time, fill)[0] for file in path]
        return Dataset.join(read)
    return _read(reader, path, inputs, output, sampling_time, fill)[0]  # type: ignore[arg-type]


def read_csv(
    path: str | os.PathLike[str],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
    decimal: str | None = None,
    fill: int | None = None,
) -> Dataset:
    """Read a text table; parameters as for `read_data`.

    Semicolons, tabs, commas or blanks separate the columns, or what a first line ``sep=`` says;
    unless it is commas, the decimal mark may be a comma. Lines of ``#`` or ``%`` before the table
    are skipped; a row of units below the header is taken as that. Without a header line, the last
    comment names the columns if it has a word for each, else they are called c1, c2, …
    """
    return _read(partial(_text, decimal=decimal), path, inputs, output, sampling_time, fill)[0]


def read_mat(
    path: str | os.PathLike[str],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
) -> Dataset:
    """Read a MATLAB file up to version 7; parameters as for `read_data`.

    Vectors are columns. An n×m matrix ``u`` is the m columns u1, u2, …, which may be chosen singly
    or, by ``u``, together. The fields of a struct are chosen as ``data.u``; if it holds all there
    is, as ``u``. The default inputs lie beside the output, in the same struct.
    """
    return _read(read_matlab, path, inputs, output, sampling_time, None)[0]


def read_damaged(
    path: str | os.PathLike[str],
    inputs: str | Iterable[str] | None,
    output: str | None,
    sampling_time: float | None,
    decimal: str | None,
    fill: int | None,
) -> tuple[Dataset, Missing]:
    """Read as `read_data` does, and say how many values are missing; for a check of the data.

    Without `fill`, up to 5 missing cells in a row are filled in, so that the rest can be looked at,
    and gaps in the time column are left to be seen.
    """
    reader = partial(_by_suffix, decimal=decimal)
    limit = _FILLED if fill is None else fill
    return _read(reader, path, inputs, output, sampling_time, limit, fills_gaps=fill is not None)


def from_object(data: Any) -> Dataset:
    """Take over an object with the attributes ``u`` and ``y``, or a list of them (records).

    Also ``sampling_time`` and ``name``, if there, as in the package `nonlinear_benchmarks`.
    """
    if isinstance(data, Dataset):
        return data
    parts = data if isinstance(data, list | tuple) else [data]
    for i, part in enumerate(parts):
        if missing := [name for name in ("u", "y") if not hasattr(part, name)]:
            raise AdjoinError(
                f"record {i} of the data (a {type(part).__name__}) has no attribute"
                f" {' and no '.join(missing)}; build the data set by Dataset.from_arrays(u, y)."
            )
    steps = list(dict.fromkeys(getattr(part, "sampling_time", None) for part in parts))
    if len(steps) != 1:
        fault = f"records with the sampling times {steps}" if steps else "no record"
        raise AdjoinError(f"the data hold {fault}; one sampling time is needed.")
    names = (getattr(part, "name", None) for part in parts)
    label = ", ".join(dict.fromkeys(name for name in names if isinstance(name, str)))
    u, y = [part.u for part in parts], [part.y for part in parts]
    if all(values is None for values in u):
        return Dataset.from_arrays(None, y if len(y) > 1 else y[0], None, steps[0], label)
    if len(parts) == 1:
        return Dataset.from_arrays(u[0], y[0], None, steps[0], label)
    return Dataset.from_arrays(u, y, None, steps[0], label)


def _read(
    reader: Callable[[Path], Table],
    path: str | os.PathLike[str],
    inputs: str | Iterable[str] | None,
    output: str | None,
    sampling_time: float | None,
    fill: int | None,
    fills_gaps: bool = True,
) -> tuple[Dataset, Missing]:
    if fill is not None and not (is_count(fill) or fill == 0):
        raise AdjoinError(f"fill must be a whole number from 0 on, or None, not {fill!r}.")
    if not isinstance(path, str | os.PathLike):
        raise AdjoinError(f"{path!r:.60} is not a path; for values use Dataset.from_arrays(u, y).")
    file = Path(path).expanduser()
    with _naming(file):
        table = _open(file, reader)
        target = pick_output(table, output)
        chosen = pick_inputs(table, inputs, target)
        require_once(chosen, target)
        columns = [*chosen, target]
        *values, series = table.numbers(columns, may_miss=fill is not None, can_fill=True)
        _check_series(chosen, values, target, len(series), is_default=inputs is None)
        axes = Axes.find(table.columns, target, chosen)
        names = [column.path for column in columns]
        layout = lay_out([*values, series], names, axes, fill, fills_gaps)
        mapped = _side_by_side(table, chosen) if fill is None else None
        return _assemble(columns, layout, sampling_time, file.name, mapped), layout.missing


def _side_by_side(table: Table, chosen: Sequence[Column]) -> Any:
    """The chosen columns of a mapped file as it has them; None where they are apart."""
    if table.matrix is None or not chosen:
        return None
    places = [table.columns.index(column) for column in chosen]
    if places != list(range(places[0], places[0] + len(places))):
        return None
    return table.matrix[:, places[0] : places[-1] + 1]


def _open(file: Path, reader: Callable[[Path], Table]) -> Table:
    if not file.is_file():
        fault = "is a directory" if file.is_dir() else "does not exist"
        raise AdjoinError(f"the file {fault}; check the path.")
    return reader(file)


class Experiment(NamedTuple):
    """What a file has for a known model.

    ``inputs`` : (n, n_inputs).
    ``output`` : (n,), or None if it is not there.
    ``headers`` : what the file calls the inputs, and then the output if it is there.
    ``bounds`` : first row of every record, and the row behind its last, as `read_data` cuts them.
    ``step`` : seconds between two samples, where a column tells them.
    ``others`` : the columns that are no signals, by header, as they are written.
    ``order`` : all headers, as they stand in the file.
    ``units`` : of the columns that ``headers`` names; empty where they are not known.
    """

    inputs: Float2D
    output: Float1D | None
    headers: tuple[str, ...]
    bounds: tuple[tuple[int, int], ...]
    step: float | None
    others: dict[str, list[Any]]
    order: tuple[str, ...]
    units: tuple[str, ...] = ()

    def records(self, y: Float1D) -> tuple[Record, ...]:
        """The inputs and an output, cut into records."""
        return tuple(Record(self.inputs[a:b], y[a:b]) for a, b in self.bounds)

    def decimated(self, factor: int) -> Experiment:
        """Every so many-th sample of every record, after the filter of `Dataset.decimate`."""
        if factor == 1:
            return self
        series = [] if self.output is None else [self.output]
        table = np.column_stack([self.inputs, *series])
        values = np.concatenate([decimated(table[a:b], factor) for a, b in self.bounds])
        n = self.inputs.shape[1]
        rows = [row for a, b in self.bounds for row in range(a, b, factor)]
        ends = np.cumsum([0, *(-((a - b) // factor) for a, b in self.bounds)]).tolist()
        return self._replace(
            inputs=values[:, :n],
            output=None if self.output is None else values[:, n],
            bounds=tuple(pairwise(ends)),
            step=None if self.step is None else factor * self.step,
            others={name: [cells[i] for i in rows] for name, cells in self.others.items()},
        )


def read_experiment(
    path: str | os.PathLike[str], names: SignalNames, decimal: str | None = None
) -> tuple[Float2D, Float1D | None]:
    """The inputs ``(n, n_inputs)`` of a known model from a file, and its output if that is there.

    A column is found by its text, or by the signal name that the text is respelled to. `decimal` is
    as for `read_data`.
    """
    return read_labelled(path, names, decimal, keeps_others=False)[:2]


def read_measured(
    path: str | os.PathLike[str], like: Dataset, decimal: str | None = None
) -> Dataset:
    """The signals of a data set from a file of another experiment, which must have the output.

    Records end where those of `read_data` do. Units are those of the data set, and a file that says
    it has others is refused: its numbers would be scored as if they were not.
    """
    found = read_labelled(path, like.names, decimal, keeps_others=False)
    if found.output is None:
        raise AdjoinError(f"{path}: there is no column '{like.names.output}' to score on")
    step = like.sampling_time if found.step is None else found.step
    units = _shared_units(path, found, like)
    return Dataset(found.records(found.output), like.names, step, Path(path).name, units)


def _shared_units(
    path: str | os.PathLike[str], found: Experiment, like: Dataset
) -> tuple[str, ...]:
    """The units of the data set, or those of the file where it knows more."""
    known = like.units or ("",) * len(found.units)
    for header, own, unit in zip(found.headers, found.units, known, strict=True):
        if own and unit and own != unit:
            raise AdjoinError(
                f"{path}: column '{header}' is in {own}, but the run is of data in {unit}; convert"
                " the column, or write the unit in the same way if it is the same."
            )
    return tuple(unit or own for own, unit in zip(found.units, known, strict=True))


def read_labelled(
    path: str | os.PathLike[str],
    names: SignalNames,
    decimal: str | None = None,
    keeps_others: bool = True,
) -> Experiment:
    """As `read_experiment`, with records, what the file calls its columns, and the other ones."""
    file = Path(path).expanduser()
    with _naming(file):
        table = _open(file, partial(_by_suffix, decimal=decimal))
        known = {*table.names, *(legal_name(column.name) for column in table.columns)}
        is_measured = names.output in known
        if not names.inputs and not is_measured:
            raise AdjoinError(
                f"the model has no inputs, so its output '{names.output}' must be there to start"
                f" from. {listing(table)}"
            )
        wanted = (*names.inputs, names.output) if is_measured else names.inputs
        columns = [pick(table, name)[0] for name in wanted]
        values = table.numbers(columns)
        lengths = {column.path: len(series) for column, series in zip(columns, values, strict=True)}
        if len(set(lengths.values())) > 1:
            raise AdjoinError(f"the columns differ in length: {lengths}.")
        inputs, _ = tabulate(np.column_stack([*values]), "input")
        titles = [f"column {column.path!r}" for column in columns]
        matrix = inputs[0].matrix(titles, f"there are {len(titles)} columns")
        for title, series in zip(titles, matrix.T, strict=True):
            require_range(title, [series])
        n_inputs = len(names.inputs)
        axes = Axes.find(table.columns, columns[-1], columns)
        layout = lay_out(values, [column.path for column in columns], axes)
        as_long = [c for c in table.columns if c in columns or len(c.values) == len(matrix)]
        labels = _labels(as_long)
        others = [column for column in as_long if column not in columns] if keeps_others else []
        cells = zip(others, table.written(others), strict=True)
        return Experiment(
            matrix[:, :n_inputs],
            matrix[:, n_inputs] if is_measured else None,
            tuple(labels[column] for column in columns),
            tuple(layout.bounds),
            layout.step,
            {labels[column]: values for column, values in cells},
            tuple(labels.values()),
            tuple(column.unit for column in columns),
        )


def _labels(columns: Sequence[Column]) -> dict[Column, str]:
    """What the file calls columns; where two have one name, with the struct or a number."""
    uses = Counter(column.name for column in columns)
    seen: Counter[str] = Counter()
    labels = {}
    for column in columns:
        label = column.name if uses[column.name] == 1 else column.path
        labels[column] = f"{label}.{seen[label]}" if seen[label] else label
        seen[label] += 1
    return labels


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Say in every error which file it is about."""
    try:
        yield
    except AdjoinError as error:
        raise AdjoinError(f"{file}: {error}") from None
    except OSError as error:
        raise AdjoinError(f"{file}: the file cannot be read: {error.strerror}.") from error


def _by_suffix(file: Path, decimal: str | None) -> Table:
    suffix = file.suffix.lower()
    if suffix == ".mat":
        return read_matlab(file)
    if suffix == ".npy":
        return read_numpy(file)
    if suffix in _TEXT_TYPES:
        return _text(file, decimal)
    known = ", ".join((*_TEXT_TYPES, ".mat", ".npy"))
    remedy = "export the sheet as CSV" if suffix.startswith((".xls", ".ods")) else f"known: {known}"
    raise AdjoinError(f"cannot read files of type {suffix!r}; {remedy}.")


def _text(file: Path, decimal: str | None) -> Table:
    if decimal not in (None, ".", ","):
        raise AdjoinError(f"decimal must be '.', ',' or None, not {decimal!r}.")
    return read_text(file, decimal)


def _check_series(
    chosen: Sequence[Column],
    values: Sequence[Any],
    target: Column,
    n_samples: int,
    is_default: bool,
) -> None:
    """Refuse inputs of another length, and default inputs that are a time axis."""
    for column, series in zip(chosen, values, strict=True):
        if len(series) != n_samples:
            raise AdjoinError(
                f"{column.path!r} has {counted(len(series), 'sample')}, but the output"
                f" {target.path!r} has {n_samples}; choose inputs that belong to this output."
            )
        if is_default and _is_axis(series):
            raise AdjoinError(
                f"column {column.path!r} rises by the same step at every sample, which looks like a"
                " time axis; name the inputs, with or without it."
            )


def _is_axis(series: Any) -> bool:
    """Tell whether a series is a rising straight line, to a millionth of its range."""
    if len(series) < 3 or series.dtype.kind == "c":
        return False
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values are refused later
        first, last = float(series[0]), float(series[-1])
        span, n = last - first, len(series) - 1
        if not span > 0.0:
            return False
        return all(
            bool(np.abs(series[a:b] - first - np.arange(a, b) * (span / n)).max() <= 1e-6 * span)
            for a, b in pieces(0, len(series))
        )


def _assemble(
    columns: Sequence[Column],
    layout: Layout,
    sampling_time: float | None,
    label: str,
    mapped: Any = None,
) -> Dataset:
    """Name the signals and build the data set; inputs that are `mapped` stay in their file."""
    import pandas

    uses = Counter(legal_name(column.name) for column in columns)
    spelling: dict[str, str] = {}
    for column in columns:
        name = legal_name(column.name)
        name = name if uses[name] == 1 else legal_name(column.path)  # u of two structs
        if name in spelling:
            raise AdjoinError(
                f"the columns {spelling[name]!r} and {column.path!r} would both be the signal"
                f" {name!r}; rename one of them."
            )
        spelling[name] = column.path
    *inputs, output = spelling
    *values, series = layout.values
    frames = [
        pandas.DataFrame(
            {n: v[a:b] for n, v in zip(inputs, values, strict=True)}, index=range(a, b)
        )
        if mapped is None
        else mapped[a:b]
        for a, b in layout.bounds
    ]
    outputs = [series[a:b] for a, b in layout.bounds]
    names = SignalNames.declare(inputs, output)
    step = layout.step if sampling_time is None else sampling_time
    is_one = len(frames) == 1
    dataset = Dataset.from_arrays(
        frames[0] if is_one else frames, outputs[0] if is_one else outputs, names, step, label
    )
    units = tuple(column.unit for column in columns)
    return replace(dataset, units=units, timing=layout.timing, prepared=layout.prepared)
