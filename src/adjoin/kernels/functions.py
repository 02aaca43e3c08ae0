"""The functions of atoms, compiled, by their code.

Receives the plain functions of ``register``; hands kernels values and slopes. A code that stands
for nothing gives NaN.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.register import REGISTER, RealFunction

# Compiled code calls by name what was compiled before: it cannot pick from a list. So there is a
# name for every place that there could be; those beyond the register give NaN.
N_PLACES = 12


def nothing(value: float) -> float:
    """NaN, of a code that stands for no function."""
    return math.nan


def fill_places(functions: list[RealFunction]) -> tuple[RealFunction, ...]:
    """Compile functions, and fill the places after them with `nothing`."""
    if len(functions) > N_PLACES:
        raise IndexError("write down more places in kernels/functions.py")
    compiled = {function: kernel()(function) for function in [*functions, nothing]}
    found = [compiled[function] for function in functions]
    return (*found, *[compiled[nothing]] * (N_PLACES - len(found)))


(
    value_0,
    value_1,
    value_2,
    value_3,
    value_4,
    value_5,
    value_6,
    value_7,
    value_8,
    value_9,
    value_10,
    value_11,
) = fill_places([function.value for function in REGISTER])
(
    slope_0,
    slope_1,
    slope_2,
    slope_3,
    slope_4,
    slope_5,
    slope_6,
    slope_7,
    slope_8,
    slope_9,
    slope_10,
    slope_11,
) = fill_places([function.slope for function in REGISTER])


@kernel()
def apply_function(code: int, value: float) -> float:
    """f(x) for the function with that code; NaN if there is none.

    Mutates: nothing. Allocates: nothing.
    """
    if code == 0:
        return value_0(value)
    if code == 1:
        return value_1(value)
    if code == 2:
        return value_2(value)
    if code == 3:
        return value_3(value)
    if code == 4:
        return value_4(value)
    if code == 5:
        return value_5(value)
    if code == 6:
        return value_6(value)
    if code == 7:
        return value_7(value)
    if code == 8:
        return value_8(value)
    if code == 9:
        return value_9(value)
    if code == 10:
        return value_10(value)
    if code == 11:
        return value_11(value)
    return math.nan


@kernel()
def apply_slope(code: int, value: float) -> float:
    """f'(x) for the function with that code, 0 where it has none; NaN if there is no function.

    Mutates: nothing. Allocates: nothing.
    """
    if code == 0:
        return slope_0(value)
    if code == 1:
        return slope_1(value)
    if code == 2:
        return slope_2(value)
    if code == 3:
        return slope_3(value)
    if code == 4:
        return slope_4(value)
    if code == 5:
        return slope_5(value)
    if code == 6:
        return slope_6(value)
    if code == 7:
        return slope_7(value)
    if code == 8:
        return slope_8(value)
    if code == 9:
        return slope_9(value)
    if code == 10:
        return slope_10(value)
    if code == 11:
        return slope_11(value)
    return math.nan


@kernel(entry=True)
def fill_function(code: int, source: Float1D, target: Float1D) -> None:
    """target[k] = f(source[k]).

    Mutates: target. Allocates: nothing.
    """
    for k in range(source.shape[0]):
        target[k] = apply_function(code, source[k])
