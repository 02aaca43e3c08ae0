"""Records of a chain that outgrow its memory lie in files without names, and are the same."""

from __future__ import annotations

import errno
import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines import prediction_engine

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Identifier, growing
from adjoin.blocks import is_mapped
from adjoin.growing import Growing, Room
from adjoin.inference.traces import ChainTrace, to_arrays
from adjoin.results import draws as of_draws
from adjoin.results import prediction as of_prediction

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
N_SAMPLES = 10_000 if IS_COMPILED else 60


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def record() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    u = rng.standard_normal(60)
    return u, np.convolve(u, [0.0, 1.0, 0.5])[:60] + 0.1 * rng.standard_normal(60)


def engine(table_bytes: int) -> Any:
    data = Dataset.from_arrays(*record())
    return prediction_engine(data, Grammar.arx(max_lag=2).alphabet, table_bytes=table_bytes)


def same(left: ChainTrace, right: ChainTrace) -> bool:
    mine, theirs = to_arrays(left), to_arrays(right)
    return mine.keys() == theirs.keys() and all(
        values.dtype == theirs[name].dtype and values.tobytes() == theirs[name].tobytes()
        for name, values in mine.items()
    )


def test_a_trace_in_files_is_the_trace(folder: Path) -> None:
    in_memory, in_files = (engine(size).start(3) for size in (2**24, 0))
    for chain in (in_memory, in_files):
        chain.advance(N_SAMPLES)
    expected, found = in_memory.finish(), in_files.finish()
    assert is_mapped(found.theta)
    assert is_mapped(found.structure)
    assert is_mapped(found.offset)
    assert not is_mapped(expected.theta)
    assert same(expected, found)
    assert not list(folder.iterdir())  # no name: whatever ends the process, nothing is left behind
    # Packed, unpacked and pickled it is the same; it goes on with its records in files.
    packed = in_files.pack()
    assert same(pickle.loads(pickle.dumps(found)), expected)
    resumed = engine(0).resume(packed)
    for chain in (in_memory, in_files, resumed):
        chain.advance(100)
    expected = in_memory.finish()
    assert same(in_files.finish(), expected)
    assert same(resumed.finish(), expected)
    assert is_mapped(resumed.finish().theta)
    assert len(found.noise) == N_SAMPLES  # what was given out before does not grow


@pytest.mark.skipif(not IS_COMPILED, reason="takes long")
def test_a_posterior_of_traces_in_files_is_the_posterior(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"max_lag": 2, "max_degree": 1, "samples": 16_000, "thin": 1, "chains": 2, "seed": 0}
    expected = Identifier(**settings, n_jobs=2).fit(*record()).posterior_
    monkeypatch.setattr(of_draws, "IN_MEMORY", 1000)
    found = Identifier(**settings, n_jobs=2, memory_mb=1).fit(*record()).posterior_
    assert is_mapped(found.traces[0].theta)
    assert is_mapped(found.draws.theta)
    assert not is_mapped(expected.draws.theta)
    for name in vars(expected.draws):
        np.testing.assert_array_equal(getattr(found.draws, name), getattr(expected.draws, name))
    assert found.terms.equals(expected.terms)
    assert found.map_model == expected.map_model
    found.save(folder / "found.nc")
    read = adjoin.load(folder / "found.nc")
    assert all(same(a, b) for a, b in zip(read.traces, expected.traces, strict=True))


def test_series_go_into_files_when_all_together_are_too_large(folder: Path) -> None:
    room = Room(160)
    first, second = Growing(np.float64, room), Growing(np.int64, room)
    assert len(first.whole) == 0
    first.append(np.arange(10.0))
    second.append(np.arange(10))
    assert not (first.is_in_file)
    assert not (second.is_in_file)
    first.append(np.arange(3.0))
    assert first.is_in_file
    assert not second.is_in_file
    second.append(np.arange(0))
    np.testing.assert_array_equal(second.whole, np.arange(10))
    np.testing.assert_array_equal(first.whole, [*range(10), 0, 1, 2])
    first.whole[:] = -1.0  # of whoever asked for it
    assert first.whole[3] == 3.0


def test_a_full_disk_is_told_with_what_to_do(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def write(self, _: object) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            pass

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    series = Growing(np.float64, Room(0))
    with pytest.raises(AdjoinError, match=r"No space left.*TMPDIR.*thin more"):
        series.append(np.zeros(5))


def test_runs_of_all_draws_may_lie_in_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bands of a long simulation are the same, and the memory of its runs is given back."""
    rng = np.random.default_rng(1)
    blocks = [rng.normal(size=(7, n)) for n in (500, 300)]
    blocks[0][3, 400:] = np.nan

    def summary() -> Any:
        mine = [of_prediction.make_scratch(*block.shape) for block in blocks]
        for room, block in zip(mine, blocks, strict=True):
            for row, series in zip(room, block, strict=True):
                row[:] = series
                of_prediction.let_go(room)
        assert {is_mapped(room) for room in mine} == {growing.SCRATCH == 1}
        found = of_prediction._summarise(mine, [np.empty(0)] * 2, (0.1, 0.9), is_whole=True)
        return found, [s.tobytes() for s in (*found.mean, *found.sd, *found.bands[0.1])]

    in_memory, expected = summary()
    monkeypatch.setattr(growing, "SCRATCH", 1)
    in_files, found = summary()
    assert found == expected
    assert in_files.first_lost == in_memory.first_lost == (400, None)
    assert in_files.n_stayed == in_memory.n_stayed == (6, 7)
    assert not list(folder.iterdir())
