"""Predictions with their uncertainty: many models run with noise of their own.

Receives models drawn from a posterior; gives mean, spread and bands of their free runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.checks import make_generator
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.model import Model
from adjoin.signals import Dataset, as_inputs, as_series

BANDS = (0.025, 0.16, 0.5, 0.84, 0.975)


@dataclass(frozen=True)
class Prediction:
    """What the draws of a posterior predict; lists of arrays where there are several records.

    Parameters
    ----------
    mean, sd : (n,) array
        Over the draws that have not diverged up to that sample.
    bands : mapping of float to (n,) array
        Quantiles over the same draws.
    diverged : float
        The share of draws that diverged somewhere. They are not left out silently: a share above
        zero means that the posterior holds models whose free run cannot be trusted.
    n_draws : int
        How many models were run.
    """

    mean: Any
    sd: Any
    bands: Mapping[float, Any]
    diverged: float
    n_draws: int

    def __repr__(self) -> str:
        bands = ", ".join(f"{q:g}" for q in self.bands)
        return f"Prediction({self.n_draws} draws, {self.diverged:.0%} diverged; bands {bands})"


def propagate(
    models: Sequence[Model],
    u: Any,
    y_init: Any,
    seed: int | None,
    quantiles: Sequence[float] = BANDS,
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
    """
    if not models:
        raise AdjoinError("there are no draws to predict with")
    if any(not 0.0 <= q <= 1.0 for q in quantiles):
        raise AdjoinError(f"quantiles must be between 0 and 1, not {list(quantiles)}")
    inputs, several = as_inputs(u, models[0].names)
    rng = make_generator(seed)
    runs: list[list[np.ndarray]] = []
    for model in models:
        noise = [(model.noise_sd or 0.0) * rng.standard_normal(len(record)) for record in inputs]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # counted below
            run = model.simulate(u, y_init, noise if several else noise[0])
        runs.append(run if several else [run])
    stacked = [np.array([run[r] for run in runs]) for r in range(len(inputs))]
    is_lost = np.array([[np.isnan(series).any() for series in run] for run in runs]).any(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a sample lost by every draw is NaN
        mean = [np.nanmean(block, axis=0) for block in stacked]
        sd = [np.nanstd(block, axis=0) for block in stacked]
        found = [_quantiles(block, quantiles) for block in stacked]
        bands = {q: [block[i] for block in found] for i, q in enumerate(quantiles)}
    if y_init is not None:
        for r, given in enumerate(as_series(y_init, models[0].names.output)[0]):
            mean[r][: len(given)], sd[r][: len(given)] = given, 0.0  # copied to the last bit

    def result(series: list[np.ndarray]) -> Any:
        return series if several else series[0]

    return Prediction(
        result(mean),
        result(sd),
        {q: result(series) for q, series in bands.items()},
        float(is_lost.mean()),
        len(models),
    )


def _quantiles(block: np.ndarray, quantiles: Sequence[float]) -> np.ndarray:
    """Quantiles over the draws; samples lost by some draw apart, as NumPy is slow on those."""
    found: np.ndarray = np.quantile(block, quantiles, axis=0)
    is_holed = np.isnan(block).any(axis=0)
    if is_holed.any():
        found[:, is_holed] = np.nanquantile(block[:, is_holed], quantiles, axis=0)
    return found


def measured_pair(model: Model, u: Any, y: Any) -> tuple[Any, Any]:
    """Inputs and output as `Model` takes them.

    A `Dataset` brings its own output; an autonomous system has no inputs to pass, so None will do.
    """
    if y is None:
        if not isinstance(u, Dataset):
            raise AdjoinError("there is no output; pass u and y, or a Dataset")
        y = u
    if u is None and not model.names.inputs:
        outputs, several = as_series(y, model.names.output)
        nothing = [np.empty((len(record), 0)) for record in outputs]
        u = nothing if several else nothing[0]
    return u, y


def run_against(
    model: Model, u: Any, y: Any, n_seed: int
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """The measured output and the model's free run, record by record, to be scored.

    The first `n_seed` measured samples of each record seed the run and are cut off.
    """
    u, y = measured_pair(model, u, y)
    inputs, _ = as_inputs(u, model.names)
    outputs, _ = as_series(y, model.names.output)
    lengths = [len(record) for record in outputs]
    if [len(record) for record in inputs] != lengths:
        raise AdjoinError(
            f"inputs and output differ in length: {[len(r) for r in inputs]} and {lengths} samples"
        )
    if min(lengths) <= n_seed:
        raise AdjoinError(
            f"a record of {min(lengths)} samples leaves nothing to score: the first {n_seed}"
            " (max_lag) seed the run"
        )
    runs = model.simulate(inputs, [record[:n_seed] for record in outputs])
    return [record[n_seed:] for record in outputs], [run[n_seed:] for run in runs]
