"""The waves: its settings, the figures of its table, and physics held against data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from tests.cases.studies import astray, wave_study

from adjoin.cases.plain_values import describe, parameter_records
from adjoin.cases.setups import Plan
from adjoin.cases.tables import sheets
from adjoin.cases.waves import CASE, RECORDS, SCORES, WHITE_BOX
from adjoin.cases.words import findings, warnings_of


def test_the_waves_have_three_methods_for_each_objective() -> None:
    setups = CASE.setups(Plan("waves", term_rates=(20.0,)))
    assert [(s.number, s.objective) for s in setups] == [
        (n, objective) for n in (1, 2, 3) for objective in ("prediction", "simulation", "abc")
    ]
    assert [s.initial_mode for s in setups[::3]] == [None, "residual", "joint"]
    black, _, grey = (s.identifier("u(k)", 2, 0) for s in setups[::3])
    assert black.initial is None
    assert (grey.initial, grey.initial_mode) == ("u(k)", "joint")


def test_the_records_agree_with_the_table_they_repeat() -> None:
    values = [result.value for result in RECORDS]
    assert values[0] == WHITE_BOX == 19.463
    assert values[1:4] == [SCORES["abc", 20.0, n].selected_map for n in (1, 2, 3)]
    assert values[1:4] == [16.73, 14.6, 13.73]


def test_waves_are_called_synthetic_and_held_against_the_white_box() -> None:
    found = wave_study()
    assert not found.failed
    assert "synthetic" in CASE.title_of(found.plan)
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


def test_methods_are_held_against_the_white_box_and_one_that_diverges_is_named() -> None:
    first = findings(wave_study())[1]
    assert first.level == "good"
    assert first.short.startswith("One step ahead, error against the white box's: −")
    assert "methods 1 (black box), 2 (residual), 3 (grey-box TAG); λ_t = 5, 5, 5" in first.reason
    assert "3 of 3 setups are below" in first.reason
    rows = tuple(astray(row) if row.setup.number == 2 else row for row in wave_study().rows)
    lost = findings(replace(wave_study(), rows=rows))[1]
    assert (lost.level, "diverges, −" in lost.short) == ("poor", True)
    assert "2 of 3 setups are below" in lost.reason


def test_divergence_on_the_test_set_is_said_and_chooses_nothing() -> None:
    grey = [row for row in wave_study().rows if row.setup.number > 1]
    best = min(grey, key=lambda row: row.validation)
    others = [replace(row, validation=2.0 * best.validation) for row in wave_study().rows]
    rows = tuple(
        astray(row) if row is best else other
        for row, other in zip(wave_study().rows, others, strict=True)
    )
    found = replace(wave_study(), rows=rows)
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


def test_what_is_kept_has_no_posterior() -> None:
    kept, learned = (row for row in wave_study().rows if row.setup.number > 1)
    records = {
        (record["method"], record["term"]): record for record in parameter_records(wave_study())
    }
    for term in ("u(k)*abs(u(k))", "udot(k)"):
        fixed = records[kept.setup.method, term]
        assert (fixed["sd"], fixed["q025"], fixed["holds_truth"]) == (None, None, None)
        assert records[learned.setup.method, term]["holds_truth"] in (True, False)
    assert records[learned.setup.method, "noise"]["truth"] is None


def test_a_user_s_record_is_not_called_synthetic_and_has_no_known_unit() -> None:
    own = Plan("waves", data=Path("own.csv"))
    assert "synthetic" not in CASE.title_of(own)
    assert CASE.warnings(own) == ()
    assert (CASE.unit_of(own), CASE.unit_of(Plan("waves"))) == ("", "kN/m")
