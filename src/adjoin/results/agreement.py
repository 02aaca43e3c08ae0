"""Whether the chains predict alike, though their structures may differ.

Receives a `Collection` of several chains; gives an `Agreement`: how far the free runs of their own
equations are from each other, on the data that were held out where there are any, else on those
that were fitted. Equations that run alike on the same inputs are one for who predicts with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from adjoin.results.collection import Collection

ALIKE = 0.05
"""Of the output's standard deviation: free runs that differ by no more agree."""


@dataclass(frozen=True)
class Agreement:
    """The largest difference between the free runs of two chains' equations.

    Parameters
    ----------
    of_output : float
        Its root mean square over the standard deviation of the output.
    of_noise : float or None
        The same over the standard deviation of the noise; None where that is not known.
    """

    of_output: float
    of_noise: float | None

    @property
    def is_alike(self) -> bool:
        """Whether they agree for who predicts with them."""
        return self.of_output <= ALIKE

    @property
    def size(self) -> str:
        """In words."""
        noise = "" if self.of_noise is None else f" ({self.of_noise:.2g} times the noise)"
        return f"{100.0 * self.of_output:.2g} % of the output's standard deviation{noise}"

    def words(self, is_trusted: bool) -> str:
        """What it says of chains whose structures differ; `is_trusted`: the free run is usable."""
        if not self.is_alike:
            return (
                "the chains' structures differ, and so do their free runs, by up to"
                f" {self.size}: not even predictions are settled"
            )
        use = "predictions can be used, the equation is not unique"
        if not is_trusted:
            use = "but they are all far from the data"
        return f"the chains' structures differ, but their free runs agree to {self.size}: {use}"

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"of_output": self.of_output, "of_noise": self.of_noise, "is_alike": self.is_alike}


def find_agreement(posterior: Collection) -> Agreement | None:
    """How far the chains' free runs are apart; None of one chain, or where one runs away."""
    if posterior.n_chains < 2:
        return None
    data = posterior.data if posterior.held_out is None else posterior.held_out
    first = posterior.max_lag
    runs = [
        np.concatenate([series[first:] for series in posterior.chain(number).free_run(data)])
        for number in posterior.chain_numbers
    ]
    size = float(np.std(np.concatenate([record[first:] for record in data.outputs])))
    if not size > 0.0 or not all(np.isfinite(run).all() for run in runs):
        return None
    apart = max(float(np.sqrt(np.mean((a - b) ** 2))) for a, b in combinations(runs, 2))
    noise = float(posterior.noise["mean"]) if posterior.is_noise_told else 0.0
    return Agreement(apart / size, apart / noise if noise > 0.0 else None)
