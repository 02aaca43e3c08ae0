"""The page of a case study: tables with the paper's figures beside ours, pictures, plain words.

Receives sections of sheets and pictures; gives one self-contained HTML page in the look of the
report page. All text passes the template's escaping.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from markupsafe import Markup
from matplotlib.figure import Figure

from adjoin.report.page import Picture, _both, _environment
from adjoin.report.sheet import Sheet
from adjoin.report.style import PAPER, THEMES, WIDE
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
    environment = _environment()
    assert environment.loader is not None
    # The report page has the style sheet; one look is written once.
    source, _, _ = environment.loader.get_source(environment, "page.html.jinja")
    style = source.partition("<style>")[2].partition("</style>")[0]
    return environment.get_template("case.html.jinja").render(
        page=page,
        style=Markup(environment.from_string(style).render(themes=THEMES)),
        pictures={
            drawing.name: _both(drawing.name, drawing.title, drawing.draw)
            for section in page.sections
            for drawing in section.drawings
        },
        version=__version__,
    )


def to_png(drawing: Drawing) -> bytes:
    """A picture for a paper or a slide."""
    drawn = drawing.draw(WIDE)
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    # No date and no version: the same run gives the same file.
    figure.savefig(buffer, format="png", dpi=_DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
