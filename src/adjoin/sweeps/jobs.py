"""The jobs of a plan: one for each data set, setting, value of its grid, and seed.

Receives a `Plan`; gives `Job`, plain values alone, each with a readable name that is the same
whatever else is in the plan, for its folder.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from adjoin.errors import AdjoinError
from adjoin.sweeps.plan import Plan, Source

_ILLEGAL = re.compile(r"[^\w.+=,-]", re.ASCII)
_LONGEST = 40  # characters of a part of a name


@dataclass(frozen=True)
class Job:
    """One run: a data set, a setting, and a seed.

    Parameters
    ----------
    source : Source
    setting : str
        What the plan calls it.
    command : str
    options : mapping
        Of the command, those of the grid included.
    varied : mapping
        Those of the grid alone.
    seed : int
    """

    source: Source
    setting: str
    command: str
    options: Mapping[str, Any]
    varied: Mapping[str, Any]
    seed: int

    @property
    def label(self) -> str:
        """The setting with its place in the grid: ``cubic, max_lag=3``."""
        return ", ".join([self.setting, *(f"{k}={_text(v)}" for k, v in self.varied.items())])

    @property
    def name(self) -> str:
        """What its folder is called: ``rig-cubic-max_lag=3-seed=0``."""
        parts = [self.source.name, self.setting]
        parts += [f"{key}={_text(value)}" for key, value in self.varied.items()]
        return "-".join([*map(_legal, parts), f"seed={self.seed}"])

    @property
    def plain(self) -> dict[str, Any]:
        """All another process needs to know, but for where."""
        return {
            "name": self.name,
            "data": self.source.name,
            "setting": self.label,
            "command": self.command,
            "options": dict(self.options),
            "varied": dict(self.varied),
            "seed": self.seed,
            "source": asdict(self.source),
        }


def make_jobs(plan: Plan) -> tuple[Job, ...]:
    """All jobs of a plan: data set by data set, setting by setting, seed by seed."""
    found = [
        Job(
            source,
            setting.name,
            setting.command,
            {**setting.options, **(varied := dict(zip(setting.grid, values, strict=True)))},
            varied,
            seed,
        )
        for source in plan.sources
        for setting in plan.settings
        for values in product(*setting.grid.values())
        for seed in plan.seeds
    ]
    taken: dict[str, Job] = {}
    for job in found:  # many systems hold A and a for one name
        other = taken.setdefault(job.name.casefold(), job)
        if other is not job:
            raise AdjoinError(
                f"{plan.title}: '{other.name}' and '{job.name}' would be the same folder; give one"
                " of the data sets or settings another name"
            )
    return tuple(found)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _legal(text: str) -> str:
    """A text as a part of a file name; one that had to change ends in a checksum of what it was."""
    legal = _ILLEGAL.sub("_", text)[:_LONGEST].lstrip(".")
    if legal == text:
        return text
    return f"{legal}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
