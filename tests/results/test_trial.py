"""A new experiment: which series, and the same scores as an assessment has."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.exchange.test_stored_discovery import discovered
from tests.results.runs import HELD_OUT, TEST, TRUE, made
from tests.schema import require_scores

from adjoin import AdjoinError, Model
from adjoin.results.assessment import assess
from adjoin.results.average import Average
from adjoin.results.trial import Trial
from adjoin.scores import rmse

MODEL = Model.parse("y(k) = 0.5*u(k-1) + 0.6*y(k-1)")
U, Y = TEST.inputs[0], TEST.outputs[0]


def test_a_posterior_is_scored_as_its_assessment_is() -> None:
    posterior = made([[TRUE] * 4], held_out=HELD_OUT)
    trial = Trial(posterior, U, Y, draws=30)
    part = assess(posterior, TEST, draws=30).parts[-1]
    assert trial.scores == part.scores
    assert trial.coverage == part.scores.coverage
    np.testing.assert_array_equal(trial.columns["model"], part.model_run[0])
    np.testing.assert_array_equal(trial.columns["mean"], part.prediction.mean[0])
    assert list(trial.columns) == [
        *("sample", "measured", "model", "mean", "median", "sd"),
        *("q2.5", "q16", "q50", "q84", "q97.5"),
    ]


def test_a_lone_model_has_scores_without_bands() -> None:
    trial = Trial(MODEL, U, Y)
    require_scores({"x": trial.scores.plain}, {"x"}, is_lone=True)
    assert list(trial.columns) == ["sample", "measured", "model"]
    np.testing.assert_array_equal(trial.columns["model"], MODEL.simulate(U, Y[:1]))
    assert trial.scores.free_run.rmse == rmse(Y[1:], trial.columns["model"][1:])
    assert trial.scores.diverged == 0.0
    wild = Trial(Model.parse("y(k) = 9*y(k-1)^2 + u(k) + 1"), U, Y)
    assert wild.is_diverged
    assert wild.scores.diverged == 1.0
    assert wild.scores.free_run.rmse is None


def test_steps_ahead_have_errors_beside_the_scores() -> None:
    posterior = made([[TRUE] * 4])
    trial = Trial(posterior, U, Y, steps_ahead=3, draws=30)
    assert trial.scores == Trial(posterior, U, Y, draws=30).scores
    series = posterior.map_model.predict(U, Y, 3)
    np.testing.assert_array_equal(trial.series[0], series)
    assert trial.errors_ahead.rmse == rmse(Y[2:], series[2:])
    ahead = posterior.predict(U, Y, 3, draws=30)
    np.testing.assert_array_equal(trial.columns["mean"], ahead.mean)
    assert trial.coverage == ahead.coverage(Y)


def test_records_are_run_one_by_one() -> None:
    bounds = [(0, 30), (30, len(U))]
    trial = Trial(MODEL, U, Y, bounds=bounds)
    for part, (first, end) in zip(trial.series, bounds, strict=True):
        own = MODEL.simulate(U[first:end], Y[first : first + 1])
        np.testing.assert_array_equal(part, own)
    assert trial.columns["model"].shape == Y.shape
    rested = Trial(MODEL, U, bounds=bounds).columns["model"]
    np.testing.assert_array_equal(rested[30:], MODEL.simulate(U[30:]))


def test_the_best_candidates_of_a_discovery_are_run_together() -> None:
    both = Average((MODEL, Model.parse("y(k) = 0.4*u(k-1) + 0.1*u(k-2) + 0.6*y(k-1)")))
    found = replace(discovered().discovered, average=both)
    run = replace(made([[TRUE] * 4]), discovered=found)
    trial = Trial(run, U, Y, draws=30)
    expected = np.median([one.simulate(U, Y[: both.n_seed]) for one in both.models], axis=0)
    np.testing.assert_array_equal(trial.columns["average"], expected)
    assert trial.average_errors.rmse == rmse(Y[both.n_seed :], expected[both.n_seed :])
    rows = {row.chains: row.errors for row in assess(run, TEST, draws=30).parts[-1].comparison}
    assert rows["the best candidates"] == trial.average_errors
    rested = np.median([one.simulate(U, np.zeros(2)) for one in both.models], axis=0)
    np.testing.assert_array_equal(Trial(run, U, draws=30).columns["average"], rested)
    assert "average" not in Trial(run, U, Y, steps_ahead=2, draws=30).columns


def test_without_an_output_nothing_is_scored() -> None:
    for subject in (MODEL, made([[TRUE] * 4])):
        trial = Trial(subject, U)
        assert trial.scores is None
        assert trial.coverage is None
        assert trial.n_seed == 0
        assert "measured" not in trial.columns
    np.testing.assert_array_equal(Trial(MODEL, U).series[0], MODEL.simulate(U))
    with pytest.raises(AdjoinError, match="2 steps ahead needs the measured output 'y'"):
        Trial(MODEL, U, steps_ahead=2)
    with pytest.raises(AdjoinError, match="1 samples do not reach beyond the 1 that seed"):
        Trial(MODEL, U[:1], Y[:1])
