"""Tables of what was computed before, and the scratch that kernels compute in.

Receives nothing; the engines build these tuples empty, the kernels fill them.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D
from adjoin.kernels.candidates import Informed
from adjoin.kernels.layouts import FreeRun
from adjoin.kernels.state import Chain, Trace


class Remainder(NamedTuple):
    """What rounding left out of a `ProductTable`; see `kernels/remainders.py`.

    ``is_begun`` : (capacity,) 1 where a slot's remainders were asked for; elsewhere the others are
    not even initialised, and take no memory.
    ``target`` : (capacity,), ``correlation`` : (capacity, capacity) to be added to those of the
    table; NaN where not yet computed.
    ``square`` : (1,) what is lacking to 1 in ‖y‖² by the square of its length; NaN at first.
    """

    is_begun: Int1D
    target: Float1D
    correlation: Float2D
    square: Float1D


class ProductTable(NamedTuple):
    """Inner products of the terms met so far; a cache, and a pure function of the data.

    ``key``, ``degree`` : (capacity,), ``atom`` : (capacity, max_degree) the term in each slot.
    ``norm`` : (capacity,) ‖φ‖ of its column.
    ``target`` : (capacity,) correlation φ·y / (‖φ‖‖y‖) with the output.
    ``correlation`` : (capacity, capacity) φ_i·φ_j / (‖φ_i‖‖φ_j‖); NaN where not yet computed.
    ``used`` : (capacity,) the sample at which the slot was last looked at.
    ``bucket`` : (2^b,) hash of a key to its slot, -1 where empty; at least twice the capacity.
    ``size`` : (1,) number of slots taken.
    ``rest`` : what rounding left out of target and correlation.
    """

    key: Int1D
    degree: Int1D
    atom: Int2D
    norm: Float1D
    target: Float1D
    correlation: Float2D
    used: Int1D
    bucket: Int1D
    size: Int1D
    rest: Remainder


class Fit(NamedTuple):
    """A structure as the regression sees it, and its factorised posterior.

    ``slot`` : (capacity,) of each term in the `ProductTable`.
    ``norm``, ``target`` : (capacity,), ``correlation`` : (capacity, capacity) gathered from there.
    ``shrink``, ``spread`` : (capacity,) h and d of `kernels/evidence.py`.
    ``factor`` : (capacity, capacity) upper Cholesky factor.
    ``projection`` : (capacity,) the solution v of Uᵀv = b.
    """

    slot: Int1D
    norm: Float1D
    target: Float1D
    correlation: Float2D
    shrink: Float1D
    spread: Float1D
    factor: Float2D
    projection: Float1D


class Digits(NamedTuple):
    """Scratch for twice the digits: what the doubles beside it lack.

    ``factor`` : (capacity, capacity), ``projection``, ``normal`` : (capacity,) of the present fit.
    ``total``, ``total_rest`` : (ROWS,) sums under way.
    """

    factor: Float2D
    projection: Float1D
    normal: Float1D
    total: Float1D
    total_rest: Float1D


class Work(NamedTuple):
    """Scratch of one chain: two fits, the candidate term, buffers of one block of rows.

    ``atom`` : (max_degree,) the candidate. ``reduced`` : (max_degree,) a term with one atom less.
    ``weight`` : (max_degree,) of removable atoms. ``missing`` : (capacity,) slots to multiply with.
    ``column``, ``other`` : (ROWS,) a block of the candidate's column, and of another one.
    ``product`` : (capacity,) inner products under way. ``normal`` : (capacity,).
    ``digits`` : scratch for twice the digits.
    """

    current: Fit
    proposed: Fit
    atom: Int1D
    reduced: Int1D
    weight: Float1D
    missing: Int1D
    column: Float1D
    other: Float1D
    product: Float1D
    normal: Float1D
    digits: Digits


class Flips(NamedTuple):
    """Groups of terms that stand in for each other; see ``flips``.

    ``key``, ``degree`` : (n,), ``atom`` : (n, max_degree) all terms that take part in one.
    ``is_in`` : (n,) 1 where one is in the state under way.
    ``member`` : terms of the groups, as rows of these, end to end; ``edge`` : (2 n_groups + 1,) the
    two sides of group g begin at ``edge[2 g]`` and ``edge[2 g + 1]``.
    ``n_tries`` : how many are proposed at a time.
    """

    key: Int1D
    degree: Int1D
    atom: Int2D
    is_in: Int1D
    member: Int1D
    edge: Int1D
    n_tries: int


class Desk(NamedTuple):
    """What a chain of the prediction engine works with, and nothing that it is.

    ``informed`` : the pool and its sweeps. ``flips`` : groups of terms. ``trace`` : of the coldest
    rung; ``idle`` : takes the counts of the others. ``log_evidence`` : (1,) of the state that
    ``work`` is of.
    """

    table: ProductTable
    work: Work
    informed: Informed
    flips: Flips
    trace: Trace
    idle: Trace
    log_evidence: Float1D


class Slopes(NamedTuple):
    """The slopes of a free run over one block of time.

    ``slope`` : (max_lag + BLOCK, capacity) ∂y(k)/∂θ_j of the block, after the lags before it.
    ``column`` : (capacity, BLOCK) the terms' values, then their slopes.
    ``feedback`` : (max_lag + 1, BLOCK) ∂f(k)/∂y(k - l), one row for each lag that occurs; ``lag``
    and ``slot`` : (max_lag + 1,) the lag of each row, and the row of each lag.
    ``product``, ``known`` : (BLOCK,) parts of one term.
    """

    slope: Float2D
    column: Float2D
    feedback: Float2D
    lag: Int1D
    slot: Int1D
    product: Float1D
    known: Float1D


class Linearised(NamedTuple):
    """The linearised least-squares problem of a free run, in the order of its program.

    ``slopes`` : what it is made of. ``normal``, ``factor`` : (capacity, capacity) JᵀJ with its
    diagonal taken out, and its factor.
    ``gradient``, ``length``, ``step``, ``trial`` : (capacity,) Jᵀr, the roots of the diagonal, and
    steps under way.
    ``rho`` : (order,) J and r are filtered by 1 - Σ ρ_l q^-l; none if there is no order. ``tail`` :
    (2 order, capacity + 1) what the filter looks back at: the last slopes of the block before, and
    the last residuals; then those of this block.
    """

    slopes: Slopes
    normal: Float2D
    factor: Float2D
    gradient: Float1D
    length: Float1D
    step: Float1D
    trial: Float1D
    rho: Float1D
    tail: Float2D


class Entries(NamedTuple):
    """What is known of each structure in a `FitTable`; all (n_entries,).

    ``status`` : whether it is `FITTED`, was `GIVEN_UP`, or is `UNFITTABLE`. What follows holds for
    a fit that was done; ``foreseen`` also for one that was given up.
    ``error`` : squared error at the optimum. ``foreseen`` : the largest error that was foreseen on
    the way. ``log_det`` : log determinant of the factor. ``score`` : log posterior of the
    structure by its Laplace approximation, see `score_fit`. ``volume`` : see `Colour`; of modes.
    ``n_terms``, ``first_key``, ``first_value`` : where it lies in the pools.
    """

    status: Int1D
    error: Float1D
    foreseen: Float1D
    log_det: Float1D
    score: Float1D
    volume: Float1D
    n_terms: Int1D
    first_key: Int1D
    first_value: Int1D


class FitTable(NamedTuple):
    """Free-run fits by structure; a cache, and a pure function of the structure and the data.

    ``bucket`` : (2^b,) hash of a structure to its entry, -1 where empty. ``entry`` : the entries.
    ``key`` : a pool with the keys of every entry, ascending, and the order of its values;
    ``value`` : a pool with coefficients, lengths, and the rows of the upper factor.
    ``n_entries``, ``n_keys``, ``n_values`` : (1,) how much of entries and pools is taken.
    ``n_made`` : (1,) how many fits were made, those that are forgotten included.
    """

    bucket: Int1D
    entry: Entries
    key: Int1D
    value: Float1D
    n_entries: Int1D
    n_keys: Int1D
    n_values: Int1D
    n_made: Int1D


class Colour(NamedTuple):
    """What the residual v of a run says about the colour of its noise; see ``kernels/colours.py``.

    ``moment`` : (order + 1, order + 1) Σ_k v(k - a) v(k - b). ``rho`` : (order,) what predicts v
    best from its past. ``volume`` : (1,) half the log determinant of the past's moments.
    ``factor`` : (order, order) the upper factor of these. ``step`` : (order,) scratch.
    """

    moment: Float2D
    rho: Float1D
    volume: Float1D
    factor: Float2D
    step: Float1D


class FitWork(NamedTuple):
    """Everything a free-run fit needs: one-step products, free runs, slopes, and the fits so far.

    ``scratch`` : one `Chain`, the structure under way with its terms by ascending key.
    ``sorted`` : (capacity,) the keys of the structure that was looked up last, ascending;
    ``place`` : (capacity,) where each of them is in that structure.
    ``kept`` : (capacity,) coefficients of the best start so far.
    ``colour`` : of the noise of the run that was judged last.
    """

    work: Work
    table: ProductTable
    run: FreeRun
    linear: Linearised
    fits: FitTable
    scratch: Chain
    sorted: Int1D
    place: Int1D
    kept: Float1D
    colour: Colour
