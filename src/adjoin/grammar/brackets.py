"""The bracket notation of trees, ``label(child child …)``: reading labels, and spelling them.

Receives text; gives the nodes of a tree in pre-order to ``tag``. Plain tokenising in one pass, so
that depth costs nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from adjoin.errors import AdjoinError
from adjoin.text import brief

_MARKS = {"*": "*", "↓": "↓", "@": "↓", "!": "!"}  # "@" is the typable "↓"
_TOKEN = re.compile(r'\s*(?:"(?P<quoted>[^"]*)"(?P<mark>[*↓@!]?)|(?P<bare>[^\s()"=#]+)|([()]))')


def read_brackets(text: str) -> list[tuple[str, int, str]]:
    """Label, depth and mark of every node in pre-order.

    Raises
    ------
    AdjoinError
        If the brackets do not match, or there is not one root.
    """
    nodes: list[tuple[str, int, str]] = []
    depth = 0
    may_open = False
    for kind, label, mark in _tokens(text):
        if kind == "label":
            if depth == 0 and nodes:
                raise AdjoinError(f"more than one root in the tree '{brief(text)}'")
            nodes.append((label, depth, mark))
        elif kind == "(":
            if not may_open:
                raise AdjoinError(f"a bracket opens without a label in '{brief(text)}'")
            depth += 1
        else:
            depth -= 1
            if depth < 0 or nodes[-1][1] < depth + 1:
                raise AdjoinError(f"empty or unmatched brackets in the tree '{brief(text)}'")
        may_open = kind == "label"
    if depth or not nodes:
        raise AdjoinError(f"unbalanced brackets or no node at all in '{brief(text)}'")
    return nodes


def _tokens(text: str) -> Iterator[tuple[str, str, str]]:
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            rest = brief(text[position:])
            raise AdjoinError(f"cannot read the tree '{brief(text)}' at '{rest}'")
        position = match.end()
        if match["quoted"] is not None:
            yield "label", match["quoted"], _MARKS.get(match["mark"], "")
        elif match["bare"] is not None:
            bare = match["bare"]
            # A lone "*" or "!" is a label; only behind one is it a mark.
            mark = _MARKS.get(bare[-1], "") if len(bare) > 1 else ""
            yield "label", bare[:-1] if mark else bare, mark
        else:
            yield match[4], "", ""


def quote(label: str) -> str:
    """Spell a label so that the bracket notation reads it back."""
    bare = re.fullmatch(r'[^\s()"=#]+', label) and (len(label) == 1 or label[-1] not in _MARKS)
    return label if bare else f'"{label}"'
