r"""The sampler by free runs with noise on the output: rungs of a ladder of likelihood powers.

Rung c, at power w, samples structures and coefficients with the noise variance integrated out,

.. math:: π_w(T, θ) \propto p(T)\, N(θ; 0, σ_θ² I)\, B_w(S)^{-A_w}

with S the squared error of the free run and A, B as in ``modes``; a run that leaves its bounds has
no likelihood. (With coloured noise, S and the factor beside it are those of ``colours``, and ρ is
part of the state.) A structure T' is proposed by one of the nine moves, j(T → T'), and its
coefficients by the law around its own mode, q(θ'|T') of ``laplace``, so that

.. math::
    \frac{π_w(T', θ')\; j(T' \to T)\; q(θ|T)}{π_w(T, θ)\; j(T \to T')\; q(θ'|T')}
    = \frac{Λ'\, j(T' \to T)}{Λ\, j(T \to T')} ·
      \frac{π_w(T', θ') / (p(T') Λ' q(θ'|T'))}{π_w(T, θ) / (p(T) Λ q(θ|T))} · \frac{p(T')}{p(T)}

It is decided in two stages (Christen and Fox, 2005): by the first factor and the priors, in which
Laplace's evidence Λ stands for the integral over coefficients, and only then by the second, which
needs a free run and is 1 where the approximation is exact. Both uniforms are drawn before the run,
which ends as soon as it is lost. Modes, and so Λ and q, are functions of the structures alone.

The two stages are in ``decisions``; every few samples ``slope_moves`` proposes structures by what
the slopes of the present run promise. Where the terms stay, coefficients are drawn around the mode
again, or walk a step; both are decided by the exact ratio. The rungs exchange their states as
``run_rungs`` has it.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import judge_run
from adjoin.kernels.decisions import Offer, decide
from adjoin.kernels.draw import draw_categorical
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.evidence import log_likelihood
from adjoin.kernels.fit_table import add_mode, fitted_theta, look_up
from adjoin.kernels.free_run import assemble
from adjoin.kernels.laplace import (
    Proposals,
)
from adjoin.kernels.layouts import Regression
from adjoin.kernels.modes import References, find_mode
from adjoin.kernels.moves import propose
from adjoin.kernels.powers import at_power
from adjoin.kernels.run_rungs import (
    FreeRunLadder,
    draw_coefficient_variance,
    draw_noise,
    exchange_rungs,
    keep_run,
    write_colour,
)
from adjoin.kernels.rungs import rung
from adjoin.kernels.slope_moves import Desk, sweep_informed
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
    Trace,
)
from adjoin.kernels.tables import FitWork
from adjoin.kernels.terms import term_key
from adjoin.kernels.tracing import has_room, write_draw


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
    move = draw_categorical(rng, rules.moves.cumulative)
    is_walk = move == STAY and rng.random() < how.walk
    log_first, log_second = math.log(1.0 - rng.random()), math.log(1.0 - rng.random())
    ladder.move[c, move, PROPOSED] += 1
    log_ratio = propose_structure(rng, c, move, rules, ladder, fitting, trace)
    if math.isnan(log_ratio):
        return False
    ladder.move[c, move, POSSIBLE] += 1
    is_same = move == STAY
    offer = Offer(is_same, is_walk, log_ratio, log_first, log_second)
    stage = decide(rng, c, offer, rules, how, data, ladder, fitting)
    ladder.move[c, move, ACCEPTED] += 1 if stage == ACCEPTED else 0
    if is_same:
        return False
    ladder.passed[c, 0] += 1 if stage != PROPOSED else 0
    ladder.passed[c, 1] += 1 if stage == ACCEPTED else 0
    return stage == ACCEPTED


@kernel()
def run_samples(
    rng: np.random.Generator,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    desk: Desk,
    trace: Trace,
    n_samples: int,
) -> int:
    """As `run_output_error`.

    Mutates: rng, ladder, desk, trace. Allocates: nothing.
    """
    n_drawn, is_new, n_rungs, target = 0, True, ladder.power.shape[0], rules.target
    fitting, informed = desk
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
        is_due = cold.n_drawn[0] % ladder.interval == 0
        for c in range(n_rungs if is_due and informed.n_moves > 0 else 0):
            mine = at_power(rules, ladder.power[c])
            is_changed = sweep_informed(rng, c, mine, how, data, ladder, desk)
            is_new = is_new or (c == 0 and is_changed)
        if n_rungs > 1 and is_due:
            is_new = exchange_rungs(rng, ladder, rules, data) or is_new
        # As long as no run has stayed within its bounds, there is nothing to record.
        if cold.n_drawn[0] % target.thin == 0 and ladder.runs.error[0] < math.inf:
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
    desk: Desk,
    trace: Trace,
    n_samples: int,
) -> int:
    """Draw samples of all rungs until `n_samples` are drawn or the trace is full; how many.

    ``rules.target.power`` is that of the coldest rung. Whatever the table holds on entry, and
    however a chain is cut into calls, the samples are the same.

    Mutates: rng, ladder, desk, trace. Allocates: nothing.
    """
    return run_samples(rng, rules, how, data, ladder, desk, trace, n_samples)


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
