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
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.products import place_term, take_slot
from adjoin.kernels.state import Chain
from adjoin.kernels.tables import Fit, ProductTable, Work


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
