"""What the page of a case study is made of; plain values, which load no plotting library.

Receives figures, tables and words from the cases; `case_page` and `case_markdown` show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from adjoin.report.sheet import Sheet

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Drawn: TypeAlias = "Axes | Figure"
"""What drawing gives; a text, so that matplotlib is not imported for it."""


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
    draw: Callable[[float], Drawn]


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
