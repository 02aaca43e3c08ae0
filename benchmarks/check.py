"""What `adjoin.check_data` names, and what it names wrongly: planted defects, and clean rigs.

*Planted*: of every rig in `adjoin.datasets.RIGS` and every seed, the 1,400 training samples with
one defect of `adjoin.data.defects`, as it leaves the logger (gaps in a CSV file with a time column,
oversampling by running the rig five times faster). A defect counts as named where a finding of its
name has the level caution or poor. Left out, because nobody could tell: swapped columns of rigs
without an input, or whose input and output have nothing to do with each other; and five times
faster sampling of difference equations, which have one sampling time only.

*False alarms*: every finding of level caution or poor on the same records as they are, but for what
is true of a rig by its construction (`TRUE`, each with its reason). The rate is the share of
records with at least one.

``--seeds N`` seeds of planted defects, ``--clean N`` seeds of clean records.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from adjoin import AdjoinError, Dataset, check_data, datasets
from adjoin.data import defects

TRUE: dict[str, dict[str, str]] = {
    "duffing": {
        "oversampling": "five times, by construction",
        "excitation": "force of 15 Hz in samples of 500 Hz",
        "drift": "of the sensor",
        "offset": "of the sensor",
    },
    "tanks": {
        "offset": "the pump never stops: levels about 60 mm, two standard deviations",
        "saturation": "it overflows",
        "oversampling": "10 to 90 % of a step take 20 to 30 samples; 4 to 10 are enough",
    },
    "motor": {"stuck": "dry friction", "quantised": "encoder"},
    "valve": {"offset": "of the sensor, 75 mm", "stuck": "dead zone"},
    "heater": {
        "offset": "warmer than 0 °C",
        "delay": "15 samples",
        "oversampling": "10 to 90 % of a step take 45 samples; 4 to 10 are enough",
    },
    "damper": {},
    "volterra": {},
    "bilinear": {"offset": "warmer than 0 °C"},
    "linear": {},
    "integrator": {"offset": "homed at 120 mm"},
    "oscillator": {},
    "noise": {"offset": "of the sensor, 9.8 m/s²", "unrelated": "the sensor is not connected"},
}
"""What is true of each rig, and so no false alarm."""
DEFECTS = ("gap", "offset", "oversampling", "saturation", "swapped", "leak")
_NAMES = {"gap": "gaps"}
_BLIND = {"swapped": ("oscillator", "noise")}  # nobody could tell


def planted(defect: str, rig: str, seed: int) -> Dataset | Path | None:
    """A record of a rig with one defect; None where it cannot be planted, or nobody could tell."""
    if rig in _BLIND.get(defect, ()):
        return None
    if defect == "oversampling":
        try:
            return datasets.rig(rig, seed, oversampling=5).train
        except AdjoinError:  # a difference equation
            return None
    data = datasets.rig(rig, seed).train
    if defect == "gap":
        frame = pd.DataFrame(
            np.column_stack([data.inputs[0], data.y]), columns=[*data.names.ordered[:-1]]
        )
        frame.insert(0, "time", data.sampling_time * np.arange(len(frame)))
        begin = int(np.random.default_rng([seed, 1]).integers(100, 1200))
        path = Path(tempfile.gettempdir()) / f"adjoin-gap-{rig}.csv"
        defects.gap(frame, begin).to_csv(path, index=False)
        return path
    plant: Callable[[Dataset], Dataset] = getattr(defects, defect)
    return plant(data)


def alarms(data: Dataset | Path, rig: str) -> set[str]:
    """Names of findings of level caution or poor."""
    if isinstance(data, Path):
        names = datasets.rig(rig).train.names
        found = check_data(data, names.inputs, names.output)
        data.unlink()
    else:
        found = check_data(data)
    return {finding.name for finding in found.findings if finding.level != "good"}


def is_named(defect: str, rig: str, seed: int) -> bool | None:
    """Whether a planted defect is found; None where it is not asked for."""
    data = planted(defect, rig, seed)
    return None if data is None else _NAMES.get(defect, defect) in alarms(data, rig)


def false_alarms(rig: str, seed: int) -> set[str]:
    """Findings on a record as it is that are not true of its rig."""
    return alarms(datasets.rig(rig, seed).train, rig) - set(TRUE[rig])


def table_of_planted(n_seeds: int) -> Iterator[str]:
    """A line for every rig: how often each defect was named."""
    yield f"{'rig':12}" + "".join(f"{name:>14}" for name in DEFECTS)
    named, asked = Counter[str](), Counter[str]()
    for rig in datasets.RIGS:
        line = f"{rig:12}"
        for defect in DEFECTS:
            hits = [is_named(defect, rig, seed) for seed in range(n_seeds)]
            told = [hit for hit in hits if hit is not None]
            named[defect] += sum(told)
            asked[defect] += len(told)
            line += f"{f'{sum(told)} of {len(told)}' if told else '–':>14}"
        yield line
    yield f"{'all':12}" + "".join(f"{f'{100 * named[d] / asked[d]:.1f} %':>14}" for d in DEFECTS)


def table_of_clean(n_seeds: int) -> Iterator[str]:
    """A line for every rig: how many records raise a false alarm, and which."""
    yield f"{'rig':12}{'records with a false alarm':>28}   which"
    n_wrong, kinds = 0, Counter[str]()
    for rig in datasets.RIGS:
        found = [false_alarms(rig, seed) for seed in range(n_seeds)]
        which = Counter(name for names in found for name in names)
        n_wrong += sum(map(bool, found))
        kinds += which
        said = ", ".join(f"{name} {n}" for name, n in which.most_common())
        yield f"{rig:12}{f'{sum(map(bool, found))} of {n_seeds}':>28}   {said}"
    n = n_seeds * len(datasets.RIGS)
    said = ", ".join(f"{name} {100 * k / n:.1f} %" for name, k in kinds.most_common())
    yield f"{'all':12}{f'{100 * n_wrong / n:.1f} % of {n}':>28}   {said}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--clean", type=int, default=100)
    given = parser.parse_args()
    for line in chain(table_of_planted(given.seeds), [""], table_of_clean(given.clean)):
        print(line, flush=True)
