"""Speed and memory of the one-step-ahead chains, one core, compiled and warm.

Beside each time stands that of one proposal judged in plain NumPy on the same structure: columns,
normal equations, Cholesky factor, evidence. Both are measured in this run, so their ratio means
something on a busy machine. Compilation, start and peak memory are measured in processes of their
own. The Silverbox parts need its data (ADJOIN_DATA).
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # one core for all, before NumPy is loaded

import numpy as np

from adjoin import AdjoinError, Grammar, Prior, datasets
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.inference.engines.prediction import PredictionChain, PredictionEngine
from adjoin.inference.problem import Problem

_START = """
import time
begin = time.perf_counter()
import numpy as np
from adjoin import Identifier
rng = np.random.default_rng(0)
u, e = rng.standard_normal((2, 300))
Identifier(samples=1, thin=1, chains=1, seed=0, progress=False).fit(u[1:], u[:-1] + 0.1 * e[1:])
print(time.process_time(), time.perf_counter() - begin)
"""

_MEMORY = """
import resource, sys
from adjoin import Grammar, Prior, datasets
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.data.scaling import Scaling
from adjoin.inference.problem import Problem
train = datasets.silverbox().train
scaling = Scaling.from_dataset(train, True, True)
alphabet = Grammar.narx(max_lag=50).alphabet
problem = Problem(train, alphabet, scaling)
engine = PredictionEngine(problem, thin=5, table_bytes=int(sys.argv[1]))
chain = engine.start(0)
chain.advance(int(sys.argv[2]))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, chain.table_size / 2**20)
"""


def time_chain(
    engine: PredictionEngine, n_samples: int, n_times: int
) -> tuple[float, PredictionChain]:
    """Seconds of CPU for a chain, the best of some, and the last chain."""
    best, chain = np.inf, engine.start(0)
    for _ in range(n_times):
        chain = engine.start(0)
        begin = time.process_time()
        chain.advance(n_samples)
        best = min(best, time.process_time() - begin)
    return best, chain


def time_plain(engine: PredictionEngine, chain: PredictionChain) -> float:
    """Seconds of CPU to judge one proposal of the chain's size in plain NumPy."""
    keys = tuple(chain.state.key[: chain.n_terms].tolist())
    structure = engine.encoding.structure(keys)
    noise, coefficient = chain.state.noise[0], chain.state.coefficient[0]
    best = np.inf
    for _ in range(5):
        begin = time.process_time()
        rows = engine.problem.rows
        columns, output = rows.design(structure), rows.fitted
        precision = columns.T @ columns / noise + np.eye(len(keys)) / coefficient
        factor = np.linalg.cholesky(precision)
        np.linalg.solve(factor, columns.T @ output / noise)
        best = min(best, time.process_time() - begin)
    return best


def report(name: str, engine: PredictionEngine, n_samples: int, n_times: int = 3) -> None:
    """One row of the table."""
    engine.start(0).advance(1)
    seconds, chain = time_chain(engine, n_samples, n_times)
    plain = time_plain(engine, chain)
    print(
        f"{name:36}{n_samples:9,}{seconds:9.3f}{1e6 * seconds / n_samples:12.2f}{chain.n_terms:8}"
        f"{1e6 * plain:14.0f}{plain * n_samples / seconds:12.0f}"
    )


def run(code: str, *arguments: object, **environment: str) -> list[float]:
    """What a script printed in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return [float(word) for word in done.stdout.split()]


def silverbox() -> Dataset | None:
    """The training part, or None without the data."""
    try:
        return datasets.silverbox().train
    except AdjoinError as error:
        print(f"without the Silverbox: {error}")
        return None


def main() -> None:
    """Measure and print."""
    print(
        f"{'':36}{'samples':>9}{'s':>9}{'µs/sample':>12}{'terms':>8}{'plain µs':>14}{'ratio':>12}"
    )
    academic = datasets.academic(0).train
    for expected_terms in (1.0, 5.0, 20.0):
        problem = Problem(academic, Grammar.narx().alphabet)
        engine = PredictionEngine(problem, Prior.paper(expected_terms), thin=5)
        report(f"academic, paper prior, λ_t = {expected_terms:.0f}", engine, 30_000, 5)
    train = silverbox()
    if train is not None:
        alphabet = Grammar.narx(max_lag=50).alphabet
        prior = Prior(noise_scale=1e-2, units="raw")
        report(
            "Silverbox, paper prior, β = 1e-2",
            PredictionEngine(Problem(train, alphabet), prior, thin=5),
            10_000,
        )
        scaling = Scaling.from_dataset(train, True, True)
        report(
            "Silverbox, default prior",
            PredictionEngine(Problem(train, alphabet, scaling), thin=5),
            10_000,
        )
        print("\npeak memory of a Silverbox chain, default prior")
        for megabytes, n_samples in ((128, 10_000), (4, 10_000), (4, 40_000)):
            peak, table = run(_MEMORY, megabytes * 2**20, n_samples)
            print(
                f"  budget {megabytes:3} MB, {n_samples:6,} samples: process {peak:.0f} MB,"
                f" table {table:.1f} MB"
            )
    with tempfile.TemporaryDirectory() as folder:
        first, _ = run(_START, NUMBA_CACHE_DIR=folder)
        n_files = len(list(Path(folder).rglob("*.nbi")))
        starts = [run(_START, NUMBA_CACHE_DIR=folder)[1] for _ in range(5)]
    print(f"\nfirst start ever, to the first sample: {first:.1f} s of CPU ({n_files} kernels)")
    print(f"later starts, to the first sample: {min(starts):.2f} to {max(starts):.2f} s")


if __name__ == "__main__":
    main()
