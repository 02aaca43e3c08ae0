"""Data sets from text tables, MATLAB files and objects of other packages.

Receives paths or foreign objects from the user or the command line; hands a `Dataset` of
`adjoin.signals` to the model.
"""

from __future__ import annotations

import csv
import difflib
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from adjoin.errors import AdjoinError
from adjoin.signals import Dataset, SignalNames, legal_name

_TIME = {"t", "time", "timestamp", "date", "index"}  # columns that only count samples
_FIELD = r'(?:^|[;\t "])[+-]?\d*%s\d+(?:[eE][+-]?\d+)?(?=$|[;\t "])'  # a number with this mark
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # never in a text file
_HDF5 = b"\x89HDF\r\n\x1a\n"

# Name in the file -> the columns it stands for: several for a matrix, none if not numbers.
_Table = dict[str, dict[str, Any]]


def read_data(
    path: str | os.PathLike[str],
    inputs: str | Sequence[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
) -> Dataset:
    """Read a data set from a text table (.csv, .txt, .tsv, .dat) or a MATLAB file (.mat).

    Parameters
    ----------
    path : str or path
    inputs : sequence of str, or comma-separated str, optional
        Names of the input columns; empty for an autonomous system. Default: every numeric column
        but the output and those called t, time, timestamp, date or index (units in brackets
        aside).
    output : str, optional
        Name of the output column. Default: `y`.
    sampling_time : float, optional
        Seconds between two samples.

    Notes
    -----
    Columns are chosen by the text in the file. A text that is no legal signal name is respelled:
    ``"Force (N)"`` becomes ``Force_N``; two chosen columns with one spelling are an error. If a
    signal is called `e`, the noise is called `e_noise`.
    """
    readers = dict.fromkeys((".csv", ".txt", ".tsv", ".dat"), read_csv) | {".mat": read_mat}
    suffix = Path(path).suffix.lower()
    if suffix not in readers:
        known = ", ".join(readers)
        raise AdjoinError(f"{path}: cannot read files of type {suffix!r}; known are {known}.")
    return readers[suffix](path, inputs, output, sampling_time=sampling_time)


def read_csv(
    path: str | os.PathLike[str],
    inputs: str | Sequence[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
) -> Dataset:
    """Read a text table; parameters as for `read_data`.

    Semicolons, tabs, commas or blanks separate the columns; unless it is commas, the decimal mark
    may be a comma. Lines of ``#`` or ``%`` before the table are skipped. Without a header line the
    columns are called c1, c2, …
    """
    return _read(_csv_table, path, inputs, output, sampling_time)


def read_mat(
    path: str | os.PathLike[str],
    inputs: str | Sequence[str] | None = None,
    output: str | None = None,
    *,
    sampling_time: float | None = None,
) -> Dataset:
    """Read a MATLAB file up to version 7; parameters as for `read_data`.

    Vectors are columns. An n×m matrix ``u`` is the m columns u1, u2, …, which may be chosen singly
    or, by ``u``, together.
    """
    return _read(_mat_table, path, inputs, output, sampling_time)


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
    reader: Callable[[Path], _Table],
    path: str | os.PathLike[str],
    inputs: str | Sequence[str] | None,
    output: str | None,
    sampling_time: float | None,
) -> Dataset:
    file = Path(path)
    with _naming(file):
        if not file.is_file():
            fault = "is a directory" if file.is_dir() else "does not exist"
            raise AdjoinError(f"the file {fault}; check the path.")
        table = reader(file)
        target = _pick_output(table, output)
        chosen = _pick_inputs(table, inputs, target)
        return _assemble(chosen, target, sampling_time, file.name)


@contextmanager
def _naming(file: Path) -> Iterator[None]:
    """Say in every error which file it is about."""
    try:
        yield
    except AdjoinError as error:
        raise AdjoinError(f"{file}: {error}") from None
    except OSError as error:
        raise AdjoinError(f"{file}: the file cannot be read: {error.strerror}.") from error


def _pick_output(table: _Table, output: str | None) -> dict[str, Any]:
    if output is None and "y" not in table:
        raise AdjoinError(f"no column is called 'y'; name the output. {_listing(table)}")
    target = _pick(table, output or "y")
    if len(target) > 1:
        raise AdjoinError(f"the output must be one column; choose among {', '.join(target)}.")
    return target


def _pick_inputs(
    table: _Table, inputs: str | Sequence[str] | None, target: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    if inputs is None:
        # the neighbours of the output in a matrix are further outputs
        others = [name for name in table if not target.keys() & table[name].keys()]
        wanted = [name for name in others if _is_input(name, table[name])]
        if not wanted:
            raise AdjoinError(f"no numeric input is left; name the inputs. {_listing(table)}")
    else:
        names = inputs.split(",") if isinstance(inputs, str) else inputs
        wanted = [str(name).strip() for name in names if str(name).strip()]
    return [column for name in wanted for column in _pick(table, name).items()]


def _pick(table: _Table, name: str) -> dict[str, Any]:
    """Return the columns that a name stands for."""
    parts = {text: column for columns in table.values() for text, column in columns.items()}
    if name not in table and name not in parts:
        spellings = {text.casefold(): text for text in (*parts, *table)}
        close = difflib.get_close_matches(name.casefold(), spellings, n=1)
        hint = f" Did you mean {spellings[close[0]]!r}?" if close else ""
        raise AdjoinError(f"no column is called {name!r}.{hint} {_listing(table)}")
    columns = table[name] if name in table else {name: parts[name]}
    if not columns:
        raise AdjoinError(
            f"the variable {name!r} is not a vector or matrix of numbers (but a scalar, text,"
            " struct, cell or object); save its series as variables of their own."
        )
    return columns


def _is_input(name: str, columns: Mapping[str, Any]) -> bool:
    """Tell numbers from texts; a text with numbers in it is a damaged input, to be reported."""
    import pandas

    bare = re.sub(r"\s*[\[(].*", "", name).strip().casefold()
    if bare in _TIME or not columns:
        return False
    column = next(iter(columns.values()))
    if column.dtype.kind in "biufc":
        return True
    texts = column.astype(str).str.replace(",", "")  # 1,000 is meant as a number
    return bool(pandas.to_numeric(texts, errors="coerce").notna().any())


def _listing(table: _Table) -> str:
    names = [name for name, columns in table.items() if columns]
    return f"The columns are: {', '.join(names[:30])}{', …' if len(names) > 30 else ''}."


def _assemble(
    chosen: Sequence[tuple[str, Any]],
    target: Mapping[str, Any],
    sampling_time: float | None,
    label: str,
) -> Dataset:
    """Name the signals and build the data set."""
    import pandas

    ((output, series),) = target.items()
    spelling: dict[str, str] = {}
    for text, column in (*chosen, (output, series)):
        if len(column) != len(series):
            raise AdjoinError(
                f"{text!r} has {len(column)} samples, but the output {output!r} has {len(series)};"
                " choose inputs that belong to this output."
            )
        name = legal_name(text)
        if name in spelling:
            raise AdjoinError(
                f"the columns {spelling[name]!r} and {text!r} would both be the signal {name!r};"
                " choose every column once, and rename one of two that are spelled alike."
            )
        spelling[name] = text
    noise = "e"
    while noise in spelling:
        noise += "_noise"
    *inputs, output = spelling
    columns = dict(zip(inputs, (column for _, column in chosen), strict=True))
    frame = pandas.DataFrame(columns, index=range(len(series)))
    names = SignalNames(tuple(inputs), output, noise)
    return Dataset.from_arrays(frame, series, names, sampling_time, label)


def _csv_table(file: Path) -> _Table:
    import pandas

    text = _decode(file.read_bytes())
    lines = text.split("\n")
    first = next((i for i, line in enumerate(lines) if _has_content(line)), -1)
    if first < 0:
        raise AdjoinError("the file is empty: it holds no table.")
    unquoted = re.sub('"[^"]*"', "", lines[first])
    separator = next((mark for mark in ";\t," if mark in unquoted), " ")
    header = _fields(lines[first], separator)
    has_header = not all(_is_number(field) for field in header if field)
    start = first + has_header
    row = next((line for line in lines[start:] if line.strip()), None)
    if row is None:
        raise AdjoinError("there are no rows below the header.")
    name, times = Counter(filter(None, header)).most_common(1)[0]
    if has_header and times > 1:
        raise AdjoinError(f"{times} columns are called {name!r}; give each its own name.")
    width = max(len(header), len(_fields(row, separator)))
    body = "\n".join(lines[start:])
    marks = [mark for mark in ".," if re.search(_FIELD % re.escape(mark), body, re.MULTILINE)]
    try:
        frame = pandas.read_csv(
            io.StringIO(text),
            sep=r"\s+" if separator == " " else separator,
            decimal="," if separator != "," and marks == [","] else ".",
            header=None,
            names=range(width),
            index_col=False,  # else pandas takes the first column of a wide row as row names
            skiprows=start,
            skipinitialspace=True,
            low_memory=False,  # else a column may mix types
        )
    except (pandas.errors.ParserError, pandas.errors.EmptyDataError) as error:
        fault = str(error).rpartition("C error: ")[2].strip()
        raise AdjoinError(f"the table is irregular: {fault}; correct the file.") from None
    if not has_header:
        filled = [i for i in range(width) if frame[i].notna().any()]
        return {f"c{i + 1}": {f"c{i + 1}": frame[i]} for i in range(max(filled, default=-1) + 1)}
    if extra := [i for i in range(len(header), width) if frame[i].notna().any()]:
        raise AdjoinError(
            f"the header names {len(header)} columns, but rows have up to {extra[-1] + 1} values;"
            " name every column."
        )
    return {name: {name: frame[i]} for i, name in enumerate(header) if name}


def _decode(content: bytes) -> str:
    """Return the text of a file with line ends as newlines."""
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            text = content.decode("utf-16")
        elif _CONTROL.search(content):
            raise AdjoinError("this is a binary file, not a text table; export it as CSV.")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # older spreadsheets; digits are the same
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _has_content(line: str) -> bool:
    return bool(line.strip(' \t,;"')) and line.lstrip()[0] not in "#%"


def _fields(line: str, separator: str) -> list[str]:
    try:
        fields = next(csv.reader([line.strip(" ")], delimiter=separator, skipinitialspace=True))
    except csv.Error as error:
        raise AdjoinError(f"the first line cannot be read: {error}.") from None
    return [field.strip() for field in fields]


def _is_number(field: str) -> bool:
    try:
        return "_" not in field and float(field.replace(",", ".")) is not None
    except ValueError:
        return False


def _mat_table(file: Path) -> _Table:
    import scipy.io

    with file.open("rb") as stream:
        head = stream.read(520)
    if _HDF5 in (head[:8], head[512:]) or head.startswith(b"MATLAB 7.3"):
        raise AdjoinError(
            "this is a MATLAB 7.3 (HDF5) file; save it in MATLAB by save(..., '-v7') and retry."
        )
    try:
        content = scipy.io.loadmat(file, appendmat=False)
    except Exception as error:  # damaged files fail in the parser in every possible way
        raise AdjoinError(f"this is not a readable MATLAB file ({error}).") from error
    return {
        name: _mat_columns(name, value)
        for name, value in content.items()
        if not name.startswith("__")
    }


def _mat_columns(name: str, value: Any) -> dict[str, Any]:
    is_numeric = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    if not is_numeric or value.ndim != 2 or value.size < 2:
        return {}
    value = value.astype(value.dtype.newbyteorder("="))  # pandas wants native numbers
    if 1 in value.shape:
        return {name: value.ravel()}
    return {f"{name}{i + 1}": column for i, column in enumerate(value.T)}
