"""Candidate terms of informed moves: the pool, what a sweep over it works in, and what it counts.

Receives nothing; the engine builds these tuples, ``informed`` and ``odds`` read and change them.
Where a pool is empty, nothing is informed.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels.state import Chain


class Pool(NamedTuple):
    """The terms that informed moves choose from; fixed terms are not among them.

    ``key``, ``degree`` : (n,), ``atom`` : (n, max_degree) the terms.
    ``log_prior`` : (n,) log p(t); of the constant log o_1.
    ``slot`` : (n,) of each in the `ProductTable`, looked up by every sweep.
    ``row`` : (n,) its row in the factor of the structure; -1 where it is not in.
    """

    key: Int1D
    degree: Int1D
    atom: Int2D
    log_prior: Float1D
    slot: Int1D
    row: Int1D


class Odds(NamedTuple):
    """What is known of every candidate; all (n,), symbols as in ``odds``.

    ``pivot``, ``lead``, ``direction`` : s, r and ω. ``shrink``, ``spread`` : h and d.
    ``weight`` : odds under way.
    """

    pivot: Float1D
    lead: Float1D
    direction: Float1D
    shrink: Float1D
    spread: Float1D
    weight: Float1D


class Sweep(NamedTuple):
    """Scratch of one sweep; symbols as in ``odds``.

    ``reach`` : (capacity, n) W. ``odds`` : of the candidates.
    ``factor`` : (capacity, capacity + 8) U. ``projection``, ``unit`` : (capacity,) v and g.
    ``candidate`` : (capacity,) which of the pool a row of the factor is, -1 if none; ``place`` :
    (capacity,) where its term stands in the chain.
    ``left`` : (2,) R, the share of ‖y‖² that is not explained, and Σ log U_ii d_i.
    """

    reach: Float2D
    odds: Odds
    factor: Float2D
    projection: Float1D
    unit: Float1D
    candidate: Int1D
    place: Int1D
    left: Float1D


class Informed(NamedTuple):
    """All that informed moves need, and what they leave behind.

    ``before`` : the state before a sweep. ``reference``, ``penalty`` : (1,) the rung's
    reference variance σ_r², and κσ_r². ``slack`` : (1,) nats that a sweep is given when it is
    decided on: 0 for whatever counts.
    ``inclusion`` : (n,) sum of the probabilities of being in, given all else, over ``n_averaged``
    : (1,) states of the coldest rung. ``use`` : (n,) in how many proposed sweeps, of any rung, it
    was.
    ``counter`` : (5, 3) exchanges, births, deaths, whole sweeps and flips proposed, possible,
    accepted.
    ``n_moves`` : how many a sweep makes.
    """

    pool: Pool
    sweep: Sweep
    before: Chain
    reference: Float1D
    penalty: Float1D
    slack: Float1D
    inclusion: Float1D
    n_averaged: Int1D
    use: Int1D
    counter: Int2D
    n_moves: int
