"""Measured records at default settings: free runs on validation and test data, both objectives.

The six sets in ``real`` of the folder ADJOIN_DATA (or of ``shared/data`` beside the project), whose
README has the protocol: *fit* is the first 70 % of every train record, *validation* the last 30 %,
*test* the test file. The first 50 samples of every record seed a free run and are not scored.
NMSE % over all scored samples of all records together; “diverges” where a run is not finite.

*MAP* is the MAP model of all chains, *selected* that of the chain that `Posterior.select_chain`
takes by the validation part; *mean* and *median* are over 100 draws of all chains, and *lost* is
the share of those whose run diverged. With ``objective="abc"`` the last samples of every fit part
are fitted, at most 2,000 in all (``--last``).

``--json FILE`` appends a line for each finished fit and skips those that the file has, so use one
file per version; ``--show FILE …`` prints tables of such files, compares them, and fits
nothing. To decide something, use ``--no-test``, which does not open the test file.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from identifier_options import add_identifier_options, cpu_seconds, identifier_settings, said

from adjoin import AdjoinError, Dataset, Identifier, Model, Posterior, __version__, scores

N_SEED, N_DRAWS, FIT_SHARE = 50, 100, 0.7
LAST: dict[str, int] = {"abc": 2_000}
SEEDS = {"prediction": (0, 1, 2), "abc": (0,)}
FIGURES = ("MAP", "selected", "mean", "median")


class Signals(NamedTuple):
    """Columns of the inputs and of the output, by the names they get."""

    inputs: dict[str, str]
    output: tuple[str, str]


SETS = {
    "mr_damper": Signals(
        {"x": "displacement [mm]", "v": "velocity [mm/s]", "V": "coil voltage [V]"},
        ("F", "force [N]"),
    ),
    "maglev_coil": Signals(
        {"u": "coil voltage u (V)", "z": "ball position y (m)"}, ("i", "coil current i (A)")
    ),
    "building": Signals(
        {
            "Ps": "solar irradiance Ps [kW/m^2]",
            "Ta": "outdoor temperature [degC]",
            "Thm": "heating medium Thm [?]",
        },
        ("Ti", "indoor temperature [degC]"),
    ),
    "battery": Signals(
        {"I": "Current(A)", "q": "Charge(Ah)", "T": "Temperature(degC)"}, ("V", "Voltage(V)")
    ),
    "dc_generator": Signals({"u": "motor drive [V]"}, ("y", "generator output")),
    "steering_mirror": Signals(
        {"p1": "piezo 1 [V]", "p2": "piezo 2 [V]", "p3": "piezo 3 [V]"},
        ("d", "mirror displacement 1 [µm]"),
    ),
}


def data_folder() -> Path:
    """Where the records are."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ADJOIN_DATA") or beside) / "real"
    if not folder.is_dir():
        raise SystemExit(f"there is no folder '{folder}': set ADJOIN_DATA to the one above it")
    return folder


def read(name: str, part: str) -> Dataset:
    """All records of a file; lags must not reach from one into the next."""
    frame = pd.read_csv(data_folder() / f"{name}_{part}.csv")
    signals = SETS[name]
    is_split = "record" in frame.columns
    records = [r for _, r in frame.groupby("record", sort=False)] if is_split else [frame]
    u = [record[list(signals.inputs.values())].to_numpy(float) for record in records]
    y = [record[signals.output[1]].to_numpy(float) for record in records]
    return Dataset.from_arrays(u, y, (*signals.inputs, signals.output[0]), label=f"{name} {part}")


def last_samples(data: Dataset, most: int | None) -> Dataset:
    """The last samples of every record, at most so many in all."""
    if most is None or data.n_samples <= most:
        return data
    n = most // data.n_records
    u, y = [r.inputs[-n:] for r in data.records], [r.output[-n:] for r in data.records]
    return Dataset.from_arrays(u, y, data.names, label=data.label)


def nmse(data: Dataset, runs: Sequence[np.ndarray]) -> float | None:
    """NMSE % of runs, one per record; None where they diverge."""
    measured = [record[N_SEED:] for record in data.outputs]
    found = scores.nmse(measured, [run[N_SEED:] for run in runs])
    return found if math.isfinite(found) else None


def score_model(model: Model, data: Dataset) -> float | None:
    """NMSE % of a model's free run."""
    return nmse(data, model.simulate(data.inputs, [record[:N_SEED] for record in data.outputs]))


def score(every: Posterior, selected: Posterior, data: Dataset) -> dict[str, float | None]:
    """NMSE % of everything that is looked at, and the share of draws that are lost."""
    seeds = [record[:N_SEED] for record in data.outputs]
    drawn = every.simulate(data.inputs, seeds, draws=N_DRAWS, n_jobs=1)
    return {
        "MAP": score_model(every.map_model, data),
        "selected": score_model(selected.map_model, data),
        "mean": nmse(data, drawn.mean),
        "median": nmse(data, drawn.bands[0.5]),
        "lost": drawn.diverged,
    }


class Task(NamedTuple):
    """One fit, and what it is known by in a file."""

    set: str
    objective: str
    seed: int
    last: int | None
    said: str

    @property
    def key(self) -> str:
        """Equal for equal fits."""
        return json.dumps(self)


def run(task: Task, settings: dict[str, Any], has_test: bool) -> dict[str, Any]:
    """Fit, select a chain by validation data, and score: one line of the file."""
    fitted, validation = read(task.set, "train").split(FIT_SHARE)
    data = last_samples(fitted, task.last)
    line: dict[str, Any] = {**task._asdict(), "version": __version__, "n_fitted": data.n_samples}
    identifier = Identifier(objective=task.objective, seed=task.seed, progress=False, n_jobs=1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        begin = cpu_seconds()
        try:
            every = identifier.set_params(**settings).fit(data).posterior_
        except AdjoinError as error:
            return line | {"failed": str(error), "cpu_s": cpu_seconds() - begin}
        line["cpu_s"] = cpu_seconds() - begin
        selected = every.select_chain(validation)
        models = {"MAP": every.map_model, "selected": selected.map_model}
        line |= {
            "terms": {name: len(model.structure) for name, model in models.items()},
            "equation": {name: model.equation for name, model in models.items()},
            "offsets": dict(every.map_model.offsets),
            "chain": selected.chain_numbers[0],
            "noise": {k: float(v) for k, v in every.noise.items() if isinstance(v, float)},
            "validation": score(every, selected, validation),
        }
        if has_test:
            line["test"] = score(every, selected, read(task.set, "test"))
    line["warnings"] = sorted({str(warning.message) for warning in caught})
    return line


HEAD = (
    f"{'set':16}{'objective':11}{'seed':>4}{'terms':>9}{'noise':>10}{'CPU s':>7} |"
    + "".join(f"{name:>10}" for name in (*FIGURES, "lost"))
    + " |"
)


def row(line: dict[str, Any]) -> str:
    """One line of the file as a line of the table."""
    begin = f"{line['set']:16}{line['objective']:11}{line['seed']:4}"
    if "failed" in line:
        return f"{begin}{line['cpu_s']:26.0f} | failed: {line['failed']}"
    terms = f"{line['terms']['MAP']}, {line['terms']['selected']}"
    text = f"{begin}{terms:>9}{line['noise']['mean']:10.3g}{line['cpu_s']:7.0f} |"
    for part in ("validation", "test"):
        if part in line:
            text += "".join(f"{cell(line[part][name]):>10}" for name in FIGURES)
            text += f"{line[part]['lost']:10.0%} |"
    return text


def cell(value: float | None) -> str:
    """Three digits, or a word."""
    if value is None or not math.isfinite(value):
        return "diverges"
    return f"{value:.3g}" if abs(value) < 1e5 else f"{value:.0e}"


def heads(has_test: bool) -> str:
    """Above the table."""
    parts = ["validation NMSE %", "test NMSE %"][: 1 + has_test]
    titles = "".join(f"{title:^50} |" for title in parts)
    first, second = HEAD.split(" |")[:2]
    return f"{'':{len(first)}} |{titles}\n{first} |" + f"{second} |" * len(parts)


Key = tuple[str, str, str]


def figures(lines: Iterable[dict[str, Any]]) -> dict[Key, dict[str, list[float]]]:
    """Every figure over seeds, in order of size, by set, objective and part."""
    found: dict[Key, dict[str, list[float]]] = {}
    for line in lines:
        for part in ("validation", "test"):
            if part in line:
                key = (line["set"], line["objective"], part)
                group = found.setdefault(key, {name: [] for name in FIGURES})
                for name, values in group.items():
                    value = line[part][name]
                    values.append(math.inf if value is None else value)
                    values.sort()
    return found


def summary(lines: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Per set, objective and part, the median over seeds with the smallest and the largest."""
    for key, group in figures(lines).items():
        texts = [
            f"{name} {cell(median(values))} ({cell(values[0])} to {cell(values[-1])})"
            for name, values in group.items()
        ]
        name, objective, part = key
        n_seeds = len(group[FIGURES[0]])
        yield f"{name:16}{objective:11}{part:11}{n_seeds:2} seeds: " + ", ".join(texts)


def comparison(columns: Sequence[list[dict[str, Any]]]) -> Iterator[str]:
    """Medians over seeds, one column for each list of fits, and the last over the first."""
    found = [figures(lines) for lines in columns]
    for key, first in found[0].items():
        if all(key in other for other in found):
            for name in FIGURES:
                medians = [median(other[key][name]) for other in found]
                is_number = all(map(math.isfinite, medians)) and medians[0] > 0.0
                ratio = f"{medians[-1] / medians[0]:.3g}" if is_number else ""
                cells = "".join(f"{cell(value):>12}" for value in medians)
                where = f"{key[0]:16}{key[1]:11}{key[2]:11}{name:10}"
                yield f"{where}{len(first[name]):2} seeds{cells}{ratio:>10}"


def read_lines(path: str) -> list[dict[str, Any]]:
    """The fits of a file; none if there is no file."""
    file = Path(path)
    return [json.loads(text) for text in file.read_text().splitlines()] if file.exists() else []


def show(paths: Iterable[str]) -> None:
    """Print the tables of files, one per setting, and compare them."""
    columns: dict[str, list[dict[str, Any]]] = {}
    for path in paths:
        for line in read_lines(path):
            columns.setdefault(f"{path}, {line['said']}", []).append(line)
    for title, lines in columns.items():
        print(f"{title}\n{heads(any('test' in line for line in lines))}")
        print(*map(row, lines), sep="\n")
        print("\nmedian over seeds (smallest to largest)", *summary(lines), sep="\n", end="\n\n")
    if len(columns) > 1:
        print("medians over seeds, last over first; columns:", *columns, sep="\n  ")
        print(*comparison(list(columns.values())), sep="\n")


def warm_up(objectives: Iterable[str]) -> None:
    """Compile what is used, so that it is not in the first CPU time."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(200)
    y = np.convolve(u, [0.0, 0.5, 0.3])[:200] + 0.1 * rng.standard_normal(200)
    for objective in objectives:
        Identifier(objective=objective, samples=1_000, seed=0, progress=False).fit(u, y)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="SET", action="append", choices=SETS)
    parser.add_argument("--objective", action="append", help="default: both")
    parser.add_argument("--seed", type=int, action="append", help="default 0, 1, 2; abc: 0")
    parser.add_argument("--last", type=int, help="fit so many samples at most, 0: all of them")
    parser.add_argument("--json", metavar="FILE", help="append a line per fit; skip what is there")
    parser.add_argument("--no-test", action="store_true", help="leave the test files alone")
    parser.add_argument("--show", metavar="FILE", nargs="+", help="print tables of such files")
    add_identifier_options(parser)
    return parser.parse_args()


def main() -> None:
    """Fit what was asked for, print a line for each, and the medians."""
    options = parse()
    if options.show:
        show(options.show)
        return
    settings, lines = identifier_settings(options), []
    objectives = options.objective or list(SEEDS)
    known = {}
    for line in read_lines(options.json) if options.json else ():
        if options.no_test or "test" in line or "failed" in line:
            known[Task(*(line[field] for field in Task._fields)).key] = line
    warm_up(objectives)
    print(f"measured records, {said(options)}\n{heads(not options.no_test)}", flush=True)
    for objective in objectives:
        last = LAST.get(objective) if options.last is None else options.last or None
        for name in options.only or SETS:
            for seed in options.seed or SEEDS.get(objective, (0,)):
                task = Task(name, objective, seed, last, said(options))
                line = known.get(task.key) or run(task, settings, not options.no_test)
                if options.json and task.key not in known:
                    with Path(options.json).open("a") as file:
                        file.write(json.dumps(line) + "\n")
                lines.append(line)
                print(row(line), flush=True)
    print("\nmedian over seeds (smallest to largest)", *summary(lines), sep="\n")


if __name__ == "__main__":
    main()
