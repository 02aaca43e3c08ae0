"""A sweep of 64 jobs by one worker process and by two: how much faster, and whether bit for bit.

Run by ``make bench``. Both sweeps are timed as a user waits for them, from a plan to a table, with
the start of the processes; their order can be turned round (``--first 2``). That ratio means little
where the machine has fewer than two idle cores. So the load when each begins is printed too, and
the ratio that the CPU seconds of this process and of its workers would give, had each a core of its
own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import adjoin
from adjoin.inference.traces import to_arrays

GOAL = 1.8
SEEDS = range(4)


def write_plan(folder: Path, samples: int) -> dict[str, Any]:
    """Four data sets × four lags × four seeds."""
    data = {}
    for seed in SEEDS:
        parts = adjoin.datasets.academic(seed)
        for name, part in (("train", parts.train), ("test", parts.test)):
            columns = np.column_stack([part.u, part.y])
            path = folder / f"{name}{seed}.csv"
            np.savetxt(path, columns, delimiter=",", header="u,y", comments="")
        files = {"file": str(folder / f"train{seed}.csv"), "test": str(folder / f"test{seed}.csv")}
        data[f"system{seed}"] = {**files, "output": "y", "validation": 0.2}
    fit = {"max_lag": [3, 5, 7, 10], "max_degree": 3, "samples": samples, "chains": 2}
    return {"data": data, "settings": {"fit": fit}, "seeds": list(SEEDS)}


def cpu_seconds() -> np.ndarray:
    """Of this process, and of all that have ended."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return np.array([usage.ru_utime + usage.ru_stime for usage in usages])


def digest(found: adjoin.Sweep) -> str:
    """Of all arrays of all runs."""
    whole = hashlib.sha256()
    for name in found.table.index:
        for trace in found.load(name).traces:
            for key, values in to_arrays(trace).items():
                whole.update(f"{name} {key}".encode() + values.tobytes())
    return whole.hexdigest()


def main() -> None:
    """Sweep twice, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, choices=(1, 2), default=1)
    parser.add_argument("--samples", type=int, default=20_000, help="per chain")
    given = parser.parse_args()
    seconds, alone, digests = {}, {}, {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = write_plan(folder, given.samples)
        warm = {**plan, "data": {"system0": plan["data"]["system0"]}, "seeds": [0]}
        adjoin.sweep(warm, folder / "warm", n_jobs=1)  # compiles
        for n_jobs in (given.first, 3 - given.first):
            load, cpu, begin = os.getloadavg()[0], cpu_seconds(), time.perf_counter()
            found = adjoin.sweep(plan, folder / f"by {n_jobs}", n_jobs=n_jobs)
            seconds[n_jobs] = time.perf_counter() - begin
            own, workers = cpu_seconds() - cpu
            alone[n_jobs] = own + workers / n_jobs
            assert found.is_complete, found.failed
            digests[n_jobs] = digest(found)
            print(
                f"{len(found.table)} jobs, {n_jobs} at a time: {seconds[n_jobs]:.1f} s,"
                f" {own:.1f} s of CPU here and {workers:.1f} s of workers;"
                f" load average {load:.1f} at the beginning",
                flush=True,
            )
    ratio, is_same = seconds[1] / seconds[2], digests[1] == digests[2]
    facts = {"ratio": ratio, "by_cpu": alone[1] / alone[2], "goal": GOAL, "same_bits": is_same}
    print(json.dumps(facts))
    print(
        f"two workers are {ratio:.2f} times as fast as one, goal {GOAL};"
        f" by CPU seconds, each on a core of its own, {facts['by_cpu']:.2f} times"
    )
    if not is_same:
        raise SystemExit("the runs of both sweeps differ")


if __name__ == "__main__":
    main()
