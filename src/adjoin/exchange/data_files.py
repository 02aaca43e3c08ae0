"""Files of measured data as one prepared data set, for whoever reads them by the same options.

Receives paths and options by the names of the command line; hands a `Dataset` to commands and
sweeps. A saved run where data are asked for is refused by what it is.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.data.dataset import Dataset


def read_tables(
    files: Sequence[Path],
    inputs: str | None = None,
    output: str | None = None,
    sampling_time: float | None = None,
    decimal: str | None = None,
    decimate: int = 1,
    detrend: bool = False,
    fill: int | None = None,
) -> Dataset:
    """The records of some files as one data set, prepared as wanted."""
    from adjoin.data.dataset import Dataset
    from adjoin.data.readers import read_data

    require_tables(files)
    parts = [
        read_data(file, inputs, output, sampling_time=sampling_time, decimal=decimal, fill=fill)
        for file in files
    ]
    return prepared(Dataset.join(parts), decimate, detrend)


def require_tables(files: Sequence[Path]) -> None:
    """Refuse saved runs where data are asked for, by what they are and not by their names."""
    from adjoin.exchange.sealed import is_run

    for file in files:
        if is_run(file):
            raise AdjoinError(
                f"'{file}' is a saved run, not data; {shlex.join(['adjoin', 'report', str(file)])}"
                " makes its page"
            )


def prepared(data: Dataset, decimate: int, detrend: bool) -> Dataset:
    """Data decimated and without trends, where that is wanted; trends first, which are slow."""
    data = data.detrend() if detrend else data
    return data.decimate(decimate)
