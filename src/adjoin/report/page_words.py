"""How a page says things: answers in one word first, commands set apart, names that can break.

Receives texts of a run; gives the templates texts and markup. All text passes escaping.
"""

from __future__ import annotations

import re
from pathlib import Path

from markupsafe import Markup, escape

from adjoin.levels import LEVEL_WORDS
from adjoin.text import halves

LONG_TERM = 44
"""Characters, beyond which a term is set as text that can break."""
LONG_NAME = 20
"""Characters, beyond which a signal is no symbol of a formula."""
_HEAD = 4096  # bytes of a page, which hold its mark
_LONG_EQUATION = 420  # characters: about what a first screen has room for
_HALF_LINE, _LINE = 40, 70  # characters: a term of more than half a line has one for itself

_VALUE = r"'[^']*'|\"[^\"]*\"|[\d.]+[\w.]*|[A-Z][A-Z.]+\b|\w*[./]\w[\w./]*"
_NAMED = r"--(?:objective|noise|effort|functions|hold-out|prior|method)[ =]\w+"
_OPTION = rf"(?<![\w-])(?:{_NAMED}|--[a-z][a-z-]+(?:[ =](?:{_VALUE}))?)"
# A whole command ends with its sentence or bracket; options and arguments of Python stand alone.
_COMMAND = re.compile(
    r"`(?P<quoted>[^`]+)`"
    r"|\badjoin (?:check|compare|demo|discover|fit|grammar|report|simulate)\b"
    r"(?:(?! \(|[;)]|, (?!-)|: |\. |\.$).)*"
    r"|\badjoin\.[A-Za-z_.]+(?:\([^()]*(?:\([^()]*\)[^()]*)*\))?"
    rf"|{_OPTION}(?: {_OPTION})*"
    r"|\b[a-z]\w*=(?:'[^']*'|\"[^\"]*\"|\([^()]*\)|[\w.-]*\w(?:\([^()]*\))?)"
    r"|\b[A-Z]\w+\([^()]*=[^()]*\)"
)
_LAG = re.compile(r"(\(k-\d+\)[\^\d]*[*,;]?)")
_BREAKS = re.compile(r"(?<=[_*+)])(?=\w)")


def mark_of_run(source: str) -> Markup:
    """The line in the head of a page that says which run it is of."""
    return Markup('<meta name="adjoin-run" content="{}">').format(source)


def is_page_of(page: Path, source: str) -> bool:
    """Whether a file is a page about that run, which may be made again."""
    try:
        with page.open("rb") as file:
            return str(mark_of_run(source)).encode() in file.read(_HEAD)
    except OSError:
        return False


def without_level(level: str, short: str) -> str:
    """The words of an answer, without those that its badge has said already."""
    said = LEVEL_WORDS[level]
    if short.lower().startswith(said.lower()):
        short = short[len(said) :].lstrip(" :,–-")
    return short[:1].upper() + short[1:]


def with_code(step: str) -> Markup:
    """A piece of advice as a sentence, its commands and options as code."""
    words, whole = halves(step)
    if whole:
        return Markup("{}{} <code>{}</code>").format(words[:1].upper(), words[1:].rstrip(), whole)
    pieces, end = [], 0
    for found in _COMMAND.finditer(step):
        pieces.append(escape(step[end : found.start()]))
        command = found["quoted"] or found[0].rstrip()
        pieces.append(Markup("<code>{}</code>").format(command))
        end = found.end() - (0 if found["quoted"] else len(found[0]) - len(command))
    pieces.append(escape(step[end:]))
    whole = Markup("").join(pieces)
    return whole if whole.startswith("<") else Markup(whole[:1].upper() + whole[1:])


def breakable(text: object) -> Markup:
    """A text whose lines may break after ``_``, ``*``, ``+`` and ``)``, but not within a lag."""
    pieces: list[Markup] = []
    for i, part in enumerate(_LAG.split(str(text))):
        if i % 2:
            pieces.append(Markup('<span class="lag">{}</span><wbr>').format(part))
        else:
            pieces.append(Markup("<wbr>").join(map(escape, _BREAKS.split(part))))
    return Markup("").join(pieces)


def n_on_first_screen(pieces: list[str]) -> int:
    """How many terms of an equation are shown before the rest is folded away."""
    length = 0
    for n, piece in enumerate(pieces):
        length += len(piece) + 3 if len(piece) <= _HALF_LINE else max(len(piece) + 3, _LINE)
        if length > _LONG_EQUATION and n:
            return n if len(pieces) - n > 1 else len(pieces)
    return len(pieces)
