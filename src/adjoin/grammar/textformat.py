"""The small text format of grammars: one keyword or one tree a line.

    # polynomial NARX models of one input
    start        expr0
    inputs       u
    output       y
    max_lag      10
    max_degree   4
    tree η1 = expr0(ε)
    tree α1 = expr0(par(θ) op(×) expr1(expr2(u)) op(+) expr0*)

Receives text, gives the entries of a `Grammar`, and back. Reading is plain tokenising: no ``eval``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.brackets import quote
from adjoin.grammar.tag import FOOT, SITE, TAG, Node, Tree
from adjoin.grammar.yields import DELAY, NOISE, PARAMETER, TIMES
from adjoin.text import brief

DEFAULT_MAX_LAG = 10
DEFAULT_MAX_DEGREE = 4

# What one can type for a symbol that is not on the keyboard.
SPELLINGS = {"theta": PARAMETER, "times": TIMES, "q^-1": DELAY, "eps": NOISE}
_LISTS = ("nonterminals", "terminals", "inputs")
_SINGLES = ("name", "start", "output", "noise", "max_lag", "max_degree")
_WORD = re.compile(r'\s*(?:"([^"]*)"|([^\s()"=#]+))')


class GrammarEntries(NamedTuple):
    """What a grammar file says: the arguments of a `Grammar`, in its order."""

    tag: TAG
    names: SignalNames | None
    max_lag: int
    max_degree: int
    name: str


def read_grammar(text: str, source: str = "grammar") -> GrammarEntries:
    """Read a grammar; errors name the line, and the tree and node where they can.

    Parameters
    ----------
    text : str
        The text. A statement may go on over indented lines; ``#`` starts a comment.
    source : str
        What to call the text in errors, such as the file's name.
    """
    lists: dict[str, list[str]] = {}
    singles: dict[str, str] = {}
    trees: dict[str, Tree] = {}
    for number, statement in _statements(text, source):
        keyword, *rest = statement.split(maxsplit=1)
        try:
            _read_statement(keyword, "".join(rest), lists, singles, trees)
        except AdjoinError as error:
            raise AdjoinError(f"{source}, line {number}: {error}") from None
    try:
        return _assemble(lists, singles, trees)
    except AdjoinError as error:
        raise AdjoinError(f"{source}: {error}") from None


def _statements(text: str, source: str) -> Iterator[tuple[int, str]]:
    """Each statement with the number of its first line, comments and line ends taken out."""
    number = 0
    statement: list[str] = []
    for i, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        bare = re.sub(r'("[^"]*")|#.*', lambda m: m[1] or "", line).rstrip()
        if not bare:
            continue
        if bare[0].isspace():
            if not statement:
                raise AdjoinError(f"{source}, line {i}: an indented line continues nothing")
            statement.append(bare.strip())
            continue
        if statement:
            yield number, " ".join(statement)
        number, statement = i, [bare]
    if statement:
        yield number, " ".join(statement)


def _read_statement(
    keyword: str,
    rest: str,
    lists: dict[str, list[str]],
    singles: dict[str, str],
    trees: dict[str, Tree],
) -> None:
    if keyword == "tree":
        name, equals, brackets = rest.partition("=")
        name = name.strip().strip('"')
        if not equals or not name:
            raise AdjoinError("a tree is written 'tree NAME = label(child child ...)'")
        if name in trees:
            raise AdjoinError(f"the tree '{name}' is written a second time")
        try:
            trees[name] = Tree.parse(brackets)
        except AdjoinError as error:
            raise AdjoinError(f"tree '{name}': {error}") from None
    elif keyword in lists or keyword in singles:
        raise AdjoinError(f"'{keyword}' is written a second time")
    elif keyword in _LISTS:
        # Commas between inputs are as good as blanks; among other symbols a comma may be a word.
        lists[keyword] = _words(rest.replace(",", " ") if keyword == "inputs" else rest)
    elif keyword in _SINGLES:
        words = _words(rest)
        if len(words) != 1:
            raise AdjoinError(f"'{keyword}' takes one value, not {len(words)}")
        singles[keyword] = words[0]
    else:
        known = ("tree", *_LISTS, *_SINGLES)
        close = get_close_matches(keyword.lower().rstrip(":="), known, n=1)
        hint = f"did you mean '{close[0]}'?" if close else f"lines begin with {', '.join(known)}"
        raise AdjoinError(f"unknown keyword '{brief(keyword)}'; {hint}")


def _words(text: str) -> list[str]:
    words, position = [], 0
    while position < len(text):
        match = _WORD.match(text, position)
        if match is None:
            raise AdjoinError(f"cannot read '{brief(text[position:])}'; separate words by blanks")
        words.append(match[1] if match[1] is not None else match[2])
        position = match.end()
    return words


def _assemble(
    lists: Mapping[str, list[str]], singles: Mapping[str, str], trees: dict[str, Tree]
) -> GrammarEntries:
    names = None
    if "output" in singles:
        names = SignalNames(
            tuple(lists.get("inputs", ())), singles["output"], singles.get("noise", "e")
        )
    elif "inputs" in lists or {"noise", "max_lag", "max_degree"} & singles.keys():
        raise AdjoinError("inputs, noise and bounds need an output; add a line 'output y'")
    if "start" not in singles:
        raise AdjoinError("the start symbol is missing; add a line 'start SYMBOL'")
    if not trees:
        raise AdjoinError("there are no trees; add lines 'tree NAME = label(child ...)'")
    if names is not None:
        spelling = {k: v for k, v in SPELLINGS.items() if k not in names.ordered}
        spelling[names.noise] = NOISE
        trees = {name: _respell(tree, spelling) for name, tree in trees.items()}
        lists = {key: [spelling.get(w, w) for w in words] for key, words in lists.items()}
    inner, outer = _symbols(trees, singles["start"])
    tag = TAG(
        tuple(lists.get("nonterminals", inner)),
        tuple(lists.get("terminals", outer)),
        singles["start"],
        trees,
    )
    return GrammarEntries(
        tag,
        names,
        _whole(singles, "max_lag", DEFAULT_MAX_LAG, smallest=0),
        _whole(singles, "max_degree", DEFAULT_MAX_DEGREE, smallest=1),
        singles.get("name", "grammar"),
    )


def _respell(tree: Tree, spelling: Mapping[str, str]) -> Tree:
    return Tree(tuple(Node(spelling.get(n.label, n.label), n.depth, n.mark) for n in tree.nodes))


def _symbols(trees: Mapping[str, Tree], start: str) -> tuple[list[str], list[str]]:
    """Nonterminals and terminals as the trees use them, for a file that does not list them."""
    inner: dict[str, None] = {start: None}
    outer: dict[str, None] = {}
    for tree in trees.values():
        for i, node in enumerate(tree.nodes):
            is_word = tree.is_leaf(i) and node.mark not in (FOOT, SITE)
            (outer if is_word else inner)[node.label] = None
    return list(inner), list(outer)


def _whole(singles: Mapping[str, str], key: str, default: int, smallest: int) -> int:
    text = singles.get(key, str(default))
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) < smallest:
        raise AdjoinError(f"{key} must be a whole number of at least {smallest}, not '{text}'")
    return int(text)


def write_grammar(entries: GrammarEntries) -> str:
    """Write a grammar so that `read_grammar` gives back the same."""
    tag, names = entries.tag, entries.names
    lines = [
        f"name         {quote(entries.name)}",
        f"start        {quote(tag.start)}",
        f"nonterminals {' '.join(map(quote, tag.nonterminals))}",
        f"terminals    {' '.join(map(quote, tag.terminals))}",
    ]
    if names is not None:
        if names.inputs:
            lines.append(f"inputs       {' '.join(names.inputs)}")
        lines.append(f"output       {names.output}")
        lines.append(f"noise        {names.noise}")
        lines.append(f"max_lag      {entries.max_lag}")
        lines.append(f"max_degree   {entries.max_degree}")
    trees = [f"tree {name} = {tree}" for name, tree in tag.trees.items()]
    return "\n".join([*lines, "", *trees]) + "\n"
