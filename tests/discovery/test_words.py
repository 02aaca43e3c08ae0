"""What the terminal says of a discovery."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from adjoin import datasets, discover
from adjoin.discovery.discovery import Discovery
from adjoin.discovery.words import print_discovery, without_steps
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


def test_where_no_step_is_left_what_is_amiss_is_still_said() -> None:
    narrow = Answer("caution", "With care: its bands are too narrow", ())
    assert without_steps(narrow).endswith("with care (its bands are too narrow)")
    assert "nothing more" not in without_steps(narrow)
    assert without_steps(Answer("good", "Yes", ())).startswith("nothing more is asked for")
