"""Integrated autocorrelation times, against what is known."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import lfilter

from adjoin.inference.autocorrelation import autocorrelation, integrated_time

Z = 4.5  # two-sided; false alarm 7e-6 a comparison


def ar1(phi: float, n: int, seed: int) -> np.ndarray:
    """A stationary first-order autoregression."""
    noise = np.random.default_rng(seed).standard_normal(n + 500)
    return np.asarray(lfilter([1.0], [1.0, -phi], noise))[500:]


def error_of(time: float, n: int) -> float:
    """Sokal's standard error of an integrated time whose window is five of them."""
    return time * np.sqrt(2.0 * (2.0 * 5.0 * time + 1.0) / n)


@pytest.mark.parametrize("phi", [0.3, 0.6, 0.9])
def test_a_first_order_autoregression_has_the_known_time(phi: float) -> None:
    n, expected = 40_000, (1 + phi) / (1 - phi)
    found = integrated_time([ar1(phi, n, seed=1)])
    assert abs(found - expected) < Z * error_of(expected, n)


def test_white_noise_has_time_one() -> None:
    n = 40_000
    found = integrated_time([np.random.default_rng(2).standard_normal(n)])
    assert 1.0 <= found < 1.0 + Z * error_of(1.0, n)


def test_alternating_series_are_not_worth_more_than_independent_ones() -> None:
    assert integrated_time([ar1(-0.9, 5000, seed=3)]) == 1.0


def test_records_are_pooled_and_never_joined() -> None:
    phi, n = 0.6, 1500
    records = [ar1(phi, n, seed) for seed in range(30)]
    expected = (1 + phi) / (1 - phi)
    assert abs(integrated_time(records) - expected) < Z * error_of(expected, 30 * n)
    by_hand = sum(float(r[:-1] @ r[1:]) for r in centred(records))
    total = sum(float(r @ r) for r in centred(records))
    assert autocorrelation(records)[1] == pytest.approx(by_hand / total)


def centred(records: list[np.ndarray]) -> list[np.ndarray]:
    mean = np.concatenate(records).mean()
    return [record - mean for record in records]


def test_every_lag_by_hand() -> None:
    records = [np.array([1.0, 2.0, 4.0, -3.0]), np.array([0.5, -4.5])]
    shifted = centred(records)
    total = sum(r @ r for r in shifted)
    expected = [sum(r[:-k] @ r[k:] for r in shifted if k < len(r)) / total for k in (1, 2, 3)]
    np.testing.assert_allclose(autocorrelation(records), [1.0, *expected], atol=1e-14)


def test_the_time_does_not_depend_on_units_or_offset() -> None:
    series = ar1(0.7, 3000, seed=4)
    assert integrated_time([1e6 + 1e-3 * series]) == pytest.approx(
        integrated_time([series]), rel=1e-5
    )


@pytest.mark.parametrize(
    "records",
    [
        [np.zeros(50)],
        [np.full(7, 0.1)],  # whose mean rounds off it
        [np.full(49, 1 / 3), np.full(3, 1 / 3)],
        [np.ones(1)],
        [np.ones(1), np.ones(1)],
    ],
)
def test_a_constant_has_time_one(records) -> None:
    assert integrated_time(records) == 1.0
    assert autocorrelation(records)[0] == 1.0


def test_a_slow_drift_behind_negative_first_correlations_counts() -> None:
    """Sokal's window closes at lag 1, where the sum is below 1; the drift comes later."""
    n = 40_000
    fast, slow = ar1(-0.8, n, seed=5), ar1(0.95, n, seed=6)
    series = 10 * fast / fast.std() + 4 * slow / slow.std()
    # The spectra add: τ = (100·(1 - 0.8)/(1 + 0.8) + 16·(1 + 0.95)/(1 - 0.95)) / 116
    expected = (100 / 9 + 16 * 39) / 116
    # Sums over √n = 200 lags have the relative error sqrt(2·(2·200 + 1)/n) = 0.14.
    assert abs(integrated_time([series]) / expected - 1) < Z * 0.14


def test_a_plain_autoregression_is_left_to_sokals_window() -> None:
    """The longer sum is noisier, and choosing the larger of two would be biased."""
    phi, n = 0.8, 20_000
    found = [integrated_time([ar1(phi, n, seed)]) for seed in range(40)]
    error = error_of(9.0, n) / np.sqrt(40)
    assert abs(np.mean(found) - 9.0) < Z * error
