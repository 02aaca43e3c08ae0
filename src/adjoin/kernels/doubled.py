r"""Arithmetic with twice the digits, for the few places where a double has too few.

A number is an unevaluated sum ``value + rest`` of two doubles with \|rest\| at most half a unit in
the last place of value: 32 digits. Sums and products of two doubles are taken exactly (Knuth;
Dekker and Veltkamp). The loops run along rows like those of ``linalg``, and turn into vector code.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel

_HALF = 134217729.0  # 2²⁷ + 1, which splits 53 bits into 26 and 26 and a sign
# Pivots of a matrix with unit diagonal carry a rounding error of about n·5e-32. Below this a pivot
# is mostly error, and the structure counts as singular.
SMALLEST_DOUBLED_PIVOT = 1e-29


@kernel()
def add_exactly(a: float, b: float) -> tuple[float, float]:
    """The sum of two doubles without error, as value and rest.

    Mutates: nothing. Allocates: nothing.
    """
    value = a + b
    part = value - a
    return value, (a - (value - part)) + (b - part)


@kernel()
def multiply_exactly(a: float, b: float) -> tuple[float, float]:
    """The product of two doubles without error (within 1e±290), as value and rest.

    Mutates: nothing. Allocates: nothing.
    """
    value = a * b
    wide = _HALF * a
    a_high = wide - (wide - a)
    wide = _HALF * b
    b_high = wide - (wide - b)
    a_low, b_low = a - a_high, b - b_high
    return value, ((a_high * b_high - value) + a_high * b_low + a_low * b_high) + a_low * b_low


@kernel()
def add_doubled(a: float, a_rest: float, b: float, b_rest: float) -> tuple[float, float]:
    """The sum of two doubled numbers.

    Mutates: nothing. Allocates: nothing.
    """
    value, rest = add_exactly(a, b)
    low, lowest = add_exactly(a_rest, b_rest)
    rest += low
    high = value + rest
    rest = (rest - (high - value)) + lowest
    value = high + rest
    return value, rest - (value - high)


@kernel()
def multiply_doubled(a: float, a_rest: float, b: float, b_rest: float) -> tuple[float, float]:
    """The product of two doubled numbers.

    Mutates: nothing. Allocates: nothing.
    """
    high, rest = multiply_exactly(a, b)
    rest += a * b_rest + a_rest * b
    value = high + rest
    return value, rest - (value - high)


@kernel()
def divide_doubled(a: float, a_rest: float, b: float, b_rest: float) -> tuple[float, float]:
    """The ratio of two doubled numbers: that of the values, and twice what it leaves.

    Mutates: nothing. Allocates: nothing.
    """
    first = a / b
    value, rest = multiply_doubled(b, b_rest, -first, 0.0)
    left, left_rest = add_doubled(a, a_rest, value, rest)
    second = left / b
    value, rest = multiply_doubled(b, b_rest, -second, 0.0)
    left, left_rest = add_doubled(left, left_rest, value, rest)
    value, rest = add_exactly(first, second)
    return add_doubled(value, rest, left / b, 0.0)


@kernel()
def root_doubled(a: float, a_rest: float) -> tuple[float, float]:
    """The square root of a positive doubled number, by one step of Newton's from that of a double.

    Mutates: nothing. Allocates: nothing.
    """
    first = math.sqrt(a)
    square, rest = multiply_exactly(first, first)
    left, _ = add_doubled(a, a_rest, -square, -rest)
    return add_exactly(first, 0.5 * left / first)


@kernel()
def add_products(left: Float1D, right: Float1D, n: int, total: Float1D, rest: Float1D) -> None:
    """Add left·right to so many running sums, one for each place.

    Mutates: total, rest. Allocates: nothing.
    """
    for k in range(n):
        product, error = multiply_exactly(left[k], right[k])
        value, lost = add_exactly(total[k], product)
        total[k] = value
        rest[k] += error + lost


@kernel()
def factorise_doubled(matrix: Float2D, rest: Float2D, n: int) -> bool:
    """C = UᵀU for the leading n × n block; False if a pivot is not clearly positive.

    Reads and overwrites the upper triangle.

    Mutates: matrix, rest. Allocates: nothing.
    """
    for i in range(n):
        row, row_rest = matrix[i], rest[i]
        for k in range(i):
            above, above_rest = matrix[k], rest[k]
            factor, factor_rest = -above[i], -above_rest[i]
            for j in range(i, n):
                value, low = multiply_doubled(above[j], above_rest[j], factor, factor_rest)
                row[j], row_rest[j] = add_doubled(row[j], row_rest[j], value, low)
        if not (row[i] > SMALLEST_DOUBLED_PIVOT and math.isfinite(row[i])):
            return False
        root, root_rest = root_doubled(row[i], row_rest[i])
        scale, scale_rest = divide_doubled(1.0, 0.0, root, root_rest)
        row[i], row_rest[i] = root, root_rest
        for j in range(i + 1, n):
            row[j], row_rest[j] = multiply_doubled(row[j], row_rest[j], scale, scale_rest)
    return True


@kernel()
def solve_transposed_doubled(
    factor: Float2D, factor_rest: Float2D, n: int, x: Float1D, x_rest: Float1D
) -> None:
    """Solve Uᵀ x = b; b enters in x.

    Mutates: x, x_rest. Allocates: nothing.
    """
    for i in range(n):
        row, row_rest = factor[i], factor_rest[i]
        x[i], x_rest[i] = divide_doubled(x[i], x_rest[i], row[i], row_rest[i])
        value, rest = -x[i], -x_rest[i]
        for j in range(i + 1, n):
            product, low = multiply_doubled(row[j], row_rest[j], value, rest)
            x[j], x_rest[j] = add_doubled(x[j], x_rest[j], product, low)
