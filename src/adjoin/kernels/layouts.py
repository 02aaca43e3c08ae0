"""Data and models as they are laid out for kernels.

Receives nothing; ``modelling`` and ``inference`` build these tuples, the kernels read them.
"""

from __future__ import annotations

from typing import NamedTuple

from adjoin.arrays import Float1D, Float2D, Int1D, Int2D


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
    ``back_function``, ``back_scale``, ``back_shift`` : (n_back_rows,) each fed-back row is the
    function with this code of the fed-back series times this scale less this shift.
    """

    theta: Float1D
    known_start: Int1D
    known_row: Int1D
    known_lag: Int1D
    back_offset: Int2D
    group: Int1D
    back_function: Int1D
    back_scale: Float1D
    back_shift: Float1D


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
    ``lower``, ``upper`` : a computed sample outside of these is lost.
    """

    known: Float2D
    back: Float1D
    measured: Float1D
    noise: Float1D
    predicted: Float1D
    first: Int1D
    stop: Int1D
    diverged: Int1D
    lower: float
    upper: float


class FreeRun(NamedTuple):
    """Runs of any structure: one `Program` that is filled anew for each, and its series.

    ``mode`` : `FREE_RUN`, which feeds the output back, or `ONE_STEP`, which feeds back the residual
    as past noise, with the measured output among what is known.
    ``back_row`` : (n_atoms,) the fed-back row that an atom reads; -1 for atoms of what is known.
    ``program`` : with room for every structure. ``order`` : (capacity,) which term of the structure
    lies at each place of the program.
    ``data`` : seeded with the measured output, or with no noise. ``gain`` : (capacity + 1, BLOCK).
    ``max_lag`` : the largest lag of an atom that is fed back.
    """

    mode: int
    back_row: Int1D
    program: Program
    order: Int1D
    data: Recursion
    gain: Float2D
    max_lag: int


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
