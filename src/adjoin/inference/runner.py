"""Runs the chains of an engine: seeds, warm-up, threads, progress, interruption.

Receives an engine; gives traces. Every chain has its own generator, spawned from one seed, and
shares nothing with the others, so the result does not depend on how many run at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import NamedTuple, Protocol

import numpy as np

from adjoin.inference.traces import ChainTrace
from adjoin.threads import n_workers

_BLOCK_SECONDS = 0.1  # between two looks at the stop sign, and two reports of progress
_FIRST_BLOCK = 200


class RunningChain(Protocol):
    """What the runner needs of a chain."""

    @property
    def n_samples(self) -> int:
        """How many samples it has drawn."""

    @property
    def n_terms(self) -> int:
        """Its present number of terms."""

    @property
    def acceptance(self) -> float:
        """The share of structure moves accepted so far."""

    def advance(self, n_samples: int) -> None:
        """Draw so many samples more."""

    def finish(self) -> ChainTrace:
        """What it recorded."""


class Engine(Protocol):
    """What the runner needs of an engine."""

    def warm_up(self) -> None:
        """Compile what a chain runs."""

    def start(self, seed: np.random.SeedSequence | int) -> RunningChain:
        """A new chain; it is a function of the seed."""


class Snapshot(NamedTuple):
    """Where a chain stands."""

    chain: int
    n_samples: int
    n_terms: int
    acceptance: float


Observer = Callable[[Snapshot], None]


class Run(NamedTuple):
    """What came of it: a trace per chain, with fewer samples or none where it was interrupted."""

    traces: list[ChainTrace]
    is_complete: bool
    seconds: float


def warm_up(engine: Engine) -> float:
    """Compile before threads are started; the seconds it took."""
    begin = time.perf_counter()
    engine.warm_up()
    return time.perf_counter() - begin


def run_chains(
    engine: Engine,
    n_chains: int,
    n_samples: int,
    seed: np.random.SeedSequence,
    n_jobs: int | None = None,
    observer: Observer | None = None,
) -> Run:
    """Run chains to their end, or until Ctrl-C: then what there is comes back.

    Raises
    ------
    KeyboardInterrupt
        If it is interrupted before any chain has something to show.
    """
    stop = threading.Event()

    def run(number: int, child: np.random.SeedSequence) -> ChainTrace:
        chain = engine.start(child)
        block = _FIRST_BLOCK
        while chain.n_samples < n_samples and not stop.is_set():
            begin = time.perf_counter()
            chain.advance(min(block, n_samples - chain.n_samples))
            elapsed = max(time.perf_counter() - begin, 1e-4)
            block = max(1, min(int(block * _BLOCK_SECONDS / elapsed), 4 * block))
            if observer is not None:
                observer(Snapshot(number, chain.n_samples, chain.n_terms, chain.acceptance))
        return chain.finish()

    begin = time.perf_counter()
    with ThreadPoolExecutor(n_workers(n_jobs, n_chains), "adjoin-chain") as pool:
        futures: list[Future[ChainTrace]] = []
        try:
            for number, child in enumerate(seed.spawn(n_chains)):
                futures.append(pool.submit(run, number, child))
            _wait(futures)
        except BaseException as error:
            stop.set()
            if not isinstance(error, KeyboardInterrupt):
                raise
        traces = [future.result() for future in futures]
    if stop.is_set() and not any(len(trace.structure) for trace in traces):
        raise KeyboardInterrupt
    return Run(traces, not stop.is_set(), time.perf_counter() - begin)


def _wait(futures: list[Future[ChainTrace]]) -> None:
    """Wait in short sleeps, so that Ctrl-C is heard; the first error ends it."""
    pending = set(futures)
    while pending:
        done, pending = wait(pending, timeout=0.2, return_when=FIRST_EXCEPTION)
        for future in done:
            future.result()
