"""Forward propagation: 100 draws of a 20-term model over 40,475 samples, noise fed back.

Run by ``make bench``. In one process: with one thread, with all, and as one would do it by hand, a
free run of each model and NumPy's quantiles. Wanted: under 2 s on two cores, all included.
"""

from __future__ import annotations

import os
import time

import numpy as np

from adjoin import Model, datasets
from adjoin.results.prediction import BANDS, propagate

N_DRAWS, N_SAMPLES, N_SEED = 100, 40_475, 50


def by_hand(models: list[Model], u: np.ndarray, seed: np.ndarray) -> None:
    """The same with what `Model` and NumPy offer."""
    rng = np.random.default_rng(0)
    runs = [
        model.simulate(u, seed, (model.noise_sd or 0.0) * rng.standard_normal(len(u)))
        for model in models
    ]
    np.mean(runs, axis=0)
    np.std(runs, axis=0)
    np.quantile(runs, BANDS, axis=0)


def main() -> None:
    """Measure and print one table."""
    rng = np.random.default_rng(0)
    printed = Model.parse(datasets.SILVERBOX_EQUATION)
    spread = 1.0 + 1e-4 * rng.standard_normal((N_DRAWS, len(printed.theta)))
    models = [
        Model(printed.structure, tuple(np.array(printed.theta) * row), 3e-4) for row in spread
    ]
    u, seed = 0.02 * rng.standard_normal(N_SAMPLES), np.zeros(N_SEED)
    ways = {
        "by hand": lambda: by_hand(models, u, seed),
        "propagate, 1 thread": lambda: propagate(models, u, seed, 0, n_jobs=1),
        f"propagate, {os.cpu_count()} threads": lambda: propagate(models, u, seed, 0),
    }
    ways["propagate, 1 thread"]()  # compile
    print(f"{N_DRAWS} draws x {N_SAMPLES:,} samples x {len(printed.theta)} terms")
    for name, way in ways.items():
        best = min(_seconds(way) for _ in range(5))
        print(f"  {name:24}{best:6.2f} s")


def _seconds(way) -> float:
    start = time.perf_counter()
    way()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
