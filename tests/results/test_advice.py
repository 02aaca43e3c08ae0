"""The verdict: the simulation decides, and the chains take away."""

from __future__ import annotations

import pytest
from tests.results.runs import HELD_OUT, POOR, TRUE, made

from adjoin.results.advice import make_verdict
from adjoin.results.answers import Answer
from adjoin.results.assessment import assess


def judged(free_run: str, chains: str, residuals: str = "good", n_chains: int = 4):
    """The verdict where these are the levels."""
    return make_verdict(
        Answer(free_run, "x", ("of the run",), "the simulation does"),
        Answer(residuals, "x", ("of what is left", "more")),
        {"level": chains, "reasons": ["of the chains"], "advice": ["draw more"]},
        n_chains,
        steps=("mend the run: adjoin fit rig.csv",),
    )


@pytest.mark.parametrize(
    ("free_run", "chains", "level"),
    [
        ("good", "good", "good"),
        ("good", "caution", "caution"),
        ("good", "poor", "caution"),
        ("caution", "good", "caution"),
        ("caution", "poor", "caution"),
        ("poor", "good", "poor"),
        ("poor", "poor", "poor"),
    ],
)
def test_the_free_run_decides_and_chains_take_away(free_run: str, chains: str, level: str) -> None:
    assert judged(free_run, chains).level == level


def test_what_decided_is_known_where_the_verdict_is_not_good() -> None:
    assert judged("good", "good").cause == ""
    assert judged("good", "poor").cause == "the chains have not converged"
    assert judged("caution", "good").cause == "x"


def test_the_free_run_speaks_first() -> None:
    verdict = judged("poor", "good", "caution")
    assert verdict.summary == "the simulation does; the chains agree"
    assert verdict.reasons == ("of the run", "of what is left", "of the chains")
    assert verdict.next == ("mend the run: adjoin fit rig.csv",)
    assert verdict.plain == {
        "level": "poor",
        "summary": verdict.summary,
        "reasons": list(verdict.reasons),
        "next": list(verdict.next),
        "settled": [],
    }
    assert judged("good", "good").reasons == ("of the run", "of the chains")


def test_one_chain_is_said_to_be_alone() -> None:
    assert judged("good", "caution", n_chains=1).summary.endswith("; there is one chain only")


def test_chains_that_agree_on_a_bad_model_are_no_good_verdict() -> None:
    found = assess(made([[POOR] * 40] * 4, held_out=HELD_OUT), draws=20)
    assert found.diagnostics["chains_agree_on_mode"]
    assert found.verdict.level == "poor"
    assert found.verdict.summary.startswith(
        "what is left still follows u; the simulation cannot be trusted: it misses more than"
    )
    assert found.diagnostics["verdict"]["level"] == "poor"
    good = assess(made([[TRUE] * 40] * 4, held_out=HELD_OUT), draws=200)
    assert good.verdict.summary.startswith("the simulation holds on the validation data; ")
