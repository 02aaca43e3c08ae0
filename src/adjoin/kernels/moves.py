r"""The moves: each proposes a change of one term, and says what prior and proposal make of it.

Every ``propose_*`` leaves the changed term in ``work.atom`` and returns

    edit, index, degree, log_ratio

where `edit` says whether the term is appended, replaces term `index`, or term `index` goes, and

.. math:: log\_ratio = \log \frac{p(T')\; j(T' \to T)}{p(T)\; j(T \to T')}

(no Jacobian: coefficients are integrated out). A move that the state does not allow returns
`IMPOSSIBLE`. Terms before ``moves.n_fixed`` are never touched; *editable* are the others.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_index
from adjoin.kernels.prior import (
    draw_extension,
    draw_term,
    extension_weights,
    is_reduced,
    reduction_weights,
    term_prior,
    term_rate,
)
from adjoin.kernels.state import (
    ADD_FACTOR,
    ADD_TERM,
    APPEND,
    IMPOSSIBLE,
    REMOVE,
    REMOVE_FACTOR,
    REMOVE_TERM,
    REPLACE,
    Chain,
    MoveTable,
    PriorTable,
)
from adjoin.kernels.tables import Work
from adjoin.kernels.terms import contains, copy_without, insert_atom, multiplicity, term_key

Proposal = tuple[int, int, int, float]


@kernel()
def propose(
    rng: np.random.Generator,
    move: int,
    chain: Chain,
    prior: PriorTable,
    moves: MoveTable,
    work: Work,
) -> Proposal:
    """Propose a change by one of the moves; refuse a term that the structure has, or respells.

    Mutates: rng, work. Allocates: nothing.
    """
    if move == ADD_TERM:
        proposal = propose_add_term(rng, chain, prior, moves, work)
    elif move == REMOVE_TERM:
        proposal = propose_remove_term(rng, chain, prior, moves)
    elif move == ADD_FACTOR:
        proposal = propose_add_factor(rng, chain, prior, moves, work)
    elif move == REMOVE_FACTOR:
        proposal = propose_remove_factor(rng, chain, prior, moves, work)
    else:
        proposal = propose_change(rng, move, chain, prior, moves, work)
    edit, _, degree, log_ratio = proposal
    if edit in (APPEND, REPLACE):
        key = term_key(work.atom, degree, prior.weight.shape[0])
        is_spelled = is_reduced(prior, work.atom, degree)
        if not is_spelled or contains(chain, key) or log_ratio == -math.inf:
            return IMPOSSIBLE, 0, 0, -math.inf
    return proposal


@kernel()
def propose_add_term(
    rng: np.random.Generator, chain: Chain, prior: PriorTable, moves: MoveTable, work: Work
) -> Proposal:
    r"""Draw a term from its prior or, with probability c, the constant.

    Forward :math:`p_{at} (1 - c)\, p(t)`, reverse :math:`p_{rt} / m'`, prior
    :math:`λ_{m+1}\, p(t)`; of the constant forward :math:`p_{at}\, c` and prior :math:`o_1`:

    .. math:: \log \frac{r\, p_{rt}}{p_{at}\, m'}, \qquad
        r = \frac{λ_{m+1}}{1 - c} \;\text{or}\; \frac{o_1}{c}

    with m' editable terms after, m of them before that are not the constant.

    Mutates: rng, work. Allocates: nothing.
    """
    degree = 0
    if not (prior.constant_share > 0.0 and rng.random() < prior.constant_share):
        degree = draw_term(rng, prior, work.atom)
    n_after = chain.n_terms[0] - moves.n_fixed + 1
    n_counted = count_terms(chain, moves.n_fixed, 1, chain.atom.shape[1])
    log_ratio = (
        math.log(addition_rate(prior, degree, n_counted))
        + moves.log_probability[REMOVE_TERM]
        - moves.log_probability[ADD_TERM]
        - math.log(n_after)
    )
    return APPEND, chain.n_terms[0], degree, log_ratio


@kernel()
def addition_rate(prior: PriorTable, degree: int, n_counted: int) -> float:
    r"""How a term's prior exceeds its chance of being drawn: :math:`λ_{m+1}/(1 - c)`, or o_1/c.

    The second is of the constant, whose degree is 0; `n_counted` is m.

    Mutates: nothing. Allocates: nothing.
    """
    if degree == 0:
        return prior.constant_odds / prior.constant_share
    return term_rate(prior, n_counted) / (1.0 - prior.constant_share)


@kernel()
def propose_remove_term(
    rng: np.random.Generator, chain: Chain, prior: PriorTable, moves: MoveTable
) -> Proposal:
    r"""Drop one of the m editable terms, each equally likely.

    The reverse of `propose_add_term`, with r as there for the structure without the term:

    .. math:: \log (m\, p_{at} / (r\, p_{rt}))

    Mutates: rng. Allocates: nothing.
    """
    n_editable = chain.n_terms[0] - moves.n_fixed
    if n_editable == 0:
        return IMPOSSIBLE, 0, 0, -math.inf
    index = moves.n_fixed + draw_index(rng, n_editable)
    degree = chain.degree[index]
    n_counted = count_terms(chain, moves.n_fixed, 1, chain.atom.shape[1])
    n_counted -= 1 if degree > 0 else 0
    log_ratio = (
        math.log(n_editable)
        + moves.log_probability[ADD_TERM]
        - moves.log_probability[REMOVE_TERM]
        - math.log(addition_rate(prior, degree, n_counted))
    )
    return REMOVE, index, 0, log_ratio


@kernel()
def pick_term(
    rng: np.random.Generator, chain: Chain, n_fixed: int, lowest: int, highest: int
) -> tuple[int, int]:
    """One of the editable terms whose degree is in range, each equally likely, and their number.

    Draws only if there is one; else the index is -1.

    Mutates: rng. Allocates: nothing.
    """
    n_fit = 0
    for i in range(n_fixed, chain.n_terms[0]):
        if lowest <= chain.degree[i] <= highest:
            n_fit += 1
    if n_fit == 0:
        return -1, 0
    place = draw_index(rng, n_fit)
    for i in range(n_fixed, chain.n_terms[0]):
        if lowest <= chain.degree[i] <= highest:
            if place == 0:
                return i, n_fit
            place -= 1
    return -1, 0


@kernel()
def count_terms(chain: Chain, n_fixed: int, lowest: int, highest: int) -> int:
    """How many editable terms have their degree in range.

    Mutates: nothing. Allocates: nothing.
    """
    count = 0
    for i in range(n_fixed, chain.n_terms[0]):
        if lowest <= chain.degree[i] <= highest:
            count += 1
    return count


@kernel()
def propose_add_factor(
    rng: np.random.Generator, chain: Chain, prior: PriorTable, moves: MoveTable, work: Work
) -> Proposal:
    r"""Multiply one of the m editable terms of degree below the largest by an atom.

    Forward :math:`p_{af} / m · p(t·a)/Z(t)`, reverse :math:`p_{rf} / m' · p(t)/Z'(t·a)`, prior
    :math:`p(t·a) / p(t)`:

    .. math:: \log (m\, Z(t)\, p_{rf} / (m'\, Z'(t·a)\, p_{af}))

    with m' editable terms of degree 2 or more after.

    Mutates: rng, work. Allocates: nothing.
    """
    max_degree = prior.product.shape[0] - 1
    index, n_before = pick_term(rng, chain, moves.n_fixed, 1, max_degree - 1)
    if index < 0:
        return IMPOSSIBLE, 0, 0, -math.inf
    degree = chain.degree[index]
    total, _, power = extension_weights(prior, chain.atom[index], degree)
    if not total > 0.0:
        return IMPOSSIBLE, 0, 0, -math.inf
    new = draw_extension(rng, prior, chain.atom[index], degree, power / total)
    for i in range(degree):
        work.atom[i] = chain.atom[index, i]
    insert_atom(work.atom, degree, new)
    n_after = count_terms(chain, moves.n_fixed, 2, max_degree) + (1 if degree == 1 else 0)
    reverse = reduction_weights(prior, work.atom, degree + 1, work.reduced, work.weight)
    if not reverse > 0.0:
        return IMPOSSIBLE, 0, 0, -math.inf
    log_ratio = (
        math.log(n_before * total)
        + moves.log_probability[REMOVE_FACTOR]
        - math.log(n_after * reverse)
        - moves.log_probability[ADD_FACTOR]
    )
    return REPLACE, index, degree + 1, log_ratio


@kernel()
def propose_remove_factor(
    rng: np.random.Generator, chain: Chain, prior: PriorTable, moves: MoveTable, work: Work
) -> Proposal:
    r"""Divide one of the m' editable terms of degree 2 or more by one of its distinct atoms.

    Forward :math:`p_{rf} / m' · p(t/a)/Z'(t)`, reverse :math:`p_{af} / m · p(t)/Z(t/a)`, prior
    :math:`p(t/a) / p(t)`:

    .. math:: \log (m'\, Z'(t)\, p_{af} / (m\, Z(t/a)\, p_{rf}))

    with m editable terms of degree below the largest after.

    Mutates: rng, work. Allocates: nothing.
    """
    max_degree = prior.product.shape[0] - 1
    index, n_before = pick_term(rng, chain, moves.n_fixed, 2, max_degree)
    if index < 0:
        return IMPOSSIBLE, 0, 0, -math.inf
    degree = chain.degree[index]
    total = reduction_weights(prior, chain.atom[index], degree, work.reduced, work.weight)
    if not total > 0.0:
        return IMPOSSIBLE, 0, 0, -math.inf
    value, place, last = rng.random() * total, -1, 0
    for i in range(degree):
        if work.weight[i] > 0.0:
            last = i
            value -= work.weight[i]
            if value < 0.0 and place < 0:
                place = i
    if place < 0:
        place = last  # rounding left the sum a hair short of the total
    copy_without(chain.atom[index], degree, place, work.atom)
    n_after = count_terms(chain, moves.n_fixed, 1, max_degree - 1)
    n_after += 1 if degree == max_degree else 0
    reverse, _, _ = extension_weights(prior, work.atom, degree - 1)
    log_ratio = (
        math.log(n_before * total)
        + moves.log_probability[ADD_FACTOR]
        - math.log(n_after * reverse)
        - moves.log_probability[REMOVE_FACTOR]
    )
    return REPLACE, index, degree - 1, log_ratio


@kernel()
def count_changes(moves: MoveTable, move: int, atom: Int1D, degree: int) -> int:
    """How many atoms of a term, repeated ones repeated, a move can change.

    Mutates: nothing. Allocates: nothing.
    """
    count = 0
    for i in range(degree):
        if moves.n_choices[move, atom[i]] > 0:
            count += 1
    return count


@kernel()
def pick_atom(
    rng: np.random.Generator, move: int, chain: Chain, moves: MoveTable
) -> tuple[int, int, int]:
    """One of the atoms in editable terms that a move can change, each occurrence equally likely.

    Returns its term, its place there, and how many such occurrences there are. Draws only if there
    is one; else the term is -1.

    Mutates: rng. Allocates: nothing.
    """
    n_all = 0
    for i in range(moves.n_fixed, chain.n_terms[0]):
        n_all += count_changes(moves, move, chain.atom[i], chain.degree[i])
    if n_all == 0:
        return -1, 0, 0
    remaining = draw_index(rng, n_all)
    for i in range(moves.n_fixed, chain.n_terms[0]):
        for place in range(chain.degree[i]):
            if moves.n_choices[move, chain.atom[i, place]] > 0:
                if remaining == 0:
                    return i, place, n_all
                remaining -= 1
    return -1, 0, 0


@kernel()
def propose_change(
    rng: np.random.Generator,
    move: int,
    chain: Chain,
    prior: PriorTable,
    moves: MoveTable,
    work: Work,
) -> Proposal:
    r"""Change one atom of one term: a delay more or less, an input for an output or back.

    One of the N occurrences of atoms that the move can change is picked, each equally likely. It
    turns atom a into a', one of v(a) choices. With c the multiplicity of an atom in its term:
    forward :math:`p_{move} · c_a(t) / (N v(a))`, reverse
    :math:`p_{inverse} · c_{a'}(t') / (N' v'(a'))`, prior :math:`p(t')/p(t)`:

    .. math::
        \log \frac{p(t')\; p_{inverse}\; c_{a'}(t')\; N\; v(a)}
                  {p(t)\; p_{move}\; c_a(t)\; N'\; v'(a')}

    Mutates: rng, work. Allocates: nothing.
    """
    index, place, n_before = pick_atom(rng, move, chain, moves)
    if index < 0:
        return IMPOSSIBLE, 0, 0, -math.inf
    term, degree = chain.atom[index], chain.degree[index]
    old = term[place]
    n_old = moves.n_choices[move, old]
    choice = draw_index(rng, n_old) if n_old > 1 else 0
    new = moves.choice[moves.choice_start[move, old] + choice]
    copy_without(term, degree, place, work.atom)
    insert_atom(work.atom, degree - 1, new)
    density = term_prior(prior, work.atom, degree)
    if not density > 0.0:
        return IMPOSSIBLE, 0, 0, -math.inf
    inverse = move + 1 if move % 2 == 1 else move - 1  # moves are numbered in pairs
    n_after = count_changes(moves, inverse, work.atom, degree)
    for i in range(moves.n_fixed, chain.n_terms[0]):
        if i != index:
            n_after += count_changes(moves, inverse, chain.atom[i], chain.degree[i])
    forward = multiplicity(term, degree, old) * n_after * moves.n_choices[inverse, new]
    reverse = multiplicity(work.atom, degree, new) * n_before * n_old
    log_ratio = (
        math.log(density * reverse / (term_prior(prior, term, degree) * forward))
        + moves.log_probability[inverse]
        - moves.log_probability[move]
    )
    return REPLACE, index, degree, log_ratio
