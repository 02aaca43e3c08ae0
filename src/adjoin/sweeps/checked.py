"""What a job is of: its data, read and split, and the description that tells it from another.

Receives a `Source` and a `Job`; refuses, before anything runs, what could not be run, with its
place in the plan. The same reading and describing is done once more where a job runs, so that data
that have changed meanwhile are noticed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from adjoin.data.dataset import Dataset
from adjoin.discovery.discovery import prepare_work
from adjoin.errors import AdjoinError
from adjoin.exchange.data_files import read_tables
from adjoin.identifier import Identifier
from adjoin.inference.described import describe_data, describe_run
from adjoin.inference.options import identifier_arguments
from adjoin.sweeps.jobs import Job
from adjoin.sweeps.plan import DISCOVER, FIT, Plan, Source, at
from adjoin.version import __version__

_SHARED = ("max_lag", "max_degree", "functions", "initial")  # what a discovery and a fit ask alike


class Parts(NamedTuple):
    """Data that are fitted, held out, and scored; `everything` is the first two together."""

    everything: Dataset
    train: Dataset
    held_out: Dataset | None
    test: Dataset | None


def read_parts(source: Source) -> Parts:
    """Read the files of a data set; errors name the place in the plan."""
    with at("file"):
        everything = read_tables([Path(file) for file in source.files], **source.reading)
        everything.require_variation()
    train, held_out = everything, None
    with at("validation"):
        if isinstance(source.validation, tuple):
            held_out = _read_more(source.validation, everything, source.reading)
        elif source.validation is not None:
            train, held_out = everything.split(1.0 - source.validation)
    with at("test"):
        test = _read_more(source.test, everything, source.reading) if source.test else None
    return Parts(everything, train, held_out, test)


def _read_more(files: tuple[str, ...], data: Dataset, reading: Mapping[str, Any]) -> Dataset:
    """Other records of the same signals, prepared in the same way."""
    names = {"inputs": ",".join(data.names.inputs), "output": data.names.output}
    return read_tables([Path(file) for file in files], **{**reading, **names})


def identifier_of(job: Mapping[str, Any], **more: Any) -> Identifier:
    """The `Identifier` of a job that is a fit."""
    return Identifier(
        **identifier_arguments(**job["options"]),
        seed=job["seed"],
        n_jobs=1,
        progress=False,
        **more,
    )


def asked_of(job: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a discovery."""
    share = job["source"]["validation"]
    return {**job["options"], "validation": share, "seed": job["seed"], "n_jobs": 1}


def describe(job: Mapping[str, Any], parts: Parts) -> dict[str, Any]:
    """What makes a job what it is, as JSON has it; arguments that mean nothing are refused."""
    if job["command"] == DISCOVER:
        if isinstance(job["source"]["validation"], tuple | list):
            raise AdjoinError(
                "a discovery holds out a share of its data, not a file; say validation = 0.3, or"
                " name the file as test"
            )
        work, asked = prepare_work(parts.everything, **asked_of(job))
        work.hold_out(asked["validation"], asked["max_lag"])
        shared = {k: v for k, v in job["options"].items() if k in _SHARED and v is not None}
        Identifier(**{"max_lag": 1, "max_degree": 2, **shared}).check(parts.everything)
        found = describe_run(DISCOVER, asked, parts.everything)
    else:
        identifier = identifier_of(job)
        identifier.check(parts.train, held_out=parts.held_out)
        found = describe_run(FIT, identifier.get_params(), parts.train, parts.held_out)
    found["test"] = None if parts.test is None else describe_data(parts.test)
    described: dict[str, Any] = json.loads(json.dumps({**found, "adjoin": __version__}))
    return described


def describe_jobs(plan: Plan, jobs: tuple[Job, ...]) -> dict[str, dict[str, Any]]:
    """The description of every job by its name; the first that could not be run is refused."""
    found = {}
    for source in plan.sources:
        with at(plan.title, f"[data.{source.name}]"):
            parts = read_parts(source)
        for job in jobs:
            if job.source is not source:
                continue
            whose = f"[settings.{job.setting}]" + (f" on '{source.name}'" if plan.sources else "")
            with at(plan.title, whose):
                found[job.name] = _described(job, parts)
    return found


def _described(job: Job, parts: Parts) -> dict[str, Any]:
    try:
        return describe(job.plain, parts)
    except (TypeError, AttributeError, ValueError) as error:
        if isinstance(error, AdjoinError):
            raise
        # Whatever is no number where one is needed was written by the user.
        given = ", ".join(f"{key} = {value!r}" for key, value in job.options.items())
        raise AdjoinError(f"an option has a value of the wrong kind ({error}): {given}") from None
