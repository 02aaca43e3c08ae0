"""Settings of informed moves and tempering."""

from __future__ import annotations

from typing import Any

import pytest

from adjoin import AdjoinError
from adjoin.inference.search import Search


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"candidates": -1}, "search: candidates must be a whole number from 1 on, not -1"),
        ({"candidates": 2.5}, "search: candidates must be a whole number from 1 on, not 2.5"),
        ({"candidates": "many"}, "search: candidates must be a whole number from 1 on"),
        ({"candidates": True}, "search: candidates must be a whole number from 1 on"),
        ({"moves": 0}, "search: moves must be a whole number from 1 on, not 0"),
        ({"interval": 0}, "search: interval must be a whole number from 1 on, not 0"),
        ({"rungs": 0}, "search: rungs must be a whole number from 1 on, not 0"),
        ({"rungs": None}, "search: rungs must be a whole number from 1 on, not None"),
        ({"hottest": 0.0}, "search: hottest must be between 0 and 1, not 0.0"),
        ({"hottest": 1.0}, "search: hottest must be between 0 and 1, not 1.0"),
        ({"hottest": float("nan")}, "search: hottest must be between 0 and 1, not nan"),
        ({"hottest": "warm"}, "search: hottest must be between 0 and 1, not 'warm'"),
        ({"rung": 3}, "search has no setting 'rung'; there are candidates, moves, interval"),
    ],
)
def test_nonsense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(AdjoinError) as caught:
        Search.read(settings)
    assert message in str(caught.value)


def test_what_is_given_is_read() -> None:
    assert Search.read(None) == Search()
    assert Search.read({"rungs": 3}) == Search(rungs=3)
    given = Search(candidates=50, moves=3, interval=7, rungs=2, hottest=0.1)
    assert Search.read(given) is given
    assert Search.read(given.plain) == given
    with pytest.raises(AdjoinError, match="search must be settings by name, not 3"):
        Search.read(3)


def test_the_nine_moves_alone_adapt_nothing() -> None:
    assert Search().is_plain
    assert Search().adaptations(1000) == ()
    assert not Search(candidates=1).is_plain
    assert not Search(rungs=2).is_plain


@pytest.mark.parametrize("n_burn_in", [0, 1, 9, 10, 77, 1000, 123_456])
@pytest.mark.parametrize("interval", [1, 7, 10])
def test_pool_and_rungs_are_chosen_between_rounds_until_the_burn_in_is_over(
    n_burn_in: int, interval: int
) -> None:
    times = Search(candidates=5, interval=interval).adaptations(n_burn_in)
    assert times[0] == 0
    assert times[-1] == n_burn_in // interval * interval
    assert all(time % interval == 0 for time in times)
    assert list(times) == sorted(set(times))
    if n_burn_in >= 16 * interval:
        assert len(times) == 6
