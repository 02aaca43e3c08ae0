"""Data for commands: the options by which files are read and prepared.

`exchange.data_files` reads them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

DataArgument = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA...",
        help="A CSV, text, MATLAB or .npy file with the signals; more: one record each, or more.",
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
