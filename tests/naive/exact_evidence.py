"""The evidence of a structure with 60 digits, where doubles do not do."""

from __future__ import annotations

from functools import lru_cache

import mpmath
import numpy as np
from tests.naive.prediction import Term, Twin

DIGITS = 60


@lru_cache(maxsize=4096)
def _dot(left: bytes, right: bytes) -> mpmath.mpf:
    pairs = zip(np.frombuffer(left).tolist(), np.frombuffer(right).tolist(), strict=True)
    with mpmath.workdps(DIGITS):
        return mpmath.fdot((mpmath.mpf(a), mpmath.mpf(b)) for a, b in pairs)


def dot(left: np.ndarray, right: np.ndarray) -> mpmath.mpf:
    """Σ left·right, of doubles as they are."""
    first, second = sorted(np.ascontiguousarray(x).tobytes() for x in (left, right))
    return _dot(first, second)


def normal_equations(
    columns: np.ndarray, output: np.ndarray, noise: float, coefficient: float, power: float
) -> tuple[mpmath.matrix, mpmath.matrix]:
    """A = wΦᵀΦ/σ² + I/σ_θ² and b = wΦᵀy/σ²."""
    n, weight = columns.shape[1], mpmath.mpf(power) / mpmath.mpf(noise)
    precision, pull = mpmath.matrix(n, n), mpmath.matrix(n, 1)
    for i in range(n):
        pull[i] = weight * dot(columns[:, i], output)
        for j in range(n):
            precision[i, j] = weight * dot(columns[:, i], columns[:, j])
        precision[i, i] += 1 / mpmath.mpf(coefficient)
    return precision, pull


def log_evidence(
    columns: np.ndarray, output: np.ndarray, noise: float, coefficient: float, power: float
) -> float:
    """½bᵀA⁻¹b - ½w‖y‖²/σ² - ½log|σ_θ²A|, which is the evidence up to what no structure changes."""
    with mpmath.workdps(DIGITS):
        found = -mpmath.mpf(power) / mpmath.mpf(noise) * dot(output, output) / 2
        if columns.shape[1]:
            precision, pull = normal_equations(columns, output, noise, coefficient, power)
            found += (pull.T * mpmath.lu_solve(precision, pull))[0] / 2
            found -= mpmath.log(mpmath.det(precision * mpmath.mpf(coefficient))) / 2
        return float(found)


def squared_error(columns: np.ndarray, output: np.ndarray, theta: np.ndarray) -> float:
    """‖y - Φθ‖² = ‖y‖² - 2θᵀΦᵀy + θᵀΦᵀΦθ."""
    with mpmath.workdps(DIGITS):
        found, scale = dot(output, output), [mpmath.mpf(value) for value in theta.tolist()]
        for i, left in enumerate(scale):
            found -= 2 * left * dot(columns[:, i], output)
            for j, right in enumerate(scale):
                found += left * right * dot(columns[:, i], columns[:, j])
        return float(found)


class ExactTwin(Twin):
    """The plain sampler with 60 digits in all that cancels."""

    def _evidence(self, terms: list[Term], noise: float, coefficient: float) -> float:
        columns = self.columns.matrix(self._free(terms))
        return log_evidence(columns, self.output, noise, coefficient, self.power)

    def _draw_theta(
        self, rng: np.random.Generator, terms: list[Term], noise: float, coefficient: float
    ) -> np.ndarray:
        drawn = {term: rng.standard_normal() for term in terms}
        free = self._free(terms)
        if not free:
            return np.empty(0)
        with mpmath.workdps(DIGITS):
            columns = self.columns.matrix(free)
            precision, pull = normal_equations(columns, self.output, noise, coefficient, self.power)
            lower = mpmath.cholesky(precision)
            white = mpmath.lu_solve(lower, pull) + mpmath.matrix([drawn[term] for term in free])
            theta = mpmath.lu_solve(lower.T, white)
            return np.array([float(value) for value in theta])

    def _squared_error(self, terms: list[Term], theta: np.ndarray) -> float:
        return squared_error(self.columns.matrix(terms), self.output, theta)
