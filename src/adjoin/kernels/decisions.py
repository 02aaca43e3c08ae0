r"""Decisions of the free-run sampler: what is proposed against what there is, in two stages.

Receives a structure in ``ladder.proposed`` and the log ratio of prior and proposal that it comes
with; draws its coefficients, runs it, and makes it a rung's state or not. The formulas are in
``output_error``; who proposes is ``output_error`` and ``slope_moves``.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.colours import draw_colour, judge_run
from adjoin.kernels.edits import copy_state
from adjoin.kernels.fit_table import add_mode, look_up
from adjoin.kernels.free_run import assemble
from adjoin.kernels.laplace import (
    Proposals,
    draw_around,
    draw_widely,
    lay_out_gaussian,
    log_proposal,
)
from adjoin.kernels.layouts import Regression
from adjoin.kernels.modes import find_mode, largest_error, log_fit, log_run
from adjoin.kernels.powers import at_power
from adjoin.kernels.prior import log_coefficients
from adjoin.kernels.run_rungs import FreeRunLadder, keep_run
from adjoin.kernels.rungs import rung
from adjoin.kernels.state import ACCEPTED, POSSIBLE, PROPOSED, Chain, Rules, Target
from adjoin.kernels.tables import FitWork

# A run is ended a little beyond where it is lost, lest rounding decides.
SLACK = 1.0 + 1e-9


class Offer(NamedTuple):
    """How something is proposed.

    ``is_same`` : its terms are those of the rung. ``is_walk`` : coefficients take a step from where
    they are. ``log_ratio`` : of prior and proposal. ``log_first``, ``log_second`` : the uniforms.
    """

    is_same: bool
    is_walk: bool
    log_ratio: float
    log_first: float
    log_second: float


@kernel()
def find_entry_of(
    chain: Chain,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
) -> int:
    """The mode of a structure, found now if it is new.

    Mutates: fitting. Allocates: nothing.
    """
    entry = look_up(chain, fitting)
    if entry < 0:
        target = at_power(rules, ladder.power[0]).target
        error = find_mode(data, fitting, target, how.coefficient, ladder.references)
        entry = add_mode(fitting, data, error)
    return entry


@kernel()
def weigh_side(
    c: int,
    side: int,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
) -> tuple[int, float, float]:
    """Lay out the Gaussian of a rung's present (side 0) or of the proposed (1) structure.

    Its entry, log Λ, and half the log determinant.

    Mutates: fitting. Allocates: nothing.
    """
    # One call site for both: what it calls is compiled where it stands.
    chain = rung(ladder.state, c) if side == 0 else ladder.proposed
    entry = find_entry_of(chain, rules, how, data, ladder, fitting)
    log_evidence, half_log_det = lay_out_gaussian(
        fitting, data, entry, rules.target, how.coefficient
    )
    return entry, log_evidence, half_log_det


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
        limit = math.inf
        if fitting.colour.rho.shape[0] == 0:  # else its own volume has a say
            limit = largest_error(target, data.n_rows, log_needed - log_prior) * SLACK
            if not limit >= 0.0:
                return math.inf, False
        assemble(proposed, data, fitting.run)
        error = judge_run(proposed.n_terms[0], fitting, limit)
    return error, log_run(target, data, fitting, error) + log_prior > log_needed


@kernel()
def take_over(
    rng: np.random.Generator,
    c: int,
    log_needed: float,
    target: Target,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
) -> bool:
    """Run what is proposed, and make it a rung's state if it is good enough; whether it is.

    Mutates: rng (where noise is coloured and it is), ladder, fitting. Allocates: nothing.
    """
    error, is_accepted = run_proposed(ladder, target, data, fitting, log_needed)
    if is_accepted and fitting.colour.rho.shape[0] > 0:
        is_accepted = draw_colour(rng, target, data.n_rows, error, fitting.colour)
    if is_accepted:
        copy_state(ladder.proposed, rung(ladder.state, c))
        keep_run(c, error, ladder.runs, fitting.colour)
    return is_accepted


@kernel()
def decide(
    rng: np.random.Generator,
    c: int,
    offer: Offer,
    rules: Rules,
    how: Proposals,
    data: Regression,
    ladder: FreeRunLadder,
    fitting: FitWork,
) -> int:
    """Decide on what is proposed for a rung; how far it got.

    `PROPOSED` where the first stage refused it, `POSSIBLE` where the second did, else `ACCEPTED`.

    Mutates: rng, ladder, fitting. Allocates: nothing.
    """
    current, proposed, target = rung(ladder.state, c), ladder.proposed, rules.target
    entry, half_log_det, log_ratio = 0, 0.0, offer.log_ratio
    is_same, is_walk = offer.is_same, offer.is_walk
    proposed.coefficient[0] = current.coefficient[0]
    log_needed = log_fit(target, data.n_rows, ladder.runs.error[c]) - ladder.runs.volume[c]
    log_needed += offer.log_second + log_coefficients(current, current.coefficient[0])
    for side in range(1 if is_same else 2):
        entry, log_evidence, half_log_det = weigh_side(c, side, rules, how, data, ladder, fitting)
        if side == 0 and not is_walk:
            log_needed -= log_proposal(fitting, data, entry, current, half_log_det, how)
        if not is_same:
            log_ratio += log_evidence if side == 1 else -log_evidence
            log_needed += log_evidence if side == 1 else -log_evidence
    if not (is_same or offer.log_first < log_ratio):
        return PROPOSED
    if is_walk:
        size = how.width / math.sqrt(max(proposed.n_terms[0] - data.pinned_key.shape[0], 1))
        draw_around(rng, fitting, data, entry, proposed, size, is_walk)
    elif rng.random() < how.wide:
        draw_widely(rng, fitting, data, entry, proposed, how)
    else:
        size = math.sqrt(how.freedom / (2.0 * rng.standard_gamma(0.5 * how.freedom)))
        draw_around(rng, fitting, data, entry, proposed, size, is_walk)
    if not is_walk:
        log_needed += log_proposal(fitting, data, entry, proposed, half_log_det, how)
    is_taken = take_over(rng, c, log_needed, target, data, ladder, fitting)
    return ACCEPTED if is_taken else POSSIBLE
