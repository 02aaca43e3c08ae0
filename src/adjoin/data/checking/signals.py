"""Every series by itself: stuck, clipped, quantised, offset, drifting, with spikes."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.checking.series import Signal, effective_size, products, signals
from adjoin.data.dataset import Dataset
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import counted, figure, percent

_LEAST_LEVELS = 10
"""Signals with fewer values are switched: they rest at extremes and steps by design."""
_CLIPPED = 0.005
"""Share of samples at the very extreme, below which clipping does little to a fit."""
_CROWDED = 3.0
"""How many times more samples lie at the extreme than in the 200th of the range beside it. A
sine, whose crests are the fullest of all smooth signals, has 2.4 times at most."""
_ALONE = 10
"""How many times as often as any other value, where the signal comes near its limit anyway."""
_VISITS = 3
"""A limit is met again and again; once or twice is a plateau of the experiment."""
_STUCK = 20
"""Equal values in a row: a sensor with noise never has them, and no shorter run hurts a fit."""
_COARSE, _VERY_COARSE = 1e-3, 1e-2
"""Variance q²/12 of rounding to steps q, in that of the signal: 30 and 20 dB of noise."""
_OFFSET = 2.0
"""Means beyond so many standard deviations; an even spread from 0 to any limit has 1.7."""
_BESIDE = 0.25
"""Of its range, by which an input with an offset stays away from zero."""
_DRIFT, _DRIFT_Z = 0.15, 5.0
"""Share of the variance in a straight line, and its distance from none in standard errors with the
effective number of samples: 3e-7 per series by chance."""
_SPIKE, _SPIKE_GAP = 8.0, 2.0
"""Spikes are so many robust standard deviations off their neighbours' median, and so many times
farther than all that is no spike: heavy tails fall off gradually, faults stand alone."""
_MOST_SPIKES = 0.02
"""Share of samples; what is more frequent is no fault but the signal."""
_REACH = 10  # samples after which an extreme input may still make the output jump


def find_in_signals(data: Dataset) -> Iterator[Finding]:
    """Everything that a series shows by itself."""
    *inputs, output = signals(data)
    has_drift = False
    for signal in inputs:
        if np.ptp(signal.pooled) > 0.0:
            drift = list(_find_drift(signal))
            has_drift = has_drift or bool(drift)
            yield from drift
            yield from _find_offset(signal)
            yield from _find_clipping(signal)
            yield from _find_coarseness(signal)
    if not np.ptp(output.pooled) > 0.0:
        value = output.pooled[0]
        seen = Evidence("series", (output.name,), _longest(output))
        words = f"{output.name} is always {value:g}."
        yield Finding("constant", POOR, words, "another output=…", seen)
        return
    yield from _find_offset(output)
    if not has_drift:  # else the output rightly follows its input
        yield from _find_drift(output)
    clipped = list(_find_clipping(output))
    yield from clipped
    yield from _find_stuck(output, inputs, is_clipped=bool(clipped))
    yield from _find_coarseness(output)
    yield from _find_spikes(output, inputs)


def _find_offset(signal: Signal) -> Iterator[Finding]:
    values = signal.pooled
    ratio = abs(values.mean()) / values.std()
    nearest = float(np.abs(values).min()) if values.min() * values.max() > 0 else 0.0
    # an input that is switched off now and then has its zero there, however few the steps are
    is_beside = signal.is_output or nearest > _BESIDE * np.ptp(values)
    if ratio > _OFFSET and is_beside:
        yield Finding(
            "offset",
            CAUTION,
            f"{signal.name} has an offset: its mean, {figure(values.mean())}, is {figure(ratio)}"
            " standard deviations from zero.",
            "a constant is in the default model; where products of signals are in, center=True may"
            " help (discover tries both)",
            Evidence("series", (signal.name,), _longest(signal), value=float(values.mean())),
        )


def _find_drift(signal: Signal) -> Iterator[Finding]:
    """A straight line through the longest record, beyond what slow dynamics make by chance."""
    values = max(signal.records, key=len)
    if len(values) < 50 or not np.ptp(values) > 0:
        return
    time = np.linspace(-1.0, 1.0, len(values))
    centred = values - values.mean()
    slope = float(products(time, centred) / products(time, time))
    left = centred - slope * time
    share = float(1.0 - products(left, left) / products(centred, centred))
    if share < _DRIFT:
        return
    size = effective_size(left)
    z = np.sqrt(max(size - 2.0, 0.0) * share / max(1.0 - share, 1e-12))
    if z > _DRIFT_Z:
        yield Finding(
            "drift",
            CAUTION,
            f"{signal.name} drifts by {figure(2 * slope)} over {counted(len(values), 'sample')}:"
            f" {percent(share, 0)} of its variance is a straight line.",
            "Dataset.detrend(), or --detrend, if the sensor drifts and not the system",
            Evidence("line", (signal.name,), _longest(signal)),
        )


def _levels(values: Float1D) -> tuple[Float1D, Int1D]:
    """Distinct values, to rounding, and how often each occurs."""
    scale = float(np.abs(values).max()) or 1.0
    found, times = np.unique(np.round(values / scale, 12), return_counts=True)
    return found * scale, times.astype(np.int64)


def _find_clipping(signal: Signal) -> Iterator[Finding]:
    values = signal.pooled
    levels, times = _levels(values)
    if len(levels) <= _LEAST_LEVELS:
        return
    span = levels[-1] - levels[0]
    step = float(np.median(np.diff(levels)))
    beside = max(0.005 * span, 1.5 * step if len(levels) < len(values) / 3 else 0.0)
    for end, word in ((-1, "largest"), (0, "smallest")):
        limit, n_there = levels[end], int(times[end])
        near = np.abs(levels - limit) <= beside
        n_near = int(times[near].sum()) - n_there
        is_there = np.isclose(values, limit, rtol=1e-11, atol=1e-12 * span)
        visits = int((np.diff(np.concatenate([[False], is_there]).astype(np.int8)) == 1).sum())
        share = n_there / len(values)
        others = int(np.delete(times, end).max())
        is_crowd = n_there >= _CROWDED * max(n_near, 1) or n_there >= _ALONE * others
        if share < _CLIPPED or not is_crowd or visits < _VISITS:
            continue
        is_rest = limit == 0.0 and not signal.is_output
        told = f"{signal.name} is exactly at its {word} value, {limit:.4g}, in {percent(share)} of"
        seen = _where(signal, float(limit))
        if is_rest:
            words = f"{told} the samples: at rest there, it seems."
            yield Finding("at-rest", GOOD, words, evidence=seen)
        elif signal.is_output:
            yield Finding(
                "saturation",
                POOR if share > 0.05 else CAUTION,
                f"{told} the samples: clipped, or saturated.",
                "widen the range of the sensor; functions='hinge' if the system itself saturates",
                seen,
            )
        else:
            yield Finding(
                "saturation",
                CAUTION,
                f"{told} the samples: saturated; harmless if that is what was really applied.",
                evidence=seen,
            )


def _longest(signal: Signal) -> int:
    """The number of the longest record."""
    return int(np.argmax([len(part) for part in signal.records]))


def _where(signal: Signal, limit: float) -> Evidence:
    """Where a signal is at a limit, in the record in which it is there most."""
    at = [np.isclose(part, limit, rtol=1e-11, atol=0.0) for part in signal.records]
    record = int(np.argmax([part.sum() for part in at]))
    edges = np.flatnonzero(np.diff(np.concatenate([[False], at[record], [False]]).astype(np.int8)))
    stretches = tuple(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
    return Evidence("series", (signal.name,), record, stretches, limit)


def _find_stuck(signal: Signal, inputs: list[Signal], is_clipped: bool) -> Iterator[Finding]:
    """The longest run of equal values while an input moves."""
    low, high = signal.pooled.min(), signal.pooled.max()
    spread = [other.pooled.std() for other in inputs]
    longest, place = 0, (0, 0)
    lengths: list[int] = []
    for r, values in enumerate(signal.records):
        edges = [0, *(np.flatnonzero(np.diff(values)) + 1).tolist(), len(values)]
        lengths += [stop - start for start, stop in pairwise(edges)]
        for start, stop in pairwise(edges):
            if stop - start <= max(longest, _STUCK - 1):
                continue
            if is_clipped and values[start] in (low, high):
                continue
            moves = [
                np.std(other.records[r][start:stop]) > 0.1 * size
                for other, size in zip(inputs, spread, strict=True)
            ]
            if any(moves) or not inputs:
                longest, place = stop - start, (r, start)
    if longest >= max(_STUCK, 10 * np.median(lengths)):
        where = f"record {place[0]}, sample {place[1]}"
        yield Finding(
            "stuck",
            CAUTION,
            f"{signal.name} stays exactly the same for {longest} samples (from {where} on) while"
            " an input moves: a stuck sensor, or a system that sticks.",
            "leave the stretch out of the file if the sensor was stuck",
            Evidence("closer", (signal.name,), place[0], ((place[1], place[1] + longest),)),
        )


def _find_coarseness(signal: Signal) -> Iterator[Finding]:
    values = signal.pooled
    levels, _ = _levels(values)
    if len(levels) > len(values) / 3 or (not signal.is_output and len(levels) <= 20):
        return
    if len(levels) < 2:
        return
    distances = np.diff(levels)
    step = float(np.median(distances))
    share = step**2 / 12.0 / float(values.var())
    is_even = float(np.quantile(distances, 0.1)) > 0.5 * step  # chosen levels are not
    if share > _COARSE and is_even:
        yield Finding(
            "quantised",
            POOR if share > _VERY_COARSE and signal.is_output else CAUTION,
            f"{signal.name} is quantised in steps of {figure(step)},"
            f" {counted(len(levels), 'value')} in all: like noise of"
            f" {percent(np.sqrt(share))} of its standard deviation.",
            "Dataset.decimate(2), or --decimate 2, averages some of it if the sampling is fast"
            if signal.is_output
            else "",
            Evidence("levels", (signal.name,), value=step),
        )


def _find_spikes(signal: Signal, inputs: list[Signal]) -> Iterator[Finding]:
    """Samples far off the median of their neighbours, which no input explains."""
    from scipy.ndimage import median_filter

    off = [np.abs(s - median_filter(s, 5, mode="nearest")) for s in signal.records]
    pooled = np.concatenate(off)
    spread = 1.4826 * float(np.median(pooled[pooled > 0])) if (pooled > 0).any() else 0.0
    ranked = np.sort(pooled)[::-1][: max(2, int(_MOST_SPIKES * len(pooled)) + 1)]
    is_edge = (ranked[:-1] > _SPIKE * spread) & (ranked[:-1] >= _SPIKE_GAP * ranked[1:])
    if not spread > 0 or not is_edge.any():
        return
    least = ranked[np.flatnonzero(is_edge)[-1]]
    excuse = [_excited(inputs, r, len(s)) for r, s in enumerate(signal.records)]
    found = [
        (r, int(i))
        for r, (distance, is_excited) in enumerate(zip(off, excuse, strict=True))
        for i in np.flatnonzero((distance >= least) & ~is_excited)
    ]
    if found:
        r, i = found[0]
        yield Finding(
            "outliers",
            CAUTION,
            f"{signal.name} has {counted(len(found), 'spike')} that no input explains, the first at"
            f" sample {i} of record {r} ({signal.records[r][i]:.4g}).",
            "empty those cells in the file and read it with fill=1",
            Evidence("series", (signal.name,), r, tuple((k, k + 1) for q, k in found if q == r)),
        )


def _excited(
    inputs: list[Signal], record: int, n: int
) -> np.ndarray[tuple[int], np.dtype[np.bool]]:
    """Where an input was extreme, or jumped, within the last samples."""
    found = np.zeros(n, bool)
    for signal in inputs:
        middle, values = np.median(signal.pooled), signal.records[record]
        size, jump = np.abs(values - middle), np.abs(np.diff(values, prepend=values[:1]))
        largest = np.quantile(np.abs(signal.pooled - middle), 0.995)
        steepest = np.quantile(np.abs(np.diff(signal.pooled)), 0.995) if n > 1 else np.inf
        is_extreme = ((size >= largest) & (size > 0)) | ((jump >= steepest) & (jump > 0))
        for lag in range(min(_REACH, n - 1) + 1):
            found[lag:] |= is_extreme[: n - lag]
    return found
