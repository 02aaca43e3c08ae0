"""Every tuple that crosses into compiled code, and the integer codes the kernels share.

Receives nothing; the stages above build these tuples, the kernels below read them. Arrays are
C-contiguous, int64 or float64.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D

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
    ``back_function``, ``back_scale`` : (n_back_rows,) each fed-back row is the function with this
    code of the fed-back series times this scale.
    """

    theta: Float1D
    known_start: Int1D
    known_row: Int1D
    known_lag: Int1D
    back_offset: Int2D
    group: Int1D
    back_function: Int1D
    back_scale: Float1D


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
    ``output`` : (n_samples,) the measured output y.
    ``target`` : (n_samples,) what the free terms have to explain: y less the pinned terms.
    ``start``, ``stop`` : (n_blocks,) the columns to fit, in blocks of at most `ROWS` that end where
    a record ends.
    ``output_norm``, ``target_norm`` : their lengths over the columns to fit.
    ``n_rows`` : the number of these.
    ``pinned_key``, ``pinned_theta`` : (n_pinned,) the terms whose coefficients are not learned, the
    first of every structure, and these coefficients. Their columns count as zero.
    """

    series: Float2D
    row: Int1D
    lag: Int1D
    output: Float1D
    target: Float1D
    start: Int1D
    stop: Int1D
    output_norm: float
    target_norm: float
    n_rows: int
    pinned_key: Int1D
    pinned_theta: Float1D


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
    ``scalar`` : (n_records, 5) σ², σ_θ², log likelihood, log prior of the structure, distance.
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


class FreeRun(NamedTuple):
    """Free runs of any structure: one `Program` that is filled anew for each, and its series.

    ``back_row`` : (n_atoms,) the fed-back row that an atom of the output reads; -1 for the others.
    ``program`` : with room for every structure. ``order`` : (capacity,) which term of the structure
    lies at each place of the program.
    ``data`` : seeded with the measured output. ``gain`` : (capacity + 1, BLOCK).
    ``max_lag`` : the largest lag of an atom of the output.
    """

    back_row: Int1D
    program: Program
    order: Int1D
    data: Recursion
    gain: Float2D
    max_lag: int


class Linearised(NamedTuple):
    """Workspace of a free-run least-squares fit.

    ``slope`` : (max_lag + BLOCK, capacity) ∂y(k)/∂θ_j of a block, after the lags before it.
    ``column`` : (capacity, BLOCK) the terms' values, then their slopes.
    ``feedback`` : (max_lag + 1, BLOCK) ∂f(k)/∂y(k - l), one row for each lag that occurs; ``lag``
    and ``slot`` : (max_lag + 1,) the lag of each row, and the row of each lag.
    ``product``, ``known`` : (BLOCK,) parts of one term.
    ``normal``, ``factor`` : (capacity, capacity) JᵀJ with its diagonal taken out, and its factor.
    ``gradient``, ``length``, ``step``, ``trial`` : (capacity,) Jᵀr, the roots of the diagonal, and
    steps under way.
    """

    slope: Float2D
    column: Float2D
    feedback: Float2D
    lag: Int1D
    slot: Int1D
    product: Float1D
    known: Float1D
    normal: Float2D
    factor: Float2D
    gradient: Float1D
    length: Float1D
    step: Float1D
    trial: Float1D


class FitTable(NamedTuple):
    """Free-run fits by structure; a cache, and a pure function of the structure and the data.

    ``bucket`` : (2^b,) hash of a structure to its entry, -1 where empty.
    ``n_terms``, ``first_key``, ``first_value`` : (n_entries,) where an entry lies in the pools: its
    keys, ascending, and the order of its values; then coefficients, lengths, and the rows of the
    upper factor.
    ``scalar`` : (n_entries, 3) squared error at the optimum, the error that was foreseen when it
    was highest, and the log determinant of the factor.
    ``key``, ``value`` : the pools. ``size`` : (3,) how much of entries and pools is taken.
    ``sorted`` : (capacity,) keys of a structure in ascending order; ``place`` : (capacity,) where
    each of them is in the structure.
    """

    bucket: Int1D
    n_terms: Int1D
    first_key: Int1D
    first_value: Int1D
    scalar: Float2D
    key: Int1D
    value: Float1D
    size: Int1D
    sorted: Int1D
    place: Int1D


class FitWork(NamedTuple):
    """Everything a free-run fit needs: one-step products, free runs, slopes, and the fits so far.

    ``scratch`` : one `Chain`, the structure under way with its terms by ascending key.
    """

    work: Work
    table: GramTable
    run: FreeRun
    linear: Linearised
    fits: FitTable
    scratch: Chain


# What a call of the ladder's kernel does, see `run_abc`.
RECORD = 0
ANNEAL = 1
DESCEND = 2
POLISH = 3
PROPOSE = 4

# What became of proposals; entries of `Ladder.saved`.
IMPOSSIBLE_MOVES = 0
REFUSED_UNGUIDED = 1
REFUSED_BY_RATIO = 2
SIMULATIONS = 3
COMPLETE = 4
STEPS = 5
FITS = 6
PROPOSALS = 7
N_SAVED = 8


class Ladder(NamedTuple):
    """The rungs of one chain, coldest first, each with its state and its proposal.

    ``state``, ``proposed`` : as `Chain`, every array with the rung as its first axis.
    ``best``, ``champion`` : one `Chain` each: the smallest distance met, the best fit met.
    ``tolerance``, ``distance``, ``width`` : (n_rungs,) ε, d, and the width of the random walk.
    ``level`` : (1,) squared error above which no rung is guided.
    ``error`` : (n_rungs,) squared error of each state. ``pending`` : (n_rungs, 3) of a proposal:
    whether it is to be simulated, its move, whether it is guided. ``ratio`` : (n_rungs, 2) the log
    ratio of prior and proposal so far, and the logarithm of the uniform that decides.
    ``tally`` : (n_rungs,) random-walk steps since the widths last began to adapt.
    ``move`` : (n_rungs, 9, 3) moves proposed, possible, accepted; ``guided`` : (n_rungs, 2) guided
    proposals and those accepted; ``swap`` : (n_rungs, 2) exchanges with the next rung, tried and
    made. ``saved`` : see the codes above.
    ``record`` : (4,) smallest distance; score and squared error of the champion; squared error of
    the best.
    ``cold`` : distances of the coldest rung in this stage. ``cursor`` : (1,) how many there are.
    """

    state: Chain
    proposed: Chain
    best: Chain
    champion: Chain
    tolerance: Float1D
    distance: Float1D
    width: Float1D
    level: Float1D
    error: Float1D
    pending: Int2D
    ratio: Float2D
    tally: Int1D
    move: Int2D
    guided: Int2D
    swap: Int2D
    saved: Int1D
    record: Float1D
    cold: Float1D
    cursor: Int1D


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
