"""Simulated rigs under the full manual grid: what a patient engineer could get by hand.

Of every rig in `adjoin.datasets.RIGS`, `adjoin.forward_selection` on the training part over lag 2,
3, 5, 10, 20; degree 1, 2, 3; centred or not; objective simulation and prediction; up to 20 terms.
All models of all paths are run freely on validation and test data; the first 50 samples of either
seed a run and are not scored. NMSE %.

- *oracle*: the best of the whole grid and all paths as judged on the test data, which nobody has
  while choosing: a bound.
- *chosen*: the one with the best validation.
- *noise*: what the noise of the sensor makes, without its offset and drift: a floor.

Settings with more than 20,000 terms to choose from are left out, and counted as such. ``--json
FILE`` appends a line for each setting and skips those that the file has; small alphabets come
first, so that a file that is not finished holds something of every rig. ``--show`` fits nothing.
Five minutes a seed.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from adjoin import AdjoinError, Dataset, Grammar, Model, datasets, forward_selection, scores
from adjoin.datasets import Benchmark

LAGS, DEGREES, CENTRES = (2, 3, 5, 10, 20), (1, 2, 3), (False, True)
OBJECTIVES = ("simulation", "prediction")
MAX_TERMS, MOST_CANDIDATES = 20, 20_000


class Setting(NamedTuple):
    """One fit of the grid."""

    rig: str
    seed: int
    lag: int
    degree: int
    center: bool
    objective: str

    def __str__(self) -> str:
        how = "centred" if self.center else "raw"
        return f"lag {self.lag}, degree {self.degree}, {how}, {self.objective}"


class Figure(NamedTuple):
    """One model of a path: its size, and NMSE % of its free runs; None where they are lost."""

    n_terms: int
    validation: float | None
    test: float | None


def n_candidates(data: Dataset, lag: int, degree: int) -> int:
    """How many terms there are to choose from."""
    names = data.names
    grammar = Grammar.narx(names.inputs, names.output, max_lag=lag, max_degree=degree)
    return int(grammar.alphabet.n_terms)


def free_run(model: Model, data: Dataset, n_seed: int) -> float | None:
    """NMSE % of a free run; None where it is lost."""
    run = model.free_response(data.inputs, [y[:n_seed] for y in data.outputs]).series[0]
    found = scores.nmse(data.y[n_seed:], run[n_seed:])
    return found if math.isfinite(found) else None


def measure(setting: Setting, benchmark: Benchmark) -> dict[str, Any]:
    """The line of one setting: figures of every model, and the equations of the best two."""
    train, validation, test = benchmark
    size = n_candidates(train, setting.lag, setting.degree)
    line: dict[str, Any] = {**setting._asdict(), "n_candidates": size, "models": []}
    if size > MOST_CANDIDATES:
        return {**line, "skipped": "too many candidates"}
    begin = time.process_time()
    try:
        path = forward_selection(
            train,
            objective=setting.objective,
            max_lag=setting.lag,
            max_degree=setting.degree,
            center=setting.center,
            max_terms=MAX_TERMS,
        )
    except AdjoinError as error:
        return {**line, "skipped": str(error)}
    seconds = time.process_time() - begin
    figures = [
        Figure(
            len(model.structure),
            *(free_run(model, part, benchmark.n_seed) for part in (validation, test)),
        )
        for model in path
    ]
    by_test, by_validation = (
        int(np.argmin([_or_infinite(figure[column]) for figure in figures])) for column in (2, 1)
    )
    return {
        **line,
        "models": figures,
        "seconds": round(seconds, 2),
        "equation_by_test": path[by_test].equation,
        "equation_by_validation": path[by_validation].equation,
    }


def grid(rigs: Iterable[str], seed: int) -> Iterator[tuple[Setting, Benchmark]]:
    """All settings of all rigs, small alphabets first."""
    found = []
    for name in rigs:
        benchmark = datasets.rig(name, seed)
        for lag, degree in product(LAGS, DEGREES):
            size = n_candidates(benchmark.train, lag, degree)
            for center, objective in product(CENTRES, OBJECTIVES):
                setting = Setting(name, seed, lag, degree, center, objective)
                found.append((size, len(found), setting, benchmark))
    return ((setting, benchmark) for *_, setting, benchmark in sorted(found, key=lambda f: f[:2]))


def warm_up() -> None:
    """Compile what is used, so that seconds are those of fits."""
    train = datasets.rig("linear").train[:200]
    for objective in OBJECTIVES:
        forward_selection(train, objective=objective, max_lag=2, max_degree=2, max_terms=4)


def read(path: Path) -> dict[Setting, dict[str, Any]]:
    """The lines of a file by their setting; a last line that was cut off is left out."""
    found = {}
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        found[Setting(*(line[name] for name in Setting._fields))] = line
    return found


def table(lines: Sequence[dict[str, Any]], rigs: Iterable[str], seed: int) -> str:
    """A row for each rig."""
    head = f"{'rig':12}{'noise':>9}{'oracle':>9}{'chosen':>9}{'fits':>6}{'left out':>9}{'CPU s':>8}"
    rows = [f"seed {seed}; NMSE %, free run on test data", head]
    n_all = len(LAGS) * len(DEGREES) * len(CENTRES) * len(OBJECTIVES)
    for name in rigs:
        own = [line for line in lines if line["rig"] == name and line["seed"] == seed]
        done = [line for line in own if "skipped" not in line]
        if not done:
            rows.append(f"{name:12} nothing yet")
            continue
        every = [(line, Figure(*figure)) for line in done for figure in line["models"]]
        oracle = min(every, key=lambda one: _or_infinite(one[1].test))
        chosen = min(every, key=lambda one: _or_infinite(one[1].validation))
        seconds = sum(line["seconds"] for line in done)
        said = "; ".join(
            f"{what} {_setting(line)}, {figure.n_terms} terms"
            for what, (line, figure) in (("oracle", oracle), ("chosen", chosen))
        )
        floor = _floor(datasets.rig(name, seed))
        figures = "".join(f"{_cell(x):>9}" for x in (floor, oracle[1].test, chosen[1].test))
        fits = f"{len(done):6}{len(own) - len(done):9}"
        missing = f" ({n_all - len(own)} to come)" if len(own) < n_all else ""
        rows.append(f"{name:12}{figures}{fits}{seconds:8.0f}  {said}{missing}")
    return "\n".join(rows)


def _floor(benchmark: Benchmark) -> float:
    assert benchmark.noise_sd is not None
    variance = float(np.var(benchmark.test.y[benchmark.n_seed :]))
    return 100.0 * benchmark.noise_sd**2 / variance


def _setting(line: dict[str, Any]) -> Setting:
    return Setting(*(line[name] for name in Setting._fields))


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def _cell(value: float | None) -> str:
    return "diverges" if value is None else f"{value:.3g}"


def main() -> None:
    """Fit what the file has not, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="RIG", action="append", choices=datasets.RIGS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="append here, and resume")
    parser.add_argument("--show", action="store_true", help="print the table of the file only")
    options = parser.parse_args()
    rigs = options.only or datasets.RIGS
    found = read(options.json) if options.json else {}
    if not options.show:
        warm_up()
    for setting, benchmark in () if options.show else grid(rigs, options.seed):
        if setting in found:
            continue
        found[setting] = line = measure(setting, benchmark)
        if options.json:
            with options.json.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
        test = min((_or_infinite(figure[2]) for figure in line["models"]), default=math.inf)
        spent = line.get("skipped", f"{line.get('seconds')} s")
        print(f"{setting.rig:12}{setting!s:44}{test:10.4g}  {spent}", flush=True)
    print(table(list(found.values()), rigs, options.seed))


if __name__ == "__main__":
    main()
