"""Models of the best settings, grown on all data by whoever works.

A model refers to the data it was fitted to, which need not come back with every one from a cluster.
Receives settings; gives `work` their models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjoin.data.dataset import Dataset
from adjoin.discovery.scan import grow
from adjoin.discovery.settings import Setting
from adjoin.discovery.workers import Workers
from adjoin.model import Model
from adjoin.modelling.digits import FittedTo


def grow_for(
    workers: Workers, setting: Setting, data: Dataset, known: dict[str, Any], seed: int
) -> dict[int, Model]:
    """The models of a setting by their number of terms, grown by whoever works."""
    found = workers.call(_grow_bare, setting, workers.share(data), known, seed)
    return {
        size: model if n_seed is None else replace(model, fitted_to=FittedTo(data, n_seed))
        for size, (model, n_seed) in found.items()
    }


def _grow_bare(
    setting: Setting, data: Dataset, known: dict[str, Any], seed: int
) -> dict[int, tuple[Model, int | None]]:
    return {
        size: (replace(model, fitted_to=None), model.fitted_to.n_seed if model.fitted_to else None)
        for size, model in grow(setting, data, known, seed).items()
    }
