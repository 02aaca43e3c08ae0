r"""Whether signals are better centred, decided by evidence.

A polynomial in deviations from the means is another polynomial than one in the raw signals; both,
with a constant, are linear models of the same output. So they are compared as models are: by the
best posterior that a short run of one-step chains finds in either,

.. math:: \max_T \; \log p(T) + \log \int p(y \mid T, σ²)\, p(σ²)\, dσ²

coefficients integrated out. The short runs have a seed of their own, so that the choice is a
function of the data alone. Receives a problem in both units; tells the `Identifier` by how much
one is better.
"""

from __future__ import annotations

from concurrent.futures import Executor

import numpy as np

from adjoin.blocks import is_long
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.grammar.alphabet import Alphabet
from adjoin.inference.best import Candidate, best_candidates, log_evidence
from adjoin.inference.checkpoint import Checkpoint, Part
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.progress import compiling, watching
from adjoin.inference.runner import run_chains, warm_up
from adjoin.inference.search import Search

N_CHAINS, N_SAMPLES = 4, 5000
MARGIN = 2.0
"""Nats by which deviations must be better: a linear system has the same equation in both."""
_SEEN = 2**18  # samples of a very long record that are looked at, in stretches spread over it
_NO_MEAN = 1e-9  # of a standard deviation: what is left where a user has taken off the means
_SEED = 0
_BEHIND = 100.0  # nats by a guess, good to some ten: no evidence is worked out of what is behind


def has_means(data: Dataset) -> bool:
    """Whether deviations from the means differ from the raw signals by more than rounding."""
    scaling = Scaling.from_dataset(data, center=True, scale=True)
    return bool((np.abs(scaling.offset) > _NO_MEAN * scaling.scale).any())


def make_engines(
    data: Dataset,
    alphabet: Alphabet,
    scale: bool,
    prior: Prior,
    moves: Moves,
    search: Search,
    table_bytes: int,
) -> tuple[PredictionEngine, PredictionEngine]:
    """The engines of both short runs: of raw signals, and of deviations.

    Of very long records a part says as much, by hundreds of nats.
    """
    seen = data.excerpt(alphabet.max_lag, _SEEN) if is_long(data.n_samples) else data
    raw, centred = (
        PredictionEngine(
            Problem(seen, alphabet, Scaling.from_dataset(data, center, scale)),
            prior,
            moves,
            search=search,
            samples=N_SAMPLES,
            table_bytes=table_bytes,
        )
        for center in (False, True)
    )
    return raw, centred


def choose_scaling(
    data: Dataset,
    scale: bool,
    raw: PredictionEngine,
    centred: PredictionEngine,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
) -> tuple[Scaling, float]:
    """The better units, deviations if they are so by `MARGIN`, and by how much they are."""
    gain = compare_units(raw, centred, n_jobs, progress, checkpoint, executor)
    return Scaling.from_dataset(data, gain > MARGIN, scale), gain


def compare_units(
    raw: PredictionEngine,
    centred: PredictionEngine,
    n_jobs: int | None = None,
    progress: bool | None = None,
    checkpoint: Checkpoint | None = None,
    executor: Executor | None = None,
) -> float:
    """By how much the best posterior of deviations exceeds that of raw signals, in nats.

    What either run has found is judged in both, so that luck in finding it decides nothing.
    """
    found: dict[Candidate, None] = {}
    for engine, name in ((raw, "units-raw"), (centred, "units-deviations")):
        part = None if checkpoint is None else checkpoint.part(name)
        found |= dict.fromkeys(find_candidates(engine, n_jobs, progress, part, executor))
    best = [
        max(one.log_prior + log_evidence(engine, one.structure, one.coefficient) for one in found)
        for engine in (raw, centred)
    ]
    return best[1] - best[0]


def find_candidates(
    engine: PredictionEngine,
    n_jobs: int | None = None,
    progress: bool | None = None,
    part: Part | None = None,
    executor: Executor | None = None,
) -> list[Candidate]:
    """The best structures that a short run finds; its chains may be `part` of a checkpoint.

    Raises KeyboardInterrupt if it is interrupted: there is nothing to go on with.
    """
    with compiling(engine.kernel, progress):
        warm_up(engine)
    seed = np.random.SeedSequence(_SEED)
    with watching(progress, N_CHAINS, N_SAMPLES, "units") as observer:
        how = (n_jobs, observer, executor, part)
        sampled = run_chains(engine, N_CHAINS, N_SAMPLES, seed, *how)
    if not sampled.is_complete:
        raise KeyboardInterrupt
    found = [one for trace in sampled.traces.values() for one in best_candidates(engine, trace)]
    best = max(guess for guess, _ in found)
    return [one for guess, one in found if guess >= best - _BEHIND]
