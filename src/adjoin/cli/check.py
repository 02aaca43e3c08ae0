"""``adjoin check``: what makes measured data hard to learn from, before a fit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.data import (
    DataArgument,
    DecimateOption,
    DetrendOption,
    FillOption,
    InputsOption,
    OutputOption,
    SamplingTimeOption,
)
from adjoin.cli.output import DecimalOption, ForceOption, JsonOption, console, print_json
from adjoin.cli.run import require_writable
from adjoin.cli.spelling import spell_for_discover
from adjoin.exchange.data_files import prepared, require_tables

if TYPE_CHECKING:
    from rich.console import Console

    from adjoin.data.check import DataCheck

ReportOption = Annotated[
    Path | None,
    typer.Option("--report", help="Also write a page with pictures, such as rig.html."),
]
_SHADE = {"good": "dim", "caution": "yellow", "poor": "red"}
_LABELS = {"good": "note"}  # what is worth knowing need not be good, nor be mended


def check(
    data: DataArgument,
    inputs: InputsOption = None,
    output: OutputOption = None,
    sampling_time: SamplingTimeOption = None,
    decimal: DecimalOption = None,
    decimate: DecimateOption = 1,
    detrend: DetrendOption = False,
    fill: FillOption = None,
    page: ReportOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Look for faults in measured data, and say what to do about them.

    Gaps, missing values, stuck and clipped sensors, offsets, drift, spikes, poor inputs, sampling,
    delays, feedback, swapped columns. Exits with 0 whatever is found.

    [dim]Example:[/dim] adjoin check rig.csv --inputs force --output velocity --report page.html
    """
    require_writable({"report": page}, data, force)
    with console(stderr=True).status("looking at the data …"):
        from adjoin.data.check import check_files

        require_tables(data)
        found = check_files(
            data,
            inputs,
            output,
            sampling_time=sampling_time,
            decimal=decimal,
            fill=fill,
            prepare=lambda dataset: prepared(dataset, decimate, detrend),
        )
    if page is not None:
        from adjoin.report.data_findings import write_check_page

        write_check_page(found, page, spell=spell_for_discover)
        console(stderr=True).print(f"report: {page}", markup=False, highlight=False)
    if as_json:
        plain = found.plain
        for finding in plain["findings"]:
            for text in ("words", "remedy"):
                finding[text] = spell_for_discover(finding[text])
        print_json(plain)
    else:
        print_check(console(), found)


def print_check(screen: Console, found: DataCheck) -> None:
    """What was found, one row each: how bad it is, what it is, and what to do."""
    from rich.markup import escape
    from rich.table import Table

    screen.print(escape(repr(found.data)))
    table = Table("level", "what", "what to do", box=None, padding=(0, 2, 0, 0))
    for finding in found.findings:
        level = f"[{_SHADE[finding.level]}]{_LABELS.get(finding.level, finding.level)}[/]"
        words, remedy = spell_for_discover(finding.words), spell_for_discover(finding.remedy)
        table.add_row(level, escape(words), escape(remedy))
    screen.print(table, soft_wrap=False)
