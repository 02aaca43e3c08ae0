"""Knots of hinges: quantiles of the data, inside their range, short to read."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoin import AdjoinError, Dataset
from adjoin.inference.knots import place_hinges, quantile_knots

EVEN = np.linspace(0.0, 4.0, 401)


def test_knots_are_quantiles() -> None:
    assert quantile_knots(EVEN, 1) == [2.0]
    assert quantile_knots(EVEN, 3) == [1.0, 2.0, 3.0]
    assert quantile_knots(EVEN - 2.0, 3) == [-1.0, 0.0, 1.0]
    skewed = quantile_knots(EVEN**3, 3)
    assert skewed == pytest.approx([1.0, 8.0, 27.0], abs=0.15)  # in steps of 0.1


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=60),
    st.integers(1, 12),
    st.sampled_from([1.0, 1e-9, 1e9]),
)
def test_knots_lie_inside_the_data_near_its_quantiles_and_ascend(values, n_knots, unit) -> None:
    series = unit * np.array(values)
    knots = quantile_knots(series, n_knots)
    assert knots == sorted(set(knots))
    assert len(knots) <= n_knots
    assert all(series.min() < knot < series.max() for knot in knots)
    wanted = np.quantile(series, np.arange(1, n_knots + 1) / (n_knots + 1), method="inverted_cdf")
    for knot in knots:
        # Rounded by at most 1 % of the standard deviation, and a little of the number itself.
        moved = np.abs(wanted - knot).min()
        assert moved <= 0.01 * series.std() * 1.000001 + 1e-15 * abs(knot)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e5])
def test_knots_have_few_digits_in_any_unit(scale: float) -> None:
    series = scale * np.random.default_rng(0).standard_normal(1000)
    for knot in quantile_knots(series, 5):
        digits = repr(abs(knot)).partition("e")[0].replace(".", "").strip("0")
        assert len(digits) <= 3
    level = 293.15 + 0.7 * np.random.default_rng(0).standard_normal(1000)
    assert quantile_knots(level, 1) == [round(float(np.median(level)), 2)]


@pytest.mark.parametrize(
    ("series", "knots"),
    [
        ([0.0, 1.0] * 50, []),  # two levels: any shape of them is a line
        ([0.123456, 0.123457] * 50, []),
        ([0.0] * 90 + [1.0] * 10, []),
        ([0.0, 1.0, 2.0] * 30, [1.0]),  # three: one place to bend
        ([5.0] * 9, []),
        ([-1.0, 0.0, 0.0, 0.0, 2.0], [0.0]),
    ],
)
def test_a_knot_where_nothing_bends_is_left_out(series, knots) -> None:
    assert quantile_knots(np.array(series), 3) == knots


def test_each_signal_has_its_own_knots_and_other_words_stay() -> None:
    data = Dataset.from_arrays(EVEN, 10.0 * EVEN)
    zero = np.zeros(2)
    assert place_hinges("abs, hinge", data, zero, 3) == {
        "u": ("abs", "pos[1]", "pos[2]", "pos[3]"),
        "y": ("abs", "pos[10]", "pos[20]", "pos[30]"),
    }
    found = place_hinges({"u": ["hinge"], "y": "sin"}, data, np.array([2.0, 0.0]), 1)
    assert found == {"u": ("pos[0]",), "y": ("sin",)}


def test_records_count_together() -> None:
    data = Dataset.from_arrays([EVEN[:100], EVEN[100:]], [EVEN[:100], EVEN[100:]])
    assert place_hinges("hinge", data, np.zeros(2), 1) == {"u": ("pos[2]",), "y": ("pos[2]",)}


def test_a_signal_without_knots_is_pointed_out() -> None:
    steps = np.tile([0.0, 1.0], 200)
    data = Dataset.from_arrays(steps, EVEN[:400])
    with pytest.warns(UserWarning, match="no hinges of u: no quantile of u lies between"):
        assert place_hinges("hinge", data, np.zeros(2), 1)["u"] == ()
    with pytest.raises(AdjoinError, match="no place for hinges: no quantile of u lies between"):
        place_hinges({"u": "hinge"}, data, np.zeros(2), 1)
