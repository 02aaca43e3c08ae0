"""Informed moves, flips and rungs against the exact posterior of alphabets that can be enumerated.

The problems and tests are those of ``test_exact_posterior``, and what its docstring says of false
alarms holds here. Informed draws are nearly independent, so that fewer of them do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.calibration.test_exact_posterior import (
    PROBLEMS,
    Size,
    assert_equal,
    largest_t,
    pytestmark,  # noqa: F401
)

from adjoin.inference.moves import Moves
from adjoin.inference.search import Search

STILL = Moves(1.0, *[0.0] * 8)
NAMES = ["constant", "two inputs", "fixed terms", "power", "hyperpriors", "weak"]
N_KNOWN = 8
"""Structures whose differences are flipped."""
# Informed moves alone, rungs or flips beside the nine moves, and all together.
SEARCHES = {
    "informed": (Search(candidates=20, moves=4, interval=1), STILL, Size(10, 8_000, 1, 500)),
    "rungs": (Search(rungs=2, hottest=0.4, interval=5), None, Size(10, 40_000, 5, 10_000)),
    "flips": (Search(flips=10, interval=5), None, Size(10, 40_000, 5, 10_000)),
    "all": (
        Search(candidates=20, moves=5, interval=1, rungs=2, hottest=0.5, flips=5),
        None,
        Size(10, 6_000, 1, 500),
    ),
}
MANY = {"two inputs": 3}
"""Problems whose posterior is spread over many structures: so many times the batches."""


FLIPPED = ["constant", "fixed terms", "hyperpriors"]
"""Problems that are flipped beside the nine moves alone; all of them are with all."""


@pytest.mark.parametrize(
    ("name", "kind"), [(n, k) for n in NAMES for k in SEARCHES if k != "flips" or n in FLIPPED]
)
def test_frequencies_equal_the_exact_posterior(name: str, kind: str) -> None:
    search, moves, size = SEARCHES[kind]
    size = replace(size, n_batches=size.n_batches * MANY.get(name, 1))
    problem = PROBLEMS[name]
    n_known = N_KNOWN if search.flips else 0
    exact, run = problem.exact(), problem.batches(size, search, moves, n_known)
    assert_equal(run, exact, size.n_recorded, least=60)
    if search.candidates:
        is_free = np.arange(len(problem.terms)) >= len(problem.law.fixed)
        largest, limit = largest_t(run.inclusion[:, is_free], exact.inclusion[is_free])
        assert largest < limit
