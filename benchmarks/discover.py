"""`adjoin.discover` with no options but the data: simulated rigs and measured records.

Rigs are those of ``rigs.py``, fitted on their training part alone, and records those of
``real.py``, fitted on all of their train file; the first 50 samples of every test record seed a
free run and are not scored. NMSE %, free run on test data:

- *held out*: what the comparison says of the chosen equation, in percent of the output's variance;
- *equation*, *average*: the chosen equation, and the median of the best candidates;
- *bound*: rigs: the best of the full manual grid as judged on test data (``--grid`` names the file
  of ``rigs.py --json``); records: the best reference.

``--json FILE`` appends a line for each run and skips those that the file has; ``--no-test`` leaves
test data alone; ``--show`` runs nothing.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from pathlib import Path
from typing import Any, NamedTuple

from forward_selection import REFERENCE
from identifier_options import cpu_seconds
from real import N_SEED, SETS, cell, nmse
from real import read as read_record
from rigs import Figure
from rigs import read as read_grid

from adjoin import Dataset, Model, datasets, discover
from adjoin.results.average import Average

KINDS = ("rigs", "records")


class Task(NamedTuple):
    """One run."""

    name: str
    seed: int
    effort: str


def parts(name: str) -> tuple[Dataset, Dataset]:
    """What is given to `discover`, and the test data."""
    if name in SETS:
        return read_record(name, "train"), read_record(name, "test")
    benchmark = datasets.rig(name, 0)
    return benchmark.train, benchmark.test


def score(model: Model | Average, data: Dataset) -> float | None:
    """NMSE % of a free run over all records; None where it is lost."""
    seeds = [output[:N_SEED] for output in data.outputs]
    if isinstance(model, Average):
        return nmse(data, model.runs(data.inputs, seeds))
    return nmse(data, model.free_response(data.inputs, seeds).series)


def measure(task: Task, no_test: bool) -> dict[str, Any]:
    """One line of the file."""
    train, test = parts(task.name)
    begin, wall = cpu_seconds(), time.perf_counter()
    found = discover(train, effort=task.effort, seed=task.seed)
    line = task._asdict() | {
        "cpu_s": cpu_seconds() - begin,
        "wall_s": time.perf_counter() - wall,
        "level": found.verdict.level,
        "summary": found.verdict.summary,
        "equation": found.equation,
        "held_out": None,
    }
    if found.chosen is not None:
        chosen = found.chosen
        line |= {
            "held_out": chosen.nmse,
            "sd": chosen.sd,
            "terms": chosen.n_terms,
            "setting": chosen.setting.words,
            "averaged": len(found.average),
        }
    if not no_test:
        line["test"] = {
            "equation": score(found.model, test),
            "average": score(found.average, test),
            "each": [score(model, test) for model in found.average.models],
        }
    return line


def bound(name: str, grid: Path | None) -> float:
    """What is to be met; infinite where it is not known."""
    if name in SETS:
        return REFERENCE[name][0]
    lines = [line for key, line in (read_grid(grid) if grid else {}).items() if key.rig == name]
    tests = [Figure(*figure).test for line in lines for figure in line["models"]]
    return min((value for value in tests if value is not None), default=math.inf)


def row(line: dict[str, Any], best: float) -> str:
    """One line of the file as a line of the table."""
    text = f"{line['name']:16}{line['effort']:9}{line['seed']:4}{line['cpu_s']:7.0f}"
    text += f"{line['wall_s']:7.0f}  {cell(line['held_out']):>9}"
    tests = line.get("test", {})
    for name in ("equation", "average"):
        text += f"{cell(tests.get(name)):>10}"
    text += f"{best:9.3g}"
    for name in ("equation", "average"):
        value = tests.get(name)
        text += f"{'' if value is None else f'{math.sqrt(value / best):.2f}':>7}"
    return f"{text}  {line.get('terms', 0)} terms, {line.get('setting', line['summary'])}"


def read(path: Path | None) -> dict[Task, dict[str, Any]]:
    """The lines of a file by their task."""
    if path is None or not path.exists():
        return {}
    lines = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    return {Task(*(line[name] for name in Task._fields)): line for line in lines}


def main() -> None:
    """A row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--only", metavar="NAME", action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--effort", default="normal")
    parser.add_argument("--grid", type=Path, metavar="FILE", help="what rigs.py --json wrote")
    parser.add_argument("--json", type=Path, metavar="FILE", help="append here, and resume")
    parser.add_argument("--no-test", action="store_true", help="leave test data alone")
    parser.add_argument("--show", action="store_true", help="print the table of the file only")
    options = parser.parse_args()
    known = read(options.json)
    discover(datasets.rig("linear").train[:300], max_lag=2, max_degree=2, effort="quick")  # compile
    print(
        f"{'':16}{'effort':9}{'seed':>4}{'CPU s':>7}{'wall':>7}  {'held out':>9}{'equation':>10}"
        f"{'average':>10}{'bound':>9}{'RMSE / bound':>14}"
    )
    for name in options.only or (datasets.RIGS if options.kind == "rigs" else SETS):
        for seed in options.seed or (0,):
            task = Task(name, seed, options.effort)
            if task not in known:
                if options.show:
                    continue
                known[task] = measure(task, options.no_test)
                if options.json:
                    with options.json.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(known[task]) + "\n")
            print(row(known[task], bound(name, options.grid)), flush=True)


if __name__ == "__main__":
    main()
