r"""Free-run least squares of a structure that grew by a term, from where it was.

Levenberg-Marquardt steps on :math:`S(θ) = ‖y - \hat y(θ)‖²` from two starts: the optimum of the
structure without the new term, its coefficient at 0, so that a larger structure is never fitted
worse than a smaller one; and the one-step solution, which may lie in another valley. Receives a
`FitWork` from ``inference/forward.py``; takes its steps by ``kernels/fits.py``.
"""

from __future__ import annotations

import math

from adjoin.kernels._jit import kernel
from adjoin.kernels.fits import (
    damp_start,
    hold_pinned,
    one_step_start,
    scale_normal,
    solve_step,
    try_steps,
)
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.layouts import Regression
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import Chain
from adjoin.kernels.tables import FitWork

ROUNDS = 20
# A step that would gain less than this share of the noise variance is not worth its runs.
SETTLED = 0.01


@kernel()
def descend(data: Regression, fitting: FitWork, error: float) -> float:
    """Step downhill from the program's coefficients, whose squared error this is; the last one.

    Where slopes cannot be told apart, or are not finite, it ends where it is.

    Mutates: fitting. Allocates: nothing.
    """
    scratch, linear, run = fitting.scratch, fitting.linear, fitting.run
    n, damping = scratch.n_terms[0], 0.0
    for _ in range(ROUNDS):
        if not linearise(n, run, linear):
            break
        hold_pinned(scratch, data, fitting)
        if not scale_normal(linear, n):
            break
        gain = solve_step(linear, n, 0.0)
        if gain < SETTLED * error / data.n_rows:
            break
        found, damping = try_steps(n, fitting, error, damping)
        if found == math.inf:
            break
        error = found
    return error


@kernel()
def keep_theta(fitting: FitWork, chain: Chain) -> None:
    """Write the program's coefficients in the order of the terms.

    Mutates: chain.theta. Allocates: nothing.
    """
    for place in range(fitting.scratch.n_terms[0]):
        chain.theta[fitting.run.order[place]] = fitting.run.program.theta[place]


@kernel(entry=True)
def refit(data: Regression, fitting: FitWork, chain: Chain, coefficient: float) -> float:
    """Fit the structure in the scratch from its coefficients, and anew; the smaller squared error.

    Infinite where every run leaves its bounds. `coefficient`, a variance, breaks ties of the
    one-step start.

    Mutates: fitting, chain.theta. Allocates: nothing.
    """
    scratch, run, best = fitting.scratch, fitting.run, math.inf
    n = scratch.n_terms[0]
    assemble(scratch, data, run)
    error, _ = free_run_error(n, run, math.inf)
    if error < math.inf:
        best = descend(data, fitting, error)
        keep_theta(fitting, chain)
    if not one_step_start(scratch, data, fitting, coefficient):
        return best
    assemble(scratch, data, run)
    error = damp_start(scratch, data, fitting)
    if error < math.inf:
        error = descend(data, fitting, error)
        if error < best:
            best = error
            keep_theta(fitting, chain)
    return best


@kernel(entry=True)
def run_freely(data: Regression, fitting: FitWork) -> float:
    """Run the structure in the scratch with its coefficients; its squared error.

    Mutates: fitting.run. Allocates: nothing.
    """
    assemble(fitting.scratch, data, fitting.run)
    return free_run_error(fitting.scratch.n_terms[0], fitting.run, math.inf)[0]
