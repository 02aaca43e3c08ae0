"""Statistics of series in several records, which the checks share: least squares and correlations.

Lags never reach from one record into another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset

_MOST_ROWS = 20_000  # of a regression; more would make its numbers no clearer
_MOST_LAGS = 100
_RIDGE = 1e-12  # of the variance, so that columns which are combinations of others do no harm


class Signal(NamedTuple):
    """One signal of a data set, in all records."""

    name: str
    is_output: bool
    records: list[Float1D]

    @property
    def pooled(self) -> Float1D:
        """All records end to end."""
        return np.concatenate(self.records)


def signals(dataset: Dataset) -> list[Signal]:
    """The inputs in order, then the output."""
    found = [
        Signal(name, False, [np.asarray(inputs[:, i]) for inputs in dataset.inputs])
        for i, name in enumerate(dataset.names.inputs)
    ]
    return [*found, Signal(dataset.names.output, True, dataset.outputs)]


def n_lags(dataset: Dataset, most: int = 10) -> int:
    """How many lags of every signal a regression can afford: ten rows for each coefficient."""
    width = len(dataset.names.inputs) + 1
    return max(1, min(most, dataset.n_samples // (10 * width)))


def past(records: Sequence[Float1D], lags: Sequence[int], first: int) -> Float2D:
    """Values so many samples before each sample from `first` on, a column per lag, all records.

    Of very many samples every so many-th, the same ones for every signal of the same records.
    """
    n_rows = sum(max(len(series) - first, 0) for series in records)
    step = max(1, -(-n_rows // _MOST_ROWS))
    blocks = [
        np.column_stack([series[first - lag : len(series) - lag : step] for lag in lags])
        for series in records
        if len(series) > first
    ]
    return np.concatenate(blocks) if blocks else np.empty((0, len(lags)))


def thinned(*tables: Float2D) -> tuple[Float2D, ...]:
    """Rows that are few enough, the same of every table."""
    step = max(1, -(-len(tables[0]) // _MOST_ROWS))
    return tuple(table[::step] for table in tables)


def products(first: Any, second: Any) -> Any:
    """Inner products of columns, or of series, by one thread.

    These sums are small, and where other programs run, threads of BLAS wait for each other: 300,000
    samples then took 20 s instead of 0.4 s.
    """
    a, b = (np.ascontiguousarray(x.T) for x in (first, second))
    letters = {(1, 1): "i,i->", (2, 1): "ji,i->j", (2, 2): "ji,ki->jk"}
    return np.einsum(letters[a.ndim, b.ndim], a, b)


def residual(columns: Float2D, target: Float1D) -> Float1D:
    """What least squares with a constant leave of a target."""
    x, y = columns - columns.mean(axis=0), target - target.mean()
    scale = x.std(axis=0)
    x = x / np.where(scale > 0, scale, 1.0)
    gram = products(x, x) + _RIDGE * len(x) * np.eye(x.shape[1])
    return np.asarray(y - products(x.T, np.linalg.solve(gram, products(x, y))))


def self_filter(
    records: Sequence[Float1D], order: int, ridge: float = _RIDGE
) -> tuple[Float1D, float]:
    """The filter that leaves of a signal what its past cannot predict, and the share it leaves.

    With a larger `ridge`, what there would be with white noise of that share of the variance on it:
    of signals that end at a frequency, the filter else makes all there is beyond it as large.

    Returns
    -------
    filter : (order + 1,) float64
        Coefficients of x(t), x(t-1), …
    share : float
        Variance of what is left, in that of the signal.
    """
    mean = float(np.concatenate(list(records)).mean())
    centred = [series - mean for series in records]
    columns, target = past(centred, range(1, order + 1), order), past(centred, [0], order)
    if len(columns) <= 2 * order or not target.std() > 0:
        return np.eye(1, order + 1)[0], 1.0
    gram = products(columns, columns)
    gram += ridge * np.trace(gram) / order * np.eye(order)
    weight = np.linalg.solve(gram, products(columns, target[:, 0]))
    left = target[:, 0] - products(columns.T, weight)
    return np.concatenate([[1.0], -weight]), float(left.var() / target.var())


def filtered(records: Sequence[Float1D], weights: Float1D) -> list[Float1D]:
    """Every record through a filter, without the samples that its beginning lacks."""
    return [
        np.convolve(series - series.mean(), weights, "valid")
        if len(series) >= len(weights)
        else np.empty(0)
        for series in records
    ]


def cross_correlation(
    first: Sequence[Float1D], second: Sequence[Float1D], lags: Sequence[int]
) -> Float1D:
    """Correlation of first(t) with second(t + lag), over all records."""
    sums = np.zeros(len(lags))
    for a, b in zip(first, second, strict=True):
        for i, lag in enumerate(lags):
            n = min(len(a), len(b)) - abs(lag)
            if n > 0:
                early, late = max(0, -lag), max(0, lag)
                sums[i] += products(a[early : early + n], b[late : late + n])
    size = np.sqrt(sum(products(a, a) for a in first) * sum(products(b, b) for b in second))
    return sums / size if size > 0 else sums


def independent(first: Sequence[Float1D], second: Sequence[Float1D]) -> float:
    r"""How many samples two series that know nothing of each other are worth in a correlation.

    .. math:: n / (1 + 2 \sum_τ r_1(τ) r_2(τ))
    """
    lags = range(min(_MOST_LAGS, max(map(len, first)) // 4) + 1)
    own = [cross_correlation(x, x, lags) for x in (first, second)]
    n = sum(map(len, first))
    return float(n / max(1.0 + 2.0 * float((own[0] * own[1])[1:].sum()), 1.0))


def noise_floor(signal: Signal) -> float:
    """Share of its spectrum's peak that a signal has near half the sampling rate."""
    if max(map(len, signal.records)) < 64:
        return 1.0
    frequency, power = spectrum(signal.records, "blackmanharris")  # which lets nothing leak there
    return float(np.median(power[frequency > 0.375]) / power.max()) if power.max() > 0 else 1.0


def effective_size(series: Float1D) -> float:
    """How many independent samples a series is worth when its mean or slope is estimated.

    n / (1 + 2 Σ r_τ), summed until the autocorrelation r first gets below 0.05.
    """
    n = len(series)
    centred = series - series.mean()
    power = np.abs(np.fft.rfft(centred, 2 * n)) ** 2
    correlation = np.fft.irfft(power)[: n // 2]
    if not correlation.size or not correlation[0] > 0:
        return float(n)
    correlation = correlation / correlation[0]
    small = np.flatnonzero(correlation < 0.05)
    end = int(small[0]) if small.size else len(correlation)
    return float(n / (1.0 + 2.0 * correlation[1:end].sum()))


def _without_line(values: Any) -> Any:
    """Welch's pieces without their slope, which would hide all else of a slow signal."""
    from scipy.signal import detrend

    return detrend(values, axis=-1)


def spectrum(records: Sequence[Float1D], window: str = "hann") -> tuple[Float1D, Float1D]:
    """Welch's power density over all records, by length; frequencies per sample, from 0 to 0.5."""
    from scipy.signal import welch

    longest = max(map(len, records))
    length = int(2 ** np.clip(np.floor(np.log2(max(longest, 16) / 4)), 4, 10))
    total, weight = np.zeros(length // 2 + 1), 0
    for series in records:
        if len(series) >= length:
            _, power = welch(series, window=window, nperseg=length, detrend=_without_line)
            total += len(series) * power
            weight += len(series)
    return np.arange(length // 2 + 1) / length, total / max(weight, 1)
