"""Files, read with errors a user understands and written whole or not at all.

Receives paths from every stage that reads or saves something; `AdjoinError` says what went wrong.
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

from adjoin.errors import AdjoinError

if sys.platform == "win32":
    import msvcrt

    def _take(file: BinaryIO) -> None:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _take(file: BinaryIO) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_PARTIAL = re.compile(r"\.adjoin-[0-9a-f]{16}")
_ABANDONED = 3600.0  # seconds without a write: nobody takes that long over one file


@contextmanager
def opened(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an existing file to read bytes; whatever the system objects to is an `AdjoinError`."""
    try:
        source = _legal(path)
        _require_regular(source)
        with source.open("rb") as file:
            yield file
    except OSError as error:
        raise AdjoinError(f"cannot read '{path}': {_reason(error)}") from None


def write_whole(path: str | os.PathLike[str], content: bytes | str) -> None:
    """Write a file, whole or not at all: after any failure the old file is as it was.

    The content goes to a file beside the target, is flushed to the disk, and takes the target's
    place in one step. Text is written as UTF-8. The permissions of an old file are kept.

    Raises
    ------
    AdjoinError
        With the path and the reason: no such folder, no permission, no space left.
    """
    payload = content.encode("utf-8") if isinstance(content, str) else content
    try:
        target = _legal(path).resolve()  # through a link: the link stays one
        if not target.parent.is_dir():
            raise AdjoinError(f"cannot write '{path}': there is no folder '{Path(path).parent}'")
        _require_regular(target)
        _replace(target, payload)
    except OSError as error:
        raise AdjoinError(f"cannot write '{path}': {_reason(error)}") from None


@contextmanager
def locked(path: str | os.PathLike[str]) -> Iterator[None]:
    """Hold a file, made if need be, that one process at a time can hold.

    The system lets go of it when the process ends, however it ends.

    Raises
    ------
    AdjoinError
        If another process holds it, or it cannot be opened.
    """
    with ExitStack() as stack:
        try:
            file = stack.enter_context(Path(path).open("ab"))
        except OSError as error:
            raise AdjoinError(f"cannot write '{path}': {_reason(error)}") from None
        try:
            _take(file)
        except (BlockingIOError, PermissionError):
            raise AdjoinError(
                f"another process is at work in '{Path(path).parent}'; wait until it is done, or"
                " name another place"
            ) from None
        except OSError as error:
            raise AdjoinError(
                f"cannot lock '{path}': {_reason(error)}; name a place on a local disk"
            ) from None
        yield


def remove_partials(folder: Path, age: float = 0.0) -> None:
    """Remove what writers that were killed have left in a folder, if it is so many seconds old."""
    for file in folder.iterdir():
        if _PARTIAL.fullmatch(file.name):
            try:
                if age <= 0.0 or time.time() - file.stat().st_mtime > age:
                    file.unlink()
            except OSError:  # it is somebody else's after all, or gone
                continue


def remove_abandoned(folder: Path) -> None:
    """Remove partial files that are so old that no writer can be at work on them."""
    try:
        remove_partials(folder, _ABANDONED)
    except OSError:  # a folder that cannot be listed
        return


def _replace(target: Path, payload: bytes) -> None:
    # Its own short name: one made of the target's could be too long for the file system.
    partial = target.with_name(f".adjoin-{secrets.token_hex(8)}")
    try:
        with partial.open("xb") as file:
            file.write(payload)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            shutil.copymode(target, partial)
        os.replace(partial, target)
    except BaseException:  # Ctrl-C too must leave nothing behind
        partial.unlink(missing_ok=True)
        raise


def _require_regular(path: Path) -> None:
    """Refuse folders, and pipes and devices, which cannot be replaced and may never end."""
    if path.exists() and not path.is_file():
        raise OSError("it is a folder" if path.is_dir() else "it is not a regular file")


def _legal(path: str | os.PathLike[str]) -> Path:
    """Refuse what no system takes for a name."""
    try:
        is_legal = b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        is_legal = False
    if not is_legal:
        raise OSError("no file can have that name")
    return Path(path)


def _reason(error: OSError) -> str:
    return error.strerror or str(error)
