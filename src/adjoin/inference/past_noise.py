r"""A first guess of past noise, before there is a model: Hannan and Rissanen's first step.

.. math::
    \hat e(k) = y(k) - c - \sum_{l=1}^{p} a_l y(k-l) - \sum_i \sum_{l=0}^{p} b_{il} u_i(k-l)

by least squares: a long linear model leaves about the noise, whatever its own memory is. Receives
the signals of all records; gives columns of ``e(k-l)`` to whoever needs some before residuals of a
structure are known: starts of fits, and what is asked of columns alone.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.data.dataset import SignalTable

SHORTEST = 10
"""Lags of the long model, or twice those of the model class if that is more."""
PER_COLUMN = 10
"""Rows that it needs for each of its columns; where there are fewer, it has fewer lags."""


def guess_noise(table: SignalTable, max_lag: int) -> Float1D:
    """(n_samples,) the residuals of the long model; 0 where a record does not reach back so far.

    That is at least in its first `max_lag` samples, which seed the regressors.
    """
    signals = table.value
    order = max(SHORTEST, 2 * max_lag)
    while order > 1 and len(_rows(table, order)) < PER_COLUMN * (order + 1) * len(signals):
        order -= 1
    rows = _rows(table, order)
    noise = np.zeros(signals.shape[1])
    output = signals[-1]
    # A constant, and one lag less of the output than of an input: (order + 1) of every signal.
    columns = [np.ones(len(rows))]
    columns += [output[rows - lag] for lag in range(1, order + 1)]
    columns += [signal[rows - lag] for signal in signals[:-1] for lag in range(order + 1)]
    design = np.column_stack(columns)
    noise[rows] = output[rows] - design @ np.linalg.lstsq(design, output[rows])[0]
    return noise


def _rows(table: SignalTable, order: int) -> Int1D:
    """The samples that have so many before them in their record, seeds left out."""
    bounds = zip(table.start[:-1], table.first, table.start[1:], strict=True)
    return np.concatenate([np.arange(max(a + order, first), end) for a, first, end in bounds])
