"""One job, done in whatever process it is called in, here or on another machine.

Receives a task of plain values; leaves ``run.nc`` and ``job.json`` in the folder of the job, and
gives what ``job.json`` says. While it runs, ``run.nc.checkpoint`` is beside them, as of a fit.
"""

from __future__ import annotations

import time
import traceback
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from adjoin.discovery.discovery import discover
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.inference.checkpoint import remove
from adjoin.inference.described import differences
from adjoin.posterior import Posterior
from adjoin.results.assessment import Assessment, assess
from adjoin.sweeps.checked import Parts, asked_of, describe, identifier_of, read_parts
from adjoin.sweeps.folder import (
    CHECKPOINT,
    DONE,
    FAILED,
    RUN,
    RUNNING,
    STOPPED,
    source_of,
    write_record,
)
from adjoin.sweeps.plan import DISCOVER
from adjoin.threads import one_blas_thread


@one_blas_thread()
def run_job(task: Mapping[str, Any]) -> dict[str, Any]:
    """Do one job; what came of it, also where it failed.

    Parameters
    ----------
    task : mapping
        ``job`` (its plain values), ``described`` (what it is to be of), ``folder`` (its own),
        ``attempts`` (how many there have been with this one) and ``memory_mb`` (for tables; None:
        that of a fit).
    """
    folder, begin = Path(task["folder"]), time.perf_counter()
    record = begin_record(task)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DivergenceWarning)  # scores and shares of draws say it
        try:
            write_record(folder, record)
            record |= _done(task, folder)
        except KeyboardInterrupt:
            record |= {"state": STOPPED, "error": "it was told to stop"}
        except AdjoinError as error:
            record |= {"state": FAILED, "error": str(error)}
        except Exception as error:
            # Whatever it is, the other jobs go on; what is to be mended is kept with the job.
            said = f"{type(error).__name__}: {error}"
            record |= {"state": FAILED, "error": said, "traceback": traceback.format_exc()}
    record["notes"] = list(dict.fromkeys(str(warning.message) for warning in caught))
    record["seconds"] = time.perf_counter() - begin
    try:
        write_record(folder, record)
        if record["state"] == DONE:
            remove(folder / CHECKPOINT)
    except AdjoinError as error:
        record |= {"state": FAILED, "error": str(error)}
    return record


def begin_record(task: Mapping[str, Any]) -> dict[str, Any]:
    """What is known of a job before it has done anything."""
    return {
        **task["job"],
        "state": RUNNING,
        "attempts": task["attempts"],
        "described": task["described"],
        "error": None,
    }


def _done(task: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    job = task["job"]
    parts = read_parts(source_of(job["source"]))
    if found := differences(task["described"], describe(job, parts)):
        raise AdjoinError(f"since the sweep began, {'; '.join(found)}; start it again")
    posterior = _found(job, parts, folder / CHECKPOINT, task["memory_mb"])
    posterior.save(folder / RUN)
    test = Path(job["source"]["test"][0]).name if parts.test is not None else "test"
    return {"state": DONE, **_findings(assess(posterior, parts.test, test_name=test))}


def _found(
    job: Mapping[str, Any], parts: Parts, checkpoint: Path, memory_mb: int | None
) -> Posterior:
    """The posterior, which knows the command that would make it again."""
    source = job["source"]
    share = source["validation"] if isinstance(source["validation"], float) else None
    typed = {**source["reading"], **job["options"], "seed": job["seed"]}
    if share is not None:
        typed["validation"] = share
    if job["command"] == DISCOVER:
        found = discover(parts.everything, **asked_of(job), checkpoint=checkpoint)
        return found.with_source(source["files"], typed).posterior
    room = {} if memory_mb is None else {"memory_mb": memory_mb}
    identifier = identifier_of(job, checkpoint=checkpoint, **room)
    identifier.fit(parts.train, held_out=parts.held_out)
    if not identifier.is_complete_:
        raise KeyboardInterrupt  # half a run is no result to hold against the others
    return identifier.posterior_.with_source(source["files"], share, typed)


def _findings(assessment: Assessment[Posterior]) -> dict[str, Any]:
    """What the table shows, and all scores in their one shape."""
    verdict = assessment.verdict
    return {
        "equation": assessment.model.equation,
        "n_terms": len(assessment.model.structure),
        "scores": {part.name: part.scores.plain for part in assessment.parts},
        "judged_on": assessment.parts[-1].name,
        "verdict": {"level": verdict.level, "summary": verdict.summary},
    }
