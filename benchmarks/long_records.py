"""Long records: seconds, rows per second and peak memory by the number of rows.

``python benchmarks/long_records.py`` writes a record of 2·10⁷ samples (8 bytes each, two signals)
to a temporary folder, a block at a time, and fits its first 10⁴, 10⁵, 10⁶, 10⁷ and 2·10⁷ samples
one step ahead, memory-mapped, each in a process of its own. The model class is polynomial with lags
to 10 and products of up to 3, signals are centred, and each of two chains draws 400 samples. In
every process a fit of 2,000 samples comes first, so that nothing is compiled or imported in the
time that counts. Printed are CPU seconds

- ``fit``: of `Dataset.from_arrays` (which reads and checks every value) and `Identifier.fit`, with
  all that they cost whatever the number of rows;
- ``after``: of the equation, terms, diagnostics, residual tests and the score of its free run;

rows per CPU second of ``fit``, the peak of the process's memory (``ru_maxrss``, with the mapped
pages of the files), and the slope of log ``fit`` against log rows. Wanted: 4 GB at most, a slope of
0.9 to 1.1. Sizes below 10⁶ are timed seven times; the middle one counts.

``--simulation`` fits 10⁶ samples by free runs instead, 20 samples of one chain, and says the same
of them and of forward selection.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

SIZES = (10**4, 10**5, 10**6, 10**7, 2 * 10**7)
BLOCK = 10**6
SETTINGS: dict[str, Any] = {
    "max_lag": 10,
    "max_degree": 3,
    "samples": 400,
    "thin": 1,
    "chains": 2,
    "seed": 0,
    "center": True,
    "n_jobs": 1,
    "progress": False,
}
SMALL, REPEATS, WANTED_MB = 10**6, 7, 4000.0


def main() -> None:
    """Write the record, measure every size in a process of its own, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", type=lambda text: int(float(text)), default=SIZES)
    parser.add_argument("--simulation", action="store_true")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child is not None:
        measured = simulated if args.simulation else predicted
        print(json.dumps(measured(Path(args.child[0]), int(args.child[1]))))
        return
    rows = [10**6] if args.simulation else args.rows
    with tempfile.TemporaryDirectory() as folder:
        write_record(Path(folder), max(rows))
        found = [run_child(folder, n, args.simulation) for n in rows]
    if args.simulation:
        for name, value in found[0].items():
            print(f"{name:24}{value:10.1f}")
        return
    if len(rows) > 1:
        slope = np.polyfit(np.log(rows), np.log([one["fit"] for one in found]), 1)[0]
        print(f"slope of log seconds against log rows: {slope:.3f}")
    peak = max(one["peak_mb"] for one in found)
    print(f"largest peak: {peak:,.0f} MB ({WANTED_MB:,.0f} wanted)")


def run_child(folder: str, n_rows: int, is_simulation: bool) -> dict[str, float]:
    """Measure one size in a process of its own, and print its row."""
    command = [sys.executable, __file__, "--child", folder, str(n_rows)]
    command += ["--simulation"] if is_simulation else []
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    if not is_simulation:
        print(
            f"{n_rows:>12,} rows  fit {found['fit']:8.2f} s  after {found['after']:8.2f} s "
            f" {n_rows / found['fit']:12,.0f} rows/s  peak {found['peak_mb']:7,.0f} MB",
            flush=True,
        )
    return found


def write_record(folder: Path, n_samples: int) -> None:
    """A nonlinear system of second order with noise, driven by noise, block by block."""
    rng, past = np.random.default_rng(0), (np.zeros(2), np.zeros(2))
    model = _system()
    for name in ("u", "y"):
        np.lib.format.open_memmap(folder / f"{name}.npy", "w+", np.float64, (n_samples,))
    u_file, y_file = (np.load(folder / f"{name}.npy", mmap_mode="r+") for name in ("u", "y"))
    for begin in range(0, n_samples, BLOCK):
        n = min(BLOCK, n_samples - begin)
        u = np.concatenate([past[0], rng.normal(size=n)])
        noise = np.concatenate([np.zeros(2), 0.1 * rng.normal(size=n)])
        y = model.simulate(u, past[1], noise)
        u_file[begin : begin + n], y_file[begin : begin + n] = u[2:], y[2:]
        past = u[-2:], y[-2:]


def _system() -> Any:
    import adjoin

    return adjoin.Model.parse("y(k) = 0.5*y(k-1) - 0.2*y(k-2) + 0.7*u(k-1) + 0.2*u(k-2)^2 + 1")


def predicted(folder: Path, n_rows: int) -> dict[str, float]:
    """Seconds and memory of a fit one step ahead, and of what is asked of it afterwards."""
    import adjoin

    u, y = (np.load(folder / f"{name}.npy", mmap_mode="r")[:n_rows] for name in ("u", "y"))
    seconds = []
    for i in range(1 + (REPEATS if n_rows < SMALL else 1)):
        n = n_rows if i else 2000
        begin = time.process_time()
        data = adjoin.Dataset.from_arrays(u[:n], y[:n])
        estimator = adjoin.Identifier(**SETTINGS).fit(data)
        seconds.append(time.process_time() - begin)
        begin = time.process_time()
        look_at(estimator.posterior_)
        after = time.process_time() - begin
    print(estimator.posterior_.map_model.equation, file=sys.stderr)
    return {"fit": float(np.median(seconds[1:])), "after": after, "peak_mb": peak_mb()}


def look_at(posterior: Any) -> None:
    """What people ask of a posterior."""
    import adjoin.scores

    _ = posterior.map_model.equation, posterior.terms, posterior.diagnostics
    posterior.residual_tests()
    measured, run = posterior.data.y, posterior.free_run(posterior.data)[0]
    adjoin.scores.rmse(measured, run)


def simulated(folder: Path, n_rows: int) -> dict[str, float]:
    """Seconds and memory of a fit by free runs, and of forward selection by them."""
    import adjoin

    u, y = (np.load(folder / f"{name}.npy", mmap_mode="r")[:n_rows] for name in ("u", "y"))
    given = SETTINGS | {"objective": "simulation", "max_lag": 3, "max_degree": 2}
    found = {}
    for name, n in (("first", 2000), ("fit", n_rows)):
        begin = time.process_time()
        estimator = adjoin.Identifier(**given | {"samples": 20, "chains": 1}).fit(u[:n], y[:n])
        found[f"{name} [CPU s]"] = time.process_time() - begin
    print(estimator.posterior_.map_model.equation, file=sys.stderr)
    begin = time.process_time()
    path = adjoin.forward_selection(u, y, max_lag=3, max_degree=2, max_terms=8, center=True)
    found["forward selection [CPU s]"] = time.process_time() - begin
    print(path.best.equation, file=sys.stderr)
    return found | {"peak [MB]": peak_mb()}


def peak_mb() -> float:
    """The most memory that this process ever had."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
