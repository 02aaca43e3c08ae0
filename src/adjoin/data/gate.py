"""Inputs and outputs given to a fitted model, checked: the gate of predictions and scores.

Receives what a user passes; hands on plain float64 arrays, one per record.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.checks import is_count
from adjoin.data.columns import Columns, require_range, tabulate
from adjoin.data.dataset import Dataset, input_titles
from adjoin.data.names import SignalNames, legal_name
from adjoin.errors import AdjoinError
from adjoin.text import counted


def as_inputs(u: Any, names: SignalNames) -> tuple[list[Float2D], bool]:
    """Check the inputs given to a fitted model.

    Frames and data sets are matched by column name, further columns are ignored. A model without
    inputs takes the number of samples. Returns ``(n, n_inputs)`` arrays, and whether several.
    """
    if isinstance(u, Dataset) and u.names.inputs == names.inputs:
        return u.inputs, u.n_records > 1  # checked when it was made
    if not names.inputs and not hasattr(u, "__len__"):
        if not is_count(u):
            raise AdjoinError(f"the model has no inputs; pass the number of samples, not {u!r}.")
        return [np.zeros((int(u), 0))], False
    records, several = u._columns() if isinstance(u, Dataset) else tabulate(u, "input")
    widths = {len(columns.series) for columns in records if not columns.is_frame}
    titles, expected = input_titles(names, "the model has")
    if not names.inputs and widths - {0}:
        raise AdjoinError(
            f"the model has no inputs, but the data have {counted(max(widths), 'column')}; pass the"
            " number of samples."
        )
    if several and len(titles) > 1 and widths == {1}:
        raise AdjoinError(
            f"{expected}, but a list means several records, and each of these has 1 column; join"
            " the inputs of one record by numpy.column_stack."
        )
    chosen = [_selected(columns, names) if columns.is_frame else columns for columns in records]
    matrices = [columns.matrix(titles, expected) for columns in chosen]
    for i, title in enumerate(titles):
        require_range(title, [matrix[:, i] for matrix in matrices])
    return matrices, several


def _selected(columns: Columns, names: SignalNames) -> Columns:
    """Return the inputs of a frame, found by name or by the text that was respelled to it."""
    if not set(names.inputs) <= set(columns.labels):
        spelled = tuple(label and legal_name(label) for label in columns.labels)
        columns = columns._replace(labels=spelled)
    return columns.select(names.inputs)


def as_series(
    y: Any, name: str, what: str = "output", may_be_empty: bool = False
) -> tuple[list[Float1D], bool]:
    """Check outputs: ``(n,)`` arrays, and whether there are several records.

    A data set gives its output. `what` is how errors call the series. A record without samples is
    refused unless it `may_be_empty`, as what seeds a model without lags; seeds may be tiny, too,
    where a response has died away.
    """
    if isinstance(y, Dataset):
        return y.outputs, y.n_records > 1  # checked when it was made
    records, several = tabulate(y, what)
    title = f"{what} {name!r}" if what == "output" else what
    expected = f"there must be 1 {what}"
    outputs = [
        np.empty(0)
        if may_be_empty and columns.n_samples == 0
        else columns.matrix([title], expected)[:, 0]
        for columns in records
    ]
    if not may_be_empty:
        require_range(title, outputs)
    return outputs, several


def as_seeds(u: Any, y_init: Any, name: str, n_seed: int) -> list[Float1D] | None:
    """The output samples that a free run on `u` starts from, one series per record.

    They are `y_init` where it is given. Else a data set brings its own first `n_seed` measured
    outputs; None of bare inputs, whose run starts at rest.
    """
    if y_init is not None:
        return as_series(y_init, name, "initial output y_init", may_be_empty=True)[0]
    return [output[:n_seed] for output in u.outputs] if isinstance(u, Dataset) else None


def require_same_lengths(inputs: Sequence[Float2D], outputs: Sequence[Float1D]) -> None:
    """Refuse records whose inputs and output are not equally long."""
    lengths = [len(record) for record in inputs], [len(record) for record in outputs]
    if lengths[0] != lengths[1]:
        raise AdjoinError(
            f"inputs and output differ in length: {lengths[0]} and {lengths[1]} samples"
        )
