"""Tables of texts, for the terminal and for a page alike; figures of others stand beside ours.

Receives cells that are texts already; `print_sheet` shows them, and `case_page` puts them on a
page.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Table

NOTHING = "–"
_NARROWEST = 12  # characters for the first column
_LONG = 40  # rows


@dataclass(frozen=True)
class Column:
    """The head of a column.

    Parameters
    ----------
    title : str
    group : str
        Stands above the titles of neighbours that share it.
    is_text : bool
        Set flush left.
    is_theirs : bool
        Holds figures of others, set apart.
    """

    title: str
    group: str = ""
    is_text: bool = False
    is_theirs: bool = False


@dataclass(frozen=True)
class Sheet:
    """A table of texts.

    Parameters
    ----------
    title : str
    note : str
        What the figures are.
    columns : sequence of Column
    rows : sequence of sequence of str
    """

    title: str
    note: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[str]]

    @property
    def is_long(self) -> bool:
        """Whether it is more than one looks at."""
        return len(self.rows) > _LONG

    @property
    def groups(self) -> list[tuple[str, int]]:
        """The groups with the number of their columns; none if no column has one."""
        found = [(name, len(list(part))) for name, part in groupby(c.group for c in self.columns)]
        return found if any(name for name, _ in found) else []


def number(value: float | None, places: int) -> str:
    """A number with so many decimals; a dash where there is none."""
    if value is None or math.isnan(value):
        return NOTHING
    return f"{value:.{places}f}".replace("-", "−")


def print_sheet(console: Console, sheet: Sheet) -> None:
    """Show a table; a number is never cut: on a narrow terminal the first column is folded."""
    console.print(f"[bold]{escape(sheet.title)}[/bold]")
    if sheet.note:
        console.print(f"[dim]{escape(sheet.note)}[/dim]", soft_wrap=False)
    heads = [f"{column.group}\n{column.title}".strip("\n") for column in sheet.columns]
    if sheet.groups:
        heads = [head if "\n" in head else f"\n{head}" for head in heads]
        for i, column in enumerate(sheet.columns[1:], start=1):
            if column.group and column.group == sheet.columns[i - 1].group:
                heads[i] = f"\n{column.title}"
    widths = [
        max(cell_len(line) for line in [*head.split("\n"), *(row[i] for row in sheet.rows)])
        for i, head in enumerate(heads)
    ]
    frame = 2 * len(widths) + 2
    widths[0] = min(widths[0], max(_NARROWEST, console.width - sum(widths[1:]) - frame))
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for column, head, width in zip(sheet.columns, heads, widths, strict=True):
        table.add_column(
            escape(head),
            justify="left" if column.is_text else "right",
            style="dim" if column.is_theirs else "",
            header_style="dim" if column.is_theirs else "bold",
            overflow="fold",
            width=width,
        )
    for row in sheet.rows:
        table.add_row(*map(escape, row))
    before, console.width = console.width, max(console.width, sum(widths) + frame)
    console.print(table, soft_wrap=False)
    console.width = before
