r"""What each candidate term would gain a model, to first order, by the slopes of its free run.

Of a term that is not in the model, at coefficient 0, the slope of the free run is the recursion of
``kernels/slopes.py`` driven by that term:

.. math::
    s_j(k) = φ_j(k) + \sum_l A_l(k) s_j(k-l), \qquad A_l(k) = \frac{∂f(k)}{∂\hat y(k-l)}

with φ_j its value on the simulated output. With J the slopes of the model's own terms,
:math:`J = QR`, the residual r and :math:`e = r - QQ^Tr`, the squared error becomes less by

.. math:: g_j = \frac{(e^Ts_j)²}{‖s_j‖² - ‖Q^Ts_j‖²}

where all coefficients move, to first order; where the noise has a colour, r and all slopes are
filtered by its ρ. One step ahead A = 0, φ is on the measured output, and
the gain is exact: orthogonal least squares. Receives a `FreeRun` that has just run; hands gains on
to ``inference/forward.py``. The A_l are made once for all candidates, which run through the
recursion some at a time, its inner loop being over them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.evidence import CLEAR_ROOT
from adjoin.kernels.free_run import assemble
from adjoin.kernels.layouts import FreeRun, Regression
from adjoin.kernels.products import dot, pinned_place
from adjoin.kernels.simulate import BLOCK
from adjoin.kernels.slopes import fill_slopes, filter_block, mark_lags, run_slopes
from adjoin.kernels.state import Chain
from adjoin.kernels.tables import Linearised

TOGETHER = 32  # candidates in the recursion at a time: their block stays in the cache
# Of a slope's square, what must be left beside the model's own: less is mostly rounding.
CLEAR = CLEAR_ROOT * CLEAR_ROOT


class Candidates(NamedTuple):
    """Terms to choose from: ``atom`` : (n, max_degree); ``degree`` : (n,); ``gain`` : (n,) g.

    ``across`` : (n,) the denominator of g, what a slope has of its own; both are 0 where that is
    nothing. Terms that differ in their last atom alone follow each other.
    """

    atom: Int2D
    degree: Int1D
    gain: Float1D
    across: Float1D


class Leftover(NamedTuple):
    """What a model leaves, and how its run answers, on the rows that are looked at.

    ``start``, ``stop`` : (n_blocks,) columns of the data, in blocks of at most `BLOCK`.
    ``is_fresh`` : (n_blocks,) 1 where nothing before it answers: a record or a window begins.
    ``offset`` : (n_blocks,) where each block begins in what follows.
    ``row`` : (1 + capacity, n_rows) e, then Q. ``feedback`` : (max_lag + 1, n_rows) A, one row for
    each lag that occurs. ``n_found`` : (2,) how many columns Q has, and how many lags occur.
    """

    start: Int1D
    stop: Int1D
    is_fresh: Int1D
    offset: Int1D
    row: Float2D
    feedback: Float2D
    n_found: Int1D


class Batch(NamedTuple):
    """Scratch of some candidates over one block of time.

    ``column`` : (TOGETHER, BLOCK) φ, then s. ``slope`` : (max_lag + BLOCK, TOGETHER) s of the
    block, after the lags before it. ``shared`` : (BLOCK,) what terms have in common.
    ``inner`` : (TOGETHER, 1 + capacity) eᵀs and Qᵀs. ``square`` : (TOGETHER,) ‖s‖².
    ``tail`` : (2 * order, TOGETHER) what a filter of that order looks back at.
    """

    column: Float2D
    slope: Float2D
    shared: Float1D
    inner: Float2D
    square: Float1D
    tail: Float2D


@kernel()
def fill_rows(
    n: int, is_run: bool, run: FreeRun, data: Regression, linear: Linearised, leftover: Leftover
) -> None:
    """The residual, the slopes of the program's n terms in its order, and the A of its run.

    Where nothing was run (`is_run`) the residual is that of no model but the pinned terms.

    Mutates: linear, leftover. Allocates: nothing.
    """
    slopes = linear.slopes
    row, n_lags = leftover.row, mark_lags(n, run, slopes)
    n_answers = n_lags if is_run else 0
    leftover.n_found[1] = n_answers
    for b in range(leftover.start.shape[0]):
        start, offset = leftover.start[b], leftover.offset[b]
        width = leftover.stop[b] - start
        for i in range(run.max_lag if leftover.is_fresh[b] else 0):
            for j in range(n):
                slopes.slope[i, j] = 0.0
        fill_slopes(n, n_lags, run, start, width, slopes)
        run_slopes(n, n_answers, run.max_lag, width, slopes)
        for i in range(n_answers):
            for k in range(width):
                leftover.feedback[i, offset + k] = slopes.feedback[i, k]
        for j in range(n):
            for k in range(width):
                row[1 + j, offset + k] = slopes.column[j, k]
        for k in range(width):
            if is_run:
                row[0, offset + k] = run.data.measured[start + k] - run.data.predicted[start + k]
            else:
                row[0, offset + k] = data.target[start + k]
        n_before = 0 if leftover.is_fresh[b] else BLOCK
        for j in range(1 + n if linear.rho.shape[0] > 0 else 0):
            series = row[j, offset : offset + width]
            filter_block(series, width, n_before, linear.rho, linear.tail, j)


@kernel()
def make_orthonormal(
    n: int, chain: Chain, run: FreeRun, data: Regression, leftover: Leftover
) -> None:
    """Q of the slopes, those of pinned terms and of what is not clear of others left out; and e.

    Gram and Schmidt, twice, which is enough.

    Mutates: leftover. Allocates: nothing.
    """
    row, n_rows, m = leftover.row, leftover.row.shape[1], 0
    for place in range(n):
        if pinned_place(data, chain.key[run.order[place]]) >= 0:
            continue
        new = row[1 + m]
        for k in range(n_rows):
            new[k] = row[1 + place, k]
        size = math.sqrt(dot(new, new, n_rows))
        for i in range(2 * m):
            known = row[1 + i % m]
            share = dot(known, new, n_rows)
            for k in range(n_rows):
                new[k] -= share * known[k]
        left = math.sqrt(dot(new, new, n_rows))
        if left > CLEAR_ROOT * size and math.isfinite(left):
            for k in range(n_rows):
                new[k] /= left
            m += 1
    leftover.n_found[0] = m
    for i in range(2 * m):
        known = row[1 + i % m]
        share = dot(known, row[0], n_rows)
        for k in range(n_rows):
            row[0, k] -= share * known[k]


@kernel()
def leave_over(
    is_run: bool,
    chain: Chain,
    run: FreeRun,
    data: Regression,
    linear: Linearised,
    leftover: Leftover,
) -> None:
    """As `look_over`.

    Mutates: run.program, linear, leftover. Allocates: nothing.
    """
    n = chain.n_terms[0]
    assemble(chain, data, run)
    fill_rows(n, is_run, run, data, linear, leftover)
    make_orthonormal(n, chain, run, data, leftover)


@kernel(entry=True)
def look_over(
    is_run: bool,
    chain: Chain,
    run: FreeRun,
    data: Regression,
    linear: Linearised,
    leftover: Leftover,
) -> None:
    """What the model in `chain` leaves, whose run lies in `run` if there was one.

    Mutates: run.program, linear, leftover. Allocates: nothing.
    """
    leave_over(is_run, chain, run, data, linear, leftover)


@kernel()
def multiply_atom(
    run: FreeRun, data: Regression, atom: int, start: int, width: int, column: Float1D
) -> None:
    """Multiply a block by one atom, of what the run feeds back where it is one of that.

    Mutates: column. Allocates: nothing.
    """
    row, begin = run.back_row[atom], start - data.lag[atom]
    if row >= 0:
        begin += row * run.data.predicted.shape[0]
        back = run.data.back[begin : begin + width]
        for k in range(width):
            column[k] *= back[k]
    else:
        known = run.data.known[data.row[atom], begin : begin + width]
        for k in range(width):
            column[k] *= known[k]


@kernel()
def shares_with_last(candidates: Candidates, t: int) -> bool:
    """Whether a term and the one before it differ in their last atom alone.

    Mutates: nothing. Allocates: nothing.
    """
    degree = candidates.degree[t]
    if candidates.degree[t - 1] != degree:
        return False
    for i in range(degree - 1):
        if candidates.atom[t, i] != candidates.atom[t - 1, i]:
            return False
    return True


@kernel()
def fill_candidates(
    run: FreeRun,
    data: Regression,
    candidates: Candidates,
    first: int,
    n: int,
    start: int,
    width: int,
    batch: Batch,
) -> None:
    """φ of n candidates from the first on, over a block.

    Mutates: batch. Allocates: nothing.
    """
    shared = batch.shared
    for j in range(n):
        t = first + j
        atom, degree, column = candidates.atom[t], candidates.degree[t], batch.column[j]
        if j == 0 or not shares_with_last(candidates, t):
            for k in range(width):
                shared[k] = 1.0
            for i in range(degree - 1):
                multiply_atom(run, data, atom[i], start, width, shared)
        for k in range(width):
            column[k] = shared[k]
        if degree > 0:
            multiply_atom(run, data, atom[degree - 1], start, width, column)


@kernel()
def run_candidates(
    n: int, b: int, max_lag: int, lag: Int1D, leftover: Leftover, batch: Batch
) -> None:
    """The recursion of n candidates over a block, from φ to s in ``batch.column``.

    Mutates: batch. Allocates: nothing.
    """
    slope, column, offset = batch.slope, batch.column, leftover.offset[b]
    width, n_lags = leftover.stop[b] - leftover.start[b], leftover.n_found[1]
    for i in range(max_lag if leftover.is_fresh[b] else 0):
        for j in range(n):
            slope[i, j] = 0.0
    for k in range(width):
        row = slope[max_lag + k]
        for j in range(n):
            row[j] = column[j, k]
        for i in range(n_lags):
            factor, past = leftover.feedback[i, offset + k], slope[max_lag + k - lag[i]]
            for j in range(n):
                row[j] += factor * past[j]
        for j in range(n):
            column[j, k] = row[j]
    for i in range(max_lag):  # what the next block looks back at
        for j in range(n):
            slope[i, j] = slope[i + width, j]


@kernel()
def gain_of(inner: Float1D, square: float, n_basis: int) -> tuple[float, float]:
    """The gain of one candidate, and what its slope has of its own.

    Both are 0 where that is not finite, or not clear of the model's own.

    Mutates: nothing. Allocates: nothing.
    """
    across = square
    for i in range(1, 1 + n_basis):
        across -= inner[i] * inner[i]
    if not (math.isfinite(across) and square > 0.0 and across > CLEAR * square):
        return 0.0, 0.0
    gain = inner[0] * inner[0] / across
    return (gain, across) if math.isfinite(gain) else (0.0, 0.0)


@kernel()
def weigh_candidates(
    candidates: Candidates,
    run: FreeRun,
    data: Regression,
    linear: Linearised,
    leftover: Leftover,
    batch: Batch,
) -> None:
    """As `find_gains`.

    Mutates: candidates, batch. Allocates: nothing.
    """
    lag, rho = linear.slopes.lag, linear.rho
    n_basis, n_terms = leftover.n_found[0], candidates.degree.shape[0]
    for first in range(0, n_terms, TOGETHER):
        n = min(TOGETHER, n_terms - first)
        for j in range(n):
            batch.square[j] = 0.0
            for i in range(1 + n_basis):
                batch.inner[j, i] = 0.0
        for b in range(leftover.start.shape[0]):
            start, offset = leftover.start[b], leftover.offset[b]
            width = leftover.stop[b] - start
            fill_candidates(run, data, candidates, first, n, start, width, batch)
            if leftover.n_found[1] > 0:
                run_candidates(n, b, run.max_lag, lag, leftover, batch)
            n_before = 0 if leftover.is_fresh[b] else BLOCK
            for j in range(n if rho.shape[0] > 0 else 0):
                filter_block(batch.column[j], width, n_before, rho, batch.tail, j)
            for j in range(n):
                column, inner = batch.column[j], batch.inner[j]
                batch.square[j] += dot(column, column, width)
                for i in range(1 + n_basis):
                    inner[i] += dot(leftover.row[i, offset : offset + width], column, width)
        for j in range(n):
            gain, across = gain_of(batch.inner[j], batch.square[j], n_basis)
            candidates.gain[first + j], candidates.across[first + j] = gain, across


@kernel(entry=True)
def find_gains(
    candidates: Candidates,
    run: FreeRun,
    data: Regression,
    linear: Linearised,
    leftover: Leftover,
    batch: Batch,
) -> None:
    """The gain of every candidate beside the model that was looked over last.

    Mutates: candidates, batch. Allocates: nothing.
    """
    weigh_candidates(candidates, run, data, linear, leftover, batch)
