"""Damage and foreign files are found before HDF5 sees a byte, and said clearly."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.runs import free_run, small

from adjoin import AdjoinError, Posterior
from adjoin.exchange.run_file import SCHEMA, read_run, write_run
from adjoin.exchange.sealed import seal

SEAL_SIZE = len(seal(b"", SCHEMA))


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return bytes_of(small(), tmp_path_factory.mktemp("saved"))


def bytes_of(run: Posterior, folder: Path) -> bytes:
    write_run(run, folder / "run.nc")
    return (folder / "run.nc").read_bytes()


def refusal(content: bytes, path: Path) -> str:
    """What loading a file of this content says; it must name the file."""
    path.write_bytes(content)
    with pytest.raises(AdjoinError, match=re.escape(f"'{path}'")) as caught:
        read_run(path)
    return str(caught.value)


def test_no_such_file_a_folder_and_a_path_no_system_takes_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(AdjoinError, match=r"cannot read '.*none\.nc': No such file"):
        read_run(tmp_path / "none.nc")
    with pytest.raises(AdjoinError, match=r"cannot read '.*': it is a folder"):
        read_run(tmp_path)
    for name in ("a\0b", "\ud800"):
        with pytest.raises(AdjoinError, match=f"cannot read '{name}': no file can have that name"):
            read_run(name)


def test_a_device_that_never_ends_is_refused() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("no /dev/zero here")
    with pytest.raises(AdjoinError, match="not a regular file"):
        read_run("/dev/zero")


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    assert "is empty" in refusal(b"", tmp_path / "run.nc")


@pytest.mark.parametrize("content", [b"u,y\n1,2\n", b"PK\x03\x04", bytes(5000), b"\n", b"CDF\x01"])
def test_another_kind_of_file_is_called_that(content: bytes, tmp_path: Path) -> None:
    assert "another kind of file" in refusal(content, tmp_path / "run.nc")


def test_netcdf_files_of_other_programs_are_told_from_damaged_runs(tmp_path: Path) -> None:
    import h5netcdf
    import h5py

    for make, settings in ((h5netcdf.File, {}), (h5py.File, {"libver": "latest"})):
        with make(tmp_path / "other.nc", "w", **settings) as file:
            file.attrs["created_by"] = "another program"
            file.create_group("posterior")
        content = (tmp_path / "other.nc").read_bytes()
        assert "of another program" in refusal(content, tmp_path / "run.nc")
        assert "is cut short" in refusal(content[:-1], tmp_path / "run.nc")


def test_an_arviz_file_is_called_another_programs(tmp_path: Path) -> None:
    from tests.systems import quick, simulated

    posterior = quick(samples=200).fit(*simulated(n=60)).posterior_
    posterior.to_arviz().to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    content = (tmp_path / "other.nc").read_bytes()
    assert "of another program" in refusal(content, tmp_path / "run.nc")


def test_a_file_cut_within_its_content_is_called_cut_short(saved: bytes, tmp_path: Path) -> None:
    for size in (8, 9, 47, 100, len(saved) // 2, len(saved) - SEAL_SIZE - 1):
        assert f"cut short: it has {size} of" in refusal(saved[:size], tmp_path / "run.nc")


def test_a_seal_cut_off_or_written_over_is_called_damage(saved: bytes, tmp_path: Path) -> None:
    for content in (saved[:-SEAL_SIZE], saved[:-1], saved + b"\n", saved[:-5] + b"12345"):
        assert "is damaged" in refusal(content, tmp_path / "run.nc")


def test_one_changed_bit_is_called_damage(saved: bytes, tmp_path: Path) -> None:
    for place in (0, 30, len(saved) // 2, len(saved) - SEAL_SIZE, len(saved) - 10):
        changed = bytearray(saved)
        changed[place] ^= 1
        assert "is damaged" in refusal(bytes(changed), tmp_path / "run.nc")


def test_the_schema_in_the_seal_is_under_the_seal(saved: bytes, tmp_path: Path) -> None:
    changed = saved.replace(b"adjoin-run schema 00000003", b"adjoin-run schema 00000002")
    assert changed != saved
    assert "is damaged" in refusal(changed, tmp_path / "run.nc")


def test_a_newer_schema_asks_for_a_newer_adjoin(saved: bytes, tmp_path: Path) -> None:
    message = refusal(seal(saved[:-SEAL_SIZE], SCHEMA + 1), tmp_path / "run.nc")
    assert f"newer adjoin (schema {SCHEMA + 1}" in message
    assert "update adjoin" in message


def test_a_seal_around_something_else_is_refused(saved: bytes, tmp_path: Path) -> None:
    for content in (b"", b"text", saved[:8], saved[: len(saved) // 2]):
        assert "not open as HDF5" in refusal(seal(content, SCHEMA), tmp_path / "run.nc")


def test_the_digest_is_the_sha256_of_everything_before_it(saved: bytes) -> None:
    assert saved[-65:-1].decode() == hashlib.sha256(saved[:-65]).hexdigest()


def corrupted(content: bytes, kind: int, rng: np.random.Generator) -> bytes:
    """One of twelve kinds of damage, at a random place."""
    size = len(content)
    start, stop = sorted(rng.integers(0, size, 2).tolist())
    width = int(rng.integers(1, 2000))
    block, after = content[start : start + width], content[start + width :]
    match kind:
        case 0 | 1 | 2:  # one bit, a few, many
            changed = bytearray(content)
            for bit in rng.integers(0, 8 * size, (1, 5, 500)[kind]).tolist():
                changed[bit // 8] ^= 1 << bit % 8
            return bytes(changed)
        case 3:
            return content[:start]
        case 4:  # the beginning is gone
            return content[start + 1 :]
        case 5:
            return content[:start] + bytes(len(block)) + after
        case 6:
            return content[:start] + rng.bytes(len(block)) + after
        case 7:  # two blocks change places
            width = min(width, stop - start, size - stop)
            first, second = content[start : start + width], content[stop : stop + width]
            between, rest = content[start + width : stop], content[stop + width :]
            return content[:start] + second + between + first + rest
        case 8:
            return content[:start] + block + block + after
        case 9:
            return content[:start] + after
        case 10:
            return content + rng.bytes(width)
        case 11:
            return content[:start] + rng.bytes(width) + content[start:]
        case _:
            return rng.bytes(start)


def test_a_thousand_damaged_files_are_a_thousand_errors(saved: bytes, tmp_path: Path) -> None:
    rng = np.random.default_rng(20)
    special = [b"", saved[-SEAL_SIZE:], saved[:-SEAL_SIZE], saved + saved, saved[::-1]]
    for content in special:
        refusal(content, tmp_path / "run.nc")
    n_refused, whole = len(special), (saved, bytes_of(free_run(), tmp_path))
    while n_refused < 1000:
        original = whole[n_refused % 2]
        content = corrupted(original, n_refused % 13, rng)
        if content != original:  # blocks of zeros may change places
            refusal(content, tmp_path / "run.nc")
            n_refused += 1
    (tmp_path / "run.nc").write_bytes(saved)
    assert len(Posterior(*read_run(tmp_path / "run.nc"))) == 5
