r"""The odds of every candidate at once, and how they change with the structure.

With C, h, d, b, U and v as in ``evidence``, for the terms of a structure T and any candidate j,

.. math::
    W = U^{-T} C_{T\cdot}, \qquad s_j = 1 - ‖W_j‖², \qquad r_j = b_j - W_j^T v, \qquad
    o_j(T) = \frac{p(T ∪ j)}{p(T)}\, \frac{1}{d_j \sqrt{s_j}}\, e^{r_j²/2s_j}

are the odds of T ∪ j against T: prior, and evidence with the coefficients integrated out. (The
column of a candidate that is in has :math:`C_{jj} = 1`, so that s and r are 0 there.)

Without the term of row q, with :math:`g = U^{-T} e_q / ‖U^{-T} e_q‖`, the direction in which that
term alone explains anything,

.. math:: s_j → s_j + ω_j², \quad r_j → r_j + ω_j ζ, \qquad ω = W^T g, \quad ζ = v^T g

which costs one product with W, and nothing is changed yet. A term that joins adds a row to W; one
that goes takes a row out, by Givens rotations.

**Clear structures.** All this is done in doubles, so that informed moves stay among structures
whose every term q is clear of the others: :math:`1/(C^{-1})_{qq}` is above `CLEAR`, whatever their
order. From these they propose nothing else, and elsewhere they do nothing: a chain restricted to a
set of states, with the same odds there, is reversible.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.candidates import Informed, Pool, Sweep
from adjoin.kernels.evidence import CLEAR_ROOT
from adjoin.kernels.layouts import Regression
from adjoin.kernels.prior import term_rate
from adjoin.kernels.products import fill_products, take_slot
from adjoin.kernels.state import Chain, PriorTable
from adjoin.kernels.tables import ProductTable, Work

CLEAR = CLEAR_ROOT * CLEAR_ROOT
# Odds that are e^-65 of the largest, before the factor 1/sqrt(s) of at most e^11.6, are below the
# resolution of a uniform draw even for a million of them.
NEGLIGIBLE = -65.0


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
def begin_sweep(
    chain: Chain,
    power: float,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> None:
    """Lay out U, v, W, s and r of the present structure, whose fit and factor are `work.current`.

    Mutates: table, work, informed. Allocates: nothing.
    """
    pool, sweep, fit, n = informed.pool, informed.sweep, work.current, chain.n_terms[0]
    enter_pool(pool, table, data, chain.n_drawn[0], work)
    noise, coefficient, norm = chain.noise[0], chain.coefficient[0], data.target_norm
    root, gain = math.sqrt(power * coefficient / noise), math.sqrt(power / noise) * norm
    for j in range(pool.key.shape[0]):
        slot = pool.slot[j]
        size = root * table.norm[slot]
        spread = math.hypot(1.0, size)
        pool.row[j] = -1
        if math.isfinite(spread):
            sweep.shrink[j] = size / spread
            sweep.offset[j] = pool.log_prior[j] - math.log(spread)
            sweep.pivot[j], sweep.lead[j] = 1.0, gain * sweep.shrink[j] * table.target[slot]
        else:  # a column that is not finite is never clear of anything
            sweep.shrink[j], sweep.offset[j], sweep.pivot[j], sweep.lead[j] = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        sweep.place[i], sweep.candidate[i] = i, -1
        for j in range(pool.key.shape[0]):
            if pool.key[j] == chain.key[i]:
                sweep.candidate[i], pool.row[j] = j, i
        for k in range(i, n):
            sweep.factor[i, k] = fit.factor[i, k]
        sweep.projection[i] = fit.projection[i]
    for i in range(n):
        complete_row(pool, table, data, fit.slot[i], work)
        add_reach(pool, sweep, table, fit.slot[i], fit.shrink[i], i)


@kernel()
def add_reach(
    pool: Pool, sweep: Sweep, table: ProductTable, slot: int, shrink: float, i: int
) -> None:
    """Row i of W, of the term in `slot`, whose column of U and place in v are there; s and r.

    Mutates: sweep. Allocates: nothing.
    """
    row, correlation, n = sweep.reach[i], table.correlation[slot], pool.key.shape[0]
    for j in range(n):
        row[j] = shrink * sweep.shrink[j] * correlation[pool.slot[j]]
    own = sweep.candidate[i]
    if own >= 0:
        row[own] = 1.0
    for k in range(i):
        above, share = sweep.reach[k], sweep.factor[k, i]
        for j in range(n):
            row[j] -= share * above[j]
    scale, value = 1.0 / sweep.factor[i, i], sweep.projection[i]
    for j in range(n):
        row[j] *= scale
        sweep.pivot[j] -= row[j] * row[j]
        sweep.lead[j] -= row[j] * value


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
    """ω of the term in row q, into ``direction``; returns ζ.

    Mutates: sweep.unit, sweep.direction. Allocates: nothing.
    """
    find_unit(sweep, n, q)
    direction, zeta = sweep.direction, 0.0
    for j in range(direction.shape[0]):
        direction[j] = 0.0
    for i in range(q, n):
        share, row = sweep.unit[i], sweep.reach[i]
        zeta += share * sweep.projection[i]
        for j in range(direction.shape[0]):
            direction[j] += share * row[j]
    return zeta


@kernel()
def weigh_all(
    pool: Pool, sweep: Sweep, prior: PriorTable, n_counted: int, q: int, zeta: float
) -> tuple[float, float]:
    """Odds of all candidates with the term of row q taken out (-1: none), in units of e^largest.

    `n_counted` terms are left, the constant not counted; ``direction`` and `zeta` are of row q.
    Returns `largest`, and the sum of ``weight``.

    Mutates: sweep.weight. Allocates: nothing.
    """
    log_rate, largest = math.log(term_rate(prior, n_counted)), -math.inf
    pivot, lead, direction, weight = sweep.pivot, sweep.lead, sweep.direction, sweep.weight
    is_without = q >= 0
    for j in range(weight.shape[0]):
        s, r = pivot[j], lead[j]
        if is_without:
            s += direction[j] * direction[j]
            r += direction[j] * zeta
        is_open = (pool.row[j] < 0 or pool.row[j] == q) and s > CLEAR
        weight[j] = sweep.offset[j] + 0.5 * r * r / s if is_open else -math.inf
        if pool.degree[j] > 0:
            weight[j] += log_rate
        largest = max(largest, weight[j])
    total = 0.0
    for j in range(weight.shape[0]):
        if weight[j] - largest > NEGLIGIBLE:
            s = pivot[j] + (direction[j] * direction[j] if is_without else 0.0)
            weight[j] = math.exp(weight[j] - largest) / math.sqrt(s)
            total += weight[j]
        else:
            weight[j] = 0.0
    return largest, total


@kernel()
def drop_row(pool: Pool, sweep: Sweep, n: int, q: int, zeta: float) -> None:
    """Take the term of row q out, whose ω and ζ are known; n rows become n - 1.

    Mutates: pool.row, sweep. Allocates: nothing.
    """
    for j in range(sweep.pivot.shape[0]):
        omega = sweep.direction[j]
        sweep.pivot[j] += omega * omega
        sweep.lead[j] += omega * zeta
    if sweep.candidate[q] >= 0:
        pool.row[sweep.candidate[q]] = -1
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
        rotate(sweep.reach[i], sweep.reach[i + 1], cosine, sine, 0, sweep.pivot.shape[0])
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
    """Let candidate j join the n terms, if all terms are clear of each other then.

    Its place in the chain is for the caller to enter.

    Mutates: pool.row, sweep, table, work. Allocates: nothing.
    """
    square, lead = 1.0, sweep.lead[j]
    for i in range(n):
        sweep.factor[i, n] = sweep.reach[i, j]
        square -= sweep.reach[i, j] * sweep.reach[i, j]
    if not square > CLEAR:
        return False
    root = math.sqrt(square)
    sweep.factor[n, n] = root
    if not is_clear(sweep, n + 1):
        return False
    sweep.projection[n] = lead / root
    sweep.candidate[n], pool.row[j] = j, n
    complete_row(pool, table, data, pool.slot[j], work)
    add_reach(pool, sweep, table, pool.slot[j], sweep.shrink[j], n)
    return True
