"""Worker processes of this machine, of which any may die: an executor of ``concurrent.futures``.

A `ProcessPoolExecutor` gives up everything when one of its processes dies, and nobody knows whose
fault it was. So each worker is a pool of one: what dies is known, and the others go on. Receives
functions of modules and plain values; `sweep` hands it jobs.
"""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import Connection, wait
from typing import Any

from adjoin.errors import AdjoinError

_READY, _STOP = b"ready", b"stop"


class WorkerDied(Exception):
    """A worker process ended in the middle of its work."""


class CannotStart(AdjoinError):
    """Worker processes end before they can do anything."""


class Processes(Executor):
    """So many processes, each begun when it is needed, and begun again when it has died."""

    def __init__(self, n_workers: int) -> None:
        # Forked, a process would share locks and threads with this one in whatever state they are.
        self._context = multiprocessing.get_context("spawn")
        self._threads = ThreadPoolExecutor(n_workers, "adjoin-job")
        self._own = threading.local()
        self._workers: set[_Worker] = set()
        self._lock = threading.Lock()
        self._is_stopped = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Have a function called with these arguments, as soon as a process has nothing to do."""
        return self._threads.submit(self._call, function, args, kwargs)

    def _call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        worker = getattr(self._own, "worker", None)
        if worker is None:
            worker = self._own.worker = self._begin()
        try:
            return worker.pool.submit(_call_here, function, args, kwargs).result()
        except BrokenProcessPool:
            self._own.worker = None
            was_ready = worker.has_begun()
            self._forget(worker)
            if not was_ready:
                raise CannotStart(
                    "worker processes end as soon as they begin; what they said is above. A script"
                    " that sweeps needs the line  if __name__ == '__main__':  before what it does,"
                    " as every process reads the script once more"
                ) from None
            raise WorkerDied("its process died, killed by somebody or for want of memory") from None

    def _begin(self) -> _Worker:
        with self._lock:
            if self._is_stopped:
                raise WorkerDied("the sweep was stopped")
            worker = _Worker(self._context)
            self._workers.add(worker)
        return worker

    def _forget(self, worker: _Worker) -> None:
        with self._lock:
            self._workers.discard(worker)
        worker.pool.shutdown(wait=False)

    def stop(self) -> None:
        """Tell all processes to stop what they do, having saved it, and wait until they have."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._is_stopped = True
            workers = [*self._workers]
        for worker in workers:
            worker.stop()
        self.shutdown()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes once they have nothing to do."""
        self._threads.shutdown(wait, cancel_futures=cancel_futures)
        for worker in [*self._workers]:
            worker.pool.shutdown(wait)


class _Worker:
    """A pool of one process, and the line to it."""

    def __init__(self, context: Any) -> None:
        self._line, there = context.Pipe()
        self.pool = ProcessPoolExecutor(1, context, _begin_here, (there,))
        self._there = there  # kept open until the process has it

    def has_begun(self) -> bool:
        """Whether the process got as far as to say so."""
        return bool(self._line.poll() and self._line.recv_bytes() == _READY)

    def stop(self) -> None:
        """Interrupt what it does."""
        try:
            self._line.send_bytes(_STOP)
        except OSError:  # it is dead
            return


class _Here:
    """Of a worker process: whether it is at work, and whether it was told to stop."""

    is_at_work = False
    is_stopped = False


def _begin_here(line: Connection) -> None:
    """In a worker: Ctrl-C is for who runs the sweep, who says what becomes of the jobs."""
    signal.signal(signal.SIGINT, _interrupted)
    threading.Thread(target=_listen, args=(line,), daemon=True).start()
    line.send_bytes(_READY)


def _interrupted(number: int, frame: Any) -> None:
    if _Here.is_stopped and _Here.is_at_work:
        raise KeyboardInterrupt


def _listen(line: Connection) -> None:
    """Stop when told to; end at once when who runs the sweep is gone, whatever killed it.

    Its jobs are another's then: one that went on would stand in the way of who goes on with it.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None  # of a worker there is one
    while True:
        ready = wait([parent.sentinel, line])
        if parent.sentinel in ready:
            os._exit(1)
        try:
            line.recv_bytes()
        except EOFError:
            os._exit(1)
        _Here.is_stopped = True
        _thread.interrupt_main()


def _call_here(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    if _Here.is_stopped:
        raise WorkerDied("the sweep was stopped")
    _Here.is_at_work = True
    try:
        return function(*args, **kwargs)
    finally:
        _Here.is_at_work = False
