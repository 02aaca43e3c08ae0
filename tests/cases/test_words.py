"""Words: reasons and warnings of what was run, and the command that runs it again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tests.cases.studies import ACADEMIC, academic_study, wave_study

from adjoin.cases.case import case_of
from adjoin.cases.outputs import study_files, study_page
from adjoin.cases.setups import Plan
from adjoin.cases.words import command_of, warnings_of


def test_the_command_makes_the_same_plan_again() -> None:
    plan = Plan("silverbox", ("prediction",), (1.0, 20.0), chains=3, is_quick=True, seed=4)
    assert command_of(plan, "here") == (
        "adjoin case silverbox --objective prediction --lambda-t 1,20 --chains 3 --quick --seed 4"
        " --out here"
    )
    assert study_page(academic_study()).command.startswith(
        "adjoin case academic --objective prediction"
    )
    odd = Plan("waves", ("prediction",), (1.23456789,), data=Path("my data/a b.csv"))
    assert "--lambda-t 1.23456789 " in command_of(odd)
    assert command_of(odd, "a b").endswith("--data 'my data/a b.csv' --out 'a b'")


def why(plan: Plan) -> str:
    return " ".join(case_of(plan).why(plan))


def test_reasons_speak_of_what_was_run() -> None:
    assert "luck" not in why(ACADEMIC)
    assert "luck" in why(replace(ACADEMIC, objectives=("prediction", "abc")))
    assert "In this sea" in why(wave_study().plan)
    assert "In this sea" not in why(replace(wave_study().plan, data=Path("own.csv")))


def test_draws_that_diverge_are_counted_on_the_page() -> None:
    rows = tuple(replace(row, diverged=0.6, pooled_diverged=0.25) for row in academic_study().rows)
    (first, _) = warnings_of(replace(academic_study(), rows=rows))
    assert "60.0 % of the selected chain's draws run away" in first
    assert "25.0 % of all chains'" in first
    files = study_files(replace(academic_study(), rows=rows))
    for name in ("index.html", "index.md"):
        assert "60.0 %" in files[name]


def test_chains_that_were_left_out_are_counted() -> None:
    rows = tuple(replace(row, n_chains=1) for row in academic_study().rows)
    first = warnings_of(replace(academic_study(), rows=rows))[0]
    assert "only 1 of 2 chains count" in first
    assert warnings_of(academic_study()) == []
