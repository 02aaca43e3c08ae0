"""Tables for the terminal, and the same facts as plain dictionaries for ``--json``.

Receives grammars and equations; each ``describe_*`` gives a dictionary, each ``print_*`` shows one.
"""

from __future__ import annotations

from typing import Any

from rich import box
from rich.columns import Columns
from rich.console import Console
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from adjoin.errors import AdjoinError
from adjoin.grammar import Alphabet, Atom, Grammar
from adjoin.grammar.equation import term_text
from adjoin.grammar.parser import read_equation
from adjoin.grammar.render import derivation_text, tree_text

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
        "constant": alphabet.constant is not None,
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
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("tree", style="bold", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    if roles:
        table.add_column("what it does", overflow="fold")
    table.add_column("nodes", overflow="fold")
    for name, tree in {**tag.initial, **tag.auxiliary}.items():
        kind = "auxiliary" if tree.is_auxiliary else "initial"
        role = [escape(roles.get(name, ""))] if roles else []
        table.add_row(escape(name), kind, *role, escape(str(tree)))
    console.print(table, soft_wrap=False)
    if draw_trees:
        console.print(
            Columns(
                Panel(escape(tree_text(tree)), title=escape(name), expand=False)
                for name, tree in tag.trees.items()
            )
        )
    print_alphabet(console, grammar)


def print_alphabet(console: Console, grammar: Grammar) -> None:
    """Say what the samplers can make of a grammar."""
    facts = _describe_alphabet(grammar)
    if not facts["usable"]:
        console.print(f"[yellow]not for the samplers:[/yellow] {escape(facts['reason'])}")
        return
    console.print(
        f"alphabet: {escape(_spans(facts))}; up to {facts['max_degree']} factors in a term"
    )
    console.print(f"in all [bold]{facts['n_terms']:,}[/bold] different terms")
    if facts["fixed"]:
        console.print(f"fixed in every model: {escape(' + '.join(facts['fixed']))}")


def _spans(facts: dict[str, Any]) -> str:
    """What a described alphabet has: ``u(k) … u(k-10), y(k-1) … y(k-10), a constant``."""
    spans = []
    for choice in facts["alphabet"]:
        ends = dict.fromkeys((choice["min_lag"], choice["max_lag"]))
        atoms = [term_text((Atom(choice["signal"], lag, choice["function"]),)) for lag in ends]
        spans.append(" … ".join(atoms))
    return ", ".join([*spans, *["a constant"] * facts["constant"]])


def _roles(grammar: Grammar) -> dict[str, str]:
    """What each elementary tree of a usable grammar is for, in words."""
    try:
        alphabet: Alphabet = grammar.alphabet
    except AdjoinError:
        return {}
    fixed = f"{alphabet.fixed} + " if alphabet.fixed else ""
    roles = {alphabet.initial: f"{alphabet.names.output}(k) = {fixed}{alphabet.names.noise}(k)"}
    for choice in alphabet.choices:
        atom = term_text((Atom(choice.signal, choice.min_lag, choice.function),))
        roles[choice.term.tree] = f"adds a term that starts with {atom}"
        if choice.factor:
            roles[choice.factor.tree] = f"multiplies a term by {atom}"
        if choice.term.delay_tree:
            roles[choice.term.delay_tree] = "delays an atom by one sample"
    if alphabet.constant is not None:
        roles[alphabet.constant] = "adds a constant"
    return roles


def print_check(console: Console, facts: dict[str, Any], file: str) -> None:
    """Say that a grammar file is right, and whether the samplers can use it."""
    console.print(
        f"[green]✓[/green] {escape(file)} is a tree-adjoining grammar:"
        f" {len(facts['initial'])} initial and {len(facts['auxiliary'])} auxiliary trees"
    )
    samplers = facts["samplers"]
    if samplers["usable"]:
        console.print(f"[green]✓[/green] the samplers can use it: {escape(_spans(samplers))}")
        console.print(f"  {samplers['n_terms']:,} different terms")
    else:
        console.print(f"[yellow]–[/yellow] not for the samplers: {escape(samplers['reason'])}")


def describe_equation(
    text: str, grammar: Grammar | None = None, inputs: str | None = None
) -> dict[str, Any]:
    """An equation in canonical form, with its trees in `grammar` (default: the smallest).

    Where the grammar does not derive it, ``trees`` is null and ``no_trees`` says why.
    """
    equation = read_equation(text, inputs=inputs)
    structure, names = equation.structure, equation.structure.names
    facts: dict[str, Any] = {
        "equation": str(equation),
        "structure": str(structure),
        "terms": [
            {
                "term": term_text(term),
                "coefficient": None if any(p.constants for p in parts) else parts[0].value,
                "degree": len(term),
            }
            for term, parts in zip(structure, equation.coefficients, strict=True)
        ],
        "inputs": list(names.inputs),
        "output": names.output,
        "constants": list(equation.constants),
        "max_lag": structure.max_lag,
        "max_degree": structure.max_degree,
        "latex": equation.latex(),
        "trees": None,
        "no_trees": None,
    }
    try:
        derived = (grammar or Grammar.smallest(structure)).derive(structure)
    except AdjoinError as error:
        return {**facts, "no_trees": str(error)}
    facts["trees"] = {
        "yield": derived.sentence,
        "derived_tree": str(derived.tree),
        "derivation": [step._asdict() for step in derived.derivation.steps],
        "drawings": {
            "derivation": derivation_text(derived.derivation),
            "derived tree": tree_text(derived.tree),
        },
    }
    return facts


def print_equation(console: Console, facts: dict[str, Any]) -> None:
    """Show an equation in canonical form and its trees."""
    n_terms = len(facts["terms"])
    rows = {
        "equation": facts["equation"],
        "structure": facts["structure"],
        "signals": f"inputs {', '.join(facts['inputs']) or '(none)'}; output {facts['output']}",
        "size": f"{n_terms} term{'' if n_terms == 1 else 's'}, degree up to {facts['max_degree']},"
        f" lag up to {facts['max_lag']}",
        "LaTeX": facts["latex"],
    }
    if facts["constants"]:
        rows["constants"] = f"{', '.join(facts['constants'])} (no value given)"
    if facts["trees"]:
        rows["yield"] = facts["trees"]["yield"]
    else:
        rows["no trees"] = facts["no_trees"]
    for name, value in rows.items():
        console.print(f"[bold]{name:11}[/bold]{escape(value)}")
    if facts["trees"]:
        _print_drawings(console, facts, ("derivation", "derived tree"))


def print_derivation(console: Console, facts: dict[str, Any]) -> None:
    """Show the yield and the derivation of a described equation."""
    if not facts["trees"]:
        console.print(escape(facts["no_trees"]))
        return
    console.print(f"[bold]{'yield':11}[/bold]{escape(facts['trees']['yield'])}")
    _print_drawings(console, facts, ("derivation",))


def _print_drawings(console: Console, facts: dict[str, Any], titles: tuple[str, ...]) -> None:
    drawings = facts["trees"]["drawings"]
    console.print(
        Columns(
            Panel(escape(_clip(drawings[title])), title=title, expand=False) for title in titles
        )
    )


def _clip(drawing: str) -> str:
    lines = drawing.split("\n")
    if len(lines) <= _MOST_LINES:
        return drawing
    hidden = len(lines) - _MOST_LINES
    return "\n".join([*lines[:_MOST_LINES], f"… {hidden} more lines (adjoin grammar draw)"])
