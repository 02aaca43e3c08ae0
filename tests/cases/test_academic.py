"""The academic case: its settings, the figures of its tables, and what it finds."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.cases.studies import ACADEMIC, academic_study

from adjoin.cases.academic import CASE, PARAMETERS, SCORES
from adjoin.cases.case import Case
from adjoin.cases.plain_values import score_records
from adjoin.cases.setups import Plan
from adjoin.cases.study import run_study
from adjoin.cases.tables import sheets
from adjoin.cases.words import findings


def test_the_academic_case_has_the_paper_s_settings_for_every_term_rate() -> None:
    setups = CASE.setups(Plan("academic"))
    assert len(setups) == 5 * 3
    assert {s.max_lag for s in setups} == {10}
    assert {(s.objective, s.samples) for s in setups} == {
        ("prediction", 30_000),
        ("simulation", 10_000),
        ("abc", 60_000),
    }
    for objective in ("prediction", "abc"):
        chosen = [s for s in setups if s.objective == objective and s.prior == "paper"]
        assert [s.expected_terms for s in chosen] == [1.0, 5.0, 20.0]
        assert {s.rule for s in chosen} == {"paper" if objective == "abc" else "default"}


def test_every_objective_and_term_rate_of_table_1_is_there() -> None:
    keys = {
        (objective, rate, 0) for objective in ("prediction", "abc") for rate in (1.0, 5.0, 20.0)
    }
    assert set(SCORES) == keys


@pytest.mark.parametrize(
    ("key", "values"),
    [
        (("prediction", 1.0), (1.154, 1.166, 1.154, 1.160, 0.04, 3, 0.747)),
        (("prediction", 5.0), (1.154, 1.166, 1.154, 1.165, 0.03, 4, 0.987)),
        (("prediction", 20.0), (1.155, 1.168, 1.155, 1.174, 0.05, 3, 0.678)),
        (("abc", 1.0), (3.218, 2.667, 4.046, 2.165, 0.64, 0, 0.0)),
        (("abc", 5.0), (1.154, 1.164, 3.173, 1.748, 0.71, 1, 0.254)),
        (("abc", 20.0), (1.159, 1.171, 1.156, 1.445, 0.83, 1, 0.228)),
    ],
)
def test_table_1_is_as_printed(key: tuple[str, float], values: tuple[float, ...]) -> None:
    row = SCORES[(*key, 0)]
    assert (row.selected_map, row.selected_fwd, row.pooled_map, row.pooled_fwd) == values[:4]
    assert (row.hours, row.n_recovered, row.mass) == values[4:]


def test_the_paper_s_intervals_hold_the_true_coefficients() -> None:
    truth = {"u(k-1)": 0.5, "u(k-5)^3": -0.3, "y(k-1)": 0.3}
    for (_, _, term), printed in PARAMETERS.items():
        if term in truth:
            assert printed.low < truth[term] < printed.high
            assert printed.low < printed.mean < printed.high


def test_findings_say_what_was_found_and_what_the_paper_has() -> None:
    said = [finding.short for finding in findings(academic_study())]
    assert "OSA, paper's prior: the true equation in 2 of 2 chains; the paper: 4 of 4" in said
    for method in ("OSA, paper's prior", "OSA, default prior"):
        assert f"{method}: 3 of 3 intervals of 95 % hold the true coefficient" in said
    missed = replace(academic_study().rows[0].parameters[0], truth=9.0)
    rows = (replace(academic_study().rows[0], parameters=(missed,)), academic_study().rows[1])
    levels = {f.short: f.level for f in findings(replace(academic_study(), rows=rows))}
    assert levels["OSA, paper's prior: 0 of 1 intervals of 95 % hold the true coefficient"] == (
        "caution"
    )
    assert {finding.level for finding in findings(academic_study())} == {"good"}
    worse = tuple(replace(row, n_recovered=0) for row in academic_study().rows)
    assert findings(replace(academic_study(), rows=worse))[0].level == "poor"


def test_intervals_count_where_they_are_given_the_true_structure() -> None:
    rows = tuple(replace(row, is_given_truth=False) for row in academic_study().rows)
    assert all(row.is_given_truth for row in academic_study().rows)
    assert not any("intervals" in f.short for f in findings(replace(academic_study(), rows=rows)))


def test_other_term_rates_have_no_figure_of_the_paper() -> None:
    other = replace(academic_study(), plan=replace(ACADEMIC, term_rates=(3.0,)))
    rows = tuple(
        replace(row, setup=replace(row.setup, expected_terms=3.0)) for row in academic_study().rows
    )
    scores, _, parameters = sheets(replace(other, rows=rows))
    assert "paper" not in [column.title for column in scores.columns]
    assert {tuple(row[-2:]) for row in parameters.rows} == {("–", "–")}


def test_a_free_run_case_has_its_tables_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """With few samples: what comes of them does not matter here."""
    plan = Plan("academic", ("abc",), (5.0,), chains=1, n_jobs=1)
    short = tuple(replace(setup, samples=400) for setup in CASE.setups(plan))
    monkeypatch.setattr(Case, "setups", lambda case, plan: short)
    found = run_study(plan)
    assert not found.failed
    assert [row.setup.rule for row in found.rows] == ["paper", "default"]
    scores, facts, parameters = sheets(found)
    assert [row[0] for row in scores.rows] == ["ABC, paper's rule", "ABC, default rule"]
    assert facts.rows[0][-1] == "0.71 h"
    noise = [cells for cells in parameters.rows if cells[1] == "σ"]
    assert [cells[4] for cells in noise] == ["–", "–"]  # implied by the tolerance: no interval
    said = " ".join(finding.short for finding in findings(found))
    assert "of 1 chains; the paper: 1 of 4" in said


def test_a_simulation_case_has_the_noise_s_interval_and_no_figure_of_the_paper(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = Plan("academic", ("output-error",), (5.0,), chains=1, n_jobs=1)
    short = tuple(replace(setup, samples=400) for setup in CASE.setups(plan))
    monkeypatch.setattr(Case, "setups", lambda case, plan: short)
    found = run_study(plan)
    assert not found.failed
    scores, _, parameters = sheets(found)
    assert [row[0] for row in scores.rows] == ["simulation"]
    assert "paper" not in [column.title for column in scores.columns]
    noise = found.rows[0].parameters[-1]
    assert noise.low < noise.mean < noise.high
    assert noise.truth == found.benchmark.noise_sd
    assert "–" not in parameters.rows[-1][:6]
    (record,) = score_records(found, found.rows)
    assert (record["noise"], record["likelihood_power"], record["rule"]) == ("white", 1.0, None)
    said = " ".join(finding.short for finding in findings(found))
    assert "Simulation: the true equation in" in said
