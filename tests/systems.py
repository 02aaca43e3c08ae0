"""Small simulated systems, and posteriors written by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoin import Dataset, Grammar, Identifier, Model, Posterior, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.encoding import Encoding
from adjoin.inference.traces import ChainTrace

LINEAR = "y(k) = 0.5*u(k-1) + 0.6*y(k-1)"


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


Record = tuple[str, Sequence[float], float]
"""One recorded draw: structure, coefficients in canonical order of the terms, noise variance."""


def by_hand(
    data: Dataset, chains: Sequence[Sequence[Record]], grammar: Grammar, **changed: Any
) -> Posterior:
    """A posterior of these draws; by default in the user's units and without burn-in."""
    encoding = Encoding(grammar.alphabet)
    traces = tuple(_trace(encoding, records) for records in chains)
    settings = {"scaling": Scaling.identity(data.names), "burn_in": 0.0}
    return Posterior(traces, grammar, data=data, **{**settings, **changed})


def _trace(encoding: Encoding, records: Sequence[Record]) -> ChainTrace:
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
