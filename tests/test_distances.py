"""Distances on features: what they see, and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin import AdjoinError
from adjoin.distances import Histogram, Spectrum

RNG = np.random.default_rng(0)
SERIES = np.convolve(RNG.standard_normal(1100), np.ones(5), "valid")[:1000]


@pytest.mark.parametrize("distance", [Spectrum(), Histogram()])
def test_a_series_is_at_no_distance_from_itself(distance: Spectrum | Histogram) -> None:
    assert distance(SERIES, SERIES) == 0.0


def test_a_spectrum_does_not_see_a_shift_in_time_but_a_change_of_size() -> None:
    assert Spectrum()(np.roll(SERIES, 17), SERIES) == pytest.approx(0.0, abs=1e-9)
    assert Spectrum()(10.0 * SERIES, SERIES) == pytest.approx(200.0, rel=0.01)  # two decades
    assert Spectrum()(np.diff(SERIES, prepend=0.0), SERIES) > 20.0


def test_a_histogram_does_not_see_order_but_amplitudes() -> None:
    assert Histogram()(RNG.permutation(SERIES), SERIES) == 0.0
    assert Histogram()(SERIES + 1e6, SERIES) == pytest.approx(100.0)
    assert 0.0 < Histogram()(1.2 * SERIES, SERIES) < 50.0


def test_short_and_silent_series_have_a_distance() -> None:
    assert np.isfinite(Spectrum(bands=50)(np.zeros(8), np.ones(8)))
    assert Spectrum()(np.zeros(100), np.zeros(100)) == 0.0
    assert Histogram()(np.zeros(10), np.ones(10)) == pytest.approx(100.0)


@pytest.mark.parametrize("make", [lambda: Spectrum(bands=0), lambda: Histogram(bins=2.5)])
def test_a_number_of_bands_or_bins_is_a_count(make: object) -> None:
    with pytest.raises(AdjoinError, match="whole number"):
        make()
