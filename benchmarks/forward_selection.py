"""Forward selection by slopes on measured records: 16 settings each, chosen by validation.

Records, parts and protocol as in ``real.py``: fitted on the first 70 % of every train record,
chosen by the free run on the last 30 %, scored on the test file; the first 50 samples of every
record seed a run and are not scored. Settings: lag 2, 3, 5, 10; degree 2, 3; centred or not. All
models of all paths are compared, up to 20 terms each.

*one* is the model with the best validation; *mean* and *median* are over the free runs of the 5, 10
and 20 best, sample by sample, without those that left the range of the fitted data, `Model.limits`
(*lost*: how many of 20 did). NMSE %; CPU seconds of all 16 fits, after compilation. *reference* is
the best test figure in the README of the records. ``--last`` fits the last samples only, at most so
many in all. To decide something, use ``--no-test``, which does not open the test file.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Sequence
from itertools import product
from typing import NamedTuple

import numpy as np
from real import FIT_SHARE, N_SEED, SETS, cell, last_samples, nmse, read

from adjoin import Dataset, Model, forward_selection

LAGS, DEGREES, CENTRES = (2, 3, 5, 10), (2, 3), (False, True)
BEST = (5, 10, 20)
REFERENCE = {
    "mr_damper": (1.14, "adjoin abc"),
    "maglev_coil": (0.125, "adjoin osa"),
    "building": (46.7, "physics terms"),
    "battery": (6.37, "physics terms"),
    "dc_generator": (0.525, "FROLS"),
    "steering_mirror": (27.0, "adjoin abc"),
}


class Found(NamedTuple):
    """One model, what it came from, and its free run on validation."""

    validation: float
    setting: str
    model: Model


def free_runs(model: Model, data: Dataset) -> list[np.ndarray]:
    """Of every record; NaN from where it is lost."""
    return model.free_response(data.inputs, [y[:N_SEED] for y in data.outputs]).series


def all_models(data: Dataset, validation: Dataset, objective: str) -> tuple[list[Found], float]:
    """The models of all settings, best validation first, and the CPU seconds of the fits."""
    found, seconds = [], 0.0
    for lag, degree, is_centred in product(LAGS, DEGREES, CENTRES):
        begin = time.process_time()
        path = forward_selection(
            data, objective=objective, max_lag=lag, max_degree=degree, center=is_centred
        )
        spent = time.process_time() - begin
        seconds += spent
        setting = f"lag {lag}, degree {degree}, {'' if is_centred else 'not '}centred"
        figures = [nmse(validation, free_runs(model, validation)) for model in path]
        found += [
            Found(math.inf if figure is None else figure, setting, model)
            for figure, model in zip(figures, path, strict=True)
        ]
        best = min((f for f in figures if f is not None), default=math.inf)
        print(f"    {setting:34}{len(path):3} models {spent:6.1f} s   {best:.4g}", flush=True)
    return sorted(found, key=lambda one: one.validation), seconds


def average(found: Sequence[Found], data: Dataset, how: str) -> tuple[float | None, int]:
    """NMSE % of the mean or the median of free runs, and how many of them were lost."""
    runs = [free_runs(one.model, data) for one in found]
    kept = [run for run in runs if all(np.isfinite(series).all() for series in run)]
    if not kept:
        return None, len(runs)
    combine = np.mean if how == "mean" else np.median
    together = [combine(series, axis=0) for series in zip(*kept, strict=True)]
    return nmse(data, together), len(runs) - len(kept)


def figures(found: Sequence[Found], data: Dataset) -> str:
    """One part of a row: of the one, of the averages, and how many of the best were lost."""
    values = [nmse(data, free_runs(found[0].model, data))]
    values += [average(found[:n], data, how)[0] for how in ("mean", "median") for n in BEST]
    n_lost = average(found[: BEST[-1]], data, "mean")[1]
    return "".join(f"{cell(value):>10}" for value in values) + f"{n_lost:6}"


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", metavar="SET", action="append", choices=SETS)
    parser.add_argument("--objective", default="simulation", help="or prediction")
    parser.add_argument("--last", type=int, default=0, help="fit so many samples at most, 0: all")
    parser.add_argument("--no-test", action="store_true", help="leave the test files alone")
    return parser.parse_args()


def warm_up(objective: str) -> None:
    """Compile what is used."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(200)
    y = np.convolve(u, [0.0, 0.5, 0.3])[:200] + 0.1 * rng.standard_normal(200)
    forward_selection(u, y, objective=objective, max_lag=2, max_degree=2, max_terms=4)


def main() -> None:
    """A block of settings for each set, then the table."""
    options = parse()
    warm_up(options.objective)
    names = [f"{how} {n}" for how in ("mean", "median") for n in BEST]
    head = f"{'set':16}{'rows':>7}{'CPU s':>7}{'terms':>6} |{'one':>10}"
    head += "".join(f"{name:>10}" for name in names) + f"{'lost':>6}"
    table = [f"forward selection, objective {options.objective}; NMSE %, free run", head]
    for name in options.only or SETS:
        print(name, flush=True)
        fitted, validation = read(name, "train").split(FIT_SHARE)
        data = last_samples(fitted, options.last or None)
        found, seconds = all_models(data, validation, options.objective)
        n_terms = len(found[0].model.structure)
        begin = f"{name:16}{data.n_samples:7}{seconds:7.1f}{n_terms:6} |"
        table.append(f"{begin}{figures(found, validation)}   validation: {found[0].setting}")
        if not options.no_test:
            figure, method = REFERENCE[name]
            text = figures(found, read(name, "test"))
            table.append(f"{'':36} |{text}   test; reference {figure:g} ({method})")
        print(table[-1], flush=True)
    print("", *table, sep="\n")


if __name__ == "__main__":
    main()
