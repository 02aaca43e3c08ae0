"""The command line: parses, calls, prints; no science.

Every command takes ``--json`` (one object on standard output and nothing else there), prints
messages on standard error, and exits with 0 (done), 1 (the run failed) or 2 (bad usage or data).
Heavy modules are imported inside the commands, so that ``adjoin --help`` is instant.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from adjoin import __version__
from adjoin.errors import AdjoinError

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
InputsOption = Annotated[str, typer.Option(help="Names of the inputs, separated by commas.")]
OutputOption = Annotated[str, typer.Option(help="Name of the output.")]
FunctionsOption = Annotated[
    str, typer.Option(help="Functions of atoms: abs, sin, cos, tanh, sign, exp, sqrtabs.")
]
MaxLagOption = Annotated[int | None, typer.Option(min=0, help="Largest lag.  [default: 10]")]
MaxDegreeOption = Annotated[
    int | None, typer.Option(min=1, help="Largest number of factors in a term.  [default: 4]")
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
    from adjoin import datasets, scores
    from adjoin.grammar import Grammar
    from adjoin.report import summary

    with _console(stderr=True).status("simulating the academic system …"):
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
    summary.print_equation(console, described)
    console.rule("[bold]3  Its free run on noisy data")
    console.print(f"{benchmark.protocol}; noise sd {benchmark.noise_sd:.4f}")
    console.print(
        f"free run of the true system on the {len(test)} test samples:"
        f" [bold]NMSE {score:.3f} %[/bold] of the output's variance (the noise alone makes 1 %)"
    )


@grammar_app.command()
def show(
    grammar: GrammarArgument = "narx",
    inputs: InputsOption = "u",
    output: OutputOption = "y",
    functions: FunctionsOption = "",
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

    found = _grammar(grammar, inputs, output, functions, max_lag, max_degree)
    if as_json:
        _print_json(summary.describe_grammar(found))
    elif text:
        typer.echo(found.to_text(), nl=False)
    else:
        summary.print_grammar(_console(), found, trees)


@grammar_app.command()
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A grammar file.")],
    as_json: JsonOption = False,
) -> None:
    """Check a grammar file, and whether the samplers can use it.

    [dim]Example:[/dim] adjoin grammar check my.tag
    """
    from adjoin.grammar import Grammar
    from adjoin.report import summary

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
    inputs: InputsOption = "u",
    output: OutputOption = "y",
    functions: FunctionsOption = "",
    max_lag: MaxLagOption = None,
    max_degree: MaxDegreeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Draw a grammar's elementary trees, or the trees of an equation, as a picture.

    [dim]Example:[/dim] adjoin grammar draw --equation "y(k) = u(k-1)^3 + y(k-1)" --out trees.png
    """
    found = _grammar(grammar, inputs, output, functions, max_lag, max_degree)
    with _console(stderr=True).status("drawing …"):
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
        _console(stderr=True).print(f"wrote {escape(str(out))}")


@grammar_app.command()
def parse(
    equation: Annotated[str, typer.Argument(metavar="EQUATION", help='Such as "y(k) = u(k-1)".')],
    inputs: Annotated[
        str, typer.Option(help="Inputs in order, separated by commas.  [default: as they appear]")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Read an equation, and print it in canonical form with its derivation and derived tree.

    [dim]Example:[/dim] adjoin grammar parse "y(k) = 0.3*y(k-1) + 0.5*u(k-1)"
    """
    from adjoin.report import summary

    described = summary.describe_equation(equation, inputs=_names(inputs) or None)
    if as_json:
        _print_json(described)
    else:
        summary.print_equation(_console(), described)


def _console(stderr: bool = False) -> Console:
    from rich.console import Console

    return Console(stderr=stderr, highlight=False, soft_wrap=True)


def _print_json(result: dict[str, Any]) -> None:
    typer.echo(json.dumps(result, ensure_ascii=False, allow_nan=False))


def _grammar(
    name: str, inputs: str, output: str, functions: str, max_lag: int | None, max_degree: int | None
) -> Grammar:
    """A ready grammar with the given options, or one read from a file as it stands."""
    from adjoin.grammar import READY, Grammar

    if name not in READY:
        if not Path(name).exists():
            raise AdjoinError(f"'{name}' is neither a file nor a ready grammar ({_READY})")
        return Grammar.read(name)
    if name == "keith":
        return Grammar.keith()
    options: dict[str, Any] = {
        "inputs": _names(inputs),
        "output": output,
        "functions": _names(functions),
        "max_lag": max_lag,
        "max_degree": None if name in ("arx", "fir") else max_degree,
    }
    make = READY[name]
    return make(**{key: value for key, value in options.items() if value is not None})


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def main() -> None:
    """Run the command line; errors the user can mend end with status 2, others with 1."""
    try:
        app()
    except AdjoinError as error:
        _console(stderr=True).print(f"[bold red]error:[/bold red] {escape(str(error))}")
        sys.exit(2)
    except KeyboardInterrupt:
        _console(stderr=True).print("stopped")
        sys.exit(1)


if __name__ == "__main__":
    main()
