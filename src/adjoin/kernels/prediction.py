r"""The one-step-ahead sampler: conjugate evidence, coefficients and noise, and the chain's loop.

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

(for w ≠ 1 the same with the likelihood to the power w). Coefficients are integrated out of the
decision on a structure and drawn once after it; then the variances are drawn.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_categorical, draw_inverse_gamma
from adjoin.kernels.gram import place_term, take_slot
from adjoin.kernels.linalg import factorise, solve_transposed, solve_upper
from adjoin.kernels.moves import propose
from adjoin.kernels.record import has_room, record
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    CROWDED,
    IMPOSSIBLE,
    POSSIBLE,
    PROPOSED,
    REMOVE,
    SINGULAR,
    SINGULAR_NOISE,
    STAY,
    Chain,
    Fit,
    GramTable,
    Regression,
    Rules,
    Target,
    Trace,
    Work,
)
from adjoin.kernels.terms import term_key


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
    n = chain.tally[0]
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
    n, total = chain.tally[0], target_norm * target_norm
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
def gather_fit(chain: Chain, data: Regression, table: GramTable, work: Work) -> None:
    """Set up the fit of the chain's present structure from the table.

    Mutates: table, work. Allocates: nothing.
    """
    for i in range(chain.tally[0]):
        slot = take_slot(table, data, chain.atom[i], chain.degree[i], chain.key[i], work.column)
        place_term(table, data, slot, work.current, i, i, work)


@kernel()
def apply_edit(chain: Chain, edit: int, index: int, degree: int, key: int, work: Work) -> None:
    """Change the chain's list of terms as proposed; the last term takes a removed one's place.

    Mutates: chain. Allocates: nothing.
    """
    if edit == REMOVE:
        last = chain.tally[0] - 1
        chain.tally[0] = last
        chain.degree[index], chain.key[index] = chain.degree[last], chain.key[last]
        chain.theta[index] = chain.theta[last]
        for i in range(chain.atom.shape[1]):
            chain.atom[index, i] = chain.atom[last, i]
            chain.atom[last, i] = -1
        return
    if edit == APPEND:
        chain.tally[0] = index + 1
    chain.degree[index], chain.key[index] = degree, key
    for i in range(chain.atom.shape[1]):
        chain.atom[index, i] = work.atom[i] if i < degree else -1


@kernel()
def step_structure(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: GramTable,
    work: Work,
    trace: Trace,
    log_evidence: float,
) -> tuple[float, bool]:
    """Propose one move and decide on it; the log evidence after, and whether the terms changed.

    Draws the move, then what the move draws, then (if it is possible) the uniform of the decision.

    Mutates: rng, chain, table, work, trace. Allocates: nothing.
    """
    move = draw_categorical(rng, rules.moves.cumulative)
    trace.move[move, PROPOSED] += 1
    if move == STAY:
        trace.move[move, POSSIBLE] += 1
        trace.move[move, ACCEPTED] += 1
        return log_evidence, False
    edit, index, degree, log_ratio = propose(rng, move, chain, rules.prior, rules.moves, work)
    if edit == IMPOSSIBLE:
        return log_evidence, False
    n, key = chain.tally[0], 0
    if edit == APPEND and n == chain.key.shape[0]:
        trace.trouble[CROWDED] += 1
        return log_evidence, False
    trace.move[move, POSSIBLE] += 1
    log_uniform = math.log(1.0 - rng.random())
    if edit == REMOVE:
        n_after = copy_fit(work.current, work.proposed, n, index)
    else:
        key = term_key(work.atom, degree, rules.prior.weight.shape[0])
        slot = take_slot(table, data, work.atom, degree, key, work.column)
        table.used[slot] = chain.tally[1]
        if not math.isfinite(table.norm[slot]):
            trace.trouble[SINGULAR] += 1
            return log_evidence, False
        copy_fit(work.current, work.proposed, n, -1)
        place_term(table, data, slot, work.proposed, index, n, work)
        n_after = n + 1 if edit == APPEND else n
    noise, coefficient = chain.variance[0], chain.variance[1]
    power, norm = rules.target.power, data.target_norm
    proposed = evaluate(work.proposed, n_after, noise, coefficient, power, norm)
    if math.isnan(proposed):
        trace.trouble[SINGULAR] += 1
        return log_evidence, False
    if not log_uniform < log_ratio + proposed - log_evidence:
        return log_evidence, False
    trace.move[move, ACCEPTED] += 1
    apply_edit(chain, edit, index, degree, key, work)
    copy_fit(work.proposed, work.current, n_after, -1)
    keep_factor(work.proposed, work.current, n_after)
    return proposed, True


@kernel()
def step_variances(
    rng: np.random.Generator,
    chain: Chain,
    target: Target,
    data: Regression,
    work: Work,
    trace: Trace,
    error: float,
) -> float:
    r"""Draw σ² and, if it has a prior, σ_θ²; the log evidence under them.

    .. math::
        σ² \sim IG(α + \tfrac{w n}{2}, β + \tfrac{w}{2}‖y - Φθ‖²), \qquad
        σ_θ² \sim IG(a + \tfrac{m}{2}, b + \tfrac12‖θ‖²)

    of the m coefficients that are not pinned.
    A draw under which the structure cannot be factorised is refused: the old one stays. That is a
    Metropolis step for the posterior restricted to what can be factorised.

    Mutates: rng, chain.variance, work, trace. Allocates: nothing.
    """
    n, power, norm = chain.tally[0], target.power, data.target_norm
    n_pinned = data.pinned_theta.shape[0]
    noise, coefficient = chain.variance[0], chain.variance[1]
    shape = target.noise_shape + 0.5 * power * data.n_rows
    chain.variance[0] = draw_inverse_gamma(rng, shape, target.noise_scale + 0.5 * power * error)
    if target.coefficient_shape > 0.0:
        square = 0.0
        for i in range(n_pinned, n):
            square += chain.theta[i] * chain.theta[i]
        shape = target.coefficient_shape + 0.5 * (n - n_pinned)
        scale = target.coefficient_scale + 0.5 * square
        chain.variance[1] = draw_inverse_gamma(rng, shape, scale)
    log_evidence = evaluate(work.current, n, chain.variance[0], chain.variance[1], power, norm)
    if math.isnan(log_evidence):
        trace.trouble[SINGULAR_NOISE] += 1
        chain.variance[0], chain.variance[1] = noise, coefficient
        log_evidence = evaluate(work.current, n, noise, coefficient, power, norm)
    return log_evidence


@kernel()
def log_likelihood(n_rows: int, error: float, noise: float) -> float:
    r""":math:`-\tfrac12 (n \log 2πσ² + ‖y - Φθ‖²/σ²)`; `noise` is σ².

    Mutates: nothing. Allocates: nothing.
    """
    return -0.5 * (n_rows * math.log(2.0 * math.pi * noise) + error / noise)


@kernel(entry=True)
def run_prediction(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: GramTable,
    work: Work,
    trace: Trace,
    n_samples: int,
) -> int:
    """Draw samples until `n_samples` are drawn, or the table or the trace is full.

    The chain is a value: however it is cut into calls, and whatever the table holds on entry, the
    samples are the same. The table must have room for the present structure and one term more.
    Returns the number of samples drawn, or -1 if the present structure cannot be factorised.

    Mutates: rng, chain, table, work, trace. Allocates: nothing.
    """
    gather_fit(chain, data, table, work)
    norm, n_pinned = data.target_norm, data.pinned_theta.shape[0]
    log_evidence = evaluate(
        work.current,
        chain.tally[0],
        chain.variance[0],
        chain.variance[1],
        rules.target.power,
        norm,
    )
    if math.isnan(log_evidence):
        return -1
    n_drawn, is_new = 0, True
    while (
        n_drawn < n_samples
        and table.size[0] < table.key.shape[0]
        and has_room(trace, chain.key.shape[0])
    ):
        log_evidence, is_changed = step_structure(
            rng, chain, rules, data, table, work, trace, log_evidence
        )
        is_new = is_new or is_changed
        draw_coefficients(rng, work.current, chain, chain.variance[1], n_pinned, work)
        error = squared_error(work.current, chain, norm, work)
        log_evidence = step_variances(rng, chain, rules.target, data, work, trace, error)
        chain.tally[1] += 1
        n_drawn += 1
        if chain.tally[1] % rules.target.thin == 0:
            log_lik = log_likelihood(data.n_rows, error, chain.variance[0])
            record(chain, rules.prior, rules.moves, trace, log_lik, 0.0, is_new)
            is_new = False
    for i in range(chain.tally[0]):
        table.used[work.current.slot[i]] = chain.tally[1]
    return n_drawn
