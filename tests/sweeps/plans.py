"""Small plans, and a job that dies the first time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from tests.systems import simulated

import adjoin
from adjoin.inference.traces import to_arrays
from adjoin.sweeps.work import run_job

QUICK = {"max_lag": 2, "max_degree": 2, "samples": 500, "chains": 1}
"""A fit that takes a fraction of a second."""


def write_rig(folder: Path, name: str = "rig.csv", seed: int = 0) -> Path:
    """A record of a small system."""
    u, y = simulated(n=150, seed=seed)
    path = folder / name
    np.savetxt(path, np.column_stack([u, y]), delimiter=",", header="u,y", comments="")
    return path


def make_plan(folder: Path, **changed: Any) -> dict[str, Any]:
    """A data set, a setting tried with two lags, and one seed."""
    rig, test = write_rig(folder), write_rig(folder, "test.csv", 1)
    data = {"file": str(rig), "output": "y", "validation": 0.2, "test": str(test)}
    settings = {"small": {**QUICK, "max_lag": [1, 2]}}
    return {"data": {"rig": data}, "settings": settings, "seeds": [0], **changed}


def digest(path: Path) -> str:
    """Of all arrays of a saved run."""
    found = hashlib.sha256()
    for trace in adjoin.load(path).traces:
        for name, values in to_arrays(trace).items():
            found.update(f"{name} {values.dtype} {values.shape}".encode() + values.tobytes())
    return found.hexdigest()


def die_once(task: Mapping[str, Any]) -> dict[str, Any]:
    """The job, but the first time of the first seed the process dies of it."""
    if task["attempts"] == 1 and task["job"]["seed"] == 0:
        os._exit(9)
    return run_job(task)
