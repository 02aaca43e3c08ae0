"""What is held out: whole records, or stretches of time, never anything twice."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from adjoin import AdjoinError, Dataset
from adjoin.discovery.folds import make_folds


def _records(*lengths: int) -> Dataset:
    rng = np.random.default_rng(0)
    total = np.cumsum([0, *lengths])
    y = [np.arange(a, b, dtype=float) for a, b in pairwise(total)]
    return Dataset.from_arrays([rng.normal(size=n) for n in lengths], y)


def test_three_records_are_held_out_as_wholes() -> None:
    data = _records(200, 210, 220)
    folds = make_folds(data, n_seed=10)
    assert [fold.held_out.n_samples for fold in folds] == [200, 210, 220]
    assert all(fold.fitted.n_records == 2 for fold in folds)


@pytest.mark.parametrize("lengths", [(400,), (400, 300), (400, 50)])
def test_stretches_hold_every_sample_out_once(lengths: tuple[int, ...]) -> None:
    data = _records(*lengths)
    folds = make_folds(data, n_seed=10)
    assert len(folds) == 4
    for fold in folds:
        seen = np.concatenate([*fold.fitted.outputs, *fold.held_out.outputs])
        assert sorted(seen) == list(range(sum(lengths)))
    out = np.concatenate([y for fold in folds for y in fold.held_out.outputs])
    # A record too short to be cut is fitted always.
    assert len(out) == len(set(out)) == sum(n for n in lengths if n >= 160)


def test_folds_know_which_records_their_parts_are_of() -> None:
    whole = make_folds(_records(400, 50, 400), 5, 2)
    assert [fold.records for fold in whole] == [(0, 2), (1,)]
    cut = make_folds(_records(400, 50), 10, 4)  # the second is too short to be cut
    assert [fold.records for fold in cut] == [(0,)] * 4


def test_a_share_is_the_end_of_every_record() -> None:
    (fold,) = make_folds(_records(100, 200, 300), n_seed=5, validation=0.3)
    assert [len(y) for y in fold.held_out.outputs] == [30, 60, 90]
    with pytest.raises(AdjoinError, match="between 0 and 1"):
        make_folds(_records(100), n_seed=5, validation=1.5)


def test_a_record_that_is_too_short_is_refused() -> None:
    with pytest.raises(AdjoinError, match="too few samples to hold some of them out"):
        make_folds(_records(60), n_seed=10)


def test_records_with_an_input_that_varies_between_them_only_are_cut() -> None:
    u = [np.full(300, level) for level in (1.0, 1.0, 2.0)]
    y = [np.random.default_rng(i).normal(size=300) for i in range(3)]
    folds = make_folds(Dataset.from_arrays(u, y), n_seed=5)
    # Without the third record the input would stand still.
    assert all(fold.words.startswith("part") for fold in folds)


def test_what_goes_beyond_the_fitted_range_is_named() -> None:
    ramp = np.linspace(0.0, 1.0, 400)
    folds = make_folds(Dataset.from_arrays(np.sin(40.0 * ramp), ramp), n_seed=5)
    assert "y" in folds[-1].beyond
    assert not folds[1].beyond
