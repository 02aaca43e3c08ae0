"""How fast the output was sampled, by where its spectrum ends."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoin.data.checking.finding import Finding
from adjoin.data.checking.series import Signal, signals, spectrum
from adjoin.data.dataset import Dataset
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import ordinal

_MANY, _VERY_MANY = 25.0, 250.0
"""Samples per shortest period that matters. With 10 to 20, neighbouring samples still differ; with
many more, y(k) is y(k-1) to within the noise, one-step predictions are good for any model, and a
window of 10 lags sees a small part of a period."""
_WANTED = 10.0
_ENOUGH = 0.95
"""Share of the output's power below the frequency that matters."""
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
            yield Finding("held", GOOD, words)
    if (n := held(output)) > 1:
        yield Finding(
            "oversampling",
            CAUTION,
            f"{output.name} changes at every {ordinal(n)} sample only: it was written more often"
            " than it was measured.",
            f"Dataset.decimate({n}), or --decimate {n}",
        )
    else:
        yield from _find_rate(data)


def held(signal: Signal) -> int:
    """After how many samples a signal may change: 1 for one that is not held.

    The greatest common divisor of the distances between changes, within records.
    """
    places = [np.flatnonzero(np.diff(series)) for series in signal.records]
    distances = np.concatenate([np.diff(place) for place in places])
    return int(np.gcd.reduce(distances)) if len(distances) >= _LEAST_CHANGES else 1


def _find_rate(data: Dataset) -> Iterator[Finding]:
    records = [series for series in data.outputs if len(series) >= _SHORTEST]
    if not records or not max(map(np.ptp, records)) > 0:
        return
    frequency, power = spectrum(records)
    power = power.copy()
    power[0] = 0.0
    floor = float(np.median(power[frequency > 0.375]))  # white noise of the sensor
    clean = np.maximum(power - floor, 0.0) if floor < 0.1 * power.max() else power
    if not clean.sum() > 0:
        return
    share = np.cumsum(clean) / clean.sum()
    edge = float(np.interp(_ENOUGH, share, frequency))
    middle = float(np.interp(0.5, share, frequency))
    per_period = 1.0 / max(edge, frequency[1] / 2)
    told = f"the output has about {per_period:.0f} samples per shortest period that matters"
    if per_period > _MANY:
        factor = max(2, int(per_period / _WANTED))
        yield Finding(
            "oversampling",
            POOR if per_period > _VERY_MANY else CAUTION,
            f"{told}, where 10 to 20 are enough: neighbouring samples hardly differ.",
            f"Dataset.decimate({factor}), or --decimate {factor}, if nothing faster matters",
        )
    elif middle > _FASTEST:
        yield Finding(
            "undersampling",
            CAUTION,
            f"half of the power of {data.names.output} has fewer than {1 / _FASTEST:.1f} samples"
            " per period: sampled too slowly, or without a filter against aliasing.",
            "measure with a higher rate",
        )
    else:
        yield Finding("sampling", GOOD, f"{told}.")
