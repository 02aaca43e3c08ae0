"""Predictions with their uncertainty: many models run with noise of their own.

Receives models drawn from a posterior; gives mean, spread and bands of their free runs, or of their
predictions some steps ahead.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.checks import is_real, require_count, require_seed
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_series, require_same_lengths
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.model import Model
from adjoin.scores import rmse
from adjoin.threads import n_workers

BANDS = (0.025, 0.16, 0.5, 0.84, 0.975)
_MOST_BYTES = 4 * 2**30  # all runs are held at once, because a quantile needs them all
_AT_A_TIME = 2**20  # values that are sorted at a time


@dataclass(frozen=True)
class Prediction:
    r"""What the draws of a posterior predict; lists of arrays where there are several records.

    Parameters
    ----------
    mean, sd : (n,) array
        Over the draws that have not diverged up to that sample.
    bands : mapping of float to (n,) array
        Quantiles over the same draws, placed so that a further draw is below the p-quantile with
        probability p: between the order statistics around :math:`p\,(m + 1)` of m draws.
    diverged : float
        The share of draws that diverged somewhere. They are not left out silently: a share above
        zero means that the posterior holds models whose free run cannot be trusted.
    n_draws : int
        How many models were run.
    n_seed : tuple of int
        How many measured samples at the start of each record were copied through.
    """

    mean: Any
    sd: Any
    bands: Mapping[float, Any]
    diverged: float
    n_draws: int
    n_seed: tuple[int, ...]

    @property
    def lone(self) -> Prediction:
        """The same with arrays instead of lists, where there is one record only."""
        bands = {quantile: series[0] for quantile, series in self.bands.items()}
        return replace(self, mean=self.mean[0], sd=self.sd[0], bands=bands)

    def __repr__(self) -> str:
        bands = ", ".join(f"{q:g}" for q in self.bands)
        return f"Prediction({self.n_draws} draws, {self.diverged:.0%} diverged; bands {bands})"

    def coverage(self, y: Any, low: float = 0.025, high: float = 0.975) -> float:
        """The share of measured samples between two bands, seeding samples left out.

        A sample that every draw lost is not covered.
        """
        if missing := [q for q in (low, high) if q not in self.bands]:
            known = ", ".join(f"{q:g}" for q in self.bands)
            raise AdjoinError(f"there is no band {missing[0]:g}; there are {known}")
        measured, _ = as_series(y, "y")
        lengths = [len(series) for series in self._records(low)]
        if [len(series) for series in measured] != lengths:
            raise AdjoinError(
                f"the prediction has {lengths} samples, but the measured output has"
                f" {[len(series) for series in measured]}"
            )
        return self.coverage_of(measured, low, high)

    def coverage_of(
        self, measured: Sequence[Float1D], low: float = 0.025, high: float = 0.975
    ) -> float:
        """As `coverage`, of arrays that are known to be good: one per record."""
        inside = [
            ((lower <= y) & (y <= upper))[n:]
            for lower, y, upper, n in zip(
                self._records(low), measured, self._records(high), self.n_seed, strict=True
            )
        ]
        return float(np.concatenate(inside).mean())

    def _records(self, quantile: float) -> list[Float1D]:
        """A band as a list, also where there is one record only."""
        band = self.bands[quantile]
        return band if isinstance(band, list) else [band]


def propagate(
    models: Sequence[Model],
    u: Any,
    y_init: Any,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
    n_jobs: int | None = None,
    is_fed_back: bool = True,
) -> Prediction:
    """Free runs of the models, each with fresh noise of its own scale fed back at every step.

    Parameters
    ----------
    models : sequence of Model
        Draws from a posterior, all of the same signals.
    u, y_init
        As for `Model.simulate`; `y_init` long enough for the longest model.
    seed : int or None
        Of the noise; None for another one every time.
    quantiles : sequence of float
        Which bands to give.
    n_jobs : int, optional
        How many models run at a time; the result does not depend on it.
    is_fed_back : bool
        If not, the noise is the sensor's: added to the finished run.
    """
    _check(models, quantiles, n_jobs)
    inputs, several = as_inputs(u, models[0].names)
    seeds = None
    if y_init is not None:
        name = models[0].names.output
        seeds, _ = as_series(y_init, name, "initial output y_init", may_be_empty=True)
    prediction = run_records(models, inputs, seeds, seed, quantiles, n_jobs, is_fed_back)
    return prediction if several else prediction.lone


def run_records(
    models: Sequence[Model],
    inputs: Sequence[Float2D],
    seeds: Sequence[Float1D] | None,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
    n_jobs: int | None = None,
    is_fed_back: bool = True,
) -> Prediction:
    """As `propagate`, of arrays that are known to be good; with lists, one entry per record."""
    _check(models, quantiles, n_jobs)

    def run(model: Model, noise: list[Float1D]) -> list[Float1D]:
        runs = model.free_response(inputs, seeds, noise if is_fed_back else None).series
        if is_fed_back:
            return runs
        return [series + error for series, error in zip(runs, noise, strict=True)]

    blocks = _run_all(models, run, [len(record) for record in inputs], seed, n_jobs)
    return _summarise(blocks, seeds or [np.empty(0)] * len(inputs), quantiles)


def predict_records(
    models: Sequence[Model],
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    steps_ahead: int,
    n_seed: int,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
    n_jobs: int | None = None,
) -> Prediction:
    """Predictions of the models some steps ahead of measured outputs, noise fed back on the way.

    The first `n_seed` measured samples of each record are copied through; the rest as for
    `run_records`.
    """
    _check(models, quantiles, n_jobs)
    require_more(outputs, n_seed, "predict")

    def run(model: Model, noise: list[Float1D]) -> list[Float1D]:
        return model.predicted_response(inputs, outputs, steps_ahead, noise).series

    blocks = _run_all(models, run, [len(record) for record in inputs], seed, n_jobs)
    return _summarise(blocks, [record[:n_seed] for record in outputs], quantiles)


def _check(models: Sequence[Model], quantiles: Sequence[float], n_jobs: int | None) -> None:
    """Refuse what would be found out only after all models have run."""
    if not models:
        raise AdjoinError("there are no draws to predict with")
    is_list = hasattr(quantiles, "__len__")
    if not is_list or any(not (is_real(q) and 0.0 <= q <= 1.0) for q in quantiles):
        raise AdjoinError(f"quantiles must be numbers between 0 and 1, not {quantiles!r}")
    if n_jobs is not None and n_jobs != -1:
        require_count("n_jobs", n_jobs)


def require_room(n_draws: int, n_samples: int) -> None:
    """Refuse more draws of so many samples than can be held at once."""
    n_bytes = 8 * n_draws * n_samples
    if n_bytes > _MOST_BYTES:
        most = _MOST_BYTES // (8 * n_samples)
        raise AdjoinError(
            f"{n_draws:,} draws of {n_samples:,} samples need {n_bytes / 2**30:,.1f} GiB; use at"
            f" most {most:,} draws, or predict a part of the data"
        )


def _run_all(
    models: Sequence[Model],
    run: Callable[[Model, list[Float1D]], list[Float1D]],
    lengths: list[int],
    seed: int | None,
    n_jobs: int | None,
) -> list[Float2D]:
    """Run every model in threads, with noise from a generator of its own: (n_draws, n) per record.

    The recursion is compiled and holds no lock, so threads run side by side.
    """
    require_room(len(models), sum(lengths))
    blocks = [np.empty((len(models), n)) for n in lengths]
    children = np.random.SeedSequence(require_seed(seed)).spawn(len(models))

    def work(i: int) -> None:
        rng, scale = np.random.Generator(np.random.PCG64(children[i])), models[i].noise_sd or 0.0
        runs = run(models[i], [scale * rng.standard_normal(n) for n in lengths])
        for block, series in zip(blocks, runs, strict=True):
            block[i] = series

    work(0)  # compiles, if need be, before there are threads; and checks the arguments
    with ThreadPoolExecutor(n_workers(n_jobs, len(models)), "adjoin-prediction") as pool:
        list(pool.map(work, range(1, len(models))))
    return blocks


def _summarise(
    blocks: list[Float2D],
    given: Sequence[Float1D],
    quantiles: Sequence[float],
) -> Prediction:
    """Mean, spread and bands over the draws; what was `given` is copied to the last bit."""
    is_lost = np.array([np.isnan(block).any(axis=1) for block in blocks]).any(axis=0)
    statistics = [_statistics(block, quantiles) for block in blocks]
    for rows, samples in zip(statistics, given, strict=True):
        rows[:, : len(samples)] = samples
        rows[1, : len(samples)] = 0.0

    return Prediction(
        [rows[0] for rows in statistics],
        [rows[1] for rows in statistics],
        {q: [rows[i] for rows in statistics] for i, q in enumerate(quantiles, 2)},
        float(is_lost.mean()),
        len(blocks[0]),
        tuple(map(len, given)),
    )


def _statistics(block: Float2D, quantiles: Sequence[float]) -> Float2D:
    """Rows: mean, spread and quantiles over the draws, those lost left out.

    Some samples at a time, so that copies stay small beside the runs themselves.
    """
    n_draws, n_samples = block.shape
    rows = np.empty((2 + len(quantiles), n_samples))
    width = max(1, _AT_A_TIME // n_draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample lost by every draw is NaN
        for begin in range(0, n_samples, width):
            part = slice(begin, begin + width)
            rows[0, part] = np.nanmean(block[:, part], axis=0)
            rows[1, part] = np.nanstd(block[:, part], axis=0)
            rows[2:, part] = _quantiles(block[:, part], quantiles)
    return rows


def _quantiles(block: Float2D, quantiles: Sequence[float]) -> Float2D:
    """Quantiles over the draws, those lost left out; see `Prediction` for where they are placed."""
    bands = np.empty((len(quantiles), block.shape[1]))
    ordered = np.sort(block.T, axis=1)  # NaN last
    n_kept = np.count_nonzero(~np.isnan(ordered), axis=1)
    row = np.arange(len(ordered))
    for i, q in enumerate(quantiles):
        rank = np.clip(q * (n_kept + 1) - 1, 0, np.maximum(n_kept - 1, 0))
        below = rank.astype(int)
        above = np.minimum(below + 1, np.maximum(n_kept - 1, 0))
        low, high = ordered[row, below], ordered[row, above]
        bands[i] = low + (rank - below) * (high - low)
    return bands


def measured_pair(names: SignalNames, u: Any, y: Any) -> tuple[list[Float2D], list[Float1D], bool]:
    """Check inputs and output: one array of each per record, and whether there are several.

    A `Dataset` brings its own output; an autonomous system has no inputs to pass, so None will do.
    """
    if y is None:
        if not isinstance(u, Dataset):
            raise AdjoinError("there is no output; pass u and y, or a Dataset")
        y = u
    outputs, several = as_series(y, names.output)
    if u is None and not names.inputs:
        return [np.empty((len(record), 0)) for record in outputs], outputs, several
    inputs, several = as_inputs(u, names)
    require_same_lengths(inputs, outputs)
    return inputs, outputs, several


def run_against(
    model: Model, inputs: Sequence[Float2D], outputs: Sequence[Float1D], n_seed: int
) -> tuple[list[Float1D], list[Float1D]]:
    """The measured output and the model's free run, record by record, to be scored.

    The first `n_seed` measured samples of each record seed the run and are cut off.
    """
    require_more(outputs, n_seed, "score")
    runs = model.free_response(inputs, [record[:n_seed] for record in outputs]).series
    return [record[n_seed:] for record in outputs], [series[n_seed:] for series in runs]


def free_run_error(
    model: Model, inputs: Sequence[Float2D], outputs: Sequence[Float1D], n_seed: int
) -> float:
    """RMSE of a model's free run, its first `n_seed` samples measured and not scored.

    Infinite where it diverges.
    """
    require_more(outputs, n_seed, "score")
    seeds = [record[:n_seed] for record in outputs]
    return run_error(outputs, model.free_response(inputs, seeds).series, n_seed)


def run_error(measured: Sequence[Float1D], run: Sequence[Float1D], n_seed: int) -> float:
    """RMSE of a free run after the first `n_seed` samples of each record; infinite if diverged."""
    error = rmse([y[n_seed:] for y in measured], [series[n_seed:] for series in run])
    return error if math.isfinite(error) else math.inf


def require_more(outputs: Sequence[Float1D], n_seed: int, what: str) -> None:
    """Refuse records that hold seeding samples only."""
    shortest = min(map(len, outputs))
    if shortest <= n_seed:
        raise AdjoinError(
            f"a record of {shortest} samples leaves nothing to {what}: the first {n_seed} (max_lag)"
            " seed the run"
        )
