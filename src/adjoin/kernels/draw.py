"""Random draws that NumPy's generator does not offer inside compiled code."""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel

# Variances stay inside these bounds: with a shape near 0 an inverse-gamma draw overflows.
SMALLEST, LARGEST = 1e-290, 1e290


@kernel()
def draw_index(rng: np.random.Generator, n: int) -> int:
    """A whole number from 0 to n - 1, each equally likely.

    Mutates: rng (one uniform). Allocates: nothing.
    """
    return min(int(rng.random() * n), n - 1)


@kernel()
def draw_categorical(rng: np.random.Generator, cumulative: Float1D) -> int:
    """An index i with probability proportional to cumulative[i] - cumulative[i - 1].

    Mutates: rng (one uniform). Allocates: nothing.
    """
    low, high = 0, cumulative.shape[0] - 1
    value = rng.random() * cumulative[high]
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > value:
            high = middle
        else:
            low = middle + 1
    return low


@kernel()
def draw_inverse_gamma(rng: np.random.Generator, shape: float, scale: float) -> float:
    r"""A draw from IG(a, b), density :math:`\propto x^{-a-1} e^{-b/x}`.

    Mutates: rng (one gamma). Allocates: nothing.
    """
    draw = rng.standard_gamma(shape)
    # A flat prior's gamma draw may be 0, by which only compiled code can divide.
    return min(max(scale / draw, SMALLEST), LARGEST) if draw > 0.0 else LARGEST
