"""`Sweep`: what came of all jobs, as tables.

Receives the records of jobs; computes nothing but medians and ranges over seeds. The error that
counts is that of the free run on the last part of the data there is: test data, else what was held
out, else what was fitted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from adjoin.errors import AdjoinError
from adjoin.files import write_whole
from adjoin.inference.described import plain as plain_values
from adjoin.markup import html_heading, html_notes, html_table
from adjoin.posterior import Posterior, load
from adjoin.sweeps.folder import DONE, FAILED, RUN, TABLE
from adjoin.sweeps.jobs import Job
from adjoin.text import UNKNOWN, counted, figure
from adjoin.version import __version__

if TYPE_CHECKING:
    import pandas as pd

WAITING = "waiting"
"""The state of a job that has not begun."""
_NOT_TOLD = ("described", "traceback", "source")
HEADS = ("setting", "free run %", "lowest", "highest", "terms", "seconds", "seeds")


class Group(NamedTuple):
    """The jobs of one data set and setting, over their seeds; NMSE in percent.

    None stands for what no job has, and an infinite error for a free run that was lost.
    """

    data: str
    setting: str
    n_jobs: int
    n_done: int
    judged_on: str | None
    nmse: float | None
    lowest: float | None
    highest: float | None
    n_terms: float | None
    seconds: float | None

    @property
    def texts(self) -> tuple[str, ...]:
        """A row of the table of its data set, below `HEADS`."""
        errors = [_error_text(value) for value in (self.nmse, self.lowest, self.highest)]
        terms = UNKNOWN if self.n_terms is None else f"{self.n_terms:g}"
        seconds = UNKNOWN if self.seconds is None else figure(self.seconds)
        of_all = "" if self.n_done == self.n_jobs else f" of {self.n_jobs}"
        return (self.setting, *errors, terms, seconds, f"{self.n_done}{of_all}")


def _error_text(value: float | None) -> str:
    if value is None:
        return UNKNOWN
    return figure(value) if math.isfinite(value) else "runs away"


@dataclass(frozen=True, eq=False, repr=False)
class Sweep:
    """A sweep as it stands.

    Parameters
    ----------
    folder : Path
    jobs : tuple of Job
        All of the plan, in its order.
    records : mapping
        What came of each, by name; those that have not begun are not in it.
    skipped : frozenset of str
        Those that were finished before.
    """

    folder: Path
    jobs: tuple[Job, ...]
    records: Mapping[str, dict[str, Any]]
    skipped: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        return f"Sweep({self.words})"

    @property
    def words(self) -> str:
        """How many jobs there are, and how many of them are not done."""
        n_done = sum(self._state(job) == DONE for job in self.jobs)
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"{n_done} of {counted(len(self.jobs), 'job')} done{failed} in '{self.folder}'"

    def _state(self, job: Job) -> str:
        return str(self.records.get(job.name, {}).get("state", WAITING))

    @property
    def failed(self) -> dict[str, str]:
        """What went wrong, by the name of the job."""
        found = [self.records[job.name] for job in self.jobs if self._state(job) == FAILED]
        return {record["name"]: str(record["error"]) for record in found}

    @property
    def is_complete(self) -> bool:
        """Whether all jobs are done."""
        return all(self._state(job) == DONE for job in self.jobs)

    def load(self, name: str) -> Posterior:
        """The run of a job by its name."""
        if name not in {job.name for job in self.jobs}:
            raise AdjoinError(f"the sweep has no job '{name}'; its names are those of the table")
        return load(self.folder / name / RUN)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each job, in the order of the plan; what varies has columns of its own.

        Of the free run on the part that counts (``judged_on``): RMSE in the unit of the output,
        NMSE in percent of its variance, the fit index, and the share of draws that ran away.
        """
        import pandas as pd

        varied = dict.fromkeys(name for job in self.jobs for name in job.varied)
        return pd.DataFrame([self._row(job, tuple(varied)) for job in self.jobs]).set_index("name")

    def _row(self, job: Job, varied: tuple[str, ...]) -> dict[str, Any]:
        record = self.records.get(job.name, {})
        judged_on = record.get("judged_on")
        scores = record["scores"][judged_on] if judged_on else {}
        free, ahead = scores.get("free_run", {}), scores.get("one_step", {})
        return {
            "name": job.name,
            "data": job.source.name,
            "setting": job.label,
            **{name: job.varied.get(name) for name in varied},
            "seed": job.seed,
            "state": self._state(job),
            "judged_on": judged_on,
            "free_run_rmse": free.get("rmse"),
            "free_run_nmse": free.get("nmse"),
            "free_run_fit": free.get("fit"),
            "diverged": free.get("diverged"),
            "one_step_rmse": ahead.get("rmse"),
            "one_step_nmse": ahead.get("nmse"),
            "coverage": scores.get("coverage"),
            "n_terms": record.get("n_terms"),
            "verdict": record.get("verdict", {}).get("level"),
            "seconds": record.get("seconds"),
            "attempts": record.get("attempts", 0),
            "equation": record.get("equation"),
            "error": record.get("error"),
        }

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """Data set by data set, settings with the smallest error first; the median of the seeds."""
        found: dict[tuple[str, str], list[Job]] = {}
        for job in self.jobs:
            found.setdefault((job.source.name, job.label), []).append(job)
        groups = [self._group(*key, jobs) for key, jobs in found.items()]
        order = list(dict.fromkeys(group.data for group in groups))
        return tuple(sorted(groups, key=lambda group: (order.index(group.data), _rank(group.nmse))))

    def _group(self, data: str, setting: str, jobs: Sequence[Job]) -> Group:
        done = [self.records[job.name] for job in jobs if self._state(job) == DONE]
        frees = [record["scores"][record["judged_on"]]["free_run"] for record in done]
        errors = [math.inf if free["nmse"] is None else free["nmse"] for free in frees]
        return Group(
            data,
            setting,
            len(jobs),
            len(done),
            done[0]["judged_on"] if done else None,
            median(errors) if done else None,
            min(errors, default=None),
            max(errors, default=None),
            median(record["n_terms"] for record in done) if done else None,
            median(record["seconds"] for record in done) if done else None,
        )

    @cached_property
    def summary(self) -> pd.DataFrame:
        """A row for each data set and setting: the median and range of the error over seeds."""
        import pandas as pd

        return pd.DataFrame(self.groups, columns=Group._fields)

    @property
    def plain(self) -> dict[str, Any]:
        """All of it as JSON has it; scores have the one shape of all JSON."""
        found: dict[str, Any] = plain_values(
            {
                "folder": str(self.folder),
                "jobs": [self._facts(job) for job in self.jobs],
                "summary": [_finite(group) for group in self.groups],
                "n_jobs": len(self.jobs),
                "n_done": sum(self._state(job) == DONE for job in self.jobs),
                "n_skipped": len(self.skipped),
                "failed": self.failed,
                "version": __version__,
            }
        )
        return found

    def _facts(self, job: Job) -> dict[str, Any]:
        """What is told of a job: its record, but for what only whoever mends it wants to know."""
        state = self._state(job)
        facts = {
            **job.plain,
            **self.records.get(job.name, {}),
            "state": state,
            "skipped": job.name in self.skipped,
            "run": str(self.folder / job.name / RUN) if state == DONE else None,
        }
        return {name: value for name, value in facts.items() if name not in _NOT_TOLD}

    def write_table(self) -> None:
        """Save the table of jobs as CSV, beside their folders."""
        write_whole(self.folder / TABLE, self.table.to_csv())

    def _repr_html_(self) -> str:
        rows = [(group.data, *group.texts) for group in self.groups]
        said = [f"{name}: {error}" for name, error in self.failed.items()]
        head = html_heading("Sweep", self.words)
        return head + html_table(("data", *HEADS), rows) + html_notes(said)


def _rank(value: float | None) -> float:
    return math.inf if value is None else value


def _finite(group: Group) -> dict[str, Any]:
    """A group as plain values; the error of a free run that was lost is none."""
    facts = group._asdict()
    return {name: None if value == math.inf else value for name, value in facts.items()}
