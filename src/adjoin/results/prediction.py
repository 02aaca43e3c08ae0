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
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import pieces
from adjoin.checks import is_real, require_count, require_seed
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_series, require_same_lengths
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.growing import let_go, make_scratch
from adjoin.model import Model
from adjoin.results.colour import draw_noise, predict_noise
from adjoin.scores import rmse
from adjoin.text import counted
from adjoin.threads import n_workers

BANDS = (0.025, 0.16, 0.5, 0.84, 0.975)
_MOST_BYTES = 4 * 2**30  # all runs are kept, many of long ones in a file: a quantile needs them all
_AT_A_TIME = 2**20  # values that are sorted at a time


@dataclass(frozen=True)
class Prediction:
    r"""What the draws of a posterior predict; lists of arrays where there are several records.

    Parameters
    ----------
    mean, sd : (n,) array
        Over the draws that stayed: a free run that was lost somewhere in a record (see
        `Model.limits`) is left out of all of that record, and a prediction some steps ahead of the
        samples where it was lost. NaN where no draw stayed.
    bands : mapping of float to (n,) array
        Quantiles over the same draws, placed so that a further draw is below the p-quantile with
        probability p: between the order statistics around :math:`p\,(m + 1)` of m draws.
    diverged : float
        The share of draws that were lost somewhere. They are not left out silently: a share above
        zero means that the posterior holds models whose free run cannot be trusted.
    n_draws : int
        How many models were run.
    n_seed : tuple of int
        How many measured samples at the start of each record were copied through.
    median : (n,) array
        Over the same draws.
    n_lost, n_stayed : tuple of int
        For each record how many draws ran away in it, and of how many its mean is (of predictions
        some steps ahead, which are lost one by one, the fewest of any sample).
    first_lost : tuple of (int or None)
        For each record the first sample at which a draw was lost.
    """

    mean: Any
    sd: Any
    bands: Mapping[float, Any]
    diverged: float
    n_draws: int
    n_seed: tuple[int, ...]
    median: Any
    n_lost: tuple[int, ...]
    n_stayed: tuple[int, ...]
    first_lost: tuple[int | None, ...]

    @property
    def lone(self) -> Prediction:
        """The same with arrays instead of lists, where there is one record only."""
        bands = {quantile: series[0] for quantile, series in self.bands.items()}
        return replace(self, mean=self.mean[0], sd=self.sd[0], bands=bands, median=self.median[0])

    def __repr__(self) -> str:
        bands = ", ".join(f"{q:g}" for q in self.bands)
        return f"Prediction({self.in_words()}; bands {bands})"

    def in_words(self, record: int | None = None) -> str:
        """Of how many draws the mean is, of one record or of all, and what became of the others.

        Such as ``mean of 93 of 100 draws; 7 ran away, the first at sample 412``.
        """
        shown = range(len(self.n_lost)) if record is None else range(record, record + 1)
        draws = counted(self.n_draws, "draw")
        lost = [(at, i) for i in shown if (at := self.first_lost[i]) is not None]
        if not lost:
            return f"mean of {draws}"
        at, number = min(lost)
        n_stayed = min(self.n_stayed[i] for i in shown)
        where, n_lost = f"sample {at}", self.n_lost[number]
        if len(shown) > 1:  # a draw may have run away in one record, and another in another
            where, n_lost = f"{where} of record {number}", round(self.diverged * self.n_draws)
        if not any(self.n_stayed[i] for i in shown):
            return f"no mean: all {draws} ran away, the first at {where}"
        if not n_stayed and len(shown) > 1:
            empty = ", ".join(str(i) for i in shown if not self.n_stayed[i])
            return f"no mean of record {empty}; {n_lost} of {draws} ran away, the first at {where}"
        few = "" if n_stayed == self.n_draws - n_lost else "at least "
        return f"mean of {few}{n_stayed} of {draws}; {n_lost} ran away, the first at {where}"

    def coverage(self, y: Any, low: float = 0.025, high: float = 0.975) -> float:
        """The share of measured samples between two bands, seeding samples left out.

        A sample that every draw lost is not covered; NaN where no draw stayed anywhere, so that
        there is no band. To be read with `diverged`: it is the coverage of the draws that stayed.
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
        if not any(self.n_stayed):
            return math.nan
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


class Drawn(NamedTuple):
    """A model from a posterior, and ρ of the noise it comes with; empty where that is white."""

    model: Model
    rho: Float1D

    def noise(self, rng: np.random.Generator, lengths: Sequence[int]) -> list[Float1D]:
        """Series of its noise, one per record."""
        return [draw_noise(rng, self.model.noise_sd or 0.0, self.rho, n) for n in lengths]


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
    drawn = [Drawn(model, np.empty(0)) for model in models]
    prediction = run_records(drawn, inputs, seeds, seed, quantiles, n_jobs, is_fed_back)
    return prediction if several else prediction.lone


def run_records(
    drawn: Sequence[Drawn],
    inputs: Sequence[Float2D],
    seeds: Sequence[Float1D] | None,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
    n_jobs: int | None = None,
    is_fed_back: bool = True,
) -> Prediction:
    """As `propagate`, of arrays that are known to be good; with lists, one entry per record."""
    _check(drawn, quantiles, n_jobs)

    def run(each: Drawn, rng: np.random.Generator) -> list[Float1D]:
        noise = each.noise(rng, [len(record) for record in inputs])
        runs = each.model.free_response(inputs, seeds, noise if is_fed_back else None).series
        if is_fed_back:
            return runs
        return [series + error for series, error in zip(runs, noise, strict=True)]

    blocks = _run_all(drawn, run, [len(record) for record in inputs], seed, n_jobs)
    return _summarise(blocks, seeds or [np.empty(0)] * len(inputs), quantiles, is_whole=True)


def predict_records(
    drawn: Sequence[Drawn],
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    steps_ahead: int,
    n_seed: int,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
    n_jobs: int | None = None,
) -> Prediction:
    """Predictions of the models some steps ahead of measured outputs, noise fed back on the way.

    With coloured noise on the output, the free run and what the measured past of that noise says
    about it. The first `n_seed` measured samples of each record are copied through; the rest as for
    `run_records`.
    """
    _check(drawn, quantiles, n_jobs)
    require_more(outputs, n_seed, "predict")
    lengths = [len(record) for record in outputs]

    def run(each: Drawn, rng: np.random.Generator) -> list[Float1D]:
        if len(each.rho):
            return _follow_noise(each, rng, inputs, outputs, steps_ahead, n_seed)
        noise = each.noise(rng, lengths)
        return each.model.predicted_response(inputs, outputs, steps_ahead, noise).series

    blocks = _run_all(drawn, run, [len(record) for record in inputs], seed, n_jobs)
    given = [record[:n_seed] for record in outputs]
    return _summarise(blocks, given, quantiles, is_whole=False)


def _follow_noise(
    each: Drawn,
    rng: np.random.Generator,
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    steps_ahead: int,
    n_seed: int,
) -> list[Float1D]:
    """The free run of every record, its noise as the past predicts it, and what that leaves."""
    runs = each.model.free_response(inputs, [record[:n_seed] for record in outputs]).series
    sd, found = each.model.noise_sd or 0.0, []
    for run, measured in zip(runs, outputs, strict=True):
        expected, spread = predict_noise((measured - run)[n_seed:], each.rho, steps_ahead)
        noise = expected + sd * spread * rng.standard_normal(len(expected))
        found.append(np.append(run[:n_seed], run[n_seed:] + noise))
    return found


def _check(models: Sequence[object], quantiles: Sequence[float], n_jobs: int | None) -> None:
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
    drawn: Sequence[Drawn],
    run: Callable[[Drawn, np.random.Generator], list[Float1D]],
    lengths: list[int],
    seed: int | None,
    n_jobs: int | None,
) -> list[Float2D]:
    """Run every model in threads, with noise from a generator of its own: (n_draws, n) per record.

    The recursion is compiled and holds no lock, so threads run side by side.
    """
    require_room(len(drawn), sum(lengths))
    blocks = [make_scratch(len(drawn), n) for n in lengths]
    children = np.random.SeedSequence(require_seed(seed)).spawn(len(drawn))

    def work(i: int) -> None:
        runs = run(drawn[i], np.random.Generator(np.random.PCG64(children[i])))
        for block, series in zip(blocks, runs, strict=True):
            block[i] = series
            let_go(block)

    work(0)  # compiles, if need be, before there are threads; and checks the arguments
    with ThreadPoolExecutor(n_workers(n_jobs, len(drawn)), "adjoin-prediction") as pool:
        list(pool.map(work, range(1, len(drawn))))
    return blocks


def _summarise(
    blocks: list[Float2D],
    given: Sequence[Float1D],
    quantiles: Sequence[float],
    is_whole: bool,
) -> Prediction:
    """Mean, spread and bands over the draws; what was `given` is copied to the last bit.

    A record is one run if it `is_whole`: then a draw that was lost anywhere is left out of all of
    it. Else each sample is a run of its own.
    """
    losses = [_losses(block) for block in blocks]
    statistics = [
        _statistics(block, ~(loss.is_lost & is_whole), (0.5, *quantiles))
        for block, loss in zip(blocks, losses, strict=True)
    ]
    for rows, samples in zip(statistics, given, strict=True):
        rows[:, : len(samples)] = samples
        rows[1, : len(samples)] = 0.0
    n_draws, n_lost = len(blocks[0]), tuple(int(loss.is_lost.sum()) for loss in losses)
    most_lost = n_lost if is_whole else tuple(loss.n_at_once for loss in losses)
    return Prediction(
        [rows[0] for rows in statistics],
        [rows[1] for rows in statistics],
        {q: [rows[i] for rows in statistics] for i, q in enumerate(quantiles, 3)},
        float(np.any([loss.is_lost for loss in losses], axis=0).mean()),
        n_draws,
        tuple(map(len, given)),
        median=[rows[2] for rows in statistics],
        n_lost=n_lost,
        n_stayed=tuple(n_draws - n for n in most_lost),
        first_lost=tuple(loss.first for loss in losses),
    )


class _Losses(NamedTuple):
    """Which draws lost a sample of a record, how many lost the same, and the first sample lost."""

    is_lost: np.ndarray
    n_at_once: int
    first: int | None


def _losses(block: Float2D) -> _Losses:
    is_lost, most, first = np.zeros(len(block), bool), 0, None
    for begin, end in pieces(0, block.shape[1]):
        is_nan = np.isnan(block[:, begin:end])
        n_lost = is_nan.sum(axis=0)
        if first is None and n_lost.any():
            first = begin + int((n_lost > 0).argmax())
        is_lost |= is_nan.any(axis=1)
        most = max(most, int(n_lost.max()))
        let_go(block)
    return _Losses(is_lost, most, first)


def _statistics(block: Float2D, is_kept: np.ndarray, quantiles: Sequence[float]) -> Float2D:
    """Rows: mean, spread and quantiles over the draws that are kept, those lost left out.

    Some samples at a time, so that copies stay small beside the runs themselves.
    """
    n_draws, n_samples = block.shape
    rows = np.full((2 + len(quantiles), n_samples), np.nan)
    if not is_kept.any():
        return rows
    chosen: Any = slice(None) if is_kept.all() else is_kept
    width = max(1, _AT_A_TIME // n_draws)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample lost by every draw is NaN
        for begin in range(0, n_samples, width):
            part = slice(begin, begin + width)
            runs = block[chosen, part]
            rows[0, part] = np.nanmean(runs, axis=0)
            rows[1, part] = np.nanstd(runs, axis=0)
            rows[2:, part] = _quantiles(runs, quantiles)
            let_go(block)
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

    Infinite where it is lost.
    """
    require_more(outputs, n_seed, "score")
    seeds = [record[:n_seed] for record in outputs]
    return run_error(outputs, model.free_response(inputs, seeds).series, n_seed)


def run_error(measured: Sequence[Float1D], run: Sequence[Float1D], n_seed: int) -> float:
    """RMSE of a free run after the first `n_seed` samples of each record; infinite if lost."""
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
