"""Files, read with errors a user understands and written whole or not at all.

Receives paths from every stage that reads or saves something; `AdjoinError` says what went wrong.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from adjoin.errors import AdjoinError


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
