"""``adjoin demo``: the whole way on a rig that is known, from its record to the page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.check import print_check
from adjoin.cli.output import ForceOption, JsonOption, console, print_json, say, stages
from adjoin.cli.run import allow_overwriting, require_writable, write_page
from adjoin.cli.spelling import spell_for
from adjoin.report.page_words import is_page_of

if TYPE_CHECKING:
    from rich.console import Console

    from adjoin.data.check import DataCheck
    from adjoin.data.dataset import Dataset
    from adjoin.discovery.discovery import Discovery

_RUN, _PAGE = Path("rig.nc"), Path("rig.html")
_FILES = ("rig.csv",)
_TYPED = {"inputs": "force", "output": "displacement", "effort": "quick"}
_SIGNALS = "--inputs force --output displacement"


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="RUN", help=r"The run.  \[default: rig.nc]")
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--report", help=r"The page about it.  \[default: rig.html]")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Discover the equation of a simulated rig, from its record to a page about it.

    Writes the record into the current folder, says what is wrong with it, discovers, and holds the
    result against the physics of the rig and against a second experiment.

    [dim]Example:[/dim] adjoin demo
    """
    with console(stderr=True).status("simulating the rig …"):
        from adjoin.cases import demonstration
        from adjoin.data.check import check_data
        from adjoin.data.readers import read_data
        from adjoin.files import write_whole

        texts = demonstration.texts()
    record, test = Path(demonstration.RECORD), Path(demonstration.TEST)
    run, report = out or _RUN, page or _PAGE
    own = [] if out or not _is_ours(run) else ["run"]
    own += [] if page or not is_page_of(report, run.name) else ["report"]
    require_writable({"run": run, "report": report}, [record, test], force, own)
    for file in (record, test):
        if file.exists() and not _is_there(file, texts[file.name]):
            allow_overwriting(file, force)
    for name, text in texts.items():
        write_whole(name, text)
    data, held = (
        read_data(file, demonstration.INPUT, demonstration.OUTPUT) for file in (record, test)
    )
    checked = check_data(data)
    if not as_json:
        _print_record(console(), checked, texts[record.name])
    found = _discovered(data, run, report, as_json)
    physics, missed = demonstration.physics_of(found.model), demonstration.missed(found.model, held)
    if as_json:
        from adjoin.discovery.words import describe_discovery

        files = {"run": run, "report": report, "record": record, "test": test}
        told = {
            "data_check": checked.plain,
            "physics": demonstration.plain(physics),
            "test_nmse": missed,
            "written": {name: str(path) for name, path in files.items()},
        }
        print_json(describe_discovery(found) | told)
        return
    screen = console()
    screen.print(demonstration.in_words(physics), soft_wrap=False)
    screen.print(
        f"On a second experiment, {test}, its simulation misses {missed:.2g} % of the variance.",
        soft_wrap=False,
    )
    _print_next(screen, run, report)


def _is_there(file: Path, text: str) -> bool:
    """Whether a file has exactly that text."""
    try:
        return file.read_text(encoding="utf-8") == text
    except (OSError, UnicodeDecodeError):
        return False


def _is_ours(run: Path) -> bool:
    """Whether a file is a run of the demonstration, which would come out the same again."""
    from adjoin.errors import AdjoinError
    from adjoin.posterior import load

    try:
        settings = load(run).settings if run.is_file() else None
    except AdjoinError:
        return False
    return settings is not None and [settings.data, settings.options] == [_FILES, _TYPED]


def _print_record(screen: Console, checked: DataCheck, text: str) -> None:
    screen.rule("[bold]1  A record")
    screen.print(
        "rig.csv: a mass on a hardening spring is shaken by a force, and a sensor with noise and an"
        " offset reads its displacement. The logger lost some rows. It begins with",
        soft_wrap=False,
    )
    for line in text.splitlines()[:4]:
        screen.print(f"  {line}", markup=False)
    _print_command(screen, f"adjoin check rig.csv {_SIGNALS}")
    print_check(screen, checked)
    if not any(finding.name == "offset" for finding in checked.findings):
        screen.print(
            "The offset of the sensor is small beside the motion, so that nothing need be done"
            " about it: the constant in the equation takes it up.",
            soft_wrap=False,
        )


def _discovered(data: Dataset, run: Path, report: Path, is_quiet: bool) -> Discovery:
    """Discover, save, write the page, and say the same as ``adjoin discover``."""
    options = f"{_SIGNALS} --effort quick --out {run} --report {report}"
    if not is_quiet:
        console().rule("[bold]2  Its equation")
        _print_command(console(), f"adjoin discover rig.csv {options}")
    with stages("looking at the data") as tell:
        from adjoin.discovery.discovery import discover

        found = discover(data, effort="quick", observe=tell)
    found = found.with_source(_FILES, _TYPED)
    found.posterior.save(run)
    write_page(found.assessment, report, "", run.name)
    if not is_quiet:
        from adjoin.discovery.words import print_discovery

        print_discovery(console(), found, lambda line: spell_for(["discover"], line))
        console().rule("[bold]3  Beside the physics of the rig")
    return found


def _print_next(screen: Console, run: Path, report: Path) -> None:
    screen.rule("[bold]4  What to do next")
    screen.print(f"the page, for a browser: {report.resolve()}", markup=False)
    where = "" if run.with_suffix(".html") == report else f" --out {report} --force"
    simpler = f"adjoin discover rig.csv {_SIGNALS} --effort quick --max-degree 1 --out linear.nc"
    own = "adjoin discover YOUR.csv --inputs A,B --output C --out mine.nc --report mine.html"
    for why, *commands in (
        ("put the second experiment on it:", f"adjoin report {run} --data test.csv{where}"),
        ("run the equation on new data:", f"adjoin simulate {run} test.csv --out simulated.csv"),
        (
            "see what a linear model misses:",
            simpler,
            f"adjoin compare {run} linear.nc --data test.csv --out simulations.svg",
        ),
        ("take a record of your own, with the names of its columns:", own),
    ):
        screen.print(why, soft_wrap=False)
        for command in commands:
            _print_command(screen, command)
    say(f"wrote rig.csv, test.csv, {run} and {report}")


def _print_command(screen: Console, command: str) -> None:
    """A command on one line, however long: to be copied."""
    screen.print(f"  $ {command}", markup=False, style="bold cyan")
