"""The way to a cluster: its scheduler, its workers, and whether they are as this process is.

Receives what a user passes as `scheduler`; gives ``executor`` a client, once there are workers and
all of them have the same versions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

from adjoin.cluster.worker import differences, facts, refusal
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from distributed import Client

Scheduler: TypeAlias = "str | Client | Executor | None"
"""What a user passes: an address, a client, or None; an executor is that of a run around this."""

WAIT = "60s"
"""How long to wait for workers, unless Dask's configuration has another ``adjoin.wait``."""
_ANSWER = 10.0  # seconds, within which a scheduler answers


def check_scheduler(scheduler: Any) -> None:
    """Refuse what is neither an address nor a client, before anything is computed."""
    if scheduler is None or isinstance(scheduler, Executor):  # one that is open is of this run
        return
    distributed = require_dask()
    if not isinstance(scheduler, str | distributed.Client):
        raise AdjoinError(
            "scheduler must be the address of a Dask scheduler, such as 'tcp://127.0.0.1:8786', or"
            f" a dask.distributed.Client, not {scheduler!r:.80}"
        )
    if not isinstance(scheduler, str) and (scheduler.asynchronous or scheduler.status != "running"):
        raise AdjoinError(
            "the Client passed as scheduler is closed, or asynchronous; make one by"
            " dask.distributed.Client(address)"
        )


def require_dask() -> Any:
    """The package `distributed`; where there is none, the error says how to get it."""
    try:
        import distributed
    except ImportError:
        raise AdjoinError(
            "a scheduler needs Dask, which is not installed: pip install 'adjoin[dask]', here and"
            " on all workers"
        ) from None
    return distributed


@contextmanager
def client_of(scheduler: str | Client) -> Iterator[Client]:
    """A client whose workers are there and are as this process; a client that is given stays open.

    Raises
    ------
    AdjoinError
        If no scheduler answers, there are no workers, or one of them differs.
    """
    check_scheduler(scheduler)
    if not isinstance(scheduler, str):
        require_workers(scheduler)
        yield scheduler
        return
    distributed = require_dask()
    try:
        client = distributed.Client(scheduler, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise AdjoinError(
            f"no Dask scheduler answers at '{scheduler}' ({reason:.120}); start one, such as by"
            " dask scheduler, and pass the address that it prints"
        ) from None
    with client:
        require_workers(client)
        yield client


def require_workers(client: Client) -> None:
    """Wait for a worker if need be, and hold all that are there against this process."""
    if not n_threads(client):
        wait = seconds_to_wait()
        say(no_workers(client, f"waiting for up to {wait:g} s"))
        try:
            client.wait_for_workers(1, timeout=wait)
        except TimeoutError:
            raise AdjoinError(
                no_workers(client, f"none came within {wait:g} s") + "; start workers, such as by"
                " dask worker ADDRESS, or wait longer: DASK_ADJOIN__WAIT=2h"
            ) from None
    answers = client.run(_asking(), on_error="return")
    for where, there in answers.items():
        if not isinstance(there, Mapping):
            raise without_adjoin(str(where), str(there))
        if found := differences(facts(), there):
            raise refusal(str(where), found)


def n_threads(client: Client) -> int:
    """How many pieces of work the workers do at a time."""
    return sum(client.nthreads().values())


def no_workers(client: Client, what: str) -> str:
    """The sentence about a cluster that nobody works in."""
    return f"the scheduler at {client.scheduler.address} has no workers: {what}"


def say(message: str) -> None:
    """Tell a person, at once: who waits for nobody knows what believes that it hangs."""
    from adjoin.console import make_console

    make_console(stderr=True).print(message, markup=False, highlight=False)


def seconds_to_wait() -> float:
    """How long to wait for workers."""
    import dask
    from dask.utils import parse_timedelta

    return float(parse_timedelta(dask.config.get("adjoin.wait", WAIT)))


def without_adjoin(where: str, why: str) -> AdjoinError:
    """The error about a worker that cannot import adjoin."""
    return AdjoinError(
        f"worker {where} has no adjoin that it could import ({why:.200}); start the workers in the"
        " environment that the client runs in"
    )


def _asking() -> Callable[[], dict[str, str] | str]:
    """A function that is sent as it is, not by its name: a worker without adjoin can answer too."""

    def ask() -> dict[str, str] | str:
        try:
            from adjoin.cluster.worker import facts
        except ImportError as error:
            return str(error)
        return facts()

    return ask
