"""How every picture looks: its size, the dress of an Axes, and its scales.

Receives Axes from the plots and dresses them.
"""

from __future__ import annotations

from io import BytesIO
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
)

from adjoin.errors import AdjoinError
from adjoin.report.colours import FAINT, INK, PAPER
from adjoin.report.layout import GridLayout

WIDE, NARROW = 7.5, 3.6  # inches: a page, a phone
FONT, SMALL = 9.0, 8.0  # points
_COLUMNS_PER_INCH = 100
_DPI = 96  # of a notebook


class NotebookFigure(Figure):
    """A figure that a notebook shows by itself, with or without pyplot."""

    def _repr_png_(self) -> tuple[bytes, dict[str, int]]:
        drawn = BytesIO()
        self.savefig(
            drawn, format="png", dpi=2 * _DPI
        )  # sharp on fine screens, shown half as large
        width, height = (round(_DPI * inches) for inches in self.get_size_inches())
        return drawn.getvalue(), {"width": width, "height": height}


def new_axes(width: float, height: float) -> Axes:
    """The one Axes of a new figure of that size in inches."""
    return new_figure(width, height).subplots()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, laid out so that nothing is cut off."""
    return NotebookFigure(figsize=(width, height), facecolor=PAPER, layout=GridLayout())


def dress(ax: Axes, grid: str = "y") -> Axes:
    """Give an Axes the house look: open frame, faint grid (along ``"x"``, ``"y"`` or ``""``)."""
    ax.set_facecolor("none")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(FAINT)
    ax.tick_params(color=FAINT, labelcolor=INK, labelsize=SMALL, length=3.0)
    for axis in (ax.xaxis, ax.yaxis):
        axis.label.set(color=INK, fontsize=FONT)
        axis.get_offset_text().set(color=INK, fontsize=SMALL)
    if isinstance(formatter := ax.yaxis.get_major_formatter(), ScalarFormatter):
        formatter.set_useOffset(False)  # its corner is the legend's
    ax.set_axisbelow(True)
    for name, axis in (("x", ax.xaxis), ("y", ax.yaxis)):
        if name == grid:
            axis.grid(True, color=FAINT, alpha=0.4, linewidth=0.6)
        elif axis.get_tick_params().get("gridOn", True):
            axis.grid(False)
    return ax


def width_of(ax: Axes) -> float:
    """The width in inches that an Axes has for itself and its labels."""
    place = ax.get_subplotspec()
    if place is None:
        return _inches(ax)[0] * float(ax.get_position().width)
    return _inches(ax)[0] * len(place.colspan) / place.get_gridspec().ncols


def height_of(ax: Axes) -> float:
    """The height in inches that an Axes has for itself and its labels."""
    place = ax.get_subplotspec()
    if place is None:
        return _inches(ax)[1] * float(ax.get_position().height)
    grid = place.get_gridspec()
    ratios: Any = grid.get_height_ratios()  # matplotlib says it gives one number
    own = sum(ratios[row] for row in place.rowspan)
    return float(_inches(ax)[1] * own / sum(ratios))


def _inches(ax: Axes) -> tuple[float, float]:
    figure = ax.get_figure()
    if figure is None:
        raise AdjoinError("the Axes belongs to no Figure; make it by figure.subplots()")
    return float(figure.bbox.width) / figure.dpi, float(figure.bbox.height) / figure.dpi


def columns_of(ax: Axes) -> int:
    """How many columns of pixels a series can be told apart in."""
    return max(round(_COLUMNS_PER_INCH * width_of(ax)), 1)


def count_by_whole_numbers(axis: Axis) -> None:
    """No ticks between whole numbers."""
    axis.set_major_locator(MaxNLocator("auto", integer=True))


def scale_by_powers(ax: Axes) -> None:
    """A logarithmic y axis with plain numbers; call it when everything is drawn.

    Within one power of ten ticks are where they would be on any axis.
    """
    ax.set_yscale("log", nonpositive="mask")
    low, high = ax.get_ylim()
    steps = (1.0, 2.0, 5.0) if high < 1e3 * low else (1.0,)
    is_short = high < 10.0 * low
    ax.yaxis.set_major_locator(MaxNLocator(5) if is_short else LogLocator(subs=steps))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
