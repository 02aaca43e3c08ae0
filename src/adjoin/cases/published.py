"""The shape of printed figures: the paper's scores and parameters, and what others reached.

Receives nothing; the modules of the cases fill it, and the tables put it beside ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Scores:
    """One row of the paper's Table ``cs1``, ``cs2`` or ``cbt_nmse``; None: it has no such column.

    Four NMSE in percent, hours per chain, chains (of 4) that found the truth, the truth's mass, the
    median number of terms, and the RMSE in mV.
    """

    selected_map: float | None = None
    selected_fwd: float | None = None
    pooled_map: float | None = None
    pooled_fwd: float | None = None
    hours: float | None = None
    n_recovered: int | None = None
    mass: float | None = None
    n_terms: float | None = None
    rmse_mv: float | None = None


@dataclass(frozen=True)
class Estimate:
    """A posterior mean and its 95 % interval, None where none is printed."""

    mean: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Result:
    """What a method reached on the main test set, in the measure of its case."""

    method: str
    value: float


@dataclass(frozen=True)
class Literature:
    """What others reached on a case.

    Parameters
    ----------
    results : tuple of Result
    data : str
        On which data.
    our_data : str or None
        What stands there for ours; None: the label of the training part.
    is_ranked : bool
        Whether the data are the same, so that theirs and ours have an order.
    note : str
        What else has to be said.
    """

    results: tuple[Result, ...]
    data: str = "as published"
    our_data: str | None = None
    is_ranked: bool = False
    note: str = ""


ScoreTable = Mapping[tuple[str, float, int], Scores]
"""Scores by objective, λ_t and number of the method (0 where methods have none)."""

ParameterTable = Mapping[tuple[str, float, str], Estimate]
"""Estimates by objective, λ_t and term."""

N_CHAINS = 4
"""Of every setup of the paper."""
