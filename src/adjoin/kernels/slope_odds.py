r"""How likely each term of a pool is to join a structure, to first order, by the slopes of its run.

Of a structure B (a *base*) at its mode, with squared error S there and γ as in ``modes``, adding
term j gives, by ``gains``, a gain :math:`g_j` and a slope with :math:`a_j` of its own, so that its
evidence is about

.. math::
    \log o_j(B) = \log\frac{p(B ∪ j)}{p(B)} + A \log\frac{B(S)}{B(S - g_j')} - \tfrac12 \log v_j,
    \qquad v_j = 1 + σ_θ² γ a_j, \quad g_j' = g_j (1 - 1/v_j)

times that of B. Gains and slopes are kept for the bases that were weighed last: they are functions
of the base (its mode, the data), so that it does not matter which ones are. Where all rows would
take too long, they are those of windows of the record, counted for all.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import judge_run
from adjoin.kernels.decisions import find_entry_of
from adjoin.kernels.fit_table import fitted_theta, sort_terms
from adjoin.kernels.free_run import assemble
from adjoin.kernels.gains import Batch, Candidates, Leftover, leave_over, weigh_candidates
from adjoin.kernels.laplace import Proposals
from adjoin.kernels.layouts import Regression
from adjoin.kernels.modes import log_fit, precision
from adjoin.kernels.prior import prior_odds
from adjoin.kernels.run_rungs import FreeRunLadder
from adjoin.kernels.state import Chain, Rules
from adjoin.kernels.tables import FitWork

# Of the squared error, what a term leaves at least: to first order it may leave less than nothing.
LEAST_LEFT = 0.05


class Candidacy(NamedTuple):
    """The terms that informed moves choose from, in the order of ``pool.list_alphabet``.

    ``atom`` : (n, max_degree), ``degree`` : (n,), ``key`` : (n,).
    ``sorted_key``, ``place`` : (n,) the keys in ascending order, and where each is above.
    """

    atom: Int2D
    degree: Int1D
    key: Int1D
    sorted_key: Int1D
    place: Int1D


class Bases(NamedTuple):
    """What was found of the bases that were weighed last.

    ``key`` : (n_slots, capacity) their keys, ascending; ``n_terms`` : (n_slots,), -1 for none.
    ``error`` : (n_slots,) S, infinite where no run stays. ``gain``, ``across`` : (n_slots, n) of
    all candidates. ``next`` : (1,) the slot that is written next.
    """

    key: Int2D
    n_terms: Int1D
    error: Float1D
    gain: Float2D
    across: Float2D
    next: Int1D


class Informed(NamedTuple):
    """What informed moves work with.

    ``pool``, ``bases`` : see there. ``base`` : one state. ``leftover``, ``batch`` : see ``gains``.
    ``share`` : by how much what is found on the rows that are looked at counts for all.
    ``log_odds``, ``cumulative`` : (n,) of the base that was asked for last.
    ``counter`` : (N_INFORMED, 3) moves of the coldest rung. ``n_moves`` : of a rung in a sweep.
    """

    pool: Candidacy
    bases: Bases
    base: Chain
    leftover: Leftover
    batch: Batch
    share: float
    log_odds: Float1D
    cumulative: Float1D
    counter: Int2D
    n_moves: int


@kernel()
def find_candidate(pool: Candidacy, key: int) -> int:
    """Where a term is among the candidates; -1 if it is none.

    Mutates: nothing. Allocates: nothing.
    """
    low, high = 0, pool.sorted_key.shape[0]
    while low < high:
        middle = (low + high) // 2
        if pool.sorted_key[middle] < key:
            low = middle + 1
        else:
            high = middle
    if low < pool.sorted_key.shape[0] and pool.sorted_key[low] == key:
        return pool.place[low]
    return -1


@kernel()
def find_slot(bases: Bases, fitting: FitWork, n: int) -> int:
    """The slot of the n keys that were sorted last; -1 if there is none.

    Mutates: nothing. Allocates: nothing.
    """
    for slot in range(bases.n_terms.shape[0]):
        is_same = bases.n_terms[slot] == n
        for i in range(n if is_same else 0):
            if bases.key[slot, i] != fitting.sorted[i]:
                is_same = False
                break
        if is_same:
            return slot
    return -1


@kernel()
def weigh_base(
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
    informed: Informed,
) -> int:
    """The slot of the structure in ``informed.base``, weighed now if it is new.

    Mutates: fitting, informed. Allocates: nothing.
    """
    base, bases, run = informed.base, informed.bases, fitting.run
    n = base.n_terms[0]
    sort_terms(base, fitting)
    slot = find_slot(bases, fitting, n)
    if slot >= 0:
        return slot
    slot = bases.next[0]
    bases.next[0] = (slot + 1) % bases.n_terms.shape[0]
    bases.n_terms[slot] = n
    for i in range(n):
        bases.key[slot, i] = fitting.sorted[i]
    entry = find_entry_of(base, rules, how, data, ladder, fitting)
    fitted_theta(fitting, entry, base.theta)
    assemble(base, data, run)
    bases.error[slot] = judge_run(n, fitting, math.inf)
    if bases.error[slot] < math.inf:
        pool, gain, across = informed.pool, bases.gain[slot], bases.across[slot]
        leave_over(True, base, run, data, fitting.linear, informed.leftover)
        candidates = Candidates(pool.atom, pool.degree, gain, across)
        leftover, batch = informed.leftover, informed.batch
        weigh_candidates(candidates, run, data, fitting.linear, leftover, batch)
    return slot


@kernel()
def count_editable(chain: Chain, n_fixed: int) -> int:
    """How many terms count for the prior of the next one: not the fixed, not the constant.

    Mutates: nothing. Allocates: nothing.
    """
    n = 0
    for i in range(n_fixed, chain.n_terms[0]):
        n += 1 if chain.degree[i] > 0 else 0
    return n


@kernel()
def log_odds_of(
    slot: int, rules: Rules, how: Proposals, data: Regression, informed: Informed
) -> float:
    """Fill log o and its running sum for a slot, whose base lies in ``informed.base``.

    Returns the log of their sum; -inf where there is nothing to add.

    Mutates: informed. Allocates: nothing.
    """
    pool, bases, base, target = informed.pool, informed.bases, informed.base, rules.target
    log_odds, cumulative, largest = informed.log_odds, informed.cumulative, -math.inf
    error, n = bases.error[slot], pool.key.shape[0]
    if error == math.inf:
        return -math.inf
    weight, log_present = precision(target, data.n_rows, error), log_fit(target, data.n_rows, error)
    n_counted = count_editable(base, rules.moves.n_fixed)
    for j in range(n):
        log_odds[j] = -math.inf
        across = informed.share * bases.across[slot, j]
        if across > 0.0:
            volume = 1.0 + how.coefficient * weight * across
            left = error - informed.share * bases.gain[slot, j] * (1.0 - 1.0 / volume)
            gain = log_fit(target, data.n_rows, max(left, LEAST_LEFT * error)) - log_present
            odds = prior_odds(rules.prior, pool.atom[j], pool.degree[j], n_counted)
            log_odds[j] = math.log(odds) + gain - 0.5 * math.log(volume)
    for i in range(base.n_terms[0]):
        place = find_candidate(pool, base.key[i])
        if place >= 0:
            log_odds[place] = -math.inf
    for j in range(n):
        largest = max(largest, log_odds[j])
    if largest == -math.inf:
        return -math.inf
    total = 0.0
    for j in range(n):
        total += math.exp(log_odds[j] - largest)
        cumulative[j] = total
    return largest + math.log(total)
