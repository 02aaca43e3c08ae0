"""Ladders: rungs that exchange their states, and what the rungs of a tolerance ladder differ in.

Receives nothing; the engines build these tuples, the kernels read and change them. `Rungs` knows
nothing of what the rungs differ in: a ladder of tolerances and one of likelihood powers share it.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels.state import Chain, MoveTable, PriorTable


class Pending(NamedTuple):
    """What each rung has proposed and nobody has decided on yet; all (n_rungs,).

    ``is_open`` : 1 where it is to be simulated and decided. ``move`` : its move. ``is_guided`` : 1
    where its coefficients come from a fit. ``log_ratio`` : the log ratio of prior and proposal so
    far. ``log_uniform`` : the logarithm of the uniform that decides.
    """

    is_open: Int1D
    move: Int1D
    is_guided: Int1D
    log_ratio: Float1D
    log_uniform: Float1D


class Counters(NamedTuple):
    """What the rungs did.

    ``move`` : (n_rungs, 9, 3) moves proposed, possible, accepted; ``guided`` : (n_rungs, 2) guided
    proposals and those accepted; ``swap`` : (n_rungs, 2) exchanges with the next rung, tried and
    made. ``saved`` : (8,) what became of all proposals, see the codes in ``state``.
    """

    move: Int2D
    guided: Int2D
    swap: Int2D
    saved: Int1D


class Rungs(NamedTuple):
    """The rungs of one chain, coldest first, whatever they differ in.

    ``state``, ``proposed`` : as `Chain`, every array with the rung as its first axis.
    ``pending`` : of the proposals. ``error`` : (n_rungs,) squared error of each state.
    ``counters`` : what they did.
    """

    state: Chain
    proposed: Chain
    pending: Pending
    error: Float1D
    counters: Counters


class Walk(NamedTuple):
    """The random walk of coefficients; all (n_rungs,).

    ``width`` : of a step. ``n_steps`` : steps taken since the widths last began to adapt.
    """

    width: Float1D
    n_steps: Int1D


class Tolerances(NamedTuple):
    """What the rungs of a tolerance ladder differ in.

    ``tolerance``, ``distance`` : (n_rungs,) ε, and d of each state.
    ``level`` : (1,) squared error above which no rung is guided.
    ``cold`` : distances of the coldest rung in this stage; ``n_cold`` : (1,) how many there are.
    """

    tolerance: Float1D
    distance: Float1D
    level: Float1D
    cold: Float1D
    n_cold: Int1D


class Nearest(NamedTuple):
    """The state with the smallest distance met; ``distance``, ``error`` : (1,)."""

    state: Chain
    distance: Float1D
    error: Float1D


class Champion(NamedTuple):
    """The best structure fitted; ``score``, ``error`` : (1,) see `Entries`."""

    state: Chain
    score: Float1D
    error: Float1D


class Runs(NamedTuple):
    """Free runs of proposals, handed out where a distance is computed outside.

    ``series`` : (n_rungs, n_samples), without columns where it is not; ``error`` : (n_rungs,)
    squared errors, infinite where there is no run.
    """

    series: Float2D
    error: Float1D


class AbcLadder(NamedTuple):
    """A ladder of tolerances: the rungs, and all that is the ladder's own."""

    rungs: Rungs
    tolerances: Tolerances
    walk: Walk
    best: Nearest
    champion: Champion
    runs: Runs


class AbcTarget(NamedTuple):
    """What the ladder samples, and how it proposes.

    ``coefficient`` : σ_θ². ``birth_sd`` : σ_u. ``acceptance`` : what the widths aim at.
    ``guided`` : probability of a guided proposal. ``reach`` : by how much the ellipsoid of a guided
    proposal exceeds the linearised tolerance. ``unit`` : squared error per unit of distance.
    ``is_squared`` : whether the distance is a squared error. ``n_rows`` : samples it is of.
    ``swap_interval``, ``thin`` : in samples. ``n_pinned`` : how many coefficients are not learned.
    """

    coefficient: float
    birth_sd: float
    acceptance: float
    guided: float
    reach: float
    unit: float
    is_squared: bool
    n_rows: int
    swap_interval: int
    thin: int
    n_pinned: int


class AbcRules(NamedTuple):
    """What a tolerance ladder samples, and by which moves."""

    prior: PriorTable
    moves: MoveTable
    target: AbcTarget
