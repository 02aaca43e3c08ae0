"""The page of a case study: tables with the paper's figures beside ours, pictures, plain words.

Receives sections of sheets and pictures; gives one self-contained HTML page in the look of the
report page. All text passes the template's escaping.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adjoin.report.colours import PAPER, THEMES
from adjoin.report.page import _environment
from adjoin.report.pictures import Picture, draw_both, figure_of, without_collecting
from adjoin.report.sheet import Sheet
from adjoin.report.style import WIDE
from adjoin.version import __version__

_DPI = 150


class Card(NamedTuple):
    """A figure that is seen first: what it is, its value, and a note."""

    name: str
    value: str
    note: str = ""


class Finding(NamedTuple):
    """A level (`good`, `caution` or `poor`), what was found in a few words, and why."""

    level: str
    short: str
    reason: str = ""


class Drawing(NamedTuple):
    """A picture: the name of its file, what it shows, and how it is drawn at some width."""

    name: str
    title: str
    draw: Picture


@dataclass(frozen=True)
class Section:
    """A part of the page: its heading, words, and what is shown, tables first."""

    name: str
    title: str
    words: Sequence[str] = ()
    sheets: Sequence[Sheet] = ()
    drawings: Sequence[Drawing] = ()


@dataclass(frozen=True)
class CasePage:
    """All that the page shows.

    Parameters
    ----------
    title, lead : str
        At its head.
    warnings : sequence of str
        What must not be overlooked: a shortened run, synthetic data.
    cards : sequence of Card
    findings : sequence of Finding
        What is reproduced, and what differs.
    sections : sequence of Section
    command : str
        That makes the page again.
    """

    title: str
    lead: str
    warnings: Sequence[str]
    cards: Sequence[Card]
    findings: Sequence[Finding]
    sections: Sequence[Section]
    command: str


def make_case_page(page: CasePage) -> str:
    """The whole page."""
    with without_collecting():
        pictures = {
            drawing.name: draw_both(drawing.name, drawing.title, drawing.draw)
            for section in page.sections
            for drawing in section.drawings
        }
    return (
        _environment()
        .get_template("case.html.jinja")
        .render(page=page, title=page.title, themes=THEMES, pictures=pictures, version=__version__)
    )


def to_png(drawing: Drawing) -> bytes:
    """A picture for a paper or a slide."""
    figure = figure_of(drawing.draw(WIDE))
    buffer = io.BytesIO()
    # No date and no version: the same run gives the same file.
    figure.savefig(buffer, format="png", dpi=_DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
