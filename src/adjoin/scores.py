r"""Scores of a predicted series against a measured one; every name says its normaliser.

Receives two equally long series, the seeding samples already cut off; gives one number. With
:math:`σ_y` the standard deviation of the measured series:

.. math::
    \mathrm{RMSE} = \sqrt{\tfrac1N \sum_k (y_k - \hat y_k)^2}, \quad
    \mathrm{NRMSE} = \mathrm{RMSE}/σ_y, \quad
    \mathrm{NMSE} = 100\,\mathrm{NRMSE}^2, \quad
    \mathrm{fit} = 100\,(1 - \mathrm{NRMSE})
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from adjoin.errors import AdjoinError


def rmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Root mean squared error, in the unit of the output. NaN if the prediction diverged."""
    y, y_hat = _pair(measured, predicted)
    return float(np.sqrt(np.mean((y - y_hat) ** 2)))


def nrmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """RMSE over the standard deviation of the measured series; 1 is as good as its mean."""
    y, _ = _pair(measured, predicted)
    deviation = float(np.std(y))
    if deviation == 0.0:
        raise AdjoinError("the measured series is constant, so no normalised score exists for it")
    return rmse(measured, predicted) / deviation


def nmse(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Mean squared error in percent of the variance of the measured series."""
    return 100.0 * nrmse(measured, predicted) ** 2


def fit_index(measured: ArrayLike, predicted: ArrayLike) -> float:
    """Percentage of the standard deviation that is explained; 100 is perfect."""
    return 100.0 * (1.0 - nrmse(measured, predicted))


def _pair(measured: ArrayLike, predicted: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    y, y_hat = np.asarray(measured, dtype=float), np.asarray(predicted, dtype=float)
    if y.shape != y_hat.shape or y.ndim != 1 or y.size == 0:
        raise AdjoinError(
            f"scores compare two equally long series, not shapes {y.shape} and {y_hat.shape}"
        )
    return y, y_hat
