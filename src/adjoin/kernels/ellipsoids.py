r"""The ellipsoids around free-run optima, from which guided proposals are drawn.

With J the slopes of the free run at the optimum :math:`\hat θ_T` and S_T its squared error,

.. math:: E_T(s) = \{ θ : ‖J(θ - \hat θ_T)‖² ≤ r\,(s - S_T) \}

is about where the squared error stays below s, with some reach r to spare. Receives entries of the
table of fits; hands the ladder volumes and draws.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.fit_table import load_factor
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import solve_upper
from adjoin.kernels.products import pinned_place
from adjoin.kernels.tables import FitTable, FitWork


@kernel()
def is_inside(fitting: FitWork, entry: int, theta: Float1D, square: float) -> bool:
    """Whether θ, in the order of the structure looked up last, is in the ellipsoid ‖Jδ‖² ≤ square.

    Mutates: nothing. Allocates: nothing.
    """
    fits, found = fitting.fits, fitting.fits.entry
    n, first, order = found.n_terms[entry], found.first_value[entry], found.first_key[entry]
    at, total = first + 2 * n, 0.0
    for i in range(n):
        row = 0.0
        for j in range(i, n):
            place = fitting.place[fits.key[order + n + j]]
            delta = theta[place] - fits.value[first + j]
            row += fits.value[at] * fits.value[first + n + j] * delta
            at += 1
        total += row * row
        if not total <= square:
            return False
    return True


@kernel()
def log_volume(fits: FitTable, data: Regression, entry: int, square: float) -> float:
    """Log volume of the ellipsoid ‖Jδ‖² ≤ square of the coefficients that are not pinned.

    Mutates: nothing. Allocates: nothing.
    """
    n = fits.entry.n_terms[entry] - data.pinned_key.shape[0]
    if n == 0:
        return 0.0
    ball = 0.5 * n * math.log(math.pi) - math.lgamma(0.5 * n + 1.0)
    return ball + 0.5 * n * math.log(square) - fits.entry.log_det[entry]


@kernel()
def draw_inside(
    rng: np.random.Generator,
    fitting: FitWork,
    data: Regression,
    entry: int,
    square: float,
    theta: Float1D,
) -> None:
    """A θ uniform on the ellipsoid ‖Jδ‖² ≤ square, in the order of the structure looked up last.

    Mutates: rng (a normal per free term and a uniform), fitting.linear, theta. Allocates: nothing.
    """
    fits, found, linear = fitting.fits, fitting.fits.entry, fitting.linear
    n, first, order = found.n_terms[entry], found.first_value[entry], found.first_key[entry]
    n_free, length = n - data.pinned_key.shape[0], 0.0
    for i in range(n):
        is_pinned = pinned_place(data, fits.key[order + fits.key[order + n + i]]) >= 0
        linear.step[i] = 0.0 if is_pinned else rng.standard_normal()
        length += linear.step[i] * linear.step[i]
    size = 0.0
    if n_free > 0:
        size = math.sqrt(square / length) * rng.random() ** (1.0 / n_free)
    for i in range(n):
        linear.step[i] *= size
    load_factor(fits, entry, linear.factor)
    solve_upper(linear.factor, n, linear.step)
    for i in range(n):
        place = fitting.place[fits.key[order + n + i]]
        theta[place] = fits.value[first + i] + linear.step[i] / fits.value[first + n + i]
