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
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
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
    """Discover the academic system of the paper from noisy simulated data.

    [dim]Example:[/dim] adjoin demo
    """
    from adjoin.report import findings, summary

    console = _console(stderr=True)
    with console.status("simulating the academic system …"):
        from adjoin import Identifier, datasets
        from adjoin.grammar import Grammar

        benchmark = datasets.academic(seed=0)
        truth, train, test = benchmark.truth, benchmark.train, benchmark.test
        assert truth is not None
    identifier = Identifier(seed=0).fit(train)
    posterior = identifier.posterior_
    scores = {"test": findings.score_model(identifier.model_, test, posterior.max_lag)}
    facts = findings.describe_findings(posterior, scores=scores)
    facts["truth"] = truth.equation
    facts["is_recovered"] = posterior.structure(0) == truth.structure
    if as_json:
        _print_json(facts)
        return
    console = _console()
    console.rule("[bold]1  The system, and the grammar in which it is looked for")
    console.print(f"truth: [bold]{truth.equation}[/bold]")
    console.print(f"data:  {benchmark.protocol}; noise sd {benchmark.noise_sd:.4f}")
    summary.print_alphabet(console, Grammar.narx())
    console.rule("[bold]2  What the data say")
    findings.print_findings(console, posterior, facts)
    console.rule("[bold]3  The derivation of what was found")
    described = summary.describe_equation(identifier.model_.equation, identifier.grammar_)
    summary.print_derivation(console, described)
    mass = facts["structures"][0]["mass"]
    if facts["is_recovered"]:
        console.print(f"[green]✓[/green] the true structure was found, with mass {mass:.3f}")
    else:
        console.print("[yellow]–[/yellow] the most frequent structure is not the true one")


@app.command()
def fit(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA...",
            help="A CSV, text or MATLAB file with the signals; more: one record each.",
        ),
    ],
    inputs: Annotated[
        str | None,
        typer.Option(
            help=r"Input columns, separated by commas.  \[default: all but time and output]"
        ),
    ] = None,
    output: Annotated[str | None, typer.Option(help=r"Output column.  \[default: y]")] = None,
    objective: Annotated[str, typer.Option(help="What models are judged by: osa.")] = "osa",
    max_lag: Annotated[int, typer.Option(min=1, help="Largest lag.")] = 10,
    max_degree: Annotated[int, typer.Option(min=1, help="Most factors in a term.")] = 4,
    expected_terms: Annotated[float, typer.Option(help="Terms expected a priori, λ_t.")] = 5.0,
    samples: Annotated[int, typer.Option(min=1, help="Samples per chain.")] = 30_000,
    chains: Annotated[int, typer.Option(min=1, help="Number of chains.")] = 4,
    seed: Annotated[int | None, typer.Option(min=0, help="Makes the run reproducible.")] = None,
    prior: Annotated[str, typer.Option(help="default, or paper (raw units).")] = "default",
    initial: Annotated[
        str | None, typer.Option(help='Fixed terms, e.g. "u(k)*abs(u(k)) + udot(k)".')
    ] = None,
    functions: Annotated[
        str, typer.Option(help="Functions of signals, e.g. abs,sin; see adjoin grammar show.")
    ] = "",
    grammar: Annotated[
        Path | None, typer.Option(help="A grammar file, instead of lags, degree and functions.")
    ] = None,
    likelihood_power: Annotated[
        str, typer.Option(help="1, a number in [0, 1], or auto (autocorrelated residuals).")
    ] = "1",
    validation: Annotated[
        float | None,
        typer.Option(help="Hold out this last share of the data, and select the chain by it."),
    ] = None,
    burn_in: Annotated[float, typer.Option(help="Share of each chain left out.")] = 0.5,
    thin: Annotated[int, typer.Option(min=1, help="Record every which sample.")] = 5,
    center: Annotated[
        bool | None,
        typer.Option("--center/--no-center", help=r"Centre signals.  \[default: where sensible]"),
    ] = None,
    scale: Annotated[
        bool | None,
        typer.Option("--scale/--no-scale", help=r"Scale signals.  \[default: where sensible]"),
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(min=1, help=r"Chains at a time.  \[default: one per core]")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Discover the equation behind measured data, and how sure it is.

    [dim]Example:[/dim] adjoin fit rig.csv --inputs force --output velocity --validation 0.2
    """
    from adjoin.report import findings

    with _console(stderr=True).status("reading the data …"):
        from adjoin import Identifier, read_data
        from adjoin.signals import Dataset

        own = None if grammar is None else _grammar_file(grammar)
        everything = Dataset.join([read_data(file, inputs, output) for file in data])
        train, held_out = everything, None
        if validation is not None:
            if not 0.0 < validation < 1.0:
                raise AdjoinError(f"--validation is a share between 0 and 1, not {validation:g}")
            train, held_out = everything.split(1.0 - validation)
            try:
                held_out.require_window(max_lag if own is None else own.max_lag)
            except AdjoinError as error:
                raise AdjoinError(f"the validation part: {error}") from None
    identifier = Identifier(
        objective=objective,
        grammar=own,
        max_lag=max_lag,
        max_degree=max_degree,
        expected_terms=expected_terms,
        samples=samples,
        burn_in=burn_in,
        thin=thin,
        chains=chains,
        seed=seed,
        prior=prior,
        center=center,
        scale=scale,
        initial=initial,
        n_jobs=jobs,
        functions=functions,
        likelihood_power=_power(likelihood_power),
    )
    with _warnings_as_notes():
        identifier.fit(train)
    every = posterior = identifier.posterior_
    with _console(stderr=True).status("scoring …"):
        if held_out is not None:
            posterior = every.select_chain(held_out, held_out)
        parts = {"training": train, "validation": held_out}
        scores = {
            part: findings.score_model(posterior.map_model, where, every.max_lag)
            for part, where in parts.items()
            if where is not None
        }
        facts = findings.describe_findings(posterior, every, scores)
    facts["settings"] |= {"data": [str(file) for file in data], "validation": validation}
    if as_json:
        _print_json(facts)
    else:
        findings.print_findings(_console(), posterior, facts)
    if not identifier.is_complete_:
        raise typer.Exit(1)


@contextmanager
def _warnings_as_notes() -> Iterator[None]:
    """Show warnings as notes to a person, not as lines of source code."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for warning in caught:
        typer.echo(f"{typer.style('note:', fg='yellow', bold=True)} {warning.message}", err=True)


def _power(text: str) -> float | str:
    if text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise AdjoinError(f"--likelihood-power is a number or auto, not '{text}'") from None


def _grammar_file(path: Path) -> Grammar:
    from adjoin.grammar import Grammar

    return Grammar.read(path)


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
