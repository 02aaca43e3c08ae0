r"""What signals still explain of a residual, by a measure that slow signals do not fool.

Receives residuals and signals, record by record; gives a `Leftover`, or nothing. Two slow series
correlate by chance, so a correlation alone proves little. Here a signal counts only where it
*predicts*: the rows are cut into five stretches of time, and each is predicted by a regression on
at most three lagged signals that the other four chose. The share of the variance so predicted is
below zero by chance. Beside that, the best single lag must stand out by its z,

.. math:: z = \operatorname{artanh}(r) \sqrt{N/τ - 3}, \qquad τ = 1 + 2 \sum_{i>0} ρ_ε(i)\, ρ_x(i)

with the correlation r (Fisher) and the autocorrelations of residual and signal (Bartlett): N/τ is
how many independent pairs of samples the N are worth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.inference.autocorrelation import autocorrelation, sum_of_correlations

SHARE = 0.05
"""Of the residual's variance: what is predicted below has no practical size."""
Z = 4.0
"""Of the best lag. With both limits 2 of 7,360 pairs of unrelated series (200 to 2,000 samples,
AR(1) from 0 to 0.99 each, 31 lags and squares) were called clear."""

_STRETCHES = 5
_COLUMNS = 3  # lagged signals in a regression
_ENOUGH = 50  # rows, below which nothing is said
_ROOM = 4_000_000  # numbers in the table; of longer records every n-th row is taken
_MOST = 1.0 - 1e-12  # correlation
_ROUNDING = 1e-12  # of a column's length: what is left of one that others make up

Records = Sequence[Float1D]


class Leftover(NamedTuple):
    """What predicts a residual: the signal, its power (1 or 2), the best lag, and how well.

    ``share`` : of the residual's variance, predicted in stretches that were not fitted.
    ``z`` : of the correlation at the best lag.
    """

    signal: str
    power: int
    lag: int
    share: float
    z: float

    @property
    def is_clear(self) -> bool:
        """Whether it is beyond chance and of practical size."""
        return self.share >= SHARE and abs(self.z) >= Z

    @property
    def words(self) -> str:
        """The signal in words."""
        return self.signal if self.power == 1 else f"the square of {self.signal}"


def find_leftover(
    residuals: Records,
    signals: Mapping[str, Records],
    first: int,
    lags: range,
    powers: Sequence[int] = (1, 2),
) -> Leftover | None:
    """What the lagged signals still explain of residuals; None where too little is known to say.

    Parameters
    ----------
    residuals : one (n - first,) array per record
    signals : mapping of str to one (n,) array per record
        By name.
    first : int
        The sample of each record at which its residuals begin.
    lags : range
        Which are looked at; less where records are short.
    powers : sequence of int
        Of the signals' deviations from their means.
    """
    shortest = min(map(len, residuals))
    lags = range(lags.start, min(lags.stop, max(first, shortest // 4) + 1))
    begin = max(first, lags.stop - 1)
    n_rows = sum(max(0, len(record) + first - begin) for record in residuals)
    if not signals or not lags or n_rows < _ENOUGH:
        return None
    error = np.concatenate([record[begin - first :] for record in residuals])
    series = {
        (name, power): _power_of(records, power)
        for name, records in signals.items()
        for power in powers
    }
    names = [(*key, lag) for key in series for lag in lags]
    step = max(1, math.ceil(n_rows * len(names) / _ROOM))
    columns = [
        np.concatenate([x[begin - lag : len(x) - lag] for x in series[name, power]])[::step].copy()
        for name, power, lag in names
    ]
    table, target = _standard(np.column_stack(columns)), _standard(error[::step, None])[:, 0]
    if not np.isfinite(table).all() or not np.isfinite(target).all() or not target.any():
        return None
    best = int(np.abs(table.T @ target).argmax())
    name, power, lag = names[best]
    pairs = [x[begin - lag : len(x) - lag] for x in series[name, power]]
    correlation = float(table[:, best] @ target)
    own = autocorrelation([record[begin - first :] for record in residuals])
    time = sum_of_correlations(own * autocorrelation(pairs), n_rows)
    z = math.atanh(max(-_MOST, min(_MOST, correlation))) * math.sqrt(max(n_rows / time - 3.0, 0.0))
    return Leftover(name, power, lag, _predicted_share(table, target), z)


def _power_of(records: Records, power: int) -> list[Float1D]:
    mean = np.concatenate(list(records)).mean()
    return [np.asarray((record - mean) ** power, dtype=np.float64) for record in records]


def _standard(table: Float2D) -> Float2D:
    """Columns without their mean, of length 1; zero where nothing varies."""
    deviation = table - table.mean(axis=0)
    length = np.linalg.norm(deviation, axis=0)
    is_still = length <= _ROUNDING * np.abs(table).max(axis=0) * math.sqrt(len(table))
    return np.asarray(deviation * np.where(is_still, 0.0, 1.0 / np.where(is_still, 1.0, length)))


def _predicted_share(table: Float2D, target: Float1D) -> float:
    """Of the target's variance, what is predicted of each stretch by what the others chose."""
    bounds = np.linspace(0, len(target), _STRETCHES + 1).astype(int)
    missed = total = 0.0
    for begin, end in pairwise(bounds):
        is_fitted = np.ones(len(target), dtype=bool)
        is_fitted[begin:end] = False
        fitted, mean = table[is_fitted], float(target[is_fitted].mean())
        chosen = _choose(fitted, target[is_fitted] - mean)
        middle = fitted[:, chosen].mean(axis=0)
        theta = _solve(fitted[:, chosen] - middle, target[is_fitted] - mean)
        apart = target[begin:end] - mean
        gone = apart - (table[begin:end, chosen] - middle) @ theta
        missed, total = missed + float(gone @ gone), total + float(apart @ apart)
    return 1.0 - missed / total if total > 0.0 else 0.0


def _choose(table: Float2D, target: Float1D) -> list[int]:
    """The columns that one by one explain most of the target."""
    left, chosen = target, list[int]()
    for _ in range(_COLUMNS):
        gain = np.abs(table.T @ left)
        gain[chosen] = -1.0
        chosen.append(int(gain.argmax()))
        left = target - table[:, chosen] @ _solve(table[:, chosen], target)
    return chosen


def _solve(table: Float2D, target: Float1D) -> Float1D:
    return np.asarray(np.linalg.lstsq(table, target, rcond=None)[0], dtype=np.float64)
