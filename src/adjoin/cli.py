"""The command line: parses, calls, prints; no science.

Every command takes ``--json`` (one object on standard output and nothing else there), prints
messages on standard error, and exits with 0 (done), 1 (the run failed) or 2 (bad usage or data).
Heavy modules are imported inside the commands, so that ``adjoin --help`` is instant.
"""

from __future__ import annotations

import io
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adjoin import __version__
from adjoin.errors import AdjoinError, PipeClosed

if TYPE_CHECKING:
    from rich.console import Console

    from adjoin.grammar import Grammar

app = typer.Typer(
    name="adjoin",
    help="Discover the equation of a dynamical system from measured input and output.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
grammar_app = typer.Typer(
    help="Look at, check and draw grammars, and read equations.", no_args_is_help=True
)
app.add_typer(grammar_app, name="grammar")

_READY = "narx, narmax, arx, fir, volterra, keith"

GrammarArgument = Annotated[
    str, typer.Argument(metavar="GRAMMAR", help=f"A ready grammar ({_READY}) or a grammar file.")
]
InputsOption = Annotated[
    str | None, typer.Option(help=r"Names of the inputs, separated by commas.  \[default: u]")
]
OutputOption = Annotated[str | None, typer.Option(help=r"Name of the output.  \[default: y]")]
FunctionsOption = Annotated[
    str | None,
    typer.Option(
        help="Functions of atoms, separated by commas: abs, sin, cos, tanh, sign, exp, sqrtabs."
    ),
]
MaxLagOption = Annotated[int | None, typer.Option(min=0, help=r"Largest lag.  \[default: 10]")]
MaxDegreeOption = Annotated[
    int | None, typer.Option(min=1, help=r"Largest number of factors in a term.  \[default: 4]")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead.")]


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


@app.command()
def demo(as_json: JsonOption = False) -> None:
    """Show the academic system of the paper: its grammar, derivation and equation.

    [dim]Example:[/dim] adjoin demo
    """
    from adjoin.grammar import Grammar
    from adjoin.report import summary

    console = _console(stderr=True)
    with console.status("compiling (on first use) and simulating the academic system …"):
        from adjoin import datasets, scores

        benchmark = datasets.academic(seed=0)
        truth, test = benchmark.truth, benchmark.test
        assert truth is not None
        simulated = truth.simulate(test.u, test.y[: truth.max_lag])
    score = scores.nmse(test.y[truth.max_lag :], simulated[truth.max_lag :])
    grammar = Grammar.narx()
    described = summary.describe_equation(truth.equation, grammar)
    result = {
        **described,
        "grammar": summary.describe_grammar(grammar),
        "data": benchmark.protocol,
        "scores": {"test_nmse_percent_of_variance": score},
        "version": __version__,
    }
    if as_json:
        _print_json(result)
        return
    console = _console()
    console.rule("[bold]1  The grammar: every model that can be written down")
    summary.print_grammar(console, grammar)
    console.rule("[bold]2  The academic system, derived in it")
    summary.print_equation(console, described, trees=("derivation",))
    console.rule("[bold]3  Its free run on noisy data")
    console.print(f"{benchmark.protocol}; noise sd {benchmark.noise_sd:.4f}")
    console.print(
        f"free run of the true system on the {len(test)} test samples:"
        f" [bold]NMSE {score:.3f} %[/bold] of the output's variance (the noise alone makes 1 %)"
    )


@grammar_app.command()
def show(
    grammar: GrammarArgument = "narx",
    inputs: InputsOption = None,
    output: OutputOption = None,
    functions: FunctionsOption = None,
    max_lag: MaxLagOption = None,
    max_degree: MaxDegreeOption = None,
    trees: Annotated[bool, typer.Option("--trees", help="Draw every elementary tree.")] = False,
    text: Annotated[bool, typer.Option("--text", help="Print the grammar's text format.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Print a grammar: its symbols, elementary trees and alphabet.

    [dim]Example:[/dim] adjoin grammar show narx --inputs u,udot --functions abs
    """
    from adjoin.report import summary

    if trees + text + as_json > 1:
        raise AdjoinError("--trees, --text and --json exclude each other; give one of them")
    found = _grammar(grammar, inputs, output, functions, max_lag, max_degree)
    if as_json:
        _print_json(summary.describe_grammar(found))
    elif text:
        _write(found.to_text())
    else:
        summary.print_grammar(_console(), found, trees)


@grammar_app.command()
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A grammar file.")],
    as_json: JsonOption = False,
) -> None:
    """Check a grammar file, and whether the samplers can use it.

    A grammar that is right but not for the samplers is no error; --json tells the two apart.

    [dim]Example:[/dim] adjoin grammar check my.tag
    """
    from adjoin.grammar import READY, Grammar
    from adjoin.report import summary

    if file in READY and not Path(file).exists():
        raise AdjoinError(
            f"'{file}' is a ready grammar, not a file; try adjoin grammar show {file}"
        )
    found = Grammar.read(file)
    described = summary.describe_grammar(found)
    if as_json:
        _print_json(described)
    else:
        summary.print_check(_console(), described, file)


@grammar_app.command()
def draw(
    grammar: GrammarArgument = "narx",
    equation: Annotated[
        str, typer.Option(help="Draw the derived tree and the derivation of this equation.")
    ] = "",
    out: Annotated[Path, typer.Option(help="The picture: .svg, .png or .pdf.")] = Path("trees.svg"),
    inputs: InputsOption = None,
    output: OutputOption = None,
    functions: FunctionsOption = None,
    max_lag: MaxLagOption = None,
    max_degree: MaxDegreeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a grammar's elementary trees, or the trees of an equation, as a picture.

    [dim]Example:[/dim] adjoin grammar draw --equation "y(k) = u(k-1)^3 + y(k-1)" --out trees.png
    """
    found = _grammar(grammar, inputs, output, functions, max_lag, max_degree)
    console = _console(stderr=True)
    with console.status("drawing …"):
        from adjoin.grammar import Structure
        from adjoin.report.trees import figure_derived, figure_grammar, save_figure

        if equation:
            structure = Structure.parse(equation, found.signals)
            title = f"{found.signals.output}(k)  ~  {structure}"
            figure = figure_derived(found.derive(structure), found.tag, title)
        else:
            figure = figure_grammar(found)
        save_figure(figure, out)
    if as_json:
        _print_json({"picture": str(out)})
    else:
        console.print(f"wrote {out}", markup=False)


@grammar_app.command()
def parse(
    equation: Annotated[str, typer.Argument(metavar="EQUATION", help='Such as "y(k) = u(k-1)".')],
    inputs: Annotated[
        str | None,
        typer.Option(help=r"Inputs in order, separated by commas.  \[default: as they appear]"),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Read an equation, and print it in canonical form with its derivation and derived tree.

    [dim]Example:[/dim] adjoin grammar parse "y(k) = 0.3*y(k-1) + 0.5*u(k-1)"
    """
    from adjoin.report import summary

    described = summary.describe_equation(equation, inputs=inputs)
    if as_json:
        _print_json(described)
    else:
        summary.print_equation(_console(), described)


def _console(stderr: bool = False) -> Console:
    from adjoin.report.summary import make_console

    return make_console(stderr)


def _print_json(result: dict[str, Any]) -> None:
    _write(json.dumps(result, allow_nan=False) + "\n")


def _write(text: str) -> None:
    """Write for programs: UTF-8 whatever the terminal is, and complete when this returns."""
    try:
        sys.stdout.buffer.write(text.encode("utf-8"))
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        raise PipeClosed from None


def _grammar(
    name: str,
    inputs: str | None,
    output: str | None,
    functions: str | None,
    max_lag: int | None,
    max_degree: int | None,
) -> Grammar:
    """A ready grammar with the given options, or one read from a file with the given bounds."""
    from adjoin.grammar import READY, Grammar

    words = {"inputs": inputs, "output": output, "functions": functions}
    bounds = {"max_lag": max_lag, "max_degree": max_degree}
    words_given = {key: value for key, value in words.items() if value is not None}
    bounds_given = {key: value for key, value in bounds.items() if value is not None}
    if name in READY and name != "keith":
        if name in ("arx", "fir") and "max_degree" in bounds_given:
            raise AdjoinError(f"--max-degree has no meaning for {name}, whose terms are linear")
        make = READY[name]
        return make(**words_given, **bounds_given)
    if words_given or (name == "keith" and bounds_given):
        option = next(iter({**words_given, **bounds_given})).replace("_", "-")
        raise AdjoinError(f"--{option} is for the ready dynamical grammars; '{name}' has its own")
    if name == "keith":
        return Grammar.keith()
    if not Path(name).exists():
        raise AdjoinError(f"'{name}' is neither a file nor a ready grammar ({_READY})")
    found = Grammar.read(name)
    return Grammar(
        found.tag,
        found.names,
        found.max_lag if max_lag is None else max_lag,
        found.max_degree if max_degree is None else max_degree,
        found.name,
    )


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
        typer.echo(f"{typer.style('error:', fg='red', bold=True)} {error}", err=True)
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


if __name__ == "__main__":
    main()
