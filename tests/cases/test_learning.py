"""The learning curve: what it is made of, what is said of it, and who has none."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from tests.cases.studies import wave_study

from adjoin import AdjoinError, datasets
from adjoin.cases.case import find_case
from adjoin.cases.learning import Curve, Point, learn, levels, n_better
from adjoin.cases.outputs import study_files
from adjoin.cases.plain_values import describe
from adjoin.cases.setups import Plan
from adjoin.cases.study import Step, run_study
from adjoin.cases.waves import CASE, Waves
from adjoin.cases.waves_learning import learning_findings, learning_section
from adjoin.cases.white_box import fit_white_box
from adjoin.cases.words import findings
from adjoin.inference.checkpoint import Checkpoint
from adjoin.scores import nmse


def points(grey: dict[int, float | None], n_seeds: int = 4) -> list[Point]:
    """Black boxes at 10 %, white ones at 20; method 3 as said, for each number of samples."""
    found = []
    for n_train, error in grey.items():
        for seed in range(n_seeds):
            errors = {0: 20.0, 1: 10.0, 2: 12.0, 3: error}
            found += [Point(seed, n_train, number, e, 9.0) for number, e in errors.items()]
    return found


def test_levels_are_medians_and_quartiles_and_runs_that_diverge_are_infinite() -> None:
    some = [Point(seed, 100, 1, error, None) for seed, error in enumerate((3.0, 1.0, 2.0, None, 4))]
    (level,) = levels(some)
    assert (level.low, level.median, level.high) == (2.0, 3.0, 4.0)
    assert (level.n_seeds, level.n_diverged) == (5, 1)
    (lost,) = levels([replace(point, free_run=None) for point in some])
    assert (lost.low, lost.median) == (math.inf, math.inf)


def test_where_physics_pays_and_where_data_catch_up_is_said() -> None:
    some = points({100: 8.0, 200: 9.0, 350: 11.0})
    assert [n_better(some, n, 3, 1) for n in (100, 200, 350)] == [4, 4, 0]
    pays, beats = learning_findings(some)
    assert pays.level == "good"
    assert pays.short == (
        "Knowing the physics pays with 100 and 200 samples; from 350 on the black box has caught up"
    )
    assert beats.short == "Data alone beat Morison's equation at every size tried"
    (never, _) = learning_findings(points({100: None, 200: 11.0}))
    assert (never.level, never.short) == (
        "caution",
        "Knowing the physics pays at no size from 100 on",
    )
    assert "diverges against 10.0 %" in never.reason
    assert list(learning_findings([])) == []


def test_the_page_has_the_curve_as_table_picture_and_file() -> None:
    some = points({100: 8.0, 200: None})
    study = replace(wave_study(), curve=tuple(some))
    (sheet,) = learning_section(some).sheets
    assert sheet.rows[1][4] == "diverges [diverges, diverges], 4 diverge"
    assert sheet.rows[0][-2:] == ["4/4", "4/4"]
    files = study_files(study)
    for name in ("index.html", "index.md"):
        assert "Learning curve" in files[name]
    assert files["learning.png"][:4] == b"\x89PNG"
    records = list(csv.DictReader(io.StringIO(files["learning.csv"])))
    assert len(records) == len(some)
    assert records[0]["method"] == "white box, least squares"
    facts = json.loads(json.dumps(describe(study), allow_nan=False))
    assert facts["learning_curve"][3]["free_run_nmse_percent"] == 8.0
    assert any("physics pays" in finding.short for finding in findings(study))


def test_a_curve_is_learned_from_the_training_samples_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = CASE.curve(Plan("waves"))
    assert [setup.initial_mode for setup in whole.setups] == [None, "residual", "joint"]
    assert (min(whole.sizes), max(whole.sizes)) == (100, 1000)
    short = Curve(tuple(replace(s, samples=200) for s in whole.setups), (100,), 1, 1.0)
    benchmark = datasets.waves(1)
    beyond = replace(benchmark, train=benchmark.train[:100], validation=None)
    plan = Plan("waves", n_jobs=1)
    found = list(learn(short, plan, 1, benchmark))
    assert found == list(learn(short, plan, 1, beyond))
    kept = Checkpoint(tmp_path)
    for _ in range(2):  # drawn, and then read
        assert list(learn(short, plan, 1, benchmark, kept)) == found
    chains = [file.name for file in tmp_path.glob("curve-1-100.*.chain.0.arrays")]
    assert len(chains) == 3
    white = next(point for point in found if point.number == 0)
    run = fit_white_box(beyond).simulate(benchmark.test.u, benchmark.test.y[:10])
    assert white.free_run == pytest.approx(nmse(benchmark.test.y[10:], run[10:]), rel=0.01)
    monkeypatch.setattr(Waves, "setups", lambda case, plan: ())
    monkeypatch.setattr(Waves, "curve", lambda case, plan: short)
    steps: list[Step] = []
    study = run_study(Plan("waves", ("prediction",), curve=2, seed=1, n_jobs=1), steps.append)
    assert [p.seed for p in study.curve] == [1] * 4 + [2] * 4
    assert [step.share for step in steps] == [0.0, 0.5, 0.5, 1.0]


def test_who_has_no_curve_says_so() -> None:
    assert CASE.curve_seeds(Plan("waves")) == range(10)
    assert len(CASE.curve_seeds(Plan("waves", is_quick=True))) == 0
    assert len(CASE.curve_seeds(Plan("waves", is_quick=True, curve=2))) == 2
    assert "no learning curve" in CASE.shortened(Plan("waves", is_quick=True))
    assert len(CASE.curve_seeds(Plan("waves", ("abc",)))) == 0
    with pytest.raises(AdjoinError, match="no learning curve"):
        find_case("academic").benchmark(Plan("academic", curve=3))
