"""Ladders of likelihood powers: where the rungs are placed."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin.inference.tempering import first_powers, place_rungs, refusals, wanted_rungs


def _swaps(*refused: float, tried: int = 10**6) -> np.ndarray:
    """Exchanges tried and made, for shares of refusals; the last rung has no neighbour."""
    return np.array([[tried, round(tried * (1.0 - share))] for share in refused] + [[0, 0]])


def test_first_rungs_are_geometric() -> None:
    power = first_powers(0.5, 5, hottest=0.01)
    assert power[0] == 0.5
    np.testing.assert_allclose(power[1:] / power[:-1], 0.01**0.25)
    assert first_powers(0.3, 1).tolist() == [0.3]
    assert first_powers(0.0, 1).tolist() == [0.0]


def test_refusals_are_shares_of_what_was_tried() -> None:
    np.testing.assert_allclose(refusals(_swaps(0.2, 0.9)), [0.2, 0.9], atol=1e-5)
    assert refusals(np.zeros((3, 2), dtype=np.int64)).tolist() == [0.5, 0.5]


def test_equal_refusals_leave_rungs_where_they_are() -> None:
    power = first_powers(1.0, 6)
    np.testing.assert_allclose(place_rungs(power, _swaps(*[0.4] * 5)), power, rtol=1e-12)


def test_rungs_go_where_exchanges_are_refused() -> None:
    """Each of the new steps has the same share of the refusals that were seen."""
    power, refused = first_powers(1.0, 6), [0.9, 0.1, 0.3, 0.1, 0.05]
    placed = place_rungs(power, _swaps(*refused))
    total = np.append(0.0, np.cumsum(refused))
    crossed = np.interp(-np.log(placed), -np.log(power), total)
    np.testing.assert_allclose(np.diff(crossed), sum(refused) / 5, rtol=1e-4)
    assert (np.diff(placed) < 0.0).all()
    assert placed[1] > power[1]


def test_placing_settles_at_equal_refusals() -> None:
    """Where the refusals are a fixed density along log w, two placings find equal steps."""
    fine = np.linspace(0.0, 1.0, 2001)
    barrier = np.cumsum(np.exp(-5.0 * fine)) / 700.0

    def refused(power: np.ndarray) -> np.ndarray:
        return np.diff(np.interp(np.log(power) / np.log(power[-1]), fine, barrier))

    power = first_powers(1.0, 8, hottest=0.02)
    uneven = refused(power)
    for _ in range(12):
        power = place_rungs(power, _swaps(*refused(power)))
    assert uneven.max() > 4.0 * uneven.min()
    np.testing.assert_allclose(refused(power), refused(power).mean(), rtol=1e-3)


@pytest.mark.parametrize("hottest", [0.02, 0.1, 1.0 / 3.0, 0.7])
def test_the_ends_stay_to_the_last_bit(hottest: float) -> None:
    power = first_powers(0.3, 7, hottest)
    placed = place_rungs(power, _swaps(0.1, 0.7, 0.2, 0.9, 0.3, 0.4))
    assert (placed[0], placed[-1]) == (power[0], power[-1])
    assert placed is not power


@pytest.mark.parametrize("n_rungs", [1, 2])
def test_few_rungs_have_nowhere_to_go(n_rungs: int) -> None:
    power = first_powers(1.0, n_rungs)
    assert place_rungs(power, _swaps(*[0.8] * (n_rungs - 1))).tolist() == power.tolist()


def test_as_many_rungs_as_exchange_half_of_the_time() -> None:
    assert wanted_rungs(_swaps(*[0.49999] * 4)) == 5
    assert wanted_rungs(_swaps(0.95, 0.95)) == 5
    assert wanted_rungs(_swaps(0.05, 0.05, 0.05)) == 2
