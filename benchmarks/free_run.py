"""Free run of a 20-term cubic model over 40,475 samples: compiled against plain Python.

Run by ``make bench``. Both run in the same process on the same data, so their ratio means something
on a busy machine; the compiled time is the best of many runs.
"""

from __future__ import annotations

import time

import numpy as np

from adjoin import Model, datasets
from adjoin.kernels.simulate import run_recursion
from adjoin.kernels.state import FREE_RUN
from adjoin.modelling.simulation import lay_out_free_run

N_SAMPLES = 40_475
N_SEED = 50


def plain_free_run(model: Model, u: list[float], seed: list[float]) -> list[float]:
    """The same recursion, the way one would write it in Python."""
    terms = [
        (theta, [(atom.signal, atom.lag) for atom in term])
        for term, theta in zip(model.structure, model.theta, strict=True)
    ]
    y = list(seed)
    series = {"u": u, "y": y}
    for k in range(len(seed), len(u)):
        total = 0.0
        for theta, atoms in terms:
            product = theta
            for signal, lag in atoms:
                product *= series[signal][k - lag]
            total += product
        y.append(total)
    return y


def best_of(n: int, function, *arguments) -> float:
    """The shortest of n times, in seconds."""
    times = []
    for _ in range(n):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def main() -> None:
    """Measure and print one table."""
    model = Model.parse(datasets.SILVERBOX_EQUATION)
    u = 0.05 * np.random.default_rng(0).standard_normal(N_SAMPLES)
    seed = np.zeros(N_SEED)
    work = (N_SAMPLES - N_SEED) * len(model.theta)

    start = time.process_time()
    compiled = model.simulate(u, seed)
    first = time.process_time() - start
    program, data, room = lay_out_free_run(
        model.structure, model.theta, [u.reshape(-1, 1)], [seed], None
    )
    kernel = best_of(50, run_recursion, program, data, FREE_RUN, room)
    whole = best_of(20, model.simulate, u, seed)
    plain = best_of(5, plain_free_run, model, u.tolist(), seed.tolist())
    agreement = np.max(np.abs(compiled - plain_free_run(model, u.tolist(), seed.tolist())))

    print(f"free run of {len(model.theta)} terms, degree {model.structure.max_degree},")
    print(f"over {N_SAMPLES:,} samples (largest difference to plain Python {agreement:.1e})\n")
    print(f"{'':34}{'ms':>10}{'ns per step and term':>24}{'times faster':>16}")
    for name, seconds in (
        ("plain Python", plain),
        ("Model.simulate, checks included", whole),
        ("compiled kernel", kernel),
    ):
        print(f"{name:34}{1e3 * seconds:10.2f}{1e9 * seconds / work:24.2f}{plain / seconds:16.0f}")
    print(f"\nfirst call in this process: {first:.2f} s of CPU")


if __name__ == "__main__":
    main()
