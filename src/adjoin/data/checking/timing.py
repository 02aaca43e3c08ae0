"""A time column in words: gaps, jitter, repeated stamps, irregular steps; and too few samples."""

from __future__ import annotations

from collections.abc import Iterator

from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.dataset import Dataset
from adjoin.data.missing import MOST_FILLED, Missing, fill_remedy
from adjoin.data.timing import Timing
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import counted, figure, percent

_FEW, _VERY_FEW = 200, 50
"""Samples: a default model has about 5 terms of lags up to 10, and 10 samples for each candidate
lag of two signals make 200; with 50, even their linear coefficients are guesses."""
_SHORTEST = 12
"""Samples of the shortest record that a fit with the default max_lag of 10 takes."""
_JITTER = 0.05
"""Jitter of 5 % of a step moves a signal with ten samples per period by 3 % of its size, which is
the noise of 30 dB."""


def find_timing(data: Dataset) -> Iterator[Finding]:
    """What the time column said, in words."""
    timing = data.timing
    if timing is None:
        return
    records = Evidence("records", (data.names.output,))
    if timing.is_counter:
        yield from _find_counting(timing, records)
        return
    if timing.step is None and timing.n_backward > 0.5 * data.n_samples:
        yield Finding(
            "time-descends",
            POOR,
            f"the times in {timing.column!r} go down from row to row: read in this order, the past"
            " of a signal is its future.",
            "sort the rows of the file by time",
            records,
        )
        return
    if timing.step is None:
        yield Finding(
            "time-unread",
            CAUTION,
            f"the column {timing.column!r} could not be read as times, so nobody knows whether"
            " the samples are evenly spaced.",
            "write seconds or ISO dates (2024-01-31T12:00:00), or pass sampling_time=0.01",
            records,
        )
        return
    if timing.is_irregular:
        yield Finding(
            "irregular-sampling",
            POOR,
            f"the sampling is irregular: steps run from {timing.shortest:g} s to"
            f" {timing.longest:g} s, so that a lag means another time at every sample.",
            "resample the data to even steps before they are read",
            Evidence("steps"),
        )
    elif timing.jitter > _JITTER:
        yield Finding(
            "jitter",
            CAUTION,
            f"the steps of {timing.column!r} vary by {percent(timing.jitter, 0)} around"
            f" {timing.step:g} s (rounded stamps, or an uneven clock).",
            evidence=Evidence("steps"),
        )
    if timing.n_gaps:
        length = f"{figure(timing.longest_gap)} s"
        yield _gaps(timing, timing.step, "in the time column", length, records)
    if timing.n_duplicates:
        yield Finding(
            "repeated-times",
            CAUTION,
            f"{counted(timing.n_duplicates, 'time stamp')}"
            f" {'repeats' if timing.n_duplicates == 1 else 'repeat'} the one before: samples"
            " written twice, or a clock with too few digits.",
            "delete rows that were written twice",
            Evidence("steps"),
        )
    if timing.n_backward:
        n = timing.n_backward
        yield Finding(
            "time-goes-back",
            GOOD,
            f"time goes back {counted(n, 'time')}; a new record begins there.",
            evidence=records,
        )


def _gaps(timing: Timing, step: float, where: str, length: str, records: Evidence) -> Finding:
    n, n_lost = timing.n_gaps, round(timing.longest_gap / step) - 1
    return Finding(
        "gaps",
        CAUTION,
        f"there {'is' if n == 1 else 'are'} {counted(n, 'gap')} {where}, the longest of {length};"
        " a record ends there.",
        f"fill={n_lost} interpolates {'it' if n == 1 else 'them'}"
        if 0 < n_lost <= MOST_FILLED
        else "",
        records,
    )


def _find_counting(timing: Timing, records: Evidence) -> Iterator[Finding]:
    """What a counter of samples said that does not just count on."""
    column, step = timing.column, timing.step or 1.0
    if timing.is_irregular:
        yield Finding(
            "uneven-counter",
            CAUTION,
            f"the column {column!r} is called a counter, but more than a tenth of its steps differ"
            f" from {step:g}: if it counts samples, rows are missing all over the file, and a lag"
            " means another time at every sample.",
            "rename the column if it counts something else; else read the file with all its rows",
            records,
        )
        return
    if timing.n_gaps:
        n_lost = round(timing.longest_gap / step) - 1
        length = f"{counted(n_lost, 'missing row')}" if n_lost > 0 else "less than a row"
        yield _gaps(timing, step, f"in the counter {column!r}", length, records)
    if timing.n_duplicates:
        n = timing.n_duplicates
        yield Finding(
            "repeated-times",
            CAUTION,
            f"{counted(n, 'value')} of the counter {column!r} {'repeats' if n == 1 else 'repeat'}"
            " the one before: samples written twice.",
            "delete rows that were written twice",
            records,
        )
    if timing.n_backward:
        yield Finding(
            "counter-restarts",
            GOOD,
            f"the counter {column!r} goes back {counted(timing.n_backward, 'time')}; a new record"
            " begins there.",
            evidence=records,
        )


def find_missing(missing: Missing, filled: int | None = None) -> Iterator[Finding]:
    """Cells without a value; up to `filled` in a row were filled in because it was asked for."""
    if not missing.n_cells:
        return
    seen = Evidence("missing", missing.columns, stretches=missing.runs, value=float(missing.n_rows))
    if filled is not None and missing.longest <= filled:
        was = "was" if missing.n_cells == 1 else "were"
        words = f"{counted(missing.n_cells, 'value')} {was} missing in {', '.join(missing.columns)}"
        yield Finding("missing-values", GOOD, f"{words}, and {was} interpolated.", evidence=seen)
        return
    is_short = missing.longest <= MOST_FILLED
    yield Finding(
        "missing-values",
        CAUTION if is_short else POOR,
        f"{counted(missing.n_cells, 'value')} {'is' if missing.n_cells == 1 else 'are'} missing in"
        f" {', '.join(missing.columns)}, up to {missing.longest} in a row.",
        fill_remedy(missing.longest),
        seen,
    )


def find_size(data: Dataset) -> Iterator[Finding]:
    """Too few samples in all, or in a record."""
    n = data.n_samples
    if n < _FEW:
        yield Finding(
            "few-samples",
            POOR if n < _VERY_FEW else CAUTION,
            f"there {'is' if n == 1 else 'are'} only {counted(n, 'sample')}; equations with several"
            f" terms and lags want {_FEW} or more.",
            "max_lag=3 and max_degree=2 keep the candidates few",
            Evidence("lengths", value=float(_FEW)),
        )
    short = [len(record) for record in data.records if len(record) < _SHORTEST]
    if short and data.n_records > 1:
        yield Finding(
            "short-records",
            POOR,
            f"{counted(len(short), 'record')} of {data.n_records} "
            f"{'has' if len(short) == 1 else 'have'} fewer than {_SHORTEST} samples, the shortest"
            f" {min(short)}; a fit with max_lag=10 refuses them.",
            f"max_lag={max(1, min(short) - 2)}, or leave such stretches out of the file",
            Evidence("lengths", value=float(_SHORTEST)),
        )
