"""``adjoin grammar``: look at, check and draw grammars, and read equations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adjoin.cli.output import ForceOption, JsonOption, console, print_json, write_text
from adjoin.cli.run import require_writable
from adjoin.errors import AdjoinError

if TYPE_CHECKING:
    from adjoin.grammar import Grammar

grammar_app = typer.Typer(
    help="Look at, check and draw grammars, and read equations.", no_args_is_help=True
)

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
        help="Functions of atoms, separated by commas: abs, sin, cos, tanh, sign, exp, sqrtabs,"
        " pos[0.25] (a hinge with its knot)."
    ),
]
MaxLagOption = Annotated[int | None, typer.Option(min=0, help=r"Largest lag.  \[default: 10]")]
MaxDegreeOption = Annotated[
    int | None, typer.Option(min=1, help=r"Largest number of factors in a term.  \[default: 4]")
]


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
        print_json(summary.describe_grammar(found))
    elif text:
        write_text(found.to_text())
    else:
        summary.print_grammar(console(), found, trees)


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
        print_json(described)
    else:
        summary.print_check(console(), described, file)


@grammar_app.command()
def draw(
    grammar: GrammarArgument = "narx",
    equation: Annotated[
        str, typer.Option(help="Draw the derived tree and the derivation of this equation.")
    ] = "",
    out: Annotated[
        Path | None, typer.Option(help=r"The picture: .svg, .png or .pdf.  \[default: trees.svg]")
    ] = None,
    inputs: InputsOption = None,
    output: OutputOption = None,
    functions: FunctionsOption = None,
    max_lag: MaxLagOption = None,
    max_degree: MaxDegreeOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Draw a grammar's elementary trees, or the trees of an equation, as a picture.

    [dim]Example:[/dim] adjoin grammar draw --equation "y(k) = u(k-1)^3 + y(k-1)" --out trees.png
    """
    picture = out or Path("trees.svg")
    require_writable({"picture": picture}, [], force)
    found = _grammar(grammar, inputs, output, functions, max_lag, max_degree)
    screen = console(stderr=True)
    with screen.status("drawing …"):
        from adjoin.grammar import Structure
        from adjoin.report.trees import figure_derived, figure_grammar, save_figure

        if equation:
            structure = Structure.parse(equation, found.signals)
            title = f"{found.signals.output}(k)  ~  {structure}"
            figure = figure_derived(found.derive(structure), found.tag, title)
        else:
            figure = figure_grammar(found)
        save_figure(figure, picture)
    if as_json:
        print_json({"picture": str(picture)})
    else:
        screen.print(f"wrote {picture}", markup=False)


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
        print_json(described)
    else:
        summary.print_equation(console(), described)


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
