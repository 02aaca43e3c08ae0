"""What a user passes as data, taken apart into records and columns, and checked.

Receives arrays, pandas objects and lists of them; hands checked float64 arrays to ``signals``. The
one gate through which every series enters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import is_mapped, pieces
from adjoin.errors import AdjoinError
from adjoin.text import counted

LARGEST, SMALLEST = 1e25, 1e-25
"""The largest size of a value, and the smallest range of a signal that is not constant.

A coefficient in the user's units is s_y / s^d times one near 1, and is squared in variances; a
product of d raw values is squared and summed over rows. With d = 4 and sizes s between these
bounds, both stay within 1e-250 and 1e250, where a double neither overflows nor loses digits.
"""
_RANGE = f"signals are at most {LARGEST:g} in size and vary by {SMALLEST:g} or more, or not at all"


class Columns(NamedTuple):
    """The columns of one record, their values not yet checked.

    ``mapped`` : all of them as they lie in a memory-mapped file, where they stay.
    """

    labels: tuple[str | None, ...]
    series: tuple[Any, ...]
    n_samples: int
    place: str
    is_frame: bool = False
    mapped: Any = None

    def select(self, names: Sequence[str]) -> Columns:
        """Pick columns by name."""
        if missing := [name for name in names if self.labels.count(name) != 1]:
            raise AdjoinError(
                f"the data{self.place} need one column for each of {', '.join(missing)}; they have"
                f" {', '.join(map(str, self.labels)) or 'none'}."
            )
        series = tuple(self.series[self.labels.index(name)] for name in names)
        return self._replace(series=series, mapped=None)

    def matrix(self, titles: Sequence[str], expected: str) -> Float2D:
        """Check every column: ``(n_samples, n_columns)``.

        Parameters
        ----------
        titles : sequence of str
            What errors call each column.
        expected : str
            What errors say there should be.
        """
        if len(self.series) != len(titles):
            is_lying = self.n_samples == len(titles)
            raise AdjoinError(
                f"{expected}, but the data{self.place} have"
                f" {counted(len(self.series), 'column')}; "
                + ("transpose them, a signal is a column." if is_lying else "pass one for each.")
            )
        pairs = zip(self.series, titles, strict=True)
        if self.mapped is not None:
            for values, title in pairs:
                _check(values, f"{title}{self.place}")
            return np.asarray(self.mapped).reshape(self.n_samples, len(titles))
        table = np.empty((self.n_samples, len(titles)))
        for column, (values, title) in zip(table.T, pairs, strict=True):
            column[:] = _check(values, f"{title}{self.place}")
        return table


def tabulate(values: Any, role: str) -> tuple[list[Columns], bool]:
    """Take apart records and columns; a list whose first element is a series has many records."""
    several = isinstance(values, list | tuple) and len(values) > 0 and _holds_many(values[0])
    parts = values if several else [values]
    return [_columns(part, role, place_of(i, len(parts))) for i, part in enumerate(parts)], several


def _holds_many(value: Any) -> bool:
    is_plain = isinstance(value, list | tuple | Mapping)
    return is_plain or hasattr(value, "records") or hasattr(value, "tocsr") or np.ndim(value) > 0


def _columns(values: Any, role: str, place: str) -> Columns:
    """Take apart the columns of one record."""
    if hasattr(values, "iloc"):  # pandas, without importing it
        is_frame = values.ndim == 2
        keys = list(values.columns) if is_frame else [values.name]
        series = tuple(values.iloc[:, i] for i in range(len(keys))) if is_frame else (values,)
        # pandas numbers the columns that nobody named
        is_named = not all(key is None or isinstance(key, Integral) for key in keys)
        labels = tuple(str(key) if is_named else None for key in keys)
        return Columns(labels, series, len(values), place, is_frame and is_named)
    if hasattr(values, "tocsr"):  # SciPy's sparse arrays, of which one is a mapping
        raise AdjoinError(
            f"the {role}{place} is sparse. Sparse data are not supported: pass a dense array, by"
            " .toarray()."
        )
    if isinstance(values, Mapping):
        raise AdjoinError(
            f"the {role}{place} is a {type(values).__name__}; make it a table by pandas.DataFrame."
        )
    if hasattr(values, "records"):
        raise AdjoinError(f"the {role}{place} is a data set; pass its values .u or .y.")
    try:
        array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    except ValueError:
        raise AdjoinError(f"the rows of the {role}{place} have unequal lengths.") from None
    if array.ndim not in (1, 2):
        fault = f"has {array.ndim} dimensions" if array.ndim else f"is {values!r:.40}"
        raise AdjoinError(
            f"the {role}{place} {fault}; pass one series, an array with a column per signal, or a"
            " list of those for several records."
        )
    series = (array,) if array.ndim == 1 else tuple(array.T)
    mapped = array if series and _stays(array) else None
    return Columns((None,) * len(series), series, len(array), place, mapped=mapped)


def shared_labels(records: Sequence[Columns], default: str) -> tuple[str, ...]:
    """Return the names that the data bring along, else ``u``, or ``u1, u2, …``."""
    labels = records[0].labels
    for columns in records:
        if columns.labels != labels:
            raise AdjoinError(
                f"the columns{columns.place} are {columns.labels}, but in record 0 {labels}; all"
                " records need the same columns in the same order."
            )
    numbers = ("",) if len(labels) == 1 else range(1, len(labels) + 1)
    return tuple(label or f"{default}{i}" for label, i in zip(labels, numbers, strict=True))


def _check(values: Any, what: str) -> Float1D:
    """Let only real, finite numbers pass: the one gate for every series."""
    kind = getattr(values.dtype, "kind", "O")
    if len(values) == 0:
        raise AdjoinError(f"{what} is empty; pass at least one sample.")
    if kind == "c":
        raise AdjoinError(
            f"{what} is complex. Complex data not supported: pass real and imaginary part as two"
            " signals."
        )
    if kind not in "biuf":
        values = _unboxed(values, what)
    is_pandas = hasattr(values, "iloc")
    with np.errstate(over="ignore"):  # a wider float may become infinite
        raw = values.to_numpy(np.float64, na_value=np.nan) if is_pandas else np.ma.getdata(values)
        array = np.asarray(raw) if _stays(raw) else np.array(raw, dtype=np.float64)
    if not np.ma.is_masked(values) and _is_clean(array):
        return array
    masked = np.zeros(len(array), bool) if is_pandas else np.ma.getmaskarray(values)
    size = np.where(masked, 0.0, np.abs(array))
    faults = {"NaN": np.isnan(size), "infinite": np.isinf(size), "masked": masked}
    found = [
        counted(int(bad.sum()), f"{fault} value") for fault, bad in faults.items() if bad.any()
    ]
    if found:
        where = np.flatnonzero(np.any(list(faults.values()), axis=0))
        listed = ", ".join(map(str, where[:5])) + (" …" if len(where) > 5 else "")
        raise AdjoinError(
            f"{what} has {' and '.join(found)}, first at sample{'s' * (len(where) > 1)} {listed}"
            " (counted from 0); correct them, or cut the data into records there."
        )
    if size.max() > LARGEST:
        i = int(np.argmax(size))
        raise AdjoinError(
            f"{what} is {array[i]:g} at sample {i} (counted from 0), but {_RANGE}; give it in"
            " another unit, or correct the sample if it marks a fault."
        )
    return array


def _stays(values: Any) -> bool:
    """Whether values stay where they are: numbers as they are worked with, in a mapped file."""
    return is_mapped(values) and values.dtype == np.float64 and values.flags.aligned


def _is_clean(values: Float1D) -> bool:
    """Whether all values are numbers of a legal size, a block at a time."""
    # NaN is no number below any limit.
    return all(
        bool(np.abs(values[begin:end]).max() <= LARGEST) for begin, end in pieces(0, len(values))
    )


def require_range(what: str, records: Sequence[Float1D]) -> None:
    """Refuse a signal of which units alone make the numbers too large or too small to work with.

    Parameters
    ----------
    what : str
        What the error calls the signal.
    records : sequence of (n,) arrays
        All of it, because it may well rest in a single record.
    """
    low, high = min(map(np.min, records)), max(map(np.max, records))
    if max(-low, high) > LARGEST:
        fault = f"reaches {high if high > -low else low:g}"
    elif 0.0 < high - low < SMALLEST:
        fault = f"varies by {high - low:.3g} only"
    else:
        return
    raise AdjoinError(f"{what} {fault}, but {_RANGE}; give it in another unit.")


def _unboxed(values: Any, what: str) -> Float1D:
    """Convert numbers stored as objects; refuse everything else with an example."""
    items = list(values)
    if all(isinstance(item, Real | Decimal | np.bool) for item in items):
        return np.array([_float(item) for item in items])
    import pandas

    texts = pandas.Series(list(map(str, items)))
    is_odd = pandas.to_numeric(texts, errors="coerce").isna() & (texts != "nan")
    i = int(np.argmax(is_odd))
    is_text = isinstance(items[i], str)
    remedy = "replace them by numbers" if is_odd[i] else "convert them by pandas.to_numeric"
    raise AdjoinError(
        f"{what} holds {'texts' if is_text else f'values of type {values.dtype}'}, not numbers:"
        f" '{texts[i]}' at sample {i}; {remedy}."
    )


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:  # a whole number beyond every float
        return np.inf


def place_of(record: int, n_records: int) -> str:
    """Say in which record, where there are several."""
    return f" in record {record}" if n_records > 1 else ""
