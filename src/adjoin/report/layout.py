"""Where the Axes of a figure stand, so that nothing is cut off and nothing overlaps.

Receives a figure when it is drawn; moves its Axes. It does in a hundredth of the time what
matplotlib's constrained layout does for the plain grids of a report: sizes are worked out from the
letters, and nothing is drawn on trial.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import LayoutEngine
from matplotlib.text import Text

from adjoin.report.letters import DESCENT, Ruler, text_height, text_width
from adjoin.report.ticks import read_ticks, size_of

_PAD = 3.0  # points around the figure and between its Axes
_SMALLEST = 10.0  # points: Axes never get smaller, whatever is written beside them


class Margins(NamedTuple):
    """Points that an Axes needs beyond its frame."""

    left: float
    right: float
    bottom: float
    top: float


class GridLayout(LayoutEngine):
    """A grid of Axes, each with room for its labels, title, legend and texts.

    Parameters
    ----------
    pad : float
        Points around the figure and between its Axes.
    """

    _adjust_compatible = True
    _colorbar_gridspec = True

    def __init__(self, pad: float = _PAD) -> None:
        super().__init__()
        self._pad = pad

    def execute(self, fig: Figure) -> None:
        """Move the Axes; twice, because how many ticks there are depends on the room they have."""
        axes = [ax for ax in fig.axes if ax.get_subplotspec() is not None]
        if axes:
            for _ in range(2):
                self._place(fig, axes)

    def _place(self, fig: Figure, axes: Sequence[Axes]) -> None:
        grid = axes[0].get_subplotspec().get_gridspec()  # type: ignore[union-attr]
        n_rows, n_columns = grid.get_geometry()
        beside, above = np.zeros((n_columns, 2)), np.zeros((n_rows, 2))
        for ax in axes:
            place, own = ax.get_subplotspec(), margins(ax)
            assert place is not None
            columns, rows = place.colspan, place.rowspan
            beside[columns[0], 0] = max(beside[columns[0], 0], own.left)
            beside[columns[-1], 1] = max(beside[columns[-1], 1], own.right)
            above[rows[0], 0] = max(above[rows[0], 0], own.top)
            above[rows[-1], 1] = max(above[rows[-1], 1], own.bottom)
        head, foot = _outside(fig)
        width, height = 72.0 * fig.get_size_inches()
        left, right, wspace = _shares(beside, width, self._pad, self._pad, self._pad)
        top, bottom, hspace = _shares(above, height, self._pad + head, self._pad + foot, self._pad)
        fig.subplots_adjust(left, bottom, 1.0 - right, 1.0 - top, wspace, hspace)


def _shares(
    margin: np.ndarray, size: float, before: float, after: float, gap: float
) -> tuple[float, float, float]:
    """Shares of the figure before and after all Axes, and of an Axes between two of them."""
    n = len(margin)
    between = max((a[1] + b[0] + 2.0 * gap for a, b in pairwise(margin)), default=0.0)
    start, end = before + margin[0, 0], after + margin[-1, 1]
    least = n * _SMALLEST + (n - 1) * between
    if size - start - end < least:  # more to write than there is room: share what there is
        shrink = max(size - n * _SMALLEST, 1.0) / (start + end + (n - 1) * between)
        start, end, between = shrink * start, shrink * end, shrink * between
    each = (size - start - end - (n - 1) * between) / n
    return start / size, end / size, between / each


def _outside(fig: Figure) -> tuple[float, float]:
    """Points above and below all Axes, for the figure's own legends and texts."""
    ruler, points = Ruler(fig.dpi), 72.0 / fig.dpi
    head = sum(points * legend.get_window_extent(ruler).height + _PAD for legend in fig.legends)
    foot = 0.0
    for text in fig.texts:
        height = text_height(text.get_text(), size_of(text)) + _PAD
        is_above = text.get_position()[1] > 0.5
        head, foot = (head + height, foot) if is_above else (head, foot + height)
    return head, foot


def margins(ax: Axes) -> Margins:
    """What an Axes needs beyond its frame, where it stands now."""
    points = 72.0 / ax.figure.dpi
    width, height = points * ax.bbox.width, points * ax.bbox.height
    boxes = [*_texts(ax, points)]
    if ax.axison and ax.yaxis.get_visible():
        boxes += _beside(ax.yaxis, height)
    if ax.axison and ax.xaxis.get_visible():
        boxes += _below(ax.xaxis, width)
    if (legend := ax.get_legend()) is not None:
        boxes.append(_box_of(legend.get_window_extent(Ruler(ax.figure.dpi)), ax, points))
    x0, x1, y0, y1 = zip((0.0, width, 0.0, height), *boxes, strict=True)
    return Margins(-min(x0), max(x1) - width, -min(y0), max(y1) - height)


Box = tuple[float, float, float, float]
"""Left, right, bottom and top in points, from the lower left corner of an Axes."""


def _box_of(extent: object, ax: Axes, points: float) -> Box:
    x, y = ax.bbox.x0, ax.bbox.y0
    x0, y0, x1, y1 = extent.extents  # type: ignore[attr-defined]
    return points * (x0 - x), points * (x1 - x), points * (y0 - y), points * (y1 - y)


def _texts(ax: Axes, points: float) -> Iterator[Box]:
    """Texts and titles.

    A title stands above everything and may reach beyond its Axes, as far as its cell goes: as a
    margin, it would be taken off the width of every Axes of the figure.
    """
    for text in ax.get_children():
        if not isinstance(text, Text) or not text.get_text():
            continue
        x, y = text.get_transform().transform(text.get_position())
        if not np.isfinite([x, y]).all():
            continue
        size, said = size_of(text), text.get_text()
        wide, high = text_width(said, size), text_height(said, size)
        x0 = points * (x - ax.bbox.x0) - _BEFORE[text.get_horizontalalignment()] * wide
        place = text.get_verticalalignment()
        # Of several lines, the last one stands on the base line.
        under = text_height("", size) if place == "baseline" else high
        y0 = points * (y - ax.bbox.y0) - _UNDER[place] * under
        yield (0.0, 0.0, y0, y0 + high) if _is_title(text, ax) else (x0, x0 + wide, y0, y0 + high)


def _is_title(text: Text, ax: Axes) -> bool:
    """Whether it is one of the three that every Axes has, beside the texts put into it."""
    return text not in ax.texts


_BEFORE = {"left": 0.0, "center": 0.5, "right": 1.0}
_UNDER = {"bottom": 0.0, "baseline": DESCENT, "center": 0.5, "center_baseline": 0.5, "top": 1.0}


def _beside(axis: Axis, height: float) -> Iterator[Box]:
    """The labels of the ticks on the left, and that of the axis."""
    ticks = read_ticks(axis)
    for share, label in zip(ticks.shares, ticks.labels, strict=True):
        if label:
            half = 0.5 * text_height(label, ticks.fontsize)
            yield -ticks.reach, 0.0, share * height - half, share * height + half
    yield -ticks.reach - _room_for_label(axis), 0.0, 0.0, 0.0


def _below(axis: Axis, width: float) -> Iterator[Box]:
    """The labels of the ticks below, and that of the axis."""
    ticks = read_ticks(axis)
    for share, label in zip(ticks.shares, ticks.labels, strict=True):
        if label:
            half = 0.5 * text_width(label, ticks.fontsize)
            yield share * width - half, share * width + half, -ticks.reach, 0.0
    exponent = axis.get_major_formatter().get_offset()  # below the labels, at their end
    extra = text_height(exponent, ticks.fontsize) + _PAD if exponent else 0.0
    yield 0.0, 0.0, -ticks.reach - max(extra, _room_for_label(axis)), 0.0


def _room_for_label(axis: Axis) -> float:
    """Points from the tick labels to the far side of what the axis is called."""
    name = axis.label.get_text()
    return axis.labelpad + text_height(name, size_of(axis.label)) if name else 0.0
