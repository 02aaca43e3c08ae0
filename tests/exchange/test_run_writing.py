"""Files are written whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest
from tests.exchange.runs import assert_same, load, small

from adjoin import AdjoinError
from adjoin.exchange.run_file import write_run
from adjoin.files import opened, write_whole


def test_bytes_and_text_are_written_as_they_are(tmp_path: Path) -> None:
    write_whole(tmp_path / "a", b"\x00\r\n\xff")
    write_whole(str(tmp_path / "b"), "α\r\n")
    assert (tmp_path / "a").read_bytes() == b"\x00\r\n\xff"
    assert (tmp_path / "b").read_bytes() == "α\r\n".encode()
    with opened(tmp_path / "a") as file:
        assert file.read() == b"\x00\r\n\xff"


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, other = tmp_path / "run.nc", small(power=0.5)
    write_run(small(), target)

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, step, fail)
        with pytest.raises(AdjoinError, match=r"cannot write '.*run\.nc': No space left on device"):
            write_run(other, target)
    assert [*tmp_path.iterdir()] == [target]
    assert_same(load(target), small())


def test_an_interruption_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "file"
    write_whole(target, "old")

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_whole(target, "new")
    assert [*tmp_path.iterdir()] == [target]
    assert target.read_text() == "old"


def test_what_is_no_place_for_a_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(AdjoinError, match=r"cannot write '.*': there is no folder '.*none'"):
        write_whole(tmp_path / "none" / "file", "")
    with pytest.raises(AdjoinError, match=r"cannot write '.*': it is a folder"):
        write_whole(tmp_path, "")
    with pytest.raises(AdjoinError, match="no file can have that name"):
        write_whole("a\0b", "")
    (tmp_path / "file").touch()
    with pytest.raises(AdjoinError, match="there is no folder"):
        write_whole(tmp_path / "file" / "inside", "")


def test_a_device_is_not_replaced_by_a_file() -> None:
    if not Path("/dev/null").is_char_device():
        pytest.skip("no /dev/null here")
    with pytest.raises(AdjoinError, match="not a regular file"):
        write_whole("/dev/null", "")
    assert Path("/dev/null").is_char_device()


def test_the_longest_name_the_system_takes_is_taken(tmp_path: Path) -> None:
    write_whole(tmp_path / ("n" * 255), "x")
    with pytest.raises(AdjoinError, match="File name too long"):
        write_whole(tmp_path / ("n" * 256), "x")
    assert len([*tmp_path.iterdir()]) == 1


@pytest.mark.skipif(os.name != "posix", reason="links and modes as on POSIX")
def test_links_stay_links_and_permissions_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "file", tmp_path / "link"
    write_whole(target, "old")
    target.chmod(0o600)
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o600
