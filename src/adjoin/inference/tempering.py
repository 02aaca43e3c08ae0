r"""Ladders of likelihood powers: where the rungs are, and how well they exchange.

Whatever a chain tempers, these are functions of how often neighbours exchanged. With ρ_c the share
of exchanges between rungs c and c + 1 that were refused, :math:`Λ = \sum_c ρ_c` hardly depends on
where the rungs are, and a round trip is fastest where all ρ_c are equal (Syed, Bouchard-Côté,
Deligiannidis and Doucet, 2022): the rungs are moved to equal steps of the running sum.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Int2D

HOTTEST = 0.02
"""The hottest power as a share of the coldest."""


def first_powers(power: float, n_rungs: int, hottest: float = HOTTEST) -> Float1D:
    """Geometric rungs from `power` down."""
    if n_rungs == 1:
        return np.array([float(power)])
    return float(power) * np.geomspace(1.0, hottest, n_rungs)


def refusals(swap: Int2D) -> Float1D:
    """ρ of every pair of neighbours, from exchanges tried and made; one half where none was."""
    tried, made = swap[:-1, 0].astype(float), swap[:-1, 1].astype(float)
    return np.asarray(1.0 - (made + 0.5) / (tried + 1.0))


def place_rungs(power: Float1D, swap: Int2D) -> Float1D:
    """The same number of rungs between the same ends, at equal steps of the sum of refusals."""
    if len(power) < 3 or not power[-1] > 0.0:
        return power.copy()
    total = np.append(0.0, np.cumsum(refusals(swap)))
    steps = np.linspace(0.0, total[-1], len(power))
    placed = np.exp(np.interp(steps, total, np.log(power)))
    placed[0], placed[-1] = power[0], power[-1]  # to the last bit
    return np.asarray(placed)


def wanted_rungs(swap: Int2D) -> int:
    """How many rungs would exchange half of the time, by Λ."""
    return 1 + math.ceil(2.0 * float(refusals(swap).sum()))
