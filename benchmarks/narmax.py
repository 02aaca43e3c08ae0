"""Systems whose noise has a memory: whether NARMAX models find it, and what the others make of it.

    y(k) = 0.5y(k-1) + 0.8u(k-2) + 0.3u(k-1)² + e(k) + 0.6e(k-1)          linear in past noise
    y(k) = 0.5y(k-1) + 0.8u(k-2) + 0.3u(k-1)² + e(k) + 0.5u(k-1)e(k-1)    a product with it

1,000 samples, u ~ N(0, 1), e ~ N(0, 0.3²), 20 data seeds; lags up to 3, degree 2, default prior,
not centred; two chains. With past noise and by free runs 10,000 samples a chain, one step ahead
30,000.

Whole: the structure of largest mass is the truth, past noise included. Rest: it is without past
noise. Mass: of the truth, on average. Bias: of the coefficient of y(k-1) in the MAP model (0
where it has none), and its standard error. Hold: how many 95 % intervals of that coefficient hold
0.5. Seconds are CPU of a chain, compiled before.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import dataclass, field

import numpy as np

from adjoin import Identifier, Model, Structure
from adjoin.grammar.equation import term_text
from adjoin.posterior import Posterior

DETERMINISTIC = "0.5*y(k-1) + 0.8*u(k-2) + 0.3*u(k-1)^2"
SYSTEMS = {"linear": "0.6*e(k-1)", "product": "0.5*u(k-1)*e(k-1)"}
PAST, NOISE_SD, N_SAMPLES, N_CHAINS = 0.5, 0.3, 1_000, 2
ENGINES: dict[str, dict[str, object]] = {
    "past noise": {"past_noise": True, "samples": 10_000},
    "prediction": {"samples": 30_000},
    "simulation": {"objective": "simulation", "samples": 10_000},
    "simulation, AR": {"objective": "simulation", "noise": "ar", "samples": 10_000},
}


@dataclass
class Row:
    """What one engine found, data set by data set."""

    is_whole: list[bool] = field(default_factory=list)
    is_rest: list[bool] = field(default_factory=list)
    mass: list[float] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    holds: list[bool] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, posterior: Posterior, truth: Structure, seconds: float) -> None:
        """One more data set."""
        frame, structure = posterior.structures, posterior.structure(0)
        self.is_whole.append(structure == truth)
        self.is_rest.append(_without_noise(structure) == _without_noise(truth))
        self.mass.append(float(frame["mass"][frame["structure"] == str(truth)].sum()))
        self.value.append(posterior.map_model.coefficients.get("y(k-1)", 0.0))
        known = posterior.coefficients(structure)
        known = known[known["term"] == "y(k-1)"]
        self.holds.append(bool(((known["q025"] <= PAST) & (known["q975"] >= PAST)).any()))
        self.seconds.append(seconds)

    def __str__(self) -> str:
        n, bias = len(self.value), np.array(self.value) - PAST
        error = np.std(bias) / max(n - 1, 1) ** 0.5
        return (
            f"{f'{sum(self.is_whole)} of {n}':>10}{f'{sum(self.is_rest)} of {n}':>10}"
            f"{np.mean(self.mass):7.3f}{f'{np.mean(bias):+.3f} ± {error:.3f}':>18}"
            f"{f'{sum(self.holds)} of {n}':>10}{np.median(self.seconds):8.2f}"
        )


def _without_noise(structure: Structure) -> set[str]:
    noise = structure.names.noise
    return {term_text(t) for t in structure if all(atom.signal != noise for atom in t)}


def simulate(model: Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Input and output of a system from rest."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(N_SAMPLES)
    return u, model.simulate(u, noise=NOISE_SD * rng.standard_normal(N_SAMPLES))


def fit(u: np.ndarray, y: np.ndarray, seed: int, **settings: object) -> tuple[Posterior, float]:
    """The posterior, and the seconds of CPU that a chain took."""
    identifier = Identifier(max_lag=3, max_degree=2, center=False, chains=N_CHAINS, seed=seed)
    identifier.set_params(n_jobs=1, progress=False, **settings)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains that are left behind
        found = identifier.fit(u, y).posterior_
    return found, (time.process_time() - begin) / N_CHAINS


def main() -> None:
    """Print one row for each system and engine."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    options = parser.parse_args()
    print(
        f"{'system':9}{'engine':15}{'whole':>10}{'rest':>10}{'mass':>7}{'bias of y(k-1)':>18}"
        f"{'hold':>10}{'CPU s':>8}",
        flush=True,
    )
    for system, noise in SYSTEMS.items():
        truth = Model.parse(f"y(k) = {DETERMINISTIC} + {noise}")
        for engine, settings in ENGINES.items():
            row = Row()
            fit(*simulate(truth, 0), 0, **settings | {"samples": 100})
            for seed in range(options.seeds):
                u, y = simulate(truth, seed)
                posterior, seconds = fit(u, y, seed, **settings)
                row.add(posterior, truth.structure, seconds)
            print(f"{system:9}{engine:15}{row}", flush=True)


if __name__ == "__main__":
    main()
