r"""Informed moves: exchange, birth and death over a pool of candidates whose odds are all known.

With :math:`o_j(T)` of ``odds``, the pool P, and m the number of terms of T that are in P and not
fixed, at given σ² and σ_θ²:

- **exchange**: one of the m terms, each equally likely, is taken out, and j takes its place with
  probability :math:`o_j(T∖i) / \sum_{P∖T ∪ i} o_k(T∖i)`. The reverse has the same sum, and
  :math:`π(T∖i ∪ j) ∝ o_j(T∖i)`: a Gibbs step, always accepted.
- **birth**: j joins with probability :math:`o_j(T)/S(T)`, :math:`S(T) = \sum_{P∖T} o_k(T)`.
  Reverse: a death that picks j, :math:`1/(m+1)`. Target: :math:`o_j(T)`. Together

  .. math:: \frac{o_j(T) / (m+1)}{o_j(T)/S(T)} = \frac{S(T)}{m+1}

  whatever j is, so that it is decided before j is drawn.
- **death**: one of the m terms goes; the reverse of a birth, :math:`m / S(T∖i)`.

Births and deaths are tried equally often. No Jacobian: coefficients are integrated out. A change
that would leave the clear structures (see ``odds``) is refused, there and back alike.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.candidates import Informed, Pool, Sweep
from adjoin.kernels.draw import draw_index
from adjoin.kernels.edits import apply_edit
from adjoin.kernels.evidence import evaluate_present, gather_fit, is_sharp
from adjoin.kernels.layouts import Regression
from adjoin.kernels.moves import count_terms
from adjoin.kernels.odds import (
    CLEAR,
    NEGLIGIBLE,
    add_row,
    begin_sweep,
    drop_row,
    find_unit,
    is_clear,
    look_without,
    weigh_all,
)
from adjoin.kernels.prior import term_rate
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    BIRTH,
    DEATH,
    EXCHANGE,
    POSSIBLE,
    PROPOSED,
    REMOVE,
    REPLACE,
    Chain,
    PriorTable,
    Rules,
)
from adjoin.kernels.tables import ProductTable, Work

EXCHANGES = 0.5  # of informed moves; births and deaths share the rest


@kernel()
def count_members(sweep: Sweep, n: int) -> int:
    """How many of the n terms are candidates.

    Mutates: nothing. Allocates: nothing.
    """
    count = 0
    for i in range(n):
        count += 1 if sweep.candidate[i] >= 0 else 0
    return count


@kernel()
def pick_member(rng: np.random.Generator, sweep: Sweep, n: int, n_members: int) -> int:
    """The row of one of the candidates that are in, each equally likely.

    Mutates: rng (one uniform). Allocates: nothing.
    """
    remaining = draw_index(rng, n_members)
    for i in range(n):
        if sweep.candidate[i] >= 0:
            if remaining == 0:
                return i
            remaining -= 1
    return -1


@kernel()
def draw_candidate(rng: np.random.Generator, sweep: Sweep, total: float) -> int:
    """One of the pool, by ``weight``, which sums to `total`.

    Mutates: rng (one uniform). Allocates: nothing.
    """
    value, last = rng.random() * total, -1
    for j in range(sweep.weight.shape[0]):
        if sweep.weight[j] > 0.0:
            last = j
            value -= sweep.weight[j]
            if value < 0.0:
                return j
    return last  # rounding left the sum a hair short of the total


@kernel()
def count_without(chain: Chain, pool: Pool, n_fixed: int, j: int) -> int:
    """How many editable terms count as terms once candidate j is out; -1: none goes.

    Mutates: nothing. Allocates: nothing.
    """
    n_counted = count_terms(chain, n_fixed, 1, chain.atom.shape[1])
    return n_counted - (1 if j >= 0 and pool.degree[j] > 0 else 0)


@kernel()
def write_candidate(chain: Chain, pool: Pool, edit: int, place: int, j: int, work: Work) -> None:
    """Put candidate j into the chain's list of terms.

    Mutates: chain, work. Allocates: nothing.
    """
    for i in range(pool.degree[j]):
        work.atom[i] = pool.atom[j, i]
    apply_edit(chain, edit, place, pool.degree[j], pool.key[j], work)


@kernel()
def try_exchange(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> bool:
    """One exchange; whether the structure changed.

    Mutates: rng, chain, table, work, informed. Allocates: nothing.
    """
    pool, sweep, n = informed.pool, informed.sweep, chain.n_terms[0]
    n_members = count_members(sweep, n)
    if n_members == 0:
        return False
    informed.counter[EXCHANGE, POSSIBLE] += 1
    q = pick_member(rng, sweep, n, n_members)
    old, place = sweep.candidate[q], sweep.place[q]
    zeta = look_without(sweep, n, q)
    n_counted = count_without(chain, pool, rules.moves.n_fixed, old)
    _, total = weigh_all(pool, sweep, rules.prior, n_counted, q, zeta)
    new = draw_candidate(rng, sweep, total)
    if new == old:
        return False
    drop_row(pool, sweep, n, q, zeta)
    is_changed = add_row(pool, sweep, table, data, n - 1, new, work)
    if is_changed:
        informed.counter[EXCHANGE, ACCEPTED] += 1
        write_candidate(chain, pool, REPLACE, place, new, work)
    else:  # not clear: back to where it was
        add_row(pool, sweep, table, data, n - 1, old, work)
    sweep.place[n - 1] = place
    return is_changed


@kernel()
def try_birth(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
) -> bool:
    """One birth; whether the structure changed.

    Mutates: rng, chain, table, work, informed. Allocates: nothing.
    """
    pool, sweep, n = informed.pool, informed.sweep, chain.n_terms[0]
    if n == chain.key.shape[0]:
        return False
    n_counted = count_without(chain, pool, rules.moves.n_fixed, -1)
    largest, total = weigh_all(pool, sweep, rules.prior, n_counted, -1, 0.0)
    if not total > 0.0:
        return False
    informed.counter[BIRTH, POSSIBLE] += 1
    log_odds = largest + math.log(total) - math.log(count_members(sweep, n) + 1.0)
    if not math.log(1.0 - rng.random()) < log_odds:
        return False
    new = draw_candidate(rng, sweep, total)
    if not add_row(pool, sweep, table, data, n, new, work):
        return False
    informed.counter[BIRTH, ACCEPTED] += 1
    write_candidate(chain, pool, APPEND, n, new, work)
    sweep.place[n] = n
    return True


@kernel()
def try_death(
    rng: np.random.Generator, chain: Chain, rules: Rules, work: Work, informed: Informed
) -> bool:
    """One death; whether the structure changed.

    Mutates: rng, chain, work, informed. Allocates: nothing.
    """
    pool, sweep, n = informed.pool, informed.sweep, chain.n_terms[0]
    n_members = count_members(sweep, n)
    if n_members == 0:
        return False
    informed.counter[DEATH, POSSIBLE] += 1
    q = pick_member(rng, sweep, n, n_members)
    zeta = look_without(sweep, n, q)
    n_counted = count_without(chain, pool, rules.moves.n_fixed, sweep.candidate[q])
    largest, total = weigh_all(pool, sweep, rules.prior, n_counted, q, zeta)
    log_odds = math.log(n_members) - largest - math.log(total)
    if not math.log(1.0 - rng.random()) < log_odds:
        return False
    informed.counter[DEATH, ACCEPTED] += 1
    place = sweep.place[q]
    drop_row(pool, sweep, n, q, zeta)
    apply_edit(chain, REMOVE, place, 0, 0, work)
    for i in range(n - 1):
        if sweep.place[i] == n - 1:  # the last term has taken the place that was left
            sweep.place[i] = place
    return True


@kernel()
def log_odds_of_all(chain: Chain, prior: PriorTable, n_fixed: int, informed: Informed) -> None:
    r"""The log odds of every candidate's being in, given all others, into ``weight``.

    That is :math:`\log o_j(T∖j)`. Of the terms that are in, s is 1/(C⁻¹)_qq without themselves, and
    r²/s the square of ζ.

    Mutates: informed.sweep. Allocates: nothing.
    """
    pool, sweep, n = informed.pool, informed.sweep, chain.n_terms[0]
    n_counted = count_terms(chain, n_fixed, 1, chain.atom.shape[1])
    log_rate = math.log(term_rate(prior, n_counted))
    log_rate_within = math.log(term_rate(prior, max(n_counted - 1, 0)))
    for j in range(pool.key.shape[0]):
        sweep.weight[j] = -math.inf
        if pool.row[j] < 0 and sweep.pivot[j] > CLEAR:
            value = sweep.offset[j] + 0.5 * sweep.lead[j] * sweep.lead[j] / sweep.pivot[j]
            value += log_rate if pool.degree[j] > 0 else 0.0
            sweep.weight[j] = value - 0.5 * math.log(sweep.pivot[j])
    for q in range(n):
        j = sweep.candidate[q]
        if j >= 0:
            alone, zeta = find_unit(sweep, n, q), 0.0
            for i in range(q, n):
                zeta += sweep.unit[i] * sweep.projection[i]
            value = sweep.offset[j] + 0.5 * zeta * zeta - 0.5 * math.log(alone)
            sweep.weight[j] = value + (log_rate_within if pool.degree[j] > 0 else 0.0)


@kernel()
def average_inclusion(chain: Chain, prior: PriorTable, n_fixed: int, informed: Informed) -> None:
    r"""Every candidate's probability of being in, given the others, into ``weight`` and ``use``.

    .. math:: \frac{o_j(T∖j)}{1 + o_j(T∖j)}

    Its average over the chain is the posterior inclusion (Rao and Blackwell).

    Mutates: informed. Allocates: nothing.
    """
    log_odds_of_all(chain, prior, n_fixed, informed)
    weight = informed.sweep.weight
    for j in range(weight.shape[0]):
        weight[j] = 1.0 / (1.0 + math.exp(-weight[j])) if weight[j] > NEGLIGIBLE else 0.0
        informed.use[j] += weight[j]


@kernel()
def sweep_candidates(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
    work: Work,
    informed: Informed,
    is_cold: bool,
) -> bool:
    """A sweep of informed moves at given variances; whether the structure may have changed.

    The fit and the factor in `work.current` must be of the present state; they are again, if it
    returns False. Where the noise is sharp or the structure is not clear, it does nothing.

    Mutates: rng, chain, table, work, informed. Allocates: nothing.
    """
    pool, power = informed.pool, rules.target.power
    is_done = not is_sharp(chain.noise[0], power, data.target_norm)
    if is_done:
        begin_sweep(chain, power, data, table, work, informed)
        is_done = is_clear(informed.sweep, chain.n_terms[0])
    if is_done:
        average_inclusion(chain, rules.prior, rules.moves.n_fixed, informed)
    informed.n_averaged[0] += 1 if is_cold else 0
    for j in range(pool.key.shape[0] if is_cold else 0):
        if is_done:
            informed.inclusion[j] += informed.sweep.weight[j]
        else:
            for i in range(chain.n_terms[0]):
                informed.inclusion[j] += 1.0 if chain.key[i] == pool.key[j] else 0.0
    is_changed = False
    for _ in range(informed.n_moves if is_done else 0):
        value = rng.random()
        if value < EXCHANGES:
            informed.counter[EXCHANGE, PROPOSED] += 1
            found = try_exchange(rng, chain, rules, data, table, work, informed)
        elif value < EXCHANGES + 0.5 * (1.0 - EXCHANGES):
            informed.counter[BIRTH, PROPOSED] += 1
            found = try_birth(rng, chain, rules, data, table, work, informed)
        else:
            informed.counter[DEATH, PROPOSED] += 1
            found = try_death(rng, chain, rules, work, informed)
        is_changed = is_changed or found
    return is_changed


@kernel()
def refresh(chain: Chain, power: float, data: Regression, table: ProductTable, work: Work) -> float:
    """Fit, factor and log evidence of the present state.

    Mutates: table, work. Allocates: nothing.
    """
    gather_fit(chain, data, table, work)
    return evaluate_present(chain, power, data, table, work)
