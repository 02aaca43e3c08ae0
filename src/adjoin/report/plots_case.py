"""Pictures of a case study: errors and sizes side by side, residuals against the signal.

Receives plain values by method; each function draws into a figure of its own, as wide as it is
told.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

from adjoin.arrays import Float1D
from adjoin.report.colours import BLUE, COLOURS, FAINT, INK, MUTED, ORANGE
from adjoin.report.labels import (
    add_legend,
    add_title,
    fold_exponent,
    label_axes,
    list_rows,
    room,
    shorten,
    with_unit,
    write,
)
from adjoin.report.series import clock_of, envelope, set_range
from adjoin.report.style import NARROW, WIDE, columns_of, count_by_whole_numbers, dress, new_figure

_WIDE_RANGE = 30.0  # largest over smallest error: beyond, bars are on a scale of powers
_ROW = 0.19  # inches
_MARGIN = 1.22  # of the largest value: beyond it the values stand as numbers


@dataclass(frozen=True)
class Bar:
    """A method with one λ_t: its error, its number of terms, and the error that others printed."""

    method: str
    term_rate: float
    error: float | None
    n_terms: float | None
    theirs: float | None = None


def plot_bars(
    bars: Sequence[Bar],
    *,
    unit: str = "NMSE (%)",
    baseline: float | None = None,
    baseline_label: str = "white box",
    width: float = WIDE,
) -> Figure:
    """Errors and numbers of terms, one row per method and λ_t; one colour per λ_t.

    Parameters
    ----------
    bars : sequence of Bar
        Those of a method in a row.
    unit : str
        Of the errors.
    baseline : float, optional
        An error to be held against, drawn as a line.
    baseline_label : str
    width : float
        In inches; the two panels are side by side on a wide screen.
    """
    is_narrow = width <= NARROW
    methods = list(dict.fromkeys(bar.method for bar in bars))
    # A row for every bar, and a line for the name of each method.
    place: list[float] = []
    heads: list[tuple[float, str]] = []
    y = 0.0
    for method in methods:
        heads.append((y, method))
        y += 1.0
        for bar in bars:
            if bar.method == method:
                place.append(y)
                y += 1.0
        y += 0.35
    ordered = [bar for method in methods for bar in bars if bar.method == method]
    height = _ROW * y + 0.75
    figure = new_figure(width, 2 * height if is_narrow else height)
    shape = (2, 1) if is_narrow else (1, 2)
    left, right = figure.subplots(*shape, width_ratios=None if is_narrow else (1.5, 1.0))
    rates = list(dict.fromkeys(bar.term_rate for bar in bars))
    colour = {rate: COLOURS[i % len(COLOURS)] for i, rate in enumerate(rates)}
    known = [bar.error for bar in ordered if bar.error is not None and bar.error > 0.0]
    theirs = [bar.theirs for bar in ordered if bar.theirs is not None]
    spread = [*known, *theirs, *([baseline] if baseline is not None else [])]
    is_log = bool(spread) and max(spread) > _WIDE_RANGE * min(spread)
    floor = 0.5 * min(spread) if is_log else 0.0
    top = max(spread, default=1.0)
    for ax, values, label, is_error in (
        (left, [bar.error for bar in ordered], unit, True),
        (right, [bar.n_terms for bar in ordered], "number of terms (median)", False),
    ):
        dress(ax, "x")
        _bars(
            ax,
            ordered,
            place,
            values,
            colour,
            floor if is_error else 0.0,
            "{:#.3g}" if is_error else "{:g}",
        )
        if is_error:
            _marks(ax, ordered, place)
            if baseline is not None:
                name = f"{baseline_label}, {baseline:.3g}"
                ax.axvline(baseline, color=INK, linewidth=1.0, linestyle="--", label=name)
            if is_log:
                ax.set_xscale("log")
                ax.xaxis.set_major_locator(LogLocator(subs=(1.0,)))
                ax.xaxis.set_minor_locator(NullLocator())
                ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            ax.set_xlim(floor, (top / floor) ** _MARGIN * floor if is_log else _MARGIN * top)
        else:
            most = max((value for value in values if value is not None), default=1.0)
            ax.set_xlim(0.0, _MARGIN * max(most, 1.0))
            count_by_whole_numbers(ax.xaxis)
        ax.set_ylim(y - 0.4, -0.7)
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        fits = room(0.9 * (width if is_narrow else 0.5 * width))
        for at, method in heads:
            write(
                ax,
                0.0,
                at,
                shorten(method, fits),
                transform=ax.get_yaxis_transform(),
                va="center",
                color=INK,
            )
        label_axes(ax, label)
    add_legend(left, [f"λ_t = {rate:g}" for rate in rates], 0.95 if is_narrow else 1.4)
    return figure


def _bars(
    ax: Axes,
    bars: Sequence[Bar],
    place: Sequence[float],
    values: Sequence[float | None],
    colour: dict[float, str],
    floor: float,
    style: str,
) -> None:
    seen: set[float] = set()
    for bar, y, value in zip(bars, place, values, strict=True):
        name = "_" if bar.term_rate in seen else f"λ_t = {bar.term_rate:g}"
        seen.add(bar.term_rate)
        is_known = value is not None and math.isfinite(value)
        length = max(value - floor, 0.0) if value is not None and is_known else 0.0
        ax.barh(y, length, left=floor, height=0.72, color=colour[bar.term_rate], label=name)
        said = style.format(value) if is_known else "–"
        write(ax, 1.0, y, said, transform=ax.get_yaxis_transform(), va="center", ha="right")


def _marks(ax: Axes, bars: Sequence[Bar], place: Sequence[float]) -> None:
    """The paper's own figures, as ticks across the bars."""
    found = [(bar.theirs, y) for bar, y in zip(bars, place, strict=True) if bar.theirs is not None]
    if found:
        x, y = zip(*found, strict=True)
        ax.plot(
            x,
            y,
            "D",
            color=INK,
            markersize=3.4,
            markeredgecolor="#ffffff",
            markeredgewidth=0.5,
            label="the paper",
            zorder=4,
        )


def plot_against_signal(
    measured: Float1D,
    residual: Float1D,
    *,
    time: Any = None,
    output: str = "y",
    unit: str = "",
    width: float = WIDE,
) -> Figure:
    """What the free run of the MAP model leaves of the measured output: on its scale, and closer.

    Parameters
    ----------
    measured, residual : (n,) float
    time, output, unit, width
        As for `plots.plot_response`.
    """
    figure = new_figure(width, 3.6)
    above, below = figure.subplots(2, 1, sharex=True)
    clock, time_label = clock_of(time, len(measured))
    reach = 3.0 * float(np.abs(measured).max())  # a run that diverges leaves the picture
    left = np.clip(residual, -reach, reach)
    for ax, series, name, colour in (
        (above, measured, "measured", FAINT),
        (above, left, "measured − free run of the MAP", ORANGE),
        (below, left, "_", ORANGE),
    ):
        keep = envelope(series, columns_of(dress(ax)))
        ax.plot(clock[keep], series[keep], color=colour, linewidth=0.8, label=name)
    set_range(above, clock)
    for ax, what in ((above, output), (below, f"residual of {output}")):
        x = time_label if ax is below else ""
        label_axes(ax, x, with_unit(what, fold_exponent(ax), unit))
    add_legend(above)
    return figure


@dataclass(frozen=True)
class Interval:
    """A mean with its interval, in a named row."""

    label: str
    mean: float
    low: float | None
    high: float | None
    is_theirs: bool = False


def plot_intervals(
    panels: Sequence[tuple[str, float | None, Sequence[Interval]]], *, width: float = WIDE
) -> Figure:
    """Posterior means and 95 % intervals, one panel per term, with the truth as a line.

    Parameters
    ----------
    panels : sequence of (term, truth, intervals)
    width : float
    """
    is_narrow = width <= NARROW
    n_columns = 1 if is_narrow else min(len(panels), 3)
    n_lines = -(-len(panels) // n_columns)
    n_most = max(len(intervals) for _, _, intervals in panels)
    figure = new_figure(width, n_lines * (0.24 * n_most + 0.75))
    axes = figure.subplots(n_lines, n_columns, squeeze=False)
    for ax in axes.ravel()[len(panels) :]:
        ax.set_axis_off()
    for i, (ax, (term, truth, intervals)) in enumerate(zip(axes.ravel(), panels, strict=False)):
        dress(ax, "x")
        add_title(ax, term)
        for y, found in enumerate(intervals):
            colour = MUTED if found.is_theirs else BLUE
            if found.low is not None and found.high is not None:
                ax.plot([found.low, found.high], [y, y], color=colour, linewidth=2.0)
            ax.plot(found.mean, y, "o", color=colour, markersize=4.0)
        if truth is not None:
            ax.axvline(truth, color=ORANGE, linewidth=1.1, linestyle="--", label="truth")
        labels = [found.label if i % n_columns == 0 else "" for found in intervals]
        list_rows(ax, labels)
        ax.xaxis.set_major_locator(MaxNLocator(3))
    return figure
