"""Runs of any structure of a chain, stopped as soon as they are too far off.

Receives a structure as lists of atoms; fills the one `Program` of a `FreeRun` and runs it through
the same blocks as ``kernels/simulate.py``.
"""

from __future__ import annotations

import math

from adjoin.kernels._jit import kernel
from adjoin.kernels.layouts import FreeRun, Program, Regression
from adjoin.kernels.products import dot
from adjoin.kernels.simulate import BLOCK, fill_block, run_block
from adjoin.kernels.state import Chain

# The first block is short and the next ones double, because most bad proposals show it at once.
FIRST_BLOCK = 16


@kernel()
def assemble(chain: Chain, data: Regression, run: FreeRun) -> None:
    """Lay a structure out as a program: terms sorted by how many fed-back atoms they have.

    Mutates: run. Allocates: nothing.
    """
    program, n = run.program, chain.n_terms[0]
    group, offset, n_samples = program.group, program.back_offset, run.data.predicted.shape[0]
    for g in range(group.shape[0]):
        group[g] = 0
    for i in range(n):
        group[group_of(chain, run, i) + 1] += 1
    for g in range(1, group.shape[0]):
        group[g] += group[g - 1]
    # A counting sort from the back keeps the order within a group, and leaves each group's begin.
    for i in range(n - 1, -1, -1):
        g = group_of(chain, run, i) + 1
        group[g] -= 1
        run.order[group[g]] = i
    for g in range(1, group.shape[0] - 1):
        group[g] = group[g + 1]
    group[group.shape[0] - 1] = n
    n_known = 0
    for place in range(n):
        i = run.order[place]
        program.theta[place] = chain.theta[i]
        program.known_start[place] = n_known
        n_back = 0
        for a in range(chain.degree[i]):
            atom = chain.atom[i, a]
            if run.back_row[atom] >= 0:
                offset[n_back, place] = run.back_row[atom] * n_samples - data.lag[atom]
                n_back += 1
            else:
                program.known_row[n_known] = data.row[atom]
                program.known_lag[n_known] = data.lag[atom]
                n_known += 1
    program.known_start[n] = n_known


@kernel()
def group_of(chain: Chain, run: FreeRun, i: int) -> int:
    """Which group of a `Program` term i belongs to.

    Mutates: nothing. Allocates: nothing.
    """
    n_back = 0
    for a in range(chain.degree[i]):
        if run.back_row[chain.atom[i, a]] >= 0:
            n_back += 1
    if n_back == 0:
        return 0
    return 2 * n_back - (1 if n_back == chain.degree[i] else 0)


@kernel()
def first_terms(program: Program, n: int) -> Program:
    """The program with its n terms only.

    Mutates: nothing. Allocates: nothing.
    """
    return Program(
        program.theta[:n],
        program.known_start,
        program.known_row,
        program.known_lag,
        program.back_offset,
        program.group,
        program.back_function,
        program.back_scale,
        program.back_shift,
    )


@kernel()
def feeds_back(run: FreeRun, n: int) -> bool:
    """Whether the program of n terms reads its own output.

    Mutates: nothing. Allocates: nothing.
    """
    return run.program.group[1] < n


@kernel()
def free_run_error(n: int, run: FreeRun, limit: float) -> tuple[float, int]:
    r""":math:`\sum_k (y(k) - \hat y(k))²` of the program's n terms, and the steps it took.

    Infinite as soon as it exceeds `limit`, or where the run leaves its bounds. If it does not, the
    run is complete and lies in ``run.data.predicted``.

    Mutates: run. Allocates: nothing.
    """
    program, data = first_terms(run.program, n), run.data
    residual = run.gain[run.gain.shape[0] - 1]  # what drove a block is not needed after it
    total, n_steps, width = 0.0, 0, FIRST_BLOCK
    for record in range(data.first.shape[0]):
        start = data.first[record]
        while start < data.stop[record]:
            stop = min(start + width, data.stop[record])
            fill_block(program, data.known, start, stop, run.gain)
            if run_block(program, data, run.mode, start, stop, run.gain) >= 0:
                return math.inf, n_steps + stop - start
            for k in range(start, stop):
                residual[k - start] = data.measured[k] - data.predicted[k]
            total += dot(residual, residual, stop - start)
            n_steps += stop - start
            if not total <= limit:
                return math.inf, n_steps
            start, width = stop, min(2 * width, BLOCK)
    return total, n_steps
