"""Small tables of HTML, as notebooks show objects: self-contained, every text escaped.

Receives texts from the objects that a user holds; gives them markup for their ``_repr_html_``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_NOTE = '<p style="margin: 0.2em 0; opacity: 0.75">{}</p>'
_LEFT = ' style="text-align: left"'


def html_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; a row may be shorter than the head. Texts are escaped, and flush left."""
    head = "".join(f"<th{_LEFT}>{escape(text)}</th>" for text in heads)
    body = "".join(
        f"<tr>{''.join(f'<td{_LEFT}>{escape(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def html_notes(notes: Iterable[str]) -> str:
    """Lines below a table, one paragraph each."""
    return "".join(_NOTE.format(escape(note)) for note in notes)


def html_heading(title: str, text: str = "") -> str:
    """What an object is, and a few words about it."""
    rest = f" {escape(text)}" if text else ""
    return f'<p style="margin: 0.2em 0"><b>{escape(title)}</b>{rest}</p>'
