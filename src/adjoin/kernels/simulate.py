"""Free run, one-step and several-step prediction of one model.

Receives a `Program` (the model) and a `Recursion` (the data). All three are the same recursion

    f(k) = Σ_j θ_j · Π known atoms(k) · Π fed-back atoms(k)

and differ in what is fed back: the free run its own output, one-step prediction the residual. It
goes in blocks of time: everything known is multiplied out first, over the whole block, and the
recursion itself touches only what is fed back.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.functions import apply_function
from adjoin.kernels.layouts import Program, Recursion
from adjoin.kernels.state import FREE_RUN

# Steps per block: the gains of some twenty mixed terms stay in the first-level cache, and a longer
# record needs no more memory than one block.
BLOCK = 128

# The widest bounds of a recursion. A series beyond this has left every physical unit: its cube is
# still finite, its degree-4 product is not, and a polynomial recursion that gets here never comes
# back. Whoever knows the range of the data sets narrower ones.
LIMIT = 1e100


@kernel()
def fill_block(program: Program, known: Float2D, start: int, stop: int, work: Float2D) -> None:
    r"""Multiply out everything known in one block of time.

    .. math::
        work_{j,k} = θ_j \prod_{known} x_a(k - l_a), \qquad
        work_{last,k} = \sum_{j\ without\ fed-back\ atoms} work_{j,k}

    Mutates: work. Allocates: nothing.
    """
    width = stop - start
    drive = work[work.shape[0] - 1]
    for k in range(width):
        drive[k] = 0.0
    n_driven = program.group[1]
    for j in range(program.theta.shape[0]):
        begin, end = program.known_start[j], program.known_start[j + 1]
        if begin == end and j >= n_driven:
            continue  # a pure term: its gain is its coefficient
        gain = work[j]
        for k in range(width):
            gain[k] = program.theta[j]
        for a in range(begin, end):
            row = known[program.known_row[a]]
            shift = start - program.known_lag[a]
            for k in range(width):
                gain[k] *= row[np.uintp(k + shift)]
        if j < n_driven:
            for k in range(width):
                drive[k] += gain[k]


@kernel()
def run_linear_block(
    program: Program, data: Recursion, mode: int, start: int, stop: int, work: Float2D
) -> int:
    """As `run_block`, where no term has more than one fed-back atom and none is in a function.

    Mutates: data.back, data.predicted. Allocates: nothing.
    """
    theta, first, back = program.theta, program.back_offset[0], data.back
    linear, linear_mixed = np.uintp(program.group[1]), np.uintp(program.group[2])
    higher, drive = np.uintp(program.group[3]), work[work.shape[0] - 1]
    lower, upper = data.lower, data.upper
    for k in range(start, stop):
        i = np.uintp(k - start)
        total = drive[i]
        for j in range(linear, linear_mixed):
            total += theta[j] * back[np.uintp(k + first[j])]
        for j in range(linear_mixed, higher):
            total += work[j, i] * back[np.uintp(k + first[j])]
        if not lower <= total <= upper:
            return k
        data.predicted[k] = total
        back[k] = total if mode == FREE_RUN else data.measured[k] - total
    return -1


@kernel()
def run_block(
    program: Program, data: Recursion, mode: int, start: int, stop: int, work: Float2D
) -> int:
    """Run the recursion through one block; return the column where it diverged, or -1.

    Indices are unsigned because a signed one costs a test for counting from the end.

    Mutates: data.back, data.predicted. Allocates: nothing.
    """
    theta, offset, group = program.theta, program.back_offset, program.group
    if group[3] == theta.shape[0] and program.back_function.shape[0] == 1:
        return run_linear_block(program, data, mode, start, stop, work)
    function, scale, shift = program.back_function, program.back_scale, program.back_shift
    back, n_samples = data.back, data.predicted.shape[0]
    first, second, third = offset[0], offset[1], offset[2]
    linear, linear_mixed, square = np.uintp(group[1]), np.uintp(group[2]), np.uintp(group[3])
    square_mixed, cubic, cubic_mixed = np.uintp(group[4]), np.uintp(group[5]), np.uintp(group[6])
    higher, lower, upper = np.uintp(group[7]), data.lower, data.upper
    drive = work[work.shape[0] - 1]
    for k in range(start, stop):
        i = np.uintp(k - start)
        total = drive[i]
        for j in range(linear, linear_mixed):
            total += theta[j] * back[np.uintp(k + first[j])]
        for j in range(linear_mixed, square):
            total += work[j, i] * back[np.uintp(k + first[j])]
        for j in range(square, square_mixed):
            x0, x1 = back[np.uintp(k + first[j])], back[np.uintp(k + second[j])]
            total += theta[j] * x0 * x1
        for j in range(square_mixed, cubic):
            x0, x1 = back[np.uintp(k + first[j])], back[np.uintp(k + second[j])]
            total += work[j, i] * x0 * x1
        for j in range(cubic, cubic_mixed):
            x0, x1 = back[np.uintp(k + first[j])], back[np.uintp(k + second[j])]
            total += theta[j] * x0 * x1 * back[np.uintp(k + third[j])]
        for j in range(cubic_mixed, higher):
            x0, x1 = back[np.uintp(k + first[j])], back[np.uintp(k + second[j])]
            total += work[j, i] * x0 * x1 * back[np.uintp(k + third[j])]
        for degree in range(4, offset.shape[0] + 1):
            for j in range(group[2 * degree - 1], group[2 * degree + 1]):
                product = theta[j] if j < group[2 * degree] else work[j, i]
                for a in range(degree):
                    product *= back[np.uintp(k + offset[a, j])]
                total += product
        if not lower <= total <= upper:
            return k
        data.predicted[k] = total
        fed_back = total if mode == FREE_RUN else data.measured[k] - total
        back[k] = fed_back
        for row in range(1, function.shape[0]):
            argument = scale[row] * fed_back - shift[row]
            back[row * n_samples + k] = apply_function(function[row], argument)
    return -1


@kernel(entry=True)
def run_recursion(program: Program, data: Recursion, mode: int, work: Float2D) -> None:
    r"""Free run or one-step prediction over all records.

    .. math::
        \hat y(k) = f(k) + ε(k), \quad z(k) = \hat y(k)  \qquad \text{free run} \\
        \hat y(k) = f(k), \quad z(k) = y(k) - \hat y(k)  \qquad \text{one step}

    with z the fed-back series. A sample outside of the recursion's bounds is lost, and with it the
    rest of its record if the model feeds anything back.

    Mutates: data.back, data.predicted, data.diverged, work. Allocates: nothing.
    """
    drive = work[work.shape[0] - 1]
    feeds_back = program.group[1] < program.theta.shape[0]
    for record in range(data.first.shape[0]):
        data.diverged[record] = -1
        start = data.first[record]
        while start < data.stop[record]:
            stop = min(start + BLOCK, data.stop[record])
            fill_block(program, data.known, start, stop, work)
            if mode == FREE_RUN:
                for k in range(start, stop):
                    drive[k - start] += data.noise[k]
            lost = run_block(program, data, mode, start, stop, work)
            if lost >= 0 and data.diverged[record] < 0:
                data.diverged[record] = lost
            if lost >= 0 and feeds_back:
                break
            start = lost + 1 if lost >= 0 else stop


@kernel(entry=True)
def predict_ahead(
    program: Program, data: Recursion, steps: int, noise_row: int, work: Float2D
) -> None:
    r"""Prediction `steps` samples ahead, from the measured output up to k - steps.

    From every origin the model runs freely for `steps` samples, with past noise the one-step
    residual in row `noise_row` of the known rows (-1 for none), and future noise ``data.noise``.
    Near the start of a record, where fewer samples lie behind, the origin is the record's first
    computed column.

    Origins go backwards. So what a later origin wrote lies in the future of the next one, which
    overwrites it: on exit each sample holds what its own, earliest origin said.

    Mutates: data (on entry ``back`` is the measured series), work. Allocates: nothing.
    """
    drive = work[work.shape[0] - 1]
    for record in range(data.first.shape[0]):
        data.diverged[record] = -1
        first, last = data.first[record], data.stop[record]
        if noise_row >= 0:
            for k in range(max(first, last - steps), last):
                data.known[noise_row, k] = data.noise[k]
        for origin in range(max(first, last - steps), first - 1, -1):
            if noise_row >= 0:
                data.known[noise_row, origin] = data.noise[origin]
            start, end = origin, min(origin + steps, last)
            while start < end:
                stop = min(start + BLOCK, end)
                fill_block(program, data.known, start, stop, work)
                for k in range(start, stop):
                    drive[k - start] += data.noise[k]
                lost = run_block(program, data, FREE_RUN, start, stop, work)
                if lost >= 0:
                    for k in range(lost, end):
                        data.predicted[k] = math.nan
                    break
                start = stop
        for k in range(last - 1, first - 1, -1):
            if math.isnan(data.predicted[k]):
                data.diverged[record] = k
