r"""The free-run sampler of the paper (Algorithm 2): rungs of a tolerance ladder, and swaps.

Rung c samples

.. math:: p_c(T, θ) \propto p(T)\, N(θ; 0, σ_θ² I)\, 1\{d(T, θ) ≤ ε_c\}

with d the distance of the free run from the measured output. Everything random of a proposal is
drawn before anything is simulated, the uniform of the decision included: a proposal that prior and
proposal densities refuse is never run, and a run ends as soon as it is beyond the tolerance.

A proposal is the paper's, or *guided*: with a constant probability the coefficients are drawn
uniformly from the ellipsoid of the proposed structure's own fit (``ellipsoids.py``),

.. math::
    \frac{p(T')\,p(θ')\,j(T' \to T)\,|E_{T'}|}{p(T)\,p(θ)\,j(T \to T')\,|E_T|}\,1\{θ ∈ E_T\}

where the reverse would have to draw the present coefficients, so these must lie in theirs.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_categorical
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.ellipsoids import draw_inside, is_inside, log_volume
from adjoin.kernels.fit_table import add_fit, fitted_theta, look_up
from adjoin.kernels.fits import fit_structure, is_usable, score_fit
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.ladders import AbcLadder, AbcRules, AbcTarget, Rungs, Walk
from adjoin.kernels.layouts import Regression
from adjoin.kernels.moves import propose
from adjoin.kernels.prior import log_coefficients, log_normal
from adjoin.kernels.rungs import exchange, first_of_pairs, rung
from adjoin.kernels.state import (
    ACCEPTED,
    ANNEAL,
    APPEND,
    COMPLETE,
    CROWDED,
    DESCEND,
    FITS,
    IMPOSSIBLE,
    IMPOSSIBLE_MOVES,
    POLISH,
    POSSIBLE,
    PROPOSALS,
    PROPOSE,
    PROPOSED,
    RECORD,
    REFUSED_BY_RATIO,
    REFUSED_UNGUIDED,
    REMOVE,
    SIMULATIONS,
    STAY,
    STEPS,
    Trace,
)
from adjoin.kernels.tables import FitWork
from adjoin.kernels.terms import term_key
from adjoin.kernels.tracing import has_room, write_draw

# Squared errors that differ by less are equal: a fit is not polished twice.
ROUNDING = 1e-9


@kernel()
def propose_terms(
    rng: np.random.Generator,
    c: int,
    rules: AbcRules,
    ladder: AbcLadder,
    fitting: FitWork,
    trace: Trace,
) -> bool:
    """Propose terms on one rung and, unless it is guided, their coefficients; whether it can.

    Draws the move, whether it is guided, the uniform of the decision, what the move draws, and the
    coefficients.

    Mutates: rng, ladder, fitting, trace. Allocates: nothing.
    """
    target, rungs, counters = rules.target, ladder.rungs, ladder.rungs.counters
    current, proposed, pending = rung(rungs.state, c), rung(rungs.proposed, c), rungs.pending
    move = draw_categorical(rng, rules.moves.cumulative)
    is_guided = target.guided > 0.0 and rng.random() < target.guided
    limit = ladder.tolerances.tolerance[c] * target.unit
    is_guided = is_guided and limit <= ladder.tolerances.level[0] and limit < math.inf
    pending.log_uniform[c] = math.log(1.0 - rng.random())
    pending.is_open[c], pending.move[c], pending.is_guided[c] = 0, move, 1 if is_guided else 0
    counters.move[c, move, PROPOSED] += 1
    counters.saved[PROPOSALS] += 1
    edit, index, degree, log_ratio = IMPOSSIBLE, 0, 0, 0.0
    if move != STAY:
        edit, index, degree, log_ratio = propose(
            rng, move, current, rules.prior, rules.moves, fitting.work
        )
        if edit == IMPOSSIBLE:
            counters.saved[IMPOSSIBLE_MOVES] += 1
            return False
        if edit == APPEND and index == current.key.shape[0]:
            trace.trouble[CROWDED] += 1
            return False
    counters.move[c, move, POSSIBLE] += 1
    copy_state(current, proposed)
    if move != STAY:
        key = term_key(fitting.work.atom, degree, rules.prior.weight.shape[0])
        apply_edit(proposed, edit, index, degree, key, fitting.work)
    birth = target.birth_sd * target.birth_sd
    if is_guided:
        counters.guided[c, 0] += 1
    elif move == STAY:
        for i in range(target.n_pinned, proposed.n_terms[0]):
            proposed.theta[i] += ladder.walk.width[c] * rng.standard_normal()
    else:
        if edit != APPEND:
            log_ratio += log_normal(current.theta[index], birth)
        if edit != REMOVE:
            proposed.theta[index] = target.birth_sd * rng.standard_normal()
            log_ratio -= log_normal(proposed.theta[index], birth)
    pending.log_ratio[c] = log_ratio
    return True


@kernel()
def find_fit(rungs: Rungs, c: int, side: int, fitting: FitWork) -> int:
    """The fit of a rung's present (side 0) or proposed (1) structure; negative if it is new.

    Mutates: fitting. Allocates: nothing.
    """
    if side == 0:
        return look_up(rung(rungs.state, c), fitting)
    return look_up(rung(rungs.proposed, c), fitting)


@kernel()
def enter_fit(
    fit: tuple[int, float, float], rules: AbcRules, data: Regression, fitting: FitWork
) -> int:
    """Enter what `fit_structure` has just made, with its score; its entry.

    Mutates: fitting. Allocates: nothing.
    """
    entry = add_fit(fitting, fit)
    score_fit(rules.prior, rules.moves.n_fixed, rules.target.coefficient, data, fitting, entry)
    return entry


@kernel()
def note_champion(c: int, side: int, entry: int, ladder: AbcLadder, fitting: FitWork) -> None:
    """Keep the structure looked up last if its score is the best so far.

    Mutates: ladder. Allocates: nothing.
    """
    found, champion = fitting.fits.entry, ladder.champion
    if not is_usable(found, entry, ladder.tolerances.level[0]):
        return
    if not found.score[entry] > champion.score[0]:
        return
    champion.score[0], champion.error[0] = found.score[entry], found.error[entry]
    if side == 0:
        copy_state(rung(ladder.rungs.state, c), champion.state)
    else:
        copy_state(rung(ladder.rungs.proposed, c), champion.state)
    fitted_theta(fitting, entry, champion.state.theta)


@kernel()
def guide(
    rng: np.random.Generator,
    c: int,
    side: int,
    entry: int,
    target: AbcTarget,
    data: Regression,
    ladder: AbcLadder,
    fitting: FitWork,
) -> bool:
    """One side of a guided proposal; False if it is impossible.

    The present coefficients (side 0) must lie in the ellipsoid that the reverse would draw them
    from; the proposed ones (1) are drawn from theirs. The volumes enter the ratio.

    Mutates: rng, ladder, fitting. Allocates: nothing.
    """
    found, rungs, tolerances = fitting.fits.entry, ladder.rungs, ladder.tolerances
    if not is_usable(found, entry, tolerances.level[0]):
        return False
    square = target.reach * (tolerances.tolerance[c] * target.unit - found.error[entry])
    if not square > 0.0:
        return False
    volume = log_volume(fitting.fits, data, entry, square)
    if side == 0:
        rungs.pending.log_ratio[c] -= volume
        return is_inside(fitting, entry, rung(rungs.state, c).theta, square)
    rungs.pending.log_ratio[c] += volume
    draw_inside(rng, fitting, data, entry, square, rung(rungs.proposed, c).theta)
    return True


@kernel()
def is_likely(c: int, coefficient: float, rungs: Rungs) -> bool:
    """Whether prior and proposal densities leave a rung's proposal to the distance to decide.

    Mutates: rungs. Allocates: nothing.
    """
    log_ratio = rungs.pending.log_ratio[c]
    log_ratio += log_coefficients(rung(rungs.proposed, c), coefficient)
    log_ratio -= log_coefficients(rung(rungs.state, c), coefficient)
    if not rungs.pending.log_uniform[c] < log_ratio:
        rungs.counters.saved[REFUSED_BY_RATIO] += 1
        return False
    rungs.pending.is_open[c] = 1
    return True


@kernel()
def take_optimum(c: int, entry: int, level: float, rungs: Rungs, fitting: FitWork) -> bool:
    """Propose the optimum of a rung's own structure; False if the rung is as near already.

    Mutates: rungs, fitting. Allocates: nothing.
    """
    found, pending = fitting.fits.entry, rungs.pending
    if not is_usable(found, entry, level):
        return False
    if not found.error[entry] < (1.0 - ROUNDING) * rungs.error[c]:
        return False
    proposed = rung(rungs.proposed, c)
    copy_state(rung(rungs.state, c), proposed)
    fitted_theta(fitting, entry, proposed.theta)
    pending.is_open[c], pending.move[c], pending.is_guided[c] = 1, STAY, 1
    return True


@kernel()
def simulate_rung(c: int, limit: float, data: Regression, rungs: Rungs, fitting: FitWork) -> float:
    """Squared error of the free run of a rung's proposal, infinite beyond `limit`.

    Mutates: rungs, fitting. Allocates: nothing.
    """
    proposed, saved = rung(rungs.proposed, c), rungs.counters.saved
    assemble(proposed, data, fitting.run)
    error, n_steps = free_run_error(proposed.n_terms[0], fitting.run, limit)
    saved[SIMULATIONS] += 1
    saved[STEPS] += n_steps
    if error < math.inf:
        saved[COMPLETE] += 1
    return error


@kernel()
def adapt_width(c: int, walk: Walk, aim: float, is_accepted: bool) -> None:
    r"""Change the width of a rung's random walk by what became of a step, as Robbins and Monro do.

    After the i-th step :math:`\log s` changes by :math:`(a - a^*) / (a^*(1 - a^*)(i + i_0))`, with
    a whether it was accepted and :math:`a^*` what is aimed at.

    Mutates: walk. Allocates: nothing.
    """
    walk.n_steps[c] += 1
    gain = (1.0 if is_accepted else 0.0) - aim
    gain /= aim * (1.0 - aim) * (walk.n_steps[c] + 5.0 / (aim * (1.0 - aim)))
    walk.width[c] *= math.exp(gain)


@kernel()
def decide_rung(
    c: int, distance: float, error: float, target: AbcTarget, ladder: AbcLadder, is_adapting: bool
) -> bool:
    """Take over a rung's proposal if it is open and near enough; whether its terms changed.

    While it adapts, the width of the random walk follows its own steps. (Without coefficients
    there is no step.)

    Mutates: ladder. Allocates: nothing.
    """
    rungs, tolerances, best = ladder.rungs, ladder.tolerances, ladder.best
    pending = rungs.pending
    move, is_guided = pending.move[c], pending.is_guided[c] == 1
    is_near = distance <= tolerances.tolerance[c] and distance < math.inf
    is_accepted = pending.is_open[c] == 1 and is_near
    pending.is_open[c] = 0
    if is_accepted:
        rungs.counters.move[c, move, ACCEPTED] += 1
        if is_guided:
            rungs.counters.guided[c, 1] += 1
        copy_state(rung(rungs.proposed, c), rung(rungs.state, c))
        tolerances.distance[c], rungs.error[c] = distance, error
        if distance < best.distance[0]:
            best.distance[0], best.error[0] = distance, error
            copy_state(rung(rungs.proposed, c), best.state)
    n_moved = rungs.proposed.n_terms[c, 0] - target.n_pinned
    if is_adapting and move == STAY and not is_guided and n_moved > 0:
        adapt_width(c, ladder.walk, target.acceptance, is_accepted)
    return is_accepted and move != STAY


@kernel()
def noise_proxy(target: AbcTarget, ladder: AbcLadder) -> float:
    r"""The noise variance that the coldest tolerance stands for, :math:`σ_y² ε_0/100`.

    Where the distance is not a squared error, or the tolerance is infinite, the mean square of the
    state's own errors.

    Mutates: nothing. Allocates: nothing.
    """
    coldest = ladder.tolerances.tolerance[0]
    if target.is_squared and coldest < math.inf:
        return coldest * target.unit / target.n_rows
    return ladder.rungs.error[0] / target.n_rows


@kernel()
def exchange_neighbours(n_drawn: int, interval: int, ladder: AbcLadder) -> bool:
    """Exchange neighbours where both are then within their tolerances; whether the coldest was.

    Mutates: ladder. Allocates: nothing.
    """
    tolerance, distance, is_new = ladder.tolerances.tolerance, ladder.tolerances.distance, False
    for c in range(first_of_pairs(n_drawn, interval), tolerance.shape[0] - 1, 2):
        is_made = distance[c + 1] <= tolerance[c]
        exchange(ladder.rungs, c, is_made)
        if is_made:
            distance[c], distance[c + 1] = distance[c + 1], distance[c]
            is_new = is_new or c == 0
    return is_new


@kernel()
def finish_sample(
    rules: AbcRules, ladder: AbcLadder, trace: Trace, is_recording: bool, is_new: bool
) -> bool:
    """Exchange neighbours if it is time, and record the coldest rung; whether its terms are new.

    Mutates: ladder, trace. Allocates: nothing.
    """
    target, tolerances, cold = rules.target, ladder.tolerances, rung(ladder.rungs.state, 0)
    cold.n_drawn[0] += 1
    n_drawn = cold.n_drawn[0]
    if n_drawn % target.swap_interval == 0:
        is_new = exchange_neighbours(n_drawn, target.swap_interval, ladder) or is_new
    if not is_recording:
        tolerances.cold[tolerances.n_cold[0]] = tolerances.distance[0]
        tolerances.n_cold[0] += 1
    elif n_drawn % target.thin == 0:
        cold.noise[0] = noise_proxy(target, ladder)
        write_draw(cold, rules.prior, rules.moves, trace, 0.0, tolerances.distance[0], is_new)
        is_new = False
    return is_new


@kernel(entry=True)
def run_abc(
    rng: np.random.Generator,
    rules: AbcRules,
    data: Regression,
    ladder: AbcLadder,
    fitting: FitWork,
    trace: Trace,
    mode: int,
    n_samples: int,
) -> int:
    """Draw samples of all rungs until `n_samples` are drawn or the trace is full; how many.

    `mode` says what is done with them, from `RECORD` to `PROPOSE`; see the codes in ``state``.
    (One entry for all, because each one that can propose takes its own time to compile.)

    Mutates: rng, ladder, fitting, trace. Allocates: nothing.
    """
    # Taken out of the loop, where a tuple of arrays would be counted in and out again and again.
    target, rungs, n_drawn, is_new = rules.target, ladder.rungs, 0, True
    tolerance, distance = ladder.tolerances.tolerance, ladder.tolerances.distance
    is_guided, saved, level = rungs.pending.is_guided, rungs.counters.saved, ladder.tolerances.level
    error, series, predicted = ladder.runs.error, ladder.runs.series, fitting.run.data.predicted
    is_polish, capacity = mode == POLISH, ladder.best.state.key.shape[0]
    while n_drawn < n_samples and has_room(trace, capacity):
        for c in range(tolerance.shape[0]):
            if mode in (DESCEND, POLISH):
                tolerance[c] = distance[c]
            is_open, error[c] = True, math.inf
            if not is_polish:
                is_open = propose_terms(rng, c, rules, ladder, fitting, trace)
            if is_open and (is_polish or is_guided[c] == 1):
                for side in range(1 if is_polish else 2):
                    entry = find_fit(rungs, c, side, fitting)
                    saved[FITS] += 1
                    if entry < 0:
                        fit = fit_structure(data, fitting, target.coefficient, level[0])
                        entry = enter_fit(fit, rules, data, fitting)
                    note_champion(c, side, entry, ladder, fitting)
                    if is_polish:
                        is_open = take_optimum(c, entry, level[0], rungs, fitting)
                    else:
                        is_open = guide(rng, c, side, entry, target, data, ladder, fitting)
                        saved[REFUSED_UNGUIDED] += 0 if is_open else 1
                    if not is_open:
                        break
            if is_open and (is_polish or is_likely(c, target.coefficient, rungs)):
                limit = math.inf if mode == PROPOSE else tolerance[c] * target.unit
                error[c] = simulate_rung(c, limit, data, rungs, fitting)
                if mode == PROPOSE:
                    for k in range(series.shape[1]):
                        series[c, k] = predicted[k]
            if mode != PROPOSE:
                found, is_adapting = error[c] / target.unit, mode in (ANNEAL, DESCEND)
                is_changed = decide_rung(c, found, error[c], target, ladder, is_adapting)
                is_new = is_new or (c == 0 and is_changed)
        n_drawn += 1
        if mode in (RECORD, ANNEAL):
            is_new = finish_sample(rules, ladder, trace, mode == RECORD, is_new)
    return n_drawn


@kernel(entry=True)
def decide_all(
    rules: AbcRules, ladder: AbcLadder, trace: Trace, distance: Float1D, mode: int
) -> None:
    """Decide on all proposals by their distances, and finish the sample as `mode` says.

    Mutates: ladder, trace. Allocates: nothing.
    """
    tolerances = ladder.tolerances
    for c in range(distance.shape[0]):
        decide_rung(c, distance[c], ladder.runs.error[c], rules.target, ladder, mode != RECORD)
        if mode == DESCEND:
            tolerances.tolerance[c] = tolerances.distance[c]
    if mode in (RECORD, ANNEAL):
        finish_sample(rules, ladder, trace, mode == RECORD, True)
