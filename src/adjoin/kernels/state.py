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
