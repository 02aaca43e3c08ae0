"""Text tables and MATLAB files, taken apart into named columns.

Receives a path from ``readers`` and hands it a `Table`; which of the columns are signals, and what
they are called, is decided there.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress, islice, takewhile, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from adjoin.data.missing import fill_remedy, runs
from adjoin.data.names import plain_unit, split_unit
from adjoin.errors import AdjoinError
from adjoin.text import counted

_HDF5 = b"\x89HDF\r\n\x1a\n"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")  # never in a text file
_BLANK_ROW = ' \t,;"'  # all there is in the empty rows that spreadsheets save
_ENOUGH_LINES = 2_000  # to tell the decimal mark; searching them all takes longer than reading them
_FIELD = r'(?:^|[;\t "])([+-]?\d*%s\d+(?:[eE][+-]?\d+)?)(?=$|[;\t "])'  # a number with this mark
_THOUSANDS = r"[+-]?\d{1,3}(?:([., '’\u00a0\u202f])\d{3})(?:\1\d{3})*(?:[.,]\d+)?"
_NUMBER = rf"(?:[+-]?(?:\d+[.,]?\d*|[.,]\d+)(?:[eE][+-]?\d+)?|{_THOUSANDS})"
_MINUS = "\u2212"  # what word processors make of a minus
_MISSING = {"na", "nan", "null", "none", "nil", "missing", "invalid", "error", "err", "over"}
_UNIT_SIGNS = "%‰°"  # of units without a letter


@dataclass(frozen=True, eq=False)
class Column:
    """One series of a file.

    Parameters
    ----------
    name : str
        What the file calls it.
    values : (n,) array or pandas Series
        Numbers, or texts where the file has any.
    group : str
        The matrix whose column it is; elsewhere its own name.
    owner : str
        The struct whose field it is; else empty.
    unit : str
        From its name or the row of units below the header; empty where not known.
    """

    name: str
    values: Any
    group: str
    owner: str = ""
    unit: str = ""

    @property
    def path(self) -> str:
        """The name with that of the struct: ``data.u``."""
        return _path(self.owner, self.name)

    def has_numbers(self) -> bool:
        """Tell numbers from texts; a text with numbers in it is damaged, and to be reported."""
        if self.values.dtype.kind in "biufc":
            return not np.isnan(self.values).all()
        texts = (str(value).replace(_MINUS, "-").strip() for value in self.values.unique())
        return any(re.fullmatch(_NUMBER, text) for text in texts)


@dataclass(frozen=True, eq=False)
class Table:
    """The columns of a file, and the variables of it that are none, with what they are.

    ``matrix`` : all columns in a memory-mapped file, where they stay.
    """

    columns: tuple[Column, ...]
    others: Mapping[str, str] = field(default_factory=dict)
    matrix: Any = None

    @property
    def root(self) -> str:
        """The struct that holds every column, which users need not name; else empty."""
        levels = zip(*(column.owner.split(".") for column in self.columns), strict=False)
        return ".".join(level[0] for level in takewhile(lambda level: len({*level}) == 1, levels))

    @property
    def names(self) -> list[str]:
        """What users call the columns."""
        return [column.path.removeprefix(f"{self.root}.") for column in self.columns]

    def find(self, name: str) -> list[Column]:
        """Return the columns that a name stands for: one, or those of a matrix."""
        paths = {name, _path(self.root, name)}
        return [c for c in self.columns if paths & {c.path, _path(c.owner, c.group)}]

    def numbers(
        self, chosen: Sequence[Column], may_miss: bool = False, can_fill: bool = False
    ) -> list[Any]:
        """Return the values of columns, every one a number, or missing where that may be.

        The error about missing values names `fill` where the reader `can_fill`.
        """
        return [column.values for column in chosen]

    def written(self, columns: Sequence[Column]) -> list[list[Any]]:
        """Return the values of columns as the file has them: numbers, or texts of any kind."""
        return [column.values.tolist() for column in columns]


@dataclass(frozen=True, eq=False)
class _Text:
    """The lines of a text file, where its rows start, and how they are to be read."""

    lines: list[str]
    start: int
    separator: str
    decimal: str

    def rows(self) -> Iterator[tuple[int, list[str]]]:
        """Go through the rows as pandas sees them, with the line (from 1) where each starts."""
        blank = " " if self.separator == "\t" else " \t"
        body = self.lines[self.start :]
        if self.separator == " ":
            body = [line.replace("\t", " ").strip() for line in body]
        reader = csv.reader(body, delimiter=self.separator, skipinitialspace=True)
        before = 0
        try:
            for fields in reader:
                if body[reader.line_num - 1].strip(blank):
                    yield self.start + before + 1, fields
                before = reader.line_num
        except csv.Error as error:
            raise AdjoinError(f"line {self.start + before + 1} cannot be read: {error}.") from None

    def frame(self, width: int) -> Any:
        """Read the rows into a frame of numbered columns."""
        import pandas

        try:
            return pandas.read_csv(
                io.StringIO("\n".join(self.lines[self.start :])),
                sep=r"\s+" if self.separator == " " else self.separator,
                decimal=self.decimal,
                header=None,
                names=range(width),
                index_col=False,  # else pandas takes the first column of a wide row as row names
                skipinitialspace=True,
                low_memory=False,  # else a column may mix types
            )
        except pandas.errors.ParserError as error:
            raise AdjoinError(
                f"the table is irregular: {self._fault(width, error)}; correct the file."
            ) from None

    def _fault(self, width: int, error: Exception) -> str:
        """Say in which line the rows cannot be read."""
        line = 0
        for line, fields in self.rows():
            if len(fields) > width:
                return f"line {line} has {len(fields)} values in {counted(width, 'column')}"
        if "EOF inside string" in str(error):
            return f"a quotation mark in line {line} is not closed"
        return str(error).strip()


@dataclass(frozen=True, eq=False)
class _TextTable(Table):
    """A text table, which can say in which line a value is missing."""

    text: _Text = field(kw_only=True)
    width: int = field(kw_only=True)

    def numbers(
        self, chosen: Sequence[Column], may_miss: bool = False, can_fill: bool = False
    ) -> list[Any]:
        series = [_to_numbers(column.values, self.text.decimal) for column in chosen]
        is_bad = np.column_stack([np.isnan(values) for values in series])
        if is_bad.any():
            # a cell that says that it is missing may be; one that is damaged is not
            is_missing = np.column_stack([_says_missing(column.values) for column in chosen])
            is_damaged = is_bad & ~is_missing
            is_bad = is_damaged if may_miss else is_bad
            if is_bad.any():
                is_gap = can_fill and not is_damaged.any()
                longest = (
                    max(b - a for a, b in runs(np.asarray(is_bad.any(axis=1)))) if is_gap else 0
                )
                raise AdjoinError(self._describe(chosen, is_bad, longest))
        return series

    def written(self, columns: Sequence[Column]) -> list[list[Any]]:
        """Return the very texts, so that no digit of a time stamp changes; "." marks decimals."""
        found: list[list[Any]] = [[] for _ in columns]
        positions = [int(column.values.name) for column in columns]
        for _, fields in self.text.rows() if columns else ():
            for position, cells in zip(positions, found, strict=True):
                cell = fields[position].strip() if position < len(fields) else ""
                is_comma = self.text.decimal == "," and re.fullmatch(_NUMBER, cell)
                cells.append(cell.replace(",", ".") if is_comma else cell)
        return found

    def _describe(self, chosen: Sequence[Column], is_bad: Any, longest: int) -> str:
        """Say where the first bad cells are, what is in them, and what to do.

        `longest` is of runs of rows that can be filled in; 0 if none can.
        """
        found: dict[str, str] = {}
        rows = np.flatnonzero(is_bad.any(axis=1))[:3].tolist()
        for i, (line, fields) in enumerate(islice(self.text.rows(), rows[-1] + 1)):
            for column in compress(chosen, is_bad[i]) if i in rows else ():
                # the frame numbers its columns, so the name of a series is its position
                place, position = f"line {line}, column {column.name!r}", int(column.values.name)
                cell = fields[position].strip() if position < len(fields) else None
                if cell is None:
                    found[f"line {line} has {len(fields)} of {self.width} values"] = ""
                elif not cell:
                    found[f"{place}: the cell is empty"] = ""
                else:
                    found[f"{place}: {cell!r} is not a number"] = _remedy(cell, self.text)
        n_bad = int(is_bad.sum())
        total = f" ({n_bad} such cells in all)" if n_bad > 3 else ""
        remedies = dict.fromkeys(filter(None, list(found.values())[:3]))
        advice = "; ".join(remedies) or "correct the file, or choose other columns"
        if longest:
            advice = f"{fill_remedy(longest)}; or {advice}"
        return f"{'; '.join(list(found)[:3])}{total}; {advice}."


def _path(owner: str, name: str) -> str:
    return f"{owner}.{name}" if owner else name


def read_text(file: Path, decimal: str | None = None) -> Table:
    """Take a text table apart; the decimal mark is found out if not given."""
    lines = _decode(file.read_bytes()).split("\n")
    while lines and not lines[-1].strip(_BLANK_ROW):
        lines.pop()
    declared = re.fullmatch(r'"?sep=(.)"?', lines[0].strip(" "), re.IGNORECASE) if lines else None
    contents = (i for i in range(declared is not None, len(lines)) if _has_content(lines[i]))
    if (first := next(contents, None)) is None:
        raise AdjoinError("the file is empty: it holds no table.")
    separator = declared[1] if declared else _separator(lines[first], decimal)
    header = _fields(lines, first, separator)
    header_line = not _is_row(header)
    if not header_line:
        start, header = first, _commented_header(lines[:first], separator, len(header))
    else:
        start = _first_row(lines, first, separator)
        if separator == " " and len(_fields(lines, start, separator)) == 1:
            header = [lines[first].strip().strip('"')]  # a lone column whose name has blanks
    mark = decimal or _decimal_mark(lines[start : start + _ENOUGH_LINES], separator)
    text = _Text(lines, start, separator, mark)
    width = max(len(header), len(_fields(lines, start, separator, is_whole=True)))
    frame = text.frame(width)
    if not header:
        filled = [i for i in range(width) if frame[i].notna().any()]
        header = [f"c{i + 1}" for i in range(max(filled, default=-1) + 1)]
    if extra := [i for i in range(len(header), width) if frame[i].notna().any()]:
        raise AdjoinError(
            f"the header names {len(header)} columns, but rows have up to {extra[-1] + 1} values;"
            " name every column."
        )
    below = _units_below(lines, first, start, separator) if header_line else []
    units = [split_unit(name)[1] for name in header]
    units = [unit or plain_unit(row) for unit, row in zip_longest(units, below, fillvalue="")]
    columns = [Column(name, frame[i], name, unit=units[i]) for i, name in enumerate(header) if name]
    return _TextTable(tuple(columns), text=text, width=len(header))


def _decode(content: bytes) -> str:
    """Return the text of a file with line ends as newlines."""
    try:
        if content.startswith((b"\xff\xfe", b"\xfe\xff")):
            text = content.decode("utf-16")
        elif _CONTROL.search(content, 0, 65_536):
            raise AdjoinError("this is a binary file, not a text table; export it as CSV.")
        else:
            text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # older spreadsheets; digits are the same
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _has_content(line: str) -> bool:
    return bool(line.strip(_BLANK_ROW)) and line.lstrip()[0] not in "#%"


def _separator(line: str, decimal: str | None) -> str:
    """Tell the separator from the first line of the table; blanks if it has no other."""
    unquoted = re.sub('"[^"]*"', "", line)
    number = r"[+-]?\d+(?:,\d+)?(?:[eE][+-]?\d+)?"
    blanks = rf"{number}(?:\s+{number})+" if decimal != "," else r".*\S\s+\S.*"
    marks = ";\t" if re.fullmatch(blanks, unquoted.strip()) else ";\t,"
    return next((mark for mark in marks if mark in unquoted), " ")


def _fields(lines: list[str], i: int, separator: str, is_whole: bool = False) -> list[str]:
    """Take a line apart, without the empty fields at its end unless the whole is wanted."""
    text = _Text(lines[: i + 1], i, separator, ".")
    fields = [entry.strip() for entry in next(text.rows())[1]]
    while not is_whole and fields and not fields[-1]:
        fields.pop()
    return fields


def _is_number(entry: str) -> bool:
    try:
        is_plain = entry.isascii() and "_" not in entry  # Python reads more than people write
        return is_plain and float(entry.replace(",", ".")) is not None
    except ValueError:
        return False


def _has_word(entry: str) -> bool:
    """Whether there is a letter in a cell, or a sign that is a unit by itself."""
    return any(sign.isalpha() or sign in _UNIT_SIGNS for sign in entry)


def _is_missing(entry: str) -> bool:
    """Whether a cell stands for a value that is not there: ``?``, ``-``, ``NA``, ``#N/A``."""
    word = re.sub(r"[\W_]", "", entry).lower()
    return word in _MISSING or not (word or _has_word(entry))


def _is_row(fields: list[str]) -> bool:
    """Whether a line holds values and no names: numbers, or what stands for missing ones."""
    entries = [entry for entry in fields if entry]
    is_number = [_is_number(entry) for entry in entries]
    is_value = all(map(max, is_number, map(_is_missing, entries)))
    # A column may be called Na or error, but not beside numbers.
    return is_value and (any(is_number) or not any(map(_has_word, entries)))


def _is_units(fields: list[str]) -> bool:
    """Whether a line holds units: every entry has a letter, % or °, and none is a value.

    Neither is what stands for a missing value a unit, but a dash is, beside others: that of what
    has none.
    """
    entries = [entry for entry in fields if entry.strip("[]()-–—")]
    is_unit = [
        _has_word(entry)
        and not (_is_missing(entry) or re.fullmatch(_NUMBER, entry.replace(_MINUS, "-")))
        for entry in entries
    ]
    return bool(entries) and all(is_unit)


def _commented_header(above: list[str], separator: str, width: int) -> list[str]:
    """Return the names in the last comment above a table, where ``numpy.savetxt`` puts them."""
    comments = [line.strip().lstrip("#% ") for line in above if line.strip()[:1] in ("#", "%")]
    names = _fields(comments, len(comments) - 1, separator) if any(comments[-1:]) else []
    is_header = len(names) == width and all(names) and not any(map(_is_number, names))
    return names if is_header else []


def _first_row(lines: list[str], header: int, separator: str) -> int:
    """Return where the rows below a header start: below the units, where there are any."""
    below = (i for i in range(header + 1, len(lines)) if lines[i].strip())
    first, second = next(below, None), next(below, None)
    if first is None:
        raise AdjoinError("there are no rows below the header.")
    if second is not None:
        units, row = _fields(lines, first, separator), _fields(lines, second, separator)
        if _is_units(units) and any(map(_is_number, row)):
            return second
    return first


def _units_below(lines: list[str], header: int, start: int, separator: str) -> list[str]:
    """The row of units between header and rows; empty if there is none."""
    between = [i for i in range(header + 1, start) if lines[i].strip()]
    return _fields(lines, between[0], separator) if between else []


def _decimal_mark(lines: list[str], separator: str) -> str:
    if separator == ",":
        return "."
    body = "\n".join(lines)
    found = {mark: re.search(_FIELD % re.escape(mark), body, re.MULTILINE) for mark in ".,"}
    examples = {mark: match[1] for mark, match in found.items() if match}
    if len(examples) == 2:
        raise AdjoinError(
            f"is the decimal mark that of {examples['.']!r} or that of {examples[',']!r}? Save the"
            " file with one mark, or pass decimal='.' or decimal=','."
        )
    return next(iter(examples), ".")


def _to_numbers(values: Any, decimal: str) -> Any:
    """Return floats, not a number where a cell holds none."""
    import pandas

    if values.dtype.kind in "biuf":
        return values.to_numpy(np.float64)
    if decimal == ",":
        texts = values.astype(str)
        values = texts.mask(texts.str.contains(".", regex=False)).str.replace(",", ".")
    return pandas.to_numeric(values, errors="coerce").to_numpy(np.float64)


def _says_missing(values: Any) -> Any:
    """Which cells of a column are empty or say that there is no value."""
    is_empty = values.isna().to_numpy()
    if values.dtype.kind in "biuf":
        return is_empty
    texts = {text: _is_missing(str(text)) for text in values.unique()}
    return is_empty | values.map(texts).fillna(True).to_numpy(bool)


def _remedy(cell: str, text: _Text) -> str:
    """Say what to do about a cell that a person would read as a number."""
    plain = cell.replace(_MINUS, "-")
    remedies = []
    if plain != cell and re.fullmatch(_NUMBER, plain):
        remedies.append("replace the Unicode minus by '-'")
    if re.fullmatch(_THOUSANDS, plain):
        remedies.append("if these are thousands separators, save the file without them")
    if text.separator == "," and text.decimal == "." and "." not in plain and _is_number(plain):
        remedies.append("if this is a decimal comma, pass decimal=','")
    return "; ".join(remedies)


def read_numpy(file: Path) -> Table:
    """Take the columns of an array file, memory-mapped: c1, c2, …, or as its fields are called."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise AdjoinError(f"this is not a readable array of NumPy ({error}).") from None
    if not isinstance(array, np.ndarray) or array.ndim != (1 if array.dtype.names else 2):
        raise AdjoinError(
            "this holds no table; save an array with a row per sample and a column per signal, or"
            " pass single series to Dataset.from_arrays."
        )
    if array.dtype.names:
        return Table(tuple(Column(name, array[name], name) for name in array.dtype.names))
    if array.dtype.kind not in "biuf":
        raise AdjoinError(f"this holds values of type {array.dtype}, not numbers.")
    names = [f"c{i + 1}" for i in range(array.shape[1])]
    columns = tuple(Column(name, array[:, i], name) for i, name in enumerate(names))
    return Table(columns, matrix=array)


def read_matlab(file: Path) -> Table:
    """Take the variables of a MATLAB file apart."""
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
    columns: list[Column] = []
    others: dict[str, str] = {}
    for name, value in content.items():
        if not name.startswith("__"):
            _unfold(name, value, "", columns, others)
    return Table(tuple(columns), others)


def _unfold(
    name: str, value: Any, owner: str, columns: list[Column], others: dict[str, str]
) -> None:
    """Add a variable to the columns, or say what else it is."""
    path = _path(owner, name)
    is_array = type(value) is np.ndarray and value.ndim == 2
    if is_array and value.dtype.kind in "biufc" and value.size > 1:
        value = value.astype(value.dtype.newbyteorder("="))  # pandas wants native numbers
        if 1 in value.shape:
            columns.append(Column(name, value.ravel(), name, owner))
        else:
            parts = enumerate(value.T)
            columns += [Column(f"{name}{i + 1}", part, name, owner) for i, part in parts]
    elif is_array and value.dtype.names and value.size == 1:
        others[path] = "struct"
        for entry in value.dtype.names:
            _unfold(entry, value[0, 0][entry], path, columns, others)
    else:
        others[path] = _kind(value)


def _kind(value: Any) -> str:
    """Name what is no series the way MATLAB does."""
    if type(value) is not np.ndarray:
        return "object"
    if value.dtype.names:
        return "struct array"
    kinds = {"O": "cell", "U": "text", "S": "text"}
    number = "empty" if value.size == 0 else "scalar" if value.size == 1 else "array"
    return kinds.get(value.dtype.kind, number)
