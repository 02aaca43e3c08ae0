"""Runs side by side: the same samples, the best first."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.results.runs import GRAMMAR, HELD_OUT, POOR, TEST, TRAIN, TRUE, lost, made
from tests.schema import require_scores
from tests.systems import by_hand

from adjoin import AdjoinError, Dataset, Grammar
from adjoin.results.assessment import assess
from adjoin.results.comparison import ComparedRun, compare_runs, with_signals

GOOD_RUN, POOR_RUN = made([[TRUE] * 4]), made([[POOR] * 4])
WILD_RUN = lost()


def test_the_best_simulation_is_first_and_a_lost_one_last() -> None:
    runs = {"wild": WILD_RUN, "poor": POOR_RUN, "good": GOOD_RUN}
    found = compare_runs(runs, dict.fromkeys(runs, TEST), "test.csv", draws=20)
    assert list(found.table["name"]) == ["good", "poor", "wild"]
    assert found.best == "good"
    assert found.part_name == "test.csv"
    assert found.notes == ()
    lost = found.table.iloc[2]
    assert math.isnan(lost["free_run_rmse"])
    assert lost["diverged"] == 1.0
    assert math.isnan(lost["coverage"])
    for run in found.plain["runs"]:
        require_scores(run["scores"], {"test.csv"})
        assert set(run["verdict"]) == {"level", "summary", "reasons", "next", "settled"}


def test_scores_are_those_of_the_report() -> None:
    found = compare_runs({"good": GOOD_RUN}, {"good": TEST}, "test", draws=30)
    alone = assess(GOOD_RUN, TEST, 30)
    assert found.runs[0].part.scores == alone.parts[-1].scores
    row = found.table.iloc[0]
    assert row["verdict"] == alone.verdict.level
    assert row["n_terms"] == 2
    assert row["objective"] == "prediction"


def test_the_seconds_of_a_discovery_are_those_of_all_it_did() -> None:
    """The last sampling, which its posterior knows of, is the least of it."""
    posterior = SimpleNamespace(timing={"total_s": 0.04})
    for discovered, seconds in (
        (None, 0.04),
        (SimpleNamespace(timing={}), 0.04),  # of an earlier version
        (SimpleNamespace(timing={"total_s": 435.0}), 435.0),
    ):
        assessment: Any = SimpleNamespace(discovered=discovered, all_chains=posterior)
        part: Any = None
        assert ComparedRun("rig", assessment, TRAIN, part).seconds == seconds


def test_levels_are_called_what_pages_call_them() -> None:
    found = compare_runs(
        {"poor": POOR_RUN, "good": GOOD_RUN}, dict.fromkeys(("poor", "good"), TEST)
    )
    heads, rows = found.texts
    assert {row[heads.index("verdict")] for row in rows} <= {"Good", "With care", "Problem"}


def test_windows_of_any_length_are_scored_on_the_same_samples() -> None:
    long = by_hand(TRAIN, [[TRUE] * 4], Grammar.narx(max_lag=7, max_degree=2))
    found = compare_runs({"long": long, "short": GOOD_RUN}, {"long": TEST, "short": TEST}, draws=20)
    by_name = {run.name: run for run in found.runs}
    assert [by_name[name].part.n_scored for name in ("long", "short")] == [len(TEST) - 7] * 2
    assert by_name["short"].part.n_seed == 2
    assert "(long 7, short 2); all are scored from sample 7" in found.notes[0]
    measured = [by_name[name].part.data.y[by_name[name].part.n_seed :] for name in by_name]
    np.testing.assert_array_equal(*measured)


def test_what_all_held_out_is_compared_on_else_what_was_fitted() -> None:
    first, other = made([[TRUE] * 4], held_out=HELD_OUT), made([[POOR] * 4], held_out=HELD_OUT)
    found = compare_runs({"a": first, "b": other}, draws=20)
    assert found.part_name == "validation"
    assert "that all runs held out; for a fair comparison" in found.notes[0]
    apart = made([[POOR] * 4], held_out=TEST)
    for runs in ({"a": first, "b": GOOD_RUN}, {"a": first, "b": apart}):
        found = compare_runs(runs, draws=20)
        assert found.part_name == "train"
        assert "compared on the data that each was fitted to" in found.notes[0]


def test_runs_on_different_data_are_ranked_by_shares_of_the_variance() -> None:
    tiny = Dataset.from_arrays(TRAIN.u, 1e-3 * TRAIN.y)
    wrong = by_hand(tiny, [[("u(k-2)", [1e-4], 1e-8)] * 4], GRAMMAR)
    found = compare_runs({"wrong": wrong, "good": GOOD_RUN}, draws=20)
    assert found.best == "good"  # though its RMSE is larger
    assert found.table["free_run_rmse"].iloc[0] > found.table["free_run_rmse"].iloc[1]
    assert any("fitted to different data" in note for note in found.notes)


def test_test_data_are_cut_to_the_signals_of_a_run() -> None:
    more = Dataset.from_arrays(np.column_stack([TEST.y, TEST.u]), TEST.y, ["v", "u", "y"])
    cut = with_signals(more, GOOD_RUN)
    assert cut.names == GOOD_RUN.data.names
    np.testing.assert_array_equal(cut.u, TEST.u)
    assert with_signals(TEST, GOOD_RUN) is TEST
    with pytest.raises(AdjoinError, match="output 'z', but the run is of 'y'"):
        with_signals(Dataset.from_arrays(TEST.u, TEST.y, ["u", "z"]), GOOD_RUN)


def test_it_prints_as_a_table_with_its_notes() -> None:
    text = repr(compare_runs({"good": GOOD_RUN, "wild": WILD_RUN}, draws=20))
    assert text.splitlines()[0].split()[:3] == ["run", "objective", "RMSE"]
    assert text.splitlines()[1].startswith("good  prediction")
    assert "–" in text.splitlines()[2]
    assert text.splitlines()[-1].startswith("note: compared on the data that each was fitted to")
