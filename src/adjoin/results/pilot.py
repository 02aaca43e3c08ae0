"""A short first run, whose residuals say to which power the likelihood should count.

Receives an engine that takes the whole likelihood; gives a `PowerEstimate` to the `Identifier`.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace

import numpy as np

from adjoin.grammar import Grammar
from adjoin.inference.checkpoint import Checkpoint
from adjoin.inference.engine import Engine
from adjoin.inference.progress import watching
from adjoin.inference.runner import Observer, run_chains
from adjoin.inference.settings import RunSettings
from adjoin.results.collection import Collection
from adjoin.results.power import PowerEstimate, dependence, estimate_power
from adjoin.results.run import Run

SHORTEST, LONGEST = 3_000, 24_000
"""Samples a chain of the first try, and of the last; never more than the run itself has."""


def run_pilot(
    engine: Engine,
    grammar: Grammar,
    settings: RunSettings,
    seed: np.random.SeedSequence,
    n_chains: int,
    n_samples: int,
    n_jobs: int | None = None,
    progress: bool | Observer | None = None,
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
) -> PowerEstimate:
    """Estimate the power from the chain of highest log posterior.

    Where the input still explains its residuals, the model is not there yet: the run is made again
    twice as long, until it is, or until it has `LONGEST` or `n_samples` samples.

    Parameters
    ----------
    engine : Engine
        With likelihood power 1.
    grammar : Grammar
    settings : RunSettings
        Of the engine.
    seed : SeedSequence
        Its own: no chain of the run that counts has it.
    n_chains, n_samples, n_jobs, progress
        As of the run that counts.
    checkpoint : Checkpoint, optional
        Where its chains are saved.
    executor : Executor, optional
        Where its chains run instead of here.
    """
    run = Run(grammar, engine.problem, settings)
    pilot = replace(engine, thin=1)  # type: ignore[type-var]
    n_drawn = min(SHORTEST, n_samples)
    while True:
        again = np.random.SeedSequence(seed.entropy, spawn_key=seed.spawn_key)
        with watching(progress, n_chains, n_drawn, "first run") as observer:
            part = None if checkpoint is None else checkpoint.part(f"first-run-{n_drawn}")
            sampled = run_chains(pilot, n_chains, n_drawn, again, n_jobs, observer, executor, part)
        if not sampled.is_complete:
            raise KeyboardInterrupt  # who stops the first run does not want the second
        chains = [Collection((trace,), run) for trace in sampled.traces.values()]
        best = max(chains, key=lambda chain: float(np.median(chain.log_posterior)))
        estimate = estimate_power(dependence(best), n_drawn)
        n_next = min(2 * n_drawn, LONGEST, n_samples)
        if not estimate.is_refused or n_next == n_drawn:
            return estimate
        n_drawn = n_next
