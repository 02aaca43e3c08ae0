"""Scores: what runs away has none, and shares count what they say."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from adjoin import datasets
from adjoin.cases.scoring import (
    NO_SCORE,
    free_run,
    score_free_run,
    score_one_step,
    score_run,
    share_within,
)


@pytest.mark.parametrize("height", [1e4, 1e80, 1e200, np.inf, np.nan])
def test_what_runs_away_has_no_score(height: float) -> None:
    """One draw of a hundred that is about to diverge makes a mean like this."""
    test = datasets.academic(0).test
    run = test.y.copy()
    run[-1] = height
    assert score_run(test, run, 10) == NO_SCORE
    run[-1] = 10.0 * test.y.std()
    assert score_run(test, run, 10).nmse > 1.0


def test_the_share_within_leaves_out_what_seeded_the_run() -> None:
    zero, one = np.zeros(4), np.ones(4)
    measured = np.array([9.0, 0.0, 2.0, 4.0])
    prediction = SimpleNamespace(mean=zero, sd=one)
    assert share_within(measured, prediction, 0) == 0.5
    assert share_within(measured, prediction, 1) == pytest.approx(2.0 / 3.0)
    assert share_within(measured, prediction, 1, n_sd=1.0) == pytest.approx(1.0 / 3.0)


def test_the_scores_of_a_model_are_those_of_its_runs() -> None:
    data = datasets.academic(0)
    model = data.truth
    free = score_free_run(model, data.test, 10)
    assert free == score_run(data.test, free_run(model, data.test, 10), 10)
    # Measured outputs carry their noise into the prediction: 1.044 times the noise's σ.
    assert 1.0 < score_one_step(model, data.test, 10).rmse / free.rmse < 1.1
