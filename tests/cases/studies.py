"""Small studies that several modules of tests look at, and what could have become of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from adjoin.cases.outcome import Row, Study
from adjoin.cases.scoring import NO_SCORE
from adjoin.cases.setups import Plan
from adjoin.cases.study import run_study

ACADEMIC = Plan("academic", ("prediction",), (5.0,), chains=2, n_jobs=1)


@cache
def academic_study() -> Study:
    """The academic case, one step ahead, λ_t = 5."""
    return run_study(ACADEMIC)


@cache
def wave_study() -> Study:
    """The waves, one step ahead, λ_t = 5."""
    return run_study(Plan("waves", ("prediction",), (5.0,), chains=2, n_jobs=1, curve=0))


def astray(row: Row) -> Row:
    """As if the free run of its selected chain had diverged on the test set."""
    name = next(iter(row.scores))
    scores = {**row.scores[name], "selected_map": NO_SCORE}
    return replace(row, scores={**row.scores, name: scores})
