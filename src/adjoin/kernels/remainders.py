"""What rounding left out of the table of inner products, for when it matters.

Receives a `ProductTable` and the data; fills the table's `Remainder`, so that value and remainder
together are inner products with 30 digits. Entries are made only when they are asked for, each a
function of its two terms and the data alone, to the last bit, like the entries they complete.
"""

from __future__ import annotations

import math

from adjoin.kernels._jit import kernel
from adjoin.kernels.doubled import add_doubled, add_products, divide_doubled, multiply_exactly
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS, fill_column
from adjoin.kernels.tables import Fit, ProductTable, Work

# Stands for the target in the place of a slot.
TARGET = -1


@kernel()
def sum_products(
    table: ProductTable, data: Regression, left: int, right: int, work: Work
) -> tuple[float, float]:
    """The inner product of the columns in two slots, or of one and the target, doubled.

    Mutates: work. Allocates: nothing.
    """
    digits = work.digits
    for k in range(ROWS):
        digits.total[k] = 0.0
        digits.total_rest[k] = 0.0
    n = 0
    for block in range(data.start.shape[0]):
        start, stop = data.start[block], data.stop[block]
        n = max(n, stop - start)
        column, other = data.target[start:stop], data.target[start:stop]
        if left != TARGET:
            fill_column(data, table.atom[left], table.degree[left], block, work.column)
            column, other = work.column, work.column
        if right == TARGET:
            other = data.target[start:stop]
        elif right != left:
            fill_column(data, table.atom[right], table.degree[right], block, work.other)
            other = work.other
        add_products(column, other, stop - start, digits.total, digits.total_rest)
    value, rest = 0.0, 0.0
    for k in range(n):
        value, rest = add_doubled(value, rest, digits.total[k], digits.total_rest[k])
    return value, rest


@kernel()
def remainder(table: ProductTable, data: Regression, left: int, right: int, work: Work) -> float:
    r"""What is lacking to the correlation in the table: :math:`φ_i·φ_j / (s_i s_j)` less that.

    With s the lengths as they are in the table; that of the diagonal and of the target with itself
    is 1 in the table. 0 where a column is zero.

    Mutates: work. Allocates: nothing.
    """
    size = data.target_norm if left == TARGET else table.norm[left]
    other = data.target_norm if right == TARGET else table.norm[right]
    if not size * other > 0.0:
        return 0.0
    known = 1.0
    if right == TARGET and left != TARGET:
        known = table.target[left]
    elif left != right:
        known = table.correlation[left, right]
    product, rest = sum_products(table, data, left, right, work)
    length, length_rest = multiply_exactly(size, other)
    value, rest = divide_doubled(product, rest, length, length_rest)
    value, rest = add_doubled(value, rest, -known, 0.0)
    return value + rest


@kernel()
def complete_products(table: ProductTable, data: Regression, fit: Fit, n: int, work: Work) -> None:
    """See to it that the remainders of all inner products of a fit are in the table.

    Mutates: table, work. Allocates: nothing.
    """
    rest = table.rest
    if math.isnan(rest.square[0]):
        rest.square[0] = remainder(table, data, TARGET, TARGET, work)
    for i in range(n):
        slot = fit.slot[i]
        if rest.is_begun[slot]:
            continue
        rest.is_begun[slot] = 1
        for other in range(table.size[0]):
            rest.correlation[slot, other] = math.nan
            rest.correlation[other, slot] = math.nan
        rest.correlation[slot, slot] = remainder(table, data, slot, slot, work)
        rest.target[slot] = remainder(table, data, slot, TARGET, work)
    for i in range(n):
        for j in range(i):
            slot, other = fit.slot[i], fit.slot[j]
            if math.isnan(rest.correlation[slot, other]):
                value = remainder(table, data, slot, other, work)
                rest.correlation[slot, other] = value
                rest.correlation[other, slot] = value
