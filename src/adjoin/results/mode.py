"""One structure of a posterior with its best coefficients.

Receives a `Posterior` and the number of a structure; computes the mode from the data, so that it
carries no Monte Carlo error, however rarely the structure was visited.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from adjoin.arrays import Float1D
from adjoin.grammar import Structure
from adjoin.grammar.terms import exponents
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.ladder import NMSE, Ladder
from adjoin.inference.problem import conditional_mode, design, least_squares
from adjoin.model import Model

if TYPE_CHECKING:
    from adjoin.posterior import Posterior


def mode_of(posterior: Posterior, number: int, structure: Structure) -> Model:
    """The structure that draws call `number`, with the mode of its coefficients.

    One step ahead that is the maximum of their full conditional at the structure's mean noise
    variance; of a free run it is where its squared error is smallest.
    """
    draws, scaling = posterior.draws, posterior.scaling
    chosen = np.flatnonzero(draws.structure == number)
    factor = np.array([scaling.coefficient_factor(exponents(term)) for term in structure])
    if posterior.is_free_run:
        theta = _nearest(posterior, chosen, structure, factor)
    else:
        columns, output = design(posterior.data, structure, posterior.max_lag, scaling)
        noise, spread = draws.noise[chosen].mean(), draws.coefficient[chosen].mean()
        theta, is_free = np.zeros(len(structure)), np.ones(len(structure), dtype=bool)
        if posterior.is_residual:
            fixed = posterior.grammar.alphabet.fixed
            is_free[:] = [term not in fixed.terms for term in structure]
            theta[~is_free] = least_squares(fixed, columns[:, ~is_free], output)
            output = output - columns @ theta
        theta[is_free] = conditional_mode(
            columns[:, is_free], output, float(noise), float(spread), posterior.power
        )
        theta = theta * factor
    noise_sd = float(np.sqrt(np.mean(draws.noise_sd[chosen] ** 2)))
    return Model(structure, tuple(theta), noise_sd, scaling.offsets)


def _nearest(
    posterior: Posterior, chosen: np.ndarray, structure: Structure, factor: Float1D
) -> Float1D:
    """The coefficients of the nearest free run; with a distance of the user's own, of the draws."""
    draws, distance = posterior.draws, posterior.distance[chosen]
    nearest = int(chosen[distance.argmin()])
    theta = draws.theta[draws.offset[nearest] : draws.offset[nearest + 1]]
    if posterior.settings.get("distance", NMSE) != NMSE:
        return theta
    engine = AbcEngine(
        posterior.data,
        posterior.grammar.alphabet,
        samples=1000,  # none is drawn
        prior=posterior.prior,
        ladder=Ladder(rungs=1),
        scaling=posterior.scaling,
        is_residual=posterior.is_residual,
    )
    return engine.polish(structure, theta / factor, float(distance.min())) * factor
