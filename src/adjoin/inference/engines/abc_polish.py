"""Coefficients of one structure by its own free-run fit, without a chain.

Receives an `AbcSetup`; fits what it is given, one structure after another, on one workspace.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D
from adjoin.grammar.terms import Structure
from adjoin.inference.engines.abc_setup import AbcSetup
from adjoin.inference.engines.free_run_work import make_fit_work, make_free_run, make_ladder
from adjoin.inference.engines.workspace import as_rung, write_terms
from adjoin.inference.traces import make_buffer
from adjoin.kernels.abc import run_abc
from adjoin.kernels.state import POLISH


class Polish:
    """Finds where the squared error of a structure's free run is smallest."""

    def __init__(self, setup: AbcSetup) -> None:
        capacity, degree = setup.capacity, setup.encoding.max_degree
        self._setup = setup
        self._ladder = make_ladder(capacity, degree, n_rungs=1, n_cold=0, n_series=0)
        self._work = make_fit_work(make_free_run(setup.problem), capacity, degree)
        self._buffer = make_buffer(capacity)

    def __call__(self, structure: Structure, theta: Float1D, distance: float) -> Float1D:
        """The coefficients of the structure's fit, or θ if it, at this distance, is nearer."""
        setup, ladder = self._setup, self._ladder
        state = as_rung(ladder.rungs.state, 0)
        # In a chain's order fixed terms come first.
        known = setup.problem.alphabet.fixed.terms
        fixed = [term for term in structure if term in known]
        terms = [*fixed, *(term for term in structure if term not in fixed)]
        order = [structure.terms.index(term) for term in terms]
        write_terms(state, setup.encoding, terms)
        state.theta[: len(terms)] = np.asarray(theta)[order]
        ladder.tolerances.distance[:] = distance
        ladder.rungs.error[:] = distance * setup.target.unit
        generator = np.random.Generator(np.random.PCG64(0))  # of which nothing is drawn
        run_abc(
            generator, setup.rules, setup.regression, ladder, self._work, self._buffer, POLISH, 1
        )
        polished = np.empty(len(terms))
        polished[order] = state.theta[: len(terms)]
        return polished
