"""How many threads to use, and what work in them costs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_others = threading.local()


def n_workers(n_jobs: int | None, n_tasks: int) -> int:
    """How many tasks run at a time; None and -1: one per core that this process may use."""
    if n_jobs is None or n_jobs == -1:
        can_ask = hasattr(os, "sched_getaffinity")
        n_jobs = len(os.sched_getaffinity(0)) if can_ask else os.cpu_count() or 1
    return max(1, min(n_jobs, n_tasks))


def cpu_seconds() -> float:
    """CPU seconds of this thread, and of the threads that it had work done in.

    Seconds of a clock would count how busy the machine is with other candidates.
    """
    return time.thread_time() + getattr(_others, "seconds", 0.0)


def add_cpu_seconds(seconds: float) -> None:
    """Count what another thread took for this one."""
    _others.seconds = getattr(_others, "seconds", 0.0) + seconds


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra in one thread, as long as this lasts; also a decorator.

    With several, the last digits of a sum depend on how many cores there are. Where terms are
    nearly collinear that is enough to make a search take another way.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
