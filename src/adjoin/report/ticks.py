"""The ticks of an axis as numbers and texts: where they are, what they say, what room they take.

Receives an axis of matplotlib, with its locator and formatter; tells the layout and the SVG writer.
matplotlib itself keeps five objects for every tick, which cost more than all else in a picture.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from matplotlib.axis import Axis, Tick, XAxis
from matplotlib.text import Text

from adjoin.report.letters import text_height, text_width


@dataclass(frozen=True)
class Ticks:
    """The major ticks of an axis that are in view.

    Parameters
    ----------
    look : Tick
        One of them; all look like it.
    places : list of float
        In data.
    shares : list of float
        Of the length of the axis, from its beginning.
    labels : list of str
        Nothing where labels are not shown.
    fontsize, reach : float
        Of the labels, and how far they reach from the frame, in points.
    """

    look: Tick
    places: list[float]
    shares: list[float]
    labels: list[str]
    fontsize: float
    reach: float


def read_ticks(axis: Axis) -> Ticks:
    """Ask the locator and the formatter of an axis."""
    places = np.asarray(axis.get_majorticklocs(), dtype=float)
    labels: list[str] = axis.get_major_formatter().format_ticks(places)  # type: ignore[arg-type]
    transform = axis.get_transform()
    low, high = transform.transform(np.asarray(axis.get_view_interval(), dtype=float))
    share = (transform.transform(places) - low) / (high - low) if len(places) else places
    inside = np.flatnonzero((share >= -1e-10) & (share <= 1.0 + 1e-10)).tolist()
    look: Tick = axis.get_major_ticks(1)[0]
    is_said = look.label1.get_visible()
    said = [labels[i] if is_said else "" for i in inside]
    fontsize = size_of(look.label1)
    measure = text_height if isinstance(axis, XAxis) else text_width
    reach = max((measure(label, fontsize) for label in said if label), default=0.0)
    if reach:
        reach += float(look.get_pad()) + look.get_tick_padding()  # type: ignore[func-returns-value,arg-type]
    return Ticks(look, places[inside].tolist(), share[inside].tolist(), said, fontsize, reach)


def size_of(text: Text) -> float:
    """The size of its font in points."""
    return float(text.get_fontsize())
