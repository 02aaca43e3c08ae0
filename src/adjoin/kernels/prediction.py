"""The one-step-ahead sampler: the loop of a chain.

A sample is a decision on a structure, by its evidence with the coefficients integrated out; then
the coefficients from their full conditional, by the factor that the decision needed; then the
variances. Receives what ``kernels/evidence.py`` makes of the data; leaves a trace.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.candidates import Informed
from adjoin.kernels.draw import draw_categorical, draw_inverse_gamma
from adjoin.kernels.edits import apply_edit
from adjoin.kernels.evidence import (
    copy_fit,
    draw_coefficients,
    evaluate_clearly,
    evaluate_doubled,
    evaluate_present,
    gather_fit,
    keep_factor,
    log_likelihood,
    squared_error_clearly,
    squared_error_doubled,
)
from adjoin.kernels.flips import try_flips
from adjoin.kernels.informed import average_inclusion, follow_state, sweep_candidates
from adjoin.kernels.layouts import Regression
from adjoin.kernels.moves import propose
from adjoin.kernels.powers import PowerLadder, at_power, exchange_powers
from adjoin.kernels.products import place_term, take_slot
from adjoin.kernels.rungs import rung
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
    Rules,
    Target,
    Trace,
)
from adjoin.kernels.tables import Desk, ProductTable, Work
from adjoin.kernels.terms import term_key
from adjoin.kernels.tracing import has_room, write_draw


@kernel(forceinline=True)
def step_structure(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    table: ProductTable,
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
    n, key = chain.n_terms[0], 0
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
        table.used[slot] = chain.n_drawn[0]
        if not math.isfinite(table.norm[slot]):
            trace.trouble[SINGULAR] += 1
            return log_evidence, False
        copy_fit(work.current, work.proposed, n, -1)
        place_term(table, data, slot, work.proposed, index, n, work)
        n_after = n + 1 if edit == APPEND else n
    noise, coefficient = chain.noise[0], chain.coefficient[0]
    power, fit = rules.target.power, work.proposed
    proposed = evaluate_clearly(fit, n_after, noise, coefficient, power, data.target_norm)
    if math.isnan(proposed):
        proposed = evaluate_doubled(fit, n_after, noise, coefficient, power, data, table, work)
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


@kernel(forceinline=True)
def step_variances(
    rng: np.random.Generator,
    chain: Chain,
    target: Target,
    data: Regression,
    table: ProductTable,
    work: Work,
    trouble: Int1D,
    error: float,
) -> float:
    r"""Draw σ² and, if it has a prior, σ_θ²; the log evidence under them.

    .. math::
        σ² \sim IG(α + \tfrac{w n}{2}, β + \tfrac{w}{2}‖y - Φθ‖²), \qquad
        σ_θ² \sim IG(a + \tfrac{m}{2}, b + \tfrac12‖θ‖²)

    of the m coefficients that are not pinned.
    A draw under which the structure cannot be factorised is refused: the old one stays. That is a
    Metropolis step for the posterior restricted to what can be factorised.

    Mutates: rng, chain.noise, chain.coefficient, table, work, trouble. Allocates: nothing.
    """
    n, power, fit = chain.n_terms[0], target.power, work.current
    n_pinned = data.pinned_theta.shape[0]
    noise, coefficient = chain.noise[0], chain.coefficient[0]
    shape = target.noise_shape + 0.5 * power * data.n_rows
    chain.noise[0] = draw_inverse_gamma(rng, shape, target.noise_scale + 0.5 * power * error)
    if target.coefficient_shape > 0.0:
        square = 0.0
        for i in range(n_pinned, n):
            square += chain.theta[i] * chain.theta[i]
        shape = target.coefficient_shape + 0.5 * (n - n_pinned)
        scale = target.coefficient_scale + 0.5 * square
        chain.coefficient[0] = draw_inverse_gamma(rng, shape, scale)
    log_evidence = evaluate_clearly(
        fit, n, chain.noise[0], chain.coefficient[0], power, data.target_norm
    )
    if math.isnan(log_evidence):
        log_evidence = evaluate_present(chain, power, data, table, work)
    if math.isnan(log_evidence):
        trouble[SINGULAR_NOISE] += 1
        chain.noise[0], chain.coefficient[0] = noise, coefficient
        log_evidence = evaluate_present(chain, power, data, table, work)
    return log_evidence


@kernel(forceinline=True)
def draw_sample(
    rng: np.random.Generator,
    chain: Chain,
    rules: Rules,
    data: Regression,
    desk: Desk,
    trace: Trace,
) -> tuple[bool, float]:
    """One sample; whether the terms changed, and the squared error.

    Mutates: rng, chain, desk, trace. Allocates: nothing.
    """
    table, work, n_pinned = desk.table, desk.work, data.pinned_theta.shape[0]
    log_evidence, is_changed = step_structure(
        rng, chain, rules, data, table, work, trace, desk.log_evidence[0]
    )
    draw_coefficients(rng, work.current, chain, chain.coefficient[0], n_pinned, work)
    error = squared_error_clearly(work.current, chain, data.target_norm, work)
    if math.isnan(error):
        error = squared_error_doubled(work.current, chain, data, table, work)
    log_evidence = step_variances(rng, chain, rules.target, data, table, work, trace.trouble, error)
    desk.log_evidence[0] = log_evidence
    return is_changed, error


@kernel()
def settle_rung(
    c: int, ladder: PowerLadder, rules: Rules, data: Regression, work: Work, informed: Informed
) -> None:
    """Enter the reference of a rung; as long as nothing counts, that of its present state.

    At first a sweep is taken as it comes. A chain that begins far off gains hundreds of nats in one
    sweep, of which a surrogate laid out where it began knows little; corrected by the exact odds,
    nearly all such sweeps would be refused.

    Mutates: ladder.reference, ladder.penalty, work, informed. Allocates: nothing.
    """
    n_drawn = ladder.state.n_drawn[c, 0]
    informed.slack[0] = math.inf if 2 * n_drawn < ladder.n_settling else 0.0
    if n_drawn < ladder.n_settling:
        follow_state(rung(ladder.state, c), rules.target, data, work, informed)
        ladder.reference[c], ladder.penalty[c] = informed.reference[0], informed.penalty[0]
    informed.reference[0], informed.penalty[0] = ladder.reference[c], ladder.penalty[c]


@kernel()
def stir_rung(
    rng: np.random.Generator,
    c: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
) -> None:
    """Flips and informed moves of one rung, whose fit and log evidence are worked out first.

    (Beside `visit_rung`, which is called for every sample and must be inlined: a call that passes a
    desk, by value, costs several samples.)

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    chain, power = rung(ladder.state, c), ladder.power[c]
    mine, table, work, informed = at_power(rules, power), desk.table, desk.work, desk.informed
    gather_fit(chain, data, table, work)
    desk.log_evidence[0] = evaluate_present(chain, power, data, table, work)
    try_flips(rng, chain, mine, data, desk)
    if informed.pool.key.shape[0] > 0:
        settle_rung(c, ladder, mine, data, work, informed)
        desk.log_evidence[0] = sweep_candidates(
            rng, chain, mine, data, table, work, informed, desk.log_evidence[0]
        )
        if c == 0 and chain.n_drawn[0] >= ladder.n_settling:
            average_inclusion(chain, mine, data, table, work, informed)


@kernel(forceinline=True)
def visit_rung(
    rng: np.random.Generator,
    c: int,
    n_samples: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
) -> tuple[bool, float]:
    """Samples of one rung; as `draw_sample`.

    ``desk.log_evidence`` and the fit must be the rung's own; nothing is drawn where that is NaN.
    (One kernel for the coldest rung and for the others: two would take twice the time to compile.)

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    chain, mine = rung(ladder.state, c), at_power(rules, ladder.power[c])
    trace = desk.trace if c == 0 else desk.idle
    is_new, error = False, 0.0
    for _ in range(0 if math.isnan(desk.log_evidence[0]) else n_samples):
        is_changed, error = draw_sample(rng, chain, mine, data, desk, trace)
        is_new = is_new or is_changed
    return is_new, error


@kernel()
def room_needed(ladder: PowerLadder, desk: Desk, is_round: bool) -> int:
    """How many terms the next sample may add to the table, at most.

    Mutates: nothing. Allocates: nothing.
    """
    if not is_round:
        return 1
    n_rungs = ladder.power.shape[0]
    needed = desk.informed.pool.key.shape[0] + desk.flips.key.shape[0]
    needed += n_rungs * ladder.interval + 1
    for c in range(n_rungs):
        needed += ladder.state.n_terms[c, 0]
    return needed


@kernel()
def run_rounds(
    rng: np.random.Generator,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    n_samples: int,
) -> int:
    """As `run_prediction`.

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    cold, table, trace = rung(ladder.state, 0), desk.table, desk.trace
    n_rungs = ladder.power.shape[0]
    is_stirred = n_rungs > 1 or desk.informed.pool.key.shape[0] > 0 or desk.flips.key.shape[0] > 0
    n_drawn, is_new, error = 0, True, 0.0
    gather_fit(cold, data, table, desk.work)
    desk.log_evidence[0] = evaluate_present(cold, ladder.power[0], data, table, desk.work)
    if math.isnan(desk.log_evidence[0]):
        return -1
    while n_drawn < n_samples and has_room(trace, cold.key.shape[0]):
        is_round = is_stirred and cold.n_drawn[0] % ladder.interval == 0
        if table.size[0] + room_needed(ladder, desk, is_round) > table.key.shape[0]:
            break
        for c in range(n_rungs - 1 if is_round else 0, -1, -1):
            if is_round:
                if c == 0:
                    exchange_powers(rng, ladder, data, table, desk.work)
                stir_rung(rng, c, ladder, rules, data, desk)
            n_steps = ladder.interval if c > 0 else 1
            is_changed, error = visit_rung(rng, c, n_steps, ladder, rules, data, desk)
            is_new = is_new or is_changed or is_round
            ladder.state.n_drawn[c, 0] += n_steps
        n_drawn += 1
        if cold.n_drawn[0] % rules.target.thin == 0:
            log_lik = log_likelihood(data.n_rows, error, cold.noise[0])
            write_draw(cold, rules.prior, rules.moves, trace, log_lik, 0.0, is_new)
            is_new = False
    for i in range(cold.n_terms[0]):
        table.used[desk.work.current.slot[i]] = cold.n_drawn[0]
    return n_drawn


@kernel(entry=True)
def run_prediction(
    rng: np.random.Generator,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    n_samples: int,
) -> int:
    """Draw samples until `n_samples` are drawn, or the table or the trace is full.

    The chain is a value: however it is cut into calls, and whatever the table holds on entry, the
    samples are the same. Where there are other rungs, candidates or groups to flip, a round of
    ``ladder.interval`` samples begins with as many of every other rung, exchanges, flips and
    informed moves.
    Returns the number of samples drawn, or -1 if the present structure cannot be factorised.

    Mutates: rng, ladder, desk. Allocates: nothing.
    """
    return run_rounds(rng, ladder, rules, data, desk, n_samples)
