"""Data with every finding there is, once each, for tests of remedies and pictures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from tests.data.planted import PLANTED, clean

from adjoin import DataCheck, Dataset, check_data, datasets
from adjoin.data import defects

NAMES = {
    *("at-rest", "collinear", "constant", "constant-in-records", "delay", "drift", "excitation"),
    *("feedback", "few-samples", "gaps", "held", "irregular-sampling", "jitter", "leak"),
    *("missing-values", "offset", "outliers", "oversampling", "quantised", "repeated-times"),
    *("sampling", "saturation", "short-records", "stuck", "swapped", "time-goes-back"),
    *("time-descends", "time-unread", "two-levels", "undersampling", "unrelated"),
    *("counter-restarts", "uneven-counter"),
}


def _of_files(folder: Path) -> Iterator[DataCheck]:
    rng = np.random.default_rng(0)
    u, y, _ = clean("arx", 0)
    even = 0.01 * np.arange(len(u))
    hole = np.where(np.arange(len(u)) % 400 == 7, np.nan, u)
    tables = (
        {"time": np.delete(even, slice(700, 760)), "u": u[60:], "y": y[60:]},
        {"time": np.delete(even, slice(700, 703)), "u": u[3:], "y": y[3:]},
        {"time": even, "u": hole, "y": y},
        {"time": np.cumsum(rng.choice([0.1, 1.0, 60.0], len(u))), "u": u, "y": y},
        {"time": even + 0.001 * rng.normal(size=len(u)), "u": u, "y": y},
        {"time": np.where(np.arange(len(u)) == 700, even - 0.01, even), "u": u, "y": y},
        {"time": np.full(len(u), "soon"), "u": u, "y": y},
        {"time": even % 5.0, "u": u, "y": y},
        {"time": even[::-1], "u": u, "y": y},
        {"sample": np.arange(len(u)) % 700, "u": u, "y": y},
        {"sample": np.cumsum(rng.choice([1, 2, 5], len(u))), "u": u, "y": y},
    )
    for table in tables:
        pd.DataFrame(table).to_csv(folder / "rig.csv", index=False)
        yield check_data(folder / "rig.csv")


def _of_arrays() -> Iterator[DataCheck]:
    rng = np.random.default_rng(0)
    u, y, _ = clean("arx", 0)
    noise = rng.normal(size=len(u))
    relay = np.sign(u)
    level = [np.column_stack([part, np.full(750, i)]) for i, part in enumerate((u[:750], u[750:]))]
    yield from (check_data(PLANTED[name]("arx", 0)) for name in PLANTED)
    yield check_data(defects.swapped(datasets.rig("motor", 0).train))
    pairs = (
        ([u[:8], u[8:60]], [y[:8], y[8:60]]),
        (relay, np.roll(relay, 1) + 0.01 * y),
        (level, [y[:750], y[750:]]),
        (np.column_stack([u, np.full(len(u), 3.0)]), np.ones(len(u))),
        (u, np.cos(0.96 * np.pi * np.arange(len(u))) + 0.1 * noise),
        (np.sin(0.3 * np.arange(len(u))), y),
        (noise, y),
        (np.maximum(u, 0.0), y),
        (np.repeat(u[:300], 5), y),
    )
    yield from (check_data(Dataset.from_arrays(*pair)) for pair in pairs)


@cache
def every_check() -> tuple[DataCheck, ...]:
    """Checks whose findings have every name."""
    with TemporaryDirectory() as folder:
        return (*_of_arrays(), *_of_files(Path(folder)))
