"""Rows and studies: validation chooses, and what is relative to nothing is nothing."""

from __future__ import annotations

from dataclasses import replace

from tests.cases.studies import academic_study, astray, wave_study

from adjoin import Model
from adjoin.cases.outcome import best_by_validation, coefficients_by_term
from adjoin.cases.scoring import Score


def test_the_best_setup_is_chosen_by_validation_whatever_the_test_says() -> None:
    first, second = academic_study().rows
    worse = {"test": dict.fromkeys(first.scores["test"], Score(99.0, 9.0))}
    rows = (replace(first, validation=1.0), replace(second, validation=0.5, scores=worse))
    found = replace(academic_study(), rows=rows)
    assert found.best() is rows[1]
    assert found.best("abc") is None
    assert replace(found, rows=(rows[0], replace(rows[1], error="no"))).best() is rows[0]


def test_rows_are_usable_by_objective_and_grouped_by_method() -> None:
    first, second = academic_study().rows
    study = replace(academic_study(), rows=(first, replace(second, error="no")))
    assert study.usable() == study.usable("prediction") == [first]
    assert study.usable("abc") == []
    assert study.by_method() == {first.setup.method: [first]}
    assert best_by_validation([]) is None


def test_what_diverges_or_has_no_white_box_is_relative_to_nothing() -> None:
    row = wave_study().rows[0]
    assert wave_study().relative_to_white_box(row) is not None
    assert wave_study().relative_to_white_box(astray(row)) is None
    assert academic_study().relative_to_white_box(academic_study().rows[0]) is None


def test_coefficients_are_known_by_their_terms() -> None:
    model = Model.parse("y(k) = 0.6*y(k-1) - 0.5*u(k-1)^3")
    assert coefficients_by_term(model) == {"u(k-1)^3": -0.5, "y(k-1)": 0.6}
