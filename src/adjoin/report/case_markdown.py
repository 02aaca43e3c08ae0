"""The page of a case study as Markdown, for repositories and notes.

Receives the same `CasePage` as the HTML page; pictures are links to the files written beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjoin.report.case_parts import CasePage, Section
from adjoin.report.sheet import Sheet

_MARKS = {"good": "✔", "caution": "▲", "poor": "✘"}


def make_case_markdown(page: CasePage) -> str:
    """The whole page."""
    return "\n\n".join(_parts(page)) + "\n"


def _parts(page: CasePage) -> Iterator[str]:
    yield f"# {_plain(page.title)}"
    yield _plain(page.lead)
    yield from (f"> {_plain(text)}" for text in page.warnings)
    yield "## In short"
    yield "\n".join(
        f"- {_MARKS[finding.level]} **{_plain(finding.short)}**"
        + (f"<br>{_plain(finding.reason)}" if finding.reason else "")
        for finding in page.findings
    )
    for section in page.sections:
        yield from _section(section)
    yield "## How to reproduce"
    yield (
        "The same seed gives the same figures, bit for bit, on any number of cores; only the times"
        " differ."
    )
    yield f"```console\n$ {page.command}\n```"


def _section(section: Section) -> Iterator[str]:
    yield f"## {_plain(section.title)}"
    yield from map(_plain, section.words)
    for sheet in section.sheets:
        if sheet.title != section.title:
            yield f"### {_plain(sheet.title)}"
        if sheet.note:
            yield _plain(sheet.note)
        if sheet.is_long:
            summary = f"<details><summary>{len(sheet.rows)} rows</summary>"
            yield f"{summary}\n\n{_table(sheet)}\n\n</details>"
        else:
            yield _table(sheet)
    for drawing in section.drawings:
        yield f"### {_plain(drawing.title)}"
        yield f"![{_plain(drawing.title)}]({drawing.name}.png)"


def _table(sheet: Sheet) -> str:
    """A table; Markdown has no groups of columns, so that each title carries its own."""
    heads = [f"{column.group}: {column.title}".removeprefix(": ") for column in sheet.columns]
    rules = ["---" if column.is_text else "---:" for column in sheet.columns]
    rows = [[_plain(cell) for cell in row] for row in (heads, *sheet.rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rules, *rows[1:]))


def _plain(text: str) -> str:
    r"""A text that Markdown shows as it is: ``u(k)*y(k-1)`` must not be set in italics."""
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", text)
