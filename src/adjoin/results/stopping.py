"""Whether chains agree, by stated limits: what ends a run of ``samples="auto"``.

Receives a `Collection`; gives an `Agreement`. It is a function of the draws alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.results.collection import Collection
from adjoin.results.diagnose import convergence

RHAT = 1.01
"""Largest R-hat of any quantity (Vehtari et al. 2021)."""
EFFECTIVE = 100
"""Fewest effective samples per chain, of the same source."""
SPREAD = 0.1
"""Largest difference between two chains, of a structure's mass or of a term's inclusion."""


@dataclass(frozen=True)
class Agreement:
    """How far chains agree; None where it cannot be told.

    ``rhat``, ``effective`` : largest R-hat, and smallest effective size of a chain on average.
    ``mass``, ``inclusion`` : largest differences between two chains.
    """

    rhat: float | None
    effective: float | None
    mass: float
    inclusion: float

    @property
    def is_reached(self) -> bool:
        """Whether all of it is within the limits; what does not vary is."""
        return (
            (self.rhat is None or self.rhat <= RHAT)
            and (self.effective is None or self.effective >= EFFECTIVE)
            and self.mass <= SPREAD
            and self.inclusion <= SPREAD
        )

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "rhat": self.rhat,
            "effective": self.effective,
            "mass": self.mass,
            "inclusion": self.inclusion,
            "is_reached": self.is_reached,
        }


def agreement(posterior: Collection) -> Agreement:
    """How far the chains of a posterior agree."""
    rows = convergence(posterior)
    rhats = [row["rhat"] for row in rows if row["rhat"] is not None]
    sizes = [row["ess_bulk"] for row in rows if row["ess_bulk"] is not None]
    chains = [f"chain_{number}" for number in posterior.chain_numbers]
    masses = posterior.structures[chains].to_numpy()
    shares = posterior.expected_inclusion_by_chain
    return Agreement(
        max(rhats, default=None),
        min(sizes) / posterior.n_chains if sizes else None,
        float(np.ptp(masses, axis=1).max(initial=0.0)),
        float(np.ptp(shares, axis=1).max(initial=0.0)),
    )
