"""What the inputs can teach: how many values they take, and how many lags they tell apart."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adjoin.data.checking.finding import Evidence, Finding
from adjoin.data.checking.series import Signal, past, products, residual, signals, thinned
from adjoin.data.dataset import Dataset
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.text import percent

_WINDOW = 30
"""Lags that are tried: more than any default model has."""
_WEAKEST = 1e-3
"""Of the strongest combination of lags, in power: weaker ones are lost in 30 dB of noise."""
_LOW, _LOWEST = 5, 2
"""A sine tells 2 lags apart, whatever its length; a small model has 3 to 5."""
_ALIKE, _SAME = 0.99, 0.9999
"""Share of an input that the other inputs explain: coefficients are then 10 and 100 times less
certain than with inputs of their own."""


def find_excitation(data: Dataset) -> Iterator[Finding]:
    """What every input can teach, and whether two of them are one."""
    inputs = signals(data)[:-1]
    moving = []
    for signal in inputs:
        values = signal.pooled
        if not np.ptp(values) > 0:
            yield Finding(
                "constant",
                POOR,
                f"the input {signal.name} is always {values[0]:g}: nothing can be learned of it,"
                " and a fit refuses it.",
                "leave it out of --inputs",
                Evidence("series", (signal.name,)),
            )
            continue
        moving.append(signal)
        if len(signal.records) > 1 and all(np.ptp(part) == 0 for part in signal.records):
            yield Finding(
                "constant-in-records",
                CAUTION,
                f"the input {signal.name} is constant within every record: its effect is told"
                " between records only, and its lags cannot be told apart.",
                evidence=Evidence("records", (signal.name,)),
            )
            continue
        yield from _find_levels(signal)
        yield from _find_order(signal)
    yield from _find_collinear(moving)


def _find_levels(signal: Signal) -> Iterator[Finding]:
    levels = np.unique(signal.pooled)
    if len(levels) == 2:
        yield Finding(
            "two-levels",
            CAUTION,
            f"the input {signal.name} takes two values only, {levels[0]:g} and {levels[1]:g}: its"
            " powers cannot be told from itself, so how the system bends with it stays unknown.",
            "an experiment with more levels",
            Evidence("levels", (signal.name,)),
        )


def is_narrow(signal: Signal) -> bool:
    """Whether an input is slow or narrow-banded: it tells hardly any lags apart."""
    window, order = _order(signal)
    return window >= _LOW and order < _LOW


def _order(signal: Signal) -> tuple[int, int]:
    """How many lags were tried, and how many independent ones there are.

    These are the large eigenvalues of the covariance of lagged values.
    """
    lengths = sorted(map(len, signal.records))
    window = min(_WINDOW, len(signal.pooled) // 20, lengths[-1] // 2)
    if window < _LOW:
        return window, 0
    mean = signal.pooled.mean()
    centred = [part - mean for part in signal.records if len(part) >= window]
    columns = past(centred, range(window), window - 1)
    power = np.linalg.eigvalsh(products(columns, columns))
    return window, int((power > _WEAKEST * power[-1]).sum())


def _find_order(signal: Signal) -> Iterator[Finding]:
    window, order = _order(signal)
    if window < _LOW:
        return
    seen = Evidence("spectrum", (signal.name,))
    if order < _LOW:
        yield Finding(
            "excitation",
            POOR if order <= _LOWEST else CAUTION,
            f"the input {signal.name} excites little: it tells {order} of {window} lags apart"
            f" ({'like a trend or a single sine' if order <= 2 else 'slow or narrow-banded'}).",
            "a richer input in the next experiment; until then few lags, such as max_lag=3",
            seen,
        )
    else:
        told = "all" if order == window else f"{order} of"
        words = f"the input {signal.name} tells {told} {window} lags apart."
        yield Finding("excitation", GOOD, words, evidence=seen)


def _find_collinear(inputs: list[Signal]) -> Iterator[Finding]:
    """Inputs that the others explain at the same sample."""
    if len(inputs) < 2:
        return
    (table,) = thinned(np.column_stack([signal.pooled for signal in inputs]))
    for i, signal in enumerate(inputs):
        left = residual(np.delete(table, i, axis=1), table[:, i])
        share = 1.0 - float(left.var() / table[:, i].var())
        if share <= _ALIKE:
            continue
        others = ", ".join(other.name for other in inputs if other is not signal)
        alike = np.abs(np.atleast_2d(np.corrcoef(table.T))[i])
        alike[i] = 0.0
        pair = (signal.name, inputs[int(np.argmax(alike))].name)
        yield Finding(
            "collinear",
            POOR if share > _SAME else CAUTION,
            f"the input {signal.name} is {percent(share, 2)} explained by {others} at the same"
            " sample: their coefficients cannot be told apart.",
            "leave one of them out of --inputs",
            Evidence("copies", pair, value=0.0),
        )
        return
