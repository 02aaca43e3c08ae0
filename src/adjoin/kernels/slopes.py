r"""How a free run answers to its coefficients: the linearised least-squares problem.

.. math::
    \frac{∂\hat y(k)}{∂θ_j} = φ_j(k) + \sum_l A_l(k) \frac{∂\hat y(k-l)}{∂θ_j}, \qquad
    A_l(k) = \frac{∂f(k)}{∂\hat y(k-l)}

with φ_j the term's value on the simulated output. Where past noise :math:`e = y - \hat y` is fed
back instead, its slopes have the other sign: :math:`A_l(k) = -∂f(k)/∂e(k-l)`. It goes block by
block with the run: the values and the A_l over a whole block, then the recursion, all coefficients
at once.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.free_run import first_terms
from adjoin.kernels.functions import apply_slope
from adjoin.kernels.layouts import FreeRun
from adjoin.kernels.products import dot
from adjoin.kernels.simulate import BLOCK, fill_block, run_block
from adjoin.kernels.state import FREE_RUN
from adjoin.kernels.tables import Linearised, Slopes


@kernel()
def fill_known(run: FreeRun, place: int, start: int, width: int, known: Float1D) -> None:
    """The product of the known atoms of one term over a block.

    Mutates: known. Allocates: nothing.
    """
    program = run.program
    for k in range(width):
        known[k] = 1.0
    for a in range(program.known_start[place], program.known_start[place + 1]):
        row, shift = run.data.known[program.known_row[a]], start - program.known_lag[a]
        for k in range(width):
            known[k] *= row[np.uintp(k + shift)]


@kernel()
def multiply_back(
    run: FreeRun, place: int, n_back: int, but: int, start: int, width: int, product: Float1D
) -> None:
    """Multiply by the fed-back atoms of one term over a block, all but one of them.

    Mutates: product. Allocates: nothing.
    """
    for a in range(n_back):
        if a != but:
            shift = start + run.program.back_offset[a, place]
            for k in range(width):
                product[k] *= run.data.back[np.uintp(k + shift)]


@kernel()
def find_lag(run: FreeRun, place: int, a: int) -> tuple[int, int]:
    """The fed-back row and the lag of one atom of the program.

    Mutates: nothing. Allocates: nothing.
    """
    offset, n_samples = run.program.back_offset[a, place], run.data.predicted.shape[0]
    row = (offset + run.max_lag) // n_samples
    return row, row * n_samples - offset


@kernel()
def mark_lags(n: int, run: FreeRun, slopes: Slopes) -> int:
    """List the lags of the output that the program reads, ascending; how many there are.

    Mutates: slopes. Allocates: nothing.
    """
    for lag in range(run.max_lag + 1):
        slopes.slot[lag] = -1
    n_back = 0
    for place in range(n):
        while place >= run.program.group[2 * n_back + 1]:
            n_back += 1
        for a in range(n_back):
            _, lag = find_lag(run, place, a)
            slopes.slot[lag] = 0
    n_lags = 0
    for lag in range(run.max_lag + 1):
        if slopes.slot[lag] == 0:
            slopes.slot[lag] = n_lags
            slopes.lag[n_lags] = lag
            n_lags += 1
    return n_lags


@kernel()
def fill_slopes(n: int, n_lags: int, run: FreeRun, start: int, width: int, slopes: Slopes) -> None:
    """φ_j and A_l of all terms over a block.

    Mutates: slopes. Allocates: nothing.
    """
    program, product, back = run.program, slopes.product, run.data.back
    sign = 1.0 if run.mode == FREE_RUN else -1.0
    for i in range(n_lags):
        for k in range(width):
            slopes.feedback[i, k] = 0.0
    n_back = 0
    for place in range(n):
        while place >= program.group[2 * n_back + 1]:
            n_back += 1
        column = slopes.column[place]
        fill_known(run, place, start, width, slopes.known)
        for k in range(width):
            column[k] = slopes.known[k]
        multiply_back(run, place, n_back, -1, start, width, column)
        for a in range(n_back):
            row, lag = find_lag(run, place, a)
            for k in range(width):
                product[k] = sign * program.theta[place] * slopes.known[k]
            multiply_back(run, place, n_back, a, start, width, product)
            if row > 0:
                code, scale = program.back_function[row], program.back_scale[row]
                shift = program.back_shift[row]
                for k in range(width):
                    argument = scale * back[start + k - lag] - shift
                    product[k] *= scale * apply_slope(code, argument)
            feedback = slopes.feedback[slopes.slot[lag]]
            for k in range(width):
                feedback[k] += product[k]


@kernel()
def run_slopes(n: int, n_lags: int, max_lag: int, width: int, slopes: Slopes) -> None:
    """The recursion of the slopes over a block, from φ to ∂y/∂θ in ``slopes.column``.

    Mutates: slopes. Allocates: nothing.
    """
    slope, column = slopes.slope, slopes.column
    for k in range(width):
        row = slope[max_lag + k]
        for j in range(n):
            row[j] = column[j, k]
        for i in range(n_lags):
            factor, past = slopes.feedback[i, k], slope[max_lag + k - slopes.lag[i]]
            for j in range(n):
                row[j] += factor * past[j]
        for j in range(n):
            column[j, k] = row[j]
    for i in range(max_lag):  # what the next block looks back at
        for j in range(n):
            slope[i, j] = slope[i + width, j]


@kernel()
def filter_block(
    series: Float1D, width: int, n_before: int, rho: Float1D, tail: Float2D, place: int
) -> None:
    r"""Filter a block by :math:`1 - \sum_l ρ_l q^{-l}`, in place; nothing is left where it begins.

    `n_before` rows of the record lie before the block; the first as many as the filter's order are
    given, and count for nothing. `tail` : (2 * order, …) has what lies before, in column `place`.

    Mutates: series, tail. Allocates: nothing.
    """
    order = rho.shape[0]
    for i in range(min(order, width)):
        tail[order + i, place] = series[width - 1 - i]
    for k in range(width - 1, -1, -1):
        value = series[k]
        for i in range(order):  # what lies i + 1 samples before
            value -= rho[i] * (series[k - i - 1] if k > i else tail[i - k, place])
        series[k] = value if n_before + k >= order else 0.0
    for i in range(min(order, width)):
        tail[i, place] = tail[order + i, place]


@kernel()
def add_products(
    n: int, run: FreeRun, start: int, width: int, n_before: int, linear: Linearised
) -> None:
    """Add a block to JᵀJ (upper triangle) and Jᵀr; `n_before` rows of its record lie before it.

    Mutates: linear. Allocates: nothing.
    """
    residual, column = linear.slopes.product, linear.slopes.column
    for k in range(width):
        residual[k] = run.data.measured[start + k] - run.data.predicted[start + k]
    if linear.rho.shape[0] > 0:
        filter_block(residual, width, n_before, linear.rho, linear.tail, n)
        for i in range(n):
            filter_block(column[i], width, n_before, linear.rho, linear.tail, i)
    for i in range(n):
        linear.gradient[i] += dot(column[i], residual, width)
        for j in range(i, n):
            linear.normal[i, j] += dot(column[i], column[j], width)


@kernel()
def linearise(n: int, run: FreeRun, linear: Linearised) -> bool:
    """JᵀJ and Jᵀr of the program's free run, in its order of terms; False if it diverges.

    Mutates: run, linear. Allocates: nothing.
    """
    program, data, max_lag = first_terms(run.program, n), run.data, run.max_lag
    slopes = linear.slopes
    for i in range(n):
        linear.gradient[i] = 0.0
        for j in range(i, n):
            linear.normal[i, j] = 0.0
    n_lags = mark_lags(n, run, slopes)
    for record in range(data.first.shape[0]):
        for i in range(max_lag):
            for j in range(n):
                slopes.slope[i, j] = 0.0
        start = data.first[record]
        while start < data.stop[record]:
            stop = min(start + BLOCK, data.stop[record])
            fill_block(program, data.known, start, stop, run.gain)
            if run_block(program, data, run.mode, start, stop, run.gain) >= 0:
                return False
            fill_slopes(n, n_lags, run, start, stop - start, slopes)
            run_slopes(n, n_lags, max_lag, stop - start, slopes)
            n_before = start - data.first[record]
            add_products(n, run, start, stop - start, n_before, linear)
            start = stop
    for i in range(n):
        if not math.isfinite(linear.normal[i, i]):
            return False
    return True
