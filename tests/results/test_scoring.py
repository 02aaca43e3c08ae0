"""Scores of one part of the data: of what, without which samples, and in which shape."""

from __future__ import annotations

import json

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.schema import require_scores
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar
from adjoin.report.findings import describe
from adjoin.results.answers import Answer
from adjoin.results.assessment import Assessment, assess
from adjoin.results.scoring import Errors
from adjoin.scores import fit_index, nmse, rmse


def plain(found: Assessment) -> dict:
    """The description, which JSON holds as it is."""
    described = describe(found)
    assert json.loads(json.dumps(described, allow_nan=False)) == described
    require_scores(described["scores"], {part.name for part in found.parts})
    return described


@pytest.fixture(scope="module")
def selected() -> Assessment:
    """Two chains, of which validation chooses the second; and test data."""
    return assess(made([[POOR] * 8, [TRUE] * 4], held_out=HELD_OUT), TEST, draws=40)


def test_scores_are_of_free_runs_without_their_seeds(selected: Assessment) -> None:
    for part, data in zip(selected.parts, (TRAIN, HELD_OUT, TEST), strict=True):
        expected = []
        for of in (selected.posterior, selected.all_chains):
            forward = of.simulate(data.u, data.y[:2], draws=40)
            run = of.map_model.simulate(data.u, data.y[:2])
            for series in (run, forward.mean, forward.median):
                pair = data.y[2:], series[2:]
                expected.append((rmse(*pair), nmse(*pair), fit_index(*pair)))
        found = [tuple(row.errors) for row in part.comparison if "weighted" not in row.chains]
        assert found == [pytest.approx(row, rel=1e-12) for row in expected]
        assert part.scores.free_run == part.comparison[0].errors
        ahead = data.y[2:], selected.posterior.map_model.predict(data.u, data.y)[2:]
        errors = rmse(*ahead), nmse(*ahead), fit_index(*ahead)
        assert part.scores.one_step == pytest.approx(errors, rel=1e-12)
        own = selected.posterior.simulate(data.u, data.y[:2], draws=40)
        assert part.scores.coverage == own.coverage(data.y)
        np.testing.assert_array_equal(part.prediction.mean[0], own.mean)
        run = selected.posterior.map_model.simulate(data.u, data.y[:2])
        np.testing.assert_array_equal(part.model_run[0], run)


def test_several_records_are_assessed_together() -> None:
    test = Dataset.from_arrays([TEST.u[:70], TEST.u[70:]], [TEST.y[:70], TEST.y[70:]])
    (_, part) = assess(made([[TRUE] * 4]), test, draws=20).parts
    assert [len(run) for run in part.model_run] == [70, 80]
    measured = [y[2:] for y in test.y]
    error = rmse(measured, [r[2:] for r in part.model_run])
    assert part.scores.free_run.rmse == pytest.approx(error)


def test_a_model_without_lags_can_be_assessed() -> None:
    u, error = np.random.default_rng(0).standard_normal((2, 300))
    grammar = Grammar.fir(max_lag=0)
    data = Dataset.from_arrays(u, 2.0 * u + 0.1 * error)
    posterior = quick(grammar=grammar, max_lag=0, max_degree=1).fit(data).posterior_
    found = assess(posterior, data, draws=20)
    assert posterior.max_lag == 0
    assert found.parts[-1].prediction.n_seed == (0,)
    assert found.parts[-1].scores.free_run.rmse == pytest.approx(0.1, rel=0.2)
    plain(found)


def test_the_empty_structure_can_be_assessed() -> None:
    found = assess(made([[("0", [], 1.0)] * 4] * 2), draws=20)
    assert found.unique.reasons[1].startswith("0 terms certain")
    plain(found)


def test_a_model_that_diverges_has_no_scores() -> None:
    """Fitted near rest, where it is stable; the test begins where its cube takes over."""
    u, y = simulated("y(k) = 0.1*u(k) + 0.4*y(k-1) + 0.3*y(k-1)^3", n=200, noise=0.0)
    chain = [("u(k) + y(k-1) + y(k-1)^3", [0.1, 0.4, 0.3], 1e-6)] * 4
    grammar = Grammar.narx(max_lag=2, max_degree=3)
    far = Dataset.from_arrays(u[:90], np.append([4.0, 4.0], y[2:90]))
    found = assess(by_hand(Dataset.from_arrays(u, y), [chain], grammar), far, draws=10)
    near, part = found.parts
    assert near.scores.free_run.fit > 99.0
    assert part.scores.free_run == Errors(None, None, None)
    assert part.scores.diverged == 1.0
    assert part.scores.coverage is None  # there is no band, not one that misses all
    assert found.trusted == Answer(
        "poor",
        "No: it runs away",
        ("the simulation of the test data runs away: it leaves the range that was fitted",),
        "the simulation cannot be trusted: it runs away",
    )
    described = plain(found)
    scores = described["scores"]
    assert described["runaways"]["train"] == {
        "n_draws": 10,
        "n_stayed": [10],
        "first_lost": [None],
        "words": "mean of 10 draws",
    }
    assert described["runaways"]["test"]["n_stayed"] == [0]
    assert described["runaways"]["test"]["words"].startswith("no mean: all 10 draws ran away")
    assert scores["train"]["free_run"]["diverged"] == 0.0
    assert scores["test"]["free_run"] == {
        "rmse": None,
        "nmse": None,
        "fit": None,
        "diverged": 1.0,
    }


def test_an_output_that_stands_still_is_not_divergence() -> None:
    still = Dataset.from_arrays(np.zeros(50), np.zeros(50))
    found = assess(made([[TRUE] * 4]), still, draws=20)
    assert found.parts[1].scores.free_run.rmse == 0.0
    assert found.parts[1].scores.free_run.fit is None
    assert found.trusted.short == "Cannot be told: the output stands still"
    plain(found)


def test_the_white_box_has_the_same_scores() -> None:
    grammar = Grammar.narx(max_lag=2, max_degree=2).with_initial("u(k-1)")
    found = assess(by_hand(TRAIN, [[TRUE] * 4] * 2, grammar), TEST, draws=20)
    described = plain(found)["white_box"]
    known = found.white_box
    assert described["equation"] == known.equation
    require_scores(described["scores"], {"train", "test"}, is_lone=True)
    run = known.simulate(TEST.u, TEST.y[:2])
    assert described["scores"]["test"]["free_run"]["rmse"] == rmse(TEST.y[2:], run[2:])
    assert described["scores"]["test"]["free_run"]["diverged"] == 0.0
    assert described["scores"]["test"]["coverage"] is None
    last = found.parts[-1].comparison[-1]
    assert (last.chains, last.predictor) == ("fixed terms alone", "white box")
    assert last.errors == found.parts[-1].white_box.free_run
