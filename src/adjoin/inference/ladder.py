"""The tolerance ladder: its settings, named as in the paper's tables, and its spacing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.checks import is_real, require_count
from adjoin.errors import AdjoinError

DEFAULT, PAPER = "default", "paper"
"""Rules by which the ladder ends up where it does."""
_INTERVAL, _CHI_SQUARE = 0.95, 3.841458820694124  # χ² of one degree of freedom is below with 95 %


@dataclass(frozen=True)
class Ladder:
    r"""How the free-run engine anneals and tempers; the defaults are the paper's.

    Parameters
    ----------
    rungs : int
        C, how many tolerances there are. Only the coldest is recorded.
    swap_interval : int
        n_swap: every so many samples neighbours are exchanged.
    cold_margin : float
        The first cold tolerance, as a multiple of the smallest distance that calibration reached.
    stages : int
        S, how often the ladder is tightened while it anneals.
    annealing : float
        The share of all samples that anneal. Nothing of them is recorded.
    quantile : float
        q: at the end of a stage the cold tolerance is set to this quantile of the distances that
        the coldest rung visited.
    birth_sd : float
        σ_u, the standard deviation of a new coefficient.
    width : float
        s_0, the first width of the random walk.
    acceptance : float
        The acceptance that the widths are adapted to, on random-walk steps.
    guided : float
        The probability of a guided proposal, with ``rule="default"``.
    kappa : float
        κ of the final tolerance, with ``rule="default"``; see `margin`.
    tolerance : float, optional
        The final cold tolerance, in the unit of the distance; default: by the rule.
    descent : int
        How many proposals calibration makes to improve the random structure of each rung.
    common : bool
        Whether the chains of a run end annealing at one tolerance, so that they sample one
        posterior. If not, each ends at its own, as printed in the paper.
    """

    rungs: int = 12
    swap_interval: int = 25
    cold_margin: float = 1.02
    stages: int = 5
    annealing: float = 0.5
    quantile: float = 0.2
    birth_sd: float = 0.1
    width: float = 0.1
    acceptance: float = 0.234
    guided: float = 0.5
    kappa: float = 1.0
    tolerance: float | None = None
    descent: int = 1000
    common: bool = True

    def __post_init__(self) -> None:
        for name in ("rungs", "swap_interval", "stages", "descent"):
            require_count(name, getattr(self, name))
        for name, low, high in (
            ("annealing", 0.0, 1.0),
            ("quantile", 0.0, 1.0),
            ("acceptance", 0.0, 1.0),
            ("birth_sd", 0.0, math.inf),
            ("width", 0.0, math.inf),
            ("kappa", 0.0, math.inf),
            ("cold_margin", 1.0, math.inf),
        ):
            value = getattr(self, name)
            if not (is_real(value) and low < value < high):
                between = f"between {low:g} and {high:g}" if high < math.inf else f"above {low:g}"
                raise AdjoinError(f"the ladder's {name} must be a number {between}, not {value!r}")
        if not (is_real(self.guided) and 0.0 <= self.guided < 1.0):
            raise AdjoinError(
                f"the ladder's guided must be a probability from 0 to below 1, not {self.guided!r}"
            )
        tolerance = self.tolerance
        if tolerance is not None and not (is_real(tolerance) and 0.0 < tolerance <= math.inf):
            raise AdjoinError(f"the ladder's tolerance must be positive, not {tolerance!r}")
        if not isinstance(self.common, bool | np.bool_):
            raise AdjoinError(f"the ladder's common must be True or False, not {self.common!r}")
        for field in fields(self):  # plain numbers, whatever they were given as
            value = getattr(self, field.name)
            plain = {bool: bool, int: int}.get(type(field.default), float)
            object.__setattr__(self, field.name, None if value is None else plain(value))

    @classmethod
    def read(cls, given: Ladder | Mapping[str, Any] | None) -> Ladder:
        """A user's choice: None (the defaults), or what differs from them by name."""
        if given is None:
            return cls()
        if isinstance(given, Ladder):
            return given
        if not isinstance(given, Mapping):
            raise AdjoinError(f"ladder must be settings by name, not {given!r}")
        known = [field.name for field in fields(cls)]
        if strangers := [name for name in given if name not in known]:
            raise AdjoinError(
                f"the ladder has no setting '{strangers[0]}'; it has {', '.join(known)}"
            )
        return cls(**given)

    @property
    def settings(self) -> dict[str, float | str | None]:
        """All settings by name, as plain values: an infinite tolerance is the text "inf"."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return every | ({"tolerance": "inf"} if self.tolerance == math.inf else {})

    @property
    def changes(self) -> dict[str, Any]:
        """What differs from the defaults."""
        every = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in every.items() if value != getattr(Ladder, name)}

    def margin(self, n_terms: int, n_rows: int) -> float:
        r"""By how much the final tolerance exceeds the least squared error S*, relative to it.

        .. math::
            \frac{ε}{S^*} - 1 = \frac{κ\, r_p^2}{n - p}, \qquad
            r_p^2 = \frac{χ^2_{1;\,0.95}}{B_{0.95}(\frac12, \frac{p+1}2)}

        Coefficients within a tolerance fill an ellipsoid; that is the ball of radius :math:`r_p`
        where their Gaussian law is the standard one. The square of one coordinate of the unit ball
        is B(1/2, (p+1)/2), so that with κ = 1 the middle 95 % of every coefficient are as wide as
        those of the Gaussian law. (At :math:`r_p^2 = p + 2` its variance would be the same; but a
        ball has no tails, and 95 % intervals would hold 90 % for p = 1, and 93 % for p = 3.)
        """
        from scipy.special import betaincinv

        square = _CHI_SQUARE / float(betaincinv(0.5, 0.5 * (n_terms + 1), _INTERVAL))
        return self.kappa * square / max(n_rows - n_terms, 1)

    def spaced(self, floor: float, coldest: float, hottest: float) -> Float1D:
        r"""The tolerances, evenly spaced in the logarithm of their excess over the floor.

        .. math:: ε_c = d_{min} + (ε_0 - d_{min})^{1-x} (ε_{C-1} - d_{min})^x, \quad x = c/(C-1)
        """
        if self.rungs == 1 or not math.isfinite(hottest) or not hottest > coldest > floor:
            return np.full(self.rungs, max(coldest, floor))
        share = np.arange(self.rungs) / (self.rungs - 1)
        spaced: Float1D = floor + (coldest - floor) ** (1.0 - share) * (hottest - floor) ** share
        spaced[0], spaced[-1] = coldest, hottest
        return spaced
