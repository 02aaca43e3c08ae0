"""What is left over: a signal that predicts is found with its lag, one that is only slow is not."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin.results.leftover import find_leftover

LAGS = range(31)


def slow(rng: np.random.Generator, n: int, memory: float) -> np.ndarray:
    """An AR(1) series."""
    x = rng.standard_normal(n + 300)
    for k in range(1, len(x)):
        x[k] += memory * x[k - 1]
    return x[300:]


@pytest.mark.parametrize("memory", [0.0, 0.9])
@pytest.mark.parametrize("power", [1, 2])
def test_a_signal_that_predicts_is_found_with_its_lag(memory: float, power: int) -> None:
    rng = np.random.default_rng(0)
    u = slow(rng, 800, memory)
    y = np.roll((u - u.mean()) ** power, 20)
    y = y / y.std() + rng.standard_normal(800)
    found = find_leftover([y[10:]], {"v": [rng.standard_normal(800)], "u": [u]}, 10, LAGS)
    assert found is not None
    assert (found.signal, found.power, found.lag) == ("u", power, 20)
    assert 0.35 < found.share < 0.65
    assert found.is_clear
    assert found.words == ("u" if power == 1 else "the square of u")


@pytest.mark.parametrize("memory", [0.0, 0.95])
def test_unrelated_series_are_not_clear_however_slow(memory: float) -> None:
    """2 of 7,360 are: with that rate one of 40 is in 1 % of seeds."""
    rng = np.random.default_rng(1)
    for _ in range(40):
        u, e = slow(rng, 300, memory), slow(rng, 300, memory)
        found = find_leftover([e[10:]], {"u": [u]}, 10, LAGS)
        assert found is not None
        assert not found.is_clear


def test_records_do_not_reach_across_each_other() -> None:
    rng = np.random.default_rng(2)
    inputs = [rng.standard_normal(200) for _ in range(3)]
    errors = [np.append(np.zeros(5), u[:-5])[10:] for u in inputs]
    found = find_leftover(errors, {"u": inputs}, 10, LAGS)
    assert found is not None
    assert found.lag == 5
    assert found.share == pytest.approx(1.0)


def test_nothing_is_said_of_what_is_not_known() -> None:
    rng = np.random.default_rng(3)
    u, e = rng.standard_normal((2, 300))
    assert find_leftover([e], {}, 0, LAGS) is None
    assert find_leftover([e[:40]], {"u": [u[:40]]}, 0, LAGS) is None
    assert find_leftover([np.full(300, np.nan)], {"u": [u]}, 0, LAGS) is None
    assert find_leftover([np.zeros(300)], {"u": [u]}, 0, LAGS) is None
    still = find_leftover([e], {"u": [np.ones(300)]}, 0, LAGS)
    assert still is not None
    assert not still.is_clear
