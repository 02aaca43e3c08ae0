"""The picture of a learning curve: errors by how much was trained on, on scales of powers.

Receives medians and quartiles by method; draws into a figure of its own, as wide as it is told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from adjoin.report.colours import COLOURS, INK
from adjoin.report.labels import label_axes, room, shorten, write
from adjoin.report.style import NARROW, SMALL, WIDE, dress, height_of, new_axes, scale_by_powers

_LINE = 1.5 * SMALL / 72.0  # inches from one label to the next
_BESIDE = 0.7, 0.3  # of the range of sizes: room for the labels before it, on a phone and a page


@dataclass(frozen=True)
class LearningLine:
    """A method: for each number of samples the median of its error, and the quartiles.

    Infinite where runs diverge.
    """

    label: str
    n_train: Sequence[int]
    median: Sequence[float]
    low: Sequence[float]
    high: Sequence[float]
    is_baseline: bool = False


def plot_learning(
    lines: Sequence[LearningLine], *, unit: str = "NMSE (%)", width: float = WIDE
) -> Axes:
    """Medians as lines with their names beside them, quartiles as bands.

    Parameters
    ----------
    lines : sequence of LearningLine
        All with the same numbers of samples.
    unit : str
        Of the errors.
    width : float
        In inches.
    """
    ax = dress(new_axes(width, 3.4))
    sizes = list(lines[0].n_train)
    colours = iter(COLOURS)
    looks = [(INK, "--") if line.is_baseline else (next(colours), "-") for line in lines]
    for line, (colour, style) in zip(lines, looks, strict=True):
        median, low, high = (_finite(part) for part in (line.median, line.low, line.high))
        ax.fill_between(sizes, low, high, color=colour, alpha=0.14, linewidth=0)
        ax.plot(sizes, median, style, color=colour, linewidth=1.6, marker="o", markersize=3.6)
    ax.set_xscale("log")
    share = _BESIDE[width > NARROW]
    ax.set_xlim(sizes[0] / (sizes[-1] / sizes[0]) ** share, sizes[-1] * 1.06)
    ax.xaxis.set_major_locator(FixedLocator(sizes))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
    scale_by_powers(ax)
    fits = room(0.9 * width * share / (1.0 + share), SMALL)
    wanted = [_first_finite(line.median) for line in lines]
    places = _apart(ax, wanted)
    for line, (colour, _), place in zip(lines, looks, places, strict=True):
        name = shorten(line.label, fits)
        write(ax, 0.94 * sizes[0], place, name, color=colour, ha="right", va="center")
    label_axes(ax, "training samples", unit)
    return ax


def _finite(values: Sequence[float]) -> np.ndarray:
    """Infinite errors leave a gap."""
    array = np.asarray(values, dtype=float)
    return np.where(np.isfinite(array), array, np.nan)


def _first_finite(values: Sequence[float]) -> float:
    return next((value for value in values if math.isfinite(value)), 1.0)


def _apart(ax: Axes, wanted: Sequence[float]) -> list[float]:
    """Places near those wanted, on a scale of powers, that leave each label a line of its own."""
    low, high = np.log(ax.get_ylim())
    line = _LINE / (0.8 * height_of(ax)) * (high - low)
    order = np.argsort(wanted)
    place = np.log(np.asarray(wanted, dtype=float))
    for _ in range(20 * len(order)):
        for below, above in pairwise(order):
            overlap = line - (place[above] - place[below])
            if overlap > 0.0:
                place[below] -= 0.5 * overlap
                place[above] += 0.5 * overlap
    return [float(value) for value in np.exp(place)]
