"""With test data, the verdict on a comparison begins with them, and the worse level counts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from tests.exchange.test_stored_discovery import discovered
from tests.report.drawn import compared, tried_row

from adjoin import Dataset
from adjoin.results.advice import Verdict
from adjoin.results.answers import Answer
from adjoin.results.assessment import assess
from adjoin.results.compared import judge
from adjoin.results.scoring import Errors
from adjoin.results.tested import judge_test

CHOSEN = tried_row("posterior", 9, 8.0, chosen=True)
SAMPLED = compared(CHOSEN | {"settings": CHOSEN["settings"] | {"sampled": "white"}})


def judged(missed: float | None, own: str = "good", trusted: str = "good") -> Verdict:
    errors = Errors(None if missed is None else 1.0, missed, None)
    part = SimpleNamespace(words="new.csv", scores=SimpleNamespace(free_run=errors))
    answer = Answer(trusted, "No: most draws run away", ())
    # How chains agree counts where a posterior of structures was chosen.
    agreement = "good" if own == "good" else "poor"
    return judge(SAMPLED, Verdict("good", "", (), (), ()), (), agreement, judge_test(part, answer))


@pytest.mark.parametrize(
    ("missed", "level", "summary"),
    [
        (0.4, "good", "it simulates new.csv: 99.6 % of the variance explained"),
        (38.7, "caution", "it simulates new.csv in part: 61 % of the variance explained"),
        (80.0, "poor", "it does not simulate new.csv: 80 % of the variance missed"),
        (None, "poor", "it does not simulate new.csv: it runs away"),
    ],
)
def test_the_test_is_what_the_verdict_begins_with(
    missed: float | None, level: str, summary: str
) -> None:
    found = judged(missed)
    held_out = " (held-out data: 92.0 % explained)"
    assert (found.level, found.summary) == (level, summary + held_out)


def test_a_good_test_does_not_make_up_for_a_poor_comparison() -> None:
    doubted = judged(0.4, own="caution")
    assert doubted.level == "caution"
    assert doubted.summary.startswith("it simulates new.csv: 99.6 %")
    assert doubted.summary.endswith("; the chains have not converged")
    assert judged(0.4, trusted="caution").level == "good"
    assert judged(0.4, trusted="poor").level == "poor"
    assert judged(0.4, trusted="poor").cause == "most draws run away"
    assert judged(0.4).cause == ""
    assert judged(38.7).cause == "it misses a part of new.csv"


def test_an_assessment_with_test_data_says_so() -> None:
    run = discovered()
    test = Dataset.from_arrays(run.data.u[::-1], run.data.y[::-1], run.data.names)
    found, alone = assess(run, test, draws=20, test_name="new.csv"), assess(run, draws=20)
    assert found.is_tested
    assert "new.csv" in found.verdict.summary
    assert "held-out data: 98.5 %" in found.verdict.summary
    assert not alone.is_tested
    assert "new.csv" not in alone.verdict.summary
