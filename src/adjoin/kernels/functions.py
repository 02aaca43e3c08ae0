"""The unary functions of atoms, by their code."""

from __future__ import annotations

import math

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.state import ABS, COS, EXP, SIGN, SIN, SQRT_ABS, TANH


@kernel()
def apply_function(code: int, value: float) -> float:
    """f(x) for the function with that code; the identity for code 0.

    Mutates: nothing. Allocates: nothing.
    """
    if code == ABS:
        return abs(value)
    if code == SIN:
        return math.sin(value)
    if code == COS:
        return math.cos(value)
    if code == TANH:
        return math.tanh(value)
    if code == SIGN:
        return (1.0 if value > 0.0 else 0.0) - (1.0 if value < 0.0 else 0.0)
    if code == EXP:
        # Beyond this the result is infinite; math.exp would raise where kernels are not compiled.
        return math.exp(value) if value < 709.0 else math.inf
    if code == SQRT_ABS:
        return math.sqrt(abs(value))
    return value


@kernel()
def apply_derivative(code: int, value: float) -> float:
    """f'(x) for the function with that code; 0 where it has none.

    Mutates: nothing. Allocates: nothing.
    """
    if code == ABS:
        return (1.0 if value > 0.0 else 0.0) - (1.0 if value < 0.0 else 0.0)
    if code == SIN:
        return math.cos(value)
    if code == COS:
        return -math.sin(value)
    if code == TANH:
        return 1.0 - math.tanh(value) ** 2
    if code == SIGN:
        return 0.0
    if code == EXP:
        return math.exp(value) if value < 709.0 else math.inf
    if code == SQRT_ABS:
        root = math.sqrt(abs(value))
        return math.copysign(0.5 / root, value) if root > 0.0 else 0.0
    return 1.0


@kernel(entry=True)
def fill_function(code: int, source: Float1D, target: Float1D) -> None:
    """target[k] = f(source[k]).

    Mutates: target. Allocates: nothing.
    """
    for k in range(source.shape[0]):
        target[k] = apply_function(code, source[k])
