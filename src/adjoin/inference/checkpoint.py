"""Checkpoints: what a run has drawn so far, in a folder, so that one that is killed can go on.

A run is a function of its data, its settings and its seed, and a packed chain goes on bit for bit.
So a checkpoint is no more than packed arrays by name. Whoever goes on makes the same run again: a
chain that is there and done is read instead of drawn, one that is half done is drawn from there.

::

    run.json        what the run is of (`described`), its seed, and a checksum
    lock            held by the process that writes here, as long as it lives
    NAME.arrays     one packed chain, or another piece of work, with a checksum

Every file is written whole or not at all. Receives names and arrays from `runner`, and gives them
back to it in the next process.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from adjoin.errors import AdjoinError, CheckpointError
from adjoin.files import locked, opened, remove_partials, write_whole
from adjoin.inference.described import differ_in_length, differences
from adjoin.inference.engine import Chain, Engine, Packed
from adjoin.inference.pieces import PiecewiseChain
from adjoin.version import __version__

MANIFEST, LOCK, ENDING = "run.json", "lock", ".arrays"
PAUSE = 5.0
"""Seconds of sampling between two times that a chain is saved."""

_FORMAT, _VERSION = "adjoin-checkpoint", 1
_SHARE = 0.02  # of the time may go into saving: long traces are saved less often
_SEAL = re.compile(rb"\nadjoin-checkpoint 1 sha256 ([0-9a-f]{64})\n")
_SEAL_SIZE = len("\nadjoin-checkpoint 1 sha256 ") + 64 + 1
_SECONDS, _COURSE = "checkpoint.seconds", "checkpoint.course"


@dataclass
class Checkpoint:
    """An open checkpoint, or none, which keeps nothing.

    Parameters
    ----------
    path : Path, optional
        The folder. None: nothing is kept.
    entropy : int
        Of the seed of the run, also where nobody gave one.
    prefix : str
        Of the names of all that is kept here: of one run among several in the same folder.
    told : list of str
        What was said of files that cannot be written: it is said once.
    """

    path: Path | None = None
    entropy: int = 0
    prefix: str = ""
    told: list[str] = field(default_factory=list)

    def within(self, name: str) -> Checkpoint:
        """The same folder, for one of several runs that make up this one."""
        return replace(self, prefix=f"{self.prefix}{name}.")

    def _file(self, folder: Path, name: str) -> Path:
        return folder / f"{self.prefix}{name}{ENDING}"

    def part(self, name: str) -> Part | None:
        """A set of chains that are run together; names differ within a run."""
        return None if self.path is None else Part(self, name)

    def read(self, name: str) -> Packed | None:
        """The arrays of that name, if they are there.

        Raises
        ------
        CheckpointError
            If the file is damaged.
        """
        if self.path is None or not (file := self._file(self.path, name)).exists():
            return None
        with opened(file) as stream:
            content = stream.read()
        try:
            with np.load(io.BytesIO(_unsealed(content)), allow_pickle=False) as found:
                return dict(found)
        except (BadZipFile, ValueError, EOFError):
            raise CheckpointError(
                f"'{file}' is damaged: its content and its checksum differ. Delete this one file:"
                " what it held is worked out again, and all that the others hold is kept"
            ) from None

    def write(self, name: str, arrays: Mapping[str, np.ndarray]) -> None:
        """Save arrays by a name; those that were there stay where that fails.

        Then it is said once: what runs is worth more than what cannot be saved.
        """
        if self.path is None:
            return
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **arrays)
        try:
            write_whole(self._file(self.path, name), _sealed(buffer.getvalue()))
        except AdjoinError as error:
            if not self.told:
                self.told.append(str(error))
                warnings.warn(
                    f"the checkpoint falls behind: {error}. The run goes on, its result is not"
                    " touched, and what was saved before is kept; free some space there",
                    stacklevel=2,
                )


@dataclass
class Part:
    """The chains of a checkpoint that are run together, and for how many seconds in all."""

    checkpoint: Checkpoint
    name: str
    earlier: float = 0.0
    begin: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since they began, without the time when nothing ran."""
        return self.earlier + time.perf_counter() - self.begin

    def keeper(self, engine: Engine, n_samples: int, number: int, phase: str = "") -> Keeper:
        """What saves one chain; a chain that meets the others has a phase before that."""
        return Keeper(self, engine, n_samples, f"{self.name}.{number}{phase and '.'}{phase}")


@dataclass
class Keeper:
    """Saves one chain now and then."""

    part: Part
    engine: Engine
    n_samples: int
    name: str
    _last: float = 0.0
    _pause: float = -1.0
    _is_new: bool = False

    def load(self) -> Packed | None:
        """The chain as it was saved, if it was; from here on the time until it is saved counts.

        Raises
        ------
        CheckpointError
            If it is longer than is wanted, or would be another one by now, had it been begun with
            as many samples as are wanted.
        """
        self._last = time.monotonic()
        found = self.part.checkpoint.read(self.name)
        if found is not None:
            self.part.earlier = max(self.part.earlier, float(found.pop(_SECONDS)[0]))
            n_saved, *course = found.pop(_COURSE).tolist()
            if n_saved > self.n_samples:
                raise CheckpointError(
                    f"chains in '{self.part.checkpoint.path}' have {int(n_saved)} samples, and"
                    f" {self.n_samples} are wanted; a run is made longer, never shorter"
                )
            self._require_course(course)
        return found

    @property
    def _course(self) -> list[float]:
        """All of a chain's law that may depend on the number of samples."""
        return [float(self.engine.power), *map(float, self.engine.schedule)]

    def _require_course(self, saved: list[float]) -> None:
        if saved == self._course:
            return
        folder, (power, *schedule) = self.part.checkpoint.path, saved
        if power != self._course[0]:
            raise CheckpointError(
                f"a run of {self.n_samples} samples is not the one in '{folder}' made longer: its"
                f" likelihood power is {self._course[0]:.4g} and was {power:.4g}, as the first run"
                f" for it is longer too; pass likelihood_power={power!r} to a new run"
            )
        n_settled = int(schedule[-1]) if schedule else 0
        share = math.floor(1e8 * (n_settled + 0.5) / self.n_samples) / 1e8
        wanted = self.engine.settled_by.format(share=share)
        raise CheckpointError(
            f"a run of {self.n_samples} samples is not the one in '{folder}' made longer: chains"
            f" there have settled after {n_settled} samples, and these would after"
            f" {int(max(self.engine.schedule, default=0))}; pass {wanted} to make it longer"
        )

    def look(self, chain: Chain | PiecewiseChain) -> None:
        """After each piece of work: save it if it is time to."""
        self._is_new = True
        pause = PAUSE if self._pause < 0.0 else self._pause
        # A clock that only goes forward: that of the day may jump.
        if time.monotonic() - self._last >= pause:
            self.close(chain)

    def close(self, chain: Chain | PiecewiseChain) -> None:
        """Save what is not saved yet."""
        if not self._is_new:
            return
        begin = time.monotonic()
        course = np.array([chain.n_samples, *self._course])
        more = {_SECONDS: np.array([self.part.seconds]), _COURSE: course}
        self.part.checkpoint.write(self.name, {**chain.pack(), **more})
        self._last, self._is_new = time.monotonic(), False
        self._pause = max(PAUSE, (self._last - begin) / _SHARE)


@contextmanager
def keep(
    path: str | os.PathLike[str] | Checkpoint | None,
    describe: Callable[[], Mapping[str, Any]],
    seed: int | None,
    may_grow: bool = False,
) -> Iterator[Checkpoint]:
    """Open a checkpoint, new or of an earlier process, and hold it for this one.

    Parameters
    ----------
    path : path, Checkpoint or None
        A folder: a checkpoint, empty or not there yet. None: nothing is kept. One that is open is
        of a run that this one is a part of.
    describe : callable
        Gives what the run is of, as plain values: see `described.describe_run`.
    seed : int, optional
        Of the run. None: a new one every time, but one that goes on has the seed it began with.
    may_grow : bool
        Whether a run with fewer samples is gone on with.

    Raises
    ------
    CheckpointError
        If it is of other data or settings, which are named; if another process holds it, if it
        cannot be written, is damaged, or the folder is something else.
    """
    entropy = int(np.random.SeedSequence(seed).entropy)  # type: ignore[arg-type]
    if path is None or isinstance(path, Checkpoint):
        yield replace(path or Checkpoint(), entropy=entropy)
        return
    folder = Path(path)
    with ExitStack() as stack:
        try:
            _make(folder)
            stack.enter_context(locked(folder / LOCK))
            described = {**describe(), "adjoin": __version__}
            entropy = _begin(folder, described, entropy, may_grow)
        except AdjoinError as error:
            raise CheckpointError(str(error)) from None
        try:
            yield Checkpoint(folder, entropy)
        except KeyboardInterrupt as stopped:
            if _has_arrays(folder):
                stopped.add_note(
                    f"the checkpoint '{folder}' has what was drawn, and goes on from there"
                )
            raise
        finally:
            if not _has_arrays(folder):  # nothing was drawn: nothing is left behind
                (folder / MANIFEST).unlink(missing_ok=True)
                _remove_empty(folder)


def _begin(folder: Path, described: Mapping[str, Any], entropy: int, may_grow: bool) -> int:
    """Make sure that a folder is the checkpoint of what is described; the entropy of its seed."""
    remove_partials(folder)
    begun, manifest = json.loads(json.dumps(described)), folder / MANIFEST
    if not manifest.exists():
        # Written before anything is drawn: what cannot be saved is better known now.
        write_whole(manifest, _manifest_text(begun, entropy))
        return entropy
    saved = _read_manifest(manifest)
    entropy, run = int(saved["entropy"]), saved["run"]
    if not (found := differences(run, begun)):
        return entropy
    is_length = differ_in_length(run, begun)
    if is_length and may_grow:  # chains that would be other ones are refused when they are read
        write_whole(manifest, _manifest_text(begun, entropy))
        return entropy
    hint = "; warm_start=True makes a run longer" if is_length else ""
    raise AdjoinError(
        f"'{folder}' is the checkpoint of another run: {'; '.join(found)}. Leave that as it was to"
        f" go on, or delete the folder to begin anew{hint}"
    )


def is_checkpoint(path: Path) -> bool:
    """Whether a folder is one."""
    return (path / MANIFEST).is_file()


def require_free(path: Path) -> None:
    """Refuse a checkpoint that another process holds."""
    with locked(path / LOCK):
        pass


def remove(path: Path) -> None:
    """Delete a checkpoint, and nothing else that may be in its folder.

    Raises
    ------
    AdjoinError
        If another process holds it.
    """
    if not path.is_dir():
        return
    with locked(path / LOCK):
        remove_partials(path)
        for file in path.iterdir():
            if file.name == MANIFEST or file.name.endswith(ENDING):
                file.unlink(missing_ok=True)
        _remove_empty(path)


def _has_arrays(folder: Path) -> bool:
    return any(folder.glob(f"*{ENDING}"))


def _remove_empty(folder: Path) -> None:
    """Remove a folder in which there is nothing but the lock that is held."""
    with suppress(OSError):  # there is something of somebody else's, or a system that holds it
        (folder / LOCK).unlink()
        folder.rmdir()


def _make(folder: Path) -> None:
    try:
        folder.mkdir(exist_ok=True)
        others = [] if is_checkpoint(folder) else [file.name for file in folder.iterdir()]
    except OSError as error:
        raise AdjoinError(f"cannot keep a checkpoint in '{folder}': {error.strerror}") from None
    if strangers := [name for name in others if name != LOCK and not name.startswith(".adjoin-")]:
        raise AdjoinError(
            f"'{folder}' is no checkpoint but has other files, such as '{min(strangers)}'; name a"
            " folder that is not there yet"
        )


def _manifest_text(begun: Mapping[str, Any], entropy: int) -> str:
    # As text: a seed of 128 bits is no number that every reader of JSON has.
    found = {"format": _FORMAT, "version": _VERSION, "entropy": str(entropy), "run": begun}
    return json.dumps(found | {"sha256": _digest(found)}, indent=1) + "\n"


def _read_manifest(file: Path) -> dict[str, Any]:
    with opened(file) as stream:
        content = stream.read()
    try:
        found = json.loads(content)
        digest = found.pop("sha256")
        is_whole = digest == _digest(found)
    except (ValueError, KeyError, AttributeError, TypeError):
        is_whole = False
    if not is_whole:
        raise AdjoinError(
            f"'{file}' is damaged, so that nobody knows what the checkpoint is of; put a copy"
            " in its place, or delete the folder to begin anew"
        )
    if (found.get("format"), found.get("version")) != (_FORMAT, _VERSION):
        raise AdjoinError(
            f"'{file}' was written by another version of adjoin; go on with that one, or delete the"
            " folder to begin anew"
        )
    return dict(found)


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def _sealed(content: bytes) -> bytes:
    return (
        content + f"\n{_FORMAT} {_VERSION} sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
    )


def _unsealed(whole: bytes) -> bytes:
    """The content of a file whose checksum is right; of another, a ValueError."""
    content, end = whole[:-_SEAL_SIZE], _SEAL.fullmatch(whole[-_SEAL_SIZE:])
    if end is None or hashlib.sha256(content).hexdigest().encode() != end[1]:
        raise ValueError("damaged")
    return content
