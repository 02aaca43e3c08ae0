"""Runs the chains of an engine: seeds, warm-up, executors, progress, interruption.

Receives an engine; gives traces. Every chain has its own generator, spawned from one seed, and
shares nothing with the others, but where the engine lets them agree on something: then all wait for
each other. So the result does not depend on how many run at a time, nor where.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_EXCEPTION, Executor, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, TypeVar

import numpy as np

from adjoin.inference.checkpoint import Keeper, Part
from adjoin.inference.engine import Chain, Engine, Packed
from adjoin.inference.traces import ChainTrace
from adjoin.threads import add_cpu_seconds, cpu_seconds, n_workers

_BLOCK_SECONDS = 0.1  # between two looks at the stop sign, and two reports of progress
_FIRST_BLOCK = 200  # unless an engine knows that samples take long


class Snapshot(NamedTuple):
    """Where a chain stands."""

    chain: int
    n_samples: int
    n_terms: int
    acceptance: float


Observer = Callable[[Snapshot], None]


class Sampled(NamedTuple):
    """What came of it: the trace of each chain by its number, shorter where it was interrupted."""

    traces: dict[int, ChainTrace]
    is_complete: bool
    seconds: float


class Task(NamedTuple):
    """One chain to run: all that another process needs to know. Packed if it has begun.

    The `keeper` saves it, and knows how far it was when it was saved; it stays in this process.
    """

    engine: Engine
    number: int
    seed: np.random.SeedSequence
    n_samples: int
    packed: Packed | None = None
    keeper: Keeper | None = None


Result = TypeVar("Result")
Work = Callable[..., Result]
"""Of a `Task`, and in threads of an observer and a stop sign."""


def warm_up(engine: Engine) -> float:
    """Compile before threads are started; the seconds it took."""
    begin = time.perf_counter()
    engine.warm_up()
    return time.perf_counter() - begin


def run_chain(
    task: Task, observer: Observer | None = None, stop: threading.Event | None = None
) -> ChainTrace:
    """Run one chain to its end, or until it is told to stop, and give what it recorded."""
    return _run(task, observer, stop).finish()


def pack_chain(
    task: Task, observer: Observer | None = None, stop: threading.Event | None = None
) -> Packed:
    """The same, and give the chain: packed, its tables make room for those of others."""
    return _run(task, observer, stop).pack()


def _run(task: Task, observer: Observer | None, stop: threading.Event | None) -> Chain:
    keeper = task.keeper
    saved = keeper.load() if keeper is not None else None
    packed = task.packed if saved is None else saved
    chain = task.engine.start(task.seed) if packed is None else task.engine.resume(packed)
    if saved is not None and observer is not None:
        observer(_snapshot(task.number, chain))
    while not chain.is_prepared and not (stop and stop.is_set()):
        chain.prepare()
        if keeper is not None:
            keeper.look(chain)
    block: int = getattr(task.engine, "first_block", _FIRST_BLOCK)
    while chain.n_samples < task.n_samples and not (stop and stop.is_set()):
        begin = time.perf_counter()
        chain.advance(min(block, task.n_samples - chain.n_samples))
        elapsed = max(time.perf_counter() - begin, 1e-4)
        block = max(1, min(int(block * _BLOCK_SECONDS / elapsed), 4 * block))
        if keeper is not None:
            keeper.look(chain)
        if observer is not None:
            observer(_snapshot(task.number, chain))
    if keeper is not None:
        keeper.close(chain)
    return chain


def _snapshot(number: int, chain: Chain) -> Snapshot:
    return Snapshot(number, chain.n_samples, chain.n_terms, chain.acceptance)


def run_chains(
    engine: Engine,
    n_chains: int,
    n_samples: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
    observer: Observer | None = None,
    executor: Executor | None = None,
    part: Part | None = None,
) -> Sampled:
    """Run chains to their end, or until Ctrl-C: then what there is comes back.

    Parameters
    ----------
    engine : Engine
    n_chains, n_samples : int
    seed : SeedSequence
        Of all chains; each gets a child of it.
    n_jobs : int, optional
        How many run at a time, in threads; None and -1: one per core.
    observer : callable, optional
        Gets a `Snapshot` of each chain now and then; of chains in an `executor`, none.
    executor : concurrent.futures.Executor, optional
        Where to run them instead: a pool of processes, a cluster's. It stays open. Ctrl-C then
        gives up the chains that are not done: only a thread can be told to stop in the middle.
    part : Part, optional
        Of a checkpoint: chains are saved there every few seconds, and go on from there. Those in
        an `executor` are not saved.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted before any chain has something to show.
    """
    begin = time.perf_counter()

    def run(work: Work[Result], tasks: Iterable[Task]) -> tuple[dict[int, Result], bool]:
        if executor is not None:
            return _run_elsewhere(executor, work, tasks)
        return _run_in_threads(work, tasks, n_workers(n_jobs, n_chains), observer)

    def keeper(number: int, phase: str = "") -> Keeper | None:
        if part is None or executor is not None:
            return None
        return part.keeper(engine, n_samples, number, phase)

    children = enumerate(seed.spawn(n_chains))
    tasks: Iterable[Task] = (
        Task(engine, number, child, n_samples, keeper=keeper(number)) for number, child in children
    )
    if n_chains > 1 and 0 < engine.n_apart < n_samples:
        tasks = list(tasks)
        first = [
            t._replace(n_samples=engine.n_apart, keeper=keeper(t.number, "apart")) for t in tasks
        ]
        apart, is_complete = run(pack_chain, first)
        if not is_complete:  # chains that have not agreed yet have no common result
            raise KeyboardInterrupt
        agreed = engine.agree([*apart.values()])
        tasks = [t._replace(packed=one) for t, one in zip(tasks, agreed, strict=True)]
    traces, is_complete = run(run_chain, tasks)
    if not is_complete and not any(len(trace.structure) for trace in traces.values()):
        raise KeyboardInterrupt
    seconds = time.perf_counter() - begin
    return Sampled(traces, is_complete, seconds if part is None else part.seconds)


def _run_in_threads(
    work: Work[Result], tasks: Iterable[Task], n_at_a_time: int, observer: Observer | None
) -> tuple[dict[int, Result], bool]:
    stop = threading.Event()

    def run(task: Task) -> tuple[Result, float]:
        begin = cpu_seconds()
        return work(task, observer, stop), cpu_seconds() - begin

    with ThreadPoolExecutor(n_at_a_time, "adjoin-chain") as pool:
        futures: list[Future[tuple[Result, float]]] = []
        try:
            for task in tasks:
                futures.append(pool.submit(run, task))
            _wait(futures)
        except BaseException as error:
            stop.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
        results = [future.result() for future in futures]
    add_cpu_seconds(sum(seconds for _, seconds in results))
    return {i: result for i, (result, _) in enumerate(results)}, not stop.is_set()


def _run_elsewhere(
    executor: Executor, work: Work[Result], tasks: Iterable[Task]
) -> tuple[dict[int, Result], bool]:
    futures = [executor.submit(work, task) for task in tasks]
    try:
        _wait(futures)
    except BaseException as error:
        for future in futures:
            future.cancel()
        if not isinstance(error, KeyboardInterrupt):
            raise
    is_done = [future.done() and not future.cancelled() for future in futures]
    done = [(i, future) for i, future in enumerate(futures) if is_done[i]]
    return {i: future.result() for i, future in done}, all(is_done)


def _wait(futures: list[Future[Result]]) -> None:
    """Wait in short sleeps, so that Ctrl-C is heard; the first error ends it."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
