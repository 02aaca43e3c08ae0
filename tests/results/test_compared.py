"""Why a candidate was chosen: every sentence is true of the rows that stand beside it."""

from __future__ import annotations

import pytest
from tests.report.drawn import compared, tried_row

from adjoin.results.advice import Verdict
from adjoin.results.compared import answer_compared, judge, origin, why_chosen
from adjoin.results.discovered import Discovered
from adjoin.results.objections import Objection

BEST = tried_row("simulation", 25, 1.00, is_checked=True, best=True)
ONCE = tried_row("prediction", 21, 0.92)
POSTERIOR = tried_row("posterior", 27, 1.03, is_checked=True, chosen=True)
POSTERIOR["settings"] = POSTERIOR["settings"] | {"sampled": "white"}
FEWER = tried_row("prediction", 9, 1.01, is_checked=True, chosen=True)


def said(found: Discovered) -> str:
    """All that terminal, JSON and page say of the choice."""
    verdict = judge(found, Verdict("good", "", (), (), ()))
    return " ".join([*why_chosen(found), origin(found), *verdict.on_model])


def test_a_larger_posterior_is_preferred_for_what_it_says_and_not_called_simpler() -> None:
    found = compared(ONCE, BEST, POSTERIOR)
    text = said(found)
    assert "simple" not in text
    assert "fewest" not in text
    assert "1.03 ± 0.10 % of the variance with 27 terms" in text
    assert "however many terms it has" in text
    assert "at most 5 % larger" in text
    assert "1 % with 25 terms), and preferred to it, as a posterior says how sure" in text


def test_fewer_terms_are_named_with_the_rule_and_with_what_they_were_held_against() -> None:
    """The row with the smallest error had no second look, and is not the one that was beaten."""
    found = compared(ONCE, BEST, FEWER)
    text = said(found)
    assert found.best is BEST
    assert "The best of those held twice misses 1.00 ± 0.10 % of the variance with 25 terms" in text
    assert "fewest terms of those that are as good: a squared error at most 2 % larger" in text
    assert "(1 % with 25 terms), and preferred to it, as it has 9 terms" in text
    assert "1 class above it was held once only" in text
    assert answer_compared(found).reasons[0].startswith("its terms are those of one as good as")


def test_the_best_is_called_the_best_of_what_was_held_twice() -> None:
    chosen = BEST | {"chosen": True}
    text = said(compared(ONCE, chosen, FEWER | {"chosen": False}))
    assert "The best of those held twice was chosen: it misses 1.00 ± 0.10 %" in text
    assert "the best of 40 models in 2 settings after a second look" in text
    assert "fewest" not in text
    assert "1 class above it was held once only" in text
    assert "held once" not in said(compared(chosen))


def test_a_good_simulation_of_chains_that_differ_is_to_be_used_with_care() -> None:
    """Of a posterior of structures: green above two red answers contradicts itself."""
    own = Verdict("good", "", (), (), ())
    found = judge(compared(BEST, POSTERIOR), own, (), "poor")
    assert found.level == "caution"
    assert found.summary.endswith("% of the variance explained; the chains have not converged")
    assert found.cause == "the chains have not converged"
    assert judge(compared(BEST, POSTERIOR), own, (), "caution").level == "good"
    assert judge(compared(BEST, FEWER), own, (), "poor").level == "good"  # terms were given


def test_columns_that_are_wrong_are_said_before_how_well_they_simulate() -> None:
    own = Verdict("good", "", (), (), ())
    for level in ("caution", "poor"):
        wrong = Objection(level, "the columns seem to be swapped", "why", "swap them", True)
        found = judge(compared(BEST, FEWER), own, (wrong,))
        assert found.level == level
        assert found.summary.startswith("the columns seem to be swapped; it simulates")


@pytest.mark.parametrize("is_marked", [True, False])
def test_a_run_of_an_earlier_version_is_held_against_its_first_path_of_two_looks(
    is_marked: bool,
) -> None:
    rows = [dict(row) for row in (ONCE, POSTERIOR | {"chosen": False}, BEST, FEWER)]
    if not is_marked:
        for row in rows:
            del row["best"]
    assert compared(*rows).best["n_terms"] == 25


def test_others_are_counted_over_what_the_table_shows() -> None:
    """Which leaves out what was held once; that is said apart."""
    answer = answer_compared(compared(ONCE | {"words": "linear"}, BEST, FEWER))
    assert answer.short.startswith("No: others")
    assert answer.reasons[1].startswith("one other setting has")
    assert answer.reasons[2].startswith("1 more was held once only")
    alone = answer_compared(compared(ONCE | {"words": "linear"}, FEWER | {"best": True}))
    assert alone.short == "The best of what was tried"
    assert alone.reasons[1].startswith("no other setting has")


def test_two_sizes_of_one_class_are_one_setting() -> None:
    found = compared(BEST, BEST | {"n_terms": 9, "best": False, "chosen": True})
    assert found.n_settings == 1
    assert "no other setting has" in answer_compared(found).reasons[1]
