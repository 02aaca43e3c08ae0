r"""Gaussian approximations of a structure's coefficients at any power, and draws around them.

The table has, of every structure, its mode :math:`\hat θ` at the run's own power, the squared error
:math:`\hat S` there, :math:`N = J^TJ` and :math:`g = J^Tr`. To first order the free run is linear
in the coefficients, so that at another power w

.. math::
    P_w = γ_w N + I/σ_θ², \qquad m_w = \hat θ + δ, \quad δ = P_w^{-1}(γ_w g - \hat θ/σ_θ²), \qquad
    S(m_w) ≈ \hat S - 2g^Tδ + δ^TNδ

and the structure's evidence is about (Laplace)

.. math::
    \log Λ_w = -A_w \log B_w(S(m_w)) - \frac{‖m_w‖²}{2σ_θ²} - \frac p2 \log σ_θ² - \frac12 \log|P_w|

with p free coefficients. Coefficients are proposed from

.. math:: q(θ|T) = (1 - ε)\, t_ν(θ; m_w, P_w^{-1}) + ε\, N(θ; 0, σ_θ² I)

a multivariate t, with heavier tails than what it stands for, and now and then the prior: where a
Gaussian at one mode is a poor likeness, the weight of a state is bounded all the same, and no chain
sits on one for ever.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import solve_transposed, solve_upper
from adjoin.kernels.modes import factorise_precision, log_fit, precision
from adjoin.kernels.products import pinned_place
from adjoin.kernels.state import Chain, Target
from adjoin.kernels.tables import FitTable, FitWork, Linearised


class Proposals(NamedTuple):
    """How coefficients are proposed.

    ``coefficient`` : σ_θ² that modes are found with. ``walk`` : share of random walks among the
    moves that keep the terms. ``width`` : of a step, times the root of the number of coefficients.
    ``freedom`` : ν. ``log_constant`` : (capacity + 1,) of the t density, by the number of
    coefficients. ``wide`` : ε, the share that is drawn from the prior.
    """

    coefficient: float
    walk: float
    width: float
    freedom: float
    log_constant: Float1D
    wide: float


@kernel()
def load_mode(fits: FitTable, entry: int, linear: Linearised) -> None:
    """A mode with JᵀJ and Jᵀr from the table; the coefficients go to ``linear.trial``.

    Mutates: linear. Allocates: nothing.
    """
    n, first = fits.entry.n_terms[entry], fits.entry.first_value[entry]
    at = first + 2 * n
    for i in range(n):
        linear.trial[i] = fits.value[first + i]
        linear.gradient[i] = fits.value[first + n + i]
        for j in range(i, n):
            linear.normal[i, j] = fits.value[at]
            at += 1


@kernel()
def entry_is_free(fitting: FitWork, data: Regression, entry: int, i: int) -> bool:
    """Whether coefficient i of an entry is to be learned.

    Mutates: nothing. Allocates: nothing.
    """
    fits, n = fitting.fits, fitting.fits.entry.n_terms[entry]
    order = fits.entry.first_key[entry]
    return pinned_place(data, fits.key[order + fits.key[order + n + i]]) < 0


@kernel()
def place_of(fitting: FitWork, entry: int, i: int) -> int:
    """Where coefficient i of an entry stands in the structure that was looked up last.

    Mutates: nothing. Allocates: nothing.
    """
    fits, n = fitting.fits, fitting.fits.entry.n_terms[entry]
    return fitting.place[fits.key[fits.entry.first_key[entry] + n + i]]


@kernel()
def least_volume(fitting: FitWork, data: Regression, target: Target, error: float) -> float:
    r"""What half the log determinant of the past of coloured noise is at least, log (nB/A)^(q/2).

    The noise is never smaller than what drives it, :math:`σ² ≈ B/A`. At a mode without any residual
    the past has no volume at all; no draw from around it has so little.

    Mutates: nothing. Allocates: nothing.
    """
    order = fitting.colour.rho.shape[0]
    if order == 0:
        return 0.0
    shape = target.noise_shape + 0.5 * target.power * data.n_rows
    scale = target.noise_scale + 0.5 * target.power * max(error, 0.0)
    return 0.5 * order * math.log(data.n_rows * scale / shape)


@kernel()
def lay_out_gaussian(
    fitting: FitWork, data: Regression, entry: int, target: Target, coefficient: float
) -> tuple[float, float]:
    """Lay m and the factor of P out in ``fitting.linear``; log Λ, and half the log determinant.

    The mean is in ``trial``, P as lengths and unit factor in ``length`` and ``factor``.

    Mutates: fitting.linear. Allocates: nothing.
    """
    linear, n = fitting.linear, fitting.fits.entry.n_terms[entry]
    load_mode(fitting.fits, entry, linear)
    error, ridge = fitting.fits.entry.error[entry], 1.0 / coefficient
    weight = precision(target, data.n_rows, error)
    half_log_det = factorise_precision(linear, n, weight, ridge)
    for i in range(n):
        slope = weight * linear.gradient[i] - ridge * linear.trial[i]
        is_free = entry_is_free(fitting, data, entry, i)
        linear.step[i] = slope / linear.length[i] if is_free else 0.0
    solve_transposed(linear.factor, n, linear.step)
    solve_upper(linear.factor, n, linear.step)
    for i in range(n):
        linear.step[i] /= linear.length[i]
    square, n_free = 0.0, 0
    for i in range(n):
        row = linear.normal[i, i] * linear.step[i]
        for j in range(i + 1, n):
            row += 2.0 * linear.normal[i, j] * linear.step[j]
        error += linear.step[i] * (row - 2.0 * linear.gradient[i])
        linear.trial[i] += linear.step[i]
        if entry_is_free(fitting, data, entry, i):
            square += linear.trial[i] * linear.trial[i]
            n_free += 1
    log_evidence = log_fit(target, data.n_rows, max(error, 0.0)) - 0.5 * ridge * square
    log_evidence -= max(
        fitting.fits.entry.volume[entry], least_volume(fitting, data, target, error)
    )
    return log_evidence + 0.5 * n_free * math.log(ridge) - half_log_det, half_log_det


@kernel()
def log_proposal(
    fitting: FitWork,
    data: Regression,
    entry: int,
    chain: Chain,
    half_log_det: float,
    how: Proposals,
) -> float:
    """Log q of a chain's coefficients, whose structure was looked up last.

    Mutates: nothing. Allocates: nothing.
    """
    linear, n, distance, square, n_free = fitting.linear, chain.n_terms[0], 0.0, 0.0, 0
    for i in range(n):
        row = 0.0
        for j in range(i, n):
            delta = chain.theta[place_of(fitting, entry, j)] - linear.trial[j]
            row += linear.factor[i, j] * linear.length[j] * delta
        distance += row * row
        if entry_is_free(fitting, data, entry, i):
            square += chain.theta[place_of(fitting, entry, i)] ** 2
            n_free += 1
    near = how.log_constant[n_free] + half_log_det + math.log(1.0 - how.wide)
    near += 0.5 * (n - n_free) * math.log(how.coefficient)  # pinned ones have a part in |P| only
    near -= 0.5 * (how.freedom + n_free) * math.log(1.0 + distance / how.freedom)
    far = math.log(how.wide) - 0.5 * square / how.coefficient
    far -= 0.5 * n_free * math.log(2.0 * math.pi * how.coefficient)
    return max(near, far) + math.log(1.0 + math.exp(-abs(near - far)))


@kernel()
def draw_widely(
    rng: np.random.Generator,
    fitting: FitWork,
    data: Regression,
    entry: int,
    chain: Chain,
    how: Proposals,
) -> None:
    """Coefficients from their prior.

    Mutates: rng (a normal per free coefficient), chain.theta. Allocates: nothing.
    """
    for i in range(chain.n_terms[0]):
        if entry_is_free(fitting, data, entry, i):
            value = math.sqrt(how.coefficient) * rng.standard_normal()
            chain.theta[place_of(fitting, entry, i)] = value
        else:
            chain.theta[place_of(fitting, entry, i)] = fitting.linear.trial[i]


@kernel()
def draw_around(
    rng: np.random.Generator,
    fitting: FitWork,
    data: Regression,
    entry: int,
    chain: Chain,
    size: float,
    is_walk: bool,
) -> None:
    """Coefficients at `size` times P^-½ times normals from the mean, or from where they are.

    Mutates: rng (a normal per free coefficient), fitting.linear, chain.theta. Allocates: nothing.
    """
    linear, n = fitting.linear, chain.n_terms[0]
    for i in range(n):
        is_free = entry_is_free(fitting, data, entry, i)
        linear.step[i] = size * rng.standard_normal() if is_free else 0.0
    solve_upper(linear.factor, n, linear.step)
    for i in range(n):
        place, delta = place_of(fitting, entry, i), linear.step[i] / linear.length[i]
        chain.theta[place] = (chain.theta[place] if is_walk else linear.trial[i]) + delta
