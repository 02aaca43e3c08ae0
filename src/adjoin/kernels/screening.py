r"""The whole alphabet held against what a structure leaves unexplained, to choose a pool from.

On some of the rows, a share f of all, let Q be an orthonormal basis of the structure's columns,
:math:`Φ_T = QR`, and :math:`e = y - QQ^Ty`. Every term of the alphabet has

.. math:: a_j = Q^Tφ_j, \quad x_j = ‖φ_j‖² - ‖a_j‖², \quad l_j = φ_j^Te, \qquad
    \log o_j ≈ \log λ\,p(t_j) - \tfrac12 \log\Big(1 + \frac τf x_j\Big)
    + \frac{w}{2σ²f} \frac{l_j²}{x_j + f/τ}

its odds of joining, but for the coefficients' prior of the others. (With the mean of λ, where that
is learned. A term that is nearly a combination of those in the structure has a small x: it would be
overlooked by :math:`l_j` alone, whatever it explains.) Without term i, with
:math:`g = R^{-T}e_i / ‖R^{-T}e_i‖`,

.. math:: x_j → x_j + ω_j², \quad l_j → l_j + ω_j ζ, \qquad ω_j = a_j^Tg, \quad ζ = y^TQg

give the odds of taking its place, less those of i itself. A score is the best of these. Scores
choose candidates; nothing that is sampled depends on them otherwise, so that long records are
scored by a part of their rows, and the longest alphabets a part at a time.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.evidence import CLEAR_ROOT, evaluate_present, gather_fit
from adjoin.kernels.informed import log_odds_of_all, make_surrogate, weigh_all
from adjoin.kernels.layouts import Regression
from adjoin.kernels.moves import count_terms
from adjoin.kernels.odds import CLEAR, lay_out
from adjoin.kernels.powers import PowerLadder
from adjoin.kernels.prior import is_reduced, term_prior
from adjoin.kernels.products import dot, fill_column
from adjoin.kernels.rungs import rung
from adjoin.kernels.state import Chain, PriorTable, Rules, Target
from adjoin.kernels.tables import Desk
from adjoin.kernels.terms import term_key

CHUNK = 256  # terms scored at a time


class Terms(NamedTuple):
    """Terms as arrays: ``atom`` : (n, max_degree); ``degree``, ``key``, ``log_prior`` : (n,).

    ``log_prior`` is log p(t); of the constant log o_1.
    """

    atom: Int2D
    degree: Int1D
    key: Int1D
    log_prior: Float1D


class Basis(NamedTuple):
    """The columns of a structure on the rows that are looked at, made orthonormal.

    ``block`` : (n_blocks,) these. ``offset`` : (n_blocks,) where each begins in ``row``.
    ``row`` : (1 + n, n_rows) e, then the basis. ``upper`` : (n, n) R. ``projection`` : (n,) Qᵀy.
    ``place`` : (n,) which term of the chain each began with.
    """

    block: Int1D
    offset: Int1D
    row: Float2D
    upper: Float2D
    projection: Float1D
    place: Int1D


class Screening(NamedTuple):
    """What a screening works in.

    ``share`` : f. ``direction`` : (n_left_out, n) g of the terms that are left out by turns;
    ``without`` : (n_left_out, 2) ζ of each, and its own log odds. ``first`` : (n_chunks,) where the
    chunks of terms begin that are looked at. ``weighted`` : (1 + n, ROWS) a block of e and of the
    basis, times what some terms share. ``inner`` : (CHUNK, 1 + n) l and a; ``square`` : (CHUNK,)
    ‖φ‖². ``score`` : (n_terms,) the best of each term; -inf where it was not looked at.
    """

    basis: Basis
    share: float
    direction: Float2D
    without: Float2D
    first: Int1D
    weighted: Float2D
    inner: Float2D
    square: Float1D
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


@kernel()
def make_basis(chain: Chain, data: Regression, basis: Basis) -> int:
    """Q, R and e of a structure; how many of its terms are clear of those before.

    Gram and Schmidt, twice, which is enough. What is pinned is in y already.

    Mutates: basis. Allocates: nothing.
    """
    row, upper, n = basis.row, basis.upper, 0
    n_rows = row.shape[1]
    for i in range(data.pinned_theta.shape[0], chain.n_terms[0]):
        new = row[1 + n]
        for b in range(basis.block.shape[0]):
            column = new[basis.offset[b] :]
            fill_column(data, chain.atom[i], chain.degree[i], basis.block[b], column)
        size = math.sqrt(dot(new, new, n_rows))
        for k in range(n):
            upper[k, n] = 0.0
        for k in range(2 * n):
            known = row[1 + k % n]
            share = dot(known, new, n_rows)
            upper[k % n, n] += share
            for m in range(n_rows):
                new[m] -= share * known[m]
        left = math.sqrt(dot(new, new, n_rows))
        if left > CLEAR_ROOT * size and math.isfinite(left):
            for m in range(n_rows):
                new[m] /= left
            upper[n, n] = left
            basis.place[n] = i
            n += 1
    for b in range(basis.block.shape[0]):
        start = data.start[basis.block[b]]
        for m in range(data.stop[basis.block[b]] - start):
            row[0, basis.offset[b] + m] = data.target[start + m]
    for k in range(n):
        basis.projection[k] = dot(row[1 + k], row[0], n_rows)
        for m in range(n_rows):
            row[0, m] -= basis.projection[k] * row[1 + k, m]
    return n


@kernel()
def log_odds(target: Target, chain: Chain, share: float, across: float, lead: float) -> float:
    """The log odds of a term with x and l, but for its prior.

    Mutates: nothing. Allocates: nothing.
    """
    noise, power = chain.noise[0], target.power
    tau = power * chain.coefficient[0] / noise / share
    volume = 1.0 + tau * across
    gain = 0.5 * power / (noise * share) * lead * lead * tau / volume
    return gain - 0.5 * math.log(volume)


@kernel()
def leave_out(chain: Chain, rules: Rules, screening: Screening, n: int, first: int) -> int:
    """G, ζ and own odds of terms that can go, beginning with one of them; how many there are.

    Mutates: screening. Allocates: nothing.
    """
    basis, prior, count = screening.basis, rules.prior, 0
    log_rate = math.log(prior.expected_terms)
    for turn in range(n):
        q = (first + turn) % n
        i = basis.place[q]
        if i < rules.moves.n_fixed or count == screening.direction.shape[0]:
            continue
        unit, square, zeta = screening.direction[count], 0.0, 0.0
        for k in range(n):
            value = 1.0 if k == q else 0.0
            for m in range(q, k):
                value -= basis.upper[m, k] * unit[m]
            unit[k] = value / basis.upper[k, k] if k >= q else 0.0
            square += unit[k] * unit[k]
        for k in range(n):
            unit[k] /= math.sqrt(square)
            zeta += unit[k] * basis.projection[k]
        across = 1.0 / square
        own = log_odds(rules.target, chain, screening.share, across, zeta * math.sqrt(across))
        if chain.degree[i] > 0:
            own += math.log(term_prior(prior, chain.atom[i], chain.degree[i])) + log_rate
        else:
            own += math.log(prior.constant_odds)
        screening.without[count, 0], screening.without[count, 1] = zeta, own
        count += 1
    return count


@kernel()
def shares_all_but_last(terms: Terms, t: int) -> bool:
    """Whether a term and the one before it differ in their last atom alone.

    Mutates: nothing. Allocates: nothing.
    """
    degree = terms.degree[t]
    if terms.degree[t - 1] != degree:
        return False
    for i in range(degree - 1):
        if terms.atom[t, i] != terms.atom[t - 1, i]:
            return False
    return True


@kernel()
def add_block(
    data: Regression, terms: Terms, first: int, n: int, b: int, screening: Screening, desk: Desk
) -> None:
    """Add what one block of rows has of l, a and ‖φ‖², for a chunk of terms.

    Terms that differ in their last atom alone follow each other: what they share is multiplied into
    e and the basis once, and each of them is then so many products with one signal.

    Mutates: screening, desk.work. Allocates: nothing.
    """
    basis, shared, column = screening.basis, desk.work.column, desk.work.other
    block, offset = basis.block[b], basis.offset[b]
    width = data.stop[block] - data.start[block]
    for t in range(first, min(first + CHUNK, terms.degree.shape[0])):
        atom, degree, inner = terms.atom[t], terms.degree[t], screening.inner[t - first]
        if t == first or not shares_all_but_last(terms, t):
            fill_column(data, atom, max(degree - 1, 0), block, shared)
            for r in range(1 + n):
                row, weighted = basis.row[r, offset : offset + width], screening.weighted[r]
                for k in range(width):
                    weighted[k] = row[k] * shared[k]
        fill_column(data, atom[max(degree - 1, 0) :], min(degree, 1), block, column)
        for r in range(1 + n):
            inner[r] += dot(screening.weighted[r], column, width)
        for k in range(width):
            column[k] *= shared[k]
        screening.square[t - first] += dot(column, column, width)


@kernel()
def score_term(
    target: Target, chain: Chain, t: int, n: int, n_left_out: int, screening: Screening
) -> float:
    """The best of a term's log odds of joining, and of taking a place less those of who has it.

    Without its prior; `t` is its place in the chunk.

    Mutates: nothing. Allocates: nothing.
    """
    inner, square = screening.inner[t], screening.square[t]
    across, best = square, -math.inf
    for k in range(1, 1 + n):
        across -= inner[k] * inner[k]
    if not (math.isfinite(across) and square > 0.0):
        return best
    if across > CLEAR * square:
        best = log_odds(target, chain, screening.share, across, inner[0])
    for turn in range(n_left_out):
        omega, unit = 0.0, screening.direction[turn]
        for k in range(n):
            omega += inner[1 + k] * unit[k]
        wider = across + omega * omega
        if wider > CLEAR * square:
            lead = inner[0] + omega * screening.without[turn, 0]
            found = log_odds(target, chain, screening.share, wider, lead)
            best = max(best, found - screening.without[turn, 1])
    return best


@kernel()
def screen_rung(
    c: int,
    first: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    terms: Terms,
    screening: Screening,
) -> None:
    """As `screen_state`.

    Mutates: desk, screening. Allocates: nothing.
    """
    chain, score = rung(ladder.state, c), screening.score
    n = make_basis(chain, data, screening.basis)
    n_left_out = leave_out(chain, rules, screening, n, first)
    log_rate = math.log(rules.prior.expected_terms)
    for i in range(screening.first.shape[0]):
        begin = screening.first[i]
        for t in range(CHUNK):
            screening.square[t] = 0.0
            for r in range(1 + n):
                screening.inner[t, r] = 0.0
        for b in range(screening.basis.block.shape[0]):
            add_block(data, terms, begin, n, b, screening, desk)
        for t in range(begin, min(begin + CHUNK, score.shape[0])):
            score[t] = score_term(rules.target, chain, t - begin, n, n_left_out, screening)
            score[t] += terms.log_prior[t] + (log_rate if terms.degree[t] > 0 else 0.0)


@kernel(entry=True)
def screen_state(
    c: int,
    first: int,
    ladder: PowerLadder,
    rules: Rules,
    data: Regression,
    desk: Desk,
    terms: Terms,
    screening: Screening,
) -> None:
    """Score the terms by the state of rung c.

    Of the terms in its structure that can go, those left out by turns begin with number `first`;
    `rules` are at the power of that rung.

    Mutates: desk, screening. Allocates: nothing.
    """
    screen_rung(c, first, ladder, rules, data, desk, terms, screening)


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
