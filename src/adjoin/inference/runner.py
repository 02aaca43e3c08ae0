"""Runs the chains of an engine: seeds, warm-up, executors, progress, interruption.

Receives an engine; gives traces. Every chain has its own generator, spawned from one seed, and
shares nothing with the others, but where the engine lets them agree on something: then all wait for
each other. So the result does not depend on how many run at a time, nor where: in threads here, or
in ``pieces`` on an executor's workers.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import (
    FIRST_EXCEPTION,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np

from adjoin.cluster.executor import share, stop_early
from adjoin.cluster.worker import stop_sign
from adjoin.inference.checkpoint import Keeper, Part
from adjoin.inference.engine import Chain, Engine, Packed
from adjoin.inference.pieces import Drawn, PiecewiseChain, draw_piece
from adjoin.inference.traces import ChainTrace
from adjoin.threads import add_cpu_seconds, cpu_seconds, n_workers

_BLOCK_SECONDS = 0.1  # between two looks at the stop sign, and two reports of progress
_FIRST_BLOCK = 200  # unless an engine knows that samples take long
_FIRST_PIECE, _PIECE_SECONDS = 0.5, 5.0  # of a chain elsewhere: the first, and the longest


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


Draw = Callable[["Task", threading.Event], Any]
"""Runs one chain to its end, or until it is told to stop."""
Take = Callable[[Any], Any]
"""What is made of a chain at its end: its trace, or the chain itself, packed."""


class Task(NamedTuple):
    """One chain to run. Packed if it has begun; the `keeper` saves it, and knows how far it was."""

    engine: Engine
    number: int
    seed: np.random.SeedSequence
    n_samples: int
    packed: Packed | None = None
    keeper: Keeper | None = None


def warm_up(engine: Engine) -> float:
    """Compile before threads are started; the seconds it took."""
    begin = time.perf_counter()
    engine.warm_up()
    return time.perf_counter() - begin


def _run(task: Task, stop: threading.Event, observer: Observer | None) -> Chain:
    """Run one chain to its end, or until it is told to stop."""
    keeper, packed = task.keeper, _begun(task)
    chain = task.engine.start(task.seed) if packed is None else task.engine.resume(packed)
    if packed is not task.packed and observer is not None:
        observer(_snapshot(task.number, chain))

    def look() -> None:
        if keeper is not None:
            keeper.look(chain)
        if observer is not None and chain.n_samples:
            observer(_snapshot(task.number, chain))

    _go_on(chain, task.n_samples, stop.is_set, look)
    if keeper is not None:
        keeper.close(chain)
    return chain


def _begun(task: Task) -> Packed | None:
    """The chain as it is to be gone on with: as it was saved, or else as it was packed."""
    saved = task.keeper.load() if task.keeper is not None else None
    return task.packed if saved is None else saved


def _go_on(
    chain: Chain, n_samples: int, is_over: Callable[[], bool], look: Callable[[], None]
) -> None:
    """Prepare and draw in blocks, and `look` after each, until all is drawn or it `is_over`."""
    while not chain.is_prepared and not is_over():
        chain.prepare()
        look()
    block = int(getattr(getattr(chain, "engine", None), "first_block", _FIRST_BLOCK))
    while chain.n_samples < n_samples and not is_over():
        begin = time.perf_counter()
        chain.advance(min(block, n_samples - chain.n_samples))
        elapsed = max(time.perf_counter() - begin, 1e-4)
        block = max(1, min(int(block * _BLOCK_SECONDS / elapsed), 4 * block))
        look()


@dataclass
class _Elsewhere:
    """Chains whose pieces are drawn by an executor; what is drawn is kept here, and saved here."""

    executor: Executor
    engine: Any
    """Or what stands for it where all chains share it."""
    observer: Observer | None
    under_way: set[Future[Drawn]] = field(default_factory=set)

    def run(self, task: Task, stop: threading.Event) -> PiecewiseChain:
        """Run one chain, piece after piece, each from where the one before has ended."""
        keeper, seconds = task.keeper, _FIRST_PIECE
        chain = PiecewiseChain(task.engine, task.seed, _begun(task))
        if chain.n_samples and self.observer is not None:
            self.observer(_snapshot(task.number, chain))
        while chain.n_samples < task.n_samples and not stop.is_set():
            try:
                piece = self._draw(task, chain.state, seconds)
            except CancelledError:
                if not stop.is_set():
                    raise
                break  # it was taken back before it began
            chain.add(piece)
            add_cpu_seconds(piece.cpu_s)
            seconds = min(2.0 * seconds, _PIECE_SECONDS)
            if keeper is not None:
                keeper.look(chain)
            if self.observer is not None and chain.n_samples:
                self.observer(_snapshot(task.number, chain))
        if keeper is not None:
            keeper.close(chain)
        return chain

    def _draw(self, task: Task, packed: Packed | None, seconds: float) -> Drawn:
        given = (task.seed, packed, task.n_samples, seconds)
        future = self.executor.submit(_draw_piece, self.engine, *given)
        self.under_way.add(future)
        try:
            return future.result()
        finally:
            self.under_way.discard(future)

    def give_up(self) -> None:
        """Have pieces that are under way end early."""
        stop_early(self.executor, [*self.under_way])


def _draw_piece(
    engine: Engine,
    seed: np.random.SeedSequence,
    packed: Packed | None,
    n_samples: int,
    seconds: float,
) -> Drawn:
    """On a worker: one piece, until its time is over, the chain is at its end, or it is stopped."""
    stop, looks = stop_sign(), count()

    def go_on(chain: Chain) -> None:
        end = time.perf_counter() + seconds

        def is_over() -> bool:  # asked before every block; every piece comes farther by one
            return stop.is_set() or (next(looks) > 0 and time.perf_counter() > end)

        _go_on(chain, n_samples, is_over, lambda: None)

    return draw_piece(engine, seed, packed, go_on)


def _snapshot(number: int, chain: Chain | PiecewiseChain) -> Snapshot:
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
        Gets a `Snapshot` of each chain now and then.
    executor : concurrent.futures.Executor, optional
        Where to run them instead, in pieces of a few seconds: a pool of processes, a cluster's
        (`adjoin.cluster`). It stays open. Ctrl-C lets pieces that are under way come to an end.
    part : Part, optional
        Of a checkpoint: chains are saved there every few seconds, and go on from there.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted before any chain has something to show.
    """
    begin = time.perf_counter()

    def run(take: Take, tasks: Iterable[Task]) -> tuple[dict[int, Any], bool]:
        if executor is None:
            here = partial(_run, observer=observer)
            return _run_all(here, take, tasks, n_workers(n_jobs, n_chains), lambda: None)
        there = _Elsewhere(executor, share(executor, engine), observer)
        return _run_all(there.run, take, tasks, n_chains, there.give_up)

    def keeper(number: int, phase: str = "") -> Keeper | None:
        if part is None:
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
        apart, is_complete = run(methodcaller("pack"), first)
        if not is_complete:  # chains that have not agreed yet have no common result
            raise KeyboardInterrupt
        agreed = engine.agree([*apart.values()])
        tasks = [t._replace(packed=one) for t, one in zip(tasks, agreed, strict=True)]
    traces, is_complete = run(methodcaller("finish"), tasks)
    if not is_complete and not any(len(trace.structure) for trace in traces.values()):
        raise KeyboardInterrupt
    seconds = time.perf_counter() - begin
    return Sampled(traces, is_complete, seconds if part is None else part.seconds)


def _run_all(
    draw: Draw, take: Take, tasks: Iterable[Task], n_at_a_time: int, give_up: Callable[[], None]
) -> tuple[dict[int, Any], bool]:
    """Each in a thread; those of chains elsewhere wait for their pieces."""
    stop = threading.Event()

    def run(task: Task) -> tuple[Any, float]:
        begin = cpu_seconds()
        # Taken here: what a chain has recorded outlives its tables.
        return take(draw(task, stop)), cpu_seconds() - begin

    with ThreadPoolExecutor(n_at_a_time, "adjoin-chain") as pool:
        futures: list[Future[tuple[Any, float]]] = []
        try:
            for task in tasks:
                futures.append(pool.submit(run, task))
            _wait(futures)
        except BaseException as error:
            stop.set()
            give_up()
            if not isinstance(error, KeyboardInterrupt):
                raise
        results = [future.result() for future in futures]
    add_cpu_seconds(sum(seconds for _, seconds in results))
    return {i: result for i, (result, _) in enumerate(results)}, not stop.is_set()


def _wait(futures: list[Future[Any]]) -> None:
    """Wait in short sleeps, so that Ctrl-C is heard; the first error ends it."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
