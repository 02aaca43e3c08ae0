"""Small dense linear algebra on the caller's workspace.

The matrix of a structure is at most a few hundred wide. Loops run along rows of the upper factor,
so that they are plain additions of one row to another, which the compiler turns into vector code.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel

# Pivots of a matrix with unit diagonal carry a rounding error of about n·2e-16. Below this a pivot
# is mostly error, and the structure counts as singular.
SMALLEST_PIVOT = 1e-13


@kernel()
def factorise(matrix: Float2D, n: int) -> bool:
    """C = UᵀU for the leading n × n block; False if a pivot is not clearly positive.

    Reads and overwrites the upper triangle.

    Mutates: matrix. Allocates: nothing.
    """
    for i in range(n):
        row = matrix[i]
        for k in range(i):
            above = matrix[k]
            factor = above[i]
            for j in range(i, n):
                row[j] -= factor * above[j]
        pivot = row[i]
        if not (pivot > SMALLEST_PIVOT and math.isfinite(pivot)):
            return False
        scale = 1.0 / math.sqrt(pivot)
        for j in range(i, n):
            row[j] *= scale
    return True


@kernel()
def solve_transposed(factor: Float2D, n: int, x: Float1D) -> None:
    """Solve Uᵀ x = b; b enters in x.

    Mutates: x. Allocates: nothing.
    """
    for i in range(n):
        row = factor[i]
        x[i] /= row[i]
        value = x[i]
        for j in range(i + 1, n):
            x[j] -= value * row[j]


@kernel()
def solve_upper(factor: Float2D, n: int, x: Float1D) -> None:
    """Solve U x = b; b enters in x.

    Mutates: x. Allocates: nothing.
    """
    for i in range(n - 1, -1, -1):
        row = factor[i]
        total = x[i]
        for j in range(i + 1, n):
            total -= row[j] * x[j]
        x[i] = total / row[i]
