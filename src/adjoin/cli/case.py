"""``adjoin case``: the paper's case studies, run again with one command."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cases.registry import CASES
from adjoin.cli.output import ForceOption, JsonOption, console, print_json, say
from adjoin.cli.resuming import (
    ResumeOption,
    begin_at,
    require_left,
    say_how_to_go_on,
    saying_how_to_go_on,
)
from adjoin.cli.run import allow_overwriting
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.cases.outcome import Study
    from adjoin.cases.setups import Plan
    from adjoin.cases.study import Step, Watcher
    from adjoin.datasets import Benchmark
    from adjoin.report.case_parts import Finding

*_OTHERS, _LAST = CASES
_NAMES = f"{', '.join(_OTHERS)} or {_LAST}."


def case(
    name: Annotated[str, typer.Argument(metavar="NAME", help=_NAMES)],
    objective: Annotated[
        str,
        typer.Option(
            help="What models are judged by: prediction (one step ahead), simulation (free run, by"
            " its likelihood), abc (free run, by its distance), or several."
        ),
    ] = "prediction,simulation,abc",
    lambda_t: Annotated[
        str, typer.Option("--lambda-t", help="Terms expected a priori, one run for each.")
    ] = "1,5,20",
    chains: Annotated[
        int | None, typer.Option(min=1, help=r"Chains per setup.  \[default: 4, or 2 if quick]")
    ] = None,
    curve: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Of waves: a learning curve over so many seas.  \\[default: 10, or 0 if quick]",
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="A few minutes at most.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of chains and simulated data.")] = 0,
    data: Annotated[
        Path | None,
        typer.Option(
            help="The Silverbox file or its folder; a record of your own waves, with the columns"
            " velocity, acceleration and force."
        ),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help=r"Chains at a time.  \[default: one per core]")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder for the page, tables and pictures."),
    ] = None,
    resume: ResumeOption = False,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Run a case study of the paper again, its figures beside ours.

    Says first how long it will take. With --out: a page (index.html and
    index.md), CSV tables, pictures and case.json; and what is drawn is
    saved every few seconds, so that a case that was stopped, or killed,
    goes on by the same command with --resume.

    [dim]Example:[/dim] adjoin case academic --objective prediction --out academic
    """
    kept = _require_begin(out, resume, force)
    with console(stderr=True).status("reading the data …"):
        from adjoin.cases import estimate
        from adjoin.cases.case import case_of
        from adjoin.cases.setups import Plan
        from adjoin.cases.study import run_study

        objectives = tuple(part.strip() for part in objective.split(","))
        plan = Plan(name, objectives, _rates(lambda_t), chains, quick, seed, jobs, data, curve)
        # What cannot be read is refused before anything is promised.
        benchmark = case_of(plan).benchmark(plan)
        factor = estimate.machine_factor()
        expected = estimate.estimate(plan, factor)
    if out is not None and resume and not force and _is_finished(out, plan, benchmark, as_json):
        return
    _announce(plan, estimate.in_words(expected))
    with _held(out), saying_how_to_go_on(kept), _watching(plan, factor) as watch:
        study = run_study(plan, watch, kept)
    _finish(study, out, expected, as_json)
    if kept is not None and study.is_complete:
        from adjoin.inference.checkpoint import remove

        remove(kept)
    elif kept is not None:
        say_how_to_go_on(kept)
    if study.failed or not study.is_complete:
        raise typer.Exit(1)


def _rates(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise AdjoinError(f"--lambda-t is numbers, such as 1,5,20, not '{text}'") from None


def _require_begin(out: Path | None, resume: bool, force: bool) -> Path | None:
    """Refuse what would lose a case that was run or begun; else where its checkpoint is."""
    if out is None:
        if resume:
            raise AdjoinError("--resume goes on with the case that --out names; pass both")
        return None
    _require_folder(out)
    kept, study = out / "checkpoint", out / "case.json"
    is_left = require_left(kept, resume, force)
    if study.exists() and not resume:
        allow_overwriting(study, force)
    begin_at(kept, is_left, resume, study.exists())
    return kept


def _is_finished(out: Path, plan: Plan, benchmark: Benchmark, as_json: bool) -> bool:
    """Whether a case that is to be resumed has nothing left to do; then it is shown.

    Raises
    ------
    AdjoinError
        If it is another case, or a part of one whose checkpoint is gone.
    """
    from adjoin.cases.described import describe_study
    from adjoin.cases.outputs import read_study
    from adjoin.inference.checkpoint import is_checkpoint
    from adjoin.inference.described import differences

    if not (out / "case.json").exists() or is_checkpoint(out / "checkpoint"):
        return False
    facts = read_study(out)
    if words := differences(facts["description"], describe_study(plan, benchmark)):
        raise AdjoinError(
            f"'{out}' is of another case: {'; '.join(words)}. Pass --force too to replace it, or"
            " name another folder"
        )
    if not facts["is_complete"]:
        raise AdjoinError(
            f"'{out}' was interrupted, and its checkpoint is gone; pass --force to begin anew"
        )
    say(f"{out} is finished: there is nothing to resume; its page is {out / 'index.html'}")
    if as_json:
        print_json({**facts, "written": {}})
    if facts["failed"]:
        raise typer.Exit(1)
    return True


@contextmanager
def _held(out: Path | None) -> Iterator[None]:
    """Make the folder that the checkpoint is in; one that stays empty goes."""
    if out is not None:
        out.mkdir(exist_ok=True)
    try:
        yield
    finally:
        if out is not None and not any(out.iterdir()):
            out.rmdir()


def _require_folder(folder: Path) -> None:
    """Refuse, before anything is computed, a folder that cannot be written to."""
    if folder.exists() and not folder.is_dir():
        raise AdjoinError(f"'{folder}' is a file; name a folder")
    where = folder if folder.is_dir() else folder.resolve().parent
    try:
        with tempfile.TemporaryFile(dir=where):
            pass
    except OSError as error:
        reason = error.strerror or "it cannot be written to"
        raise AdjoinError(f"cannot write to the folder '{folder}': {reason}") from None


def _announce(plan: Plan, words: str) -> None:
    from adjoin.cases.case import case_of

    asked = case_of(plan)
    n_setups = len(asked.all_setups(plan))
    say(f"case {plan.case}: {n_setups} setups × {plan.n_chains} chains; expected {words}")
    for line in asked.shortened(plan):
        say(f"quick: {line}")


@contextmanager
def _watching(plan: Plan, factor: float) -> Iterator[Watcher]:
    """One bar for it all on a terminal, a line per setup elsewhere."""
    from adjoin.cases.case import case_of
    from adjoin.cases.estimate import curve_seconds, setup_seconds

    setups = case_of(plan).all_setups(plan)
    weight = [setup_seconds(plan, setup, factor) for setup in setups]
    weight.append(curve_seconds(plan, factor))
    if not sys.stderr.isatty():
        yield _lines(len(setups))
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=sum(weight), left="")

        def watch(step: Step) -> None:
            total = sum(weight)
            done = sum(weight[: step.number]) + step.share * weight[step.number]
            # As expected at first, and more and more as fast as it has been.
            pace = 1.0 + ((bars.tasks[0].elapsed or 0.0) - done) / total
            bars.update(
                task,
                completed=done,
                description=_named(step, len(setups)),
                left=f"{_clock(max(pace, 0.0) * (total - done))} left",
            )

        yield watch


def _lines(n_setups: int) -> Watcher:
    from adjoin.cases.table_parts import duration

    def watch(step: Step) -> None:
        if step.row is not None:
            said = step.row.error or f"{duration(step.row.seconds)} per chain"
            say(f"{_named(step, n_setups)}: {said}")
        elif step.number == n_setups:
            say(step.label)

    return watch


def _named(step: Step, n_setups: int) -> str:
    """What is at work, and the how manieth of the setups it is."""
    return f"[{step.number + 1}/{n_setups}] {step.label}" if step.number < n_setups else step.label


def _clock(seconds: float) -> str:
    minutes, rest = divmod(max(round(seconds), 0), 60)
    return f"{minutes}:{rest:02d}"


def _finish(study: Study, out: Path | None, expected: dict[str, float], as_json: bool) -> None:
    """Write, then show; what cannot be written is shown all the same."""
    written: dict[str, str] = {}
    refused: AdjoinError | None = None
    with console(stderr=True).status("drawing the page …"):
        from adjoin.cases.plain_values import describe
        from adjoin.cases.words import findings, warnings_of

        if out is not None:
            from adjoin.cases.outputs import study_files, write_files

            files = study_files(study, str(out))
            try:
                write_files(out, files)
                written = {file: str(out / file) for file in files}
            except AdjoinError as error:
                refused = error
    for row in study.all_rows:
        for note in row.notes:
            say(f"note: {row.setup.label}: {note}")
    if as_json:
        facts = describe(study)
        facts["timing"]["expected_s"] = expected
        print_json({**facts, "written": written})
    else:
        _print(study, findings(study), warnings_of(study))
    if refused is not None:
        raise refused
    if out is not None:
        say(f"wrote {out / 'index.html'} and {len(written) - 1} more files")


def _print(study: Study, findings: list[Finding], warnings: list[str]) -> None:
    from rich.markup import escape

    from adjoin.cases.case import case_of
    from adjoin.cases.tables import sheets
    from adjoin.report.sheet import print_sheet

    screen = console()
    screen.rule(f"[bold]{case_of(study.plan).title_of(study.plan)}")
    screen.print(f"[dim]{escape(study.benchmark.protocol)}[/dim]\n")
    for text in warnings:
        screen.print(f"[yellow]![/yellow] {escape(text)}\n", soft_wrap=False)
    for sheet in sheets(study):
        if sheet.is_long:
            where = "parameters.csv, with --out"
            screen.print(f"[bold]{sheet.title}[/bold]\n{escape(sheet.note)}")
            screen.print(f"{len(sheet.rows)} rows, in {where}\n")
        else:
            print_sheet(screen, sheet)
    shade = {"good": "green", "caution": "yellow", "poor": "red"}
    for finding in findings:
        screen.print(f"[{shade[finding.level]}]●[/] [bold]{escape(finding.short)}[/bold]")
        if finding.reason:
            screen.print(f"  [dim]{escape(finding.reason)}[/dim]", soft_wrap=False)
    minutes, seconds = divmod(round(study.seconds), 60)
    screen.print(f"\n[bold]time[/bold]  {minutes} min {seconds} s in all")
