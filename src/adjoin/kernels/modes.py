r"""The mode of a structure's coefficients under free runs with noise on the output.

With the noise variance σ² ~ IG(a, b) integrated out, n rows, the likelihood to the power w, and S
the squared error of the free run,

.. math::
    \log p_w(y|θ) = -A \log B(S), \qquad A = a + \tfrac{wn}{2}, \quad B(S) = b + \tfrac{w}{2} S

up to what is the same for all θ and structures. The mode of :math:`p_w(y|θ) N(θ; 0, σ_θ² I)` is
found by Levenberg-Marquardt steps

.. math::
    (γ J^TJ + I/σ_θ² + μD)\,δ = γ J^Tr - θ/σ_θ², \qquad γ = w A / B(S)

with J the slopes of the free run, r its residual and D the diagonal of what stands before it; where
the noise is coloured, both are filtered by the ρ that S has at this run (``colours``). There are
two starts: the one-step solution, and the coefficients of the nearest *reference*, a structure that
was met before, with new terms at 0; where that has all terms but one, it is the only start.
Without it, a structure with one more term may be fitted worse than the one without. A mode is a
function of the set of terms, the data and the references, to the last bit: whatever the table has
forgotten is found again.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import judge_run
from adjoin.kernels.fits import damp_start, hold_pinned, one_step_start
from adjoin.kernels.free_run import assemble
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.products import pinned_place
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import Target
from adjoin.kernels.tables import FitWork, Linearised

ROUNDS = 12
TRIES = 6
# Nats that a step must promise: less changes no decision that a chain takes.
SETTLED = 0.01
# Of a diagonal: its root times another is still a number.
LARGEST = 1e300


class References(NamedTuple):
    """Structures whose coefficients others start from.

    ``key`` : (n, capacity) the terms of each, ``theta`` : (n, capacity) their coefficients,
    ``n_terms`` : (n,) how many; -1 where there is none.
    """

    key: Int2D
    theta: Float2D
    n_terms: Int1D


@kernel()
def log_fit(target: Target, n_rows: int, error: float) -> float:
    r""":math:`-A \log B(S)`: what a free run of this squared error is worth.

    Mutates: nothing. Allocates: nothing.
    """
    if error == math.inf:
        return -math.inf
    shape = target.noise_shape + 0.5 * target.power * n_rows
    return -shape * math.log(target.noise_scale + 0.5 * target.power * error)


@kernel()
def largest_error(target: Target, n_rows: int, log_least: float) -> float:
    """The squared error whose `log_fit` is `log_least`; infinite where none is too large.

    Mutates: nothing. Allocates: nothing.
    """
    shape = target.noise_shape + 0.5 * target.power * n_rows
    exponent = -log_least / shape
    if target.power == 0.0 or exponent > 600.0:
        return math.inf
    return 2.0 * (math.exp(exponent) - target.noise_scale) / target.power


@kernel()
def precision(target: Target, n_rows: int, error: float) -> float:
    """γ, by which the squared error counts around a run that has this one.

    Mutates: nothing. Allocates: nothing.
    """
    shape = target.noise_shape + 0.5 * target.power * n_rows
    return target.power * shape / (target.noise_scale + 0.5 * target.power * error)


@kernel()
def is_free(fitting: FitWork, data: Regression, place: int) -> bool:
    """Whether the term at a place of the program has a coefficient to learn.

    Mutates: nothing. Allocates: nothing.
    """
    return pinned_place(data, fitting.scratch.key[fitting.run.order[place]]) < 0


@kernel()
def log_penalty(fitting: FitWork, data: Regression, coefficient: float) -> float:
    r""":math:`-‖θ‖²/(2σ_θ²)` of the program's free coefficients.

    Mutates: nothing. Allocates: nothing.
    """
    total = 0.0
    for i in range(fitting.scratch.n_terms[0]):
        if is_free(fitting, data, i):
            total += fitting.run.program.theta[i] * fitting.run.program.theta[i]
    return -0.5 * total / coefficient


@kernel()
def factorise_precision(linear: Linearised, n: int, weight: float, ridge: float) -> float:
    r"""Factorise :math:`γ J^TJ + I/σ_θ²`, its diagonal taken out into ``linear.length``.

    `weight` is γ, and `ridge` what is added to the diagonal. Where rounding leaves no positive
    pivots, the unit diagonal is raised until it does; what is not finite counts as 0. Returns half
    the log determinant.

    Mutates: linear.length, linear.factor. Allocates: nothing.
    """
    for i in range(n):
        linear.length[i] = math.sqrt(min(weight * linear.normal[i, i] + ridge, LARGEST))
    raised = 0.0
    while True:
        for i in range(n):
            linear.factor[i, i] = 1.0 + raised
            for j in range(i + 1, n):
                cosine = weight * linear.normal[i, j] / (linear.length[i] * linear.length[j])
                linear.factor[i, j] = cosine if math.isfinite(cosine) else 0.0
        if factorise(linear.factor, n):
            break
        raised = max(10.0 * raised, 1e-12)
    log_det = 0.0
    for i in range(n):
        log_det += math.log(linear.factor[i, i] * linear.length[i])
    return log_det


@kernel()
def aim_step(
    fitting: FitWork, data: Regression, weight: float, coefficient: float, damping: float
) -> float:
    """The step δ from the program's coefficients, and what it promises, in nats; NaN if singular.

    Mutates: fitting.linear. Allocates: nothing.
    """
    linear, n, theta = fitting.linear, fitting.scratch.n_terms[0], fitting.run.program.theta
    for i in range(n):
        free = is_free(fitting, data, i)
        linear.length[i] = math.sqrt(weight * linear.normal[i, i] + 1.0 / coefficient)
        slope = weight * linear.gradient[i] - linear.trial[i] / coefficient
        linear.step[i] = slope / linear.length[i] if free else 0.0
    for i in range(n):
        linear.factor[i, i] = 1.0 + damping
        for j in range(i + 1, n):
            cosine = weight * linear.normal[i, j] / (linear.length[i] * linear.length[j])
            linear.factor[i, j] = cosine
    if not factorise(linear.factor, n):
        return math.nan
    solve_transposed(linear.factor, n, linear.step)
    promised = 0.0
    for i in range(n):
        promised += 0.5 * linear.step[i] * linear.step[i]
    solve_upper(linear.factor, n, linear.step)
    for i in range(n):
        linear.step[i] /= linear.length[i]
        theta[i] = linear.trial[i] + linear.step[i]
    return promised


@kernel()
def log_run(target: Target, data: Regression, fitting: FitWork, error: float) -> float:
    """Log likelihood, up to a constant, of the run that was judged last and has this S.

    Mutates: nothing. Allocates: nothing.
    """
    return log_fit(target, data.n_rows, error) - fitting.colour.volume[0]


@kernel()
def climb(
    data: Regression, fitting: FitWork, target: Target, coefficient: float
) -> tuple[float, float]:
    """Climb to a mode from the program's coefficients; its log posterior, and the squared error.

    ``fitting.linear`` then holds JᵀJ and Jᵀr there, those of pinned terms taken out. The log
    posterior is -inf where the run leaves its bounds at the start, or its slopes are not finite.

    Mutates: fitting. Allocates: nothing.
    """
    n, run, linear = fitting.scratch.n_terms[0], fitting.run, fitting.linear
    theta, damping = run.program.theta, 0.0
    error = judge_run(n, fitting, math.inf)
    if error == math.inf:
        return -math.inf, math.inf
    value = log_run(target, data, fitting, error) + log_penalty(fitting, data, coefficient)
    for number in range(ROUNDS + 1):
        if not linearise(n, run, linear):
            return -math.inf, math.inf
        hold_pinned(fitting.scratch, data, fitting)
        if number == ROUNDS:
            break
        weight, is_better = precision(target, data.n_rows, error), False
        for i in range(n):
            linear.trial[i] = theta[i]
        for _ in range(TRIES):
            promised = aim_step(fitting, data, weight, coefficient, damping)
            if promised < SETTLED:
                break
            if not math.isnan(promised):
                penalty = log_penalty(fitting, data, coefficient)
                limit = largest_error(target, data.n_rows, value - penalty)
                found = judge_run(n, fitting, limit)
                reached = log_run(target, data, fitting, found) + penalty
                if reached > value:
                    error, value, is_better = found, reached, True
                    break
            damping = max(10.0 * damping, 1e-3)
        if not is_better:
            for i in range(n):
                theta[i] = linear.trial[i]
            break
        damping = damping / 10.0 if damping > 1e-3 else 0.0
    return value, error


@kernel()
def take_reference(fitting: FitWork, data: Regression, references: References) -> int:
    """Coefficients of the reference that shares most terms with the scratch, 0 for its new terms.

    Of several that share as many, the one with the fewest others, then the first. Returns how many
    terms it shares; nothing is taken if that is 0.

    Mutates: fitting.scratch.theta. Allocates: nothing.
    """
    scratch, n, best, most, fewest = fitting.scratch, fitting.scratch.n_terms[0], -1, 0, 0
    for r in range(references.n_terms.shape[0]):
        n_shared, n_other = 0, references.n_terms[r]
        for j in range(n_other):
            for i in range(n):
                if references.key[r, j] == scratch.key[i]:
                    n_shared += 1
        if n_shared > most or (n_shared == most and best >= 0 and n_other < fewest):
            best, most, fewest = r, n_shared, n_other
    if best < 0:
        return 0
    for i in range(n):
        scratch.theta[i] = 0.0
        for j in range(references.n_terms[best]):
            if references.key[best, j] == scratch.key[i]:
                scratch.theta[i] = references.theta[best, j]
        pinned = pinned_place(data, scratch.key[i])
        if pinned >= 0:
            scratch.theta[i] = data.pinned_theta[pinned]
    return most


@kernel()
def settle_nowhere(fitting: FitWork, data: Regression) -> float:
    """A mode for a structure whose free runs all leave their bounds: no coefficients, no slopes.

    Its squared error is that of no model. What is proposed from it is the prior.

    Mutates: fitting. Allocates: nothing.
    """
    linear, n, fitting.colour.volume[0] = fitting.linear, fitting.scratch.n_terms[0], 0.0
    for i in range(n):
        pinned = pinned_place(data, fitting.scratch.key[fitting.run.order[i]])
        fitting.run.program.theta[i] = data.pinned_theta[pinned] if pinned >= 0 else 0.0
        linear.gradient[i] = 0.0
        for j in range(i, n):
            linear.normal[i, j] = 0.0
    return data.output_norm * data.output_norm if data.n_rows > 0 else 0.0


@kernel()
def copy_numbers(source: Float1D, n: int, copy: Float1D) -> None:
    """Copy n numbers.

    Mutates: copy. Allocates: nothing.
    """
    for i in range(n):
        copy[i] = source[i]


@kernel()
def find_mode(
    data: Regression,
    fitting: FitWork,
    target: Target,
    coefficient: float,
    references: References,
) -> float:
    """The mode of the structure in the scratch, by the better of two starts; its squared error.

    The program then has the coefficients and ``fitting.linear`` JᵀJ and Jᵀr, in its order, and
    ``fitting.colour`` is that of its noise.

    Mutates: fitting. Allocates: nothing.
    """
    scratch, run, best, error, best_start = fitting.scratch, fitting.run, -math.inf, math.inf, -1
    n, n_shared, last_start = scratch.n_terms[0], 0, -1
    for start in range(2 if target.power > 0.0 else 0):
        if start == 0:
            n_shared = take_reference(fitting, data, references)
            is_there = n_shared > 0
        elif best_start == 0 and n_shared >= n - 1:
            break  # at most one term is new
        else:
            is_there = one_step_start(scratch, data, fitting, coefficient)
        if not is_there:
            continue
        last_start = start
        assemble(scratch, data, run)
        if damp_start(scratch, data, fitting) == math.inf:
            continue
        value, found = climb(data, fitting, target, coefficient)
        if value > best + SETTLED:
            best, error, best_start = value, found, start
            copy_numbers(run.program.theta, n, fitting.kept)
    if best_start < 0:
        assemble(scratch, data, run)
        return settle_nowhere(fitting, data)
    if best_start != last_start or fitting.colour.rho.shape[0] > 0:  # another run came after it
        copy_numbers(fitting.kept, n, run.program.theta)
        error = judge_run(n, fitting, math.inf)
        linearise(n, run, fitting.linear)
        hold_pinned(scratch, data, fitting)
    return error
