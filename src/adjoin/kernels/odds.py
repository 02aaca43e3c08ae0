r"""The odds of every candidate at once, and how they change with the structure.

With C, h, d and U as in ``evidence``, at some noise variance, ρ the correlations with the output,
and :math:`U^T v = (h_i ρ_i)_i` (that of ``evidence`` less its gain), for the terms of a structure T
and any candidate j

.. math::
    W = U^{-T} C_{T\cdot}, \quad s_j = 1 - ‖W_j‖², \quad r_j = h_j ρ_j - W_j^T v, \quad R = 1 - ‖v‖²

A candidate that joins divides the volume by :math:`d_j \sqrt{s_j}` and lowers the share R of ‖y‖²
that is left over by :math:`r_j²/s_j`. (The column of one that is in has :math:`C_{jj} = 1`, so that
s and r are 0 there.)

Without the term of row q, with :math:`g = U^{-T} e_q / ‖U^{-T} e_q‖`, the direction in which that
term alone explains anything,

.. math:: s_j → s_j + ω_j², \quad r_j → r_j + ω_j ζ, \quad R → R + ζ²,
    \qquad ω = W^T g, \quad ζ = v^T g

which costs one product with W, and nothing is changed yet. A term that joins adds a row to W; one
that goes takes a row out, by Givens rotations.

**Clear structures.** All this is done in doubles, so that informed moves stay among structures
whose every term q is clear of the others, :math:`1/(C^{-1})_{qq}` above `CLEAR` whatever their
order, and that leave more than `LEAST` of ‖y‖². From these they propose nothing else, and elsewhere
they do nothing: a chain restricted to a set of states, with the same odds there, is reversible.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.candidates import Informed, Pool, Sweep
from adjoin.kernels.evidence import CLEAR_ROOT, copy_fit, evaluate
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import fill_products, take_slot
from adjoin.kernels.state import Chain
from adjoin.kernels.tables import ProductTable, Work

CLEAR = CLEAR_ROOT * CLEAR_ROOT
# Rounding of 1e-15 in R is then a relative error of 1e-6, and of 1e-3 nats in a thousand samples.
LEAST = 1e-9


@kernel()
def enter_pool(pool: Pool, table: ProductTable, data: Regression, used: int, work: Work) -> None:
    """Look the candidates up in the table; there must be room for those that are not there.

    Mutates: pool.slot, table, work. Allocates: nothing.
    """
    for j in range(pool.key.shape[0]):
        slot = take_slot(table, data, pool.atom[j], pool.degree[j], pool.key[j], work.column)
        table.used[slot] = used
        pool.slot[j] = slot


@kernel()
def complete_row(pool: Pool, table: ProductTable, data: Regression, slot: int, work: Work) -> None:
    """See to it that the table has the products of one term with all candidates.

    Mutates: table, work. Allocates: nothing.
    """
    n_missing, row = 0, table.correlation[slot]
    for j in range(pool.key.shape[0]):
        if math.isnan(row[pool.slot[j]]):
            work.missing[n_missing] = pool.slot[j]
            n_missing += 1
    if n_missing > 0:
        fill_products(table, data, slot, n_missing, work)


@kernel()
def lay_out(
    chain: Chain,
    noise: float,
    power: float,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> bool:
    """U, v, W, s and r of the present structure at a noise variance; whether it is clear.

    The present fit, but not its factor, must be in `work.current`.

    Mutates: table, work, informed. Allocates: nothing.
    """
    pool, sweep, fit, n = informed.pool, informed.sweep, work.proposed, chain.n_terms[0]
    enter_pool(pool, table, data, chain.n_drawn[0], work)
    lay_out_candidates(chain, math.sqrt(power * chain.coefficient[0] / noise), table, informed)
    copy_fit(work.current, fit, n, -1)
    gain = math.sqrt(power / noise) * data.target_norm
    if math.isnan(evaluate(fit, n, noise, chain.coefficient[0], power, data.target_norm)):
        return False
    square, log_volume = 1.0, 0.0
    for i in range(n):
        for k in range(i, n):
            sweep.factor[i, k] = fit.factor[i, k]
        sweep.projection[i] = fit.projection[i] / gain if gain > 0.0 else 0.0
        square -= sweep.projection[i] * sweep.projection[i]
        log_volume += math.log(fit.factor[i, i] * fit.spread[i])
    sweep.left[0], sweep.left[1] = square, log_volume
    if not (square > LEAST and is_clear(sweep, n)):
        return False
    for i in range(n):
        complete_row(pool, table, data, fit.slot[i], work)
        add_reach(pool, sweep, table, fit.slot[i], fit.shrink[i], i)
    return True


@kernel()
def lay_out_candidates(chain: Chain, root: float, table: ProductTable, informed: Informed) -> None:
    """h, d, s and r of all candidates beside no term at all, and where they stand.

    `root` is the root of τ.

    Mutates: informed. Allocates: nothing.
    """
    pool, sweep, odds = informed.pool, informed.sweep, informed.sweep.odds
    for j in range(pool.key.shape[0]):
        slot = pool.slot[j]
        size = root * table.norm[slot]
        pool.row[j] = -1
        odds.spread[j] = math.hypot(1.0, size)
        if math.isfinite(odds.spread[j]):
            odds.shrink[j] = size / odds.spread[j]
            odds.pivot[j], odds.lead[j] = 1.0, odds.shrink[j] * table.target[slot]
        else:  # a column that is not finite is never clear of anything
            odds.spread[j], odds.shrink[j], odds.pivot[j], odds.lead[j] = 1.0, 0.0, 0.0, 0.0
    for i in range(chain.n_terms[0]):
        sweep.place[i], sweep.candidate[i] = i, -1
        for j in range(pool.key.shape[0]):
            if pool.key[j] == chain.key[i]:
                sweep.candidate[i], pool.row[j] = j, i


@kernel()
def add_reach(
    pool: Pool, sweep: Sweep, table: ProductTable, slot: int, shrink: float, i: int
) -> None:
    """Row i of W, of the term in `slot`, whose column of U and place in v are there; s and r.

    Mutates: sweep. Allocates: nothing.
    """
    row, correlation, n = sweep.reach[i], table.correlation[slot], pool.key.shape[0]
    odds, own = sweep.odds, sweep.candidate[i]
    for j in range(n):
        row[j] = shrink * odds.shrink[j] * correlation[pool.slot[j]]
    if own >= 0:
        row[own] = 1.0
    for k in range(i):
        above, share = sweep.reach[k], sweep.factor[k, i]
        for j in range(n):
            row[j] -= share * above[j]
    scale, value = 1.0 / sweep.factor[i, i], sweep.projection[i]
    for j in range(n):
        row[j] *= scale
        odds.pivot[j] -= row[j] * row[j]
        odds.lead[j] -= row[j] * value


@kernel()
def find_unit(sweep: Sweep, n: int, q: int) -> float:
    """G of the term in row q, from there on; returns 1/(C⁻¹)_qq, its s without itself.

    Mutates: sweep.unit. Allocates: nothing.
    """
    unit = sweep.unit
    for i in range(q, n):
        unit[i] = 0.0
    unit[q] = 1.0
    square = 0.0
    for i in range(q, n):
        row = sweep.factor[i]
        unit[i] /= row[i]
        value = unit[i]
        square += value * value
        for k in range(i + 1, n):
            unit[k] -= value * row[k]
    scale = 1.0 / math.sqrt(square)
    for i in range(q, n):
        unit[i] *= scale
    return 1.0 / square


@kernel()
def is_clear(sweep: Sweep, n: int) -> bool:
    """Whether every term of the structure is clear of the others.

    Mutates: sweep.unit. Allocates: nothing.
    """
    for q in range(n):
        if not find_unit(sweep, n, q) > CLEAR:
            return False
    return True


@kernel()
def look_without(sweep: Sweep, n: int, q: int) -> float:
    """ω of the term in row q, into ``direction``; returns ζ. With q = -1 both are 0.

    Mutates: sweep.unit, sweep.odds. Allocates: nothing.
    """
    direction, zeta = sweep.odds.direction, 0.0
    for j in range(direction.shape[0]):
        direction[j] = 0.0
    if q < 0:
        return 0.0
    find_unit(sweep, n, q)
    for i in range(q, n):
        share, row = sweep.unit[i], sweep.reach[i]
        zeta += share * sweep.projection[i]
        for j in range(direction.shape[0]):
            direction[j] += share * row[j]
    return zeta


@kernel()
def drop_row(pool: Pool, sweep: Sweep, n: int, q: int, zeta: float) -> None:
    """Take the term of row q out, whose ω and ζ are known; n rows become n - 1.

    Mutates: pool.row, sweep. Allocates: nothing.
    """
    odds, own = sweep.odds, sweep.candidate[q]
    # det C∖q = det C · (C⁻¹)_qq, and a candidate's ω² is 1/(C⁻¹)_qq
    sweep.left[0] += zeta * zeta
    sweep.left[1] -= math.log(abs(odds.direction[own]) * odds.spread[own])
    pool.row[own] = -1
    for j in range(odds.pivot.shape[0]):
        omega = odds.direction[j]
        odds.pivot[j] += omega * omega
        odds.lead[j] += omega * zeta
    for i in range(q, n - 1):
        sweep.candidate[i], sweep.place[i] = sweep.candidate[i + 1], sweep.place[i + 1]
        if sweep.candidate[i] >= 0:
            pool.row[sweep.candidate[i]] = i
    for i in range(n):
        row = sweep.factor[i]
        for k in range(max(q, i - 1), n - 1):
            row[k] = row[k + 1]
    for i in range(q, n - 1):
        upper, lower = sweep.factor[i], sweep.factor[i + 1]
        length = math.hypot(upper[i], lower[i])
        cosine, sine = upper[i] / length, lower[i] / length
        rotate(upper, lower, cosine, sine, i, n - 1)
        rotate(sweep.reach[i], sweep.reach[i + 1], cosine, sine, 0, odds.pivot.shape[0])
        value, other = sweep.projection[i], sweep.projection[i + 1]
        sweep.projection[i] = cosine * value + sine * other
        sweep.projection[i + 1] = cosine * other - sine * value


@kernel()
def rotate(
    upper: Float1D, lower: Float1D, cosine: float, sine: float, first: int, last: int
) -> None:
    """A Givens rotation of two rows.

    Mutates: upper, lower. Allocates: nothing.
    """
    for j in range(first, last):
        value, other = upper[j], lower[j]
        upper[j] = cosine * value + sine * other
        lower[j] = cosine * other - sine * value


@kernel()
def add_row(
    pool: Pool, sweep: Sweep, table: ProductTable, data: Regression, n: int, j: int, work: Work
) -> bool:
    """Let candidate j join the n terms, if the structure is clear then.

    Its place in the chain is for the caller to enter.

    Mutates: pool.row, sweep, table, work. Allocates: nothing.
    """
    square, odds = 1.0, sweep.odds
    for i in range(n):
        sweep.factor[i, n] = sweep.reach[i, j]
        square -= sweep.reach[i, j] * sweep.reach[i, j]
    if not square > CLEAR:
        return False
    root = math.sqrt(square)
    sweep.factor[n, n] = root
    value = odds.lead[j] / root
    if not (sweep.left[0] - value * value > LEAST and is_clear(sweep, n + 1)):
        return False
    sweep.left[0] -= value * value
    sweep.left[1] += math.log(root * odds.spread[j])
    sweep.projection[n] = value
    sweep.candidate[n], pool.row[j] = j, n
    complete_row(pool, table, data, pool.slot[j], work)
    add_reach(pool, sweep, table, pool.slot[j], odds.shrink[j], n)
    return True
