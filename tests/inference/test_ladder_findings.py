"""What a tolerance ladder means for the result, in words."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from adjoin.inference.ladder_findings import describe_ladder, on_ladder
from adjoin.inference.traces import LadderTrace
from adjoin.levels import CAUTION, GOOD, POOR


def ladder(chain: int = 0, **changed: Any) -> dict[str, Any]:
    """A ladder of four rungs that did well."""
    well = {
        "chain": chain,
        "tolerance": [1.0, 2.0, 4.0, 100.0],
        "acceptance": [0.1, 0.2, 0.3, 0.4],
        "smallest_swap_rate": 0.2,
        "reason": "it was time",
    }
    return well | changed


def _trace(**changed: Any) -> LadderTrace:
    """A trace of two stages."""
    trace = LadderTrace(
        distance=np.array([0.5]),
        tolerance=np.array([[3.0, 9.0], [1.0, math.inf]]),
        floor=np.array([2.0, 0.9]),
        width=np.array([0.1, 0.2]),
        move=np.zeros((2, 9, 3), dtype=np.int64),
        guided=np.zeros((2, 2), dtype=np.int64),
        swap=np.zeros((2, 2), dtype=np.int64),
        saved=np.zeros(8, dtype=np.int64),
        reason="it was time",
    )
    return trace._replace(**changed)


def levels(*ladders: dict[str, Any]) -> list[str]:
    return [level for level, _, _ in on_ladder(list(ladders))]


def test_a_good_ladder_is_good_whatever_its_hottest_rungs_do() -> None:
    assert levels(ladder(), ladder(1)) == [GOOD, GOOD]
    assert "tolerance of 1: it was time" in on_ladder([ladder()])[0][1]
    assert "surer than a likelihood's" in on_ladder([ladder()])[1][1]
    assert levels() == []


@pytest.mark.parametrize(("coldest", "level"), [(1.05, GOOD), (1.5, CAUTION), (2.5, POOR)])
def test_chains_at_different_tolerances_sample_different_posteriors(
    coldest: float, level: str
) -> None:
    other = ladder(1, tolerance=[coldest, 4.0, 8.0, 100.0])
    (found, why, advice), *_ = on_ladder([ladder(), other])
    assert found == level
    if level != GOOD:
        assert f"from 1 to {coldest:g}" in why
        assert "ladder={'tolerance': 1.01}" in advice  # rounded up, so that it can be met


def test_a_coldest_rung_that_hardly_moves_is_pointed_out() -> None:
    stuck = ladder(3, acceptance=[0.0005, 0.1, 0.1, 0.1])
    assert levels(ladder(), stuck) == [GOOD, GOOD, CAUTION]
    assert "the coldest rung of chain 3" in on_ladder([ladder(), stuck])[2][1]


def test_neighbours_that_do_not_exchange_are_pointed_out() -> None:
    apart = [ladder(i, smallest_swap_rate=0.001) for i in (1, 2)]
    found = on_ladder([ladder(), *apart])
    assert [level for level, _, _ in found] == [GOOD, GOOD, CAUTION]
    assert "chains 1, 2 hardly exchanged" in found[2][1]
    assert "rungs" in found[2][2]


def test_an_infinite_tolerance_is_the_prior() -> None:
    ((level, why, _),) = on_ladder([ladder(tolerance=[None] * 4)])
    assert level == CAUTION
    assert "prior" in why


def test_one_rung_has_nobody_to_exchange_with() -> None:
    alone = ladder(tolerance=[1.0], acceptance=[0.2], smallest_swap_rate=None)
    assert levels(alone) == [GOOD, GOOD]


@pytest.mark.parametrize(
    ("made", "tried", "smallest"),
    [([5, 3, 0], 10, 0.3), ([5, 3, 0], 0, None), ([4], 10, 0.4), ([], 10, None)],
)
def test_the_hottest_rungs_do_not_count_among_the_exchanges(
    made: list[int], tried: int, smallest: float | None
) -> None:
    swap = np.array([*([tried, n] for n in made), [0, 0]])
    assert describe_ladder(_trace(swap=swap))["smallest_swap_rate"] == smallest


def test_a_trace_is_described_by_rung() -> None:
    move = np.zeros((2, 9, 3), dtype=np.int64)
    move[0, :, 0], move[0, 1, 2], move[1, 0, 0] = 10, 9, 5
    trace = _trace(move=move, guided=np.array([[4, 1], [0, 0]]), swap=np.array([[8, 2], [0, 0]]))
    assert describe_ladder(trace) == {
        "tolerance": [1.0, None],
        "acceptance": [0.1, 0.0],
        "guided_acceptance": [0.25, None],
        "swap_rate": [0.25],
        "smallest_swap_rate": 0.25,
        "width": [0.1, 0.2],
        "stages": [
            {"tolerance": 3.0, "smallest_distance": 2.0},
            {"tolerance": 1.0, "smallest_distance": 0.9},
        ],
        "reason": "it was time",
    }
