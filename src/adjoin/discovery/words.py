"""A discovery as tables for the terminal, and as the JSON object of the command line.

Receives a `Discovery`; computes nothing but what the equation itself is worth on the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from adjoin.discovery.discovery import Discovery
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.report.findings import describe, fold, print_terms
from adjoin.results.advice import without_steps
from adjoin.results.compared import time_taken
from adjoin.text import counted

_SHADE = {GOOD: "green", CAUTION: "yellow", POOR: "red"}
_SHOWN = 8  # settings in the table


def describe_discovery(found: Discovery) -> dict[str, Any]:
    """The JSON object of ``adjoin discover``: that of ``adjoin fit``, and the candidates.

    Equation, terms and noise are of all data; the scores of ``validation`` are those of the same
    equation fitted without one fold, on that fold. ``held_out`` is what was compared: the error of
    all folds together.
    """
    return describe(found.assessment)


def print_discovery(console: Console, found: Discovery, spell: Callable[[str], str] = str) -> None:
    """Whether it simulates, the equation, what to do next, what was tried, and how sure that is."""
    verdict, model = found.verdict, found.model
    shade = _SHADE[verdict.level]
    console.print(f"[bold]verdict[/bold]    [{shade}]{escape(verdict.summary)}[/{shade}]")
    for reason in verdict.on_model:
        console.print(spell(f"           · {escape(reason)}"))
    console.print("[bold]equation[/bold]   (fitted to all data)")
    for line in fold(model.equation, console.width - 4).split("\n"):
        console.print(f"  {escape(line)}", soft_wrap=False)
    if model.offsets:
        stated = ", ".join(f"{name} from {text}" for name, text in model.printed_offsets.items())
        console.print(f"  [dim]in deviations: {escape(stated)}[/dim]")
    done = without_steps(found.assessment.trusted, verdict)
    for i, step in enumerate(verdict.next or (done,)):
        head = "[bold]next[/bold]       " if i == 0 else "           "
        console.print(spell(f"{head}→ {escape(step)}"))
    _print_candidates(console, found)
    if found.chosen is not None:
        print_terms(console, found.posterior)
        unique = found.assessment.unique
        console.print(f"[bold]unique?[/bold]    {escape(unique.short)}")
        for reason in unique.reasons:
            console.print(spell(f"           · {escape(reason)}"))
    console.print(f"[bold]time[/bold]       {time_taken(found.timing)}")


def _print_candidates(console: Console, found: Discovery) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("held-out free run", justify="right", no_wrap=True)
    table.add_column("terms", justify="right", no_wrap=True)
    table.add_column("what was tried", overflow="fold")
    rows = found.shown
    # Where there is an answer, only paths that were looked at twice have comparable figures.
    twice = [one for one in rows if one.is_checked or one.setting.sampled or found.chosen is None]
    shown = twice[:_SHOWN]
    for one in shown:
        lost = one.n_lost or not math.isfinite(one.nmse)
        error = "runs away" if lost else f"{one.nmse:.3g} ± {one.sd:.2g} %"
        mark = ("[bold]", "[/bold]") if one is found.chosen else ("", "")
        words = one.setting.words + (" (chosen)" if one is found.chosen else "")
        table.add_row(*(f"{mark[0]}{text}{mark[1]}" for text in (error, str(one.n_terms), words)))
    if len(rows) > len(shown):
        more, once = len(rows) - len(shown), len(rows) - len(twice)
        held = f", {'all' if once == more else once} held once only" if once else ""
        table.add_row("", "", f"[dim]{counted(more, 'more setting')}{held}[/dim]")
    console.print(table, soft_wrap=False)
