"""What makes a comparison unfair is found in the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, TEST, TRAIN, U, Y

from adjoin import Dataset
from adjoin.results.overlap import (
    is_same,
    notes_on_fitted,
    notes_on_parts,
    notes_on_tested,
    seen_share,
)

WHOLE = Dataset.from_arrays(U, Y)


def test_the_same_measurement_is_so_with_fewer_inputs_and_in_another_order() -> None:
    first = Dataset.from_arrays(np.column_stack([U, 2.0 * U]), Y, ["a", "b", "y"])
    other = Dataset.from_arrays(np.column_stack([2.0 * U, U]), Y, ["b", "a", "y"])
    assert is_same(first, other)
    assert is_same(first, Dataset.from_arrays(U, Y, ["a", "y"]))
    assert not is_same(first, Dataset.from_arrays(U, Y, ["b", "y"]))
    assert not is_same(TRAIN, TEST)
    assert not is_same(TRAIN, Dataset.from_arrays(TRAIN.u, TRAIN.y, ["u", "z"]))


@pytest.mark.parametrize(
    ("data", "before", "share"),
    [
        (TRAIN, TRAIN, 1.0),
        (WHOLE, TRAIN, 200 / 450),
        (TRAIN[50:150], WHOLE, 1.0),
        (TEST, TRAIN, 0.0),
        (TEST[:10], TEST, 0.0),  # too few samples to tell
        (WHOLE, Dataset.join([HELD_OUT, TEST]), 250 / 450),
    ],
)
def test_how_much_was_seen_before(data: Dataset, before: Dataset, share: float) -> None:
    assert seen_share(data, before) == pytest.approx(share)


def test_records_that_both_begin_at_rest_share_nothing() -> None:
    still = np.zeros(40)
    first, other = (
        Dataset.from_arrays(np.ones(60), np.concatenate([still, part.y[:20]]))
        for part in (TRAIN, TEST)
    )
    assert seen_share(first, other) == 0.0


def test_different_data_signals_and_clocks_are_said() -> None:
    assert list(notes_on_fitted({"a": TRAIN, "b": TRAIN})) == []
    (note,) = notes_on_fitted({"a": TRAIN, "b": HELD_OUT})
    assert note == "the runs were fitted to different data (a: 200 samples; b: 100 samples)"
    two = Dataset.from_arrays(np.column_stack([TRAIN.u, TRAIN.u]), TRAIN.y, ["u", "v", "y"])
    (note,) = notes_on_fitted({"a": TRAIN, "b": two})
    assert note == "the runs have different inputs (a u; b u, v)"
    slow, fast = (Dataset.from_arrays(TRAIN.u, TRAIN.y, None, step, "rig") for step in (0.1, 0.2))
    (note,) = notes_on_fitted({"a": slow, "b": fast})
    assert "different sampling times (a 0.1 s, b 0.2 s)" in note
    other = Dataset.from_arrays(TRAIN.u, TRAIN.y, ["u", "z"])
    notes = list(notes_on_fitted({"a": TRAIN, "b": other}))
    assert "different outputs (a of y, b of z)" in notes[0]


def test_what_is_compared_without_test_data_is_said() -> None:
    assert "held out, which also chose" in next(notes_on_parts(True, 2, 2, True))
    assert "as no run held data out" in next(notes_on_parts(False, 0, 2, False))
    assert "as only 1 of 3 runs" in next(notes_on_parts(False, 1, 3, False))
    assert "did not hold out the same" in next(notes_on_parts(False, 3, 3, False))


def test_test_data_that_are_not_new_are_said_to_be_so() -> None:
    tests, fitted = {"a": WHOLE, "b": WHOLE}, {"a": TRAIN, "b": WHOLE}
    notes = list(notes_on_tested(tests, "test.csv", fitted, {"a": HELD_OUT}))
    assert notes == [
        "test.csv is not new: it has samples that a run was fitted to: a 44 %, b 100 %",
        "test.csv is not new: it has samples that a run held out (they chose its chain): a 22 %",
    ]
    assert list(notes_on_tested({"a": TEST}, "t", {"a": TRAIN}, {"a": HELD_OUT})) == []
