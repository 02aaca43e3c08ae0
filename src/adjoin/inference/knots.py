"""Knots of hinges: where piecewise shapes may bend, taken from the training data.

Receives the functions that a user asks for, with ``hinge`` among them, and a `Dataset`; gives every
signal its own functions, which the grammar takes.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import HINGE, hinge_word
from adjoin.grammar.library import Functions, functions_by_signal

_STEP = 0.02  # of the standard deviation: too little to tell on data, and equations stay readable


def place_hinges(
    functions: Functions, data: Dataset, offset: Float1D, n_knots: int
) -> dict[str, tuple[str, ...]]:
    """Write out the hinges of each signal, at knots of its own, wherever ``hinge`` is asked for.

    Parameters
    ----------
    functions : str, iterable of str, or mapping of signal to those
        What is asked for; other words than ``hinge`` stay as they are.
    data : Dataset
        The training data, in the user's units.
    offset : (n_inputs + 1,) float64
        What is taken off the inputs and the output before they are modelled: knots are in the same
        deviations.
    n_knots : int
        How many knots to look for in each signal.
    """
    signals = data.names.ordered[:-1]
    asked = functions_by_signal(functions, signals)
    found, bare = {}, []
    for signal, series in zip(signals, data.lag_table(0).value - offset[:, None], strict=True):
        hinges = [hinge_word(c) for c in quantile_knots(series, n_knots)]
        found[signal] = tuple(
            word for name in asked[signal] for word in (hinges if name == HINGE else [name])
        )
        if HINGE in asked[signal] and not hinges:
            bare.append(signal)
    if not bare:
        return found
    reason = f"no quantile of {', '.join(bare)} lies between the smallest and the largest value"
    if len(bare) == sum(HINGE in words for words in asked.values()):
        raise AdjoinError(f"there is no place for hinges: {reason}; leave out functions='hinge'")
    warnings.warn(f"no hinges of {', '.join(bare)}: {reason}", stacklevel=5)
    return found


def quantile_knots(series: Float1D, n_knots: int) -> list[float]:
    r"""Knots at quantiles of a series, where max(x - c, 0) is neither 0 nor x - c throughout.

    .. math:: c_i = Q\left(\frac{i}{n + 1}\right), \quad i = 1, …, n, \qquad \min x < c_i < \max x

    with Q the smallest observed value at or below which that share of the samples lies; so a signal
    of two levels has no knot. Knots are rounded to a power of ten of at most 2 % of the standard
    deviation, which moves them by 1 % of it at most, and those that then coincide are one.

    Parameters
    ----------
    series : (n,) float64
    n_knots : int
        n, at least 1.
    """
    low, high, spread = float(series.min()), float(series.max()), float(series.std())
    if not (spread > 0.0 and low < high):
        return []
    share = np.arange(1, n_knots + 1) / (n_knots + 1)
    quantile = np.quantile(series, share, method="inverted_cdf")
    decimals = -math.floor(math.log10(_STEP * spread))
    rounded = [round(float(c), decimals) + 0.0 for c in quantile if low < c < high]
    return sorted({c for c in rounded if low < c < high})
