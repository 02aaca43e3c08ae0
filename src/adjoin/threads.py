"""How many threads to use, and what work in them costs."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

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
    nearly collinear that is enough to make a search take another way. The limit is one of the whole
    process: where threads are in here at the same time, the last that leaves takes it away.
    """
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class _Limit:
    """One thread for linear algebra, as long as anybody wants it."""

    def __init__(self) -> None:
        self._lock, self._n_inside, self._found = threading.Lock(), 0, ExitStack()

    def enter(self) -> None:
        """Set it, also for what was loaded since it was set."""
        from threadpoolctl import threadpool_info, threadpool_limits

        with self._lock:
            loaded = [one for one in threadpool_info() if one["user_api"] == "blas"]
            if not self._n_inside or any(one["num_threads"] > 1 for one in loaded):
                self._found.enter_context(threadpool_limits(1, user_api="blas"))
            self._n_inside += 1

    def leave(self) -> None:
        """Take it away, unless somebody else needs it."""
        with self._lock:
            self._n_inside -= 1
            if not self._n_inside:
                self._found.close()


_limit = _Limit()
