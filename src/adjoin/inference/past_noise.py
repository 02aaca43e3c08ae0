r"""A first guess of past noise, before there is a model: Hannan and Rissanen's first step.

.. math::
    \hat e(k) = y(k) - c - \sum_{l=1}^{p} a_l y(k-l) - \sum_i \sum_{l=0}^{p} b_{il} u_i(k-l)

by least squares: a long linear model leaves about the noise, whatever its own memory is. Receives
the signals of all records; gives columns of ``e(k-l)`` to whoever needs some before residuals of a
structure are known: starts of fits, and what is asked of columns alone.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import SignalTable

SHORTEST = 10
"""Lags of the long model, or twice those of the model class if that is more."""
PER_COLUMN = 10
"""Rows that it needs for each of its columns; it is shorter where there are fewer."""


def guess_noise(table: SignalTable, max_lag: int) -> Float1D:
    """(n_samples,) the residuals of the long model; 0 where a record does not reach back so far.

    That is at least in its first `max_lag` samples, which seed the regressors.
    """
    signals, starts = table.value, table.start
    n_rows = int((starts[1:] - table.first).sum())
    most = (n_rows // PER_COLUMN - 1) // len(signals)
    order = min(max(SHORTEST, 2 * max_lag), max(most, 1))
    rows = np.concatenate(
        [
            np.arange(max(begin + order, first), end)
            for begin, first, end in zip(starts[:-1], table.first, starts[1:], strict=True)
        ]
    )
    noise = np.zeros(signals.shape[1])
    output = signals[-1]
    columns = [np.ones(len(rows))]
    columns += [output[rows - lag] for lag in range(1, order + 1)]
    columns += [signal[rows - lag] for signal in signals[:-1] for lag in range(order + 1)]
    design = np.column_stack(columns)
    noise[rows] = output[rows] - design @ np.linalg.lstsq(design, output[rows])[0]
    return noise
