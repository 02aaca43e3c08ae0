"""What makes a comparison of runs less than fair, in sentences.

Receives the data of several runs, and what they are compared on; ``comparison`` shows the
sentences. Whether data were seen before is found by the numbers themselves, not by names of files.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.text import counted, percent

_WINDOW = 16  # consecutive samples that no two measurements share by chance
_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, with bits all over: the golden ratio
_FEW = 0.01  # share of samples: below, as where both records begin at rest, nothing is said


def is_same(first: Dataset, other: Dataset) -> bool:
    """Whether two data sets are of one measurement: outputs and shared inputs, to the last bit."""
    if first.n_records != other.n_records or first.names.output != other.names.output:
        return False
    shared = [
        (first.names.inputs.index(name), other.names.inputs.index(name))
        for name in first.names.inputs
        if name in other.names.inputs
    ]
    return all(
        np.array_equal(a.output, b.output)
        and all(np.array_equal(a.inputs[:, i], b.inputs[:, j]) for i, j in shared)
        for a, b in zip(first.records, other.records, strict=True)
    )


def seen_share(data: Dataset, before: Dataset) -> float:
    """The share of samples of `data` whose output is a part of `before` as well.

    Looked for are stretches of 16 consecutive samples that are equal to the last bit; where the
    output stands still, as at rest, that means nothing, and they are left out.
    """
    known = np.concatenate([_prints(output)[0] for output in before.outputs])
    n_seen = 0
    for output in data.outputs:
        prints, starts = _prints(output)
        seen = starts[np.isin(prints, known)]
        n_open = np.zeros(len(output) + 1, dtype=np.int64)  # stretches begun less those ended
        n_open[seen] += 1
        n_open[seen + _WINDOW] -= 1
        n_seen += int(np.count_nonzero(np.cumsum(n_open)))
    return n_seen / data.n_samples


def _prints(output: Float1D) -> tuple[np.ndarray, np.ndarray]:
    """A fingerprint of every stretch that moves, and where it begins."""
    n = len(output) - _WINDOW + 1
    if n < 1:
        return np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.int64)
    # −0 and 0 are the same measurement, but not the same bits.
    bits = (np.ascontiguousarray(output) + 0.0).view(np.uint64)
    prints = np.zeros(n, dtype=np.uint64)
    for i in range(_WINDOW):  # unsigned numbers wrap around, which is what a fingerprint wants
        prints = prints * _FACTOR + (bits[i : i + n] ^ (bits[i : i + n] >> np.uint64(29)))
    moves = np.concatenate([[0], np.cumsum(np.diff(output) != 0.0)])
    starts = np.flatnonzero(moves[_WINDOW - 1 :] > moves[:n])
    return prints[starts], starts


def notes_on_fitted(fitted: Mapping[str, Dataset]) -> Iterator[str]:
    """Where runs were fitted to different signals, or to different data."""
    data, *others = fitted.values()
    signals = {name: found.names for name, found in fitted.items()}
    if len({names.output for names in signals.values()}) > 1:
        listed = ", ".join(f"{name} of {names.output}" for name, names in signals.items())
        yield f"the runs have different outputs ({listed}), so their errors are of different things"
    elif len({frozenset(names.inputs) for names in signals.values()}) > 1:
        listed = "; ".join(
            f"{name} {', '.join(names.inputs) or 'none'}" for name, names in signals.items()
        )
        yield f"the runs have different inputs ({listed})"
    if len({found.sampling_time for found in fitted.values()} - {None}) > 1:
        steps = ", ".join(
            f"{name} {found.sampling_time:g} s"
            for name, found in fitted.items()
            if found.sampling_time
        )
        yield f"the runs have different sampling times ({steps})"
    if not all(is_same(data, other) for other in others):
        listed = "; ".join(f"{name}: {_described(found)}" for name, found in fitted.items())
        yield f"the runs were fitted to different data ({listed})"


def _described(data: Dataset) -> str:
    size = counted(data.n_samples, "sample")
    return f"{size} of {data.label}" if data.label else size


def notes_on_parts(
    is_held_out: bool, n_held_out: int, n_runs: int, has_chosen: bool
) -> Iterator[str]:
    """What is compared where nobody gave test data, and why."""
    remedy = "for a fair comparison give test data that no run has seen (data=…)"
    if is_held_out:
        chose = ", which also chose the chain that is reported" if has_chosen else ""
        yield f"compared on the data that all runs held out{chose}; {remedy}"
        return
    why = "no run held data out" if not n_held_out else "the runs did not hold out the same data"
    if 0 < n_held_out < n_runs:
        why = f"only {n_held_out} of {n_runs} runs held data out"
    yield f"compared on the data that each was fitted to, as {why}; {remedy}"


def notes_on_tested(
    tests: Mapping[str, Dataset],
    test_name: str,
    fitted: Mapping[str, Dataset],
    held_out: Mapping[str, Dataset],
) -> Iterator[str]:
    """Where test data are not new to a run."""
    kinds = ("was fitted to", fitted), ("held out (they chose its chain)", held_out)
    for what, known in kinds:
        shares = {name: seen_share(tests[name], data) for name, data in known.items()}
        if seen := {name: share for name, share in shares.items() if share > _FEW}:
            listed = ", ".join(f"{name} {percent(share, 0)}" for name, share in seen.items())
            yield f"{test_name} is not new: it has samples that a run {what}: {listed}"
