"""How long a case will take: it follows chains and cores, and a quick run is quick."""

from __future__ import annotations

from dataclasses import replace

import pytest

from adjoin.cases import estimate
from adjoin.cases.case import find_case
from adjoin.cases.registry import CASES
from adjoin.cases.setups import Plan


@pytest.mark.parametrize("name", CASES)
def test_a_quick_run_is_cheaper_and_says_what_it_leaves_out(name: str) -> None:
    case, full, quick = find_case(name), Plan(name), Plan(name, is_quick=True)
    left_out = case.shortened(quick)
    assert not case.shortened(full)
    assert "2 chains (the paper: 4)" in left_out
    expected = [sum(estimate.estimate(plan, 1.0).values()) for plan in (full, quick)]
    assert expected[1] < expected[0]
    assert expected[1] < 180.0  # a few minutes at most, one core or more
    for setup in case.setups(quick):
        if setup.n_train is not None:
            assert any(f"first {setup.n_train:,} training samples" in s for s in left_out)


def test_the_estimate_grows_with_chains_and_shrinks_with_cores() -> None:
    plan = Plan("academic", ("abc",), n_jobs=1)
    one_core = estimate.estimate(plan, 1.0)["abc"]
    two_cores = estimate.estimate(replace(plan, n_jobs=2), 1.0)["abc"]
    assert two_cores < one_core < estimate.estimate(replace(plan, chains=8), 1.0)["abc"]
    assert estimate.estimate(plan, 2.0)["abc"] == pytest.approx(2.0 * one_core)
    assert 0.02 < estimate.machine_factor() < 50.0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "about a second"),
        (4.4, "about 4 s"),
        (12.0, "about 10 s"),
        (47.0, "about 50 s"),
        (150.0, "about 2 min"),
        (9000.0, "about 2.5 h"),
    ],
)
def test_durations_are_round(seconds: float, words: str) -> None:
    assert estimate.about(seconds) == words
