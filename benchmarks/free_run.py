"""Free run of a 20-term cubic model over 40,475 samples: compiled against plain Python; its slopes.

Run by ``make bench``. Both run in the same process on the same data, so their ratio means something
on a busy machine; compiled times are the best of many runs. Below stand the kernels that chains and
fits by free runs spend their time in, with what they should cost: a free run with its error 2 ns
per step and term, and all slopes of 20 terms, with the normal equations, 160 ns per step.
"""

from __future__ import annotations

import time

import numba
import numpy as np

from adjoin import Dataset, Grammar, Model, datasets
from adjoin.inference.engines.free_run_work import make_fit_work, make_free_run
from adjoin.inference.engines.workspace import make_chain, write_terms
from adjoin.inference.problem import Problem
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.simulate import run_recursion
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import FREE_RUN
from adjoin.modelling.simulation import lay_out_free_run

N_SAMPLES = 40_475
N_SEED = 50
GOALS = {"free run": 2.0, "slopes": 160.0}
"""Nanoseconds: per step and term, and per step for all 20 terms."""


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


@numba.njit
def run_chain(chain, data, run):
    """The squared error of a structure's free run; other kernels only compiled code may call."""
    assemble(chain, data, run)
    return free_run_error(chain.n_terms[0], run, np.inf)[0]


@numba.njit
def linearise_chain(chain, data, run, linear):
    """The slopes of a structure's free run."""
    assemble(chain, data, run)
    return linearise(chain.n_terms[0], run, linear)


def time_kernels(model: Model, u: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Nanoseconds per step of a chain's free run with its error, and of its slopes."""
    problem = Problem(Dataset.from_arrays(u, y), Grammar.narx(max_lag=N_SEED).alphabet)
    terms, degree = list(model.structure), problem.encoding.max_degree
    run = make_free_run(problem)
    linear = make_fit_work(run, problem.capacity, degree, table_bytes=2**20).linear
    chain = make_chain(problem.capacity, degree)
    write_terms(chain, problem.encoding, terms)
    chain.theta[: len(terms)] = model.theta
    data, n_steps = problem.regression, problem.regression.n_rows
    assert run_chain(chain, data, run) < np.inf
    assert linearise_chain(chain, data, run, linear)
    return {
        "free run": 1e9 * best_of(100, run_chain, chain, data, run) / n_steps,
        "slopes": 1e9 * best_of(100, linearise_chain, chain, data, run, linear) / n_steps,
    }


def main() -> None:
    """Measure and print two tables."""
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
    print(f"\nfirst call in this process: {first:.2f} s of CPU\n")

    spent = time_kernels(model, u, compiled)
    spent["free run"] /= len(model.theta)
    print(f"{'in chains and fits':34}{'ns':>10}{'goal':>10}")
    for name, what in (
        ("free run", "free run, per step and term"),
        ("slopes", f"slopes of {len(model.theta)} terms, per step"),
    ):
        print(f"{what:34}{spent[name]:10.2f}{GOALS[name]:10.0f}")


if __name__ == "__main__":
    main()
