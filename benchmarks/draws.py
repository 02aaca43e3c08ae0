"""Hashes of what chains draw, to show that a change of the code leaves every draw as it was.

Run it before and after, on the same machine, and compare the lines: hashes are of all bits, which
another processor may round differently (``tests/regression`` holds what any processor agrees on).
``python benchmarks/draws.py`` prints one line per setup: the traces, and what is made of them.
"""

from __future__ import annotations

import hashlib
import math
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import adjoin

CHAIN = (
    "structures structure theta offset noise coefficient log_lik log_prior move trouble n_samples"
)
LADDER = "distance tolerance floor width move guided swap reason"
FITS = 6  # among what was saved: in version 0.1 how many were made, which a cache had a say in


def _data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    u = rng.standard_normal((600, 2))
    y = np.zeros(600)
    for k in range(2, 600):
        y[k] = 0.6 * y[k - 1] - 0.2 * y[k - 2] + u[k - 1, 0] + 0.4 * u[k, 1] * abs(u[k, 1])
    return u, y + 0.05 * rng.standard_normal(600)


def setups() -> dict[str, tuple[dict[str, Any], Any, Any]]:
    """Settings, inputs and output by name: both engines, both rules, and what else there is."""
    u, y = _data()
    one, academic = u[:, :1], adjoin.datasets.academic(seed=0).train
    records = [u[:250], u[250:]], [y[:250], y[250:]]
    # The model class, the prior and the units of version 0.1, whose draws are held.
    first = {"constant_odds": 0.0, "lag_uniform": 0.0, "noise_scale": 1e-5}
    plain = {"prior": adjoin.Prior(**first), "center": False}
    osa = plain | {"samples": 4000, "chains": 2, "seed": 3, "max_lag": 4, "max_degree": 3}
    abc = osa | {"objective": "abc", "samples": 1500, "ladder": {"rungs": 5, "descent": 200}}
    hyper = adjoin.Prior(coefficient_shape=2.0, coefficient_scale=1.0, **first)
    many = adjoin.Prior(expected_terms=20, **first)
    known = {"initial": "u1(k-1)", "functions": "abs"}
    learned = adjoin.Prior(terms_shape=2.0, lag_uniform=0.2, constant_odds=0.5)
    return {
        "osa default": (osa | {"prior": "default", "center": None}, u, y),
        "osa learned": (osa | {"prior": learned}, u, y),
        "abc learned": (abc | {"prior": learned}, u, y),
        "osa academic": (
            plain | {"samples": 30_000, "chains": 2, "seed": 0},
            academic.u,
            academic.y,
        ),
        "osa paper prior": (osa | {"prior": "paper"}, u, y),
        "osa hyperprior": (osa | {"prior": hyper}, u, y),
        "osa records": (osa, *records),
        "osa functions": (osa | {"functions": "abs, tanh"}, u, y),
        "osa grey joint": (osa | known, u, y),
        "osa grey residual": (osa | known | {"initial_mode": "residual"}, u, y),
        "osa power auto": (osa | {"likelihood_power": "auto"}, one, y),
        "osa off": (osa | {"likelihood_power": 0.0}, u, y),
        "osa little memory": (
            osa | {"memory_mb": 1, "prior": many, "center": True},
            u + 300.0,
            y,
        ),
        "abc academic": (
            plain | {"objective": "abc", "samples": 6000, "chains": 2, "seed": 0},
            academic.u,
            academic.y,
        ),
        "abc paper rule": (abc | {"rule": "paper"}, u, y),
        "abc default rule": (abc, u, y),
        "abc records": (abc, *records),
        "abc functions": (abc | {"functions": "abs, tanh"}, u, y),
        "abc grey joint": (abc | known, u, y),
        "abc grey residual": (abc | known | {"initial_mode": "residual"}, u, y),
        "abc grey residual, paper rule": (
            abc | known | {"initial_mode": "residual", "rule": "paper"},
            u,
            y,
        ),
        "abc histogram": (abc | {"distance": adjoin.distances.Histogram()}, u, y),
        "abc histogram unlimited": (
            abc | {"distance": adjoin.distances.Histogram(), "runaway": math.inf},
            u,
            y,
        ),
        "abc tolerance": (
            abc | {"ladder": {"rungs": 4, "descent": 100, "tolerance": 40.0}},
            one,
            y,
        ),
    }


def _digest(values: Any) -> str:
    found = hashlib.sha256()
    for value in values:
        found.update(value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
    return found.hexdigest()[:16]


def _traced(posterior: adjoin.Posterior) -> Any:
    for trace in posterior.traces:
        yield from (getattr(trace, name) for name in CHAIN.split())
        if trace.ladder is not None:
            yield from (getattr(trace.ladder, name) for name in LADDER.split())
            yield np.delete(trace.ladder.saved, FITS)


def _made(posterior: adjoin.Posterior) -> Any:
    """What a user reads off it, one draw of everything."""
    yield posterior.map_model.theta
    yield [posterior.chain(number).map_model.theta for number in posterior.chain_numbers]
    yield posterior.structures.to_csv()
    yield posterior.terms.to_csv()
    yield posterior.log_posterior
    yield np.concatenate(posterior.residuals())
    part = posterior.data.records[0]
    seeds = part.output[: posterior.max_lag]
    yield posterior.simulate(part.inputs, seeds, draws=20).mean
    yield posterior.predict(part.inputs, part.output, 2, draws=20).mean


def main() -> None:
    """Fit every setup, or those whose names contain the first argument."""
    for name, (settings, u, y) in setups().items():
        if len(sys.argv) > 1 and sys.argv[1] not in name:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            posterior = adjoin.Identifier(progress=False, **settings).fit(u, y).posterior_
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "run.nc"
                posterior.save(path)
                loaded = adjoin.load(path)
        drawn = _digest(_traced(posterior))
        assert drawn == _digest(_traced(loaded)), "what was saved differs from what was drawn"
        print(f"{name:32} traces {drawn} made {_digest(_made(posterior))}", flush=True)


if __name__ == "__main__":
    main()
