"""What is written in a picture: labels of axes and rows, titles, legends, texts.

Receives Axes and texts from the plots. Whatever a user called a signal stays text: no formula, no
control character, and no more letters than there is room for.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.ticker import FuncFormatter

from adjoin.data.names import legal_name
from adjoin.report.colours import INK, MUTED
from adjoin.report.style import FONT, SMALL, height_of, width_of

BARE, LABELLED = 0.15, 0.75
"""Inches beside an Axes without labels on its left, and beside one with ticks and their label."""
_NAME_PARTS = re.compile(r"[^_]*_+|[^_]+")
_CHARACTER = 0.6  # of the font size: a little more than the mean of DejaVu Sans, the widest in use


def room(inches: float, fontsize: float = FONT) -> int:
    """How many characters stand side by side in that width."""
    return max(int(inches * 72.0 / (_CHARACTER * fontsize)), 4)


def shorten(text: str, n: int) -> str:
    """A text of at most `n` characters, cut with an ellipsis."""
    return text if len(text) <= n else text[: n - 1].rstrip() + "…"


def shorten_middle(text: str, n: int) -> str:
    """A text of at most `n` characters, cut in its middle: ends tell terms and signals apart."""
    if len(text) <= n:
        return text
    n_before = n // 2
    return f"{text[:n_before].rstrip()}…{text[len(text) - (n - 1 - n_before) :].lstrip()}"


def plain(text: str) -> str:
    """A text without the control characters that no picture can show and no SVG may hold."""
    return "".join(c if c.isprintable() else " " for c in str(text))


def with_unit(name: str, *unit: str) -> str:
    """``y (mV)``, ``y (1e-5 V)``, or ``y`` where there is no unit."""
    written = " ".join(filter(None, unit))
    return f"{name} ({written})" if written else name


def unit_beside(name: str, unit: str) -> str:
    """The unit of a signal; nothing where its name ends with it, as ``motor_drive_V`` does."""
    is_text = any(map(str.isalnum, unit))  # of % no name says anything
    return "" if is_text and name.endswith(f"_{legal_name(unit)}") else unit


def label_axes(ax: Axes, x: str, y: str = "") -> None:
    """Label both axes by text, whatever dollar signs are in it, in lines that fit beside them."""
    wide, high = room(0.8 * width_of(ax)), room(0.7 * height_of(ax))
    ax.set_xlabel(_wrapped(x, wide), color=INK, fontsize=FONT, parse_math=False)
    ax.set_ylabel(_wrapped(y, high), color=INK, fontsize=FONT, parse_math=False)


def _wrapped(text: str, n: int) -> str:
    """In lines of at most `n` characters, broken at spaces and after the ``_`` of long names."""
    parts = [part for word in text.split() for part in (*_NAME_PARTS.findall(word), " ")][:-1]
    lines = [""]
    for part in parts:
        if len(lines[-1]) + len(part) > n and lines[-1]:
            lines.append("")
        lines[-1] += part
    whole = "\n".join(line.strip() for line in lines if line.strip())
    return "\n".join(
        plain(piece) for line in whole.split("\n") for piece in textwrap.wrap(line, n) or [""]
    )


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


def add_title(ax: Axes, text: str, fontsize: float = FONT, beside: float = BARE) -> None:
    """What an Axes shows, above its left edge, in lines that end with its cell.

    `beside` is the room of what is written on the left of the Axes, in inches.
    """
    folded = _wrapped(text, title_room(ax, fontsize, beside))
    ax.set_title(folded, loc="left", fontsize=fontsize, color=INK, parse_math=False)


def title_room(ax: Axes, fontsize: float = FONT, beside: float = BARE) -> int:
    """How many characters a line of the title of an Axes has."""
    return room(width_of(ax) - beside, fontsize)


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
    """The most columns that fit, each as wide as its longest label, and as long as the others."""
    for n_rows in range(1, len(labels)):
        n_columns = -(-len(labels) // n_rows)
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
