r"""Scores of a predicted series against a measured one; every name says its normaliser.

Receives two equally long series, or two lists of them (records, scored together), the seeding
samples already cut off; gives one number. With
:math:`σ_y` the standard deviation of the measured series:

.. math::
    \mathrm{RMSE} = \sqrt{\tfrac1N \sum_k (y_k - \hat y_k)^2}, \quad
    \mathrm{NRMSE} = \mathrm{RMSE}/σ_y, \quad
    \mathrm{NMSE} = 100\,\mathrm{NRMSE}^2, \quad
    \mathrm{fit} = 100\,(1 - \mathrm{NRMSE})
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from adjoin.arrays import Float1D
from adjoin.blocks import is_constant, mean_square, moments
from adjoin.data.columns import require_range
from adjoin.errors import AdjoinError


def rmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Root mean squared error, in the unit of the output. NaN if the prediction diverged."""
    y, y_hat = _pair(measured, predicted)
    return math.sqrt(mean_square(y, y_hat))


def nrmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """RMSE over the standard deviation of the measured series; 1 is as good as its mean."""
    y, _ = _pair(measured, predicted)
    if is_constant(y):
        raise AdjoinError("the measured series is constant, so no normalised score exists for it")
    return rmse(measured, predicted) / moments(y)[1]


def nmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Mean squared error in percent of the variance of the measured series."""
    return 100.0 * nrmse(measured, predicted) ** 2


def fit_index(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Percentage of the standard deviation that is explained; 100 is perfect."""
    return 100.0 * (1.0 - nrmse(measured, predicted))


def _pair(measured: ArrayLike, predicted: ArrayLike) -> tuple[list[Float1D], list[Float1D]]:
    y, y_hat = _records(measured), _records(predicted)
    lengths, other = [series.shape for series in y], [series.shape for series in y_hat]
    if lengths != other or any(len(shape) != 1 for shape in lengths) or not sum(map(len, y)):
        raise AdjoinError(
            f"scores compare equally long series, not shapes {lengths} and {other}; cut the seeding"
            " samples off both"
        )
    require_range("the measured series", [series for series in y if len(series)])
    return y, y_hat


def _records(series: ArrayLike) -> list[Float1D]:
    is_list = isinstance(series, list | tuple) and len(series) > 0 and np.ndim(series[0]) > 0
    parts = series if isinstance(series, list | tuple) and is_list else [series]
    return [np.asarray(part, dtype=np.float64) for part in parts]
