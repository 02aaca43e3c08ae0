"""Running a case: the test set is looked at last, and what fails is said and not lost."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from adjoin import datasets
from adjoin.cases import study as studies
from adjoin.cases import words
from adjoin.cases.outputs import study_files, study_page
from adjoin.cases.records import describe, parameter_records, score_records
from adjoin.cases.setups import Plan
from adjoin.cases.study import Row, Study, run_study
from adjoin.cases.tables import sheets
from adjoin.cases.words import command_of, findings, warnings_of
from adjoin.data.dataset import Dataset, Record

ROOT = Path(__file__).parents[2]
PLAN = Plan("academic", ("osa",), (5.0,), chains=2, n_jobs=1)


@cache
def study() -> Study:
    """The academic case, one step ahead, λ_t = 5."""
    return run_study(PLAN)


def _with_output(data: Dataset, y: np.ndarray) -> Dataset:
    return replace(data, records=(Record(data.records[0].inputs, y),))


def test_the_truth_is_found_scored_and_counted() -> None:
    found = study()
    assert found.is_complete
    assert not found.failed
    for row in found.rows:
        assert row.n_recovered == row.n_chains == 2
        assert 0.9 < row.mass <= 1.0
        assert row.n_terms == 3.0
        for predictor in ("selected map", "selected fwd", "pooled map", "pooled fwd"):
            assert 0.9 < row.score(predictor).nmse < 1.3  # the noise alone makes 1.1
        assert 0.9 < row.coverage <= row.coverage_3_sigma <= 1.0
        assert row.seconds > 0.0
        assert [p.term for p in row.parameters] == ["u(k-1)", "u(k-5)^3", "y(k-1)", "noise"]
        assert all(p.is_inside for p in row.parameters[:3])


def test_the_selected_map_score_is_that_of_its_equation() -> None:
    from adjoin import Model
    from adjoin.scores import nmse

    row, test = study().rows[0], datasets.academic(0).test
    run = Model.parse(row.equation).simulate(test.u, test.y[:10])
    assert row.score().nmse == pytest.approx(nmse(test.y[10:], run[10:]), rel=1e-3)
    assert row.series.n_seed == 10


def test_selection_never_sees_the_test_set(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short chains end at different models; the test set is made the run of one not selected."""
    short = replace(PLAN.setups[0], samples=60)
    plan = replace(PLAN, chains=4)
    benchmark = datasets.academic(0)
    monkeypatch.setattr(Plan, "setups", (short,))
    fitted = studies._fit(plan, short, benchmark, lambda snapshot: None)
    errors = fitted.every.validation_errors(benchmark.validation)
    assert len(set(errors.values())) > 1
    assert fitted.validation == pytest.approx(min(errors.values()), rel=2e-3)
    worst = fitted.every.chain(max(errors, key=errors.__getitem__)).map_model
    test = benchmark.test
    rigged = replace(
        benchmark, tests={"test": _with_output(test, worst.simulate(test.u, test.y[:10]))}
    )
    rows = []
    for data in (benchmark, rigged):
        monkeypatch.setattr(Plan, "benchmark", lambda self, data=data: data)
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
    short = replace(PLAN.setups[0], samples=60)
    studies._fit(PLAN, short, benchmark, lambda snapshot: None)


def test_a_setup_that_cannot_be_run_becomes_a_row_that_says_why(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bad = replace(PLAN.setups[0], max_lag=5000, method="too long")
    monkeypatch.setattr(Plan, "setups", (bad, replace(PLAN.setups[0], samples=500)))
    found = run_study(replace(PLAN))  # a plan of its own: it keeps its setups
    assert [bool(row.error) for row in found.rows] == [True, False]
    assert "5000" in found.rows[0].error
    (warning,) = warnings_of(found)
    assert "too long" in warning
    assert sheets(found)[0].rows[0][2] == "failed"
    facts = json.loads(json.dumps(describe(found), allow_nan=False))
    assert list(facts["failed"]) == ["too long, λ_t = 5"]
    files = study_files(found)
    assert "could not be run" in files["index.html"]


def test_what_is_stopped_keeps_its_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = iter([study().rows[0]])

    def stop_at_the_second(*arguments: object) -> Row:
        for row in rows:
            return row
        raise KeyboardInterrupt

    monkeypatch.setattr(studies, "_run", stop_at_the_second)
    found = run_study(PLAN)
    assert not found.is_complete
    assert len(found.rows) == 1
    assert "stopped after 1 of 2 setups" in warnings_of(found)[0]
    with pytest.raises(KeyboardInterrupt):
        run_study(PLAN)


def test_watchers_hear_of_every_setup_from_its_start_to_its_row() -> None:
    steps = []
    run_study(replace(PLAN, chains=1), steps.append)
    assert [step.number for step in steps if step.row is not None] == [0, 1]
    first = [step for step in steps if step.number == 0]
    assert first[0].share == 0.0
    assert all(a.share <= b.share for a, b in pairwise(first))
    assert max(step.share for step in first[:-1]) == 1.0


def test_the_paper_s_figures_stand_beside_ours() -> None:
    scores, facts, parameters = sheets(study())
    heads = [(column.group, column.title) for column in scores.columns]
    assert heads[2:4] == [("selected", "MAP"), ("selected", "paper")]
    assert [row[3] for row in scores.rows] == ["1.154", "1.154"]
    assert [column.is_theirs for column in scores.columns] == [False] * 2 + [False, True] * 4
    assert facts.rows[0][2:6] == ["2/2", "4/4", f"{study().rows[0].mass:.3f}", "0.987"]
    assert parameters.rows[0][-2:] == ["0.5024", "[+0.4847, +0.5196]"]
    assert all(len(row) == len(sheet.columns) for sheet in sheets(study()) for row in sheet.rows)


def test_other_term_rates_have_no_figure_of_the_paper() -> None:
    other = replace(study(), plan=replace(PLAN, term_rates=(3.0,)))
    rows = tuple(replace(row, setup=replace(row.setup, expected_terms=3.0)) for row in study().rows)
    scores, _, parameters = sheets(replace(other, rows=rows))
    assert "paper" not in [column.title for column in scores.columns]
    assert {tuple(row[-2:]) for row in parameters.rows} == {("–", "–")}


def test_records_are_plain_and_complete() -> None:
    records = score_records(study(), study().rows)
    assert len(records) == 2
    assert records[0]["selected_map_nmse_percent"] == study().rows[0].score().nmse
    assert records[0]["paper_selected_map_nmse_percent"] == 1.154
    assert records[0]["paper_n_recovered_of_4"] == 4
    json.dumps([records, parameter_records(study())], allow_nan=False)
    assert {record["holds_truth"] for record in parameter_records(study())} <= {True, False, None}


def test_findings_say_what_was_found_and_what_the_paper_has() -> None:
    said = [finding.short for finding in findings(study())]
    assert "OSA, paper's prior: the true equation in 2 of 2 chains; the paper: 4 of 4" in said
    for method in ("OSA, paper's prior", "OSA, default prior"):
        assert f"{method}: 3 of 3 intervals of 95 % hold the true coefficient" in said
    missed = replace(study().rows[0].parameters[0], truth=9.0)
    rows = (replace(study().rows[0], parameters=(missed,)), study().rows[1])
    levels = {f.short: f.level for f in findings(replace(study(), rows=rows))}
    assert levels["OSA, paper's prior: 0 of 1 intervals of 95 % hold the true coefficient"] == (
        "caution"
    )
    assert {finding.level for finding in findings(study())} == {"good"}
    worse = tuple(replace(row, n_recovered=0) for row in study().rows)
    assert findings(replace(study(), rows=worse))[0].level == "poor"


def test_the_page_is_one_file_with_every_table_and_picture() -> None:
    files = study_files(study(), "folder")
    assert list(files)[-1] == "index.html"  # whoever sees it finds the rest
    page = files["index.html"]
    assert page.count("<svg") == 2 * sum(name.endswith(".png") for name in files)
    assert all(content[:4] == b"\x89PNG" for name, content in files.items() if "png" in name)
    for sheet in sheets(study()):
        assert sheet.title in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://www.w3.org/", "")
    assert "--out folder" in page
    assert "prefers-color-scheme: dark" in page
    assert "official.csv" not in files


def test_names_from_outside_cannot_break_the_page() -> None:
    ugly = replace(study(), plan=replace(PLAN, data=None))
    rows = tuple(replace(row, error="<b>&\"'</b>") for row in study().rows)
    page = study_files(replace(ugly, rows=rows), "<i>")["index.html"]
    assert "<b>&" not in page
    assert "<i>" not in page


def test_the_command_makes_the_same_plan_again() -> None:
    plan = Plan("silverbox", ("osa",), (1.0, 20.0), chains=3, is_quick=True, seed=4)
    assert command_of(plan, "here") == (
        "adjoin case silverbox --objective osa --lambda-t 1,20 --chains 3 --quick --seed 4"
        " --out here"
    )
    assert study_page(study()).command.startswith("adjoin case academic --objective osa")
    odd = Plan("waves", ("osa",), (1.23456789,), data=Path("my data/a b.csv"))
    assert "--lambda-t 1.23456789 " in command_of(odd)
    assert command_of(odd, "a b").endswith("--data 'my data/a b.csv' --out 'a b'")


def test_the_best_setup_is_chosen_by_validation_whatever_the_test_says() -> None:
    first, second = study().rows
    worse = {"test": dict.fromkeys(first.scores["test"], studies.Score(99.0, 9.0))}
    rows = (replace(first, validation=1.0), replace(second, validation=0.5, scores=worse))
    found = replace(study(), rows=rows)
    assert found.best() is rows[1]
    assert found.best("abc") is None
    assert replace(found, rows=(rows[0], replace(rows[1], error="no"))).best() is rows[0]


@pytest.mark.parametrize(
    ("errors", "level"),
    [
        ((0.3e-3, 0.25e-3, 0.22e-3), "good"),
        ((0.3e-3, 0.26e-3, 0.22e-3), "caution"),
        ((0.3e-3, 0.25e-3, None), "poor"),
        ((None, 0.26e-3, 0.22e-3), "poor"),
    ],
)
def test_the_official_split_is_as_good_as_the_worst_of_its_three_numbers(
    errors: tuple[float | None, ...], level: str
) -> None:
    tests = ("arrow full", "arrow no-extrapolation", "multisine")
    scores = {
        name: {"selected map": studies.Score(error, error)}
        for name, error in zip(tests, errors, strict=True)
    }
    row = replace(study().rows[0], scores=scores)
    (found,) = words._official(replace(study(), official_rows=(row,)))
    assert found.level == level


@cache
def sea() -> Study:
    """The waves, one step ahead, λ_t = 5."""
    return run_study(Plan("waves", ("osa",), (5.0,), chains=2, n_jobs=1))


def _astray(row: Row) -> Row:
    """As if the free run of its selected chain had diverged on the test set."""
    name = next(iter(row.scores))
    scores = {**row.scores[name], "selected map": studies.Score(None, None)}
    return replace(row, scores={**row.scores, name: scores})


def test_divergence_on_the_test_set_is_said_and_chooses_nothing() -> None:
    best = min(sea().rows, key=lambda row: row.validation)
    assert best.setup.number > 1
    rows = tuple(_astray(row) if row is best else row for row in sea().rows)
    found = replace(sea(), rows=rows)
    assert found.best().setup is best.setup
    said = {finding.short: finding for finding in findings(found)}
    (gain,) = (said[short] for short in said if short.startswith("The grey box"))
    assert gain.level == "poor"
    assert "diverges against" in gain.short
    assert gain.reason.startswith(best.setup.label)
    (lean,) = (said[short] for short in said if short.startswith("One-step fits"))
    assert (lean.level, lean.short) == ("poor", "One-step fits: the free run diverges")
    assert sheets(found)[-1].rows[-2][-1] == "diverges"
    assert json.loads(json.dumps(describe(found), allow_nan=False))["literature"]


def test_draws_that_diverge_are_counted_on_the_page() -> None:
    rows = tuple(replace(row, diverged=0.6, pooled_diverged=0.25) for row in study().rows)
    (first, _) = warnings_of(replace(study(), rows=rows))
    assert "60.0 % of the selected chain's draws diverge" in first
    assert "25.0 % of all chains'" in first
    files = study_files(replace(study(), rows=rows))
    for name in ("index.html", "index.md"):
        assert "60.0 %" in files[name]


def test_the_silverbox_s_findings_count_what_diverges_and_name_the_paper_s_figures() -> None:
    """With the rows of another case: only their errors matter."""
    plan = Plan("silverbox", ("osa",), (5.0,), chains=2)
    setups = [s for s in plan.setups if s.method == "OSA, default prior"] * 2
    scores = {
        "arrow full": dict.fromkeys(study().rows[0].scores["test"], studies.Score(1e-3, 3e-4))
    }
    rows = tuple(
        replace(row, setup=setup, scores=scores)
        for row, setup in zip(study().rows, setups, strict=True)
    )
    found = replace(study(), plan=plan, rows=rows)
    first = next(words._silverbox(found))
    assert (first.level, first.short) == ("good", "Default prior: 0.300 mV, 3 terms")
    assert first.reason == "the paper: 0.397 mV, 20 terms"
    one = next(words._silverbox(replace(found, rows=(rows[0], _astray(rows[1])))))
    assert (one.level, one.short) == ("poor", "Default prior: 0.300 mV, 3 terms; 1 of 2 diverge")
    every = list(words._silverbox(replace(found, rows=tuple(map(_astray, rows)))))
    assert "diverges on the full arrow" in every[1].short


def test_what_is_kept_has_no_posterior() -> None:
    kept, learned = (row for row in sea().rows if row.setup.number > 1)
    records = {(record["method"], record["term"]): record for record in parameter_records(sea())}
    for term in ("u(k)*abs(u(k))", "udot(k)"):
        own = records[kept.setup.method, term]
        assert (own["sd"], own["q025"], own["holds_truth"]) == (None, None, None)
        assert records[learned.setup.method, term]["holds_truth"] in (True, False)
    assert records[learned.setup.method, "noise"]["truth"] is None


def test_reasons_speak_of_what_was_run() -> None:
    assert "luck" not in " ".join(words.why(PLAN))
    assert "luck" in " ".join(words.why(replace(PLAN, objectives=("osa", "abc"))))
    assert "In this sea" in " ".join(words.why(sea().plan))
    assert "In this sea" not in " ".join(words.why(replace(sea().plan, data=Path("own.csv"))))


def test_intervals_count_where_they_are_given_the_true_structure() -> None:
    rows = tuple(replace(row, is_given_truth=False) for row in study().rows)
    assert all(row.is_given_truth for row in study().rows)
    assert not any("intervals" in f.short for f in findings(replace(study(), rows=rows)))


def test_waves_are_called_synthetic_and_held_against_the_white_box() -> None:
    found = sea()
    assert not found.failed
    assert "synthetic" in words.title_of(found.plan)
    assert "synthetic" in warnings_of(found)[0]
    assert 18.0 < found.white_box[1].nmse < 21.0
    scores, facts, constants, others = sheets(found)
    white = scores.rows[0]
    assert white[2:4] == [f"{found.white_box[1].nmse:.2f}", "19.46"]
    assert [column.title for column in scores.columns[2:4]] == ["MAP", "paper"]
    for row, cells in zip(found.rows, facts.rows, strict=True):
        share = row.score().nmse / found.white_box[1].nmse - 1.0
        assert cells[2] == f"{100.0 * share:+.0f} %".replace("-", "−")
    assert [cells[2] for cells in constants.rows] == ["Cd' of u(k)*abs(u(k))", "Cm' of udot(k)"]
    assert others.rows[-1][1] == "synthetic waves, seed 0"
    assert {len(row) for row in others.rows} == {3}


def test_a_free_run_case_has_its_tables_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few samples: what comes of them does not matter here."""
    plan = Plan("academic", ("abc",), (5.0,), chains=1, n_jobs=1)
    short = tuple(replace(setup, samples=400) for setup in plan.setups)
    monkeypatch.setattr(Plan, "setups", short)
    found = run_study(replace(plan))
    assert not found.failed
    assert [row.setup.rule for row in found.rows] == ["paper", "default"]
    scores, facts, parameters = sheets(found)
    assert [row[0] for row in scores.rows] == ["free run, paper's rule", "free run, default rule"]
    assert facts.rows[0][-1] == "0.71 h"
    noise = [cells for cells in parameters.rows if cells[1] == "σ"]
    assert [cells[4] for cells in noise] == ["–", "–"]  # implied by the tolerance: no interval
    said = " ".join(finding.short for finding in findings(found))
    assert "of 1 chains; the paper: 1 of 4" in said


def test_what_the_documentation_shows_is_what_comes_out() -> None:
    """The case that takes seconds; its page was made by the same command, a row per setup."""
    page = (ROOT / "docs" / "cases" / "academic" / "index.md").read_text(encoding="utf-8")
    found = run_study(Plan("academic", ("osa",)))
    for row in sheets(found)[0].rows:
        assert f"| {' | '.join(row)} |" in page


@pytest.mark.parametrize("height", [1e4, 1e80, 1e200, np.inf, np.nan])
def test_what_runs_away_has_no_score(height: float) -> None:
    """One draw of a hundred that is about to diverge makes a mean like this."""
    test = datasets.academic(0).test
    run = test.y.copy()
    run[-1] = height
    assert studies._score(test, run, 10) == studies.Score(None, None)
    run[-1] = 10.0 * test.y.std()
    assert studies._score(test, run, 10).nmse > 1.0
