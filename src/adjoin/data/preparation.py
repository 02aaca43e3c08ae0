"""Fewer samples, and no trends: what may be done to measured series before a fit.

Receives one record as an array with a column per signal, from `Dataset.decimate` and
`Dataset.detrend`, which keep a note of what was done; gives the record prepared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from adjoin.arrays import Float2D

_ORDER, _RIPPLE, _EDGE = 9, 0.01, 0.8
"""Of Chebyshev's filter: 0.01 dB of ripple up to 0.8 of the new Nyquist frequency, forth and back,
so that nothing is delayed. `scipy.signal.decimate` takes order 8, and filters of even order make
means smaller by their ripple, 1.2 % there."""
_MOST_AT_ONCE = 10
"""Filters with a narrower band lose digits; more is done in stages."""
_PADDING = 30
"""Samples by which ends are mirrored, so that the filter does not begin with a jump."""


def decimated(values: Float2D, factor: int) -> Float2D:
    """Every `factor`-th row, after a filter without delay that all columns pass.

    Parameters
    ----------
    values : (n, n_signals) float64
    factor : int
    """
    from scipy.signal import cheby1, sosfiltfilt

    for stage in _stages(factor):
        sections = cheby1(_ORDER, _RIPPLE, _EDGE / stage, output="sos")
        padding = min(_PADDING * stage, len(values) - 1)
        values = sosfiltfilt(sections, values, axis=0, padlen=padding)[::stage]
    return np.ascontiguousarray(values)


def _stages(factor: int) -> list[int]:
    """Factors of at most 10 whose product is the one wanted; a larger prime is one stage."""
    stages = []
    while factor > _MOST_AT_ONCE:
        stage = next((d for d in range(_MOST_AT_ONCE, 1, -1) if factor % d == 0), factor)
        stages.append(stage)
        factor //= stage
    return [*stages, factor] if factor > 1 else stages


def detrended(values: Float2D, columns: Sequence[int]) -> Float2D:
    """Without the straight line through each of some columns; their means stay.

    Parameters
    ----------
    values : (n, n_signals) float64
    columns : sequence of int
    """
    level = np.array(values)
    time = np.arange(len(values)) - 0.5 * (len(values) - 1)
    for i in columns if len(values) > 1 else ():
        if np.ptp(values[:, i]) > 0.0:  # a constant has no trend, and rounding must not make one
            level[:, i] -= (time @ values[:, i]) / (time @ time) * time
    return level
