"""Draws of a posterior as an ensemble that runs in other programs, and what noise adds to each.

Receives a `Collection`; gives an `Ensemble` for C and FMUs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from adjoin.data.dataset import Dataset
from adjoin.export.ensemble import Ensemble
from adjoin.results.collection import Collection
from adjoin.results.colour import stationary_covariance
from adjoin.results.prediction import BANDS, Drawn


def draw_ensemble(
    posterior: Collection,
    draws: int = 50,
    seed: int | None = 0,
    quantiles: Sequence[float] = BANDS,
) -> Ensemble:
    r"""Draw models, and find the standard deviation that noise gives to the run of each.

    Where noise lies on top of the output, that is the noise itself: :math:`s = σ`, or where it has
    a memory the standard deviation of the whole of it. Where it is fed back, what becomes of it
    depends on the model. Then every model is run on the fitted data with noise and without, and s
    is the root mean square of the difference.

    Parameters
    ----------
    posterior : Collection
        What to draw from, as `Collection.draw_models` does with the same seed.
    draws, seed
        How many models, and the seed of the draws, of their noise and of the scores.
    quantiles : sequence of float
        Which bands there are to be.
    """
    drawn, noise_seed = posterior.drawn(draws, seed, posterior.data.n_samples)
    if posterior.objective.is_fed_back:
        spread = fed_back_spread(drawn, posterior.data, posterior.max_lag, noise_seed)
        words = (
            "The noise is that of the system, fed back at every step: what it adds to a run was"
            f" measured by runs of each model with and without it on the {posterior.data.n_samples}"
            " samples that were fitted."
        )
    else:
        spread = [on_top_spread(each) for each in drawn]
        memory = ", with its memory," if any(len(each.rho) for each in drawn) else ""
        words = f"The noise is that of the sensor, on top of a run{memory} as it was estimated."
    models = tuple(each.model for each in drawn)
    return Ensemble(models, tuple(spread), tuple(map(float, quantiles)), words, seed or 0)


def on_top_spread(drawn: Drawn) -> float:
    """The standard deviation of noise that is added to a finished run."""
    variance = float(stationary_covariance(drawn.rho)[0, 0]) if len(drawn.rho) else 1.0
    return (drawn.model.noise_sd or 0.0) * math.sqrt(variance)


def fed_back_spread(
    drawn: Sequence[Drawn], data: Dataset, n_seed: int, seed: int | None
) -> list[float]:
    """What noise adds to the run of every model, root mean square over the data.

    Samples where either run is lost say nothing; where all are, it is the noise itself.
    """
    seeds = [record[:n_seed] for record in data.outputs]
    lengths = [len(record) for record in data.outputs]
    children = np.random.SeedSequence(seed).spawn(len(drawn))
    found = []
    for each, child in zip(drawn, children, strict=True):
        noise = each.noise(np.random.Generator(np.random.PCG64(child)), lengths)
        quiet = each.model.free_response(data.inputs, seeds).series
        noisy = each.model.free_response(data.inputs, seeds, noise).series
        pairs = zip(quiet, noisy, strict=True)
        moved = np.concatenate([(b - a)[n_seed:] for a, b in pairs])
        moved = moved[np.isfinite(moved)]
        sd = float(np.sqrt(np.mean(moved**2))) if len(moved) else each.model.noise_sd or 0.0
        found.append(sd)
    return found
