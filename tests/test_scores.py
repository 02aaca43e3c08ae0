"""Scores and their normalisers."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin import AdjoinError, scores


def test_scores_by_hand() -> None:
    y, y_hat = [0.0, 2.0, 0.0, 2.0], [0.0, 2.0, 1.0, 1.0]
    assert scores.rmse(y, y_hat) == pytest.approx(np.sqrt(0.5))
    assert scores.nrmse(y, y_hat) == pytest.approx(np.sqrt(0.5))  # the deviation of y is 1
    assert scores.nmse(y, y_hat) == pytest.approx(50.0)
    assert scores.fit_index(y, y_hat) == pytest.approx(100 * (1 - np.sqrt(0.5)))


def test_the_mean_scores_a_hundred_percent() -> None:
    y = np.arange(10.0)
    assert scores.nmse(y, np.full(10, y.mean())) == pytest.approx(100.0)
    assert scores.fit_index(y, y) == 100.0


def test_scores_do_not_depend_on_the_unit() -> None:
    rng = np.random.default_rng(2)
    y, y_hat = rng.standard_normal((2, 50))
    assert scores.nmse(1e3 * y, 1e3 * y_hat) == pytest.approx(scores.nmse(y, y_hat))


def test_a_diverged_prediction_has_no_score() -> None:
    assert np.isnan(scores.rmse([1.0, 2.0], [1.0, np.nan]))


def test_records_are_scored_together() -> None:
    y, y_hat = [[0.0, 2.0], [0.0, 2.0, 5.0]], [[1.0, 2.0], [0.0, 2.0, 5.0]]
    records = [np.array(part) for part in y], [np.array(part) for part in y_hat]
    assert scores.rmse(*records) == pytest.approx(np.sqrt(1 / 5))


def test_bad_series() -> None:
    with pytest.raises(AdjoinError, match="equally long"):
        scores.rmse([1.0], [1.0, 2.0])
    with pytest.raises(AdjoinError, match="equally long"):
        scores.rmse([np.ones(3), np.ones(2)], [np.ones(2), np.ones(3)])
    with pytest.raises(AdjoinError, match="constant"):
        scores.nmse([0.1, 0.1, 0.1], [1.1, 1.1, 1.2])
