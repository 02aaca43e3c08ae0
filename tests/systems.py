"""Small simulated systems, and posteriors written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoin import Dataset, Grammar, Identifier, Model, Posterior, Structure
from adjoin.grammar.encoding import Encoding
from adjoin.inference.problem import Problem
from adjoin.inference.settings import RUNAWAY, RunSettings
from adjoin.inference.traces import ChainTrace
from adjoin.results.run import Run

LINEAR = "y(k) = 0.5*u(k-1) + 0.6*y(k-1)"

BEHIND = "ignore:chain . is left out. it met nothing within the tolerance"
"""A filter of warnings: of short free-run chains some find nothing near what others have found."""


def simulated(
    equation: str = LINEAR, n: int = 400, noise: float = 0.1, seed: int = 0, n_inputs: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Standard normal inputs, and the output with white noise fed back."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal((n, n_inputs) if n_inputs > 1 else n)
    return u, Model.parse(equation).simulate(u, noise=noise * rng.standard_normal(n))


def quick(**changed: Any) -> Identifier:
    """An Identifier that takes a fraction of a second."""
    settings = {"samples": 2000, "chains": 2, "max_lag": 2, "max_degree": 2, "seed": 0}
    return Identifier(**{**settings, **changed})


Drawn = tuple[str, Sequence[float], float]
"""One recorded draw: structure, coefficients in canonical order of the terms, noise variance."""


def by_hand(
    data: Dataset, chains: Sequence[Sequence[Drawn]], grammar: Grammar, **changed: Any
) -> Posterior:
    """A posterior of these draws; by default in the user's units and without burn-in."""
    encoding = Encoding(grammar.alphabet)
    traces = tuple(_trace(encoding, records) for records in chains)
    settings = {"burn_in": 0.0, "likelihood_power": 1.0} | changed.pop("settings", {})
    settings |= {name: changed.pop(name) for name in ("burn_in",) if name in changed}
    if "power" in changed:
        settings["likelihood_power"] = changed.pop("power")
    is_residual = settings.get("initial_mode") == "residual"
    runaway, scaling = settings.get("runaway", RUNAWAY), changed.pop("scaling", None)
    problem = Problem(data, grammar.alphabet, scaling, is_residual, runaway)
    numbers = changed.pop("chain_numbers", ())
    return Posterior(traces, Run(grammar, problem, RunSettings(**settings), **changed), numbers)


def _trace(encoding: Encoding, records: Sequence[Drawn]) -> ChainTrace:
    number: dict[tuple[int, ...], int] = {}
    keys = [
        tuple(map(encoding.key, Structure.parse(text, encoding.names))) for text, _, _ in records
    ]
    theta = [float(value) for _, values, _ in records for value in values]
    n = len(records)
    return ChainTrace(
        structure=np.array([number.setdefault(key, len(number)) for key in keys]),
        structures=list(number),
        theta=np.array(theta),
        offset=np.cumsum([0, *map(len, keys)]),
        noise=np.array([noise for _, _, noise in records], dtype=float),
        coefficient=np.ones(n),
        log_lik=np.zeros(n),
        log_prior=np.zeros(n),
        move=np.zeros((9, 3), dtype=np.int64),
        trouble=np.zeros(3, dtype=np.int64),
        n_samples=n,
    )
