"""Runs that are killed at random moments, resumed until they are done, and held against one whole.

``python -m tests.killing FOLDER KILLS NAME …`` prints a line of JSON for each name. Processes are
forked from this one, which has imported and compiled everything; each is killed by SIGKILL after a
time that is drawn from a fixed seed, as a share of what the whole run takes.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from adjoin import Dataset, Identifier, Posterior, discover
from adjoin.discovery.discovery import Discovery
from adjoin.inference import checkpoint, runner
from adjoin.inference.traces import to_arrays

FEWEST = 3
"""So many of those that are killed must have saved something, or nothing is tried."""
_LONGEST_LIFE = 0.6  # of the seconds of a whole run; then several lives make one
_SETTINGS: dict[str, dict[str, Any]] = {
    "prediction": {"samples": 100_000, "likelihood_power": "auto"},
    "stages": {"samples": "auto", "max_samples": 45_000, "n_jobs": 2},
    "simulation": {"objective": "simulation", "samples": 2500, "noise": "ar"},
    "past noise": {"past_noise": True, "samples": 2500, "center": False},
    "abc": {"objective": "abc", "samples": 8000, "ladder": {"rungs": 6}},
}
DISCOVER = "discover"
FIND: dict[str, Any] = {"max_lag": 2, "max_degree": 2, "effort": "quick"}
NAMES = (*_SETTINGS, DISCOVER)


def data() -> Dataset:
    """Two short records."""
    rng = np.random.default_rng(3)
    inputs = [rng.standard_normal(n) for n in (90, 70)]
    outputs = [0.5 * np.roll(u, 1) + 0.3 * np.roll(u, 2) ** 2 + 0.4 for u in inputs]
    return Dataset.from_arrays(
        inputs, [y + 0.2 * rng.standard_normal(len(y)) for y in outputs], sampling_time=0.1
    )


def run(name: str, folder: Path | None) -> str:
    """One fit, and a checksum of all that came of it but for seconds."""
    if name == DISCOVER:
        return digest_of_discovery(find(folder))
    given = {"max_lag": 2, "max_degree": 2, "chains": 2, "seed": 4, "thin": 2, "progress": False}
    identifier = Identifier(**{**given, **_SETTINGS[name]}, checkpoint=folder)
    return digest(identifier.fit(data()).posterior_)


def digest(posterior: Posterior) -> str:
    """Of all arrays and settings."""
    found = hashlib.sha256(json.dumps(posterior.settings.plain, sort_keys=True).encode())
    for number, trace in zip(posterior.chain_numbers, posterior.traces, strict=True):
        for array_name, values in to_arrays(trace).items():
            found.update(f"{number} {array_name} {values.dtype} {values.shape}".encode())
            found.update(values.tobytes())
    return found.hexdigest()


def find(folder: Path | None) -> Discovery:
    """A discovery that tries little, with posteriors of structures among its candidates."""
    return discover(data(), **FIND, n_jobs=2, checkpoint=folder)


def digest_of_discovery(found: Discovery) -> str:
    """Of the ranking, the average, and the posteriors; not of seconds."""
    told = [{k: v for k, v in one.plain.items() if k != "cpu_s"} for one in found.candidates]
    assert found.posterior.discovered is not None
    told += [repr(model) for model in found.average.models]
    told += [found.posterior.discovered.tried_on, found.equation]
    errors = b"".join(one.error.tobytes() for one in found.candidates)
    text = json.dumps(told) + digest(found.posterior)
    text += digest(Posterior(*found.posterior.discovered.trial))
    return hashlib.sha256(text.encode() + errors).hexdigest()


def kill(name: str, run: Callable[[str, Path | None], str], folder: Path, kills: int) -> Any:
    """Kill and resume until so many were killed, and the last was left to end.

    `further` is how many of them had saved something before they were killed.
    """
    run(name, None)  # compiles
    begin = time.perf_counter()
    wanted = run(name, None)
    whole = time.perf_counter() - begin
    place, draw = folder / "checkpoint", random.Random(f"17 {name}")
    ended: list[tuple[str, int]] = []
    killed = further = 0
    longest = _LONGEST_LIFE * whole
    while killed < kills or not place.exists() or not ended or ended[-1][1] < killed:
        is_enough = killed >= kills and further >= FEWEST
        life = None if is_enough else draw.uniform(0.0, longest)
        before = _saved(place)
        found = _one_life(lambda: run(name, place), life)
        if found is None:
            killed += 1
            further += _saved(place) != before
            if killed >= kills:  # the machine has become so busy that lives are too short
                longest *= 2.0
        else:
            ended.append((found, killed))
            if not is_enough:
                shutil.rmtree(place)
    same = [found == wanted for found, _ in ended]
    left = [file.name for file in place.iterdir() if file.name.startswith(".adjoin-")]
    return {
        "name": name,
        "kills": killed,
        "further": further,
        "ended": len(ended),
        "same": all(same),
        "left": left,
        "seconds": round(whole, 3),
    }


def _saved(place: Path) -> set[tuple[str, int]]:
    return {(file.name, file.stat().st_mtime_ns) for file in place.glob("*.arrays")}


def _one_life(work: Callable[[], str], seconds: float | None) -> str | None:
    """What a process of its own finds, or None if it was killed before."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.write(writer, work().encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    if seconds is not None:
        time.sleep(seconds)
        os.kill(pid, signal.SIGKILL)
    with os.fdopen(reader) as pipe:
        found = pipe.read()
    _, status = os.waitpid(pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, -signal.SIGKILL):
        raise RuntimeError("a run failed; what it said is above")
    return found or None


def hurry() -> None:
    """Save as often as can be: a moment is then as good as any other."""
    checkpoint.PAUSE, checkpoint._SHARE = 0.0, 1e9
    runner._BLOCK_SECONDS = 0.01


def main(folder: str, kills: str, *names: str) -> None:
    """Kill the runs of these names."""
    warnings.simplefilter("ignore")
    hurry()
    for name in names:
        place = Path(folder) / name.replace(" ", "-")
        place.mkdir()
        print(json.dumps(kill(name, run, place, int(kills))), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
