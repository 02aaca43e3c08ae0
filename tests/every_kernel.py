"""Calls every kernel that Python calls, in the ways a user does.

As a program it prints how often machine code came from the cache, how often it was compiled, and
how many signatures each kernel has. Afterwards all of it is in the cache.
"""

from __future__ import annotations

import numpy as np
from tests.engines import prediction_engine

import adjoin
from adjoin.inference.search import Search
from adjoin.kernels import (
    abc,
    functions,
    gains,
    hashing,
    output_error,
    prior,
    refits,
    screening,
    simulate,
)
from adjoin.kernels import prediction as osa

KERNELS = (
    simulate.run_recursion,
    simulate.predict_ahead,
    functions.fill_function,
    osa.run_prediction,
    abc.run_abc,
    abc.decide_all,
    output_error.run_output_error,
    output_error.judge_rungs,
    output_error.refine_state,
    hashing.rehash,
    prior.draw_terms,
    prior.term_priors,
    screening.list_terms,
    screening.screen_state,
    screening.weigh_state,
    gains.look_over,
    gains.find_gains,
    refits.refit,
    refits.run_freely,
)


def _run_models() -> None:
    model = adjoin.Model.parse("y(k) = 0.5*u(k-1) + 0.1*abs(y(k-1))*e(k-1)")
    for u in (np.ones(9), np.ones(9).reshape(-1, 1), [1] * 9, np.ones(18)[::2]):
        model.simulate(u)
        model.predict(u, np.ones(9))
        model.predict(u, np.ones(9), steps_ahead=3)


def _run_chains() -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal((300, 2))
    y = u[:, 0] + 0.1 * rng.standard_normal(300)
    quick = {"samples": 300, "chains": 2, "seed": 0, "max_lag": 3, "progress": False}
    adjoin.Identifier(**quick).fit(u, y)
    narx = adjoin.Grammar.narx()
    chain = prediction_engine(adjoin.Dataset.from_arrays(u[:, 0], y), narx.alphabet).start(0)
    for _ in range(3):
        chain.advance(50)
        chain._make_room()
    _run_searches(adjoin.Dataset.from_arrays(u[:, 0], y), narx)
    more = adjoin.Identifier(**quick, initial="u1(k)", likelihood_power=0.5)
    more.fit([u, u[:50]], [y, y[:50]])
    annealed = quick | {"objective": "abc", "ladder": {"rungs": 3, "descent": 20}}
    adjoin.Identifier(**annealed).fit(u, y)
    adjoin.Identifier(**annealed, functions="tanh", initial="u1(k)").fit([u, u[:50]], [y, y[:50]])
    adjoin.Identifier(**annealed, distance=adjoin.distances.Histogram()).fit(u, y)
    for objective in ("simulation", "prediction"):
        path = {"objective": objective, "max_lag": 3, "max_degree": 2, "max_terms": 4}
        adjoin.forward_selection(u, y, **path)
        adjoin.forward_selection([u, u[:50]], [y, y[:50]], functions="tanh", **path)
    free = quick | {"objective": "simulation", "search": {"rungs": 2}}
    assert adjoin.Identifier(**free).fit(u, y).posterior_.map_model
    more = {"functions": "tanh", "initial": "u1(k)", "likelihood_power": 0.5}
    adjoin.Identifier(**free, **more).fit([u, u[:50]], [y, y[:50]])
    adjoin.Identifier(**quick, past_noise=True, search={"rungs": 2}).fit(u, y)
    adjoin.Prior().draw(narx)
    adjoin.Prior().inclusion(adjoin.Structure.parse("u(k)").terms[0], narx.alphabet)


def _run_searches(data: adjoin.Dataset, grammar: adjoin.Grammar) -> None:
    """Informed moves over a whole alphabet and over a part of it, with rungs and without."""
    for search in (Search(candidates=10), Search(candidates=10**3), Search(10, rungs=3)):
        engine = prediction_engine(data, grammar.alphabet, search=search, samples=100)
        engine.start(0).advance(100)


if __name__ == "__main__":
    _run_models()
    _run_chains()
    hits = sum(sum(kernel.stats.cache_hits.values()) for kernel in KERNELS)
    misses = sum(sum(kernel.stats.cache_misses.values()) for kernel in KERNELS)
    print(hits, misses, *(len(kernel.signatures) for kernel in KERNELS))
