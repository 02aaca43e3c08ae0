r"""The rungs of a free-run sampler: what their runs are worth, exchanges, and the draws of noise.

Receives runs that were judged (``colours``); serves the loop of ``output_error``. Rungs c and c + 1
exchange their states with probability

.. math::
    \min\Big(1, \frac{B_c(S_{c+1})^{-A_c} B_{c+1}(S_c)^{-A_{c+1}}}
                     {B_c(S_c)^{-A_c} B_{c+1}(S_{c+1})^{-A_{c+1}}}\Big)

with S given ρ where the noise is coloured, as the prior is the same on all rungs. σ² is drawn for
the record, from IG(A, B); σ_θ², where it has a prior, from its full conditional.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D, Float3D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import draw_colour, solve_colour
from adjoin.kernels.draw import draw_inverse_gamma
from adjoin.kernels.edits import exchange_terms
from adjoin.kernels.layouts import Regression
from adjoin.kernels.modes import References, log_fit
from adjoin.kernels.powers import at_power, count_trips
from adjoin.kernels.rungs import first_of_pairs, rung
from adjoin.kernels.state import Chain, Rules, Target, Trace
from adjoin.kernels.tables import Colour


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
