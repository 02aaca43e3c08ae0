r"""The demonstration: a shaken mass on a hardening spring, as files, and what is known about it.

.. math:: m \ddot x + c \dot x + k x + k_3 x^3 = F

`datasets.demo_rig` simulates it. Receives a folder, and gives the record in it as a logger leaves
it; receives a `Model`, and gives the `Physics` in it beside that of the rig.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from adjoin.data.dataset import Dataset
from adjoin.datasets import demo_rig
from adjoin.files import write_whole
from adjoin.model import Model
from adjoin.scores import nmse

if TYPE_CHECKING:
    import pandas as pd

RECORD, TEST = "rig.csv", "test.csv"
INPUT, OUTPUT = "force", "displacement"
TRUTH = "1.2 kg x'' + 9 Ns/m x' + 3 N/mm x + 0.015 N/mm³ x³ = F"

_STEP = 0.01  # s
_MASS, _DAMPING, _STIFFNESS = 1.2, 9.0, 3.0e3
_HOLD = 45.0  # N, of which the linear spring takes 30 N at 10 mm, and the cubic one 15 N
_N_TEST = 1_500
_SETTLED = 1_000  # samples, after which the rig and any model of it have come to rest
_NUDGE = 1e-3  # mm, for slopes


class Physics(NamedTuple):
    """What an engineer would measure on the rig.

    `rest` is what the sensor shows without a force, in mm; `frequency` (Hz) and `damping` (a ratio)
    are those of small motions about it; `way` is by how much a steady 45 N moves the mass, in mm.
    """

    rest: float
    frequency: float
    damping: float
    way: float


TRUE = Physics(
    rest=2.5,
    frequency=math.sqrt(_STIFFNESS / _MASS) / (2.0 * math.pi),
    damping=_DAMPING / (2.0 * math.sqrt(_STIFFNESS * _MASS)),
    way=10.0,
)


def texts(seed: int = 0) -> dict[str, str]:
    """The files of the demonstration by their names: the record, and a second experiment."""
    return {RECORD: _as_text(demo_rig(seed)), TEST: _as_text(demo_rig(seed + 1)[:_N_TEST])}


def write_files(folder: Path, seed: int = 0) -> None:
    """Write both into a folder."""
    for name, text in texts(seed).items():
        write_whole(folder / name, text)


def _as_text(frame: pd.DataFrame) -> str:
    """A table as many loggers write it: names, a row of units, numbers."""
    numbers = frame.to_csv(index=False, header=False, lineterminator="\n")
    return f"time,{INPUT},{OUTPUT}\ns,N,mm\n{numbers}"


def physics_of(model: Model) -> Physics:
    """What the model says about the rig; NaN where it does not say it."""
    rest = _settled(model, 0.0, TRUE.rest)
    return Physics(rest, *_small_motions(model, rest), _settled(model, _HOLD, rest) - rest)


def _settled(model: Model, force: float, start: float) -> float:
    """Where it comes to rest under a steady force."""
    seed = np.full(model.max_lag, start)
    run = model.free_response([np.full((_SETTLED, 1), force)], [seed]).series[0]
    return float(run[-1])


def _small_motions(model: Model, rest: float) -> tuple[float, float]:
    r"""Natural frequency and damping ratio of the slowest swing about a state of rest.

    The roots z of :math:`z^L = \sum_l z^{L-l}\, \partial y(k)/\partial y(k-l)` are
    :math:`e^{s\,Δt}`, with :math:`|s| = 2πf` and :math:`-\mathrm{Re}\,s = |s| ζ`.
    """
    lags = model.max_lag
    if not math.isfinite(rest) or lags < 2:
        return math.nan, math.nan
    slopes = [
        (_next(model, rest, lag, _NUDGE) - _next(model, rest, lag, -_NUDGE)) / (2.0 * _NUDGE)
        for lag in range(1, lags + 1)
    ]
    if not np.isfinite(slopes).all():
        return math.nan, math.nan
    roots = [z for z in np.roots([1.0, *(-s for s in slopes)]) if z.imag > 0.0]
    if not roots:
        return math.nan, math.nan
    s = np.log(max(roots, key=abs)) / _STEP
    return float(abs(s) / (2.0 * math.pi)), float(-s.real / abs(s))


def _next(model: Model, rest: float, lag: int, nudge: float) -> float:
    """The sample after a rest in which one past output is a little off."""
    past = np.full(model.max_lag, rest)
    past[-lag] += nudge
    run = model.free_response([np.zeros((model.max_lag + 1, 1))], [past]).series[0]
    return float(run[-1])


def in_words(found: Physics) -> str:
    """The equation's physics beside that of the rig, in a sentence."""
    if not all(map(math.isfinite, found)):
        return f"The rig is {TRUTH}; the equation found does not swing about a rest as the rig does"
    return (
        f"The rig is {TRUTH}, with {TRUE.rest:g} mm of sensor offset. The equation found rests at"
        f" {found.rest:.2f} mm (rig: {TRUE.rest:.2f}), swings about it at {found.frequency:.2f} Hz"
        f" (rig: {TRUE.frequency:.2f}) with a damping ratio of {found.damping:.3f} (rig:"
        f" {TRUE.damping:.3f}), and a steady force of {_HOLD:g} N moves it by {found.way:.2f} mm"
        f" (rig: {TRUE.way:.2f}; its spring without the cubic part: {_HOLD / _STIFFNESS * 1e3:.0f})"
    )


def missed(model: Model, test: Dataset) -> float:
    """What the free run misses of another experiment, in percent of the output's variance."""
    runs = model.free_response(test.inputs, [y[: model.max_lag] for y in test.outputs]).series
    measured = np.concatenate([y[model.max_lag :] for y in test.outputs])
    return nmse(measured, np.concatenate([run[model.max_lag :] for run in runs]))


def plain(found: Physics) -> dict[str, dict[str, float | None]]:
    """The same figures of the rig and of the equation as plain values."""
    own = {name: x if math.isfinite(x) else None for name, x in found._asdict().items()}
    return {"rig": TRUE._asdict(), "equation": own}
