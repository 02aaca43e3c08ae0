r"""Flips: groups of terms that stand in for each other, exchanged as a whole.

Two equations that explain a record equally well often differ in several terms at once, and every
structure between them is far worse. Informed moves change one term, so they stay with one of the
two. A *group* g is a pair of disjoint sets of terms :math:`(A_g, B_g)`, the difference of two
structures that were found before; it is *possible* in T where one of the two is in T as a whole and
the other not at all. With σ² and σ_θ² as they are, the flip

.. math:: T' = T ∖ A_g ∪ B_g \quad\text{or}\quad T' = T ∖ B_g ∪ A_g

is accepted with probability

.. math:: \min\Big(1, \frac{p(T')\, p(y|T', σ²)^w}{p(T)\, p(y|T, σ²)^w}\Big)

Groups are drawn with the same probability in every state, the same group leads back, and only to
where it came from: the proposal is its own reverse. No Jacobian: coefficients are integrated out.
Groups are given before a chain begins, so that they depend on nothing that it draws.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.kernels._jit import kernel
from adjoin.kernels.draw import draw_index
from adjoin.kernels.edits import apply_edit, copy_state
from adjoin.kernels.evidence import evaluate_present, gather_fit
from adjoin.kernels.layouts import Regression
from adjoin.kernels.prior import log_prior_structure
from adjoin.kernels.state import (
    ACCEPTED,
    APPEND,
    FLIP,
    POSSIBLE,
    PROPOSED,
    REMOVE,
    Chain,
    Rules,
)
from adjoin.kernels.tables import Desk, Flips, Work


@kernel()
def find_term(chain: Chain, key: int) -> int:
    """Where a term stands in the chain; -1 if nowhere.

    Mutates: nothing. Allocates: nothing.
    """
    for i in range(chain.n_terms[0]):
        if chain.key[i] == key:
            return i
    return -1


@kernel()
def mark_terms(chain: Chain, flips: Flips) -> None:
    """Note which terms of groups are in.

    Mutates: flips.is_in. Allocates: nothing.
    """
    for t in range(flips.key.shape[0]):
        flips.is_in[t] = 1 if find_term(chain, flips.key[t]) >= 0 else 0


@kernel()
def side_of(flips: Flips, g: int) -> int:
    """Which side of a group is in: 0 the first, 1 the second, -1 where it is not possible.

    Mutates: nothing. Allocates: nothing.
    """
    edge = flips.edge
    side = -1
    for s in range(2):
        begin, end = edge[2 * g + s], edge[2 * g + s + 1]
        for i in range(begin, end):
            is_in = flips.is_in[flips.member[i]]
            found = s if is_in == 1 else 1 - s
            if side >= 0 and found != side:
                return -1
            side = found
    return side


@kernel()
def flip_group(chain: Chain, flips: Flips, g: int, side: int, work: Work) -> bool:
    """Take the terms of one side out and put those of the other in; False if there is no room.

    Mutates: chain, work. Allocates: nothing.
    """
    edge, member = flips.edge, flips.member
    out, into = 2 * g + side, 2 * g + 1 - side
    n_after = chain.n_terms[0] - (edge[out + 1] - edge[out]) + (edge[into + 1] - edge[into])
    if n_after > chain.key.shape[0]:
        return False
    for i in range(edge[out], edge[out + 1]):
        place = find_term(chain, flips.key[member[i]])
        apply_edit(chain, REMOVE, place, 0, 0, work)
    for i in range(edge[into], edge[into + 1]):
        t = member[i]
        for a in range(flips.degree[t]):
            work.atom[a] = flips.atom[t, a]
        apply_edit(chain, APPEND, chain.n_terms[0], flips.degree[t], flips.key[t], work)
    return True


@kernel()
def try_flips(
    rng: np.random.Generator, chain: Chain, rules: Rules, data: Regression, desk: Desk
) -> None:
    """Propose flips one after another, each decided on its own.

    The fit in ``desk.work``, its factor and ``desk.log_evidence`` must be of the present state, and
    are again. There must be room in the table for all terms of groups.

    Mutates: rng, chain, desk. Allocates: nothing.
    """
    flips, work, before = desk.flips, desk.work, desk.informed.before
    counter, n_fixed = desk.informed.counter[FLIP], rules.moves.n_fixed
    n_groups, is_present = flips.edge.shape[0] // 2, True
    log_prior = log_prior_structure(rules.prior, chain, n_fixed)
    mark_terms(chain, flips)
    for attempt in range(flips.n_tries + 1 if n_groups > 0 else 0):
        is_last, log_uniform = attempt == flips.n_tries, 0.0
        if is_last and is_present:
            break
        if not is_last:
            g = draw_index(rng, n_groups)
            counter[PROPOSED] += 1
            side = side_of(flips, g)
            if side < 0:
                continue
            copy_state(chain, before)
            if not flip_group(chain, flips, g, side, work):
                continue
            counter[POSSIBLE] += 1
            log_uniform = math.log(1.0 - rng.random())
        gather_fit(chain, data, desk.table, work)
        found = evaluate_present(chain, rules.target.power, data, desk.table, work)
        if is_last:  # what was refused before had left its own fit there
            break
        log_prior_found = log_prior_structure(rules.prior, chain, n_fixed)
        is_present = log_uniform < found + log_prior_found - desk.log_evidence[0] - log_prior
        if is_present:
            counter[ACCEPTED] += 1
            desk.log_evidence[0], log_prior = found, log_prior_found
            mark_terms(chain, flips)
        else:
            copy_state(before, chain)
