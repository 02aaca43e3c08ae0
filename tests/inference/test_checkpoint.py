"""Checkpoints on disks that are full, read-only, damaged, or somebody else's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests import killing
from tests.systems import quick, simulated

from adjoin import AdjoinError
from adjoin.files import locked, remove_abandoned
from adjoin.inference import checkpoint
from adjoin.inference.checkpoint import Checkpoint, keep, remove

U, Y = simulated(n=120)
ARRAYS = {"a": np.arange(3.0), "b": np.zeros((0, 2), dtype=np.int64)}


@contextmanager
def opened(place: Path, **settings: Any) -> Iterator[Checkpoint]:
    with keep(place, lambda: {"kind": "fit", "settings": settings}, 0) as found:
        yield found


def test_arrays_come_back_as_they_were(tmp_path: Path) -> None:
    with opened(tmp_path / "run") as found:
        assert found.read("chain.0") is None
        found.write("chain.0", ARRAYS)
    with opened(tmp_path / "run") as found:
        read = found.read("chain.0")
    assert read is not None
    assert read.keys() == ARRAYS.keys()
    for name, values in ARRAYS.items():
        assert read[name].dtype == values.dtype
        assert np.array_equal(read[name], values)


def test_a_damaged_file_is_named_and_the_others_are_kept(tmp_path: Path) -> None:
    """Every byte counts: cut short, longer, or another bit."""
    place = tmp_path / "run"
    first = quick(checkpoint=place).fit(U, Y)
    file, other = place / "chain.1.arrays", place / "chain.0.arrays"
    whole, kept = file.read_bytes(), other.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 1
    for damaged in (b"", whole[:-1], whole[:1000], whole + b" ", bytes(flipped)):
        file.write_bytes(damaged)
        with pytest.raises(AdjoinError, match=r"chain\.1\.arrays' is damaged.*Delete this one"):
            quick(checkpoint=place).fit(U, Y)
        assert other.read_bytes() == kept
    file.unlink()  # as it says
    again = quick(checkpoint=place).fit(U, Y)
    assert killing.digest(again.posterior_) == killing.digest(first.posterior_)


def test_a_damaged_manifest_is_no_other_run(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with opened(place, seed=1) as found:
        found.write("chain.0", ARRAYS)
    manifest = place / checkpoint.MANIFEST
    whole = manifest.read_text(encoding="utf-8")
    for damaged in ("", "[]", whole[:50], whole.replace('"seed": 1', '"seed": 2')):
        manifest.write_text(damaged, encoding="utf-8")
        with pytest.raises(AdjoinError, match=r"run\.json' is damaged"), opened(place, seed=1):
            pass
    manifest.write_text(whole, encoding="utf-8")
    with opened(place, seed=1):
        pass


def test_two_processes_are_not_at_work_on_one_run(tmp_path: Path) -> None:
    """The second is told, and the first goes on; a lock of a process that was killed is none."""
    place = tmp_path / "run"
    code = (
        "import sys, time; from adjoin.inference.checkpoint import keep\n"
        "with keep(sys.argv[1], lambda: {'kind': 'fit', 'settings': {}}, 0):\n"
        "    print('held', flush=True); time.sleep(600)"
    )
    command = [sys.executable, "-c", code, str(place)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(AdjoinError, match=r"another process is at work in '.*run'"):
            quick(checkpoint=place).fit(U, Y)
        with pytest.raises(AdjoinError, match="another process"):
            remove(place)
        holder.kill()
    with opened(place):
        pass


def test_two_fits_of_one_process_are_kept_apart_too(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with opened(place), pytest.raises(AdjoinError, match="another process"), opened(place):
        pass


@contextmanager
def _largest_file(n_bytes: int) -> Iterator[None]:
    """As on a disk that is full: no file gets larger."""
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_on_a_full_disk_nothing_is_begun(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with (
        _largest_file(100),
        pytest.raises(AdjoinError, match=r"cannot write '.*run\.json': File too large"),
    ):
        quick(checkpoint=place).fit(U, Y)
    assert quick(checkpoint=place).fit(U, Y).is_complete_


def test_a_disk_that_fills_up_ends_no_run_and_loses_nothing(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with opened(place) as found:
        found.write("chain.0", ARRAYS)
        large = {"a": np.zeros(10_000)}
        with _largest_file(4000):
            with pytest.warns(UserWarning, match="falls behind") as caught:
                found.write("chain.0", large)
            found.write("chain.0", large)  # said once
        assert len(caught) == 1
        kept = found.read("chain.0")
    assert kept is not None
    assert np.array_equal(kept["a"], ARRAYS["a"])
    assert sorted(file.name for file in place.iterdir()) == ["chain.0.arrays", "lock", "run.json"]
    whole = quick().fit(U, Y).posterior_
    with _largest_file(4000), pytest.warns(UserWarning, match="the checkpoint falls behind"):
        fitted = quick(checkpoint=tmp_path / "other").fit(U, Y).posterior_
    assert killing.digest(fitted) == killing.digest(whole)


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="no such users there")
def test_a_folder_that_cannot_be_written_is_named_before_anything_is_drawn(tmp_path: Path) -> None:
    """Root may write anywhere, so it is somebody else for a moment."""
    place, is_root = tmp_path / "run", os.geteuid() == 0
    tmp_path.chmod(0o500)
    if is_root:
        os.seteuid(65534)
    try:
        with pytest.raises(AdjoinError, match=r"cannot keep a checkpoint in '.*run': Permission"):
            quick(checkpoint=place).fit(U, Y)
    finally:
        if is_root:
            os.seteuid(0)
        tmp_path.chmod(0o700)


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x", encoding="utf-8")
    with pytest.raises(AdjoinError, match=r"no checkpoint but has other files, such as 'thesis"):
        quick(checkpoint=tmp_path).fit(U, Y)
    (tmp_path / "thesis.tex").rename(tmp_path.with_suffix(".tex"))
    with pytest.raises(AdjoinError, match="cannot keep a checkpoint in"):
        quick(checkpoint=tmp_path.with_suffix(".tex")).fit(U, Y)


def test_removing_takes_what_is_its_own_only(tmp_path: Path) -> None:
    place = tmp_path / "run"
    quick(checkpoint=place).fit(U, Y)
    (place / "note.txt").write_text("mine", encoding="utf-8")
    remove(place)
    assert [file.name for file in place.iterdir()] == ["note.txt"]
    (place / "note.txt").unlink()
    with opened(place) as found:
        found.write("chain.0", ARRAYS)
    remove(place)
    assert not place.exists()
    remove(place)


def test_of_a_run_that_drew_nothing_nothing_is_left(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with pytest.raises(KeyboardInterrupt), opened(place):
        raise KeyboardInterrupt
    assert not place.exists()


def test_partial_files_of_killed_writers_are_removed_by_the_next_run(tmp_path: Path) -> None:
    place = tmp_path / "run"
    with opened(place) as found:
        found.write("chain.0", ARRAYS)
    (place / ".adjoin-0123456789abcdef").write_bytes(b"half")
    with opened(place):
        names = sorted(file.name for file in place.iterdir())
    assert names == ["chain.0.arrays", "lock", "run.json"]


def test_beside_a_target_only_partial_files_that_nobody_can_be_writing_are_removed(
    tmp_path: Path,
) -> None:
    fresh, old, mine = (
        tmp_path / name
        for name in (".adjoin-0123456789abcdef", ".adjoin-fedcba9876543210", ".adjoin-notes")
    )
    for file in (fresh, old, mine):
        file.write_bytes(b"half")
    for file in (old, mine):
        os.utime(file, (time.time() - 4000, time.time() - 4000))
    remove_abandoned(tmp_path)
    assert sorted(tmp_path.iterdir()) == [fresh, mine]
    remove_abandoned(tmp_path / "none")


def test_a_clock_that_jumps_back_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chains are still saved on the way, not at their ends only."""
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(time, "time", iter(range(10**9, 0, -86_400)).__next__)
    written: list[str] = []
    write = Checkpoint.write

    def count(self: Checkpoint, name: str, arrays: Any) -> None:
        written.append(name)
        write(self, name, arrays)

    monkeypatch.setattr(Checkpoint, "write", count)
    fitted = quick(samples=20_000, checkpoint=tmp_path / "run").fit(U, Y)
    assert fitted.posterior_.timing["sampling_s"] > 0.0
    assert written.count("chain.0") > 1


def test_long_chains_are_saved_less_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Saving takes a small share of the time, however long a trace is."""

    class Slow:
        n_packed = n_samples = 0

        def pack(self) -> dict[str, np.ndarray]:
            self.n_packed += 1
            time.sleep(0.05)
            return {}

    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    chain = Slow()
    with opened(tmp_path / "run") as found:
        part = found.part("chain")
        assert part is not None
        engine: Any = SimpleNamespace(power=1.0, schedule=(), settled_by="")
        keeper = part.keeper(engine, 10, 0)
        keeper.load()
        for _ in range(50):
            keeper.look(chain)  # type: ignore[arg-type]
            time.sleep(0.002)
        assert chain.n_packed == 1
        keeper.close(chain)  # type: ignore[arg-type]
        keeper.close(chain)  # type: ignore[arg-type]
        assert chain.n_packed == 2


def test_a_lock_is_let_go_of_when_its_block_ends(tmp_path: Path) -> None:
    with locked(tmp_path / "lock"):
        refused: list[str] = []

        def ask() -> None:
            try:
                with locked(tmp_path / "lock"):
                    refused.append("no")
            except AdjoinError as error:
                refused.append(str(error))

        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        assert "another process is at work" in refused[0]
    with locked(tmp_path / "lock"):
        pass
