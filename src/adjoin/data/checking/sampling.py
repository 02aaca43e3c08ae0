"""How fast the output was sampled, by where its spectrum ends."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.checking.series import Signal, signals, spectrum
from adjoin.data.dataset import Dataset
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import ordinal

_MANY, _VERY_MANY = 25.0, 250.0
"""Samples per shortest period that matters. With 10 to 20, neighbouring samples still differ; with
many more, y(k) is y(k-1) to within the noise, one-step predictions are good for any model, and a
window of 10 lags sees a small part of a period."""
_FINE = 20.0
"""Samples per shortest period of the slope that matters, where the signal stands out of its noise.
A slow input makes all of an output slow; what there is beside it tells whether samples are lost. Of
the simulated rigs, a drive has 16 to 20, two tanks whose step takes 20 to 30 samples 19 to 24, and
five times faster all have 23 or more."""
_WANTED, _WANTED_OF_SLOPE = 10.0, 5.0
_ABOVE_NOISE = 10.0
"""In power; the slope is all noise where the signal is below it."""
_ENOUGH = 0.95
"""Share of the power of the output, or of its slope, below the frequency that matters."""
_FASTEST = 0.45
"""Half of the power above this frequency per sample: fewer than 2.2 samples per period, where
faster parts fold back unseen. A system that merely alternates, y(k) = -0.5 y(k-1) + …, has less."""
_SHORTEST = 64  # samples of a record with a spectrum worth looking at


_LEAST_CHANGES = 20
"""Changes that must all fall on multiples of one number to say that a signal is held; with a
signal that may change at any sample, half of a millionth by chance."""


def find_sampling(data: Dataset) -> Iterator[Finding]:
    """Too many or too few samples per period of the output, and signals that are held."""
    *inputs, output = signals(data)
    for signal in inputs:
        if (n := held(signal)) > 1:
            words = f"the input {signal.name} changes at every {ordinal(n)} sample only."
            seen = Evidence("closer", (signal.name,), value=float(n))
            yield Finding("held", GOOD, words, evidence=seen)
    if (n := held(output)) > 1:
        yield Finding(
            "oversampling",
            CAUTION,
            f"{output.name} changes at every {ordinal(n)} sample only: it was written more often"
            " than it was measured.",
            f"Dataset.decimate({n}), or --decimate {n}",
            Evidence("closer", (output.name,), value=float(n)),
        )
    else:
        yield from _find_rate(data, bool(inputs) and all(held(signal) > 1 for signal in inputs))


def held(signal: Signal) -> int:
    """After how many samples a signal may change: 1 for one that is not held.

    The greatest common divisor of the distances between changes, within records.
    """
    places = [np.flatnonzero(np.diff(series)) for series in signal.records]
    distances = np.concatenate([np.diff(place) for place in places])
    return int(np.gcd.reduce(distances)) if len(distances) >= _LEAST_CHANGES else 1


def _find_rate(data: Dataset, is_held: bool) -> Iterator[Finding]:
    rate = measure_rate(data)
    if rate is None:
        return
    output = data.names.output
    told = f"the output has about {rate.per_period:.0f} samples per shortest period that matters"
    seen = Evidence("spectrum", (output,), value=rate.edge)
    # what happens between two changes of an input was decided before
    if rate.per_period > _MANY and (rate.per_period_of_slope > _FINE or is_held):
        fewer = min(rate.per_period / _WANTED, rate.per_period_of_slope / _WANTED_OF_SLOPE)
        factor = max(2, int(fewer))
        yield Finding(
            "oversampling",
            POOR if rate.per_period > _VERY_MANY else CAUTION,
            f"{told}, where 10 to 20 are enough: neighbouring samples hardly differ.",
            f"Dataset.decimate({factor}), or --decimate {factor}, if nothing faster matters",
            seen,
        )
    elif rate.middle > _FASTEST:
        yield Finding(
            "undersampling",
            CAUTION,
            f"half of the power of {output} has fewer than {1 / _FASTEST:.1f} samples"
            " per period: sampled too slowly, or without a filter against aliasing.",
            "measure with a higher rate",
            Evidence("spectrum", (output,), value=rate.middle),
        )
    else:
        yield Finding("sampling", GOOD, f"{told}.", evidence=seen)


class Rate(NamedTuple):
    """Where a spectrum ends, by frequencies per sample.

    ``edge`` : below it lies 95 % of the power, and ``edge_of_slope`` of that of the slope.
    ``middle`` : below it lies half of the power.
    """

    edge: float
    edge_of_slope: float
    middle: float

    @property
    def per_period(self) -> float:
        """Samples per shortest period that matters."""
        return 1.0 / self.edge

    @property
    def per_period_of_slope(self) -> float:
        """Samples per shortest period of the slope that matters."""
        return 1.0 / self.edge_of_slope


def measure_rate(data: Dataset) -> Rate | None:
    """How fast the output changes; None where its records are too short to say."""
    records = [series for series in data.outputs if len(series) >= _SHORTEST]
    if not records or not max(map(np.ptp, records)) > 0:
        return None
    frequency, power = spectrum(records)
    power = power.copy()
    power[0] = 0.0
    floor = float(np.median(power[frequency > 0.375]))  # white noise of the sensor
    has_floor = floor < 0.1 * power.max()
    clean = np.maximum(power - floor, 0.0) if has_floor else power
    if not clean.sum() > 0:
        return None
    standing_out = np.where(power > _ABOVE_NOISE * floor, clean, 0.0) if has_floor else power
    slope = standing_out * np.sin(np.pi * frequency) ** 2
    least = frequency[1] / 2
    return Rate(
        max(_below(clean, frequency, _ENOUGH), least),
        max(_below(slope, frequency, _ENOUGH), least),
        _below(clean, frequency, 0.5),
    )


def _below(power: Float1D, frequency: Float1D, share: float) -> float:
    """The frequency below which a share of the power lies."""
    return float(np.interp(share, np.cumsum(power) / power.sum(), frequency))
