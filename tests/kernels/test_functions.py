"""Functions of atoms: the register, its compiled form, and the plain twins agree."""

from __future__ import annotations

import numba
import numpy as np
import pytest
from tests.naive import simulate as naive

from adjoin import AdjoinError, Structure
from adjoin.data.names import RESERVED, SignalNames
from adjoin.grammar.functions import FUNCTIONS
from adjoin.grammar.terms import Atom
from adjoin.kernels.functions import N_PLACES, apply_function, apply_slope
from adjoin.kernels.register import REGISTER

POINTS = [0.0, -0.0, 0.3, -0.3, 2.5, -2.5, 708.0, 710.0, -800.0, 1e100, -1e100]


@numba.njit
def _both(code, value):
    return apply_function(code, value), apply_slope(code, value)


def test_codes_are_places_and_names_are_known_everywhere() -> None:
    assert [function.code for function in REGISTER] == list(range(len(REGISTER)))
    names = [function.name for function in REGISTER]
    assert list(FUNCTIONS) == list(naive.FUNCTIONS) == names
    assert list(naive.SLOPES) == names
    # A hinge is known by its argument, so a signal, a position, may be called pos.
    assert {"k", "sqrt", *names} - {"", "pos"} == RESERVED


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_slopes_equal_the_plain_ones(name: str) -> None:
    """To the last bit, but for what the processor's own library rounds otherwise."""
    for x in POINTS:
        value, slope = _both(FUNCTIONS[name].code, x)
        assert value == pytest.approx(naive.FUNCTIONS[name](x), rel=1e-15)
        assert slope == pytest.approx(naive.SLOPES[name](x), rel=1e-15)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_slopes_are_differences_and_homogeneity_is_true(name: str) -> None:
    function, step = FUNCTIONS[name], 1e-6
    for x in (-1.7, -0.4, 0.6, 2.1):
        difference = (function.value(x + step) - function.value(x - step)) / (2.0 * step)
        assert function.slope(x) == pytest.approx(difference, abs=1e-8)
        if function.homogeneity is not None:
            scaled = 3.0**function.homogeneity * function.value(x)
            assert function.value(3.0 * x) == pytest.approx(scaled, rel=1e-14)


@pytest.mark.parametrize("code", [-1, len(REGISTER), N_PLACES - 1, N_PLACES, 99])
def test_a_code_that_stands_for_nothing_gives_nan(code: int) -> None:
    assert np.isnan(_both(code, 0.5)).all()


def test_a_model_with_an_unknown_function_is_refused() -> None:
    with pytest.raises(AdjoinError, match="unknown function 'cosh' of u"):
        Structure(((Atom("u", 1, "cosh"),),), SignalNames())
