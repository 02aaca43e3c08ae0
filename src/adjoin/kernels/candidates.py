"""Candidate terms of informed moves: the pool, what a sweep over it works in, and what it counts.

Receives nothing; the engine builds these tuples, ``informed`` and ``odds`` read and change them.
Where a pool is empty, nothing is informed.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D


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


class Sweep(NamedTuple):
    """Scratch of one sweep; symbols as in ``odds``.

    ``reach`` : (capacity, n) W. ``pivot``, ``lead``, ``direction`` : (n,) s, r and ω.
    ``shrink`` : (n,) h. ``offset`` : (n,) log p(t) - log d. ``weight`` : (n,) odds under way.
    ``factor`` : (capacity, capacity + 8) U. ``projection``, ``unit`` : (capacity,) v and g.
    ``candidate`` : (capacity,) which of the pool a row of the factor is, -1 if none; ``place`` :
    (capacity,) where its term stands in the chain.
    """

    reach: Float2D
    pivot: Float1D
    lead: Float1D
    direction: Float1D
    shrink: Float1D
    offset: Float1D
    weight: Float1D
    factor: Float2D
    projection: Float1D
    unit: Float1D
    candidate: Int1D
    place: Int1D


class Informed(NamedTuple):
    """All that informed moves need, and what they leave behind.

    ``inclusion`` : (n,) sum of the probabilities of being in, given all else, over ``n_averaged``
    : (1,) sweeps of the coldest rung. ``use`` : (n,) the same over all rungs.
    ``counter`` : (3, 3) exchanges, births and deaths proposed, possible and accepted.
    ``n_moves`` : how many a sweep makes.
    """

    pool: Pool
    sweep: Sweep
    inclusion: Float1D
    n_averaged: Int1D
    use: Float1D
    counter: Int2D
    n_moves: int
