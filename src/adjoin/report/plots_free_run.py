"""A simulation as an engineer looks at it: the output, its error, and the inputs that drove it.

Receives a prediction and the data it was made for; draws all panels on one axis of time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.report.colours import BLUE
from adjoin.report.labels import (
    LABELLED,
    add_title,
    fold_exponent,
    label_axes,
    shorten_middle,
    title_room,
    unit_beside,
    with_unit,
)
from adjoin.report.plots import Window, plot_error, plot_response
from adjoin.report.series import clock_of, envelope, set_range, unit_of
from adjoin.report.style import SMALL, WIDE, columns_of, dress, new_figure
from adjoin.results.prediction import Prediction

MOST_INPUTS = 4
"""Inputs with a panel; what is left out is said."""
_OUTPUT, _ERROR = (2.2, 2.2, 2.2, 2.0, 1.9), 1.1  # inches of the panels, by how many inputs
_INPUT = (0.0, 0.62, 0.62, 0.52, 0.46)
_MOST_TICKS = 2  # beside an input
_BELOW = 0.45  # inches for the axis of time


def plot_free_run(
    prediction: Prediction,
    data: Dataset,
    *,
    simulation: Any = None,
    record: int = 0,
    first: int | None = None,
    last: int | None = None,
    has_error: bool = False,
    width: float = WIDE,
) -> Figure:
    """The measured output under its simulation, and below, in the same time, what drove it.

    Parameters
    ----------
    prediction : Prediction
        Free runs on these data.
    data : Dataset
    simulation : (n,) array or list of them, optional
        The run of one equation; default: the mean of the draws.
    record : int
        Which one, where there are several.
    first, last : int, optional
        The samples from `first` up to `last` only.
    has_error : bool
        Whether there is a panel of what was measured less what was simulated.
    width : float
        In inches.
    """
    if not 0 <= record < data.n_records:
        raise AdjoinError(f"there is no record {record}; there are {data.n_records}")
    shown, n_more = data.names.inputs[:MOST_INPUTS], len(data.names.inputs[MOST_INPUTS:])
    n = len(shown)
    heights = [_OUTPUT[n], *[_ERROR] * has_error, *[_INPUT[n]] * n]
    figure = new_figure(width, sum(heights) + _BELOW)
    panels = figure.subplots(len(heights), 1, height_ratios=heights, squeeze=False).ravel().tolist()
    output, unit = data.names.output, unit_of(data, data.names.output)
    window: Window = {
        "record": record,
        "time": data.sampling_time,
        "first": first,
        "last": last,
        "simulation": simulation,
        "output": output,
        "unit": unit,
    }
    plot_response(prediction, data, **{**window, "ax": panels[0]})
    time_label = panels[0].get_xlabel()
    if has_error:
        plot_error(prediction, data, **{**window, "ax": panels[1]})
        if (legend := panels[1].get_legend()) is not None:
            legend.remove()  # what the line and the bands are, the title and the panel above say
        _name(panels[1], f"measured − {'mean' if simulation is None else 'simulation'}", unit)
    clock, _ = clock_of(data.sampling_time, len(data.records[record]))
    part = slice(first, last)
    for i, name in enumerate(shown):
        ax = dress(panels[1 + has_error + i])
        _draw_input(ax, clock[part], data.records[record].inputs[part, i])
        _name(ax, name, unit_of(data, name))
    for ax in panels[:-1]:
        label_axes(ax, "", ax.get_ylabel())
        ax.tick_params(labelbottom=False)
    more = f" ({n_more} more input{'' if n_more == 1 else 's'} not drawn)" if n_more else ""
    label_axes(panels[-1], time_label + more, panels[-1].get_ylabel())
    return figure


def _draw_input(ax: Axes, time: Float1D, values: Float1D) -> None:
    keep = envelope(values, columns_of(ax))
    ax.plot(time[keep], values[keep], color=BLUE, linewidth=0.8)
    if np.ptp(values) == 0.0:  # a line at rest stands in the middle, on a scale one can read
        size = float(np.abs(values).max()) or 1.0
        ax.set_ylim(values[0] - size, values[0] + size)
    ax.locator_params(axis="y", nbins=2)
    low, high = sorted(ax.get_ylim())
    places = [place for place in ax.get_yticks() if low <= place <= high]
    if len(places) > _MOST_TICKS:  # their labels would touch
        ax.set_yticks([places[0], places[-1]])
    set_range(ax, time)


def _name(ax: Axes, name: str, unit: str) -> None:
    """What a small panel shows, above it, because letters beside it would be higher than it is."""
    beside = with_unit("", fold_exponent(ax), unit_beside(name, unit))
    # The unit is worth more than the end of a name.
    fits = max(title_room(ax, SMALL, LABELLED) - len(beside), 8)
    label_axes(ax, ax.get_xlabel())
    add_title(ax, f"{shorten_middle(name, fits)}{beside}", SMALL, LABELLED)
