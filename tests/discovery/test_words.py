"""What the terminal says of a discovery."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console

from adjoin import datasets, discover
from adjoin.discovery.discovery import Discovery
from adjoin.discovery.words import print_discovery
from adjoin.results.advice import Verdict, without_steps
from adjoin.results.answers import Answer


@pytest.fixture(scope="module")
def found() -> Discovery:
    return discover(datasets.rig("linear").train[:300], max_lag=2, max_degree=1, effort="quick")


def test_it_says_whether_the_equation_is_the_only_one(found: Discovery) -> None:
    page = io.StringIO()
    print_discovery(Console(file=page, width=100), found)
    said = page.getvalue()
    assert f"unique?    {found.assessment.unique.short}" in said
    places = [said.index(word) for word in ("verdict", "next", "unique?", "\ntime ")]
    assert places == sorted(places)


def test_settings_that_were_held_once_are_said_to_be(found: Discovery) -> None:
    twice = next(one for one in found.shown if not one.setting.sampled)
    for n_once, said in ((1, "1 more setting, all held once only"), (2, "2 more settings, all")):
        some = replace(found)
        vars(some)["shown"] = [*found.shown, *[replace(twice, is_checked=False)] * n_once]
        page = io.StringIO()
        print_discovery(Console(file=page, width=100), some)
        assert said in page.getvalue()


def test_where_no_step_is_left_what_is_amiss_is_still_said() -> None:
    narrow = Answer("caution", "With care: its bands are too narrow", ())
    assert without_steps(narrow).endswith("with care (its bands are too narrow)")
    assert "nothing more" not in without_steps(narrow)
    assert without_steps(Answer("good", "Yes", ())).startswith("nothing more is asked for")


def test_nothing_more_is_asked_for_only_where_the_verdict_is_good_too() -> None:
    good = Answer("good", "Yes", ())
    reserved = Verdict("caution", "", (), (), (), (), "the chains have not converged")
    assert without_steps(good, reserved) == (
        "run it on new data, with adjoin simulate, with care (the chains have not converged)"
    )
    assert without_steps(good, Verdict("good", "", (), (), ())).startswith("nothing more is asked")


def test_who_has_tried_it_on_test_data_is_not_told_to_find_some() -> None:
    narrow = Answer("caution", "With care: its bands are too narrow", ())
    for trusted in (narrow, Answer("good", "Yes", ())):
        said = without_steps(trusted, tested_on="rig_test.csv")
        assert "run it on new data" not in said
        assert said.endswith("; it was tried on rig_test.csv")
