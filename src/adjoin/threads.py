"""How many threads to use."""

from __future__ import annotations

import os


def n_workers(n_jobs: int | None, n_tasks: int) -> int:
    """How many tasks run at a time; None and -1: one per core that this process may use."""
    if n_jobs is None or n_jobs == -1:
        can_ask = hasattr(os, "sched_getaffinity")
        n_jobs = len(os.sched_getaffinity(0)) if can_ask else os.cpu_count() or 1
    return max(1, min(n_jobs, n_tasks))
