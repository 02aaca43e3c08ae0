r"""Free-run least-squares fits of structures, remembered, and the ellipsoids they make.

The optimum :math:`\hat θ_T = \arg\min ‖y - \hat y(θ)‖²` is found by Levenberg-Marquardt steps from
the one-step solution. With J the slopes of the free run there and S_T its squared error,

.. math:: E_T(s) = \{ θ : ‖J(θ - \hat θ_T)‖² ≤ r\,(s - S_T) \}

is about where the squared error stays below s, with some reach r to spare. A fit is a function of
the set of terms and the data alone, to the last bit: whatever the table has forgotten, it is found
again.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.free_run import assemble, feeds_back, free_run_error
from adjoin.kernels.gram import hash_key, pinned_place, place_term, take_slot
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.prediction import evaluate, squared_error
from adjoin.kernels.sensitivity import linearise
from adjoin.kernels.state import Chain, FitTable, FitWork, GramTable, Linearised, Regression

ROUNDS = 10
TRIES = 8
# A step that would gain less than this share of the noise variance changes no decision.
SETTLED = 0.01
# Noise of the one-step start, of the output's mean square: a ridge that only breaks ties.
START_NOISE = 1e-8
# A start is damped until it is at most this much worse than no model.
BAD_START = 2.0
HALVINGS = 12
# A fit is given up where even the linearised optimum is so many times the loosest tolerance.
HOPELESS = 4.0


@kernel()
def forget_products(table: GramTable, n: int) -> None:
    """Make room for n terms more in the table of inner products, by forgetting all.

    Mutates: table. Allocates: nothing.
    """
    if table.size[0] + n > table.key.shape[0]:
        table.size[0] = 0
        for b in range(table.bucket.shape[0]):
            table.bucket[b] = -1


@kernel()
def one_step_start(scratch: Chain, data: Regression, own: FitWork, coefficient: float) -> bool:
    """θ by regularised one-step least squares; False if the terms cannot be told apart.

    Mutates: scratch.theta, own. Allocates: nothing.
    """
    n, fit, norm = scratch.tally[0], own.work.current, data.target_norm
    forget_products(own.table, n)
    for i in range(n):
        slot = take_slot(
            own.table, data, scratch.atom[i], scratch.degree[i], scratch.key[i], own.work.column
        )
        is_pinned, size = pinned_place(data, scratch.key[i]) >= 0, own.table.norm[slot]
        if not (is_pinned or (math.isfinite(size) and size > 0.0)):
            return False
        place_term(own.table, data, slot, fit, i, i, own.work)
    noise = START_NOISE * norm * norm / data.n_rows
    if math.isnan(evaluate(fit, n, noise, coefficient, 1.0, norm)):
        return False
    for i in range(n):
        own.work.normal[i] = fit.projection[i]
    solve_upper(fit.factor, n, own.work.normal)
    for i in range(n):
        scratch.theta[i] = math.sqrt(coefficient) * own.work.normal[i] / fit.spread[i]
        pinned = pinned_place(data, scratch.key[i])
        if pinned >= 0:
            scratch.theta[i] = data.pinned_theta[pinned]
    return True


@kernel()
def damp_start(scratch: Chain, data: Regression, own: FitWork) -> float:
    """Halve the coefficients of fed-back terms until the free run is sane; its squared error.

    Mutates: scratch.theta, own. Allocates: nothing.
    """
    n, run, limit = scratch.tally[0], own.run, BAD_START * data.output_norm**2
    for _ in range(HALVINGS):
        error, _ = free_run_error(n, run, limit)
        if error < math.inf:
            return error
        for place in range(run.program.group[1], n):
            if pinned_place(data, scratch.key[run.order[place]]) < 0:
                run.program.theta[place] *= 0.5
    return math.inf


@kernel()
def hold_pinned(scratch: Chain, data: Regression, own: FitWork) -> None:
    """Take the pinned terms out of JᵀJ and Jᵀr: a unit vector each, at right angles to all.

    Mutates: own.linear. Allocates: nothing.
    """
    n, linear = scratch.tally[0], own.linear
    for i in range(n if data.pinned_key.shape[0] else 0):
        if pinned_place(data, scratch.key[own.run.order[i]]) >= 0:
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
def try_steps(n: int, own: FitWork, error: float, damping: float) -> tuple[float, float]:
    """Step downhill from the program's coefficients, damped as needed; the error and the damping.

    The error is infinite if no step leads downhill: the coefficients are then as they were.

    Mutates: own. Allocates: nothing.
    """
    linear, theta = own.linear, own.run.program.theta
    for i in range(n):
        linear.trial[i] = theta[i]
    for _ in range(TRIES):
        if not math.isnan(solve_step(linear, n, damping)):
            for i in range(n):
                theta[i] = linear.trial[i] + linear.step[i]
            found, _ = free_run_error(n, own.run, error)
            if found < error:
                return found, damping / 10.0 if damping > 1e-3 else 0.0
        damping = max(10.0 * damping, 1e-3)
    for i in range(n):
        theta[i] = linear.trial[i]
    return math.inf, damping


@kernel()
def fit_structure(
    data: Regression, own: FitWork, coefficient: float, level: float
) -> tuple[float, float]:
    """Fit the structure in the scratch; its squared error, and the largest foreseen on the way.

    On success ``own.linear`` holds lengths and factor, and the program the coefficients and their
    order. The error is infinite where there is no fit: terms that cannot be told apart, runs that
    diverge, or an error foreseen above `HOPELESS` times `level`.

    Mutates: own. Allocates: nothing.
    """
    scratch, linear, run = own.scratch, own.linear, own.run
    n = scratch.tally[0]
    if not one_step_start(scratch, data, own, coefficient):
        return math.inf, math.inf
    assemble(scratch, data, run)
    if not feeds_back(run, n):  # then the free run is the one-step prediction
        fit = own.work.current
        for i in range(n):
            is_pinned = pinned_place(data, scratch.key[run.order[i]]) >= 0
            linear.length[i] = 1.0 if is_pinned else fit.norm[i]
            linear.factor[i, i] = 1.0
            for j in range(i + 1, n):
                linear.factor[i, j] = fit.correlation[i, j]
        if not factorise(linear.factor, n):
            return math.inf, math.inf
        error = squared_error(fit, scratch, data.target_norm, own.work)
        return error, 0.0
    error, damping, foreseen = damp_start(scratch, data, own), 0.0, 0.0
    if error == math.inf:
        return math.inf, math.inf
    for number in range(ROUNDS):
        if not linearise(n, run, linear):
            return math.inf, math.inf
        hold_pinned(scratch, data, own)
        if not scale_normal(linear, n):
            return math.inf, math.inf
        gain = solve_step(linear, n, 0.0)
        if math.isnan(gain):
            return math.inf, math.inf
        if number > 0:  # what is foreseen from the start itself may be far too dark
            foreseen = max(foreseen, error - gain)
        if foreseen > HOPELESS * level:
            return math.inf, foreseen
        if gain < SETTLED * error / data.n_rows:
            break
        found, damping = try_steps(n, own, error, damping)
        if found == math.inf:
            break
        error = found
    if math.isnan(solve_step(linear, n, 0.0)):  # the factor that the ellipsoid is made of
        return math.inf, math.inf
    return error, foreseen


@kernel()
def sort_terms(chain: Chain, fits: FitTable) -> None:
    """The keys of a structure in ascending order, and where each is.

    Mutates: fits.sorted, fits.place. Allocates: nothing.
    """
    for i in range(chain.tally[0]):
        key, j = chain.key[i], i
        while j > 0 and fits.sorted[j - 1] > key:
            fits.sorted[j], fits.place[j] = fits.sorted[j - 1], fits.place[j - 1]
            j -= 1
        fits.sorted[j], fits.place[j] = key, i


@kernel()
def find_entry(fits: FitTable, n: int) -> int:
    """The entry of the n sorted keys, or -1 - b for the empty bucket b where it belongs.

    Mutates: nothing. Allocates: nothing.
    """
    n_buckets, mixed = fits.bucket.shape[0], n
    for i in range(n):
        mixed = (mixed * 31 + hash_key(fits.sorted[i], 1 << 31)) & 0x7FFFFFFF
    b = hash_key(mixed, n_buckets)
    while fits.bucket[b] >= 0:
        entry = fits.bucket[b]
        is_same = fits.n_terms[entry] == n
        first = fits.first_key[entry]
        for i in range(n if is_same else 0):
            if fits.key[first + i] != fits.sorted[i]:
                is_same = False
                break
        if is_same:
            return entry
        b = (b + 1) & (n_buckets - 1)
    return -1 - b


@kernel()
def forget_fits(fits: FitTable) -> None:
    """Forget all fits.

    Mutates: fits. Allocates: nothing.
    """
    for i in range(fits.size.shape[0]):
        fits.size[i] = 0
    for b in range(fits.bucket.shape[0]):
        fits.bucket[b] = -1


@kernel()
def n_values(n: int) -> int:
    """How many numbers a fit of n terms takes: coefficients, lengths, factor.

    Mutates: nothing. Allocates: nothing.
    """
    return 2 * n + n * (n + 1) // 2


@kernel()
def look_up(chain: Chain, own: FitWork) -> int:
    """The entry of a chain's structure; if there is none, -1 and the structure is in the scratch.

    Mutates: own. Allocates: nothing.
    """
    fits, scratch, n = own.fits, own.scratch, chain.tally[0]
    sort_terms(chain, fits)
    found = find_entry(fits, n)
    if found >= 0:
        return found
    for i in range(n):
        place = fits.place[i]
        scratch.degree[i], scratch.key[i] = chain.degree[place], chain.key[place]
        for a in range(chain.atom.shape[1]):
            scratch.atom[i, a] = chain.atom[place, a]
    scratch.tally[0] = n
    return -1


@kernel()
def add_fit(own: FitWork, error: float, foreseen: float) -> int:
    """Enter the fit of the scratch that `fit_structure` has just made; its entry.

    Mutates: own. Allocates: nothing.
    """
    fits, n = own.fits, own.scratch.tally[0]
    if (
        fits.size[0] == fits.n_terms.shape[0]
        or fits.size[1] + 2 * n > fits.key.shape[0]
        or fits.size[2] + n_values(n) > fits.value.shape[0]
    ):
        forget_fits(fits)
    entry = fits.size[0]
    fits.bucket[-1 - find_entry(fits, n)] = entry
    fits.n_terms[entry] = n
    fits.first_key[entry], fits.first_value[entry] = fits.size[1], fits.size[2]
    fits.scalar[entry, 0], fits.scalar[entry, 1] = error, foreseen
    fits.scalar[entry, 2] = 0.0
    for i in range(n):
        fits.key[fits.size[1] + i] = fits.sorted[i]
    fits.size[0] += 1
    fits.size[1] += 2 * n
    if error < math.inf:
        store_fit(fits, entry, n, own)
        fits.size[2] += n_values(n)
    return entry


@kernel()
def store_fit(fits: FitTable, entry: int, n: int, own: FitWork) -> None:
    """Write a fit that succeeded into its place in the pools.

    Mutates: fits. Allocates: nothing.
    """
    linear, value, first = own.linear, fits.value, fits.first_value[entry]
    order = fits.first_key[entry] + n
    log_det, at = 0.0, first + 2 * n
    for i in range(n):
        fits.key[order + i] = own.run.order[i]
        value[first + i] = own.run.program.theta[i]
        value[first + n + i] = linear.length[i]
        log_det += math.log(linear.factor[i, i] * linear.length[i])
        for j in range(i, n):
            value[at] = linear.factor[i, j]
            at += 1
    fits.scalar[entry, 2] = log_det


@kernel()
def load_factor(fits: FitTable, entry: int, factor: Float2D) -> None:
    """The upper factor of a fit.

    Mutates: factor. Allocates: nothing.
    """
    n = fits.n_terms[entry]
    at = fits.first_value[entry] + 2 * n
    for i in range(n):
        for j in range(i, n):
            factor[i, j] = fits.value[at]
            at += 1


@kernel()
def fitted_theta(fits: FitTable, entry: int, theta: Float1D) -> None:
    """The optimum, in the order of the structure that was looked up last.

    Mutates: theta. Allocates: nothing.
    """
    n, first, order = fits.n_terms[entry], fits.first_value[entry], fits.first_key[entry]
    for i in range(n):
        theta[fits.place[fits.key[order + n + i]]] = fits.value[first + i]


@kernel()
def is_inside(fits: FitTable, entry: int, theta: Float1D, square: float) -> bool:
    """Whether θ, in the order of the structure looked up last, is in the ellipsoid ‖Jδ‖² ≤ square.

    Mutates: nothing. Allocates: nothing.
    """
    n, first, order = fits.n_terms[entry], fits.first_value[entry], fits.first_key[entry]
    at, total = first + 2 * n, 0.0
    for i in range(n):
        row = 0.0
        for j in range(i, n):
            place = fits.place[fits.key[order + n + j]]
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
    n = fits.n_terms[entry] - data.pinned_key.shape[0]
    if n == 0:
        return 0.0
    ball = 0.5 * n * math.log(math.pi) - math.lgamma(0.5 * n + 1.0)
    return ball + 0.5 * n * math.log(square) - fits.scalar[entry, 2]


@kernel()
def draw_inside(
    rng: np.random.Generator,
    fits: FitTable,
    data: Regression,
    entry: int,
    square: float,
    linear: Linearised,
    theta: Float1D,
) -> None:
    """A θ uniform on the ellipsoid ‖Jδ‖² ≤ square, in the order of the structure looked up last.

    Mutates: rng (a normal per free term and a uniform), linear, theta. Allocates: nothing.
    """
    n, first, order = fits.n_terms[entry], fits.first_value[entry], fits.first_key[entry]
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
        place = fits.place[fits.key[order + n + i]]
        theta[place] = fits.value[first + i] + linear.step[i] / fits.value[first + n + i]
