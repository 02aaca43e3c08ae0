"""Progress on standard error: the one-time compilation, and a bar per chain.

Receives snapshots from the runner; draws with rich. Silent unless asked, or on a terminal.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from adjoin.inference.runner import Observer, Snapshot
from adjoin.kernels._jit import is_compiled


def is_shown(progress: bool | Observer | None) -> bool:
    """Whether a user's choice means bars; None: if standard error is a terminal."""
    return sys.stderr.isatty() if progress is None else progress is True


@contextmanager
def compiling(kernel: Callable[..., Any], progress: bool | Observer | None) -> Iterator[None]:
    """Say so while a kernel compiles for the first time on this machine, and what else takes long.

    Long records are laid out then, and searched for where chains begin.
    """
    if not is_shown(progress):
        yield
        return
    from adjoin.console import make_console

    words = "looking over the data for a place to begin …"
    if not is_compiled(kernel):
        words = "compiling the sampler, once, a minute or two …"
    with make_console(stderr=True).status(words):
        yield


@contextmanager
def watching(
    progress: bool | Observer | None, n_chains: int, n_samples: int, title: str = "chain"
) -> Iterator[Observer | None]:
    """Give the observer to run chains with: bars, the user's own, or none."""
    if callable(progress):
        yield progress
        return
    if not is_shown(progress):
        yield None
        return
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    from adjoin.console import make_console

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TextColumn("{task.fields[n_terms]:>3} terms"),
        TextColumn("{task.fields[acceptance]:>6.1%} accepted"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=make_console(stderr=True), transient=True) as bars:
        tasks = [
            bars.add_task(
                f"{title} {i}" if n_chains > 1 else title,
                total=n_samples,
                rate="",
                n_terms=0,
                acceptance=0.0,
            )
            for i in range(n_chains)
        ]

        def observe(snapshot: Snapshot) -> None:
            task = tasks[snapshot.chain]
            speed = bars.tasks[snapshot.chain].speed
            bars.update(
                task,
                completed=snapshot.n_samples,
                rate=f"{speed:,.0f}/s" if speed else "",
                n_terms=snapshot.n_terms,
                acceptance=snapshot.acceptance,
            )

        yield observe
