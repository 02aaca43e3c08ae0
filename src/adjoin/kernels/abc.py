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

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_categorical
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.ellipsoids import draw_inside, is_inside, log_volume
from adjoin.kernels.fit_table import add_fit, fitted_theta, look_up
from adjoin.kernels.fits import HOPELESS, fit_structure
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.moves import propose
from adjoin.kernels.prior import log_prior_structure
from adjoin.kernels.record import has_room, record
from adjoin.kernels.rungs import exchange, rung
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
    AbcTarget,
    Chain,
    FitWork,
    Ladder,
    MoveTable,
    PriorTable,
    Regression,
    Trace,
)
from adjoin.kernels.terms import term_key

# Squared errors that differ by less are equal: a fit is not polished twice.
ROUNDING = 1e-9


@kernel()
def log_normal(value: float, variance: float) -> float:
    """Log density of N(0, variance).

    Mutates: nothing. Allocates: nothing.
    """
    return -0.5 * (math.log(2.0 * math.pi * variance) + value * value / variance)


@kernel()
def log_coefficients(chain: Chain, variance: float) -> float:
    """Log density of all coefficients under N(0, variance).

    Mutates: nothing. Allocates: nothing.
    """
    total = 0.0
    for i in range(chain.tally[0]):
        total += log_normal(chain.theta[i], variance)
    return total


@kernel()
def propose_terms(
    rng: np.random.Generator,
    c: int,
    prior: PriorTable,
    moves: MoveTable,
    target: AbcTarget,
    ladder: Ladder,
    own: FitWork,
    trace: Trace,
) -> bool:
    """Propose terms on one rung and, unless it is guided, their coefficients; whether it can.

    Draws the move, whether it is guided, the uniform of the decision, what the move draws, and the
    coefficients.

    Mutates: rng, ladder, own, trace. Allocates: nothing.
    """
    current, proposed = rung(ladder.state, c), rung(ladder.proposed, c)
    move = draw_categorical(rng, moves.cumulative)
    is_guided = target.guided > 0.0 and rng.random() < target.guided
    limit = ladder.tolerance[c] * target.unit
    is_guided = is_guided and limit <= ladder.level[0] and limit < math.inf
    log_uniform = math.log(1.0 - rng.random())
    ladder.pending[c, 0], ladder.pending[c, 1] = 0, move
    ladder.pending[c, 2] = 1 if is_guided else 0
    ladder.move[c, move, PROPOSED] += 1
    ladder.saved[PROPOSALS] += 1
    edit, index, degree, log_ratio = IMPOSSIBLE, 0, 0, 0.0
    if move != STAY:
        edit, index, degree, log_ratio = propose(rng, move, current, prior, moves, own.work)
        if edit == IMPOSSIBLE:
            ladder.saved[IMPOSSIBLE_MOVES] += 1
            return False
        if edit == APPEND and index == current.key.shape[0]:
            trace.trouble[CROWDED] += 1
            return False
    ladder.move[c, move, POSSIBLE] += 1
    copy_state(current, proposed)
    if move != STAY:
        key = term_key(own.work.atom, degree, prior.weight.shape[0])
        apply_edit(proposed, edit, index, degree, key, own.work)
    birth = target.birth_sd * target.birth_sd
    if is_guided:
        ladder.guided[c, 0] += 1
    elif move == STAY:
        for i in range(target.n_pinned, proposed.tally[0]):
            proposed.theta[i] += ladder.width[c] * rng.standard_normal()
    else:
        if edit != APPEND:
            log_ratio += log_normal(current.theta[index], birth)
        if edit != REMOVE:
            proposed.theta[index] = target.birth_sd * rng.standard_normal()
            log_ratio -= log_normal(proposed.theta[index], birth)
    ladder.ratio[c, 0], ladder.ratio[c, 1] = log_ratio, log_uniform
    return True


@kernel()
def find_fit(ladder: Ladder, c: int, side: int, own: FitWork) -> int:
    """The fit of a rung's present (side 0) or proposed (1) structure; negative if it is new.

    Mutates: own. Allocates: nothing.
    """
    if side == 0:
        return look_up(rung(ladder.state, c), own)
    return look_up(rung(ladder.proposed, c), own)


@kernel()
def note_champion(
    c: int,
    side: int,
    entry: int,
    prior: PriorTable,
    moves: MoveTable,
    target: AbcTarget,
    data: Regression,
    ladder: Ladder,
    own: FitWork,
) -> None:
    r"""Keep a new fit if its structure has the best Laplace approximation of its posterior so far.

    .. math::
        \log p(T) + \log N(\hat θ; 0, σ_θ² I) - \tfrac n2 \log \tfrac{S_T}{n}
        + \tfrac p2 \log \tfrac{2π S_T}{n} - \tfrac12 \log |J^TJ|

    with p coefficients that are not pinned; those that are have the same density in all structures.

    Mutates: ladder, own. Allocates: nothing.
    """
    error, scratch = own.fits.scalar[entry, 0], own.scratch
    ladder.saved[FITS] += 1
    if not error < math.inf:
        return
    if side == 0:
        copy_state(rung(ladder.state, c), scratch)
    else:
        copy_state(rung(ladder.proposed, c), scratch)
    n = scratch.tally[0] - target.n_pinned
    fitted_theta(own.fits, entry, scratch.theta)
    least = 1e-16 * data.output_norm * data.output_norm
    variance = max(error, least) / data.n_rows
    score = log_prior_structure(prior, scratch, moves.n_fixed)
    score += log_coefficients(scratch, target.coefficient) - own.fits.scalar[entry, 2]
    score += 0.5 * n * math.log(2.0 * math.pi * variance) - 0.5 * data.n_rows * math.log(variance)
    if score > ladder.record[1]:
        ladder.record[1], ladder.record[2] = score, error
        copy_state(scratch, ladder.champion)


@kernel()
def guide(
    rng: np.random.Generator,
    c: int,
    side: int,
    entry: int,
    target: AbcTarget,
    data: Regression,
    ladder: Ladder,
    own: FitWork,
) -> bool:
    """One side of a guided proposal; False if it is impossible.

    The present coefficients (side 0) must lie in the ellipsoid that the reverse would draw them
    from; the proposed ones (1) are drawn from theirs. The volumes enter the ratio.

    Mutates: rng, ladder, own. Allocates: nothing.
    """
    error, foreseen = own.fits.scalar[entry, 0], own.fits.scalar[entry, 1]
    square = target.reach * (ladder.tolerance[c] * target.unit - error)
    if not (square > 0.0 and foreseen <= HOPELESS * ladder.level[0]):
        return False
    volume = log_volume(own.fits, data, entry, square)
    if side == 0:
        ladder.ratio[c, 0] -= volume
        return is_inside(own.fits, entry, rung(ladder.state, c).theta, square)
    ladder.ratio[c, 0] += volume
    theta = rung(ladder.proposed, c).theta
    draw_inside(rng, own.fits, data, entry, square, own.linear, theta)
    return True


@kernel()
def is_likely(c: int, target: AbcTarget, ladder: Ladder) -> bool:
    """Whether prior and proposal densities leave a rung's proposal to the distance to decide.

    Mutates: ladder. Allocates: nothing.
    """
    log_ratio = ladder.ratio[c, 0]
    log_ratio += log_coefficients(rung(ladder.proposed, c), target.coefficient)
    log_ratio -= log_coefficients(rung(ladder.state, c), target.coefficient)
    if not ladder.ratio[c, 1] < log_ratio:
        ladder.saved[REFUSED_BY_RATIO] += 1
        return False
    ladder.pending[c, 0] = 1
    return True


@kernel()
def take_optimum(c: int, entry: int, ladder: Ladder, own: FitWork) -> bool:
    """Propose the optimum of a rung's own structure; False if the rung is as near already.

    Mutates: ladder, own. Allocates: nothing.
    """
    if not own.fits.scalar[entry, 0] < (1.0 - ROUNDING) * ladder.error[c]:
        return False
    proposed = rung(ladder.proposed, c)
    copy_state(rung(ladder.state, c), proposed)
    fitted_theta(own.fits, entry, proposed.theta)
    ladder.pending[c, 0], ladder.pending[c, 1], ladder.pending[c, 2] = 1, STAY, 1
    return True


@kernel()
def simulate_rung(c: int, limit: float, data: Regression, ladder: Ladder, own: FitWork) -> float:
    """Squared error of the free run of a rung's proposal, infinite beyond `limit`.

    Mutates: ladder, own. Allocates: nothing.
    """
    proposed = rung(ladder.proposed, c)
    assemble(proposed, data, own.run)
    error, n_steps = free_run_error(proposed.tally[0], own.run, limit)
    ladder.saved[SIMULATIONS] += 1
    ladder.saved[STEPS] += n_steps
    if error < math.inf:
        ladder.saved[COMPLETE] += 1
    return error


@kernel()
def decide_rung(
    c: int, distance: float, error: float, target: AbcTarget, ladder: Ladder, is_adapting: bool
) -> bool:
    r"""Take over a rung's proposal if it is pending and near enough; whether its terms changed.

    While it adapts, the width of the random walk follows Robbins and Monro on its own steps: after
    the i-th, :math:`\log s` changes by :math:`(a - a^*) / (a^*(1 - a^*)(i + i_0))`, with a whether
    it was accepted and :math:`a^*` what is aimed at. (Without coefficients there is no step.)

    Mutates: ladder. Allocates: nothing.
    """
    move, is_guided = ladder.pending[c, 1], ladder.pending[c, 2] == 1
    is_near = distance <= ladder.tolerance[c] and distance < math.inf
    is_accepted = ladder.pending[c, 0] == 1 and is_near
    ladder.pending[c, 0] = 0
    if is_accepted:
        ladder.move[c, move, ACCEPTED] += 1
        if is_guided:
            ladder.guided[c, 1] += 1
        copy_state(rung(ladder.proposed, c), rung(ladder.state, c))
        ladder.distance[c], ladder.error[c] = distance, error
        if distance < ladder.record[0]:
            ladder.record[0], ladder.record[3] = distance, error
            copy_state(rung(ladder.proposed, c), ladder.best)
    n_moved = rung(ladder.proposed, c).tally[0] - target.n_pinned
    if is_adapting and move == STAY and not is_guided and n_moved > 0:
        aim = target.acceptance
        ladder.tally[c] += 1
        gain = (1.0 if is_accepted else 0.0) - aim
        gain /= aim * (1.0 - aim) * (ladder.tally[c] + 5.0 / (aim * (1.0 - aim)))
        ladder.width[c] *= math.exp(gain)
    return is_accepted and move != STAY


@kernel()
def noise_proxy(target: AbcTarget, ladder: Ladder) -> float:
    r"""The noise variance that the coldest tolerance stands for, :math:`σ_y² ε_0/100`.

    Where the distance is not a squared error, or the tolerance is infinite, the mean square of the
    state's own errors.

    Mutates: nothing. Allocates: nothing.
    """
    if target.is_squared and ladder.tolerance[0] < math.inf:
        return ladder.tolerance[0] * target.unit / target.n_rows
    return ladder.error[0] / target.n_rows


@kernel()
def finish_sample(
    target: AbcTarget,
    prior: PriorTable,
    moves: MoveTable,
    ladder: Ladder,
    trace: Trace,
    is_recording: bool,
    is_new: bool,
) -> bool:
    """Exchange neighbours if it is time, and record the coldest rung; whether its terms are new.

    Mutates: ladder, trace. Allocates: nothing.
    """
    cold = rung(ladder.state, 0)
    cold.tally[1] += 1
    n_drawn = cold.tally[1]
    if n_drawn % target.swap_interval == 0:
        first = (n_drawn // target.swap_interval) % 2
        for c in range(first, ladder.tolerance.shape[0] - 1, 2):
            ladder.swap[c, 0] += 1
            if ladder.distance[c + 1] <= ladder.tolerance[c]:
                ladder.swap[c, 1] += 1
                exchange(ladder.state, c)
                for values in (ladder.distance, ladder.error):
                    values[c], values[c + 1] = values[c + 1], values[c]
                is_new = is_new or c == 0
    if not is_recording:
        ladder.cold[ladder.cursor[0]] = ladder.distance[0]
        ladder.cursor[0] += 1
    elif n_drawn % target.thin == 0:
        cold.variance[0] = noise_proxy(target, ladder)
        record(cold, prior, moves, trace, 0.0, ladder.distance[0], is_new)
        is_new = False
    return is_new


@kernel(entry=True)
def run_abc(
    rng: np.random.Generator,
    prior: PriorTable,
    moves: MoveTable,
    target: AbcTarget,
    data: Regression,
    ladder: Ladder,
    own: FitWork,
    trace: Trace,
    series: Float2D,
    error: Float1D,
    mode: int,
    n_samples: int,
) -> int:
    """Draw samples of all rungs until `n_samples` are drawn or the trace is full; how many.

    `mode` says what is done with them:

    - `RECORD`: everything is frozen, and the coldest rung is recorded;
    - `ANNEAL`: widths adapt, and the distances of the coldest rung are kept;
    - `DESCEND`: greedy, every rung refuses what is farther off than it is; no exchange;
    - `POLISH`: coefficients of all rungs by their structure's own fit, nothing is drawn;
    - `PROPOSE`: what a proposal leaves to decide is run to its end, for `decide_all`: row c of
      `series` is the run of rung c, ``error[c]`` its squared error, infinite if there is none.

    (One entry for all, because each one that can propose takes its own time to compile.)

    Mutates: rng, ladder, own, trace, series, error. Allocates: nothing.
    """
    n_drawn, is_new = 0, True
    while n_drawn < n_samples and has_room(trace, ladder.best.key.shape[0]):
        for c in range(ladder.tolerance.shape[0]):
            if mode in (DESCEND, POLISH):
                ladder.tolerance[c] = ladder.distance[c]
            is_open, is_polish, error[c] = True, mode == POLISH, math.inf
            if not is_polish:
                is_open = propose_terms(rng, c, prior, moves, target, ladder, own, trace)
            if is_open and (is_polish or ladder.pending[c, 2] == 1):
                for side in range(1 if is_polish else 2):
                    entry = find_fit(ladder, c, side, own)
                    if entry < 0:
                        level = ladder.level[0]
                        found, foreseen = fit_structure(data, own, target.coefficient, level)
                        entry = add_fit(own, found, foreseen)
                        note_champion(c, side, entry, prior, moves, target, data, ladder, own)
                    if is_polish:
                        is_open = take_optimum(c, entry, ladder, own)
                    elif is_open:
                        is_open = guide(rng, c, side, entry, target, data, ladder, own)
                        ladder.saved[REFUSED_UNGUIDED] += 0 if is_open else 1
                    if not is_open:
                        break
            if is_open and (is_polish or is_likely(c, target, ladder)):
                limit = math.inf if mode == PROPOSE else ladder.tolerance[c] * target.unit
                error[c] = simulate_rung(c, limit, data, ladder, own)
                if mode == PROPOSE:
                    for k in range(series.shape[1]):
                        series[c, k] = own.run.data.predicted[k]
            if mode != PROPOSE:
                is_adapting = mode in (ANNEAL, DESCEND)
                distance = error[c] / target.unit
                is_changed = decide_rung(c, distance, error[c], target, ladder, is_adapting)
                is_new = is_new or (c == 0 and is_changed)
        n_drawn += 1
        if mode in (RECORD, ANNEAL):
            is_recording = mode == RECORD
            is_new = finish_sample(target, prior, moves, ladder, trace, is_recording, is_new)
    return n_drawn


@kernel(entry=True)
def decide_all(
    prior: PriorTable,
    moves: MoveTable,
    target: AbcTarget,
    ladder: Ladder,
    trace: Trace,
    distance: Float1D,
    error: Float1D,
    mode: int,
) -> None:
    """Decide on all proposals by their distances, and finish the sample as `mode` says.

    Mutates: ladder, trace. Allocates: nothing.
    """
    for c in range(ladder.tolerance.shape[0]):
        decide_rung(c, distance[c], error[c], target, ladder, mode != RECORD)
        if mode == DESCEND:
            ladder.tolerance[c] = ladder.distance[c]
    if mode in (RECORD, ANNEAL):
        finish_sample(target, prior, moves, ladder, trace, mode == RECORD, True)
