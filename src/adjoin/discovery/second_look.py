r"""Finished equations held against every fold once more, and which folds have something to say.

What was grown on all data keeps its terms, and its coefficients are fitted without what a fold
holds out: a structure that only suits the data it was grown on shows itself there. The larger of
both errors counts,

.. math:: e_f = \max(e_f^\text{grown}, e_f^\text{again}) \quad\text{for folds } f \text{ that tell}.

Nor may an equation miss more of the data that it is fitted to in the end. A fold does not tell
where more than half of the equations are lost: it holds out the only samples that say anything
about some coefficients of these terms, as the ends of a range, so that a run that leaves the data
says nothing against an equation whose coefficients are fitted to them. Receives models with the
settings they are of; gives `ranking` errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Bool1D
from adjoin.data.dataset import Dataset
from adjoin.discovery.folds import Fold
from adjoin.discovery.refit import refit
from adjoin.discovery.scan import block_errors
from adjoin.discovery.settings import Setting
from adjoin.discovery.workers import Workers
from adjoin.model import Model

_MOST_LOST = 0.5  # share of the equations


class Look(NamedTuple):
    """What a finished equation misses.

    ``error`` : (n_folds, n_blocks) of its terms on what each fold holds out, infinite where a run
    is lost. ``fitted`` : its mean squared error on all data.
    """

    error: np.ndarray
    fitted: float


def look_again(
    model: Model,
    setting: Setting,
    data: Dataset,
    folds: Sequence[Fold],
    n_seed: int,
    workers: Workers | None = None,
) -> Look:
    """Hold the terms of a model of all data against every fold."""
    by, bare = workers or Workers(1), replace(model, fitted_to=None)
    look = partial(by.call, _errors_again, bare, setting, n_seed)
    errors = [*by.each(look, [by.share(fold) for fold in folds], "look")]
    return Look(np.array(errors), float(block_errors(model, data, n_seed).mean()))


def _errors_again(model: Model, setting: Setting, n_seed: int, fold: Fold) -> np.ndarray:
    return block_errors(refit(model, fold.fitted, setting), fold.held_out, n_seed)


def telling(looks: Iterable[Look]) -> Bool1D:
    """Which folds tell between the equations: those that lose at most half of them."""
    is_lost = np.array([~np.isfinite(look.error).all(axis=1) for look in looks])
    return np.asarray(is_lost.mean(axis=0) <= _MOST_LOST)


def larger(grown: np.ndarray, again: np.ndarray, tells: Bool1D) -> np.ndarray:
    """The larger of both errors in the folds that tell, the first elsewhere."""
    return np.where(tells[:, None], np.maximum(grown, again), grown)
