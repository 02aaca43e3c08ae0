"""Inner products of term columns, computed once and looked up ever after.

Receives the data as a `Regression`; fills a `ProductTable`. Columns are not stored: they are made a
block of rows at a time from the signals, which stay in the processor's cache, and that is faster
than reading stored columns from memory. Each entry is a function of its two terms and the data
alone, to the last bit, so a table may forget entries without changing any result.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D, Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.hashing import find_slot
from adjoin.kernels.layouts import Regression
from adjoin.kernels.tables import Fit, ProductTable, Work

# Rows per block: the candidate's and another term's block, 16 kB together, fit the first-level
# cache beside a few signals.
ROWS = 1024


@kernel()
def fill_column(data: Regression, atom: Int1D, degree: int, block: int, column: Float1D) -> None:
    """A block of rows of a term's column: the product of its atoms from the first to the last.

    Mutates: column. Allocates: nothing.
    """
    start = data.start[block]
    width = data.stop[block] - start
    if degree == 0:
        for k in range(width):
            column[k] = 1.0
        return
    begin = start - data.lag[atom[0]]
    first = data.series[data.row[atom[0]], begin : begin + width]
    if degree == 1:
        for k in range(width):
            column[k] = first[k]
        return
    begin = start - data.lag[atom[1]]
    second = data.series[data.row[atom[1]], begin : begin + width]
    if degree == 2:
        for k in range(width):
            column[k] = first[k] * second[k]
        return
    begin = start - data.lag[atom[2]]
    third = data.series[data.row[atom[2]], begin : begin + width]
    for k in range(width):
        column[k] = first[k] * second[k] * third[k]
    for i in range(3, degree):
        begin = start - data.lag[atom[i]]
        next_one = data.series[data.row[atom[i]], begin : begin + width]
        for k in range(width):
            column[k] *= next_one[k]


# The one place with relaxed arithmetic: the order of this sum is left to the compiler, which makes
# it several times faster. NaN and infinity keep their meaning, and a·b = b·a to the last bit.
@kernel(fastmath={"reassoc", "contract"})
def dot(left: Float1D, right: Float1D, n: int) -> float:
    """Σ left·right over the first n.

    Mutates: nothing. Allocates: nothing.
    """
    total = 0.0
    for k in range(n):
        total += left[k] * right[k]
    return total


@kernel()
def pinned_place(data: Regression, key: int) -> int:
    """Which of the pinned terms a key stands for; -1 if none.

    Mutates: nothing. Allocates: nothing.
    """
    for i in range(data.pinned_key.shape[0]):
        if data.pinned_key[i] == key:
            return i
    return -1


@kernel()
def take_slot(
    table: ProductTable, data: Regression, atom: Int1D, degree: int, key: int, column: Float1D
) -> int:
    """The slot of a term; a new one, with its norm and its correlation with the output, if need be.

    There must be room. A column that is not finite, or whose square is not, gets an infinite norm.
    That of a pinned term counts as zero: the target has it already.

    Mutates: table, column. Allocates: nothing.
    """
    found = find_slot(table, key)
    if found >= 0:
        return found
    slot = table.size[0]
    table.size[0] += 1
    table.bucket[-1 - found] = slot
    table.key[slot] = key
    table.degree[slot] = degree
    for i in range(degree):
        table.atom[slot, i] = atom[i]
    square, target = 0.0, 0.0
    is_pinned = pinned_place(data, key) >= 0
    for block in range(0 if is_pinned else data.start.shape[0]):
        fill_column(data, atom, degree, block, column)
        width = data.stop[block] - data.start[block]
        square += dot(column, column, width)
        target += dot(column, data.target[data.start[block] : data.stop[block]], width)
    norm = math.sqrt(square) if square < math.inf else math.inf
    length = norm * data.target_norm
    table.norm[slot] = norm
    table.target[slot] = target / length if length > 0.0 else 0.0
    for other in range(table.size[0]):
        table.correlation[slot, other] = math.nan
        table.correlation[other, slot] = math.nan
    table.correlation[slot, slot] = 1.0
    table.rest.is_begun[slot] = 0
    return slot


@kernel()
def fill_products(table: ProductTable, data: Regression, slot: int, n: int, work: Work) -> None:
    """Correlations of the term in `slot` with the `n` terms in ``work.missing``, in one pass.

    Mutates: table, work. Allocates: nothing.
    """
    for j in range(n):
        work.product[j] = 0.0
    for block in range(data.start.shape[0]):
        width = data.stop[block] - data.start[block]
        fill_column(data, table.atom[slot], table.degree[slot], block, work.column)
        for j in range(n):
            other = work.missing[j]
            fill_column(data, table.atom[other], table.degree[other], block, work.other)
            work.product[j] += dot(work.column, work.other, width)
    for j in range(n):
        other = work.missing[j]
        length = table.norm[slot] * table.norm[other]
        value = work.product[j] / length if length > 0.0 else 0.0
        table.correlation[slot, other] = value
        table.correlation[other, slot] = value


@kernel()
def place_term(
    table: ProductTable, data: Regression, slot: int, fit: Fit, place: int, n: int, work: Work
) -> None:
    """Enter a term of the table into a fit of n terms, at `place`, with all it needs.

    Mutates: table, fit, work. Allocates: nothing.
    """
    n_missing = 0
    for j in range(n):
        if j != place and math.isnan(table.correlation[slot, fit.slot[j]]):
            work.missing[n_missing] = fit.slot[j]
            n_missing += 1
    if n_missing > 0:
        fill_products(table, data, slot, n_missing, work)
    fit.slot[place] = slot
    fit.norm[place] = table.norm[slot]
    fit.target[place] = table.target[slot]
    for j in range(n):
        if j < place:
            fit.correlation[j, place] = table.correlation[slot, fit.slot[j]]
        elif j > place:
            fit.correlation[place, j] = table.correlation[slot, fit.slot[j]]
    fit.correlation[place, place] = 1.0


@kernel()
def forget_products(table: ProductTable, n: int) -> None:
    """Make room for n terms more in the table of inner products, by forgetting all.

    Mutates: table. Allocates: nothing.
    """
    if table.size[0] + n > table.key.shape[0]:
        table.size[0] = 0
        for b in range(table.bucket.shape[0]):
            table.bucket[b] = -1
