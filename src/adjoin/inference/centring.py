r"""Whether signals are better centred, decided by evidence.

A polynomial in deviations from the means is another polynomial than one in the raw signals; both,
with a constant, are linear models of the same output. So they are compared as models are: by the
best posterior that a short run of one-step chains finds in either,

.. math:: \max_T \; \log p(T) + \log \int p(y \mid T, σ²)\, p(σ²)\, dσ²

coefficients integrated out. The short runs have a seed of their own, so that the choice is a
function of the data alone. Receives a problem in both units; gives the `Identifier` the better one.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Structure
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.progress import compiling, watching
from adjoin.inference.runner import run_chains, warm_up
from adjoin.inference.traces import ChainTrace

N_CHAINS, N_SAMPLES = 4, 5000
MARGIN = 2.0
"""Nats by which deviations must be better: a linear system has the same equation in both."""
_NO_MEAN = 1e-9  # of a standard deviation: what is left where a user has taken off the means
_SEED = 0
_MOST = 3  # structures of a chain whose evidence is worked out,
_BEHIND = 100.0  # unless a guess, good to some ten nats, has them so far behind the best


def has_means(data: Dataset) -> bool:
    """Whether deviations from the means differ from the raw signals by more than rounding."""
    scaling = Scaling.from_dataset(data, center=True, scale=True)
    return bool((np.abs(scaling.offset) > _NO_MEAN * scaling.scale).any())


def log_evidence(engine: PredictionEngine, structure: Structure, coefficient: float) -> float:
    r"""The log evidence of a structure, coefficients and noise integrated out.

    .. math::
        \log \int σ^{-w n} \prod_i (1 + τ s_i²)^{-1/2} \exp\Big(-\frac{w}{2σ²}
        \Big(‖r‖² + \sum_i \frac{(u_i^T y)²}{1 + τ s_i²}\Big)\Big) p(σ²)\, dσ²

    with Φ = U S Vᵀ, r what Φ cannot explain of y, :math:`τ = w σ_θ²/σ²`, and σ_θ² the
    `coefficient`; by Laplace's method in :math:`\log σ²`. Up to what all structures share.
    """
    from scipy.optimize import minimize_scalar

    problem, target = engine.problem, engine.rules.target
    output, columns = problem.rows.fitted, problem.rows.design(structure)
    # Of Φ and y side by side, so that the basis, as long as the record, need not be made.
    factor: Float2D = np.asarray(np.linalg.qr(np.column_stack([columns, output]), mode="r"))
    p, n, w = len(structure), len(output), target.power
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


class Candidate(NamedTuple):
    """A structure that a short run found, with its log prior and the σ_θ² it was found with."""

    structure: Structure
    log_prior: float
    coefficient: float


def compare_units(
    raw: PredictionEngine,
    centred: PredictionEngine,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> float:
    """By how much the best posterior of deviations exceeds that of raw signals, in nats.

    What either run has found is judged in both, so that luck in finding it decides nothing.
    """
    found = dict.fromkeys(
        [*find_candidates(raw, n_jobs, progress), *find_candidates(centred, n_jobs, progress)]
    )
    best = [
        max(one.log_prior + log_evidence(engine, one.structure, one.coefficient) for one in found)
        for engine in (raw, centred)
    ]
    return best[1] - best[0]


def find_candidates(
    engine: PredictionEngine, n_jobs: int | None = None, progress: bool | None = None
) -> list[Candidate]:
    """The best structures that a short run finds.

    Raises KeyboardInterrupt if it is interrupted: there is nothing to go on with.
    """
    with compiling(engine.kernel, progress):
        warm_up(engine)
    seed = np.random.SeedSequence(_SEED)
    with watching(progress, N_CHAINS, N_SAMPLES, "units") as observer:
        sampled = run_chains(engine, N_CHAINS, N_SAMPLES, seed, n_jobs, observer)
    if not sampled.is_complete:
        raise KeyboardInterrupt
    found = [one for trace in sampled.traces.values() for one in _best_of(engine, trace)]
    best = max(guess for guess, _ in found)
    return [one for guess, one in found if guess >= best - _BEHIND]


def _best_of(engine: PredictionEngine, trace: ChainTrace) -> list[tuple[float, Candidate]]:
    """The best of one chain, by their likelihood and what each term costs at least."""
    n_terms = np.diff(trace.offset)
    guess = engine.power * trace.log_lik + trace.log_prior
    guess -= 0.5 * n_terms * math.log(max(engine.regression.n_rows, 1))
    best: Float1D = np.full(len(trace.structures), -np.inf)
    np.maximum.at(best, trace.structure, guess)
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
