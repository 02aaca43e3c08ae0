"""Posteriors by simulation on measured records: white noise, AR(1), power auto; three seeds each.

Records as in ``real.py``, all of every train file. What chooses is what `adjoin.discover` holds
out, whole records or stretches of time in turn: the setting (lag 2, 3, 5, 10; degree 2, 3; centred
or not) has the smallest typical error of the paths of `adjoin.forward_selection`, as `discover`
ranks them; the noise has the smallest error of the mean over draws on one fold, the one that was
neither easy nor hard for that path, of a posterior fitted without it (*held out*). Posteriors of
all train data are then sampled with every noise and seed, and scored on the test file. *spread* is
the largest test figure of the seeds over the smallest, by the mean of draws. Free runs, NMSE %; CPU
seconds of one fit of all chains. ``--json FILE`` appends a line for each fit and skips those that
the file has; ``--no-test`` leaves the test files alone.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from forward_selection import CENTRES, DEGREES, LAGS, REFERENCE
from identifier_options import cpu_seconds
from real import N_SEED, SETS, cell, nmse, read, read_lines, score_model, warm_up

from adjoin import AdjoinError, Dataset, Identifier, Posterior
from adjoin.discovery.folds import MOST_FOLDS, Fold, make_folds
from adjoin.discovery.ranking import rank
from adjoin.discovery.scan import scan, variance
from adjoin.discovery.settings import Setting

NOISES: dict[str, dict[str, Any]] = {
    "white": {},
    "ar": {"noise": "ar"},
    "auto": {"likelihood_power": "auto"},
}
SEEDS = (0, 1, 2)
MAX_TERMS, N_DRAWS = 20, 100
PAID_FOR = 2_000_000  # rows of free runs
LONG = 5_000  # samples, from which on one fold less is held out


def folds_of(data: Dataset) -> tuple[Fold, ...]:
    """What is held out in turn."""
    return make_folds(data, N_SEED, MOST_FOLDS - (data.n_samples > LONG))


def choose(name: str) -> dict[str, Any]:
    """The setting whose paths miss least of what is held out, and a fold to try the noise on."""
    begin, data = cpu_seconds(), read(name, "train")
    settings = [
        Setting("simulation", lag, degree, is_centred, MAX_TERMS)
        for degree, lag, is_centred in product(DEGREES, LAGS, CENTRES)
    ]
    paths = scan(settings, folds_of(data), N_SEED, {}, 0, n_jobs=1)
    best = rank(paths, variance(data))[0]
    ascending = np.argsort(best.error.mean(axis=1), kind="stable")
    return {
        "set": name,
        "max_lag": best.setting.max_lag,
        "max_degree": best.setting.max_degree,
        "center": best.setting.center,
        "path": best.nmse,
        "fold": int(ascending[len(ascending) // 2]),
        "cpu_s": cpu_seconds() - begin,
    }


def n_samples(data: Dataset) -> int:
    """Of a chain: as many as cost about the same on all records."""
    return min(max(PAID_FOR // data.n_samples, 150), 5_000)


def figures(every: Posterior, data: Dataset) -> dict[str, float | None]:
    """NMSE % of the MAP model, of mean and median of draws; and the share of draws lost."""
    seeds = [output[:N_SEED] for output in data.outputs]
    drawn = every.simulate(data.inputs, seeds, draws=N_DRAWS, n_jobs=1)
    return {
        "MAP": score_model(every.map_model, data),
        "mean": nmse(data, drawn.mean),
        "median": nmse(data, drawn.bands[0.5]),
        "lost": drawn.diverged,
    }


def fit(task: dict[str, Any], setting: dict[str, Any], options: argparse.Namespace) -> dict:
    """One line of the file: of all train data, or without the fold that the noise is tried on."""
    data = read(task["set"], "train")
    fold = folds_of(data)[setting["fold"]]
    names = ("max_lag", "max_degree", "center")
    identifier = Identifier(
        objective="simulation",
        samples=options.samples or n_samples(data),
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
            every = identifier.fit(fold.fitted if task["is_trial"] else data).posterior_
        except AdjoinError as error:
            return task | {"failed": str(error)}
        line = task | {
            "cpu_s": cpu_seconds() - begin,
            "terms": len(every.map_model.structure),
            "power": every.power,
            "left_out": len(every.settings.left_out),
            "log_posterior": [chain["log_posterior"] for chain in every.diagnostics["starts"]],
        }
        if task["is_trial"]:
            line["held out"] = figures(every, fold.held_out)
        elif not options.no_test:
            line["test"] = figures(every, read(task["set"], "test"))
    return line


def mean_of(line: dict[str, Any], part: str) -> float:
    """The error of the mean of draws, infinite where it is lost or there is none."""
    value = line.get(part, {}).get("mean")
    return math.inf if value is None else float(value)


def row(line: dict[str, Any]) -> str:
    """One line of the file as a line of the table."""
    begin = f"{line['set']:16}{line['noise']:7}{line['seed']:4}"
    if "failed" in line:
        return f"{begin}  failed: {line['failed']}"
    text = f"{begin}{line['terms']:6}{line['power']:7.3f}{line['cpu_s']:7.0f} |"
    for part in ("held out", "test"):
        if part in line:
            values = "".join(f"{cell(line[part][name]):>10}" for name in ("MAP", "mean", "median"))
            text += f" {part:9}{values}{line[part]['lost']:7.0%} |"
    return text + "  " + ", ".join(f"{value:.0f}" for value in line["log_posterior"])


def summary(name: str, lines: list[dict[str, Any]]) -> str:
    """The noise that was chosen, its test figures over seeds, and the reference."""
    trials = {line["noise"]: mean_of(line, "held out") for line in lines if line["is_trial"]}
    best = min(trials, key=trials.__getitem__)
    text = f"{name:16}chosen {best:6} held out {cell(trials[best])}"
    chosen = [line for line in lines if line["noise"] == best and "test" in line]
    values = sorted(mean_of(line, "test") for line in chosen)
    if values:
        reference, method = REFERENCE[name]
        spread = values[-1] / values[0] if values[-1] < math.inf else math.inf
        text += f"; test {', '.join(cell(mean_of(line, 'test')) for line in chosen)}"
        text += f" (spread {spread:.2f}); reference {reference:g} ({method})"
    return text


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="SET", action="append", choices=SETS)
    parser.add_argument("--noise", action="append", choices=NOISES)
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--samples", type=int, help="default: 2 million by the number of rows")
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
        settings = [line for line in known if line["set"] == name and "fold" in line]
        if not settings:
            settings = [keep(choose(name))]
        print(name, settings[0], flush=True)
        lines = []
        tasks = [(noise, 0, True) for noise in options.noise or NOISES]
        tasks += product(options.noise or NOISES, options.seed or SEEDS, [False])
        for noise, seed, is_trial in tasks:
            task = {"set": name, "noise": noise, "seed": seed, "is_trial": is_trial}
            done = [line for line in known if task.items() <= line.items()]
            lines.append(done[0] if done else keep(fit(task, settings[0], options)))
            print(row(lines[-1]), flush=True)
        found.append(summary(name, lines))
    print("", *found, sep="\n")


if __name__ == "__main__":
    main()
