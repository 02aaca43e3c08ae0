r"""Autoregressive noise on the output, its coefficients and variance integrated out.

The residual of a free run is :math:`v(k) = y(k) - \hat y(k) = \sum_{l=1}^q ρ_l v(k-l) + e(k)` with
e white, given the first q of each record. Its density depends on the moments
:math:`M_{ab} = \sum_k v(k-a) v(k-b)` alone: with :math:`M_{11}` those of the past, m its products
with v(k), and ρ flat,

.. math::
    \hat ρ = M_{11}^{-1} m, \qquad S = M_{00} - m^T \hat ρ, \qquad
    \log p_w(y|θ) = -\tfrac12 \log |M_{11}| - (A - \tfrac q2) \log B(S)

up to what is the same for all runs, A and B as in ``modes`` with n the rows that are not given.
Here :math:`-q/2` is part of the shape of the noise prior. Without an order, S is the squared error.

ρ is flat on where the noise is stationary, and has no mass elsewhere: what is proposed comes with
a draw :math:`σ² \sim IG(A - \tfrac q2, B(S))`, :math:`ρ \sim N(\hat ρ, \tfrac{σ²}{w} M_{11}^{-1})`
from the conditional of both, and is refused where that is not stationary. The chain then is one of
(T, θ, ρ), exactly: conditional and indicator are what the ratio leaves of ρ.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_inverse_gamma
from adjoin.kernels.free_run import free_run_error
from adjoin.kernels.layouts import FreeRun
from adjoin.kernels.state import Target
from adjoin.kernels.tables import Colour, FitWork

# A run without residual has no colour: moments of this size are none.
SMALLEST = 1e-280


@kernel()
def add_moments(run: FreeRun, colour: Colour) -> None:
    """The moments of the residual of the run in ``run.data.predicted``, over all records.

    Mutates: colour.moment. Allocates: nothing.
    """
    order, moment, data = colour.rho.shape[0], colour.moment, run.data
    for a in range(order + 1):
        for b in range(order + 1):
            moment[a, b] = 0.0
    for record in range(data.first.shape[0]):
        for k in range(data.first[record] + order, data.stop[record]):
            for a in range(order + 1):
                left = data.measured[k - a] - data.predicted[k - a]
                for b in range(a, order + 1):
                    moment[a, b] += left * (data.measured[k - b] - data.predicted[k - b])
    for a in range(order + 1):
        for b in range(a):
            moment[a, b] = moment[b, a]


@kernel()
def solve_colour(colour: Colour) -> float:
    """ρ, S and half the log determinant of the past, from the moments; S.

    Mutates: colour. Allocates: nothing.
    """
    order, moment, factor, rho = colour.rho.shape[0], colour.moment, colour.factor, colour.rho
    error, colour.volume[0] = moment[0, 0], 0.0
    for i in range(order):
        for j in range(i, order):
            value = moment[i + 1, j + 1]
            for k in range(i):
                value -= factor[k, i] * factor[k, j]
            if i == j:
                factor[i, i] = math.sqrt(max(value, SMALLEST))
            else:
                factor[i, j] = value / factor[i, i]
        value = moment[0, i + 1]
        for k in range(i):
            value -= factor[k, i] * rho[k]
        rho[i] = value / factor[i, i]
        error -= rho[i] * rho[i]
        colour.volume[0] += math.log(factor[i, i])
    solve_back(colour, rho)
    return max(error, 0.0)


@kernel()
def solve_back(colour: Colour, x: Float1D) -> None:
    """Solve Ux = b with the factor of the past's moments; b enters in x.

    Mutates: x. Allocates: nothing.
    """
    for i in range(x.shape[0] - 1, -1, -1):
        for j in range(i + 1, x.shape[0]):
            x[i] -= colour.factor[i, j] * x[j]
        x[i] /= colour.factor[i, i]


@kernel()
def judge_run(n: int, fitting: FitWork, limit: float) -> float:
    """S of the program's n terms, infinite where the run is lost; with white noise beyond `limit`.

    ``fitting.colour`` then is that of its noise.

    Mutates: fitting.run, fitting.colour. Allocates: nothing.
    """
    if fitting.colour.rho.shape[0] == 0:
        error, _ = free_run_error(n, fitting.run, limit)
        return error
    error, _ = free_run_error(n, fitting.run, math.inf)
    if error == math.inf:
        return error
    add_moments(fitting.run, fitting.colour)
    return solve_colour(fitting.colour)


@kernel()
def is_stationary(rho: Float1D) -> bool:
    """Whether autoregressive noise of order 0, 1 or 2 does not grow.

    Mutates: nothing. Allocates: nothing.
    """
    order = rho.shape[0]
    if order == 1:
        return -1.0 < rho[0] < 1.0
    if order == 2:
        return rho[1] > -1.0 and rho[1] + rho[0] < 1.0 and rho[1] - rho[0] < 1.0
    return order == 0


@kernel()
def draw_colour(
    rng: np.random.Generator, target: Target, n_rows: int, error: float, colour: Colour
) -> bool:
    """Draw ρ into ``colour.rho`` with σ² integrated out; whether the noise is stationary.

    ``colour`` is of a run that was just judged, with S the `error`.

    Mutates: rng (one gamma, then normals), colour.rho, colour.step. Allocates: nothing.
    """
    order = colour.rho.shape[0]
    shape = target.noise_shape + 0.5 * target.power * n_rows
    noise = draw_inverse_gamma(rng, shape, target.noise_scale + 0.5 * target.power * error)
    scale = math.sqrt(noise / target.power)
    for i in range(order):
        colour.step[i] = scale * rng.standard_normal()
    solve_back(colour, colour.step)
    for i in range(order):
        colour.rho[i] += colour.step[i]
    return is_stationary(colour.rho)
