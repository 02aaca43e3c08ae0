"""Running a case: the test set is looked at last, and what fails is said and not lost."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases.studies import ACADEMIC, academic_study

from adjoin import AdjoinError, datasets
from adjoin.cases import study as studies
from adjoin.cases.case import Case, find_case
from adjoin.cases.outcome import Row, Study
from adjoin.cases.outputs import study_files
from adjoin.cases.plain_values import describe
from adjoin.cases.setups import Plan
from adjoin.cases.study import Step, run_study
from adjoin.cases.tables import sheets
from adjoin.cases.words import warnings_of
from adjoin.data.dataset import Dataset, Record

ROOT = Path(__file__).parents[2]


def _with_output(data: Dataset, y: np.ndarray) -> Dataset:
    return replace(data, records=(Record(data.records[0].inputs, y),))


def test_the_truth_is_found_scored_and_counted() -> None:
    found = academic_study()
    assert found.is_complete
    assert not found.failed
    for row in found.rows:
        assert row.n_recovered == row.n_chains == 2
        assert 0.9 < row.mass <= 1.0
        assert row.n_terms == 3.0
        for predictor in ("selected_map", "selected_fwd", "pooled_map", "pooled_fwd"):
            assert 0.9 < row.score(predictor).nmse < 1.3  # the noise alone makes 1.1
        assert 0.9 < row.coverage <= row.coverage_3_sigma <= 1.0
        assert row.seconds > 0.0
        assert [p.term for p in row.parameters] == ["u(k-1)", "u(k-5)^3", "y(k-1)", "noise"]
        assert all(p.is_inside for p in row.parameters[:3])


def test_the_selected_map_score_is_that_of_its_equation() -> None:
    from adjoin import Model
    from adjoin.scores import nmse

    row, test = academic_study().rows[0], datasets.academic(0).test
    run = Model.parse(row.equation).simulate(test.u, test.y[:10])
    assert row.score().nmse == pytest.approx(nmse(test.y[10:], run[10:]), rel=1e-3)
    assert row.series.n_seed == 10


def test_selection_never_sees_the_test_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short chains end at different models; the test set is made the run of one not selected."""
    short = replace(find_case("academic").setups(ACADEMIC)[0], samples=60)
    plan = replace(ACADEMIC, chains=4)
    benchmark = datasets.academic(0)
    monkeypatch.setattr(Case, "setups", lambda case, plan: (short,))
    fitted = studies._fit(plan, short, benchmark, lambda snapshot: None)
    errors = fitted.all_chains.validation_errors(benchmark.validation)
    assert len(set(errors.values())) > 1
    assert fitted.validation == pytest.approx(min(errors.values()), rel=2e-3)
    worst = fitted.all_chains.chain(max(errors, key=errors.__getitem__)).map_model
    test = benchmark.test
    rigged = replace(
        benchmark, tests={"test": _with_output(test, worst.simulate(test.u, test.y[:10]))}
    )
    rows = []
    for data in (benchmark, rigged):
        monkeypatch.setattr(Case, "benchmark", lambda case, plan, data=data: data)
        rows.append(run_study(plan).rows[0])
    assert rows[0].selected_chain == rows[1].selected_chain == fitted.selected.chain_numbers[0]
    assert rows[0].validation == rows[1].validation
    assert rows[0].parameters == rows[1].parameters
    assert rows[0].score() != rows[1].score()


def test_fitting_and_selecting_cannot_reach_the_test_set() -> None:
    class Locked(dict):
        def refuse(self, *arguments: object) -> object:
            raise AssertionError("the test set was looked at")

        __getitem__ = __iter__ = __len__ = __contains__ = refuse
        get = items = values = keys = refuse

    with pytest.raises(AssertionError, match="looked at"):
        next(iter(Locked()))
    benchmark = replace(datasets.academic(0), tests=Locked())
    short = replace(find_case("academic").setups(ACADEMIC)[0], samples=60)
    studies._fit(ACADEMIC, short, benchmark, lambda snapshot: None)


def test_a_setup_that_cannot_be_run_becomes_a_row_that_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    good = replace(find_case("academic").setups(ACADEMIC)[0], samples=500)
    bad = replace(good, max_lag=5000, method="too long")
    monkeypatch.setattr(Case, "setups", lambda case, plan: (bad, good))
    found = run_study(ACADEMIC)
    assert [bool(row.error) for row in found.rows] == [True, False]
    assert "5000" in found.rows[0].error
    (warning,) = warnings_of(found)
    assert "too long" in warning
    assert sheets(found)[0].rows[0][2] == "failed"
    facts = json.loads(json.dumps(describe(found), allow_nan=False))
    assert list(facts["failed"]) == ["too long, λ_t = 5"]
    files = study_files(found)
    assert "could not be run" in files["index.html"]


def _numbers(study: Study) -> dict[str, Any]:
    """All that came of a study, but for seconds."""
    facts = json.loads(json.dumps(describe(study)))
    del facts["timing"]
    for record in facts["scores"]:
        del record["seconds_per_chain"]
    return facts


def test_a_study_that_is_stopped_goes_on_from_its_checkpoint(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    short = tuple(replace(s, samples=3000) for s in find_case("academic").setups(ACADEMIC))
    monkeypatch.setattr(Case, "setups", lambda case, plan: short)

    def stop_in_the_second(step: Step) -> None:
        if step.number == 1:
            raise KeyboardInterrupt

    stopped = run_study(ACADEMIC, stop_in_the_second, tmp_path / "kept")
    assert not stopped.is_complete
    seconds = stopped.rows[0].seconds
    found = run_study(ACADEMIC, checkpoint=tmp_path / "kept")
    assert _numbers(found) == _numbers(run_study(ACADEMIC))
    assert found.rows[0].seconds == seconds  # of the fit, not of reading it again
    with pytest.raises(AdjoinError, match="seed was 0 and is 1"):
        run_study(replace(ACADEMIC, seed=1), checkpoint=tmp_path / "kept")
    (tmp_path / "kept" / "setup-0.chain.1.arrays").write_bytes(b"damaged")
    with pytest.raises(AdjoinError, match="is damaged"):
        run_study(ACADEMIC, checkpoint=tmp_path / "kept")


def test_what_is_stopped_keeps_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = iter([academic_study().rows[0]])

    def stop_at_the_second(*arguments: object) -> Row:
        for row in rows:
            return row
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "_run", stop_at_the_second)
    found = run_study(ACADEMIC)
    assert not found.is_complete
    assert len(found.rows) == 1
    assert "stopped after 1 of 2 setups" in warnings_of(found)[0]
    with pytest.raises(KeyboardInterrupt):
        run_study(ACADEMIC)


def test_watchers_hear_of_every_setup_from_its_start_to_its_row() -> None:
    steps = []
    run_study(replace(ACADEMIC, chains=1), steps.append)
    assert [step.number for step in steps if step.row is not None] == [0, 1]
    first = [step for step in steps if step.number == 0]
    assert first[0].share == 0.0
    assert all(a.share <= b.share for a, b in pairwise(first))
    assert max(step.share for step in first[:-1]) == 1.0


def test_what_the_documentation_shows_is_what_comes_out() -> None:
    """The case that takes seconds; its page was made by the same command, a row per setup."""
    page = (ROOT / "docs" / "cases" / "academic" / "index.md").read_text(encoding="utf-8")
    found = run_study(Plan("academic", ("prediction",)))
    for row in sheets(found)[0].rows:
        assert f"| {' | '.join(row)} |" in page
