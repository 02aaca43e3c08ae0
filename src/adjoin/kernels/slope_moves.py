r"""Informed moves of the free-run sampler: births, deaths and exchanges by the odds of slopes.

With the odds :math:`o_j(B)` of ``slope_odds``, their sum :math:`Σ(B)` over the candidates that are
not in B, and m(T) terms of T among the candidates,

.. math::
    \text{birth} \quad T \to T ∪ j: \frac{o_j(T)}{Σ(T)}, \qquad
    \text{death} \quad T \to T ∖ i: \frac{1}{m(T)}, \qquad
    \text{exchange} \quad T \to T ∖ i ∪ j: \frac{1}{m(T)} \frac{o_j(T ∖ i)}{Σ(T ∖ i)}

A birth and a death undo each other and are tried equally often; an exchange undoes itself, from the
same base, and Σ cancels. Odds are functions of structures, so that these are proposals like any
other: ``decisions`` weighs them exactly, whatever first order has overlooked.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.decisions import Offer, decide, weigh_side
from adjoin.kernels.draw import draw_categorical, draw_index
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.laplace import Proposals
from adjoin.kernels.layouts import Regression
from adjoin.kernels.prior import prior_odds
from adjoin.kernels.run_rungs import FreeRunLadder
from adjoin.kernels.rungs import rung
from adjoin.kernels.slope_odds import (
    Informed,
    count_editable,
    find_candidate,
    log_odds_of,
    weigh_base,
)
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    BIRTH,
    DEATH,
    POSSIBLE,
    PROPOSED,
    REMOVE,
    Chain,
    Rules,
)
from adjoin.kernels.tables import FitWork

N_KINDS = 3  # exchange, birth, death: their codes are the first


class Desk(NamedTuple):
    """What a chain works with, beside its rungs: modes and their table, and candidates."""

    fitting: FitWork
    informed: Informed


@kernel()
def count_candidates(chain: Chain, n_fixed: int, informed: Informed) -> int:
    """m(T): how many editable terms are among the candidates.

    Mutates: nothing. Allocates: nothing.
    """
    n = 0
    for i in range(n_fixed, chain.n_terms[0]):
        n += 1 if find_candidate(informed.pool, chain.key[i]) >= 0 else 0
    return n


@kernel()
def nth_candidate(chain: Chain, n_fixed: int, informed: Informed, number: int) -> int:
    """Where in the structure the term of that number among its candidates is.

    Mutates: nothing. Allocates: nothing.
    """
    for i in range(n_fixed, chain.n_terms[0]):
        if find_candidate(informed.pool, chain.key[i]) >= 0:
            if number == 0:
                return i
            number -= 1
    return -1


@kernel()
def add_candidate(chain: Chain, j: int, informed: Informed, fitting: FitWork) -> None:
    """Append candidate j to a structure.

    Mutates: chain, fitting.work. Allocates: nothing.
    """
    pool, work, degree = informed.pool, fitting.work, informed.pool.degree[j]
    for a in range(degree):
        work.atom[a] = pool.atom[j, a]
    apply_edit(chain, APPEND, chain.n_terms[0], degree, pool.key[j], work)


@kernel()
def log_prior_odds(j: int, base: Chain, rules: Rules, informed: Informed) -> float:
    """Log p(B ∪ j) / p(B) of candidate j.

    Mutates: nothing. Allocates: nothing.
    """
    pool, n_counted = informed.pool, count_editable(base, rules.moves.n_fixed)
    return math.log(prior_odds(rules.prior, pool.atom[j], pool.degree[j], n_counted))


@kernel()
def is_hopeless(
    c: int,
    log_bound: float,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
) -> bool:
    """Whether the first stage refuses what is proposed even if the log ratio is at its bound.

    Odds of a death are those of its birth, and never above 1: most need not be worked out.

    Mutates: fitting. Allocates: nothing.
    """
    for side in range(2):
        _, log_evidence, _ = weigh_side(c, side, rules, how, data, ladder, fitting)
        log_bound += log_evidence if side == 1 else -log_evidence
    return not log_bound > 0.0


@kernel()
def move_informed(
    rng: np.random.Generator,
    c: int,
    kind: int,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    desk: Desk,
) -> int:
    """Propose one informed move of a rung and decide on it; how far it got, as `decide` has it.

    Draws two uniforms, the term that leaves, if one does, the one that joins, if one does, and what
    `decide` draws.

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    fitting, informed = desk
    current, proposed, base = rung(ladder.state, c), ladder.proposed, informed.base
    n_fixed, log_ratio, left, joined = rules.moves.n_fixed, 0.0, -1, -1
    log_first, log_second = math.log(1.0 - rng.random()), math.log(1.0 - rng.random())
    n_own = count_candidates(current, n_fixed, informed)
    copy_state(current, base)
    if kind != BIRTH:
        if n_own == 0:
            return PROPOSED
        index = nth_candidate(current, n_fixed, informed, draw_index(rng, n_own))
        left = find_candidate(informed.pool, current.key[index])
        apply_edit(base, REMOVE, index, 0, 0, fitting.work)
        log_ratio -= log_prior_odds(left, base, rules, informed)
    elif current.n_terms[0] == current.key.shape[0]:
        return PROPOSED
    copy_state(base, proposed)
    if kind == DEATH:
        log_ratio += math.log(n_own)
        log_bound = log_ratio - log_first
        if is_hopeless(c, log_bound, rules, how, data, ladder, fitting):
            return PROPOSED
    slot = weigh_base(rules, how, data, ladder, fitting, informed)
    log_sum = log_odds_of(slot, rules, how, data, informed)
    if log_sum == -math.inf:
        return PROPOSED
    if kind != DEATH:
        joined = draw_categorical(rng, informed.cumulative)
        if joined == left:
            return PROPOSED
        add_candidate(proposed, joined, informed, fitting)
        log_ratio += log_prior_odds(joined, base, rules, informed) - informed.log_odds[joined]
    if kind == BIRTH:
        log_ratio += log_sum - math.log(n_own + 1)
    else:
        log_ratio += informed.log_odds[left]
    if kind == DEATH:
        log_ratio -= log_sum
    if log_ratio == -math.inf:
        return PROPOSED
    offer = Offer(False, False, log_ratio, log_first, log_second)
    return decide(rng, c, offer, rules, how, data, ladder, fitting)


@kernel()
def sweep_informed(
    rng: np.random.Generator,
    c: int,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    desk: Desk,
) -> bool:
    """Some informed moves of a rung; whether its terms changed.

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    is_changed, informed = False, desk.informed
    for _ in range(informed.n_moves):
        kind = draw_index(rng, N_KINDS)
        stage = move_informed(rng, c, kind, rules, how, data, ladder, desk)
        is_changed = is_changed or stage == ACCEPTED
        if c == 0:
            informed.counter[kind, PROPOSED] += 1
            informed.counter[kind, POSSIBLE] += 1 if stage != PROPOSED else 0
            informed.counter[kind, ACCEPTED] += 1 if stage == ACCEPTED else 0
    return is_changed
