"""Tables for the terminal, and the same facts as plain dictionaries for ``--json``.

Receives grammars and equations; each ``describe_*`` gives a dictionary, each ``print_*`` shows one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from adjoin.errors import AdjoinError
from adjoin.grammar import Alphabet, Grammar, Structure
from adjoin.grammar.equation import read_equation, term_text
from adjoin.grammar.render import derivation_text, tree_text
from adjoin.signals import SignalNames

# More steps than this are a wall of characters, not a picture; --json still has them all.
_MOST_LINES = 60


def describe_grammar(grammar: Grammar) -> dict[str, Any]:
    """The symbols, trees and alphabet of a grammar; says why if the samplers cannot use it."""
    tag = grammar.tag
    return {
        "name": grammar.name,
        "start": tag.start,
        "nonterminals": list(tag.nonterminals),
        "terminals": list(tag.terminals),
        "initial": {name: str(tree) for name, tree in tag.initial.items()},
        "auxiliary": {name: str(tree) for name, tree in tag.auxiliary.items()},
        "samplers": _describe_alphabet(grammar),
    }


def _describe_alphabet(grammar: Grammar) -> dict[str, Any]:
    try:
        alphabet = grammar.alphabet
    except AdjoinError as error:
        return {"usable": False, "reason": str(error)}
    return {
        "usable": True,
        "alphabet": [
            {
                "signal": choice.signal,
                "function": choice.function,
                "min_lag": choice.min_lag,
                "max_lag": choice.max_lag,
                "weight": choice.weight,
            }
            for choice in alphabet.choices
        ],
        "max_degree": alphabet.max_degree,
        "n_terms": alphabet.n_terms,
        "fixed": [term_text(term) for term in alphabet.fixed],
    }


def print_grammar(console: Console, grammar: Grammar, draw_trees: bool = False) -> None:
    """Show a grammar as tables, and its trees as drawings if asked for."""
    tag = grammar.tag
    console.print(f"[bold]grammar {escape(grammar.name)}[/bold]   ⟨N, T, S, I, A⟩ with")
    console.print(f"  N = {{ {escape('  '.join(tag.nonterminals))} }}")
    console.print(f"  T = {{ {escape('  '.join(tag.terminals))} }}")
    console.print(f"  S = {escape(tag.start)}")
    roles = _roles(grammar)
    table = Table(box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
    table.add_column("tree", style="bold", no_wrap=True)
    table.add_column("kind")
    table.add_column("what it does", overflow="fold")
    table.add_column("nodes", overflow="fold")
    for name, tree in {**tag.initial, **tag.auxiliary}.items():
        kind = "auxiliary" if tree.is_auxiliary else "initial"
        table.add_row(escape(name), kind, escape(roles.get(name, "")), escape(str(tree)))
    console.print(table)
    if draw_trees:
        console.print(
            Columns(
                Panel(escape(tree_text(tree)), title=escape(name), expand=False)
                for name, tree in tag.trees.items()
            )
        )
    facts = _describe_alphabet(grammar)
    if not facts["usable"]:
        console.print(f"[yellow]not for the samplers:[/yellow] {escape(facts['reason'])}")
        return
    spans = ", ".join(_span(choice) for choice in facts["alphabet"])
    console.print(f"alphabet: {escape(spans)}; up to {facts['max_degree']} factors in a term")
    console.print(f"in all [bold]{facts['n_terms']:,}[/bold] different terms")
    if facts["fixed"]:
        console.print(f"fixed in every model: {escape(' + '.join(facts['fixed']))}")


def _span(choice: dict[str, Any]) -> str:
    first, last = choice["min_lag"], choice["max_lag"]
    signal = choice["signal"]
    lags = f"{signal}(k-{first})" if first else f"{signal}(k)"
    text = f"{lags} … {signal}(k-{last})" if last > first else lags
    return f"{choice['function']} of {text}" if choice["function"] else text


def _roles(grammar: Grammar) -> dict[str, str]:
    """What each elementary tree of a usable grammar is for, in words."""
    try:
        alphabet: Alphabet = grammar.alphabet
    except AdjoinError:
        return {}
    output = alphabet.names.output
    start = f"{alphabet.fixed} + {alphabet.names.noise}(k)" if alphabet.fixed else ""
    roles = {alphabet.initial: f"{output}(k) = {start or alphabet.names.noise + '(k)'}"}
    for choice in alphabet.choices:
        atom = Structure(
            (((choice.signal, choice.min_lag, choice.function),),),  # type: ignore[arg-type]
            alphabet.names,
        )
        roles[choice.term.tree] = f"adds a term that starts with {atom}"
        if choice.factor:
            roles[choice.factor.tree] = f"multiplies a term by {atom}"
        if choice.term.delay_tree:
            roles[choice.term.delay_tree] = "delays an atom by one sample"
    return roles


def print_check(console: Console, facts: dict[str, Any], file: str) -> None:
    """Say that a grammar file is right, and whether the samplers can use it."""
    n_initial, n_auxiliary = len(facts["initial"]), len(facts["auxiliary"])
    console.print(
        f"[green]✓[/green] {escape(file)} is a tree-adjoining grammar:"
        f" {n_initial} initial and {n_auxiliary} auxiliary trees"
    )
    samplers = facts["samplers"]
    if samplers["usable"]:
        spans = ", ".join(_span(choice) for choice in samplers["alphabet"])
        console.print(f"[green]✓[/green] the samplers can use it: {escape(spans)}")
        console.print(f"  {samplers['n_terms']:,} different terms")
    else:
        console.print(f"[yellow]–[/yellow] not for the samplers: {escape(samplers['reason'])}")


def describe_equation(
    text: str, grammar: Grammar | None = None, inputs: Sequence[str] | None = None
) -> dict[str, Any]:
    """An equation in canonical form, with its trees in `grammar` (default: the smallest)."""
    equation = read_equation(text)
    if inputs is not None:
        names = equation.structure.names
        equation = read_equation(text, SignalNames(tuple(inputs), names.output, names.noise))
    structure = equation.structure
    grammar = grammar or Grammar.smallest(structure)
    derived = grammar.derive(structure)
    names = structure.names
    return {
        "equation": str(equation),
        "structure": str(structure),
        "terms": [
            {"term": term_text(term), "coefficient": value, "degree": len(term)}
            for term, value in zip(structure, equation.theta, strict=True)
        ],
        "inputs": list(names.inputs),
        "output": names.output,
        "constants_without_value": list(equation.unvalued),
        "max_lag": structure.max_lag,
        "max_degree": structure.max_degree,
        "latex": equation.latex(),
        "yield": derived.sentence,
        "derived_tree": str(derived.tree),
        "derivation": [step._asdict() for step in derived.derivation.steps],
        "drawings": {
            "derivation": derivation_text(derived.derivation),
            "derived_tree": tree_text(derived.tree),
        },
    }


def print_equation(console: Console, facts: dict[str, Any]) -> None:
    """Show an equation in canonical form and its trees."""
    rows = {
        "equation": facts["equation"],
        "structure": facts["structure"],
        "signals": f"inputs {', '.join(facts['inputs']) or '(none)'}; output {facts['output']}",
        "size": f"{len(facts['terms'])} terms, degree up to {facts['max_degree']},"
        f" lag up to {facts['max_lag']}",
        "LaTeX": facts["latex"],
        "yield": facts["yield"],
    }
    if facts["constants_without_value"]:
        rows["named"] = f"{', '.join(facts['constants_without_value'])} (no value given)"
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for name, value in rows.items():
        table.add_row(name, escape(value))
    console.print(table)
    panels = [
        Panel(escape(_clip(drawing)), title=title, expand=False)
        for title, drawing in (
            ("derivation tree", facts["drawings"]["derivation"]),
            ("derived tree", facts["drawings"]["derived_tree"]),
        )
    ]
    console.print(Columns(panels))


def _clip(drawing: str) -> str:
    lines = drawing.split("\n")
    if len(lines) <= _MOST_LINES:
        return drawing
    hidden = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], f"… {hidden} more lines (adjoin grammar draw)"])
