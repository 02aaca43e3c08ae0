"""Every tuple that crosses into compiled code, and the integer codes the kernels share.

Receives nothing; the stages above build these tuples, the kernels below read them. Arrays are
C-contiguous, int64 or float64.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Float1D = NDArray[np.float64]
Float2D = NDArray[np.float64]
Int1D = NDArray[np.int64]
Int2D = NDArray[np.int64]

# Unary functions an atom may carry. The codes are stored in arrays: append, never renumber.
IDENTITY = 0
ABS = 1
SIN = 2
COS = 3
TANH = 4
SIGN = 5
EXP = 6
SQRT_ABS = 7

# Which series a recursion feeds back: its own output (free run), or the one-step residual.
FREE_RUN = 0
ONE_STEP = 1


class SignalTable(NamedTuple):
    """All records of a data set, end to end, one row per signal.

    ``value`` : (n_signals, n_samples) inputs in declared order, then the output.
    ``start`` : (n_records + 1,) record ``r`` occupies columns ``start[r] : start[r + 1]``.
    ``first`` : (n_records,) first column of each record whose whole lag window lies inside it.
    """

    value: Float2D
    start: Int1D
    first: Int1D


class Program(NamedTuple):
    """One model as data, laid out for a recursion over time.

    *Known* rows are given for all times before the recursion starts; *fed-back* rows are produced
    by it: row 0 is the fed-back series, the others functions of it. Every term is its coefficient
    times a product of known atoms times a product of fed-back atoms. Terms are sorted by their
    number of fed-back atoms, and within that the *pure* ones, without known atoms, come before the
    *mixed* ones, so that the inner loops have no branches.

    ``theta`` : (n_terms,) coefficients.
    ``known_start`` : (n_terms + 1,) the known atoms of term ``j`` are ``known_start[j]`` up to
    ``known_start[j + 1]``.
    ``known_row``, ``known_lag`` : (n_known_atoms,).
    ``back_offset`` : (D, n_terms) with D the largest number of fed-back atoms, at least 3: atom
    number a of term j, of row r and lag l, as ``r * n_samples - l``: at time k it is
    ``back[k + back_offset[a, j]]``.
    ``group`` : (2 * D + 2,) ends of the groups: terms without fed-back atoms are
    ``group[0]`` up to ``group[1]``; with d of them, the pure are ``group[2d - 1]`` up to
    ``group[2d]`` and the mixed ``group[2d]`` up to ``group[2d + 1]``.
    ``back_function`` : (n_back_rows,) function code of each fed-back row.
    """

    theta: Float1D
    known_start: Int1D
    known_row: Int1D
    known_lag: Int1D
    back_offset: Int2D
    group: Int1D
    back_function: Int1D


class Recursion(NamedTuple):
    """The series a recursion reads and writes, all records end to end.

    ``known`` : (n_known_rows, n_samples).
    ``back`` : (n_back_rows * n_samples,) the fed-back rows end to end, seeded where given, written
    by the kernel elsewhere.
    ``measured`` : (n_samples,) the measured output, read in one-step mode only.
    ``noise`` : (n_samples,) added to every simulated sample in free-run mode.
    ``predicted`` : (n_samples,) output of the kernel.
    ``first``, ``stop`` : (n_records,) the stretch of columns to compute in each record.
    ``diverged`` : (n_records,) written: the first column that was lost to divergence, or -1.
    """

    known: Float2D
    back: Float1D
    measured: Float1D
    noise: Float1D
    predicted: Float1D
    first: Int1D
    stop: Int1D
    diverged: Int1D


# The nine moves; each odd one and the next undo each other. Counters and probabilities are stored
# in this order: append, never renumber.
STAY = 0
ADD_TERM = 1
REMOVE_TERM = 2
ADD_FACTOR = 3
REMOVE_FACTOR = 4
ADD_LAG = 5
REMOVE_LAG = 6
SWAP_INPUT = 7
SWAP_OUTPUT = 8
N_MOVES = 9

# What a proposal would do to the list of terms.
IMPOSSIBLE = 0
APPEND = 1
REPLACE = 2
REMOVE = 3

# Columns of the counters of moves, and entries of the counters of trouble.
PROPOSED = 0
POSSIBLE = 1
ACCEPTED = 2
SINGULAR = 0
SINGULAR_NOISE = 1
CROWDED = 2


class PriorTable(NamedTuple):
    """The prior of terms. Atoms are numbered in canonical order, degrees are indices.

    ``weight`` : (n_atoms,) w(a), summing to 1; 0 for atoms that occur in fixed terms only.
    ``cumulative`` : (n_atoms,) running sum of it.
    ``product`` : (max_degree + 1,) (1 - λ_m) · P(d) · d! of products of any atoms.
    ``power`` : (max_degree + 1,) λ_m · P(d) of pure powers.
    ``product_cumulative``, ``power_cumulative`` : (max_degree + 1,) running sums of the P(d).
    ``power_weight`` : λ_m.
    ``expected_terms`` : λ_t.
    """

    weight: Float1D
    cumulative: Float1D
    product: Float1D
    power: Float1D
    product_cumulative: Float1D
    power_cumulative: Float1D
    power_weight: float
    expected_terms: float


class MoveTable(NamedTuple):
    """Which move is tried how often, and what the lag and swap moves may turn an atom into.

    ``cumulative`` : (9,) running sum of the move probabilities.
    ``log_probability`` : (9,).
    ``n_choices``, ``choice_start`` : (9, n_atoms) the atoms that a move may put in an atom's place
    are the ``n_choices[move, atom]`` from ``choice[choice_start[move, atom]]`` on.
    ``n_fixed`` : how many terms at the head of every structure no move may touch.
    """

    cumulative: Float1D
    log_probability: Float1D
    n_choices: Int2D
    choice_start: Int2D
    choice: Int1D
    n_fixed: int


class Regression(NamedTuple):
    """The data of the one-step-ahead regression.

    ``series`` : (n_series, n_samples) every signal, plain or in a function, that an atom reads.
    ``row``, ``lag`` : (n_atoms,) atom a at time k is ``series[row[a], k - lag[a]]``.
    ``target`` : (n_samples,) the output.
    ``start``, ``stop`` : (n_blocks,) the columns to fit, in blocks of at most `ROWS` that end where
    a record ends.
    ``target_norm`` : ‖y‖ over the columns to fit.
    ``n_rows`` : their number.
    """

    series: Float2D
    row: Int1D
    lag: Int1D
    target: Float1D
    start: Int1D
    stop: Int1D
    target_norm: float
    n_rows: int


class Target(NamedTuple):
    """Hyperparameters of coefficients and noise, and the power of the likelihood.

    σ² ~ IG(noise_shape, noise_scale); σ_θ² is fixed if coefficient_shape is 0, otherwise
    σ_θ² ~ IG(coefficient_shape, coefficient_scale). ``thin``: every which sample is recorded.
    """

    noise_shape: float
    noise_scale: float
    power: float
    coefficient_shape: float
    coefficient_scale: float
    thin: int


class Rules(NamedTuple):
    """What a chain samples, and by which moves."""

    prior: PriorTable
    moves: MoveTable
    target: Target


class Chain(NamedTuple):
    """Everything a chain needs to continue, apart from its random generator.

    ``atom`` : (capacity, max_degree) the atoms of each term in ascending order, then -1.
    ``degree``, ``key`` : (capacity,) its number of atoms, and the integer that stands for it.
    ``theta`` : (capacity,) coefficients.
    ``variance`` : (2,) noise variance σ² and coefficient variance σ_θ².
    ``tally`` : (2,) number of terms, number of samples drawn so far.
    """

    atom: Int2D
    degree: Int1D
    key: Int1D
    theta: Float1D
    variance: Float1D
    tally: Int1D


class GramTable(NamedTuple):
    """Inner products of the terms met so far; a cache, and a pure function of the data.

    ``key``, ``degree`` : (capacity,), ``atom`` : (capacity, max_degree) the term in each slot.
    ``norm`` : (capacity,) ‖φ‖ of its column.
    ``target`` : (capacity,) correlation φ·y / (‖φ‖‖y‖) with the output.
    ``correlation`` : (capacity, capacity) φ_i·φ_j / (‖φ_i‖‖φ_j‖); NaN where not yet computed.
    ``used`` : (capacity,) the sample at which the slot was last looked at.
    ``bucket`` : (2^b,) hash of a key to its slot, -1 where empty; at least twice the capacity.
    ``size`` : (1,) number of slots taken.
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


class Fit(NamedTuple):
    """A structure as the regression sees it, and its factorised posterior.

    ``slot`` : (capacity,) of each term in the `GramTable`.
    ``norm``, ``target`` : (capacity,), ``correlation`` : (capacity, capacity) gathered from there.
    ``shrink``, ``spread`` : (capacity,) h and d of `kernels/osa.py`.
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


class Work(NamedTuple):
    """Scratch of one chain: two fits, the candidate term, buffers of one block of rows.

    ``atom`` : (max_degree,) the candidate. ``reduced`` : (max_degree,) a term with one atom less.
    ``weight`` : (max_degree,) of removable atoms. ``missing`` : (capacity,) slots to multiply with.
    ``column``, ``other`` : (ROWS,) a block of the candidate's column, and of another one.
    ``product`` : (capacity,) inner products under way. ``normal`` : (capacity,).
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


class Trace(NamedTuple):
    """What a block of samples leaves behind.

    A *segment* is a run of records with the same terms in the same order.

    ``n_terms``, ``is_new`` : (n_records,) number of terms; 1 where a segment begins.
    ``scalar`` : (n_records, 4) σ², σ_θ², log likelihood, log prior of the structure.
    ``theta`` : coefficients of all records end to end. ``key`` : terms of all segments end to end.
    ``cursor`` : (3,) how much of records, ``theta`` and ``key`` is written.
    ``move`` : (9, 3) moves proposed, possible and accepted. ``trouble`` : (3,) proposals refused
    because they could not be factorised, noise draws refused for it, structures with no room left.
    """

    n_terms: Int1D
    is_new: Int1D
    scalar: Float2D
    theta: Float1D
    key: Int1D
    cursor: Int1D
    move: Int2D
    trouble: Int1D
