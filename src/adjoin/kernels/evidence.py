r"""Conjugate evidence of a structure one step ahead, and the factor that its coefficients need.

Receives inner products from ``products``; hands the engines evidences, factors and draws.
With likelihood power w, :math:`τ = w σ_θ²/σ²`, columns φ_i of norm s_i and correlations R, the
coefficients have precision :math:`(I + τ Φ^TΦ)/σ_θ²`. Scaled to a unit diagonal this is

.. math::
    C_{ij} = h_i h_j R_{ij} \;(i ≠ j), \quad C_{ii} = 1, \qquad
    d_i = \sqrt{1 + τ s_i²}, \quad h_i = \sqrt{τ} s_i / d_i

whatever the units of the columns. With :math:`b_i = \sqrt{w}\,(‖y‖/σ)\, h_i r_i`, r the
correlation with the output, :math:`C = U^TU` and :math:`U^T v = b`,

.. math::
    \log \frac{p(y|T,σ²)}{p(y|∅,σ²)} = \tfrac12 ‖v‖² - \sum_i \log (U_{ii}\, d_i), \qquad
    θ_i = σ_θ\, (U^{-1}(v + ξ))_i / d_i, \quad ξ \sim N(0, I)

(for w ≠ 1 the same with the likelihood to the power w).

**Digits.** :math:`‖v‖²` is nearly :math:`g² = w‖y‖²/σ²` wherever a structure explains nearly all,
and decisions need its absolute error to be small. Rounding of the inner products changes it by some
:math:`10^{-16} g²(Σ_i|θ_i| s_i/‖y‖)²`: nothing at a signal-to-noise ratio of a thousand, hundreds
of nats at ten million. So from `SHARP` on, and wherever a pivot is not clear of rounding, all of
this is done with twice the digits (``doubled``, ``remainders``), and with sharp noise what is
returned is less ½g², which is the same for all structures. h, d and g may be rounded: used
throughout as they are, they only change the units of θ and y by as much.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.doubled import (
    add_doubled,
    factorise_doubled,
    multiply_doubled,
    multiply_exactly,
    solve_transposed_doubled,
)
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.products import place_term, take_slot
from adjoin.kernels.remainders import complete_products
from adjoin.kernels.state import Chain
from adjoin.kernels.tables import Fit, ProductTable, Work

# The g² from which on evidences need twice the digits: the error in the module's docstring is then
# 1e-4·(Σ|θ|s/‖y‖)² nats, where the sum is 3 for a smooth output and 7 for a very smooth one.
SHARP = 1e12
# In doubles, a pivot below the square of this is off by more than 1e-5, and all that comes of it.
CLEAR_ROOT = 1e-5
# A squared error that is less than this, of the square of what cancels in it, is taken with twice
# the digits: in doubles its relative error would be above 1e-5.
CANCELLED = 1e-11


@kernel()
def evaluate(
    fit: Fit, n: int, noise: float, coefficient: float, power: float, target_norm: float
) -> float:
    """Factorise the posterior of the coefficients; the log evidence against the empty structure.

    `noise` and `coefficient` are the variances σ² and σ_θ². NaN if it cannot be factorised.

    Mutates: fit. Allocates: nothing.
    """
    root = math.sqrt(power * coefficient / noise)
    gain = math.sqrt(power / noise) * target_norm
    for i in range(n):
        size = root * fit.norm[i]
        fit.spread[i] = math.hypot(1.0, size)
        fit.shrink[i] = size / fit.spread[i]
    for i in range(n):
        shrink, source, row = fit.shrink[i], fit.correlation[i], fit.factor[i]
        row[i] = 1.0
        for j in range(i + 1, n):
            row[j] = shrink * fit.shrink[j] * source[j]
    if not factorise(fit.factor, n):
        return math.nan
    for i in range(n):
        fit.projection[i] = gain * fit.shrink[i] * fit.target[i]
    solve_transposed(fit.factor, n, fit.projection)
    log_evidence = 0.0
    for i in range(n):
        log_evidence += 0.5 * fit.projection[i] * fit.projection[i]
        log_evidence -= math.log(fit.factor[i, i] * fit.spread[i])
    return log_evidence


@kernel()
def is_sharp(noise: float, power: float, target_norm: float) -> bool:
    r"""Whether :math:`w‖y‖²/σ²` asks for twice the digits.

    Mutates: nothing. Allocates: nothing.
    """
    return power * target_norm * target_norm >= SHARP * noise


@kernel()
def evaluate_clearly(
    fit: Fit, n: int, noise: float, coefficient: float, power: float, target_norm: float
) -> float:
    """`evaluate`, but NaN wherever it takes twice the digits.

    Mutates: fit. Allocates: nothing.
    """
    if is_sharp(noise, power, target_norm):
        return math.nan
    found = evaluate(fit, n, noise, coefficient, power, target_norm)
    for i in range(n):
        if not fit.factor[i, i] > CLEAR_ROOT:
            return math.nan
    return found


@kernel()
def evaluate_doubled(
    fit: Fit,
    n: int,
    noise: float,
    coefficient: float,
    power: float,
    data: Regression,
    table: ProductTable,
    work: Work,
) -> float:
    """`evaluate` with twice the digits; less ½g² where the noise is sharp.

    NaN if that does not do either.

    Mutates: fit, table, work. Allocates: nothing.
    """
    norm = data.target_norm
    complete_products(table, data, fit, n, work)
    scale_doubled(fit, n, noise, coefficient, power, norm, table, work)
    factor, projection = work.digits.factor, work.digits.projection
    if not factorise_doubled(fit.factor, factor, n):
        return math.nan
    solve_transposed_doubled(fit.factor, factor, n, fit.projection, projection)
    square, rest, log_volume = 0.0, 0.0, 0.0
    if is_sharp(noise, power, norm):
        gain = math.sqrt(power / noise) * norm
        square, rest = multiply_exactly(-gain, gain)
        square, rest = multiply_doubled(square, rest, 1.0, table.rest.square[0])
    for i in range(n):
        value, low = fit.projection[i], projection[i]
        value, low = multiply_doubled(value, low, value, low)
        square, rest = add_doubled(square, rest, value, low)
        log_volume += math.log(fit.factor[i, i] * fit.spread[i])
    return 0.5 * square - log_volume


@kernel()
def evaluate_present(
    chain: Chain, power: float, data: Regression, table: ProductTable, work: Work
) -> float:
    """`evaluate` of the chain's present state, with as many digits as it takes.

    Mutates: table, work. Allocates: nothing.
    """
    n, noise, coefficient = chain.n_terms[0], chain.noise[0], chain.coefficient[0]
    found = evaluate_clearly(work.current, n, noise, coefficient, power, data.target_norm)
    if math.isnan(found):
        found = evaluate_doubled(work.current, n, noise, coefficient, power, data, table, work)
    return found


@kernel()
def scale_doubled(
    fit: Fit,
    n: int,
    noise: float,
    coefficient: float,
    power: float,
    target_norm: float,
    table: ProductTable,
    work: Work,
) -> None:
    """C and b with twice the digits, where the factor and the solution will be.

    Mutates: fit, work. Allocates: nothing.
    """
    root = math.sqrt(power * coefficient / noise)
    gain = math.sqrt(power / noise) * target_norm
    rest, digits = table.rest, work.digits
    for i in range(n):
        size = root * fit.norm[i]
        fit.spread[i] = math.hypot(1.0, size)
        fit.shrink[i] = size / fit.spread[i]
    for i in range(n):
        shrink, source, lacking = fit.shrink[i], fit.correlation[i], rest.correlation[fit.slot[i]]
        row, low = fit.factor[i], digits.factor[i]
        for j in range(i, n):
            value, error = multiply_exactly(shrink, fit.shrink[j])
            row[j], low[j] = multiply_doubled(value, error, source[j], lacking[fit.slot[j]])
        ridge, error = multiply_exactly(1.0 / fit.spread[i], 1.0 / fit.spread[i])
        row[i], low[i] = add_doubled(row[i], low[i], ridge, error)
        value, error = multiply_exactly(gain, shrink)
        lack = rest.target[fit.slot[i]]
        fit.projection[i], digits.projection[i] = multiply_doubled(
            value, error, fit.target[i], lack
        )


@kernel()
def draw_coefficients(
    rng: np.random.Generator, fit: Fit, chain: Chain, coefficient: float, n_pinned: int, work: Work
) -> None:
    """θ from its full conditional, by the factor of `evaluate`; the pinned ones stay.

    Mutates: rng (one normal per term), chain.theta, work. Allocates: nothing.
    """
    n = chain.n_terms[0]
    for i in range(n):
        work.normal[i] = fit.projection[i] + rng.standard_normal()
    solve_upper(fit.factor, n, work.normal)
    sd = math.sqrt(coefficient)
    for i in range(n_pinned, n):
        chain.theta[i] = sd * work.normal[i] / fit.spread[i]


@kernel()
def squared_error(fit: Fit, chain: Chain, target_norm: float, work: Work) -> float:
    r""":math:`‖y - Φθ‖² = ‖y‖² - 2 θ^TΦ^Ty + θ^TΦ^TΦθ`, not below 0.

    Mutates: work. Allocates: nothing.
    """
    n, total = chain.n_terms[0], target_norm * target_norm
    for i in range(n):
        work.normal[i] = fit.norm[i] * chain.theta[i]
    for i in range(n):
        inner = 0.5 * work.normal[i] - target_norm * fit.target[i]
        row = fit.correlation[i]
        for j in range(i + 1, n):
            inner += work.normal[j] * row[j]
        total += 2.0 * work.normal[i] * inner
    return max(total, 0.0)


@kernel()
def squared_error_clearly(fit: Fit, chain: Chain, target_norm: float, work: Work) -> float:
    """`squared_error`, but NaN where it takes twice the digits.

    Mutates: work. Allocates: nothing.
    """
    size, error = target_norm, squared_error(fit, chain, target_norm, work)
    for i in range(chain.n_terms[0]):
        size += abs(work.normal[i])
    return error if error >= CANCELLED * size * size else math.nan


@kernel()
def squared_error_doubled(
    fit: Fit, chain: Chain, data: Regression, table: ProductTable, work: Work
) -> float:
    """`squared_error` with twice the digits.

    Mutates: table, work. Allocates: nothing.
    """
    n, digits, rest = chain.n_terms[0], work.digits, table.rest
    target_norm = data.target_norm
    complete_products(table, data, fit, n, work)
    total, low = multiply_exactly(target_norm, target_norm)
    total, low = multiply_doubled(total, low, 1.0, rest.square[0])
    for i in range(n):
        work.normal[i], digits.normal[i] = multiply_exactly(fit.norm[i], chain.theta[i])
    for i in range(n):
        row, lacking = fit.correlation[i], rest.correlation[fit.slot[i]]
        inner, error = multiply_exactly(-target_norm, fit.target[i])
        lack = -target_norm * rest.target[fit.slot[i]]
        inner, error = add_doubled(inner, error, lack, 0.0)
        for j in range(i, n):
            share = 0.5 if j == i else 1.0
            value, lost = multiply_doubled(
                work.normal[j], digits.normal[j], row[j], lacking[fit.slot[j]]
            )
            inner, error = add_doubled(inner, error, share * value, share * lost)
        value, lost = multiply_doubled(inner, error, 2.0 * work.normal[i], 2.0 * digits.normal[i])
        total, low = add_doubled(total, low, value, lost)
    return max(total, 0.0)


@kernel()
def log_likelihood(n_rows: int, error: float, noise: float) -> float:
    r""":math:`-\tfrac12 (n \log 2πσ² + ‖y - Φθ‖²/σ²)`; `noise` is σ².

    Mutates: nothing. Allocates: nothing.
    """
    return -0.5 * (n_rows * math.log(2.0 * math.pi * noise) + error / noise)


@kernel()
def copy_fit(source: Fit, target: Fit, n: int, skipped: int) -> int:
    """Copy a fit of n terms; with `skipped` >= 0 the last term takes the place of that one.

    Returns how many terms the copy has.

    Mutates: target. Allocates: nothing.
    """
    for i in range(n):
        target.slot[i], target.norm[i], target.target[i] = (
            source.slot[i],
            source.norm[i],
            source.target[i],
        )
        from_row, to_row = source.correlation[i], target.correlation[i]
        for j in range(i, n):
            to_row[j] = from_row[j]
    if skipped < 0:
        return n
    last = n - 1
    if skipped < last:
        target.slot[skipped] = source.slot[last]
        target.norm[skipped] = source.norm[last]
        target.target[skipped] = source.target[last]
        for j in range(skipped):
            target.correlation[j, skipped] = source.correlation[j, last]
        for j in range(skipped + 1, last):
            target.correlation[skipped, j] = source.correlation[j, last]
    return last


@kernel()
def keep_factor(source: Fit, target: Fit, n: int) -> None:
    """Copy what `evaluate` made.

    Mutates: target. Allocates: nothing.
    """
    for i in range(n):
        target.shrink[i], target.spread[i] = source.shrink[i], source.spread[i]
        target.projection[i] = source.projection[i]
        from_row, to_row = source.factor[i], target.factor[i]
        for j in range(i, n):
            to_row[j] = from_row[j]


@kernel()
def gather_fit(chain: Chain, data: Regression, table: ProductTable, work: Work) -> None:
    """Set up the fit of the chain's present structure from the table.

    Mutates: table, work. Allocates: nothing.
    """
    for i in range(chain.n_terms[0]):
        slot = take_slot(table, data, chain.atom[i], chain.degree[i], chain.key[i], work.column)
        place_term(table, data, slot, work.current, i, i, work)
