"""``adjoin discover``: from data to an answer in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

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
from adjoin.cli.given import given_options
from adjoin.cli.output import (
    DecimalOption,
    ForceOption,
    JsonOption,
    SchedulerOption,
    console,
    print_json,
    say,
    stages,
)
from adjoin.cli.resuming import ResumeOption, find_finished, require_begin, saying_how_to_go_on
from adjoin.cli.run import write_page
from adjoin.cli.spelling import spell_for_discover
from adjoin.exchange.data_files import read_tables

if TYPE_CHECKING:
    from adjoin.posterior import Posterior


def discover(
    context: typer.Context,
    data: DataArgument,
    inputs: InputsOption = None,
    output: OutputOption = None,
    validation: Annotated[
        float | None,
        typer.Option(
            help="Hold out this last share of every record."
            r"  \[default: records, or stretches of time, in turn]"
        ),
    ] = None,
    max_lag: Annotated[
        int | None,
        typer.Option(min=1, help=r"Largest lag.  \[default: 10, more where it pays]"),
    ] = None,
    max_degree: Annotated[
        int | None, typer.Option(min=1, help=r"Most factors in a term.  \[default: 3]")
    ] = None,
    functions: Annotated[
        str, typer.Option(help="Functions that may be in the equation, e.g. abs,hinge.")
    ] = "",
    initial: Annotated[
        str | None, typer.Option(help='Known terms, e.g. "1 + u(k)*abs(u(k)) + udot(k)".')
    ] = None,
    effort: Annotated[
        str, typer.Option(help="How much is tried: quick, normal or thorough.")
    ] = "normal",
    seed: Annotated[int, typer.Option(min=0, help="Makes the run reproducible.")] = 0,
    jobs: Annotated[
        int | None, typer.Option(min=1, help=r"Candidates at a time.  \[default: one per core]")
    ] = None,
    scheduler: SchedulerOption = None,
    sampling_time: SamplingTimeOption = None,
    decimal: DecimalOption = None,
    decimate: DecimateOption = 1,
    detrend: DetrendOption = False,
    fill: FillOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="RUN", help="Save the run, e.g. rig.nc, for adjoin report."),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help="Also write a page about it, such as rig.html.")
    ] = None,
    resume: ResumeOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Discover the equation behind measured data: compare many models on held-out data.

    Looks at the data, compares many settings by free runs on what was held out, and fits the best
    to all data. The page shows the equation, and how it simulates what one fold held out.

    With --out, what is worked out is saved as soon as it is there: a discovery that was stopped, or
    killed, goes on by the same command with --resume, and ends as if nothing had happened.

    [dim]Example:[/dim] adjoin discover rig.csv --inputs force --output velocity --out rig.nc
    """
    checkpoint = require_begin(out, page, data, resume, force)
    _require_effort(effort)
    options = given_options(context)
    with stages("reading the data") as tell, saying_how_to_go_on(checkpoint):
        from adjoin.data.check import check_data
        from adjoin.discovery.discovery import discover as find
        from adjoin.discovery.words import describe_discovery, print_discovery
        from adjoin.inference.checkpoint import remove
        from adjoin.levels import GOOD

        everything = read_tables(
            data, inputs, output, sampling_time, decimal, decimate, detrend, fill
        )
        tell("looking at the data")
        checked = check_data(everything)
        for finding in checked.findings:
            if finding.level != GOOD:  # what is wrong is to be known before hours are spent on it
                remedy = f" → {finding.remedy}" if finding.remedy else ""
                say(spell_for_discover(f"data: {finding.words}{remedy}"))
        if resume and not force and out is not None and checkpoint is not None:
            finished = find_finished("discover", out, checkpoint, options, everything)
            if finished is not None:
                _show(finished, page, out, checked.plain if as_json else None)
                return
        found = find(
            everything,
            validation=validation,
            max_lag=max_lag,
            max_degree=max_degree,
            functions=functions,
            initial=initial,
            effort=effort,
            seed=seed,
            n_jobs=jobs,
            observe=tell,
            checkpoint=checkpoint,
            scheduler=scheduler,
        )
    found = found.with_source([str(file) for file in data], options)
    if out is not None:
        found.posterior.save(out)
    if checkpoint is not None:
        remove(checkpoint)
    if page is not None:
        write_page(found.assessment, page, "", out.name if out else "")
    written = {"run": out, "report": page}
    for path in filter(None, written.values()):
        say(f"wrote {path}")
    if as_json:
        names = {name: str(path) for name, path in written.items() if path is not None}
        told = {"data_check": checked.plain, "written": names}
        print_json(describe_discovery(found) | told)
        return
    print_discovery(console(), found, spell_for_discover)


def _require_effort(name: str) -> None:
    """Refuse an unknown effort before anything is read."""
    from adjoin.discovery.settings import read_effort

    read_effort(name)


def _show(
    finished: Posterior, page: Path | None, out: Path, checked: dict[str, Any] | None
) -> None:
    """What a discovery has found that was finished before; as JSON with what was `checked`."""
    from adjoin.report.findings import describe, print_findings
    from adjoin.results.assessment import assess

    assessment = assess(finished)
    written = {}
    if page is not None:
        write_page(assessment, page, "", out.name)
        written["report"] = str(page)
    if checked is None:
        print_findings(console(), assessment, spell_for_discover)
    else:
        print_json(describe(assessment) | {"data_check": checked, "written": written})
