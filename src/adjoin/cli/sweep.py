"""``adjoin sweep``: many runs by one plan."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.output import (
    JsonOption,
    SchedulerOption,
    console,
    print_json,
    say,
    stages,
    write_text,
)
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.sweeps.collected import Sweep


def sweep(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="PLAN.toml", help="Data sets, settings and seeds; see --example."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help=r"A folder for all runs.  \[default: PLAN without its ending]"
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help=r"Processes at a time.  \[default: one per core]")
    ] = None,
    scheduler: SchedulerOption = None,
    retries: Annotated[
        int, typer.Option(min=0, help="How many more times a job that fails is tried.")
    ] = 1,
    force: Annotated[
        bool,
        typer.Option("--force", help="Run jobs anew whose data or settings have changed."),
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Print a plan that works after adjoin demo.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Run every setting on every data set with every seed, and collect one table.

    Each job has a folder of its own in DIR, with its run, run.nc. The same command again skips
    what is finished, goes on with what was stopped or killed, and tries what failed once more.

    [dim]Example:[/dim] adjoin sweep --example > plan.toml; adjoin sweep plan.toml --out sweep
    """
    if example:
        from adjoin.sweeps.example import EXAMPLE

        write_text(EXAMPLE)
        return
    if plan is None:
        raise AdjoinError("name a plan; adjoin sweep --example prints one to begin with")
    try:
        with stages("reading the plan") as tell:
            from adjoin.cluster.executor import executor_of
            from adjoin.sweeps.sweep import sweep as run

            with executor_of(scheduler) as executor:
                found = run(
                    plan,
                    out,
                    n_jobs=jobs,
                    retries=retries,
                    force=force,
                    executor=executor,
                    observe=tell,
                )
    except KeyboardInterrupt as stopped:
        for note in getattr(stopped, "__notes__", ()):
            say(note)
        raise
    if as_json:
        print_json(found.plain)
    else:
        _print(found)
    if not found.is_complete:
        raise typer.Exit(1)


def _print(found: Sweep) -> None:
    from rich.markup import escape

    from adjoin.report.sheet import Column, Sheet, print_sheet
    from adjoin.sweeps.collected import HEADS

    screen = console()
    columns = [Column(head, is_text=head == HEADS[0]) for head in HEADS]
    for name in dict.fromkeys(group.data for group in found.groups):
        groups = [group for group in found.groups if group.data == name]
        judged_on = next((group.judged_on for group in groups if group.judged_on), "")
        title = f"{name}: error of the free run on {judged_on}" if judged_on else name
        note = "NMSE in percent, the median of the seeds and its range; best first"
        print_sheet(screen, Sheet(title, note, columns, [group.texts for group in groups]))
    for name, error in found.failed.items():
        screen.print(f"[red]failed[/red]  {escape(name)}: {escape(error)}", soft_wrap=False)
    again = "; the same command tries the failed ones again" if found.failed else ""
    skipped = f", {len(found.skipped)} finished before" if found.skipped else ""
    say(f"{found.words}{skipped}; all scores are in {found.folder / 'table.csv'}{again}")
