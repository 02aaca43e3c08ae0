"""First-order gains of candidate terms, and paths that follow them, by their formulas in NumPy.

Slopes are those of a model that has the candidate, too, with coefficient 0; every candidate is
worked out alone, from its own run, and projected by QR.
"""

from __future__ import annotations

import numpy as np
from tests.naive.fits import FreeRuns
from tests.naive.prior import Term

CLEAR = 1e-10


def gain_beside(own: np.ndarray, slope: np.ndarray, residual: np.ndarray) -> float:
    """(r·s⊥)² / ‖s⊥‖², s⊥ what is left of a slope beside the model's own; 0 if nothing is."""
    return gain_and_square(own, slope, residual)[0]


def gain_and_square(
    own: np.ndarray, slope: np.ndarray, residual: np.ndarray
) -> tuple[float, float]:
    """The same, and ‖s⊥‖²."""
    if not (np.isfinite(slope).all() and np.isfinite(own).all()):
        return 0.0, 0.0
    basis, _ = np.linalg.qr(own)
    across = slope - basis @ (basis.T @ slope)
    across = across - basis @ (basis.T @ across)
    square = float(across @ across)
    if not square > CLEAR * float(slope @ slope):
        return 0.0, 0.0
    return float(residual @ across) ** 2 / square, square


def first_order_gain(
    runs: FreeRuns, terms: list[Term], theta: list[float], candidate: Term, n_pinned: int = 0
) -> float:
    """Of one candidate beside these terms; the first `n_pinned` keep their coefficients."""
    slopes, residual = runs.linearised([*terms, candidate], [*theta, 0.0])
    return gain_beside(slopes[:, n_pinned:-1], slopes[:, -1], residual)


def orthogonal_least_squares(
    columns: np.ndarray, output: np.ndarray, first: list[int], n_terms: int
) -> tuple[list[int], list[float]]:
    """Greedy orthogonal least squares: the columns in the order they are taken, and the errors."""
    chosen, errors = list(first), []
    while True:
        own = columns[:, chosen]
        theta = np.linalg.lstsq(own, output)[0]
        left = output - own @ theta
        errors.append(float(left @ left))
        if len(chosen) == n_terms:
            return chosen, errors
        gains = [
            0.0 if j in chosen else gain_beside(own, columns[:, j], left)
            for j in range(columns.shape[1])
        ]
        chosen.append(int(np.argmax(gains)))
