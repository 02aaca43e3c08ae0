"""Posteriors by simulation on measured records: white noise, AR(1), power auto; three seeds each.

Records, parts and protocol as in ``real.py``. The setting (lag 2, 3, 5, 10; degree 2, 3; centred or
not) is that of the best validation in ``forward_selection.py``'s scan; posteriors are then sampled
of that setting alone, on stretches of 300 samples spread over the fit part, at most ``--most`` in
all (``--last``: on the last samples of every record instead). The noise is chosen by the validation
of the mean over draws, its median over seeds. *spread* is the largest test figure of the seeds over
the smallest. Free runs, NMSE %; CPU seconds of one fit of all chains. ``--json FILE`` appends a
line for each fit and skips those that the file has; ``--no-test`` leaves the test files alone.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import warnings
from pathlib import Path
from statistics import median
from typing import Any

from forward_selection import REFERENCE, all_models
from identifier_options import cpu_seconds
from real import FIT_SHARE, SETS, cell, last_samples, read, read_lines, score, warm_up

from adjoin import AdjoinError, Dataset, Identifier

NOISES: dict[str, dict[str, Any]] = {
    "white": {},
    "ar": {"noise": "ar"},
    "auto": {"likelihood_power": "auto"},
}
SEEDS = (0, 1, 2)
LENGTH = 300


def choose(name: str, data: Dataset, validation: Dataset) -> dict[str, Any]:
    """The setting whose forward selection has the best validation."""
    found, seconds = all_models(data, validation, "simulation")
    lag, degree = map(int, re.findall(r"\d+", found[0].setting))
    center = "not centred" not in found[0].setting
    return {
        "set": name,
        "max_lag": lag,
        "max_degree": degree,
        "center": center,
        "validation": found[0].validation,
        "cpu_s": seconds,
    }


def spread_samples(data: Dataset, most: int | None) -> Dataset:
    """Stretches of every record, as far apart as they can be, at most so many samples in all."""
    if most is None or data.n_samples <= most:
        return data
    u, y = [], []
    for record in data.records:
        n, length = len(record), min(LENGTH, len(record))
        n_parts = max(int(most * n / data.n_samples / LENGTH), 1)
        for i in range(n_parts):
            begin = (n - length) * (2 * i + 1) // (2 * n_parts)
            u.append(record.inputs[begin : begin + length])
            y.append(record.output[begin : begin + length])
    return Dataset.from_arrays(u, y, data.names, label=data.label)


def fit(task: dict[str, Any], setting: dict[str, Any], options: argparse.Namespace) -> dict:
    """One line of the file."""
    fitted, validation = read(task["set"], "train").split(FIT_SHARE)
    take = last_samples if options.last else spread_samples
    data = take(fitted, options.most or None)
    names = ("max_lag", "max_degree", "center")
    identifier = Identifier(
        objective="simulation",
        samples=options.samples,
        chains=options.chains,
        seed=task["seed"],
        n_jobs=1,
        progress=False,
        **{name: setting[name] for name in names},
        **NOISES[task["noise"]],
    )
    begin = cpu_seconds()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            every = identifier.fit(data).posterior_
        except AdjoinError as error:
            return task | {"failed": str(error)}
        spent = cpu_seconds() - begin
        selected = every.select_chain(validation)
        line = task | {
            "cpu_s": spent,
            "rows": data.n_samples,
            "terms": len(every.map_model.structure),
            "power": every.power,
            "left_out": len(every.settings.left_out),
            "log_posterior": [chain["log_posterior"] for chain in every.diagnostics["starts"]],
            "validation": score(every, selected, validation),
        }
        if not options.no_test:
            line["test"] = score(every, selected, read(task["set"], "test"))
    return line


def row(line: dict[str, Any]) -> str:
    """One line of the file as a line of the table."""
    begin = f"{line['set']:16}{line['noise']:7}{line['seed']:4}"
    if "failed" in line:
        return f"{begin}  failed: {line['failed']}"
    text = f"{begin}{line['terms']:6}{line['power']:7.3f}{line['cpu_s']:7.0f} |"
    for part in ("validation", "test"):
        for name in ("MAP", "selected", "mean", "median") if part in line else ():
            text += f"{cell(line[part][name]):>10}"
        text += f"{line[part]['lost']:7.0%} |" if part in line else ""
    return text + "  " + ", ".join(f"{value:.0f}" for value in line["log_posterior"])


def summary(name: str, lines: list[dict[str, Any]]) -> str:
    """The noise that validation chooses, its test figures over seeds, and the reference."""
    means = {}
    for noise in NOISES:
        own = [line for line in lines if line["noise"] == noise and "failed" not in line]
        if own:
            values = [line["validation"]["mean"] for line in own]
            means[noise] = median(math.inf if value is None else value for value in values)
    best = min(means, key=means.__getitem__)
    text = f"{name:16}chosen {best:6} validation {cell(means[best])}"
    chosen = [line for line in lines if line["noise"] == best and "test" in line]
    values = [line["test"]["mean"] for line in chosen]
    known = sorted(math.inf if value is None else value for value in values)
    if known:
        reference, method = REFERENCE[name]
        spread = known[-1] / known[0] if known[-1] < math.inf else math.inf
        text += f"; test {', '.join(cell(value) for value in values)} (spread {spread:.2f})"
        text += f"; reference {reference:g} ({method})"
    return text


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="SET", action="append", choices=SETS)
    parser.add_argument("--noise", action="append", choices=NOISES)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--most", type=int, default=3000, help="samples that are fitted; 0: all")
    parser.add_argument("--last", action="store_true", help="the last ones of every record")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--no-test", action="store_true", help="leave the test files alone")
    return parser.parse_args()


def main() -> None:
    """A block for each set, then what was chosen."""
    options, found = parse(), []
    known = read_lines(options.json) if options.json else []
    warm_up(["simulation"])

    def keep(line: dict[str, Any]) -> dict[str, Any]:
        if options.json:
            with Path(options.json).open("a") as file:
                file.write(json.dumps(line) + "\n")
        return line

    for name in options.only or SETS:
        settings = [line for line in known if line["set"] == name and "max_lag" in line]
        if not settings:
            fitted, validation = read(name, "train").split(FIT_SHARE)
            settings = [keep(choose(name, fitted, validation))]
        print(name, settings[0], flush=True)
        lines = []
        for noise in options.noise or NOISES:
            for seed in options.seed or SEEDS:
                task = {"set": name, "noise": noise, "seed": seed}
                done = [line for line in known if task.items() <= line.items()]
                lines.append(done[0] if done else keep(fit(task, settings[0], options)))
                print(row(lines[-1]), flush=True)
        found.append(summary(name, lines))
    print("", *found, sep="\n")


if __name__ == "__main__":
    main()
