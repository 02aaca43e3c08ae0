"""What is held out, and what is fitted meanwhile.

Receives a `Dataset`; gives `Fold`, each a part to fit and a part that was held out, whose free runs
choose between candidates. Time is never shuffled: a fold is a whole record, or a stretch of time
of every record.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from adjoin.data.dataset import Dataset, Record
from adjoin.errors import AdjoinError
from adjoin.text import counted

MOST_FOLDS = 4
_FEWEST = 30  # samples of a stretch, in multiples of which stretches are worth scoring
_BEYOND = 1.2  # times the reach of what was fitted: held-out data beyond are extrapolation


@dataclass(frozen=True, eq=False)
class Fold:
    """Data to fit, data that were held out, which these are in words, and of which records."""

    fitted: Dataset
    held_out: Dataset
    words: str
    records: tuple[int, ...]

    @property
    def beyond(self) -> dict[str, float]:
        """Signals that go farther in what is held out than in what is fitted, and how many times.

        Distances are from the middle of what is fitted, as multiples of half its range.
        """
        found = {}
        known, given = _values(self.fitted), _values(self.held_out)
        for name, seen, new in zip(self.fitted.names.ordered, known, given, strict=False):
            middle, half = (seen.max() + seen.min()) / 2.0, (seen.max() - seen.min()) / 2.0
            times = float(np.abs(new - middle).max() / half) if half > 0.0 else 1.0
            if times > _BEYOND:
                found[name] = times
        return found


def make_folds(
    data: Dataset, n_seed: int, n_folds: int = MOST_FOLDS, validation: float | None = None
) -> tuple[Fold, ...]:
    """Hold out by time.

    Parameters
    ----------
    data : Dataset
    n_seed : int
        Samples at the beginning of each stretch that seed its free run and are not scored.
    n_folds : int
        How many folds there are at most.
    validation : float, optional
        The last share of every record is the one fold. Default: whole records where there are at
        least three, else stretches of every record, as many as are long enough.
    """
    if validation is not None:
        if not 0.0 < validation < 1.0:
            raise AdjoinError(f"validation is a share between 0 and 1, not {validation:g}")
        fitted, held_out = data.split(1.0 - validation)
        words = f"the last {validation:.0%} of every record"
        return (Fold(fitted, held_out, words, tuple(range(held_out.n_records))),)
    if data.n_records >= 3:
        folds = _by_record(data, n_folds)
        if all(_varies(fold.fitted) for fold in folds):
            return folds
    return _by_stretch(data, n_seed, n_folds)


def _by_record(data: Dataset, n_folds: int) -> tuple[Fold, ...]:
    """Whole records, dealt out in turn so that folds are alike in length."""
    n_folds = min(n_folds, data.n_records)
    whose = np.arange(data.n_records) % n_folds
    folds = []
    for i in range(n_folds):
        out = [record for record, fold in zip(data.records, whose, strict=True) if fold == i]
        kept = [record for record, fold in zip(data.records, whose, strict=True) if fold != i]
        which = tuple(np.flatnonzero(whose == i).tolist())
        numbers = ", ".join(map(str, which))
        words = f"record {numbers}" if len(out) == 1 else f"records {numbers}"
        folds.append(Fold(_of(data, kept), _of(data, out), words, which))
    return tuple(folds)


def _by_stretch(data: Dataset, n_seed: int, n_folds: int) -> tuple[Fold, ...]:
    """The first, second, … stretch of every record that is long enough for it."""
    needed = n_seed + _FEWEST
    shortest = max(map(len, data.records))
    n_folds = min(n_folds, shortest // needed)
    if n_folds < 2:
        raise AdjoinError(
            f"there are too few samples to hold some of them out: {data.n_samples} in"
            f" {counted(data.n_records, 'record')}, where a stretch of {needed} is needed twice;"
            " use a longer record, or a smaller max_lag."
        )
    folds = []
    for i in range(n_folds):
        kept, out, which = [], [], []
        for number, record in enumerate(data.records):
            edges = [round(len(record) * j / n_folds) for j in range(n_folds + 1)]
            if len(record) // n_folds < needed:  # too short to be cut: it is fitted always
                kept.append(record)
                continue
            out.append(_part(record, edges[i], edges[i + 1]))
            which.append(number)
            kept += [
                _part(record, begin, end)
                for begin, end in ((0, edges[i]), (edges[i + 1], len(record)))
                if end > begin
            ]
        words = f"part {i + 1} of {n_folds} of every record"
        folds.append(Fold(_of(data, kept), _of(data, out), words, tuple(which)))
    return tuple(folds)


def _part(record: Record, begin: int, end: int) -> Record:
    return Record(record.inputs[begin:end], record.output[begin:end])


def _of(data: Dataset, records: list[Record]) -> Dataset:
    return replace(data, records=tuple(records))


def _varies(data: Dataset) -> bool:
    return all(np.ptp(row) > 0.0 for row in _values(data))


def _values(data: Dataset) -> list[np.ndarray]:
    """Every signal of all records together: inputs in order, then the output."""
    inputs = [np.concatenate(column) for column in zip(*(u.T for u in data.inputs), strict=True)]
    return [*inputs, np.concatenate(data.outputs)]
