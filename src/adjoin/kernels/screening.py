r"""The whole alphabet held against what a structure leaves unexplained, to choose a pool from.

With the coefficients at their posterior mean, the residual e of the structure T, or of T without
one of its terms i, gives every term of the alphabet

.. math:: r_j = \frac{\sqrt{wτ}}{σ d_j} φ_j^T e, \qquad
    \log o_j ≥ \log λ\,p(t_j) - \log d_j + \tfrac12 r_j²

(``odds``, whose :math:`s_j ≤ 1` is not known here; with the mean of λ, where that is learned). A
score is that bound for T, and for T∖i less the odds of i itself: what it takes to join, or to take
the place of i. Scores choose candidates; nothing that is sampled depends on them otherwise, so that
long records may be scored by a part of their rows.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.evidence import evaluate_present, gather_fit
from adjoin.kernels.informed import log_odds_of_all, make_surrogate, weigh_all
from adjoin.kernels.layouts import Regression
from adjoin.kernels.linalg import solve_transposed, solve_upper
from adjoin.kernels.moves import count_terms
from adjoin.kernels.odds import lay_out
from adjoin.kernels.powers import PowerLadder
from adjoin.kernels.prior import is_reduced, term_prior
from adjoin.kernels.products import dot, fill_column
from adjoin.kernels.rungs import rung
from adjoin.kernels.state import Chain, PriorTable, Rules
from adjoin.kernels.tables import Desk, Work
from adjoin.kernels.terms import term_key


class Listing(NamedTuple):
    """Every term that can be screened, by degree.

    ``atom`` : (n, max_degree), ``degree``, ``key`` : (n,). ``log_prior`` : (n,) log p(t); of the
    constant log o_1. ``square`` : (n,) ‖φ‖², estimated from the blocks that are screened.
    ``block`` : (n_blocks,) these. ``share`` : the share of all rows that they have.
    """

    atom: Int2D
    degree: Int1D
    key: Int1D
    log_prior: Float1D
    square: Float1D
    block: Int1D
    share: float


class Screening(NamedTuple):
    """What a screening works in.

    ``residual`` : (n_residuals, n_samples) e of the structure, then without one term each.
    ``reference`` : (n_residuals,) what a score is less. ``inner`` : (n, n_residuals) φᵀe.
    ``score`` : (n,) the best of each term.
    """

    residual: Float2D
    reference: Float1D
    inner: Float2D
    score: Float1D


@kernel(entry=True)
def list_terms(prior: PriorTable, degree: int, atom: Int2D, key: Int1D, log_prior: Float1D) -> int:
    """All terms of one degree that have a prior, ascending; how many there are.

    Only counts where there is no room: call it with empty arrays first.

    Mutates: atom, key, log_prior. Allocates: nothing.
    """
    n_atoms, count, d = prior.weight.shape[0], 0, 0
    index = atom[atom.shape[0] - 1]  # the last row is scratch
    index[0] = -1
    while d >= 0:
        index[d] += 1
        if index[d] == n_atoms:
            d -= 1
        elif prior.weight[index[d]] > 0.0 and is_reduced(prior, index, d + 1):
            if d + 1 < degree:
                index[d + 1] = index[d] - 1
                d += 1
            else:
                if count < key.shape[0]:
                    for i in range(degree):
                        atom[count, i] = index[i]
                    key[count] = term_key(index, degree, n_atoms)
                    log_prior[count] = math.log(term_prior(prior, index, degree))
                count += 1
    return count


@kernel(entry=True)
def fill_squares(data: Regression, listing: Listing, column: Float1D) -> None:
    """‖φ‖² of all listed terms, from the blocks that are screened.

    Mutates: listing.square, column. Allocates: nothing.
    """
    for t in range(listing.degree.shape[0]):
        square = 0.0
        for b in range(listing.block.shape[0]):
            block = listing.block[b]
            fill_column(data, listing.atom[t], listing.degree[t], block, column)
            square += dot(column, column, data.stop[block] - data.start[block])
        listing.square[t] = square / listing.share


@kernel()
def write_residual(
    chain: Chain, data: Regression, listing: Listing, work: Work, left_out: int, residual: Float1D
) -> None:
    """Y less the structure at its posterior mean, or at that without one of its terms.

    Mutates: work, residual. Allocates: nothing.
    """
    fit, n, sd = work.current, chain.n_terms[0], math.sqrt(chain.coefficient[0])
    for i in range(n):
        work.normal[i] = fit.projection[i]
    solve_upper(fit.factor, n, work.normal)
    if left_out >= 0:  # θ → θ - C⁻¹e_q θ_q/(C⁻¹)_qq: the mean given that θ_q is 0
        unit, own = work.product, work.normal[left_out]
        for i in range(n):
            unit[i] = 1.0 if i == left_out else 0.0
        solve_transposed(fit.factor, n, unit)
        solve_upper(fit.factor, n, unit)
        size = unit[left_out]
        for i in range(n):
            work.normal[i] -= unit[i] * own / size
    for b in range(listing.block.shape[0]):
        block = listing.block[b]
        start, stop = data.start[block], data.stop[block]
        for k in range(start, stop):
            residual[k] = data.target[k]
        for i in range(data.pinned_theta.shape[0], n):
            theta = sd * work.normal[i] / fit.spread[i]
            fill_column(data, chain.atom[i], chain.degree[i], block, work.column)
            for k in range(stop - start):
                residual[start + k] -= theta * work.column[k]


@kernel()
def score_terms(
    chain: Chain,
    rules: Rules,
    data: Regression,
    listing: Listing,
    screening: Screening,
    work: Work,
) -> None:
    """The best score of every listed term over all residuals.

    Mutates: screening, work. Allocates: nothing.
    """
    n_residuals, inner, power = screening.residual.shape[0], screening.inner, rules.target.power
    noise, coefficient = chain.noise[0], chain.coefficient[0]
    root = math.sqrt(power * coefficient / noise)
    gain = root * math.sqrt(power / noise) / listing.share
    log_rate = math.log(rules.prior.expected_terms)
    for t in range(listing.degree.shape[0]):
        for r in range(n_residuals):
            inner[t, r] = 0.0
    for b in range(listing.block.shape[0]):
        block = listing.block[b]
        start, stop = data.start[block], data.stop[block]
        for t in range(listing.degree.shape[0]):
            fill_column(data, listing.atom[t], listing.degree[t], block, work.column)
            for r in range(n_residuals):
                error = screening.residual[r, start:stop]
                inner[t, r] += dot(work.column, error, stop - start)
    for t in range(listing.degree.shape[0]):
        spread = math.sqrt(1.0 + root * root * listing.square[t])
        base = listing.log_prior[t] - math.log(spread)
        base += log_rate if listing.degree[t] > 0 else 0.0
        best = -math.inf
        for r in range(n_residuals):
            lead = gain * inner[t, r] / spread
            best = max(best, base + 0.5 * lead * lead - screening.reference[r])
        screening.score[t] = best if math.isfinite(spread) else -math.inf


@kernel()
def screen_rung(
    c: int,
    first: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    listing: Listing,
    screening: Screening,
) -> bool:
    """As `screen_state`.

    Mutates: desk, screening. Allocates: nothing.
    """
    chain, work, n_fixed = rung(ladder.state, c), desk.work, rules.moves.n_fixed
    if not lay_out_odds(chain, rules, data, desk):
        return False
    sweep, n = desk.informed.sweep, chain.n_terms[0]
    n_editable = n - n_fixed
    for r in range(screening.residual.shape[0]):
        q, reference = -1, 0.0
        if r > 0:
            q = n_fixed + (first + r - 1) % n_editable
            if sweep.candidate[q] >= 0:
                reference = sweep.odds.weight[sweep.candidate[q]]
        screening.reference[r] = reference
        write_residual(chain, data, listing, work, q, screening.residual[r])
    score_terms(chain, rules, data, listing, screening, work)
    return True


@kernel(entry=True)
def screen_state(
    c: int,
    first: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    listing: Listing,
    screening: Screening,
) -> bool:
    """Score all listed terms by the state of rung c; False if it has no factor.

    The residuals are that of the structure and those without one of its editable terms, beginning
    with number `first` of these; `rules` are at the power of that rung.

    Mutates: desk, screening. Allocates: nothing.
    """
    return screen_rung(c, first, ladder, rules, data, desk, listing, screening)


@kernel()
def weigh_rung(
    c: int, ladder: PowerLadder, rules: Rules, data: Regression, desk: Desk, score: Float1D
) -> bool:
    """As `weigh_state`.

    Mutates: desk, score. Allocates: nothing.
    """
    chain, informed = rung(ladder.state, c), desk.informed
    if not lay_out_odds(chain, rules, data, desk):
        return False
    weight, n, n_fixed = informed.sweep.odds.weight, chain.n_terms[0], rules.moves.n_fixed
    for j in range(score.shape[0]):
        score[j] = weight[j]
    surrogate = make_surrogate(rules.target, data, chain.noise[0], 0.0)
    n_counted = count_terms(chain, n_fixed, 1, chain.atom.shape[1])
    for q in range(n_fixed, n):
        own = informed.sweep.candidate[q]
        if own >= 0:
            n_left = n_counted - (1 if informed.pool.degree[own] > 0 else 0)
            weigh_all(informed, surrogate, rules.prior, n, n_left, q)
            for j in range(score.shape[0] if weight[own] > 0.0 else 0):
                if weight[j] > 0.0:
                    score[j] = max(score[j], math.log(weight[j] / weight[own]))
    return True


@kernel()
def lay_out_odds(chain: Chain, rules: Rules, data: Regression, desk: Desk) -> bool:
    """Factor, sweep and log odds of a state, at its own noise; False if it is not clear.

    Mutates: desk. Allocates: nothing.
    """
    power, table, work = rules.target.power, desk.table, desk.work
    gather_fit(chain, data, table, work)
    if math.isnan(evaluate_present(chain, power, data, table, work)):
        return False
    if not lay_out(chain, chain.noise[0], power, data, table, work, desk.informed):
        return False
    log_odds_of_all(chain, rules, data, desk.informed)
    return True


@kernel(entry=True)
def weigh_state(
    c: int, ladder: PowerLadder, rules: Rules, data: Regression, desk: Desk, score: Float1D
) -> bool:
    """What it takes each candidate of the pool to join rung c's structure, or to replace a term.

    Mutates: desk, score. Allocates: nothing.
    """
    return weigh_rung(c, ladder, rules, data, desk, score)
