"""``adjoin compare``: several runs in one table and one picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.output import (
    DecimalOption,
    ForceOption,
    JsonOption,
    console,
    print_json,
    say,
)
from adjoin.cli.run import RUN_HELP, require_writable
from adjoin.cli.spelling import spell_for

if TYPE_CHECKING:
    from adjoin.report.compare import RunComparison


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help=RUN_HELP)],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Test data that no run has seen; more: one record each."
            r"  \[default: what all held out, else what each was fitted to]"
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="A picture of measured and simulated output: .svg, .png or .pdf."),
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help=r"Models drawn for the bands.  \[default: 200, fewer of very long records]",
        ),
    ] = None,
    decimal: DecimalOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare runs on the same data, the best simulation (free run) first.

    [dim]Example:[/dim] adjoin compare first.nc second.nc --data test.csv --out simulations.svg
    """
    require_writable({"picture": out}, [*runs, *(data or [])], force)
    with console(stderr=True).status("simulating …"):
        from adjoin.report.compare import compare as compare_runs
        from adjoin.report.trees import picture_format, save_figure

        if out is not None:
            picture_format(out)  # what could not be drawn is refused before anything is computed
        found = compare_runs(runs, data or None, draws=draws, decimal=decimal)
        plain = found.plain
        if out is not None:
            save_figure(found.plot(), out)
    if as_json:
        print_json({**plain, "written": {} if out is None else {"picture": str(out)}})
    else:
        _print(found)
    for note in found.notes:
        say(f"note: {spell_for(['compare'], note)}")
    if out is not None:
        say(f"wrote {out}")


def _print(found: RunComparison) -> None:
    from adjoin.report.sheet import Column, Sheet, print_sheet

    heads, rows = found.texts
    texts = {"run", "objective", "verdict"}
    groups = {"RMSE": "simulation", "fit": "simulation", "one step": "prediction"}
    columns = [Column(head, groups.get(head, ""), head in texts) for head in heads]
    title = f"{found.best} simulates best on {found.runs[0].part.words}"
    if len(found.runs) == 1:
        title = f"on {found.runs[0].part.words}"
    print_sheet(console(), Sheet(title, "", columns, rows))
