"""A `concurrent.futures.Executor` whose work is done by the workers of a Dask cluster.

Receives functions of modules with arguments that can be pickled; what several pieces of work have
in common is shared, and travels to each worker once. Work of a worker that dies is done again by
another. What goes wrong on the way is an `AdjoinError` that says what to do.
"""

from __future__ import annotations

import pickle
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from concurrent.futures import wait as wait_for
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from adjoin.cluster import worker
from adjoin.cluster.connection import (
    Scheduler,
    client_of,
    n_threads,
    no_workers,
    say,
    seconds_to_wait,
    without_adjoin,
)
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from distributed import Client

_LOOK = 2.0  # seconds between two looks at whether there still are workers

Value = TypeVar("Value")


@contextmanager
def executor_of(scheduler: Scheduler) -> Iterator[Executor | None]:
    """What does work on the cluster of a scheduler, as long as this lasts.

    Parameters
    ----------
    scheduler : str, dask.distributed.Client, Executor or None
        Its address, or a client, which stays open. An executor is taken as it is, and stays open:
        it is of a run that this one is a part of. None: there is no executor.

    Raises
    ------
    AdjoinError
        If Dask is not installed, nobody answers, there are no workers, or they differ.
    """
    if scheduler is None or isinstance(scheduler, Executor):
        yield scheduler
        return
    with client_of(scheduler) as client:
        executor = ClusterExecutor(client)
        try:
            yield executor
        finally:
            executor.shutdown(wait=False, cancel_futures=True)


class Shared:
    """A value that is on the cluster, to be passed in its place; forgotten there with this."""

    def __init__(self, token: str, future: Any) -> None:
        self.token, self.future = token, future


class ClusterExecutor(Executor):
    """Hands work to a client; `executor_of` makes one."""

    def __init__(self, client: Client) -> None:
        self._client, self._name = client, uuid.uuid4().hex
        self._pool, self._entry = client.get_executor(pure=False), _entry()
        self._waiting: set[Future[Any]] = set()
        self._lock, self._is_over = threading.Lock(), threading.Event()
        threading.Thread(target=self._watch, name="adjoin-cluster", daemon=True).start()

    def share(self, value: Any) -> Shared:
        """Put a value on the cluster, for work that gets what this gives in its place.

        It is the result of a task there, which the scheduler can have made again: what is put on
        workers directly is lost with them.
        """
        payload = _pickled(value)
        with _large_as_it_is():
            return Shared(uuid.uuid4().hex, self._client.submit(bytes, payload, pure=False))

    def submit(self, function: Callable[..., Value], /, *args: Any, **kwargs: Any) -> Future[Value]:
        """Have a function called there; results and errors are as if it were called here."""
        if self._is_over.is_set():
            raise RuntimeError("cannot schedule new futures after shutdown")
        shared = [one for one in args if isinstance(one, Shared)]
        places = iter(range(len(shared)))
        given = tuple(
            worker.Place(next(places)) if isinstance(one, Shared) else one for one in args
        )
        tokens = tuple(one.token for one in shared)
        order = tuple(worker.Order(worker.facts(), self._name, tokens))
        payload = _pickled((partial(function, **kwargs) if kwargs else function, given))
        with _large_as_it_is():
            sent = self._pool.submit(self._entry, order, payload, *(one.future for one in shared))
        found: Future[Value] = Future()
        with self._lock:
            self._waiting.add(found)
        found.add_done_callback(partial(self._forget, sent))
        sent.add_done_callback(partial(_hand_on, found))
        return found

    def stop(self) -> None:
        """Tell all work under way, and all that waits, to come to its end early."""
        with suppress(OSError, TimeoutError, RuntimeError):  # who is gone does not go on
            self._client.run(worker.stop, self._name, on_error="ignore")

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; wait for what there is, or give it up."""
        self._is_over.set()
        with self._lock:
            waiting = list(self._waiting)
        if cancel_futures:
            if waiting:
                self.stop()
            for future in waiting:
                future.cancel()
        elif wait:
            wait_for(waiting)

    def _forget(self, sent: Future[Any], found: Future[Any]) -> None:
        with self._lock:
            self._waiting.discard(found)
        if found.cancelled():
            sent.cancel()

    def _watch(self) -> None:
        """Say so when all workers are gone, and give up where none comes."""
        since = None
        while not self._is_over.wait(_LOOK):
            try:
                is_alone = bool(self._waiting) and not n_threads(self._client)
            except Exception:  # the client's own errors come with the work that it gives up
                continue
            if not is_alone:
                since = None
                continue
            wait = seconds_to_wait()
            if since is None:
                since = time.monotonic()
                say(no_workers(self._client, f"they are gone; waiting for up to {wait:g} s"))
            elif time.monotonic() - since > wait:
                lost = AdjoinError(no_workers(self._client, f"none came back within {wait:g} s"))
                with self._lock:
                    waiting = list(self._waiting)
                for future in waiting:
                    _fail(future, lost)


def share(executor: Executor | None, value: Any) -> Any:
    """What to hand to an executor in the place of a value that much of its work has in common."""
    return executor.share(value) if isinstance(executor, ClusterExecutor) else value


def stop_early(executor: Executor, futures: Iterable[Future[Any]]) -> None:
    """Have what is under way end early where that can be said, and take back what has not begun."""
    if isinstance(executor, ClusterExecutor):
        executor.stop()
        return
    for future in futures:
        future.cancel()


def give_up(executor: Executor | None) -> None:
    """Take back all work of a cluster: whoever waits for it is told, and no more is taken."""
    if isinstance(executor, ClusterExecutor):
        executor.shutdown(wait=False, cancel_futures=True)


def _large_as_it_is() -> Any:
    """Dask's advice to load data on the workers is for those whose data are there already."""
    import dask

    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def _pickled(value: Any) -> bytes:
    """In one piece; functions of a user's own script, which workers lack, by what they do."""
    import cloudpickle

    return bytes(cloudpickle.dumps(value, protocol=5))


def _entry() -> Callable[..., bytes]:
    """What Dask calls on a worker. It is sent as it is: one without adjoin can say so."""

    def begin(order: tuple[Any, ...], payload: bytes, *shared: bytes) -> bytes:
        from distributed import get_worker

        from adjoin.cluster.worker import work

        return work(order, payload, shared, get_worker().address)

    return begin


def _hand_on(found: Future[Any], sent: Future[bytes]) -> None:
    if found.cancelled():
        return
    try:
        _succeed(found, pickle.loads(sent.result()))
    except BaseException as error:
        _fail(found, _told(error))


def _succeed(found: Future[Any], value: Any) -> None:
    if found.set_running_or_notify_cancel():
        found.set_result(value)


def _fail(found: Future[Any], error: BaseException) -> None:
    with suppress(Exception):  # it is done already, or was given up
        if found.set_running_or_notify_cancel():
            found.set_exception(error)


def _told(error: BaseException) -> BaseException:
    """What went wrong on the way, in words; errors of the work itself are as they are."""
    from distributed.scheduler import KilledWorker

    if isinstance(error, KilledWorker):
        return AdjoinError(
            f"workers died {error.allowed_failures + 1} times at the same piece of work, the last"
            f" was {error.last_worker.address}; most often they are killed for their memory: give"
            " them more of it, or fewer threads"
        )
    if isinstance(error, ModuleNotFoundError) and str(error.name).split(".")[0] == "adjoin":
        return without_adjoin("of this cluster", str(error))
    if isinstance(error, CancelledError):
        return AdjoinError(
            "the cluster gave up work that was under way: its scheduler was closed, or the"
            " connection to it is lost"
        )
    return error


__all__ = ["ClusterExecutor", "Shared", "executor_of", "give_up", "share", "stop_early"]
