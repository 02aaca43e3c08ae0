r"""The sampler by free runs with noise on the output: rungs of a ladder of likelihood powers.

Rung c, at power w, samples structures and coefficients with the noise variance integrated out,

.. math:: π_w(T, θ) \propto p(T)\, N(θ; 0, σ_θ² I)\, B_w(S)^{-A_w}

with S the squared error of the free run and A, B as in ``modes``; a run that leaves its bounds has
no likelihood. (With coloured noise, S and the factor beside it are those of ``colours``, and ρ is
part of the state.) A structure T' is proposed by one of the nine moves, j(T → T'), and its
coefficients by the t around its own mode, t(θ'|T') of ``laplace``, so that

.. math::
    \frac{π_w(T', θ')\; j(T' \to T)\; t(θ|T)}{π_w(T, θ)\; j(T \to T')\; t(θ'|T')}
    = \frac{Λ'\, j(T' \to T)}{Λ\, j(T \to T')} ·
      \frac{π_w(T', θ') / (p(T') Λ' t(θ'|T'))}{π_w(T, θ) / (p(T) Λ t(θ|T))} · \frac{p(T')}{p(T)}

It is decided in two stages (Christen and Fox, 2005): by the first factor and the priors, in which
Laplace's evidence Λ stands for the integral over coefficients, and only then by the second, which
needs a free run and is 1 where the approximation is exact. Both uniforms are drawn before the run,
which ends as soon as it is lost. Modes, and so Λ and t, are functions of the structures alone.

Where the terms stay, coefficients are drawn around the mode again, or walk a step; both are decided
by the exact ratio. Rungs c and c + 1 exchange states with probability

.. math::
    \min\Big(1, \frac{B_c(S_{c+1})^{-A_c} B_{c+1}(S_c)^{-A_{c+1}}}
                     {B_c(S_c)^{-A_c} B_{c+1}(S_{c+1})^{-A_{c+1}}}\Big)

as the prior is the same on all rungs. σ² is drawn for the record, from IG(A, B); σ_θ², where it has
a prior, from its full conditional.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D, Float3D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import draw_colour, judge_run, solve_colour
from adjoin.kernels.draw import draw_categorical, draw_inverse_gamma
from adjoin.kernels.edits import apply_edit, copy_state, exchange_terms
from adjoin.kernels.evidence import log_likelihood
from adjoin.kernels.fit_table import add_mode, fitted_theta, look_up
from adjoin.kernels.free_run import assemble
from adjoin.kernels.laplace import (
    Proposals,
    distance_of,
    draw_around,
    lay_out_gaussian,
    log_student,
)
from adjoin.kernels.layouts import Regression
from adjoin.kernels.modes import References, find_mode, largest_error, log_fit, log_run
from adjoin.kernels.moves import propose
from adjoin.kernels.powers import at_power, count_trips
from adjoin.kernels.prior import log_coefficients
from adjoin.kernels.rungs import first_of_pairs, rung
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    CROWDED,
    IMPOSSIBLE,
    POSSIBLE,
    PROPOSED,
    STAY,
    Chain,
    Rules,
    Target,
    Trace,
)
from adjoin.kernels.tables import Colour, FitWork
from adjoin.kernels.terms import term_key
from adjoin.kernels.tracing import has_room, write_draw

# A run is ended a little beyond where it is lost, lest rounding decides.
SLACK = 1.0 + 1e-9


class RungRuns(NamedTuple):
    """The free runs of all rungs, by what their likelihood depends on.

    ``error`` : (n_rungs,) S. ``volume`` : (n_rungs,), ``moment`` : (n_rungs, order + 1, order + 1)
    see `Colour`. ``rho`` : (n_rungs, order) of the noise, as drawn.
    """

    error: Float1D
    volume: Float1D
    moment: Float3D
    rho: Float2D


class FreeRunLadder(NamedTuple):
    """The rungs of one chain, coldest first.

    ``state`` : as `Chain`, every array with the rung as its first axis; ``proposed`` : one state.
    ``runs`` : what their free runs are worth. ``power`` : (n_rungs,) w.
    ``references`` : where modes are searched from.
    ``move`` : (n_rungs, 9, 3) moves proposed, possible, accepted. ``passed`` : (n_rungs, 2) changes
    of terms that passed the first stage, and the second.
    ``swap`` : (n_rungs, 2) exchanges with the next rung, tried and made. ``is_from_hot``,
    ``n_trips`` : as in `PowerLadder`. ``interval`` : samples between two exchanges.
    """

    state: Chain
    proposed: Chain
    runs: RungRuns
    power: Float1D
    references: References
    move: Int2D
    passed: Int2D
    swap: Int2D
    is_from_hot: Int1D
    n_trips: Int1D
    interval: int


@kernel()
def propose_structure(
    rng: np.random.Generator,
    c: int,
    move: int,
    rules: Rules,
    ladder: FreeRunLadder,
    fitting: FitWork,
    trace: Trace,
) -> float:
    """Change a rung's terms in ``ladder.proposed``; log ratio of prior and proposal, NaN if none.

    Mutates: rng, ladder.proposed, fitting, trace. Allocates: nothing.
    """
    current, proposed, work = rung(ladder.state, c), ladder.proposed, fitting.work
    copy_state(current, proposed)
    if move == STAY:
        return 0.0
    edit, index, degree, log_ratio = propose(rng, move, current, rules.prior, rules.moves, work)
    if edit == IMPOSSIBLE:
        return math.nan
    if edit == APPEND and index == current.key.shape[0]:
        trace.trouble[CROWDED] += 1
        return math.nan
    key = term_key(work.atom, degree, rules.prior.weight.shape[0])
    apply_edit(proposed, edit, index, degree, key, work)
    return log_ratio


@kernel()
def find_entry_of(ladder: FreeRunLadder, c: int, side: int, fitting: FitWork) -> int:
    """The mode of a rung's present (side 0) or of the proposed (1) structure; negative if new.

    Mutates: fitting. Allocates: nothing.
    """
    if side == 0:
        return look_up(rung(ladder.state, c), fitting)
    return look_up(ladder.proposed, fitting)


@kernel()
def run_proposed(
    ladder: FreeRunLadder, target: Target, data: Regression, fitting: FitWork, log_needed: float
) -> tuple[float, bool]:
    """Squared error of what is proposed, and whether its log posterior is above `log_needed`.

    Mutates: fitting. Allocates: nothing.
    """
    proposed, error = ladder.proposed, 0.0
    log_prior = log_coefficients(proposed, proposed.coefficient[0])
    if target.power > 0.0:
        limit = largest_error(target, data.n_rows, log_needed - log_prior) * SLACK
        if not limit >= 0.0:
            return math.inf, False
        assemble(proposed, data, fitting.run)
        error = judge_run(proposed.n_terms[0], fitting, limit)
    return error, log_run(target, data, fitting, error) + log_prior > log_needed


@kernel()
def keep_run(c: int, error: float, runs: RungRuns, colour: Colour) -> None:
    """Note what the run that was judged last is worth, and its ρ, as that of a rung.

    Mutates: runs. Allocates: nothing.
    """
    order = colour.rho.shape[0]
    runs.error[c], runs.volume[c] = error, colour.volume[0]
    for a in range(order):
        runs.rho[c, a] = colour.rho[a]
    for a in range(order + 1):
        for b in range(order + 1):
            runs.moment[c, a, b] = colour.moment[a, b]


@kernel()
def recall_run(c: int, runs: RungRuns, colour: Colour) -> None:
    """Set the colour to what the noise of a rung's run leaves to draw from.

    Mutates: colour. Allocates: nothing.
    """
    for a in range(colour.moment.shape[0]):
        for b in range(colour.moment.shape[0]):
            colour.moment[a, b] = runs.moment[c, a, b]
    solve_colour(colour)


@kernel()
def step_rung(
    rng: np.random.Generator,
    c: int,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
    trace: Trace,
) -> bool:
    """Propose one move of a rung and decide on it; whether its terms changed.

    Draws the move, whether it is a walk if the terms stay, two uniforms, what the move draws, and,
    if the first stage is passed, the coefficients.

    Mutates: rng, ladder, fitting, trace. Allocates: nothing.
    """
    current, proposed, count, target = (
        rung(ladder.state, c),
        ladder.proposed,
        ladder.move,
        rules.target,
    )
    move = draw_categorical(rng, rules.moves.cumulative)
    is_walk = move == STAY and rng.random() < how.walk
    log_first, log_second = math.log(1.0 - rng.random()), math.log(1.0 - rng.random())
    count[c, move, PROPOSED] += 1
    log_ratio = propose_structure(rng, c, move, rules, ladder, fitting, trace)
    if math.isnan(log_ratio):
        return False
    count[c, move, POSSIBLE] += 1
    proposed.coefficient[0], entry, half_log_det = current.coefficient[0], 0, 0.0
    log_needed = log_fit(target, data.n_rows, ladder.runs.error[c]) - ladder.runs.volume[c]
    log_needed += log_second + log_coefficients(current, current.coefficient[0])
    for side in range(1 if move == STAY else 2):
        entry = find_entry_of(ladder, c, side, fitting)
        if entry < 0:
            error = find_mode(
                data,
                fitting,
                at_power(rules, ladder.power[0]).target,
                how.coefficient,
                ladder.references,
            )
            entry = add_mode(fitting, data, error)
        log_evidence, half_log_det = lay_out_gaussian(fitting, data, entry, target, how.coefficient)
        if side == 0 and not is_walk:
            n_free = current.n_terms[0] - data.pinned_key.shape[0]
            log_needed -= log_student(
                distance_of(fitting, entry, current), n_free, half_log_det, how
            )
        if move != STAY:
            log_ratio += log_evidence if side == 1 else -log_evidence
            log_needed += log_evidence if side == 1 else -log_evidence
    if move != STAY:
        if not log_first < log_ratio:
            return False
        ladder.passed[c, 0] += 1
    n_free = proposed.n_terms[0] - data.pinned_key.shape[0]
    size = how.width / math.sqrt(max(n_free, 1))
    if not is_walk:
        size = math.sqrt(how.freedom / (2.0 * rng.standard_gamma(0.5 * how.freedom)))
    distance = draw_around(rng, fitting, data, entry, proposed, size, is_walk)
    if not is_walk:
        log_needed += log_student(distance, n_free, half_log_det, how)
    error, is_accepted = run_proposed(ladder, target, data, fitting, log_needed)
    if is_accepted and fitting.colour.rho.shape[0] > 0:
        is_accepted = draw_colour(rng, target, data.n_rows, error, fitting.colour)
    if is_accepted:
        copy_state(proposed, current)
        keep_run(c, error, ladder.runs, fitting.colour)
        count[c, move, ACCEPTED] += 1
        ladder.passed[c, 1] += 1 if move != STAY else 0
    return is_accepted and move != STAY


@kernel()
def draw_coefficient_variance(
    rng: np.random.Generator, chain: Chain, target: Target, data: Regression
) -> None:
    r"""Draw :math:`σ_θ² \sim IG(a + \tfrac m2, b + \tfrac12 ‖θ‖²)` of the m free coefficients.

    Mutates: rng (one gamma), chain.coefficient. Allocates: nothing.
    """
    square, n_free = 0.0, chain.n_terms[0] - data.pinned_key.shape[0]
    for i in range(data.pinned_key.shape[0], chain.n_terms[0]):
        square += chain.theta[i] * chain.theta[i]
    shape = target.coefficient_shape + 0.5 * n_free
    scale = target.coefficient_scale + 0.5 * square
    chain.coefficient[0] = draw_inverse_gamma(rng, shape, scale)


@kernel()
def error_of(c: int, runs: RungRuns) -> float:
    r""":math:`S_ρ = \sum_k (v(k) - \sum_l ρ_l v(k-l))²` of a rung; the squared error without a ρ.

    Mutates: nothing. Allocates: nothing.
    """
    order = runs.rho.shape[1]
    if order == 0 or runs.error[c] == math.inf:
        return runs.error[c]
    total = runs.moment[c, 0, 0]
    for a in range(order):
        total -= 2.0 * runs.rho[c, a] * runs.moment[c, 0, a + 1]
        for b in range(order):
            total += runs.rho[c, a] * runs.rho[c, b] * runs.moment[c, a + 1, b + 1]
    return max(total, 0.0)


@kernel()
def given_colour(target: Target, order: int) -> Target:
    """The target given ρ: what integrating over it took from the shape of the noise is back.

    Mutates: nothing. Allocates: nothing.
    """
    return Target(
        target.noise_shape + 0.5 * order,
        target.noise_scale,
        target.power,
        target.coefficient_shape,
        target.coefficient_scale,
        target.thin,
    )


@kernel()
def exchange_runs(c: int, runs: RungRuns) -> None:
    """Exchange what is known of the runs of rungs c and c + 1.

    Mutates: runs. Allocates: nothing.
    """
    d = c + 1
    runs.error[c], runs.error[d] = runs.error[d], runs.error[c]
    runs.volume[c], runs.volume[d] = runs.volume[d], runs.volume[c]
    for a in range(runs.rho.shape[1]):
        runs.rho[c, a], runs.rho[d, a] = runs.rho[d, a], runs.rho[c, a]
    for a in range(runs.moment.shape[1]):
        for b in range(runs.moment.shape[2]):
            left, right = runs.moment[c, a, b], runs.moment[d, a, b]
            runs.moment[c, a, b], runs.moment[d, a, b] = right, left


@kernel()
def exchange_rungs(
    rng: np.random.Generator, ladder: FreeRunLadder, rules: Rules, data: Regression
) -> bool:
    """Let every second pair of neighbours exchange their states; whether the coldest did.

    Mutates: rng (one uniform per pair), ladder. Allocates: nothing.
    """
    state, runs, n_rungs, n = ladder.state, ladder.runs, ladder.power.shape[0], data.n_rows
    order, is_new = runs.rho.shape[1], False
    for c in range(first_of_pairs(state.n_drawn[0, 0], ladder.interval), n_rungs - 1, 2):
        log_uniform = math.log(1.0 - rng.random())
        cold = given_colour(at_power(rules, ladder.power[c]).target, order)
        hot = given_colour(at_power(rules, ladder.power[c + 1]).target, order)
        mine, other = error_of(c, runs), error_of(c + 1, runs)
        log_ratio = log_fit(cold, n, other) + log_fit(hot, n, mine)
        log_ratio -= log_fit(cold, n, mine) + log_fit(hot, n, other)
        ladder.swap[c, 0] += 1
        if log_uniform < log_ratio:
            ladder.swap[c, 1] += 1
            left, right = rung(state, c), rung(state, c + 1)
            exchange_terms(left, right)
            left.coefficient[0], right.coefficient[0] = right.coefficient[0], left.coefficient[0]
            exchange_runs(c, runs)
            been, is_new = ladder.is_from_hot, is_new or c == 0
            been[c], been[c + 1] = been[c + 1], been[c]
    count_trips(ladder.is_from_hot, ladder.n_trips)
    return is_new


@kernel()
def draw_noise(
    rng: np.random.Generator,
    c: int,
    rules: Rules,
    data: Regression,
    ladder: FreeRunLadder,
    colour: Colour,
) -> float:
    """Draw ρ and σ² of a rung given its run; its S_ρ. A ρ that is not stationary is not taken over.

    Mutates: rng, ladder, colour. Allocates: nothing.
    """
    runs, target, order = ladder.runs, rules.target, colour.rho.shape[0]
    if order > 0:
        recall_run(c, runs, colour)
        if draw_colour(rng, target, data.n_rows, runs.error[c], colour):
            for a in range(order):
                runs.rho[c, a] = colour.rho[a]
    error, given = error_of(c, runs), given_colour(target, order)
    shape = given.noise_shape + 0.5 * given.power * data.n_rows
    scale = given.noise_scale + 0.5 * given.power * error
    ladder.state.noise[c, 0] = draw_inverse_gamma(rng, shape, scale)
    return error


@kernel()
def write_colour(runs: RungRuns, trace: Trace) -> None:
    """Write the coldest rung's ρ beside the draw that was written last.

    Mutates: trace. Allocates: nothing.
    """
    for a in range(runs.rho.shape[1]):
        trace.own[trace.cursor.n_draws[0] - 1, a] = runs.rho[0, a]


@kernel()
def run_samples(
    rng: np.random.Generator,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
    trace: Trace,
    n_samples: int,
) -> int:
    """As `run_output_error`.

    Mutates: rng, ladder, fitting, trace. Allocates: nothing.
    """
    n_drawn, is_new, n_rungs, target = 0, True, ladder.power.shape[0], rules.target
    cold = rung(ladder.state, 0)
    while n_drawn < n_samples and has_room(trace, cold.key.shape[0]):
        for c in range(n_rungs):
            mine = at_power(rules, ladder.power[c])
            is_changed = step_rung(rng, c, mine, how, data, ladder, fitting, trace)
            is_new = is_new or (c == 0 and is_changed)
            if target.coefficient_shape > 0.0:
                draw_coefficient_variance(rng, rung(ladder.state, c), target, data)
        n_drawn += 1
        cold.n_drawn[0] += 1
        if n_rungs > 1 and cold.n_drawn[0] % ladder.interval == 0:
            is_new = exchange_rungs(rng, ladder, rules, data) or is_new
        if cold.n_drawn[0] % target.thin == 0:
            error = draw_noise(rng, 0, rules, data, ladder, fitting.colour)
            log_lik = log_likelihood(data.n_rows, error, cold.noise[0])
            write_draw(cold, rules.prior, rules.moves, trace, log_lik, 0.0, is_new)
            write_colour(ladder.runs, trace)
            is_new = False
    return n_drawn


@kernel(entry=True)
def run_output_error(
    rng: np.random.Generator,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
    trace: Trace,
    n_samples: int,
) -> int:
    """Draw samples of all rungs until `n_samples` are drawn or the trace is full; how many.

    ``rules.target.power`` is that of the coldest rung. Whatever the table holds on entry, and
    however a chain is cut into calls, the samples are the same.

    Mutates: rng, ladder, fitting, trace. Allocates: nothing.
    """
    return run_samples(rng, rules, how, data, ladder, fitting, trace, n_samples)


@kernel()
def judge_all(data: Regression, ladder: FreeRunLadder, fitting: FitWork) -> None:
    """As `judge_rungs`.

    Mutates: ladder.runs, fitting. Allocates: nothing.
    """
    for c in range(ladder.power.shape[0]):
        error = 0.0
        if data.n_rows > 0:
            state = rung(ladder.state, c)
            assemble(state, data, fitting.run)
            error = judge_run(state.n_terms[0], fitting, math.inf)
        keep_run(c, error, ladder.runs, fitting.colour)
        for a in range(ladder.runs.rho.shape[1]):
            ladder.runs.rho[c, a] = 0.0


@kernel(entry=True)
def judge_rungs(data: Regression, ladder: FreeRunLadder, fitting: FitWork) -> None:
    """What every rung's free run is worth, for states that were put there; ρ is 0.

    Mutates: ladder.runs, fitting. Allocates: nothing.
    """
    judge_all(data, ladder, fitting)


@kernel(entry=True)
def refine_state(
    state: Chain,
    rules: Rules,
    how: Proposals,
    data: Regression,
    references: References,
    fitting: FitWork,
) -> float:
    """Set the coefficients of a state to its structure's mode; the squared error there.

    Mutates: state.theta, fitting. Allocates: nothing.
    """
    entry = look_up(state, fitting)
    if entry < 0:
        error = find_mode(data, fitting, rules.target, how.coefficient, references)
        entry = add_mode(fitting, data, error)
    fitted_theta(fitting, entry, state.theta)
    return fitting.fits.entry.error[entry]
