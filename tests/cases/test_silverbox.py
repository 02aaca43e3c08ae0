"""The Silverbox: its settings, the figures of its tables, and its findings, without its data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.cases.studies import academic_study, astray

from adjoin import Prior
from adjoin.cases.scoring import Score
from adjoin.cases.setups import Plan
from adjoin.cases.silverbox import CASE, OFFICIAL, RECORDS, SCORES, official_findings

SIGMA_Y = 53.48  # mV, of the full arrow


def test_the_silverbox_has_powers_side_by_side_and_the_official_split_apart() -> None:
    plan = Plan("silverbox", term_rates=(5.0,))
    setups, official = CASE.setups(plan), CASE.official_setups(plan)
    assert {(s.objective, s.samples, s.n_train) for s in setups} == {
        ("prediction", 10_000, None),
        ("simulation", 500, 10_000),
        ("abc", 20_000, None),
    }
    assert {s.max_lag for s in setups} == {50}
    default = [s for s in setups if s.objective == "prediction" and s.prior == "default"]
    assert [s.likelihood_power for s in default] == [1.0, "auto"]
    priors = [s.prior for s in setups if isinstance(s.prior, Prior)]
    assert priors == [replace(Prior.paper(5.0), noise_scale=1e-2)]
    assert {s.objective for s in official} == {"prediction"}
    assert not set(official) & set(setups)


def test_every_objective_and_term_rate_of_table_2_is_there() -> None:
    keys = {
        (objective, rate, 0) for objective in ("prediction", "abc") for rate in (1.0, 5.0, 20.0)
    }
    assert set(SCORES) == keys


@pytest.mark.parametrize("key", SCORES)
def test_rmse_and_nmse_of_table_2_are_the_same_error(key: tuple[str, float, int]) -> None:
    row = SCORES[key]
    implied = SIGMA_Y * (row.selected_map / 100.0) ** 0.5
    # The NMSE has four decimals: half a unit of the last one, as an error of the RMSE.
    rounding = SIGMA_Y**2 * 0.5e-4 / 100.0 / (2.0 * implied)
    assert implied == pytest.approx(row.rmse_mv, abs=rounding + 1e-3)


def test_the_records_agree_with_the_tables_they_repeat() -> None:
    value = {result.method: result.value for result in RECORDS}
    for method, objective in (("the paper, OSA", "prediction"), ("the paper, MPO", "abc")):
        errors = [scores.rmse_mv for (name, _, _), scores in SCORES.items() if name == objective]
        assert value[method] == min(errors)
    for method, (full_arrow, *_) in OFFICIAL.items():
        assert value[method] == full_arrow


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
        name: {"selected_map": Score(error, error)}
        for name, error in zip(tests, errors, strict=True)
    }
    row = replace(academic_study().rows[0], scores=scores)
    (found,) = official_findings(replace(academic_study(), official_rows=(row,)))
    assert found.level == level


def test_the_silverbox_s_findings_count_what_diverges_and_name_the_paper_s_figures() -> None:
    """With the rows of another case: only their errors matter."""
    plan = Plan("silverbox", ("prediction",), (5.0,), chains=2)
    setups = [s for s in CASE.setups(plan) if s.method == "OSA, default prior"] * 2
    scores = {
        "arrow full": dict.fromkeys(academic_study().rows[0].scores["test"], Score(1e-3, 3e-4))
    }
    rows = tuple(
        replace(row, setup=setup, scores=scores)
        for row, setup in zip(academic_study().rows, setups, strict=True)
    )
    found = replace(academic_study(), plan=plan, rows=rows)
    first = next(CASE.findings(found))
    assert (first.level, first.short) == ("good", "Default prior: 0.300 mV, 3 terms")
    assert first.reason == "the paper: 0.397 mV, 20 terms"
    one = next(CASE.findings(replace(found, rows=(rows[0], astray(rows[1])))))
    assert (one.level, one.short) == ("poor", "Default prior: 0.300 mV, 3 terms; 1 of 2 diverge")
    none = list(CASE.findings(replace(found, rows=tuple(map(astray, rows)))))
    assert "diverges on the full arrow" in none[1].short


def test_an_objective_that_the_paper_lacks_is_held_against_its_best() -> None:
    plan = Plan("silverbox", ("simulation",), (5.0,), chains=2)
    (setup,) = CASE.setups(plan)
    scores = {"arrow full": {"selected_map": Score(1e-3, 3e-4)}}
    row = replace(academic_study().rows[0], setup=setup, scores=scores)
    (found,) = CASE.findings(replace(academic_study(), plan=plan, rows=(row,)))
    assert (found.level, found.short) == (
        "good",
        "Simulation, chosen by validation: 0.300 mV on the full arrow; the paper's best is 0.397",
    )


def test_a_quick_run_leaves_out_no_term_rate_that_was_asked_for() -> None:
    default = Plan("silverbox", ("abc",), is_quick=True)
    assert {s.expected_terms for s in CASE.setups(default)} == {20.0}
    asked = Plan("silverbox", ("abc",), (1.0, 5.0), is_quick=True)
    assert {s.expected_terms for s in CASE.setups(asked)} == {1.0, 5.0}
    assert not any("λ_t" in said for said in CASE.shortened(asked))
