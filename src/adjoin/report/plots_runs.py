"""Simulations of several models over what was measured, and how far each is off.

Receives series by name; draws them in contrasting colours, one panel above the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.report.colours import BLUE, COLOURS, FAINT, INK, ORANGE
from adjoin.report.labels import add_legend, fold_exponent, label_axes, with_unit, write
from adjoin.report.plots import shown_limits
from adjoin.report.series import clock_of, envelope, one_record, set_range
from adjoin.report.style import WIDE, columns_of, dress, new_figure

_OF_RUNS = (ORANGE, BLUE, *COLOURS[2:])
"""The first simulation looks as it does everywhere."""
_STYLES = ("-", (0, (5, 1.5)), (0, (1.5, 1.2)), (0, (6, 1.5, 1.5, 1.5)))
"""Lines that lie on each other are told apart by their dashes, also without colours."""
_HEIGHT = 4.4  # inches
_BEYOND = 0.3  # of the range of the others: so far a run that is lost is followed


def plot_simulations(
    runs: Mapping[str, Any],
    measured: Any,
    *,
    record: int = 0,
    time: Any = None,
    first: int | None = None,
    last: int | None = None,
    output: str = "y",
    unit: str = "",
    width: float = WIDE,
) -> Figure:
    """The measured output under the simulation of every run, and below their errors.

    Parameters
    ----------
    runs : mapping of str to (n,) array or list of them
        Simulations by what the legend calls them, the most important first.
    measured : (n,) array, list of them, or Dataset
    record, time, first, last, output, unit
        As for `adjoin.report.plots.plot_response`.
    width : float
        Of the figure in inches.
    """
    whole = one_record(measured, record, "the measured output")
    start, stop = first or 0, len(whole) if last is None else last
    if not 0 <= start < stop <= len(whole):
        raise AdjoinError(f"there are no samples from {start} up to {stop}; there are {len(whole)}")
    part = slice(start, stop)
    clock, time_label = clock_of(time, len(whole), record)
    series = {name: one_record(run, record, name) for name, run in runs.items()}
    if wrong := [name for name, run in series.items() if len(run) != len(whole)]:
        raise AdjoinError(
            f"'{wrong[0]}' has {len(series[wrong[0]])} samples, but {len(whole)} were measured"
        )
    cut = {name: run[part] for name, run in series.items()}
    figure = new_figure(width, _HEIGHT)
    upper, lower = map(dress, figure.subplots(2, 1, height_ratios=(5, 3)))
    _draw(upper, clock[part], {"measured": whole[part], **cut}, whole[part])
    upper.tick_params(labelbottom=False)
    label_axes(upper, "", with_unit(output, fold_exponent(upper), unit))
    add_legend(upper)
    lower.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    errors = {name: whole[part] - run for name, run in cut.items()}
    # Scaled by what was measured: an error beyond is that of a run that went somewhere else.
    anchor = whole[part] - whole[part].mean()
    _draw(lower, clock[part], {"": np.full(stop - start, np.nan), **errors}, anchor)
    label_axes(lower, time_label, with_unit(f"error of {output}", fold_exponent(lower), unit))
    return figure


def _reach(lines: Sequence[Float1D], anchor: Float1D) -> tuple[float, float]:
    """Where to cut off: what was lost on the way out does not decide how large the others are."""
    low, high = shown_limits(lines, [], anchor)
    known = [line for line in lines if np.isfinite(line).any()]
    stayed = [line[np.isfinite(line)] for line in known if np.isfinite(line[-1])]
    if len(stayed) == len(known):
        return low, high
    firm = np.concatenate(stayed or [anchor])
    margin = _BEYOND * max(float(np.ptp(firm)), np.finfo(float).tiny)
    return max(low, float(firm.min()) - margin), min(high, float(firm.max()) + margin)


def _draw(ax: Axes, time: Float1D, lines: Mapping[str, Float1D], anchor: Float1D) -> None:
    """The first line wide and pale, as the ground on which the others are seen."""
    low, high = _reach(list(lines.values()), anchor)
    (ground, values), *others = lines.items()
    keep = envelope(values, columns_of(ax))
    ax.plot(time[keep], values[keep], color=INK, alpha=0.35, linewidth=3.2, label=ground or "_")
    looks = zip(cycle(_OF_RUNS), cycle(_STYLES), strict=False)
    for i, ((name, run), (colour, style)) in enumerate(zip(others, looks, strict=False)):
        shown = np.clip(run, low, high)
        keep = envelope(shown, columns_of(ax))
        ax.plot(
            *(time[keep], shown[keep]),
            color=colour,
            linestyle=style,
            linewidth=max(1.7 - 0.2 * i, 1.0),
            label=name,
            zorder=2.1 + 0.1 * i,  # through the gaps of dashes the line below is seen
        )
    set_range(ax, time)
    if np.isfinite([low, high]).all():
        span = (high - low) / 100.0
        ax.set_ylim(low + span, high - span)  # what is cut off leaves the picture
        place = {"transform": ax.transAxes, "ha": "right", "va": "top"}
        write(ax, 0.995, 0.98, "reaches beyond the picture", **place)
