"""Long series a block of rows at a time, so that nothing as long as a record is made on the way.

Receives series from whoever sums over all rows; below `LONG` rows all is done at once, as it always
was, to the last bit. Above, sums are exact sums of those of blocks (`math.fsum`), which differ from
a sum over all rows in the last digits only.
"""

from __future__ import annotations

import math
import mmap
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from adjoin.arrays import Float1D

LONG = 2**22
"""Rows from which on a record is worked on in blocks: a column of so many takes 32 MB."""
BLOCK = 2**17
SPREAD, TESTED = 32, 2**20
"""Stretches of a long record that are looked at where not every sample need be, and how many
samples these have together where residuals are tested: with so many, a correlation of 0.004 is
beyond chance."""


def is_long(n_rows: int) -> bool:
    """Whether so many rows are worked on in blocks."""
    return n_rows >= LONG


def pieces(start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Where each block from `start` up to `stop` begins and ends."""
    for begin in range(start, stop, BLOCK):
        yield begin, min(begin + BLOCK, stop)


def spread(lengths: Sequence[int], most: int) -> list[tuple[int, int, int]] | None:
    """Stretches of long records that are looked at in their place; None where all are.

    Each as its record, first sample and end: `SPREAD` of them at even distances over all records,
    of `most` samples together; one that a record ends in goes on in the next one.
    """
    edges = np.cumsum([0, *lengths])
    if edges[-1] < most:
        return None
    width, found = most // SPREAD, []
    for begin in np.linspace(0, edges[-1] - width, SPREAD).astype(int).tolist():
        first = int(np.searchsorted(edges, begin, side="right")) - 1
        last = int(np.searchsorted(edges, begin + width, side="left"))
        for number in range(first, last):
            start, end = int(edges[number]), int(edges[number + 1])
            part = number, max(begin - start, 0), min(begin + width, end) - start
            found += [part] if part[2] - part[1] > 1 else []
    return found


def is_mapped(values: Any) -> bool:
    """Whether an array lies in a memory-mapped file."""
    base = values
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def moments(records: Sequence[Float1D]) -> tuple[float, float]:
    """Mean and standard deviation of a series in several records, all of them together."""
    n_rows = sum(map(len, records))
    if not is_long(n_rows):
        joined = np.concatenate(records)
        return float(joined.mean()), float(joined.std())
    mean = math.fsum(float(part.sum()) for part in _parts(records)) / n_rows
    squares = math.fsum(float(np.square(part - mean).sum()) for part in _parts(records))
    return mean, math.sqrt(squares / n_rows)


def is_constant(records: Sequence[Float1D]) -> bool:
    """Whether all values of a series are the same."""
    first = next(record[0] for record in records if len(record))
    return all(bool((part == first).all()) for part in _parts(records))


def sum_of_squares(records: Sequence[Float1D], shift: float = 0.0) -> float:
    """Σ (x + shift)² over a series."""
    if not is_long(sum(map(len, records))):
        joined = np.concatenate(records) + shift
        return float(joined @ joined)
    shifted = (part + shift for part in _parts(records))
    return math.fsum(float(part @ part) for part in shifted)


def mean_square(left: Sequence[Float1D], right: Sequence[Float1D]) -> float:
    """The mean of (left - right)² over two series, record by record alike."""
    n_rows = sum(map(len, left))
    if not is_long(n_rows):
        return float(np.mean((np.concatenate(left) - np.concatenate(right)) ** 2))
    pairs = zip(_parts(left), _parts(right), strict=True)
    return math.fsum(float(np.square(a - b).sum()) for a, b in pairs) / n_rows


def _parts(records: Sequence[Float1D]) -> Iterator[Float1D]:
    for record in records:
        for begin, end in pieces(0, len(record)):
            yield record[begin:end]
