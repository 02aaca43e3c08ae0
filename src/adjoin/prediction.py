"""Predictions with their uncertainty: many models run with noise of their own.

Receives models drawn from a posterior; gives mean, spread and bands of their free runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.model import Model
from adjoin.signals import as_inputs

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


def propagate(
    models: Sequence[Model], u: Any, y_init: Any, seed: int, quantiles: Sequence[float] = BANDS
) -> Prediction:
    """Free runs of the models, each with fresh noise of its own scale fed back at every step.

    Parameters
    ----------
    models : sequence of Model
        Draws from a posterior, all of the same signals.
    u, y_init
        As for `Model.simulate`; `y_init` long enough for the longest model.
    seed : int
        Of the noise.
    quantiles : sequence of float
        Which bands to give.
    """
    if not models:
        raise AdjoinError("there are no draws to predict with")
    if any(not 0.0 <= q <= 1.0 for q in quantiles):
        raise AdjoinError(f"quantiles must be between 0 and 1, not {list(quantiles)}")
    inputs, several = as_inputs(u, models[0].names)
    rng = np.random.default_rng(seed)
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
        bands = {q: [np.nanquantile(block, q, axis=0) for block in stacked] for q in quantiles}

    def result(series: list[np.ndarray]) -> Any:
        return series if several else series[0]

    return Prediction(
        result(mean),
        result(sd),
        {q: result(series) for q, series in bands.items()},
        float(is_lost.mean()),
        len(models),
    )
