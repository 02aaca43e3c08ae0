"""The best structures that one-step chains have found, by their evidence.

Receives the trace of a chain; gives candidates to who compares units, and to stages of a run.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.grammar.terms import Structure
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.flips import Keys
from adjoin.inference.traces import ChainTrace

_MOST = 3  # structures of a chain whose evidence is worked out
_MOST_LOOKED_AT, _MOST_OF_CHAIN = 300, 24  # of a chain, in the search for leaders


class Candidate(NamedTuple):
    """A structure that a short run found, with its log prior and the σ_θ² it was found with."""

    structure: Structure
    log_prior: float
    coefficient: float


def log_evidence(engine: PredictionEngine, structure: Structure, coefficient: float) -> float:
    r"""The log evidence of a structure, coefficients and noise integrated out.

    .. math::
        \log \int σ^{-w n} \prod_i (1 + τ s_i²)^{-1/2} \exp\Big(-\frac{w}{2σ²}
        \Big(‖r‖² + \sum_i \frac{(u_i^T y)²}{1 + τ s_i²}\Big)\Big) p(σ²)\, dσ²

    with Φ = U S Vᵀ, r what Φ cannot explain of y, :math:`τ = w σ_θ²/σ²`, and σ_θ² the
    `coefficient`; by Laplace's method in :math:`\log σ²`. Up to what all structures share. Pinned
    terms are in y already.
    """
    from scipy.optimize import minimize_scalar

    problem, target = engine.problem, engine.rules.target
    rows, pinned = problem.rows, problem.pinned
    columns, output = rows.reduced(structure)
    if len(pinned):
        is_free = np.array([term not in pinned.terms for term in structure], dtype=bool)
        output = output - columns.T[~is_free].T @ problem.pinned_theta
        columns = columns.T[is_free].T
    # Of Φ and y side by side, so that the basis, as long as the record, need not be made.
    factor: Float2D = np.asarray(np.linalg.qr(np.column_stack([columns, output]), mode="r"))
    p, n, w = columns.shape[1], rows.n_rows, target.power
    left, size, _ = np.linalg.svd(factor[:p, :p])
    along, rest = left.T @ factor[:p, p], factor[p:, p]
    noise_shape, noise_scale, free = target.noise_shape, target.noise_scale, float(rest @ rest)

    def density(log_noise: float) -> float:
        noise = math.exp(log_noise)
        inflated = 1.0 + w * coefficient / noise * size**2
        error = free + float(np.sum(along**2 / inflated))
        return (
            -0.5 * w * (n * log_noise + error / noise)
            - 0.5 * float(np.log(inflated).sum())
            - noise_shape * log_noise
            - noise_scale / noise
        )

    least = (free + 2.0 * noise_scale) / n + np.finfo(float).tiny
    most = (float(output @ output) + 2.0 * noise_scale) / n + least
    bounds = math.log(least) - 2.0, math.log(most) + 2.0
    width = math.sqrt(2.0 / max(w * n, 1.0))  # of the peak, about
    found = minimize_scalar(lambda x: -density(x), bounds=bounds, options={"xatol": 0.01 * width})
    peak, step = float(found.x), 0.5 * width
    curve = (2.0 * density(peak) - density(peak - step) - density(peak + step)) / step**2
    return density(peak) + 0.5 * math.log(2.0 * math.pi / max(curve, 1e-12))


def guess_posterior(engine: PredictionEngine, trace: ChainTrace) -> Float1D:
    """Of each structure of one chain, by its likelihood and what each term costs at least."""
    n_terms = np.diff(trace.offset)
    guess = engine.power * trace.log_lik + trace.log_prior
    guess -= 0.5 * n_terms * math.log(max(engine.regression.n_rows, 1))
    best: Float1D = np.full(len(trace.structures), -np.inf)
    np.maximum.at(best, trace.structure, guess)
    return best


Valued = tuple[float, Keys]
"""How good a structure looks, and the keys of its terms."""


def leading_structures(engine: PredictionEngine, trace: ChainTrace) -> list[Valued]:
    """The leaders among those of one chain that look best."""
    guess = guess_posterior(engine, trace)
    order = np.argsort(-guess, kind="stable")[:_MOST_LOOKED_AT]
    found = [(float(guess[i]), trace.structures[i]) for i in order]
    return choose_leaders(found, _MOST_OF_CHAIN)


def choose_leaders(found: Iterable[Valued], most: int) -> list[Valued]:
    """The best, without those that one informed move reaches from a better one."""
    leaders: list[tuple[float, Keys, frozenset[int]]] = []
    for value, keys in sorted(found, key=lambda one: -one[0]):
        terms = frozenset(keys)
        if all(is_far(terms, leader) for _, _, leader in leaders):
            leaders.append((value, keys, terms))
            if len(leaders) == most:
                break
    return [(value, keys) for value, keys, _ in leaders]


def is_far(left: frozenset[int], right: frozenset[int]) -> bool:
    """Whether more than one informed move leads from one structure to another."""
    return max(len(left - right), len(right - left)) > 1


def best_candidates(engine: PredictionEngine, trace: ChainTrace) -> list[tuple[float, Candidate]]:
    """Those of one chain that look best, with how good they look."""
    best = guess_posterior(engine, trace)
    log_prior, coefficient = np.empty(len(best)), np.empty(len(best))
    log_prior[trace.structure] = trace.log_prior
    coefficient[trace.structure] = trace.coefficient
    return [
        (
            float(best[i]),
            Candidate(
                engine.encoding.structure(trace.structures[i]),
                float(log_prior[i]),
                float(coefficient[i]),
            ),
        )
        for i in np.argsort(-best)[:_MOST]
    ]


def best_structure(engine: PredictionEngine, trace: ChainTrace) -> tuple[float, Keys]:
    """The log posterior of the best structure of one chain, and the keys of its terms."""
    found = [
        (one.log_prior + log_evidence(engine, one.structure, one.coefficient), one.structure)
        for _, one in best_candidates(engine, trace)
    ]
    value, structure = max(found, key=lambda pair: pair[0])
    return value, tuple(engine.encoding.key(term) for term in structure)
