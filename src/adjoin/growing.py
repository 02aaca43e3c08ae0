"""Series that grow while something runs: in memory at first, beyond a limit in a file.

The file has no name: it is gone when nobody reads it any more, however the process ends, Ctrl-C and
kills included. It lies where temporary files do, which the variable TMPDIR says. Receives pieces
from whoever records; gives one array, mapped from the file where there is one, with the same bits.
"""

from __future__ import annotations

import mmap
import os
import tempfile
import weakref
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adjoin.arrays import Float2D
from adjoin.errors import AdjoinError

SCRATCH = 2**29
"""Bytes from which on an array that is only worked with lies in a file."""


@dataclass
class Room:
    """How many bytes some series may take in memory, all together, and how many they have had."""

    most: int
    used: int = 0

    @property
    def is_full(self) -> bool:
        """Whether what comes next goes into files."""
        return self.used > self.most


@dataclass(eq=False)
class Growing:
    """One series of numbers of one type."""

    dtype: type
    room: Room
    _parts: list[np.ndarray] = field(default_factory=list)
    _file: Any = None
    _size: int = 0

    def append(self, values: np.ndarray) -> None:
        """Put values behind the others.

        Raises
        ------
        AdjoinError
            If there is no room for them on the disk.
        """
        added: np.ndarray = np.ascontiguousarray(values, dtype=self.dtype)
        self.room.used += added.nbytes
        self._size += added.size
        self._parts.append(added)
        if self.room.is_full:
            self._write()

    def _write(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="adjoin-")  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # what is mapped keeps it
            for part in self._parts:
                self._file.write(part.data.cast("B") if part.size else b"")
            self._file.flush()
        except OSError as error:
            raise _no_room("what is recorded", "thin more, or raise memory_mb", error) from None
        self._parts.clear()

    @property
    def is_in_file(self) -> bool:
        """Whether it outgrew the memory it may take."""
        return self._file is not None

    @property
    def whole(self) -> np.ndarray:
        """All values so far; what is written to them stays with whoever wrote it."""
        if self._file is None:
            if len(self._parts) != 1:
                self._parts = [np.concatenate([np.empty(0, self.dtype), *self._parts])]
            return self._parts[0].copy()
        if self._parts:
            self._write()
        if not self._size:
            return np.empty(0, self.dtype)
        return np.asarray(np.memmap(self._file, self.dtype, "c", shape=(self._size,)))


def make_scratch(n_rows: int, n_columns: int) -> Float2D:
    """An array to write to row by row and read a few columns at a time; large ones in a file.

    Raises
    ------
    AdjoinError
        If there is no room for it on the disk.
    """
    n_bytes = 8 * n_rows * n_columns
    if n_bytes < SCRATCH:
        return np.empty((n_rows, n_columns))
    with tempfile.TemporaryFile(prefix="adjoin-") as file:
        try:
            # Before it is mapped: a disk that is full when a mapped page is written ends a process.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, n_bytes)
            else:
                for begin in range(0, n_bytes, SCRATCH):
                    file.write(bytes(min(SCRATCH, n_bytes - begin)))
                file.flush()
        except OSError as error:
            raise _no_room("runs of all draws", "use fewer draws", error) from None
        return np.asarray(np.memmap(file, np.float64, "r+", shape=(n_rows, n_columns)))


def let_go(array: np.ndarray) -> None:
    """Give the memory of a mapped array back to the system; its values stay in the file."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        base.madvise(mmap.MADV_DONTNEED)


def _no_room(what: str, remedy: str, error: OSError) -> AdjoinError:
    return AdjoinError(
        f"{what} need more room than there is for temporary files, in '{tempfile.gettempdir()}':"
        f" {error.strerror}; free some space there, name another folder by the variable TMPDIR, or"
        f" {remedy}"
    )
