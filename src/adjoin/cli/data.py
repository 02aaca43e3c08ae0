"""Data for commands: the options by which files are read and prepared, and the one way to do it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.data.dataset import Dataset

DataArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="A CSV, text or MATLAB file with the signals; more: one record each, or more.",
    ),
]
InputsOption = Annotated[
    str | None,
    typer.Option(
        help=r"Input columns, separated by commas."
        r"  \[default: all but time, record, counter and output]"
    ),
]
OutputOption = Annotated[str | None, typer.Option(help=r"Output column.  \[default: y]")]
SamplingTimeOption = Annotated[
    float | None,
    typer.Option(help=r"Seconds between two samples.  \[default: by the time column]"),
]
DecimateOption = Annotated[
    int,
    typer.Option(
        min=1, metavar="N", help="Keep every N-th sample, after a filter against aliasing."
    ),
]
DetrendOption = Annotated[
    bool,
    typer.Option(
        "--detrend", help="Remove the linear trend of every signal from every record; means stay."
    ),
]
FillOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        metavar="N",
        help="Interpolate up to N missing samples in a row; where there are more, a record ends."
        r"  \[default: missing values are an error]",
    ),
]


def read_tables(
    files: Sequence[Path],
    inputs: str | None,
    output: str | None,
    sampling_time: float | None = None,
    decimal: str | None = None,
    decimate: int = 1,
    detrend: bool = False,
    fill: int | None = None,
) -> Dataset:
    """The records of some files as one data set, prepared as wanted."""
    from adjoin import read_data
    from adjoin.data.dataset import Dataset

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
