"""The command line: parses, calls, prints; no science.

Every command takes ``--json`` (one object on standard output and nothing else there), prints
messages on standard error, and exits with 0 (done), 1 (the run failed) or 2 (bad usage or data).
Heavy modules are imported inside the commands, so that ``adjoin --help`` is instant.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Annotated

import typer

from adjoin.cli.case import case
from adjoin.cli.check import check
from adjoin.cli.compare import compare
from adjoin.cli.demo import demo
from adjoin.cli.discover import discover
from adjoin.cli.export import export
from adjoin.cli.fit import fit
from adjoin.cli.grammar import grammar_app
from adjoin.cli.run import report, simulate
from adjoin.cli.spelling import spell_for
from adjoin.cli.sweep import sweep
from adjoin.errors import AdjoinError, PipeClosed
from adjoin.version import __version__

app = typer.Typer(
    name="adjoin",
    help="Discover the equation of a dynamical system from measured input and output.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in (demo, check, discover, fit, compare, simulate, report, export, sweep, case):
    app.command()(command)
app.add_typer(grammar_app, name="grammar")


def _version(value: bool) -> None:
    if value:
        typer.echo(f"adjoin {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line: 0 done, 1 the run failed or was stopped, 2 bad usage or data."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal or file that cannot hold θ or ✓ gets a "?" there instead of a crash.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    sys.exit(_run())


def _run() -> int:
    try:
        app()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
        if status != 130:  # what an interrupt is turned into
            return status
        typer.echo("stopped", err=True)
    except KeyboardInterrupt:
        typer.echo("stopped", err=True)
    except AdjoinError as error:
        message = spell_for(sys.argv[1:], str(error))
        typer.echo(f"{typer.style('error:', fg='red', bold=True)} {message}", err=True)
        return 2
    except PipeClosed:
        # Whoever reads our output has read enough, as with `| head`; nothing failed.
        _silence_output()
        return 0
    except OSError as error:
        typer.echo(f"error: {error.strerror or error}", err=True)
        _silence_output()
    return 1


def _silence_output() -> None:
    """Let nothing that is still buffered fail once more when Python ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
