"""The side of the workers: what is done there with a piece of work that ``executor`` has sent.

Everything arrives as bytes that were pickled in one piece: arrays then come out as they went in,
aligned and writable, which arrays that a network library has put together need not be, and compiled
code is made for the one kind. Receives such bytes; gives back such bytes.
"""

from __future__ import annotations

import hashlib
import pickle
import platform
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from adjoin.errors import AdjoinError
from adjoin.threads import one_blas_thread
from adjoin.version import __version__

_MOST_OPEN = 16  # shared values that a worker keeps unpacked

Result = TypeVar("Result")


class Place(NamedTuple):
    """In the place of an argument that all pieces of work share: which of those that are here."""

    number: int


class Order(NamedTuple):
    """What comes with every piece of work, as plain values.

    ``facts`` : of who has sent it. ``sender`` : one name for all that may be stopped together.
    ``tokens`` : of the shared values, in order.
    """

    facts: dict[str, str]
    sender: str
    tokens: tuple[str, ...]


_open: OrderedDict[str, Any] = OrderedDict()
_stops: dict[str, threading.Event] = {}
_lock = threading.Lock()
_at_work = threading.local()


@cache
def facts() -> dict[str, str]:
    """What must be the same on both sides, or results are not: versions, and adjoin's sources."""
    root, digest = Path(__file__).parents[1], hashlib.sha256()
    for source in sorted(root.rglob("*.py")):
        digest.update(source.relative_to(root).as_posix().encode())
        digest.update(source.read_bytes())
    packages = {name: version(name) for name in ("numpy", "scipy", "numba")}
    python = ".".join(platform.python_version_tuple()[:2])
    return {
        "adjoin": __version__,
        "Python": python,
        **packages,
        "sources of adjoin": digest.hexdigest()[:16],
    }


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """What differs between a client and a worker, in words."""
    return [
        f"{name} is {known} here and {there.get(name, 'missing')} there"
        for name, known in here.items()
        if there.get(name) != known
    ]


def refusal(where: str, found: Sequence[str]) -> AdjoinError:
    """The error that says what differs on a worker."""
    return AdjoinError(
        f"worker {where} differs from this process: {'; '.join(found)}. Results would not be the"
        " same; start the workers in the environment that the client runs in"
    )


def work(order: tuple[Any, ...], payload: bytes, shared: Sequence[bytes], where: str) -> bytes:
    """Do one piece of work: a function and its arguments, some of which are shared.

    Raises
    ------
    AdjoinError
        If this worker is not as the process that has sent it, such as one that came later.
    """
    facts_there, sender, tokens = Order(*order)
    if found := differences(facts_there, facts()):
        raise refusal(where, found)
    function, arguments = pickle.loads(payload)
    opened = [_opened(token, value) for token, value in zip(tokens, shared, strict=True)]
    given = [opened[one.number] if isinstance(one, Place) else one for one in arguments]
    _at_work.stop = _stop_of(sender)
    try:
        with one_blas_thread():
            return pickle.dumps(function(*given), protocol=5)
    finally:
        del _at_work.stop


def _opened(token: str, value: bytes) -> Any:
    """A shared value: unpacked once in this process, as long as it is in use."""
    with _lock:
        if token not in _open:
            _open[token] = pickle.loads(value)
        _open.move_to_end(token)
        while len(_open) > _MOST_OPEN:
            _open.popitem(last=False)
        return _open[token]


def stop(sender: str) -> None:
    """Tell the work of a sender that is under way here to come to an end."""
    _stop_of(sender).set()


def stop_sign() -> threading.Event:
    """What is set when the present work is to end early; outside of `work` nobody sets it."""
    found: threading.Event | None = getattr(_at_work, "stop", None)
    return threading.Event() if found is None else found


def _stop_of(sender: str) -> threading.Event:
    with _lock:
        return _stops.setdefault(sender, threading.Event())


def timed(function: Callable[..., Result], *arguments: Any) -> tuple[Result, float]:
    """What a function gives, and the CPU seconds of this thread that it took."""
    begin = time.thread_time()
    return function(*arguments), time.thread_time() - begin
