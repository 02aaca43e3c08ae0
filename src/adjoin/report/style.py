"""How every picture looks: colours, sizes, and the dress of an Axes.

Receives Axes from the plots and dresses them; the page and the SVG writer take the colours.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.ticker import (
    FuncFormatter,
    LogLocator,
    MaxNLocator,
    NullLocator,
    ScalarFormatter,
)

from adjoin.errors import AdjoinError
from adjoin.report.layout import GridLayout

INK, MUTED, FAINT, PAPER = "#333333", "#6b7280", "#b8bec6", "#ffffff"
# After Okabe and Ito, distinguishable with any colour vision, darkened to be read as text on white.
COLOURS = ("#0072b2", "#d55e00", "#00805e", "#a6508a", "#8a6d00", "#2c6e91", "#b03a2e", "#5b4ba2")
BLUE, ORANGE = COLOURS[:2]

_NAMED = {"ink": INK, "muted": MUTED, "faint": FAINT, "paper": PAPER}
_LIGHT = _NAMED | {f"colour-{i}": colour for i, colour in enumerate(COLOURS, start=1)}
CSS_VARIABLES = {colour: f"--{name}" for name, colour in _LIGHT.items()}
"""The variable of the page that stands for each colour."""

# The same hues, lightened until each has a contrast of at least 4.5 with the dark paper.
_DARK = (
    *("#e3e6ea", "#9aa3af", "#545c68", "#16191d"),
    *("#56b4e9", "#f0904a", "#3fbf97", "#d68fbf", "#d3b13c", "#7fb8d6", "#ec8277", "#a99bea"),
)
THEMES = {
    "light": {variable: colour for colour, variable in CSS_VARIABLES.items()},
    "dark": dict(zip(CSS_VARIABLES.values(), _DARK, strict=True)),
}
"""What a page may set the variables to."""

WIDE, NARROW = 7.5, 3.6  # inches: a page, a phone
FONT, SMALL = 9.0, 8.0  # points
_CHARACTER = 0.6  # of the font size: a little more than the mean of DejaVu Sans, the widest in use
_COLUMNS_PER_INCH = 100


def new_axes(width: float, height: float) -> Axes:
    """The one Axes of a new figure of that size in inches."""
    return new_figure(width, height).subplots()


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, laid out so that nothing is cut off."""
    return Figure(figsize=(width, height), facecolor=PAPER, layout=GridLayout())


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
        else:
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
    return _inches(ax)[1] * len(place.rowspan) / place.get_gridspec().nrows


def _inches(ax: Axes) -> tuple[float, float]:
    figure = ax.get_figure()
    if figure is None:
        raise AdjoinError("the Axes belongs to no Figure; make it by figure.subplots()")
    return float(figure.bbox.width) / figure.dpi, float(figure.bbox.height) / figure.dpi


def columns_of(ax: Axes) -> int:
    """How many columns of pixels a series can be told apart in."""
    return max(round(_COLUMNS_PER_INCH * width_of(ax)), 1)


def room(inches: float, fontsize: float = FONT) -> int:
    """How many characters stand side by side in that width."""
    return max(int(inches * 72.0 / (_CHARACTER * fontsize)), 4)


def shorten(text: str, n: int) -> str:
    """A text of at most `n` characters, cut with an ellipsis."""
    return text if len(text) <= n else text[: n - 1].rstrip() + "…"


def plain(text: str) -> str:
    """A text without the control characters that no picture can show and no SVG may hold."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def with_unit(name: str, *unit: str) -> str:
    """``y (mV)``, ``y (1e-5 V)``, or ``y`` where there is no unit."""
    written = " ".join(filter(None, unit))
    return f"{name} ({written})" if written else name


def label_axes(ax: Axes, x: str, y: str = "") -> None:
    """Label both axes by text, whatever dollar signs are in it, in lines that fit beside them."""
    wide, high = room(0.8 * width_of(ax)), room(0.7 * height_of(ax))
    ax.set_xlabel(_wrapped(x, wide), color=INK, fontsize=FONT, parse_math=False)
    ax.set_ylabel(_wrapped(y, high), color=INK, fontsize=FONT, parse_math=False)


def _wrapped(text: str, n: int) -> str:
    return "\n".join(map(plain, textwrap.wrap(text, n)))


def fold_exponent(ax: Axes) -> str:
    """Where the values are tiny or huge, ticks in a power of ten: returned as text for the label.

    The corner where matplotlib would write it is the legend's.
    """
    largest = max(map(abs, ax.get_ylim()))
    order = math.floor(math.log10(largest)) if largest else 0
    if -3 <= order < 6:
        return ""
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / 10.0**order:.4g}"))
    return f"1e{order}"


def write(ax: Axes, x: float, y: float, text: str, **changed: object) -> Text:
    """Put a text into an Axes; by default in small muted letters, at data coordinates."""
    look: dict[str, object] = {"color": MUTED, "fontsize": SMALL, "parse_math": False}
    return ax.text(x, y, plain(text), **{**look, **changed})  # type: ignore[arg-type]


def say(ax: Axes, text: str) -> Axes:
    """An Axes that says why there is nothing to draw."""
    write(ax, 0.5, 0.5, text, transform=ax.transAxes, ha="center", va="center", fontsize=FONT)
    ax.set_axis_off()
    return ax


def add_title(ax: Axes, text: str, fontsize: float = FONT) -> None:
    """What an Axes shows, above its left edge."""
    ax.set_title(plain(text), loc="left", fontsize=fontsize, color=INK, parse_math=False)


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


def add_legend(ax: Axes, order: Sequence[str] = (), share: float = 0.9) -> None:
    """A legend above the data: in the order of labels, as wide as a share of the whole width."""
    found = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    labels = [*(name for name in order if name in found), *(n for n in found if n not in order)]
    if not labels:
        return
    legend = ax.legend(
        [found[name] for name in labels],
        list(map(plain, labels)),
        loc="lower left",
        bbox_to_anchor=(0.0, 1.0),
        ncols=_legend_columns(labels, share * width_of(ax)),
        frameon=False,
        fontsize=SMALL,
        labelcolor=INK,
        borderaxespad=0.1,
        handlelength=1.6,
        columnspacing=1.4,
    )
    for text in legend.get_texts():
        text.set_parse_math(False)


def _legend_columns(labels: Sequence[str], inches: float) -> int:
    """The most columns that fit, each as wide as its longest label."""
    for n_columns in range(len(labels), 1, -1):
        longest = [max(map(len, part)) for part in np.array_split(labels, n_columns)]
        if sum(_CHARACTER * SMALL * n + 35.0 for n in longest) <= 72.0 * inches:
            return n_columns
    return 1


def list_rows(ax: Axes, labels: Sequence[str]) -> None:
    """Rows from top to bottom, each with its label on the left."""
    ax.set_yticks(range(len(labels)), list(map(plain, labels)), parse_math=False)
    ax.set_ylim(len(labels) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0.0)
    ax.spines["left"].set_visible(False)
