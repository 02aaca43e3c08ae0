"""A ladder in words: one row and one line say the same of it."""

from __future__ import annotations

from typing import Any

from adjoin.report.ladder_words import ladder_line, ladder_reasons, ladder_rows, span
from adjoin.text import percent


def ladder(**changed: Any) -> dict[str, Any]:
    """As `Posterior.diagnostics` has it, no two numbers alike."""
    return {
        "chain": 3,
        "tolerance": [1.23456, 2.0, 5.0, 50.0, 100.0],
        "acceptance": [0.11, 0.12, 0.13, 0.14, 0.15],
        "guided_acceptance": [0.21, 0.22, None, None, None],
        "smallest_swap_rate": 0.31,
        "stages": [
            {"tolerance": 9.0, "smallest_distance": 8.0},
            {"tolerance": 1.23456, "smallest_distance": 1.2},
        ],
        "reason": "the tolerance that was asked for",
        **changed,
    }


def test_a_row_is_of_the_coldest_rung_once_the_ladder_is_frozen() -> None:
    assert ladder_rows([ladder()]) == [
        {
            "chain": 3,
            "tolerance": 1.23456,
            "distance": 1.2,
            "accepted": 0.11,
            "guided": 0.21,
            "exchanged": 0.31,  # hot rungs have little to hand down
            "reason": "the tolerance that was asked for",
        }
    ]


def test_a_line_has_the_range_over_the_chains() -> None:
    other = ladder(
        tolerance=[4.0, 5.0, 6.0, 7.0, 8.0], acceptance=[0.05] * 5, smallest_swap_rate=0.5
    )
    assert ladder_line([ladder(), other], "V") == (
        "tolerance 1.23 to 4 (V), 5 rungs, the coldest accepted 5.0 % to 11.0 %, fewest exchanges"
        " in the colder half 31.0 % to 50.0 %"
    )
    lone = ladder(
        tolerance=[2.0], acceptance=[0.1], guided_acceptance=[None], smallest_swap_rate=None
    )
    assert ladder_line([lone], "V") == "tolerance 2 (V), 1 rung, the coldest accepted 10.0 %"


def test_a_range_that_reads_as_one_number_is_one() -> None:
    assert span([1.0001, 1.0002]) == "1"
    assert span([0.2, None, 0.1], percent) == "10.0 % to 20.0 %"


def test_an_infinite_tolerance_is_said() -> None:
    endless = ladder(tolerance=[None] * 5)
    assert ladder_line([endless, endless], "V").startswith("tolerance ∞ (V), 5 rungs")


def test_chains_that_ended_for_different_reasons_have_one_each() -> None:
    rows = [{"chain": 0, "reason": "this"}, {"chain": 3, "reason": "that"}]
    assert ladder_reasons(rows) == ["chain 0: this", "chain 3: that"]
    assert ladder_reasons(rows[:1] * 2) == ["this"]
