"""What to do next, followed: runs that begin badly, and their first step, run as it stands.

Each situation is a CSV file of a simulated rig and a call of ``adjoin fit`` with which an engineer
might begin. The first step of ``verdict.next`` in its JSON is followed to the letter, and both runs
are held against another experiment, which neither has seen: NMSE %, simulation of the equation from
the first 50 samples on. A step that asks for ``adjoin discover`` is given ``--effort quick``.

``--only NAME`` picks situations, ``--seed`` draws others of their kind, and ``--steps 3`` follows
so many, each that of the run before. ``--json FILE`` appends a line for each situation.
"""

from __future__ import annotations

import argparse
import json
import shlex
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from typer.testing import CliRunner

from adjoin import Dataset, datasets, load
from adjoin.cli.app import app
from adjoin.data import defects
from adjoin.data.dataset import Record
from adjoin.exchange.data_files import read_tables
from adjoin.scores import nmse

N_SEED = 50  # samples of the test record as it is in its file
QUICK = ("--samples", "4000", "--chains", "2", "--seed", "0")
Pair = tuple[Dataset, Dataset]
"""What is learned from, and another experiment."""


def rig(name: str, seed: int, oversampling: int | None = None) -> Pair:
    """The 2,000 samples of a rig's first experiment in one record, and the second."""
    found = datasets.rig(name, seed, oversampling)
    assert found.validation is not None
    first, second = found.train.records[0], found.validation.records[0]
    whole = Record(
        np.concatenate([first.inputs, second.inputs]), np.concatenate([first.output, second.output])
    )
    return replace(found.train, records=(whole,)), found.test


def noisy(pair: Pair, share: float, seed: int, memory: float = 0.0) -> Pair:
    """With more noise on what is learned from, a share of the output's standard deviation."""
    learned, test = pair
    (record,) = learned.records
    noise = np.random.default_rng([seed, 7]).standard_normal(len(record))
    for k in range(1, len(noise) if memory else 0):
        noise[k] = memory * noise[k - 1] + np.sqrt(1.0 - memory**2) * noise[k]
    output = record.output + share * float(record.output.std()) * noise
    return replace(learned, records=(Record(record.inputs, output),)), test


def offset(pair: Pair, by: float) -> Pair:
    """With a sensor that is off by so many standard deviations, in both experiments."""
    learned, test = pair
    shift = by * float(learned.outputs[0].std())
    (record,) = test.records
    moved = Record(record.inputs, record.output + shift)
    return defects.offset(learned, by), replace(test, records=(moved,))


class Case(NamedTuple):
    """A situation: what is measured, and how somebody begins."""

    make: Callable[[int], Pair]
    options: str


CASES = {
    "offset": Case(
        lambda s: offset(rig("linear", s), 3.0),
        "--no-constant --no-center --max-degree 1 --max-lag 2",
    ),
    "dead time": Case(lambda s: rig("heater", s), "--max-lag 5 --max-degree 2"),
    "oversampled": Case(lambda s: noisy(rig("duffing", s), 0.1, s), "--max-degree 3"),
    "noisy spring": Case(lambda s: noisy(rig("duffing", s, 1), 0.3, s), "--max-degree 3"),
    "noisy motor": Case(lambda s: noisy(rig("motor", s), 0.2, s), "--max-lag 3"),
    "noisy tanks": Case(lambda s: noisy(rig("tanks", s), 0.2, s), "--max-lag 3"),
    "noisy valve": Case(lambda s: noisy(rig("valve", s), 0.2, s), "--max-lag 5"),
    "noisy drive": Case(lambda s: noisy(rig("integrator", s), 0.3, s), "--max-lag 3"),
    "short window": Case(lambda s: rig("linear", s), "--max-lag 1"),
    "linear": Case(lambda s: rig("tanks", s), "--max-degree 1"),
    "products": Case(lambda s: rig("damper", s), "--max-degree 1 --max-lag 3"),
    "bends": Case(lambda s: rig("valve", s), "--max-degree 2 --max-lag 3"),
    "coloured": Case(
        lambda s: noisy(rig("linear", s), 0.5, s, 0.95),
        "--objective simulation --max-lag 3 --max-degree 2",
    ),
}


def write(data: Dataset, file: Path) -> None:
    """One record as a CSV file with time stamps."""
    (record,) = data.records
    step = data.sampling_time or 1.0
    table = np.column_stack([np.arange(len(record)) * step, record.inputs, record.output])
    head = ",".join(["time", *data.names.inputs, data.names.output])
    np.savetxt(file, table, "%.12g", ",", header=head, comments="")


def follow(command: str, run: Path) -> dict[str, Any]:
    """The JSON of a command as it was printed, which saves its run."""
    words = shlex.split(command)[1:]
    if words[0] == "discover":
        words += ["--effort", "quick", "--seed", "0"]
    done = CliRunner().invoke(app, [*words, "--out", str(run), "--force", "--json"])
    if done.exit_code:
        raise SystemExit(f"{command}\n{done.output}\n{done.exception}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def error(run: Path, test: Path) -> float:
    """NMSE % of the equation's simulation of the test file, prepared as the run's data were."""
    posterior = load(run).selected
    how = dict(posterior.settings.options or {})
    names = posterior.data.names
    data = read_tables(
        [test],
        ",".join(names.inputs),
        names.output,
        decimate=how.get("decimate", 1),
        detrend=how.get("detrend", False),
    )
    n_seed = max(N_SEED // how.get("decimate", 1), posterior.max_lag)
    (u,), (y,) = data.inputs, data.outputs
    response = posterior.map_model.free_response([u], [y[:n_seed]])
    if any(at is not None for at in response.diverged):
        return float("inf")
    return float(nmse([y[n_seed:]], [response.series[0][n_seed:]]))


def measure(name: str, seed: int, n_steps: int, folder: Path) -> dict[str, Any]:
    """The errors before and after each step, and the steps."""
    learned, test = CASES[name].make(seed)
    rig_file, test_file, run = folder / "rig.csv", folder / "test.csv", folder / "run.nc"
    write(learned, rig_file)
    write(test, test_file)
    names = learned.names
    columns = ["--inputs", ",".join(names.inputs), "--output", names.output]
    words = ["adjoin", "fit", str(rig_file), *columns, "--validation", "0.3", *QUICK]
    command = shlex.join([*words, *shlex.split(CASES[name].options)])
    facts = follow(command, run)
    errors, steps, advice = [error(run, test_file)], [], facts["verdict"]["next"]
    for _ in range(n_steps):
        words_of_step, _, line = (advice[0] if advice else "").partition(": adjoin ")
        steps.append(words_of_step)
        if not line or line.startswith("check"):
            break
        facts = follow(f"adjoin {line}", run)
        advice = facts["verdict"]["next"]
        errors.append(error(run, test_file))
    return {"name": name, "seed": seed, "errors": errors, "steps": steps, "left": advice}


def main() -> None:
    """A row for each situation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="NAME", action="append", choices=CASES)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    n_better = n_followed = 0
    print(f"{'situation':14}{'seed':>4}{'before':>9}{'after':>9}  first step")
    for seed in options.seed or [0]:
        for name in options.only or CASES:
            with tempfile.TemporaryDirectory() as folder:
                found = measure(name, seed, options.steps, Path(folder))
            errors = found["errors"]
            n_followed += len(errors) > 1
            n_better += len(errors) > 1 and errors[1] < errors[0]
            shown = "".join(f"{value:9.3g}" for value in errors)
            print(f"{name:14}{seed:4}{shown}  {'; then '.join(found['steps'])}", flush=True)
            if options.json is not None:
                with options.json.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
    print(f"first steps with a command: {n_followed}; better after it: {n_better}")


if __name__ == "__main__":
    main()
