"""Models grown for every candidate and every fold, and what their held-out free runs miss.

Receives settings and folds; gives `Path`, a setting with the squared errors of its models, smallest
first. Paths are worked out side by side, by `workers`: the kernels hold no lock, and each path is a
function of its setting, its data and its seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice, product
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.discovery.folds import Fold
from adjoin.discovery.kept import Errors, Kept
from adjoin.discovery.lags import linear_models
from adjoin.discovery.settings import LINEAR, Setting
from adjoin.discovery.workers import Workers
from adjoin.forward import forward_selection
from adjoin.model import Model

N_BLOCKS = 5
"""Stretches of a fold over which errors are summed up, to see how much they vary."""


@dataclass(frozen=True, eq=False)
class Path:
    """What the models of one setting miss on the held-out data.

    Parameters
    ----------
    setting : Setting
    n_terms : (n_sizes,) tuple of int
    error : (n_sizes, n_folds, N_BLOCKS) array
        Mean squared errors of free runs, infinite where a run is lost. Where a fold's path ended
        early, its last model stands for the larger ones.
    cpu_s : float
    """

    setting: Setting
    n_terms: tuple[int, ...]
    error: np.ndarray
    cpu_s: float


def grow(setting: Setting, data: Dataset, known: dict[str, Any], seed: int) -> dict[int, Model]:
    """The models of a setting by their number of terms.

    `known` are fixed terms and functions, where a user has some.
    """
    if setting.objective == LINEAR:
        found = linear_models(data, setting.max_lag)
        return {len(model.structure): model for model in found.values()}
    path = forward_selection(
        data,
        objective=setting.objective,
        max_lag=setting.max_lag,
        max_degree=setting.max_degree,
        max_terms=setting.max_terms,
        center=setting.center,
        seed=seed,
        **known,
    )
    return {len(model.structure): model for model in path.models}


def held_out_errors(
    setting: Setting, fold: Fold, n_seed: int, known: dict[str, Any], seed: int
) -> Errors:
    """What the models of a setting that are grown without a fold miss there."""
    models = grow(setting, fold.fitted, known, seed)
    return {size: block_errors(model, fold.held_out, n_seed) for size, model in models.items()}


def block_errors(model: Model, data: Dataset, n_seed: int) -> Float1D:
    """Mean squared errors of a free run in `N_BLOCKS` stretches of the held-out data."""
    seeds = [output[:n_seed] for output in data.outputs]
    return errors_of_runs(model.free_response(data.inputs, seeds).series, data, n_seed)


def errors_of_runs(runs: Sequence[Float1D], data: Dataset, n_seed: int) -> Float1D:
    """The same of runs that are there already; infinite where one is lost."""
    pairs = zip(data.outputs, runs, strict=True)
    squared = np.concatenate([(y - run)[n_seed:] ** 2 for y, run in pairs])
    if not np.isfinite(squared).all():
        return np.full(N_BLOCKS, np.inf)
    return np.array([block.mean() for block in np.array_split(squared, N_BLOCKS)])


def scan(
    settings: Sequence[Setting],
    folds: Sequence[Fold],
    n_seed: int,
    known: dict[str, Any],
    seed: int,
    workers: Workers | None = None,
    observe: Callable[[Path], None] | None = None,
    kept: Kept | None = None,
) -> list[Path]:
    """The paths of all settings; `observe` is told of each in turn; `kept` keeps them."""
    if not settings:
        return []
    keeper, by = kept or Kept(), workers or Workers()

    def one(task: tuple[Setting, int]) -> tuple[Errors, float]:
        setting, number = task
        given = (setting, by.share(folds[number]), n_seed, known, seed)
        find = partial(by.call, held_out_errors, *given)
        return keeper.errors([setting.plain, n_seed, number], find)

    for fold in folds:
        by.share(fold)
    first, *others = product(settings, range(len(folds)))
    # The first compiles, if need be, before there are others.
    results = chain([one(first)], by.each(one, others, "scan"))
    paths = []
    for setting in settings:
        found = list(islice(results, len(folds)))
        cpu_s = sum(seconds for _, seconds in found)
        paths.append(_together(setting, [errors for errors, _ in found], cpu_s))
        if observe is not None:
            observe(paths[-1])
    return paths


def _together(setting: Setting, errors: Sequence[Errors], cpu_s: float) -> Path:
    sizes = tuple(sorted({size for known in errors for size in known}))
    table = np.full((len(sizes), len(errors), N_BLOCKS), np.inf)
    for fold, known in enumerate(errors):
        for i, n_terms in enumerate(sizes):
            table[i, fold] = known[max(s for s in known if s <= max(n_terms, min(known)))]
    return Path(setting, sizes, table, cpu_s)


def variance(data: Dataset) -> float:
    """Of the output of all records together; what errors are shares of."""
    return float(np.var(np.concatenate(data.outputs)))
