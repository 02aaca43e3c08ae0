"""What a column of times says: the sampling time, and where one record ends and the next begins.

Receives the cells of a time column and its unit from ``records``, or those of a column that counts
samples; gives a `Timing`, which a `Dataset` keeps and ``checking`` puts into words. Samples count
from 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.errors import AdjoinError
from adjoin.text import ordinal

SECONDS = {
    **dict.fromkeys(("", "s", "sec", "secs", "second", "seconds"), 1.0),
    **dict.fromkeys(("ms", "msec", "millisecond", "milliseconds"), 1e-3),
    **dict.fromkeys(("us", "µs", "μs", "microsecond", "microseconds"), 1e-6),
    **dict.fromkeys(("ns", "nanosecond", "nanoseconds"), 1e-9),
    **dict.fromkeys(("min", "mins", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
"""Seconds in a unit of time; a column without one is in seconds."""
_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3))
"""Clocks count from 1970. Sizes that no count of seconds reaches (1e11 s is the year 5138) are
those of ns, µs and ms."""
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d([.,]\d+)?)?")

GAP = 1.5
"""A step longer than so many usual ones is a gap: at least half a sample more than there should be,
where an even clock with jitter stays well below."""
_OFF = 0.2
"""A step that differs by this share from the usual one is uneven: lags mean different times."""
_MOST_OFF = 0.1
"""Uneven steps up to this share are stray gaps and jitter; beyond, the sampling is irregular."""
_MOST_SAME = 0.2
"""Repeated stamps up to this share are faults; beyond, the clock is coarser than the sampling."""
_ROLLOVERS = (2**4, 2**8, 2**16)
"""Counters of 4, 8 and 16 bits begin again at 0 behind their last value, and no record ends."""
_SHORTEST = 3  # samples between two times that a clock goes back, on average
_SAME_STEP = 0.01  # to which sampling times agree
_DIGITS = 9  # of a sampling time: what remains beyond is rounding of the stamps


@dataclass(frozen=True)
class Timing:
    """What was seen in a time column, in seconds; all counts are over the whole column.

    Parameters
    ----------
    column : str
        What the file calls it.
    step : float, optional
        The usual step, the sampling time; None where the column could not be read as times.
    jitter : float
        Standard deviation of the steps that are no gaps, as a share of the usual step.
    n_gaps : int
        Steps of more than 1.5 usual ones, where a record ends; of irregular sampling 0.
    longest_gap : float
        The longest of them, in seconds.
    n_duplicates : int
        Stamps that repeat the one before.
    n_backward : int
        Stamps before the one before, where a record ends.
    is_irregular : bool
        Whether more than a tenth of the steps differ by a fifth or more from the usual one.
    shortest, longest : float
        Steps that a twentieth of all are below and above, in seconds.
    starts : tuple of float
        When each record begins, in seconds after the first stamp.
    is_counter : bool
        Whether the column counts samples: then all of these are counts in place of seconds.
    """

    column: str
    step: float | None = None
    jitter: float = 0.0
    n_gaps: int = 0
    longest_gap: float = 0.0
    n_duplicates: int = 0
    n_backward: int = 0
    is_irregular: bool = False
    shortest: float = 0.0
    longest: float = 0.0
    starts: tuple[float, ...] = ()
    is_counter: bool = False

    def moved(self, samples: Sequence[int]) -> Timing:
        """The same with records that begin so many samples later."""
        if self.step is None or len(samples) != len(self.starts):
            return replace(self, starts=())
        moved = (t + n * self.step for t, n in zip(self.starts, samples, strict=True))
        return replace(self, starts=tuple(moved))

    def slower(self, factor: int) -> Timing:
        """The same with every so many-th sample kept."""
        return self if self.step is None else replace(self, step=self.step * factor)

    def joined(self, other: Timing) -> Timing:
        """Of two data sets whose records are joined; counts cannot be joined to seconds."""
        if self.is_counter != other.is_counter:
            return replace(other if self.is_counter else self, starts=())
        return replace(
            self,
            jitter=max(self.jitter, other.jitter),
            n_gaps=self.n_gaps + other.n_gaps,
            longest_gap=max(self.longest_gap, other.longest_gap),
            n_duplicates=self.n_duplicates + other.n_duplicates,
            n_backward=self.n_backward + other.n_backward,
            is_irregular=self.is_irregular or other.is_irregular,
            shortest=min(self.shortest, other.shortest),
            longest=max(self.longest, other.longest),
            starts=self.starts + other.starts,
        )


class Steps(NamedTuple):
    """The steps of a time column: how long one usually is, and which are not."""

    step: float
    is_gap: np.ndarray[Any, np.dtype[np.bool]]
    is_backward: np.ndarray[Any, np.dtype[np.bool]]
    is_irregular: bool
    jitter: float


def to_seconds(values: Any, unit: str, is_date: bool = False) -> Float1D | None:
    """Times in seconds from the cells of a column; None where not all of them are times.

    Parameters
    ----------
    values : (n,) array or pandas Series
        Numbers in the unit, ISO 8601 dates with times, or times of day.
    unit : str
        As in `SECONDS`; another is taken for seconds.
    is_date : bool
        Whether the column is called a date, of which a number says nothing: 20240131 is no count.
    """
    import pandas

    values = pandas.Series(values)
    if values.dtype.kind in "biuf":
        seconds = values.to_numpy(np.float64)
        if is_date or not np.isfinite(seconds).all():
            return None
        return np.asarray(seconds * _factor(seconds, unit))
    texts = values.astype(str).str.strip()
    if texts.str.fullmatch(_CLOCK).all():
        times = pandas.to_timedelta(_with_seconds(texts), errors="coerce")
        return None if times.isna().any() else np.asarray(times.dt.total_seconds(), np.float64)
    try:
        dates = pandas.to_datetime(texts, format="ISO8601", utc=True)
    except (ValueError, OverflowError):
        return None
    if dates.isna().any():
        return None
    return np.asarray((dates - dates.iloc[0]).dt.total_seconds(), np.float64)


def _factor(seconds: Float1D, unit: str) -> float:
    if unit:
        return SECONDS.get(unit.lower(), 1.0)
    size = float(np.median(np.abs(seconds)))
    return next((factor for least, factor in _EPOCHS if size > least), 1.0)


def _with_seconds(texts: Any) -> Any:
    """Times of day as pandas wants them, ``12:30`` being ``12:30:00``."""
    texts = texts.str.replace(",", ".", regex=False)
    return texts.where(texts.str.count(":") == 2, texts + ":00")


def measure(seconds: Float1D, is_new: np.ndarray[Any, np.dtype[np.bool]]) -> Steps | None:
    """The usual step, gaps and jitter of a time column; None where it is no clock.

    A clock goes on: one that goes back at every third sample or so, or never moves, is none.

    Parameters
    ----------
    seconds : (n,) float64
    is_new : (n - 1,) bool
        Where another record begins anyway, so that the step there says nothing.
    """
    steps = np.diff(seconds)
    own = steps[~is_new]
    forward = own[own > 0]
    if forward.size == 0 or _SHORTEST * ((own < 0).sum() + 1) > own.size + 1:
        return None
    usual, grain = float(np.median(forward)), 0.0
    n_same = int((own == 0).sum())
    if n_same > _MOST_SAME * own.size:
        # stamps in whole seconds, say: several samples share one, and the mean tells the step
        usual, grain = float(forward.sum() / own[own >= 0].size), usual
    before = _repeats(steps)  # the step behind a repeated stamp makes up for it
    is_gap = (steps > (GAP + before) * usual + grain) & ~is_new
    is_backward = (steps < 0) & ~is_new
    is_off = (np.abs(steps - usual * (1.0 + before)) > _OFF * usual + grain) & (steps > 0)
    is_off &= ~is_new
    is_irregular = bool(is_off.sum() > _MOST_OFF * own.size) and not _is_rounded(
        steps, is_gap | is_new | is_backward
    )
    if is_irregular:
        is_gap = np.zeros_like(is_gap)  # where every other step is one, none tells records apart
    kept = steps[~(is_gap | is_new | is_backward)]
    kept = kept[kept > 0] if grain == 0.0 else kept
    jitter = float(kept.std() / usual) if kept.size else 0.0
    if jitter > 0.01 and not is_irregular and kept.size:
        usual = float(kept.mean())  # rounded stamps: the median is one of two values beside it
    return Steps(_plain(usual), is_gap, is_backward, is_irregular, jitter)


def to_counts(values: Any) -> Float1D | None:
    """The cells of a counter, going on behind a rollover; None where not all are whole numbers."""
    import pandas

    values = pandas.Series(values)
    if values.dtype.kind not in "iuf":
        return None
    counts = values.to_numpy(np.float64)
    if len(counts) < 2 or not np.isfinite(counts).all() or (counts != np.rint(counts)).any():
        return None
    size = counts.max() + 1.0
    is_rolled = counts.min() == 0.0 and size in _ROLLOVERS and (np.diff(counts) == 1 - size).any()
    if not is_rolled:
        return np.asarray(counts)
    return np.asarray(counts[0] + np.append(0.0, np.cumsum(np.diff(counts) % size)))


def measure_counts(counts: Float1D, is_new: np.ndarray[Any, np.dtype[np.bool]]) -> Steps | None:
    """The usual step of a counter, and where it is another; None where it counts no samples.

    A counter steps by one constant in all rows but a few, so that any other step is one of lost
    rows. Where more than a tenth are, the column may count something else: it is irregular, and
    tells no records apart.
    """
    steps = np.rint(np.diff(counts))  # what was filled in is whole but for rounding
    own = steps[~is_new]
    forward, n_back, n_same = own[own > 0], (own < 0).sum(), (own == 0).sum()
    is_clock = forward.size > 0 and _SHORTEST * (n_back + 1) <= own.size + 1
    if not is_clock or n_same > _MOST_SAME * own.size:
        return None
    usual = float(np.sort(forward)[forward.size // 2])
    is_irregular = bool((forward != usual).sum() > _MOST_OFF * own.size)
    is_told = ~is_new & (not is_irregular)
    is_gap = (steps > 0) & (steps != usual)
    return Steps(usual, is_gap & is_told, (steps < 0) & is_told, is_irregular, 0.0)


def _repeats(steps: Float1D) -> Float1D:
    """How many steps of nothing there are right before each step."""
    number = np.arange(steps.size)
    last = np.maximum.accumulate(np.where(steps != 0, number, -1))
    return np.concatenate([[0.0], (number - last)[:-1]]) if steps.size else steps


def _is_rounded(steps: Float1D, is_break: np.ndarray[Any, np.dtype[np.bool]]) -> bool:
    """Whether steps differ only because stamps are rounded: times stay beside a straight line.

    Of an uneven clock the deviation from the line grows with time, of rounding it stays below one
    unit of the last digit written, which is at most a step.
    """
    for run in np.split(steps, np.flatnonzero(is_break)):
        inner = run[1:] if run.size and run is not steps and is_break.any() else run
        if inner.size < 3:
            continue
        times = np.concatenate([[0.0], np.cumsum(inner)])
        off = times - np.linspace(0.0, times[-1], times.size)
        if np.ptp(off) > 2.0 * inner.mean():
            return False
    return True


def _plain(step: float) -> float:
    return float(f"{step:.{_DIGITS}g}")


def describe(
    column: str,
    seconds: Float1D,
    found: Steps | None,
    is_new: np.ndarray[Any, np.dtype[np.bool]],
    first: Int1D,
) -> Timing:
    """What a `Dataset` keeps of a time column, given the first sample of every record."""
    starts = tuple((seconds[first] - seconds[0]).tolist())
    steps = np.diff(seconds)
    if found is None:
        return Timing(column, starts=starts, n_backward=int((steps[~is_new] < 0).sum()))
    own = steps[~is_new & (steps > 0)]
    return Timing(
        column,
        found.step,
        jitter=found.jitter,
        n_gaps=int(found.is_gap.sum()),
        longest_gap=float(steps[found.is_gap].max(initial=0.0)),
        n_duplicates=int((steps[~is_new] == 0).sum()),
        n_backward=int(found.is_backward.sum()),
        is_irregular=found.is_irregular,
        shortest=float(np.quantile(own, 0.05)),
        longest=float(np.quantile(own, 0.95)),
        starts=starts,
    )


def shared_step(steps: Sequence[float | None]) -> float | None:
    """The sampling time of joined data sets; those that differ by more than 1 % are refused."""
    known = [step for step in steps if step is not None]
    if known and max(known) > (1.0 + _SAME_STEP) * min(known):
        raise AdjoinError(
            f"the sampling times differ, from {min(known):g} s to {max(known):g} s; bring the data"
            " to one rate, e.g. by Dataset.decimate, before they are joined."
        )
    return known[0] if known else None


def require_step(given: float | None, expected: float | None, what: str) -> None:
    """Refuse data of another sampling time than a model is of, where both are known.

    Its lags count samples, so that at another rate it is another model.
    """
    if given is None or expected is None or abs(given / expected - 1.0) <= _SAME_STEP:
        return
    factor = round(expected / given)
    is_multiple = factor > 1 and abs(factor * given / expected - 1.0) <= _SAME_STEP
    remedy = (
        f"keep every {ordinal(factor)}, by --decimate {factor} or Dataset.decimate({factor})"
        if is_multiple
        else "bring the data to that rate"
    )
    raise AdjoinError(
        f"the {what} data have a sample every {given:g} s, but the model is of one every"
        f" {expected:g} s, and its lags count those; {remedy}."
    )
