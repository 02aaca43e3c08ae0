"""What all commands share: consoles, JSON, notes, and the ``--json`` option."""

from __future__ import annotations

import json
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin.errors import PipeClosed

if TYPE_CHECKING:
    from rich.console import Console

DecimalOption = Annotated[
    str | None,
    typer.Option(help=r"Decimal mark of a text table, . or ,  \[default: found out]"),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Overwrite files that exist already.")]
SchedulerOption = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help=r"Do the work on the Dask cluster of this scheduler, e.g. tcp://node1:8786.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]

_PAUSE = 15.0  # seconds between two lines about the same stage
_NUMBERS = re.compile(r"\d+")


def console(stderr: bool = False) -> Console:
    """A terminal to print tables on, or for messages."""
    from adjoin.console import make_console

    return make_console(stderr)


def print_json(result: dict[str, Any]) -> None:
    """One object on standard output."""
    write_text(json.dumps(result, allow_nan=False) + "\n")


def write_text(text: str) -> None:
    """Write for programs: UTF-8 whatever the terminal is, and complete when this returns."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def say(message: str) -> None:
    """A message for a person, on standard error."""
    console(stderr=True).print(message, markup=False, highlight=False)


@contextmanager
def stages(words: str) -> Iterator[Callable[[str], None]]:
    """What is being done: a sign of life on a terminal, and a line now and then in a log.

    There every stage has a line, and one that goes on, told by its words without its numbers, has
    another every 15 s.
    """
    screen = console(stderr=True)
    if screen.is_terminal:
        with screen.status(f"{words} …") as status:
            yield lambda now: status.update(f"{now} …")
        return
    begun = time.monotonic()
    last, stage = begun, ""

    def tell(now: str) -> None:
        nonlocal last, stage
        clock, name = time.monotonic(), _NUMBERS.sub("", now.partition(";")[0])
        if name != stage or clock - last >= _PAUSE:
            last, stage = clock, name
            say(f"{clock - begun:.0f} s: {now}")

    yield tell


@contextmanager
def warnings_as_notes() -> Iterator[None]:
    """Show warnings as notes to a person, not as lines of source code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        typer.echo(f"{typer.style('note:', fg='yellow', bold=True)} {warning.message}", err=True)
