"""The folder of a sweep: what is there already, and what may be done with it.

::

    sweep.json      that it is one, and its jobs
    lock            held by the process that runs the sweep
    table.csv       a row for each job
    JOB/job.json    what the job is of, and what came of it
    JOB/run.nc      its run, once it is finished; until then run.nc.checkpoint

Receives jobs with their descriptions; says which are finished, and refuses what would lose a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjoin.errors import AdjoinError
from adjoin.files import opened, remove_partials, write_whole
from adjoin.inference.checkpoint import is_checkpoint, remove
from adjoin.inference.described import differences, plain
from adjoin.sweeps.plan import Source

MANIFEST, LOCK, TABLE = "sweep.json", "lock", "table.csv"
RECORD, RUN, CHECKPOINT = "job.json", "run.nc", "run.nc.checkpoint"
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"
_FORMAT, _VERSION = "adjoin-sweep", 1


def source_of(plain: Mapping[str, Any]) -> Source:
    """A data set from its plain values, whichever way they came here."""
    share = plain["validation"]
    return Source(
        plain["name"],
        tuple(plain["files"]),
        plain["reading"],
        tuple(share) if isinstance(share, list | tuple) else share,
        tuple(plain["test"]),
    )


def open_folder(folder: Path) -> None:
    """Make the folder of a sweep, or make sure that it is one."""
    try:
        folder.mkdir(exist_ok=True)
        names = sorted(file.name for file in folder.iterdir())
    except FileExistsError:
        raise AdjoinError(f"'{folder}' is a file; name a folder") from None
    except OSError as error:
        raise AdjoinError(f"cannot sweep into '{folder}': {error.strerror or error}") from None
    others = [name for name in names if name != LOCK and not name.startswith(".adjoin-")]
    if others and MANIFEST not in names:
        raise AdjoinError(
            f"'{folder}' is no sweep but has other files, such as '{others[0]}'; name a folder that"
            " is not there yet"
        )


def write_manifest(folder: Path, names: list[str]) -> None:
    """Say that the folder is a sweep, and of which jobs; what killed writers left is removed."""
    remove_partials(folder)
    found = {"format": _FORMAT, "version": _VERSION, "jobs": names}
    write_whole(folder / MANIFEST, json.dumps(found, indent=1) + "\n")


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Save what is known of a job in its folder, which is made if need be."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise AdjoinError(f"cannot write '{folder}': {error.strerror or error}") from None
    write_whole(folder / RECORD, json.dumps(plain(record), indent=1, allow_nan=False) + "\n")


def read_record(folder: Path) -> dict[str, Any] | None:
    """What is known of a job; None where there is nothing yet."""
    file = folder / RECORD
    if not file.exists():
        return None
    with opened(file) as stream:
        content = stream.read()
    try:
        found: dict[str, Any] = json.loads(content)
        _ = found["described"], found["state"]
    except (ValueError, KeyError, TypeError):
        raise AdjoinError(
            f"'{file}' is damaged, so that nobody knows what the job is of; delete the folder"
            f" '{folder}', and the job is run anew"
        ) from None
    return found


def look(
    folder: Path, described: Mapping[str, Mapping[str, Any]], force: bool
) -> dict[str, dict[str, Any]]:
    """What was known of each job, by name.

    Jobs that are of other data or settings now are refused, or with `force` cleared away.

    Raises
    ------
    AdjoinError
        Which names the first of them, and what differs.
    """
    found, changed = {}, {}
    for name, wanted in described.items():
        record = read_record(folder / name)
        if record is None:
            continue
        remove_partials(folder / name)
        if words := differences(record["described"], wanted):
            changed[name] = "; ".join(words)
        else:
            found[name] = record
    if changed and not force:
        first, said = next(iter(changed.items()))
        more = f", and so are {len(changed) - 1} more" if len(changed) > 1 else ""
        raise AdjoinError(
            f"'{folder / first}' is of another job: {said}{more}. Leave that as it was, sweep into"
            " another folder, or run what has changed anew with force=True"
        )
    for job in changed:
        clear(folder / job)
    return found


def clear(folder: Path) -> None:
    """Delete what a job has left behind, and nothing else that may be in its folder."""
    remove(folder / CHECKPOINT)
    for name in (RUN, RECORD):
        (folder / name).unlink(missing_ok=True)


def is_finished(folder: Path, record: Mapping[str, Any] | None) -> bool:
    """Whether there is nothing left to do; a checkpoint that is of no more use then goes."""
    if record is None or record["state"] != DONE or not (folder / RUN).is_file():
        return False
    if is_checkpoint(folder / CHECKPOINT):
        remove(folder / CHECKPOINT)
    return True
