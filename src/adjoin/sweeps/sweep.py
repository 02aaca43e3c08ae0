"""`sweep`: many runs in many processes, each kept as soon as it is there.

Receives a plan; runs what of it is not finished, and gives a `Sweep`. What a job finds depends on
its data, settings and seed alone, not on the process it is in nor on how many there are.
"""

from __future__ import annotations

import inspect
import multiprocessing
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adjoin.checks import is_count, require_count
from adjoin.errors import AdjoinError
from adjoin.files import locked
from adjoin.identifier import Identifier
from adjoin.inference.engines import find_engine
from adjoin.inference.objective import SIMULATION
from adjoin.kernels._jit import is_compiled
from adjoin.sweeps.checked import describe_jobs
from adjoin.sweeps.collected import Sweep
from adjoin.sweeps.folder import (
    DONE,
    FAILED,
    LOCK,
    STOPPED,
    is_finished,
    look,
    open_folder,
    read_record,
    write_manifest,
    write_record,
)
from adjoin.sweeps.jobs import Job, make_jobs
from adjoin.sweeps.plan import DISCOVER, read_plan
from adjoin.sweeps.processes import CannotStart, Processes
from adjoin.sweeps.work import begin_record, run_job
from adjoin.text import counted
from adjoin.threads import n_workers

Task = dict[str, Any]
_MEMORY_MB = inspect.signature(Identifier).parameters["memory_mb"].default
"""For the tables of all processes together, as a fit has it for all its threads."""
_TICK = 0.2  # seconds between two moments at which Ctrl-C is heard


def sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    out: str | os.PathLike[str] | None = None,
    *,
    n_jobs: int | None = None,
    retries: int = 1,
    force: bool = False,
    executor: Executor | None = None,
    observe: Callable[[str], None] | None = None,
) -> Sweep:
    """Run every setting of a plan on every data set with every seed, in several processes.

    All of the plan is checked before anything runs. Every job has a folder with its run, its
    checkpoint while it runs, and what came of it. The same call again skips what is finished, goes
    on with what was stopped or killed, and tries what failed once more.

    Parameters
    ----------
    plan : path or mapping
        A TOML file, or a mapping of the same shape: tables ``data`` and ``settings`` by name, and
        ``seeds``. Files are found from the folder of the plan.
    out : path, optional
        The folder. Default: that of the name of the plan, without its ending.
    n_jobs : int, optional
        Processes at a time, each with one thread. Default: one per core.
    retries : int
        How many more times a job that fails is tried.
    force : bool
        Whether jobs whose data or settings have changed since they were run are run anew, and
        their runs replaced. Default: they are refused, naming what has changed.
    executor : concurrent.futures.Executor, optional
        Where jobs are run instead, such as that of a cluster whose machines see the same files. It
        stays open, and has all jobs at once.
    observe : callable, optional
        Told, in words, how far it is.

    Returns
    -------
    Sweep
        ``table`` (a row for each job), ``summary`` (over the seeds), ``failed``, and ``load``.

    Raises
    ------
    KeyboardInterrupt
        After Ctrl-C, when all jobs have saved what they have.
    """
    if getattr(multiprocessing.current_process(), "_inheriting", False):
        raise AdjoinError(
            "this process was begun by a sweep, and reads the script that began it: there, sweep"
            " below the line  if __name__ == '__main__':"
        )
    if not is_count(retries) and retries != 0:
        raise AdjoinError(f"retries must be a whole number from 0 on, not {retries!r}")
    if n_jobs is not None and n_jobs != -1:
        require_count("n_jobs", n_jobs)
    say = observe or (lambda words: None)
    folder = _folder(plan, out)
    say("reading the plan and its data")
    read = read_plan(plan)
    jobs = make_jobs(read)
    described = describe_jobs(read, jobs)
    open_folder(folder)
    with locked(folder / LOCK):
        records = look(folder, described, force)
        write_manifest(folder, [job.name for job in jobs])
        is_old = {job.name: is_finished(folder / job.name, records.get(job.name)) for job in jobs}
        n_processes = n_workers(n_jobs, sum(not old for old in is_old.values()))
        memory_mb = None if executor is not None else max(_MEMORY_MB // n_processes, 1)
        tasks = [
            {
                **_task(job, folder / job.name, described[job.name], records.get(job.name)),
                "memory_mb": memory_mb,
            }
            for job in jobs
            if not is_old[job.name]
        ]
        teller = _Teller(say, len(jobs), len(jobs) - len(tasks))
        found = Sweep(folder, jobs, records, frozenset(n for n, old in is_old.items() if old))
        try:
            with _somewhere(executor, n_processes) as place:
                for batch in _batches(tasks, executor is not None):
                    for record in _run(batch, place, retries):
                        records[record["name"]] = record
                        teller.tell(record)
        except KeyboardInterrupt as stopped:
            stopped.add_note(f"what was drawn is kept in '{folder}': the same sweep goes on there")
            raise
        finally:
            records |= _left(tasks, records)
            found.write_table()
    return found


def _folder(plan: Any, out: str | os.PathLike[str] | None) -> Path:
    if out is not None:
        return Path(out)
    if isinstance(plan, Mapping):
        raise AdjoinError("a plan that is no file needs a folder for its runs; pass out='sweep'")
    path = Path(plan)
    if not path.suffix:
        raise AdjoinError(f"the plan '{path}' has no ending; name the folder by out='sweep'")
    return path.with_suffix("")


def _task(job: Job, folder: Path, described: Mapping[str, Any], record: Any) -> Task:
    attempts = 0 if record is None else int(record.get("attempts", 0))
    plain = {"job": job.plain, "described": dict(described), "folder": str(folder.resolve())}
    return {**plain, "attempts": attempts + 1}


@contextmanager
def _somewhere(executor: Executor | None, n_processes: int) -> Iterator[Executor]:
    """The executor that was given, or processes of our own, which end with this."""
    if executor is not None:
        yield executor
        return
    own = Processes(n_processes)
    try:
        yield own
    except BaseException:
        own.stop()
        raise
    own.shutdown()


def _batches(tasks: list[Task], is_elsewhere: bool) -> list[list[Task]]:
    """Tasks that may run at the same time.

    Where the machine code of an objective is not compiled yet, one job goes before all others of
    its kind: else every process would compile the same, for minutes.
    """
    first: dict[Any, Task] = {}
    for task in tasks if not is_elsewhere else ():
        job = task["job"]
        kind = _kind(job)
        if kind not in first and not _is_compiled(*kind):
            first[kind] = task
    rest = [task for task in tasks if task not in [*first.values()]]
    return [*([task] for task in first.values()), rest]


def _kind(job: Mapping[str, Any]) -> tuple[str, str, bool]:
    options = job["options"]
    objective = options.get("objective", "prediction")
    return job["command"], objective, bool(options.get("past_noise", False))


def _is_compiled(command: str, objective: str, has_noise: bool) -> bool:
    if command == DISCOVER:
        wanted = [find_engine(SIMULATION.name), find_engine("prediction")]
    else:
        wanted = [find_engine(objective, has_noise=has_noise)]
    return all(is_compiled(engine.kernel) for engine in wanted)


def _run(tasks: Sequence[Task], place: Executor, retries: int) -> Iterator[dict[str, Any]]:
    """Have tasks run; what came of each when it is done or has failed for the last time."""
    tries = dict.fromkeys((task["folder"] for task in tasks), 0)
    pending: dict[Future[dict[str, Any]], Task] = {}
    try:
        for task in tasks:
            if (future := _submit(place, task)) is not None:
                pending[future] = task
            else:
                yield _failed(task, "the executor takes no more jobs")
        while pending:
            done, _ = wait(pending, timeout=_TICK, return_when=FIRST_COMPLETED)
            for future in done:
                task = pending.pop(future)
                record = _outcome(future, task)
                tries[task["folder"]] += 1
                if record["state"] != DONE and tries[task["folder"]] <= retries:
                    again = {**task, "attempts": task["attempts"] + 1}
                    if (retried := _submit(place, again)) is not None:
                        pending[retried] = again
                        continue
                yield record
    except BaseException:
        for future in pending:
            future.cancel()
        raise


def _submit(place: Executor, task: Task) -> Future[Any] | None:
    """Hand a job out; None where nothing can be run any more."""
    try:
        return place.submit(run_job, task)
    except RuntimeError:  # broken, or shut down
        return None


def _outcome(future: Future[Any], task: Task) -> dict[str, Any]:
    """What came of a job; of one whose process has died, that it has."""
    error = future.exception() if not future.cancelled() else RuntimeError("it was cancelled")
    if isinstance(error, CannotStart):
        raise error
    if error is None:
        record: dict[str, Any] = future.result()
        if record["state"] != STOPPED:
            return record
        record |= {"state": FAILED}
    else:
        if not isinstance(error, Exception):
            raise error
        return _failed(task, str(error) or type(error).__name__)
    write_record(Path(task["folder"]), record)
    return record


def _failed(task: Task, error: str) -> dict[str, Any]:
    """Of a job that could not say itself that it has failed."""
    record = begin_record(task) | {"state": FAILED, "error": error}
    write_record(Path(task["folder"]), record)
    return record


def _left(tasks: Sequence[Task], records: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What jobs have written down whose end nobody has waited for."""
    ended = {name for name, record in records.items() if record["state"] in (DONE, FAILED)}
    waiting = [task for task in tasks if task["job"]["name"] not in ended]
    found = {task["job"]["name"]: read_record(Path(task["folder"])) for task in waiting}
    return {name: record for name, record in found.items() if record is not None}


class _Teller:
    """Says how far a sweep is."""

    def __init__(self, say: Callable[[str], None], n_jobs: int, n_old: int) -> None:
        self._say, self._n_jobs, self._n_done, self._n_failed = say, n_jobs, n_old, 0
        skipped = f", {n_old} of them finished before" if n_old else ""
        say(f"{counted(n_jobs, 'job')}{skipped}")

    def tell(self, record: Mapping[str, Any]) -> None:
        """Of a job that has ended."""
        is_done = record["state"] == DONE
        self._n_done += is_done
        self._n_failed += not is_done
        failed = f", {self._n_failed} failed" if self._n_failed else ""
        self._say(f"{self._n_done} of {self._n_jobs} jobs done{failed}; last {record['name']}")
