"""The known physics alone: its coefficients by least squares on the training part.

Receives a `Benchmark`; gives a model to hold the learned ones against.
"""

from __future__ import annotations

from dataclasses import replace

from adjoin.datasets import Benchmark
from adjoin.grammar import Structure
from adjoin.inference.problem import limits_of
from adjoin.inference.rows import Rows
from adjoin.model import Model


def fit_white_box(benchmark: Benchmark) -> Model | None:
    """The model of the known physics; None where nothing is known."""
    if benchmark.initial is None:
        return None
    fixed = Structure.parse(benchmark.initial, benchmark.train.names)
    model = Rows.unscaled(benchmark.train, benchmark.n_seed).white_box(fixed)
    return replace(model, limits=limits_of(benchmark.train))  # as of all that are learned
