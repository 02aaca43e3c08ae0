"""Full posteriors of structures for the best few settings, and how they do on what is held out.

A path of growing models is one model of each size; a posterior of structures, coefficients and
noise says besides how sure each term is, and the mean of its draws' free runs is often the better
simulation. It costs more, so that only the settings whose paths did best get one, fold after fold.
Receives settings and folds; gives `Drawn`, which the ranking takes as one more candidate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.discovery.folds import Fold
from adjoin.discovery.kept import Kept
from adjoin.discovery.quiet import QuietIdentifier
from adjoin.discovery.ranking import Candidate
from adjoin.discovery.scan import N_BLOCKS, errors_of_runs, variance
from adjoin.discovery.settings import COLOURED, POWERED, WHITE, Effort, Setting
from adjoin.discovery.workers import Workers
from adjoin.errors import AdjoinError, CheckpointError
from adjoin.inference.forward import PREDICTION, SIMULATION
from adjoin.levels import POOR
from adjoin.posterior import Posterior
from adjoin.threads import cpu_seconds

N_DRAWS = 50
_MANY_LOST = 0.05  # share of draws: a posterior that loses more is no candidate
_FEWEST, _MOST = 200, 5_000  # samples of a chain by simulation
_PER_SAMPLE = 6  # predictions one step ahead for each sample of given terms: they cost so little
_LONGER = 4  # times as many samples where all data are fitted
_NEAR = 2.0  # times the error of the best: a setting beyond is not worth a posterior


@dataclass(frozen=True, eq=False)
class Drawn:
    """A setting's posteriors, each fitted without one fold, and what they miss there."""

    candidate: Candidate
    posteriors: tuple[Posterior, ...]


def choose_settings(
    ranked: Sequence[Candidate], effort: Effort, n_rows: int
) -> tuple[Setting, ...]:
    """Which settings get a posterior: of each objective the best, unless far from the best of all.

    By simulation with white and with coloured noise, unless the data are too many for the effort.
    """
    limit = _NEAR * ranked[0].nmse
    found: list[Setting] = []
    kinds = {SIMULATION: (WHITE, COLOURED), PREDICTION: (POWERED,)}
    if not n_simulated(effort, n_rows):
        del kinds[SIMULATION]
    for objective, sampled in kinds.items():
        settings = dict.fromkeys(
            one.setting
            for one in ranked
            if one.setting.objective == objective and not one.n_lost and one.nmse <= limit
        )
        found += [
            Setting(setting.objective, setting.max_lag, setting.max_degree, setting.center, 0, kind)
            for setting, kind in product([*settings][: effort.n_sampled], sampled)
        ]
    return tuple(found)


def n_simulated(effort: Effort, n_rows: int) -> int:
    """Samples of a chain by simulation that the effort pays for; 0 where those are too few."""
    n = effort.runs * 1000 // max(n_rows, 1)
    return min(n, _MOST) if n >= _FEWEST else 0


def sample(
    setting: Setting,
    data: Dataset,
    held_out: Dataset | None,
    effort: Effort,
    known: dict[str, Any],
    seed: int,
    workers: Workers,
    kept: Kept,
) -> Posterior:
    """The posterior of structures of a setting; longer chains where nothing is held out."""
    longer = _LONGER if held_out is None else 1
    if setting.sampled == POWERED:
        own: dict[str, Any] = {
            "objective": "prediction",
            "likelihood_power": "auto",
            "samples": longer * _PER_SAMPLE * effort.samples,
        }
    else:
        n_samples = n_simulated(effort, data.n_samples) or _FEWEST
        own = {"objective": "simulation", "noise": setting.sampled, "samples": longer * n_samples}
    identifier = QuietIdentifier(
        max_lag=setting.max_lag,
        max_degree=setting.max_degree,
        center=setting.center,
        chains=2,
        seed=seed,
        n_jobs=workers.n_jobs,
        scheduler=workers.executor,
        progress=False,
        checkpoint=kept.place("posterior", setting.plain, data),
        **own,
        **known,
    )
    return identifier.fit(data, held_out=held_out).posterior_


def draw(
    settings: Sequence[Setting],
    folds: Sequence[Fold],
    data: Dataset,
    n_seed: int,
    effort: Effort,
    known: dict[str, Any],
    seed: int,
    workers: Workers,
    observe: Callable[[int, int], None],
    kept: Kept,
) -> list[Drawn]:
    """Posteriors of all settings without each fold; a setting without one somewhere is left out."""
    tasks = list(product(settings, folds))
    alone = replace(workers, n_jobs=1)  # its chains, one after the other; or on the cluster
    n_done = 0

    def one(task: tuple[Setting, Fold]) -> tuple[Posterior, Float1D, float] | None:
        nonlocal n_done
        (setting, fold), begin = task, cpu_seconds()
        try:
            found = sample(setting, fold.fitted, fold.held_out, effort, known, seed, alone, kept)
        except CheckpointError:  # which says nothing about the setting
            raise
        except AdjoinError:  # no chain has anything to show: it is no candidate
            return None
        error = block_errors(found, fold.held_out, n_seed)
        n_done += 1
        observe(n_done, len(tasks))
        return found, error, cpu_seconds() - begin

    results = list(workers.each(one, tasks, "draw"))
    drawn = []
    for i, setting in enumerate(settings):
        own = results[i * len(folds) : (i + 1) * len(folds)]
        fits = [result for result in own if result is not None]
        if len(fits) < len(folds):
            continue
        posteriors = tuple(posterior for posterior, _, _ in fits)
        n_terms = int(np.median([len(posterior.structure(0)) for posterior in posteriors]))
        error = np.array([error for _, error, _ in fits])
        seconds = sum(cpu_s for _, _, cpu_s in fits)
        candidate = Candidate.of(setting, n_terms, error, variance(data), seconds)
        drawn.append(Drawn(candidate, posteriors))
    return drawn


def agrees(posterior: Posterior) -> bool:
    """Whether its chains agree so far that what they say of terms can be used."""
    return bool(posterior.diagnostics["verdict"]["agreement"] != POOR)


def block_errors(posterior: Posterior, data: Dataset, n_seed: int) -> Float1D:
    """As `scan.block_errors`, of the mean of free runs of drawn models, without their noise."""
    models = posterior.draw_models(N_DRAWS, seed=0)
    seeds = [output[: max(n_seed, posterior.max_lag)] for output in data.outputs]
    every = [model.free_response(data.inputs, seeds).series for model in models]
    kept = [runs for runs in every if all(np.isfinite(run).all() for run in runs)]
    if len(kept) < (1.0 - _MANY_LOST) * N_DRAWS:
        return np.full(N_BLOCKS, np.inf)
    means = [np.mean(runs, axis=0) for runs in zip(*kept, strict=True)]
    return errors_of_runs(means, data, n_seed)
