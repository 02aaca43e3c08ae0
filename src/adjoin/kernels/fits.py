r"""Free-run least-squares fits of structures.

The optimum :math:`\hat θ_T = \arg\min ‖y - \hat y(θ)‖²` is found by Levenberg-Marquardt steps from
the one-step solution. A fit is a function of the set of terms and the data alone, to the last bit:
whatever the table of fits has forgotten, it is found again.
"""

from __future__ import annotations

import math

from adjoin.kernels._jit import kernel
from adjoin.kernels.evidence import evaluate, squared_error
from adjoin.kernels.free_run import assemble, feeds_back, free_run_error
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.prior import log_normal, prior_odds
from adjoin.kernels.products import forget_products, pinned_place, place_term, take_slot
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import FITTED, GIVEN_UP, UNFITTABLE, Chain, PriorTable
from adjoin.kernels.tables import Entries, FitWork, Linearised

ROUNDS = 10
TRIES = 8
# A step that would gain less than this share of the noise variance changes no decision.
SETTLED = 0.01
# Noise of the one-step start, of the output's mean square: a ridge that only breaks ties.
START_NOISE = 1e-8
# A start is damped until it is at most this much worse than no model.
BAD_START = 2.0
HALVINGS = 12
# What comes of a structure without a fit.
NO_FIT = (UNFITTABLE, math.nan, math.nan)
# A fit is given up where even the linearised optimum is so many times the loosest tolerance.
HOPELESS = 4.0


@kernel()
def one_step_start(scratch: Chain, data: Regression, fitting: FitWork, coefficient: float) -> bool:
    """θ by regularised one-step least squares; False if the terms cannot be told apart.

    Mutates: scratch.theta, fitting. Allocates: nothing.
    """
    n, fit, norm = scratch.n_terms[0], fitting.work.current, data.target_norm
    forget_products(fitting.table, n)
    for i in range(n):
        slot = take_slot(
            fitting.table,
            data,
            scratch.atom[i],
            scratch.degree[i],
            scratch.key[i],
            fitting.work.column,
        )
        is_pinned, size = pinned_place(data, scratch.key[i]) >= 0, fitting.table.norm[slot]
        if not (is_pinned or (math.isfinite(size) and size > 0.0)):
            return False
        place_term(fitting.table, data, slot, fit, i, i, fitting.work)
    noise = START_NOISE * norm * norm / data.n_rows
    if math.isnan(evaluate(fit, n, noise, coefficient, 1.0, norm)):
        return False
    for i in range(n):
        fitting.work.normal[i] = fit.projection[i]
    solve_upper(fit.factor, n, fitting.work.normal)
    for i in range(n):
        scratch.theta[i] = math.sqrt(coefficient) * fitting.work.normal[i] / fit.spread[i]
        pinned = pinned_place(data, scratch.key[i])
        if pinned >= 0:
            scratch.theta[i] = data.pinned_theta[pinned]
    return True


@kernel()
def damp_start(scratch: Chain, data: Regression, fitting: FitWork) -> float:
    """Halve the coefficients of fed-back terms until the free run is sane; its squared error.

    Mutates: scratch.theta, fitting. Allocates: nothing.
    """
    n, run, limit = scratch.n_terms[0], fitting.run, BAD_START * data.output_norm**2
    for _ in range(HALVINGS):
        error, _ = free_run_error(n, run, limit)
        if error < math.inf:
            return error
        for place in range(run.program.group[1], n):
            if pinned_place(data, scratch.key[run.order[place]]) < 0:
                run.program.theta[place] *= 0.5
    return math.inf


@kernel()
def hold_pinned(scratch: Chain, data: Regression, fitting: FitWork) -> None:
    """Take the pinned terms out of JᵀJ and Jᵀr: a unit vector each, at right angles to all.

    Mutates: fitting.linear. Allocates: nothing.
    """
    n, linear = scratch.n_terms[0], fitting.linear
    for i in range(n if data.pinned_key.shape[0] else 0):
        if pinned_place(data, scratch.key[fitting.run.order[i]]) >= 0:
            linear.gradient[i] = 0.0
            for j in range(n):
                linear.normal[min(i, j), max(i, j)] = 1.0 if i == j else 0.0


@kernel()
def scale_normal(linear: Linearised, n: int) -> bool:
    """Take the lengths out of JᵀJ; False if a slope is zero everywhere.

    Mutates: linear. Allocates: nothing.
    """
    for i in range(n):
        linear.length[i] = math.sqrt(max(linear.normal[i, i], 0.0))
        if not (linear.length[i] > 0.0 and math.isfinite(linear.length[i])):
            return False
    for i in range(n):
        for j in range(i + 1, n):
            linear.normal[i, j] /= linear.length[i] * linear.length[j]
    return True


@kernel()
def solve_step(linear: Linearised, n: int, damping: float) -> float:
    r"""The step :math:`δ = (J^TJ + μD)^{-1}J^Tr` and :math:`δ^T J^Tr`; NaN if singular.

    Mutates: linear. Allocates: nothing.
    """
    for i in range(n):
        linear.factor[i, i] = 1.0 + damping
        for j in range(i + 1, n):
            linear.factor[i, j] = linear.normal[i, j]
        linear.step[i] = linear.gradient[i] / linear.length[i]
    if not factorise(linear.factor, n):
        return math.nan
    solve_transposed(linear.factor, n, linear.step)
    gain = 0.0
    for i in range(n):
        gain += linear.step[i] * linear.step[i]
    solve_upper(linear.factor, n, linear.step)
    for i in range(n):
        linear.step[i] /= linear.length[i]
    return gain


@kernel()
def try_steps(n: int, fitting: FitWork, error: float, damping: float) -> tuple[float, float]:
    """Step downhill from the program's coefficients, damped as needed; the error and the damping.

    The error is infinite if no step leads downhill: the coefficients are then as they were.

    Mutates: fitting. Allocates: nothing.
    """
    linear, theta = fitting.linear, fitting.run.program.theta
    for i in range(n):
        linear.trial[i] = theta[i]
    for _ in range(TRIES):
        if not math.isnan(solve_step(linear, n, damping)):
            for i in range(n):
                theta[i] = linear.trial[i] + linear.step[i]
            found, _ = free_run_error(n, fitting.run, error)
            if found < error:
                return found, damping / 10.0 if damping > 1e-3 else 0.0
        damping = max(10.0 * damping, 1e-3)
    for i in range(n):
        theta[i] = linear.trial[i]
    return math.inf, damping


@kernel()
def fit_structure(
    data: Regression, fitting: FitWork, coefficient: float, level: float
) -> tuple[int, float, float]:
    """Fit the structure in the scratch: what came of it, its squared error, the largest foreseen.

    If it is `FITTED`, ``fitting.linear`` holds lengths and factor, and the program the coefficients
    and their order. It is `GIVEN_UP` where an error is foreseen above `HOPELESS` times `level`, and
    `UNFITTABLE` where terms cannot be told apart or runs leave their bounds.

    Mutates: fitting. Allocates: nothing.
    """
    scratch, linear, run = fitting.scratch, fitting.linear, fitting.run
    n = scratch.n_terms[0]
    if not one_step_start(scratch, data, fitting, coefficient):
        return NO_FIT
    assemble(scratch, data, run)
    if not feeds_back(run, n):  # then the free run is the one-step prediction
        fit = fitting.work.current
        for i in range(n):
            is_pinned = pinned_place(data, scratch.key[run.order[i]]) >= 0
            linear.length[i] = 1.0 if is_pinned else fit.norm[i]
            linear.factor[i, i] = 1.0
            for j in range(i + 1, n):
                linear.factor[i, j] = fit.correlation[i, j]
        if not factorise(linear.factor, n):
            return NO_FIT
        if free_run_error(n, run, math.inf)[0] == math.inf:
            return NO_FIT
        error = squared_error(fit, scratch, data.target_norm, fitting.work)
        return FITTED, error, 0.0
    error, damping, foreseen = damp_start(scratch, data, fitting), 0.0, 0.0
    if error == math.inf:
        return NO_FIT
    for number in range(ROUNDS):
        if not linearise(n, run, linear):
            return NO_FIT
        hold_pinned(scratch, data, fitting)
        if not scale_normal(linear, n):
            return NO_FIT
        gain = solve_step(linear, n, 0.0)
        if math.isnan(gain):
            return NO_FIT
        if number > 0:  # what is foreseen from the start itself may be far too dark
            foreseen = max(foreseen, error - gain)
        if foreseen > HOPELESS * level:
            return GIVEN_UP, math.nan, foreseen
        if gain < SETTLED * error / data.n_rows:
            break
        found, damping = try_steps(n, fitting, error, damping)
        if found == math.inf:
            break
        error = found
    if math.isnan(solve_step(linear, n, 0.0)):  # the factor that the ellipsoid is made of
        return NO_FIT
    return FITTED, error, foreseen


@kernel()
def is_usable(found: Entries, entry: int, level: float) -> bool:
    """Whether a fit was done, and would be done anew at this level.

    So an old fit is judged as a new one would be, after the level was lowered.

    Mutates: nothing. Allocates: nothing.
    """
    return found.status[entry] == FITTED and found.foreseen[entry] <= HOPELESS * level


@kernel()
def score_fit(
    prior: PriorTable,
    n_fixed: int,
    coefficient: float,
    data: Regression,
    fitting: FitWork,
    entry: int,
) -> None:
    r"""Score the fit that was just made: the Laplace approximation of its structure's posterior.

    .. math::
        \log p(T) + \log N(\hat θ; 0, σ_θ² I) - \tfrac n2 \log \tfrac{S_T}{n}
        + \tfrac p2 \log \tfrac{2π S_T}{n} - \tfrac12 \log |J^TJ|

    with p coefficients that are not pinned, σ_θ² the `coefficient`, and `n_fixed` terms in all
    structures. (Pinned coefficients have the same density in all.)
    Terms are taken in the order of their keys, so that it is the same in whatever order they came.

    Mutates: fitting.fits. Allocates: nothing.
    """
    fits, found, scratch = fitting.fits, fitting.fits.entry, fitting.scratch
    if found.status[entry] != FITTED:
        return
    n, first, score = found.n_terms[entry], found.first_value[entry], -found.log_det[entry]
    n_counted = 0
    for i in range(n):
        if fitting.place[i] >= n_fixed:
            degree = scratch.degree[i]
            score += math.log(prior_odds(prior, scratch.atom[i], degree, n_counted))
            n_counted += 1 if degree > 0 else 0
        score += log_normal(fits.value[first + i], coefficient)
    least = 1e-16 * data.output_norm * data.output_norm
    variance, n_free = max(found.error[entry], least) / data.n_rows, n - data.pinned_key.shape[0]
    score += 0.5 * n_free * math.log(2.0 * math.pi * variance)
    found.score[entry] = score - 0.5 * data.n_rows * math.log(variance)
