"""Noise on top of free runs, white or autoregressive, by its formulas, in plain NumPy.

What a run is worth depends on the moments of its residual; variance and ρ are integrated out of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np


class Run(NamedTuple):
    """A free run by what its likelihood depends on.

    S is the squared error, or with autoregressive noise what is left of it by the best ρ; `volume`
    is ½ log|VᵀV| of the past V of the residual, and `moment` the products of residual and past.
    """

    error: float
    volume: float
    rho: np.ndarray
    moment: np.ndarray

    def given(self, rho: np.ndarray) -> float:
        """S with another ρ."""
        weight = np.array([1.0, *-rho])
        return float(weight @ self.moment @ weight) if len(rho) else self.error


LOST = Run(math.inf, 0.0, np.empty(0), np.empty((0, 0)))


def judged(residuals: list[np.ndarray] | None, order: int) -> Run:
    """Of the residuals of all records; the first of each, as many as the order, are given."""
    if residuals is None:
        return LOST
    rows = [
        np.column_stack([v[order - lag : len(v) - lag] for lag in range(order + 1)])
        for v in residuals
    ]
    moment = sum(row.T @ row for row in rows)
    rho = np.linalg.solve(moment[1:, 1:], moment[1:, 0])
    volume = 0.5 * float(np.linalg.slogdet(moment[1:, 1:])[1]) if order else 0.0
    run = Run(float(moment[0, 0]), volume, rho, moment)
    return run._replace(error=run.given(rho))


def whitened(series: np.ndarray, lengths: list[int], rho: np.ndarray) -> np.ndarray:
    """Every record filtered by 1 - Σ ρ_l q^-l; 0 where it is given."""
    parts = []
    for part in np.split(series, np.cumsum(lengths)[:-1]):
        left = part.copy()
        for lag, value in enumerate(rho, start=1):
            left[lag:] -= value * part[:-lag]
        left[: len(rho)] = 0.0
        parts.append(left)
    return np.concatenate(parts)


def is_stationary(rho: np.ndarray) -> bool:
    """Whether all roots of z^q - Σ ρ_l z^(q-l) are inside the unit circle."""
    return bool((np.abs(np.roots([1.0, *-rho])) < 1.0).all())


class Noise(NamedTuple):
    """σ² ~ IG(shape, scale), integrated out of so many rows."""

    shape: float
    scale: float
    n_rows: int

    def posterior(self, power: float, error: float) -> tuple[float, float]:
        """A and B of σ² given a free run."""
        return self.shape + 0.5 * power * self.n_rows, self.scale + 0.5 * power * error

    def log_fit(self, power: float, error: float) -> float:
        """-A log B; nothing where the run has left its bounds."""
        shape, scale = self.posterior(power, error)
        return -shape * math.log(scale) if error < math.inf else -math.inf

    def log_run(self, power: float, run: Run) -> float:
        """With coloured noise, ρ is integrated out as well."""
        return self.log_fit(power, run.error) - run.volume

    def precision(self, power: float, error: float) -> float:
        """γ = wA/B."""
        shape, scale = self.posterior(power, error)
        return power * shape / scale
