"""Small pictures of what was noticed about data, one for each kind of evidence.

Receives a `Dataset` and a `Finding` with its evidence; gives a figure as wide as it is told, or
nothing where there is nothing to see.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import ScalarFormatter

from adjoin.arrays import Float1D, Int1D
from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.checking.relations import correlation_by_lag
from adjoin.data.checking.series import Signal, signals, spectrum
from adjoin.data.dataset import Dataset
from adjoin.report.colours import BLUE, FAINT, INK, MUTED, ORANGE
from adjoin.report.labels import fold_exponent, label_axes, unit_beside, with_unit, write
from adjoin.report.series import clock_of, envelope, set_range
from adjoin.report.style import (
    NARROW,
    columns_of,
    count_by_whole_numbers,
    dress,
    new_figure,
)

_HEIGHT = 1.55  # inches of one panel
_MOST_DOTS = 400
_CLOSER = 60  # samples of a closer look
_REACH = 30  # lags to either side
_FEW_LEVELS = 80  # values that are shown one by one
_LOWEST = -80.0  # decibels
_MOST_BARS = 40  # records


def plot_finding(data: Dataset, finding: Finding, width: float = NARROW) -> Figure | None:
    """A small picture of what a finding is about.

    Parameters
    ----------
    data : Dataset
        What was checked.
    finding : Finding
    width : float
        In inches.

    Returns
    -------
    Figure or None
        None where a finding has no evidence, or its signals are not in the data.
    """
    seen = finding.evidence
    known = {signal.name for signal in signals(data)}
    if seen is None or (seen.picture != "missing" and not known.issuperset(seen.signals)):
        return None
    n_rows = len(seen.signals) if seen.picture == "closer" else 1
    figure = new_figure(width, _HEIGHT * n_rows + 0.1)
    axes = figure.subplots(n_rows, 1, squeeze=False).ravel()
    if seen.picture == "closer":
        for ax, name in zip(axes, seen.signals, strict=True):
            _draw_closer(ax, data, _named(data, name), seen)
    else:
        _DRAWN[seen.picture](axes[0], data, seen)
    return figure


def _named(data: Dataset, name: str) -> Signal:
    return next(signal for signal in signals(data) if signal.name == name)


def _label(ax: Axes, data: Dataset, x: str, name: str) -> None:
    units = dict(zip(data.names.ordered, data.units, strict=False)) if data.units else {}
    label_axes(ax, x, with_unit(name, fold_exponent(ax), unit_beside(name, units.get(name, ""))))


def _line(ax: Axes, time: Float1D, values: Float1D, colour: str = BLUE) -> None:
    keep = envelope(values, columns_of(ax))
    ax.plot(time[keep], values[keep], color=colour, linewidth=0.9)


def _inside(seen: Evidence, n: int) -> Int1D:
    """The samples of all stretches."""
    parts = [np.arange(max(start, 0), min(stop, n)) for start, stop in seen.stretches]
    return np.concatenate([np.empty(0, np.int64), *parts]).astype(np.int64)


def _draw_series(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """A record over time, with a level and the samples that are meant."""
    dress(ax)
    values = _named(data, seen.signals[0]).records[seen.record]
    time, clock = clock_of(data.sampling_time, len(values))
    _line(ax, time, values)
    if seen.value is not None:
        ax.axhline(seen.value, color=ORANGE, linewidth=1.0, linestyle="--")
        if not seen.stretches:  # a mean, far from zero
            ax.axhline(0.0, color=INK, linewidth=0.8)
    found = _inside(seen, len(values))
    if len(found):
        step = -(-len(found) // _MOST_DOTS)
        size = 26.0 if len(found) <= 20 else 7.0
        ax.scatter(time[found[::step]], values[found[::step]], s=size, color=ORANGE, zorder=3)
    set_range(ax, time)
    _label(ax, data, clock, seen.signals[0])


def _draw_line(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """A record with the straight line through it."""
    _draw_series(ax, data, Evidence("series", seen.signals, seen.record))
    values = _named(data, seen.signals[0]).records[seen.record]
    time, _ = clock_of(data.sampling_time, len(values))
    slope, level = np.polyfit(time, values, 1)
    ends = time[[0, -1]]
    ax.plot(ends, level + slope * ends, color=ORANGE, linewidth=1.8)


def _draw_closer(ax: Axes, data: Dataset, signal: Signal, seen: Evidence) -> None:
    """A few samples, one by one; a marked stretch with as much before and behind."""
    dress(ax)
    values = signal.records[seen.record]
    n = len(values)
    if seen.stretches:
        start, stop = seen.stretches[0]
        room = max(stop - start, _CLOSER // 3)
        window = slice(max(start - room, 0), min(stop + room, n))
    else:
        many = _CLOSER if seen.value is None else int(10 * seen.value)
        start = max(n // 2 - many // 2, 0)
        window = slice(start, min(start + many, n))
    sample = np.arange(n, dtype=float)[window]
    ax.plot(sample, values[window], color=BLUE, linewidth=0.9)
    if len(sample) <= 2 * _CLOSER:
        ax.plot(sample, values[window], ".", color=BLUE, markersize=3.5)
    for start, stop in seen.stretches[:1]:
        part = np.arange(start, stop)
        ax.plot(part, values[part], color=ORANGE, linewidth=2.4)
    set_range(ax, sample)
    count_by_whole_numbers(ax.xaxis)
    _label(ax, data, "sample", signal.name)


def _draw_levels(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """How often each value occurs."""
    dress(ax)
    values = _named(data, seen.signals[0]).pooled
    levels, times = np.unique(values, return_counts=True)
    if len(levels) <= _FEW_LEVELS:
        ax.vlines(levels, 0, times, color=BLUE, linewidth=2.0)
        ax.set_ylim(0, 1.08 * times.max())
    else:  # a part of them, where steps can be told apart
        step = seen.value or float(np.median(np.diff(levels)))
        middle = float(np.median(values))
        near = np.abs(levels - middle) <= 0.5 * _FEW_LEVELS * step
        ax.vlines(levels[near], 0, times[near], color=BLUE, linewidth=1.5)
        ax.set_ylim(0, 1.08 * times[near].max())
    units = dict(zip(data.names.ordered, data.units, strict=False)) if data.units else {}
    name = seen.signals[0]
    label_axes(ax, with_unit(name, unit_beside(name, units.get(name, ""))), "samples")


def _draw_spectrum(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """Power by frequency, in decibels below its peak."""
    dress(ax)
    frequency, power = spectrum(_named(data, seen.signals[0]).records)
    power, frequency = power[1:], frequency[1:]
    if not (power > 0).any():
        write(ax, 0.5, 0.5, "too short for a spectrum", transform=ax.transAxes, ha="center")
        return
    rate = 1.0 / data.sampling_time if data.sampling_time else 1.0
    level = 10.0 * np.log10(np.maximum(power / power.max(), 1e-12))
    ax.plot(rate * frequency, np.maximum(level, _LOWEST), color=BLUE, linewidth=1.1)
    if seen.value is not None:
        ax.axvline(rate * seen.value, color=ORANGE, linewidth=1.4)
    ax.set_xlim(0.0, 0.5 * rate)
    said = "frequency (Hz)" if data.sampling_time else "frequency (per sample)"
    label_axes(ax, said, f"{seen.signals[0]} (dB)")


def _draw_correlation(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """Correlation of one signal with another that many samples later."""
    dress(ax)
    first, second = (_named(data, name) for name in seen.signals)
    delay = 0 if seen.value is None else int(seen.value)
    longest = max(map(len, first.records))
    reach = max(2, min(max(_REACH, 2 * delay), longest // 4))
    lags = np.arange(-min(_REACH, reach), reach + 1)
    found, limit = correlation_by_lag(first, second, lags.tolist())
    ax.axhspan(-limit, limit, color=MUTED, alpha=0.18, linewidth=0)
    ax.axhline(0.0, color=FAINT, linewidth=0.8)
    is_seen = np.abs(found) > limit
    ax.vlines(lags, 0.0, found, color=BLUE, linewidth=1.3)
    if seen.value is not None:
        at = lags == delay
        ax.vlines(lags[at], 0.0, found[at], color=ORANGE, linewidth=2.6)
    elif not is_seen.any():
        write(ax, 0.99, 0.95, "nothing beyond chance", transform=ax.transAxes, ha="right", va="top")
    ax.set_xlim(lags[0] - 0.5, lags[-1] + 0.5)
    label_axes(ax, f"samples from {first.name} to {second.name}", "correlation")


def _draw_copies(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """One signal against another, so many samples apart."""
    dress(ax)
    first, second = (_named(data, name) for name in seen.signals)
    lag = int(seen.value or 0)
    early, late = max(0, -lag), max(0, lag)
    x = np.concatenate([part[early : len(part) - late] for part in second.records])
    y = np.concatenate([part[late : len(part) - early] for part in first.records])
    step = max(1, -(-len(x) // _MOST_DOTS))
    ax.scatter(x[::step], y[::step], s=4.0, color=BLUE, linewidths=0)
    when = f", {abs(lag)} samples {'before' if lag > 0 else 'later'}" if lag else ""
    _label(ax, data, f"{second.name}{when}", first.name)


def _draw_records(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """All records in the order of time, with what lies between them."""
    dress(ax)
    parts = _named(data, seen.signals[0]).records
    timing, step = data.timing, data.sampling_time or 1.0
    starts = [*np.cumsum([0, *map(len, parts[:-1])]) * step]
    has_times = timing is not None and timing.step is not None and len(timing.starts) == len(parts)
    if timing is not None and has_times and timing.n_backward == 0:
        starts, step = [*timing.starts], timing.step or step
    end = None
    for start, values in zip(starts, parts, strict=True):
        if end is not None and start - end > 1.5 * step:
            ax.axvspan(end, start, color=ORANGE, alpha=0.35, linewidth=0)
        elif end is not None:
            ax.axvline(start, color=ORANGE, linewidth=1.0, linestyle="--")
        time = start + step * np.arange(len(values))
        _line(ax, time, values)
        end = float(time[-1])
    if end is not None and end > starts[0]:
        ax.set_xlim(starts[0], end)
    label = "time (s)" if has_times or data.sampling_time else "sample"
    if timing is not None and timing.is_counter:
        label = timing.column if has_times and timing.n_backward == 0 else "sample"
    _label(ax, data, label, seen.signals[0])


def _draw_steps(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """The usual step between two time stamps, and the range of nearly all."""
    dress(ax, "x")
    timing = data.timing
    if timing is None or timing.step is None:
        return
    low, high, usual = timing.shortest, timing.longest, timing.step
    if not high > low:
        low, high = usual * (1.0 - timing.jitter), usual * (1.0 + timing.jitter)
    if isinstance(formatter := ax.xaxis.get_major_formatter(), ScalarFormatter):
        formatter.set_useOffset(False)
    ax.plot([low, high], [0.0, 0.0], color=ORANGE, linewidth=6.0, solid_capstyle="butt")
    ax.plot([usual], [0.0], "o", color=BLUE, markersize=8.0)
    if high > 20.0 * max(low, 1e-12):
        ax.set_xscale("symlog", linthresh=usual)
    elif not high - low > 1e-6 * usual:
        ax.set_xlim(0.0, 2.0 * usual)
    ax.set_ylim(-1.0, 1.0)
    ax.set_yticks([])
    place = {"transform": ax.transAxes, "ha": "left", "va": "top"}
    write(ax, 0.0, 0.97, f"dot: the usual step, {usual:g} s; bar: nine of ten steps", **place)
    label_axes(ax, "step between two time stamps (s)")


def _draw_lengths(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """The samples of each record, beside how many are wanted."""
    dress(ax)
    lengths = [len(record) for record in data.records][:_MOST_BARS]
    ax.bar(range(len(lengths)), lengths, color=BLUE, width=0.7)
    if seen.value is not None:
        ax.axhline(seen.value, color=ORANGE, linewidth=1.4)
        ax.set_ylim(0, 1.1 * max(seen.value, *lengths))
    ax.set_xlim(-0.6, max(len(lengths), 4) - 0.4)
    count_by_whole_numbers(ax.xaxis)
    label_axes(ax, "record", "samples")


def _draw_missing(ax: Axes, data: Dataset, seen: Evidence) -> None:
    """The rows of the file, and those with an empty cell."""
    dress(ax, "")
    n_rows = max(seen.value or 1.0, 1.0)
    ax.axhspan(-0.5, 0.5, color=BLUE, alpha=0.25, linewidth=0)
    least = n_rows / 300.0  # so that one row is seen
    for start, stop in seen.stretches[:_MOST_DOTS]:
        ax.axvspan(start, max(stop, start + least), 0.1, 0.9, color=ORANGE, linewidth=0)
    ax.set_xlim(0.0, n_rows)
    ax.set_ylim(-0.62, 0.62)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    label_axes(ax, "row of the file")


_DRAWN: dict[str, Callable[[Axes, Dataset, Evidence], None]] = {
    "series": _draw_series,
    "line": _draw_line,
    "levels": _draw_levels,
    "spectrum": _draw_spectrum,
    "correlation": _draw_correlation,
    "copies": _draw_copies,
    "records": _draw_records,
    "steps": _draw_steps,
    "lengths": _draw_lengths,
    "missing": _draw_missing,
}
PICTURES = (*_DRAWN, "closer")
"""Kinds of evidence that have a picture."""
