"""How many independent samples an autocorrelated series is worth.

Receives series record by record; ``results/power`` makes the power of the likelihood of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoin.arrays import Float1D

_WINDOW = 5.0  # Sokal's rule: the sum stops where the lag exceeds so many integrated times


def autocorrelation(records: Sequence[Float1D], is_centred: bool = True) -> Float1D:
    r"""Autocorrelation from lag 0 on, records pooled and never reaching across each other.

    .. math:: ρ_k = \sum_r \sum_i x_{r,i}\, x_{r,i+k} \Big/ \sum_r \sum_i x_{r,i}^2

    about the common mean, or about zero; up to the length of the longest record.
    """
    joined = np.concatenate(records)
    mean = joined.mean() if is_centred else 0.0
    total: Float1D = np.zeros(max(map(len, records)))
    for record in records:
        n = 1 << (2 * len(record)).bit_length()  # padded, so that it does not wrap around
        spectrum = np.fft.rfft(record - mean, n)
        total[: len(record)] += np.fft.irfft(np.abs(spectrum) ** 2, n)[: len(record)]
    if is_centred and np.ptp(joined) == 0.0:  # a constant, though its mean may round off it
        total[:] = 0.0
    if not total[0] > 0.0:
        total[0] = 1.0  # nothing to correlate
    total /= total[0]
    return total


def integrated_time(records: Sequence[Float1D]) -> float:
    """The integrated autocorrelation time of a series, at least 1; see `sum_of_correlations`."""
    return sum_of_correlations(autocorrelation(records), sum(map(len, records)))


def sum_of_correlations(correlation: Float1D, n_samples: int, at_least: int = 0) -> float:
    r"""The integrated autocorrelation time :math:`τ = 1 + 2 \sum_{k=1}^{M} ρ_k`, at least 1.

    A mean over n samples of the series is as uncertain as one over n/τ independent ones. M is the
    smallest lag with :math:`M ≥ 5 τ(M)` (Sokal), see `window`, or `at_least` if that is larger.
    Where the first correlations are negative that stops at once, whatever slow drift follows; so
    the sum over :math:`\sqrt n` lags is taken instead if it is larger by three of its standard
    errors :math:`τ \sqrt{4M/n}`.
    """
    time = 2.0 * np.cumsum(correlation) - 1.0
    end = min(max(window(correlation), at_least), len(time) - 1)
    found = max(1.0, float(time[end]))
    far = min(math.isqrt(n_samples), len(time) - 1)
    slow = float(time[far])
    error = found * math.sqrt(4.0 * far / n_samples)
    return slow if slow > found + 3.0 * error else found


def window(correlation: Float1D) -> int:
    """The smallest lag that exceeds five times the sum up to it; the last one if none does."""
    time = 2.0 * np.cumsum(correlation) - 1.0
    inside = np.arange(len(time)) >= _WINDOW * time
    return int(np.argmax(inside)) if inside.any() else len(time) - 1
