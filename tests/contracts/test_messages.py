"""What messages tell people to pass exists: arguments in Python, options on the command line."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import adjoin
from adjoin.cli.app import app
from adjoin.cli.spelling import spell_for, spell_for_discover, spell_for_fit
from adjoin.data.names import SignalNames
from adjoin.inference.ladder import Ladder

SOURCES = Path(adjoin.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")
ARGUMENT = re.compile(r"(?<![\w.{<-])([a-z_]+)=(?=['({…\w.])")
NO_MESSAGES = ("modelling/mathml.py", "report/page.py", "report/pictures.py", "report/svg.py")
"""Where ``name=`` is HTML, or code."""


def messages() -> Iterator[tuple[str, str]]:
    """Every text in the sources that is no docstring, with its place; what is put in is a …."""
    for path in sorted(SOURCES.rglob("*.py")):
        name = path.relative_to(SOURCES).as_posix()
        if name in NO_MESSAGES:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        plain = {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in plain:
                continue
            if isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "…" for v in node.values]
                plain.update(map(id, node.values))
                text = "".join(map(str, parts))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                text = node.value
            else:
                continue
            if " " in text:
                yield f"{name}:{node.lineno}", text


def options_of(command: Any) -> set[str]:
    found = {o for p in command.params for o in (*p.opts, *p.secondary_opts)}
    for inner in getattr(command, "commands", {}).values():
        found |= options_of(inner)
    return found


def arguments_of(owner: Any) -> set[str]:
    """The names of all arguments of a public thing and of its public methods."""
    found: set[str] = set()
    members = vars(owner).items() if inspect.isclass(owner) or inspect.ismodule(owner) else ()
    parts = [owner, *(member for name, member in members if not name.startswith("_"))]
    for base in owner.__mro__[1:] if inspect.isclass(owner) else ():
        parts += [member for name, member in vars(base).items() if not name.startswith("_")]
    for part in parts:
        plain = getattr(part, "__func__", part)
        if callable(plain):
            try:
                found |= set(inspect.signature(plain).parameters)
            except ValueError:  # of C
                continue
    return found


def test_every_option_that_a_message_names_is_one() -> None:
    known = options_of(get_command(app)) | {"--help", "--version"}
    named = [(place, option) for place, text in messages() for option in OPTION.findall(text)]
    assert len(named) > 10
    assert [(place, option) for place, option in named if option not in known] == []


def test_every_argument_that_a_message_names_is_one() -> None:
    public = [getattr(adjoin, name) for name in adjoin.__all__ if name != "__version__"]
    known = set().union(*map(arguments_of, [*public, SignalNames, Ladder]))
    named = [(place, name) for place, text in messages() for name in ARGUMENT.findall(text)]
    assert len(named) > 15
    assert [(place, name) for place, name in named if name not in known] == []


@pytest.mark.parametrize("spell", [spell_for_fit, spell_for_discover])
def test_advice_names_arguments_without_values_as_options_too(spell: Callable[[str], str]) -> None:
    said = "a larger max_lag or max_degree, 'max_lag' of my_max_lag, x.max_lag"
    assert spell(said) == said.replace("max_lag or max_degree", "--max-lag or --max-degree")


def test_what_discover_has_no_option_for_names_the_command_that_has_it() -> None:
    said = "center=True may help; max_lag=3 and objective='simulation'"
    assert spell_for_discover(said) == (
        "adjoin fit --center may help; --max-lag 3 and adjoin fit --objective simulation"
    )


@pytest.mark.parametrize(
    ("command", "message", "spelled"),
    [
        ("fit", "pass decimal='.' or decimal=','.", "pass --decimal . or --decimal ,."),
        ("simulate", "pass decimal=','", "pass --decimal ,"),
        ("grammar show", "pass decimal=','", "pass decimal=','"),
        ("fit", "free run (objective='abc')", "free run (--objective abc)"),
        ("fit", "have a memory (noise='ar')", "have a memory (--noise ar)"),
        ("fit", "by likelihood_power='auto'", "by --likelihood-power auto"),
        ("fit", "a larger ladder={'tolerance': …}", "a larger --tolerance …"),
        ("fit", "ladder={'stages': 3}", "ladder={'stages': 3}"),
        ("fit", "none by inputs=() for", "none by --inputs '' for"),
        ("fit", "scaled (scale=True); or scale=False", "scaled (--scale); or --no-scale"),
        ("fit", "max_lag=3, but the grammar has 5", "--max-lag 3, but the grammar has 5"),
        ("fit", "thin=11 keeps none", "--thin 11 keeps none"),
        ("fit", "out (held_out=dataset), or", "out (--validation 0.3), or"),
        ("fit", "call fit(held_out=dataset) or SignalNames(noise='a')", None),
        ("case", "pass path='x/S.csv', or", "pass --data x/S.csv, or"),
        ("", "pass decimal=','", "pass decimal=','"),
        ("fit", "Dataset.decimate(2), or --decimate 2, if", "--decimate 2, if"),
    ],
)
def test_the_command_line_spells_arguments_as_options(
    command: str, message: str, spelled: str | None
) -> None:
    assert spell_for([*command.split(), "data.csv"], message) == (spelled or message)
