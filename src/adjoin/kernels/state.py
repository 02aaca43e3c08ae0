"""The state of a chain, what it leaves behind, its rules, and the codes that kernels share.

Receives nothing; the stages above build these tuples, the kernels read them. Data and models as
laid out for kernels are in ``layouts``, tables and scratch in ``tables``, ladders in ``ladders``,
functions of atoms in ``register``. Arrays of all tuples are C-contiguous, int64 or float64; a
number that a kernel changes is an array of length 1.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D

# Which series a recursion feeds back: its own output (free run), or the one-step residual.
FREE_RUN = 0
ONE_STEP = 1

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

# The informed moves and flips, which have counters of their own: append, never renumber.
EXCHANGE = 0
BIRTH = 1
DEATH = 2
SWEEP = 3
FLIP = 4
N_INFORMED = 5

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

# What became of the fit of a structure: done; given up, as its error was foreseen to be far above
# all tolerances that would use it; impossible, as terms cannot be told apart or runs diverge.
FITTED = 0
GIVEN_UP = 1
UNFITTABLE = 2

# What a call of the ladder's kernel does. `RECORD`: everything is frozen, and the coldest rung is
# recorded. `ANNEAL`: widths adapt, and the distances of the coldest rung are kept. `DESCEND`:
# greedy, every rung refuses what is farther off than it is; no exchange. `POLISH`: coefficients of
# all rungs by their structure's own fit, nothing is drawn. `PROPOSE`: what a proposal leaves to
# decide is run to its end and handed out, for `decide_all`.
RECORD = 0
ANNEAL = 1
DESCEND = 2
POLISH = 3
PROPOSE = 4

# What became of proposals; entries of `Counters.saved`. `FITS` are those asked for: how many had to
# be made depends on what a table has forgotten, and is no part of a chain.
IMPOSSIBLE_MOVES = 0
REFUSED_UNGUIDED = 1
REFUSED_BY_RATIO = 2
SIMULATIONS = 3
COMPLETE = 4
STEPS = 5
FITS = 6
PROPOSALS = 7
N_SAVED = 8


class Chain(NamedTuple):
    """Everything a chain needs to continue, apart from its random generator.

    ``atom`` : (capacity, max_degree) the atoms of each term in ascending order, then -1.
    ``degree``, ``key`` : (capacity,) its number of atoms, and the integer that stands for it.
    ``theta`` : (capacity,) coefficients.
    ``noise``, ``coefficient`` : (1,) the variances σ² and σ_θ².
    ``n_terms``, ``n_drawn`` : (1,) number of terms, number of samples drawn so far.

    Where there are several rungs, every array has the rung as its first axis.
    """

    atom: Int2D
    degree: Int1D
    key: Int1D
    theta: Float1D
    noise: Float1D
    coefficient: Float1D
    n_terms: Int1D
    n_drawn: Int1D


class Cursor(NamedTuple):
    """How much of a trace is written: draws, coefficients, keys; (1,) each."""

    n_draws: Int1D
    n_theta: Int1D
    n_keys: Int1D


class Trace(NamedTuple):
    """What a block of samples leaves behind.

    A *segment* is a run of draws with the same terms in the same order.

    ``n_terms``, ``is_new`` : (n_draws,) number of terms; 1 where a segment begins.
    ``noise``, ``coefficient`` : (n_draws,) variances σ² and σ_θ². ``log_lik``, ``log_prior`` :
    (n_draws,) of the draw, and of its structure. ``own`` : (n_draws, 2) what one engine alone has:
    the distance of the free run, or the ρ of coloured noise.
    ``theta`` : coefficients of all draws end to end. ``key`` : terms of all segments end to end.
    ``cursor`` : how much of it is written.
    ``move`` : (9, 3) moves proposed, possible and accepted. ``trouble`` : (3,) proposals refused
    because they could not be factorised, noise draws refused for it, structures with no room left.
    """

    n_terms: Int1D
    is_new: Int1D
    noise: Float1D
    coefficient: Float1D
    log_lik: Float1D
    log_prior: Float1D
    own: Float2D
    theta: Float1D
    key: Int1D
    cursor: Cursor
    move: Int2D
    trouble: Int1D


class PriorTable(NamedTuple):
    """The prior of terms. Atoms are numbered in canonical order, degrees are indices.

    ``weight`` : (n_atoms,) w(a), summing to 1; 0 for atoms that occur in fixed terms only.
    ``cumulative`` : (n_atoms,) running sum of it.
    ``product`` : (max_degree + 1,) (1 - λ_m) · P(d) · d! of products of any atoms.
    ``power`` : (max_degree + 1,) λ_m · P(d) of pure powers.
    ``product_cumulative``, ``power_cumulative`` : (max_degree + 1,) running sums of the P(d).
    ``power_weight`` : λ_m.
    ``expected_terms``, ``terms_shape`` : λ_t; if the second is not 0, λ_t has a Gamma prior of that
    shape and of mean ``expected_terms``, and is integrated out.
    ``constant_odds`` : prior odds of the constant. ``constant_share`` : how many of the additions
    of a term propose it; 0 where there is none to add.
    ``clash`` : (n_atoms, n) up to n atoms that an atom never stands beside, then -1; terms with
    such a pair are spelled otherwise and have p(t) = 0. ``product`` and ``power`` are divided by
    the mass of all others, so that these sum to 1.
    """

    weight: Float1D
    cumulative: Float1D
    product: Float1D
    power: Float1D
    product_cumulative: Float1D
    power_cumulative: Float1D
    power_weight: float
    expected_terms: float
    terms_shape: float
    constant_odds: float
    constant_share: float
    clash: Int2D


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


class Target(NamedTuple):
    """Hyperparameters of coefficients and noise, and the power of the likelihood.

    σ² ~ IG(noise_shape, noise_scale); σ_θ² is fixed if coefficient_shape is 0, otherwise
    σ_θ² ~ IG(coefficient_shape, coefficient_scale). ``thin``: every n-th sample is recorded.
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
