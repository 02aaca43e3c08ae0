"""The best candidates of a discovery together: the median of their free runs at every sample.

One stretch of held-out data is a poor chooser between candidates that are nearly as good; their
median is better than most of them, and one that drifts away does not pull it along, as it would a
mean. Receives models; gives an `Average`, which runs them and leaves out those that are lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs, as_series
from adjoin.model import Model


@dataclass(frozen=True, eq=False)
class Average:
    """Models with equal weights; the first is the one that is shown as the equation."""

    models: tuple[Model, ...]

    def __len__(self) -> int:
        return len(self.models)

    def __repr__(self) -> str:
        return f"Average({len(self)} models)"

    def simulate(self, u: Any, y_init: Any = None) -> Any:
        """The median of the free runs; arguments as for `Model.simulate`, or a `Dataset`."""
        names = self.models[0].names
        if isinstance(u, Dataset):
            runs = self.runs_of(u)
            return runs if u.n_records > 1 else runs[0]
        inputs, several = as_inputs(u, names)
        seeds = None
        if y_init is not None:
            seeds, _ = as_series(y_init, names.output, "initial output y_init", may_be_empty=True)
        found = self.runs(inputs, seeds)
        return found if several else found[0]

    def runs_of(self, data: Dataset) -> list[Float1D]:
        """The same of all records of measured data, which seed themselves."""
        return self.runs(data.inputs, [output[: self.n_seed] for output in data.outputs])

    @property
    def n_seed(self) -> int:
        """How many measured outputs seed a run: as many as the longest model asks for."""
        return max(model.max_lag for model in self.models)

    def runs(self, inputs: Sequence[Float2D], seeds: Sequence[Float1D] | None) -> list[Float1D]:
        """The median over the models that stay in the whole of a record; NaN where none does."""
        every = [model.free_response(inputs, seeds).series for model in self.models]
        found = []
        for i, record in enumerate(inputs):
            kept = [runs[i] for runs in every if np.isfinite(runs[i]).all()]
            found.append(np.median(kept, axis=0) if kept else np.full(len(record), np.nan))
        return found


def distance(one: Sequence[Float1D], other: Sequence[Float1D], of: float) -> float:
    """Root mean square of the difference of two runs, as a share of a standard deviation."""
    gap = np.concatenate([a - b for a, b in zip(one, other, strict=True)])
    return float(np.sqrt(np.mean(gap**2)) / of) if of > 0.0 else 0.0
