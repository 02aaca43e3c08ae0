r"""Autoregressive noise on top of a free run: drawn, whitened, and predicted from its past.

:math:`v(k) = \sum_{l=1}^q ρ_l v(k-l) + e(k)` with v what is measured less the free run. Receives
draws of ρ from a chain; serves bands, predictions and residuals. Without coefficients v is e.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D, Float2D


def stationary_covariance(rho: Float1D) -> Float2D:
    r"""Covariance of q neighbouring v, for e of variance 1; order 1 or 2.

    .. math::
        γ_0 = \frac{1 - ρ_2}{(1 + ρ_2)((1 - ρ_2)² - ρ_1²)}, \qquad γ_1 = \frac{ρ_1 γ_0}{1 - ρ_2}
    """
    first, second = (*rho, 0.0)[:2]
    variance = (1.0 - second) / ((1.0 + second) * ((1.0 - second) ** 2 - first**2))
    lagged = first * variance / (1.0 - second)
    return np.array([[variance, lagged], [lagged, variance]])[: len(rho), : len(rho)]


def draw_noise(rng: np.random.Generator, sd: float, rho: Float1D, n: int) -> Float1D:
    """A series of n samples that begins as if it had always been there."""
    white = sd * rng.standard_normal(n)
    if not len(rho):
        return white
    from scipy.signal import lfilter, lfiltic

    root = np.linalg.cholesky(stationary_covariance(rho))
    past = sd * (root @ rng.standard_normal(len(rho)))  # v(-1), v(-2)
    recursion = np.array([1.0, *-rho])
    series, _ = lfilter([1.0], recursion, white, zi=lfiltic([1.0], recursion, past))
    return np.asarray(series)


def predict_noise(residual: Float1D, rho: Float1D, steps: int) -> tuple[Float1D, Float1D]:
    r"""v(k) as its past up to k - `steps` predicts it, and the spread of that by the sd of e.

    With C the companion matrix of ρ the prediction is the first row of :math:`C^s` times the past,
    and its variance :math:`\sum_{j<s} (C^j)_{11}²`. The first s samples have no past: they have the
    spread of v itself. What lies before the first sample counts as 0.
    """
    order = len(rho)
    if not order:
        return np.zeros(len(residual)), np.ones(len(residual))
    companion = np.eye(order, k=-1)
    companion[0] = rho
    weight, variance = np.eye(order)[0], 0.0
    for _ in range(steps):
        variance += weight[0] ** 2
        weight = weight @ companion
    predicted = np.zeros(len(residual))
    for lag, value in enumerate(weight, start=steps):
        predicted[lag:] += value * residual[: max(len(residual) - lag, 0)]
    spread = np.full(len(residual), np.sqrt(variance))
    spread[:steps] = np.sqrt(stationary_covariance(rho)[0, 0])
    return predicted, spread


def innovations(residual: Float1D, rho: Float1D) -> Float1D:
    """What of v its past does not predict: e. The first samples, without a past, are v itself."""
    predicted, _ = predict_noise(residual, rho, 1)
    return residual - predicted
