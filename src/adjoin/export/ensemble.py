"""Several models that run side by side: draws of a posterior, and how far noise takes each.

Receives models drawn from a posterior (``results``); hands them to C and FMUs, which give mean,
spread and bands at every step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.model import Model

MOST = 1000  # models: beyond, sorting them at every step takes the time of hundreds of terms


@dataclass(frozen=True)
class Ensemble:
    r"""Models with noise, such that quantiles of :math:`\hat y_i(k) + s_i z_i` are bands.

    The runs :math:`\hat y_i` have no noise. What noise adds to each of them has the standard
    deviation :math:`s_i` at every sample, and :math:`z_i` are normal scores, one for each model and
    the same at all times: with a generator of noise in their place bands would be those of one
    more random run, and would shake.

    Parameters
    ----------
    models : tuple of Model
        All of the same signals, offsets and limits.
    spread : tuple of float
        s, in units of the output.
    quantiles : tuple of float
        Which bands there are.
    noise_words : str
        What noise the spread is of, and how it was found.
    seed : int
        Of the scores.
    """

    models: tuple[Model, ...]
    spread: tuple[float, ...]
    quantiles: tuple[float, ...]
    noise_words: str
    seed: int = 0

    def __post_init__(self) -> None:
        if not 2 <= len(self.models) <= MOST:
            raise AdjoinError(
                f"an ensemble has from 2 to {MOST} draws, not {len(self.models)}; take the model"
                " itself where one is enough"
            )

    @cached_property
    def score(self) -> Float1D:
        """z: quantiles of a normal distribution of mean 0 and variance 1, in random order."""
        n = len(self.models)
        normal = NormalDist()
        scores = np.array([normal.inv_cdf((i + 0.5) / n) for i in range(n)])
        scores /= np.sqrt(np.mean(scores**2))
        return np.asarray(np.random.default_rng(self.seed).permutation(scores))

    @cached_property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """Numbers of the models by structure: those that feed back first, then the most frequent.

        So generated code writes each structure once, and knows by its place which run can be lost
        for good.
        """
        found: dict[object, list[int]] = {}
        for number, model in enumerate(self.models):
            found.setdefault(model.structure, []).append(number)
        groups = sorted(found.values(), key=lambda group: (not self._is_fed(group), -len(group)))
        return tuple(map(tuple, groups))

    def _is_fed(self, group: Sequence[int]) -> bool:
        return feeds_back(self.models[group[0]])

    @property
    def n_fed(self) -> int:
        """How many models look at their own output; in the order of `groups` the first ones."""
        return sum(map(feeds_back, self.models))


def feeds_back(model: Model) -> bool:
    """Whether a model looks at its own past output."""
    output = model.names.output
    return any(atom.signal == output for term in model.structure for atom in term)
