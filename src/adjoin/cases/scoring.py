"""How far off a model is: errors of free runs, and how much of the output a prediction holds.

Receives data, and models or what they predicted; gives a `Score` or a share. Everything that
`study` computes on a validation or test set is computed here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.model import Model
from adjoin.results.prediction import Prediction
from adjoin.results.scoring import errors_of

PREDICTORS = {
    "selected_map": ("selected", "MAP"),
    "selected_fwd": ("selected", "FWD"),
    "pooled_map": ("pooled", "MAP"),
    "pooled_fwd": ("pooled", "FWD"),
}
"""What is scored: of which chains, and whether their MAP model or the mean of drawn models."""

_RUN_AWAY = 1e6  # percent: a run, or a draw in a mean of runs, that is on its way to infinity


@dataclass(frozen=True)
class Score:
    """The error of a run: NMSE in percent of the variance of the measured output, and RMSE.

    None: it diverges, or is beyond a hundred standard deviations on its way there.
    """

    nmse: float | None
    rmse: float | None


NO_SCORE = Score(None, None)


def free_run(model: Model, data: Dataset, n_seed: int) -> Float1D:
    """The run of a model on the inputs alone, after `n_seed` measured outputs."""
    return model.free_response(data.inputs, [y[:n_seed] for y in data.outputs]).series[0]


def score_run(data: Dataset, run: Float1D, n_seed: int) -> Score:
    """The error of a run against the measured output; the samples that seeded it do not count."""
    with np.errstate(over="ignore", invalid="ignore"):  # that is said by the missing score
        errors = errors_of(data.outputs, [run], n_seed)
    if errors.nmse is None or errors.nmse >= _RUN_AWAY:
        return NO_SCORE
    return Score(errors.nmse, errors.rmse)


def score_free_run(model: Model, data: Dataset, n_seed: int) -> Score:
    """The error of a model's free run."""
    return score_run(data, free_run(model, data, n_seed), n_seed)


def score_one_step(model: Model, data: Dataset, n_seed: int) -> Score:
    """The error of a model one step ahead, from measured outputs."""
    response = model.predicted_response(data.inputs, data.outputs)
    return score_run(data, response.series[0], n_seed)


def share_within(
    measured: Float1D, prediction: Prediction, n_seed: int, n_sd: float = 3.0
) -> float:
    """The share of the output within so many standard deviations of the predicted mean."""
    error = np.abs(measured - prediction.mean)[n_seed:]
    return float(np.mean(error <= n_sd * prediction.sd[n_seed:]))
