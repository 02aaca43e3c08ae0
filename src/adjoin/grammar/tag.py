"""Tree-adjoining grammars: labelled trees, the two operations on them, and whole-grammar checks.

This is the pure formalism ``<N, T, S, I, A>``: it receives symbols and trees and knows nothing of
signals or equations. Derivations (``derivation.py``) are built on it.

A tree is kept flat, as its nodes in pre-order with their depths, so that comparing, hashing and
walking a tree of thousands of nodes needs no recursion.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from adjoin.errors import AdjoinError

FOOT = "*"
SITE = "↓"
SEALED = "!"
_MARKS = {FOOT: FOOT, SITE: SITE, "@": SITE, SEALED: SEALED}  # "@" is the typable "↓"

Address = tuple[int, ...]
"""Gorn address of a node: the root is ``()``, the n-th child of ``a`` is ``a + (n,)``, n from 1."""


class Node(NamedTuple):
    """One node: its label, its depth below the root, and its mark.

    The mark is empty, ``*`` for a foot node, ``↓`` for a substitution site, or ``!`` for a node
    where adjunction is forbidden (the null-adjunction constraint of the literature).
    """

    label: str
    depth: int
    mark: str = ""


def format_address(address: Address) -> str:
    """Spell a Gorn address: ``root``, ``2``, ``3.1``."""
    return ".".join(map(str, address)) if address else "root"


@dataclass(frozen=True, repr=False)
class Tree:
    """An ordered labelled tree, as its nodes in pre-order.

    Parameters
    ----------
    nodes : tuple of Node
        Pre-order; the first has depth 0 and each depth is at most one more than the one before.

    Examples
    --------
    >>> tree = Tree.parse("S(NP↓ VP(V(likes) NP↓))")
    >>> str(tree), tree.label_at((2, 1))
    ('S(NP↓ VP(V(likes) NP↓))', 'V')
    """

    nodes: tuple[Node, ...]

    def __post_init__(self) -> None:
        depths = [node.depth for node in self.nodes]
        well_formed = depths[:1] == [0] and all(
            0 < below <= above + 1 for above, below in pairwise(depths)
        )
        if not well_formed:
            raise AdjoinError("a tree needs one root, and no depth may skip a level")

    def __len__(self) -> int:
        return len(self.nodes)

    @property
    def root(self) -> Node:
        """The first node."""
        return self.nodes[0]

    def end(self, index: int) -> int:
        """One past the last node of the subtree that starts at node number `index`."""
        depth = self.nodes[index].depth
        position = index + 1
        while position < len(self.nodes) and self.nodes[position].depth > depth:
            position += 1
        return position

    def children(self, index: int) -> Iterator[int]:
        """Node numbers of the children of node number `index`, left to right."""
        position, last = index + 1, self.end(index)
        while position < last:
            yield position
            position = self.end(position)

    def is_leaf(self, index: int) -> bool:
        """Whether node number `index` has no children."""
        after = index + 1
        return after == len(self.nodes) or self.nodes[after].depth <= self.nodes[index].depth

    @cached_property
    def addresses(self) -> tuple[Address, ...]:
        """The Gorn address of every node, in pre-order."""
        found: list[Address] = []
        path: list[int] = []
        for node in self.nodes:
            is_new_level = node.depth > len(path)
            path = [*path, 1] if is_new_level else path[: node.depth]
            if not is_new_level and path:
                path[-1] += 1
            found.append(tuple(path))
        return tuple(found)

    def index(self, address: Address) -> int:
        """Node number of a Gorn address; `AdjoinError` if the tree has no such node."""
        try:
            return self.addresses.index(tuple(address))
        except ValueError:
            raise AdjoinError(f"there is no node {format_address(address)} in {self}") from None

    def label_at(self, address: Address) -> str:
        """The label of the node at a Gorn address."""
        return self.nodes[self.index(address)].label

    @cached_property
    def foot(self) -> int | None:
        """Node number of the foot, or None for a tree without one."""
        feet = [i for i, node in enumerate(self.nodes) if node.mark == FOOT]
        return feet[0] if feet else None

    @property
    def is_auxiliary(self) -> bool:
        """Whether the tree has a foot node, and so can be adjoined."""
        return self.foot is not None

    @cached_property
    def frontier(self) -> tuple[Node, ...]:
        """The leaves, left to right, with their marks."""
        return tuple(node for i, node in enumerate(self.nodes) if self.is_leaf(i))

    @property
    def words(self) -> tuple[str, ...]:
        """The yield: the labels of the leaves, left to right."""
        return tuple(node.label for node in self.frontier)

    def admits_adjunction(self, index: int) -> bool:
        """Whether an auxiliary tree may adjoin here: inside the tree, not foot, site or sealed."""
        return not self.nodes[index].mark and not self.is_leaf(index)

    def subtree(self, index: int) -> Tree:
        """The subtree below node number `index`, as a tree of its own."""
        shift = self.nodes[index].depth
        part = self.nodes[index : self.end(index)]
        return Tree(tuple(Node(n.label, n.depth - shift, n.mark) for n in part))

    @classmethod
    def parse(cls, text: str) -> Tree:
        """Read the bracket notation ``label(child child …)``.

        A label is any run of characters without spaces, brackets, quotes, ``=`` and ``#``, or
        anything between double quotes; behind it ``*`` marks a foot, ``↓`` or ``@`` a substitution
        site, and ``!`` a node closed to adjunction.
        """
        nodes: list[Node] = []
        depth = 0
        may_open = False
        for kind, label, mark in _tree_tokens(text):
            if kind == "label":
                if depth == 0 and nodes:
                    raise AdjoinError(f"more than one root in the tree '{text.strip()}'")
                nodes.append(Node(label, depth, mark))
            elif kind == "(":
                if not may_open:
                    raise AdjoinError(f"a bracket opens without a label in '{text.strip()}'")
                depth += 1
            else:
                depth -= 1
                if depth < 0 or nodes[-1].depth < depth + 1:
                    raise AdjoinError(f"empty or unmatched brackets in the tree '{text.strip()}'")
            may_open = kind == "label"
        if depth or not nodes:
            raise AdjoinError(f"unbalanced brackets or no node at all in '{text.strip()}'")
        return cls(tuple(nodes))

    def __repr__(self) -> str:
        return f"Tree.parse({str(self)!r})"

    def __str__(self) -> str:
        pieces: list[str] = []
        for i, node in enumerate(self.nodes):
            rise = self.nodes[i - 1].depth - node.depth if i else 0
            if i:
                pieces.append("(" if rise < 0 else ")" * rise + " ")
            pieces.append(quote(node.label) + node.mark)
        return "".join(pieces) + ")" * self.nodes[-1].depth


_TREE_TOKEN = re.compile(
    r'\s*(?:"(?P<quoted>[^"]*)"(?P<mark>[*↓@!]?)|(?P<bare>[^\s()"=#]+)|([()]))'
)


def _tree_tokens(text: str) -> Iterator[tuple[str, str, str]]:
    text = text.rstrip()
    position = 0
    while position < len(text):
        match = _TREE_TOKEN.match(text, position)
        if match is None:
            raise AdjoinError(f"cannot read the tree '{text.strip()}' at '{text[position:]}'")
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


def substitute(host: Tree, address: Address, guest: Tree) -> Tree:
    """Put the initial tree `guest` into the substitution site of `host` at `address`.

    Raises
    ------
    AdjoinError
        If there is no such node, it is not a site, the labels differ, or the guest has a foot.
    """
    index = host.index(address)
    check_substitution(host, index, guest)
    return Tree(_splice(host, index, index + 1, guest.nodes))


def adjoin(host: Tree, address: Address, guest: Tree) -> Tree:
    """Adjoin the auxiliary tree `guest` into `host` at `address`.

    The subtree below the node is cut off, the auxiliary tree takes its place, and the subtree is
    hung back at the foot.

    Raises
    ------
    AdjoinError
        If there is no such node, it is a leaf, foot, site or sealed node, the labels differ, or the
        guest has no foot.
    """
    index = host.index(address)
    check_adjunction(host, index, guest)
    foot = guest.foot
    assert foot is not None
    excised = host.subtree(index)
    filled = _splice(guest, foot, foot + 1, excised.nodes)
    return Tree(_splice(host, index, host.end(index), filled))


def check_substitution(host: Tree, index: int, guest: Tree) -> None:
    """Raise `AdjoinError` unless `guest` may be substituted at node number `index` of `host`."""
    node, where = host.nodes[index], _where(host, index)
    if node.mark != SITE:
        raise AdjoinError(f"{where} is not a substitution site (marked ↓)")
    if guest.is_auxiliary:
        raise AdjoinError(f"{where} takes initial trees, but {guest} has a foot node")
    _check_label(node, guest, where)


def check_adjunction(host: Tree, index: int, guest: Tree) -> None:
    """Raise `AdjoinError` unless `guest` may be adjoined at node number `index` of `host`."""
    node, where = host.nodes[index], _where(host, index)
    if not guest.is_auxiliary:
        raise AdjoinError(f"only auxiliary trees adjoin, and {guest} has no foot node (marked *)")
    if not host.admits_adjunction(index):
        reason = {FOOT: "a foot node", SITE: "a substitution site", SEALED: "closed to adjunction"}
        raise AdjoinError(f"nothing can adjoin at {where}: it is {reason.get(node.mark, 'a leaf')}")
    _check_label(node, guest, where)


def _check_label(node: Node, guest: Tree, where: str) -> None:
    if node.label != guest.root.label:
        raise AdjoinError(f"{where} does not match the root '{guest.root.label}' of {guest}")


def _where(tree: Tree, index: int) -> str:
    return f"node {format_address(tree.addresses[index])} '{tree.nodes[index].label}'"


def _splice(host: Tree, start: int, stop: int, part: tuple[Node, ...]) -> tuple[Node, ...]:
    shift = host.nodes[start].depth
    moved = tuple(Node(n.label, n.depth + shift, n.mark) for n in part)
    return host.nodes[:start] + moved + host.nodes[stop:]


@dataclass(frozen=True)
class TAG:
    """A tree-adjoining grammar ``<N, T, S, I, A>``, checked as a whole when it is made.

    Parameters
    ----------
    nonterminals, terminals : tuple of str
        The disjoint alphabets N and T.
    start : str
        The distinguished symbol S of N.
    trees : mapping of str to Tree
        The elementary trees by name: I, those without a foot node, and A, those with one.
    """

    nonterminals: tuple[str, ...]
    terminals: tuple[str, ...]
    start: str
    trees: Mapping[str, Tree] = field(hash=False)

    def __post_init__(self) -> None:
        # Copies, so that a grammar once checked stays what it was.
        object.__setattr__(self, "nonterminals", tuple(self.nonterminals))
        object.__setattr__(self, "terminals", tuple(self.terminals))
        object.__setattr__(self, "trees", dict(self.trees))
        if found := list(self._problems()):
            shown = "".join(f"\n  - {problem}" for problem in found[:12])
            more = f"\n  - … and {len(found) - 12} more" if len(found) > 12 else ""
            raise AdjoinError(f"this is not a tree-adjoining grammar:{shown}{more}")

    @property
    def initial(self) -> dict[str, Tree]:
        """The initial trees I."""
        return {name: tree for name, tree in self.trees.items() if not tree.is_auxiliary}

    @property
    def auxiliary(self) -> dict[str, Tree]:
        """The auxiliary trees A."""
        return {name: tree for name, tree in self.trees.items() if tree.is_auxiliary}

    def tree(self, name: str) -> Tree:
        """The elementary tree of that name."""
        try:
            return self.trees[name]
        except KeyError:
            known = ", ".join(self.trees)
            raise AdjoinError(f"the grammar has no tree '{name}'; it has {known}") from None

    def _problems(self) -> Iterator[str]:
        """Everything that keeps this from being a usable grammar, each naming tree and node."""
        both = sorted(set(self.nonterminals) & set(self.terminals))
        if both:
            yield f"{_listing(both)} cannot be both terminal and nonterminal"
        for kind, symbols in (("nonterminal", self.nonterminals), ("terminal", self.terminals)):
            for symbol in symbols:
                if '"' in symbol or not (symbol == "" or symbol.isprintable()):
                    yield f"the {kind} {symbol!r} contains a quote or a control character"
            repeated = sorted({s for s in symbols if symbols.count(s) > 1})
            if repeated:
                yield f"the {kind} {_listing(repeated)} is listed more than once"
        if self.start not in self.nonterminals:
            yield f"the start symbol '{self.start}' is not a nonterminal"
        broken = False
        for name, tree in self.trees.items():
            if not re.fullmatch(r'[^\s()"=#]+', name):
                yield f"the tree name '{name}' must have no spaces, brackets, quotes, = or #"
            for problem in self._tree_problems(tree):
                broken = True
                yield f"tree '{name}', {problem}"
        if not broken:
            yield from self._use_problems()

    def _tree_problems(self, tree: Tree) -> Iterator[str]:
        feet = [i for i, node in enumerate(tree.nodes) if node.mark == FOOT]
        for i, node in enumerate(tree.nodes):
            where = _where(tree, i)
            known = "nonterminals" if node.label in self.nonterminals else "terminals"
            if node.label not in self.nonterminals and node.label not in self.terminals:
                yield f"{where}: the label is neither among the nonterminals nor the terminals"
            elif not tree.is_leaf(i):
                if known == "terminals":
                    yield f"{where}: a terminal cannot have children"
                if node.mark in (FOOT, SITE):
                    yield f"{where}: a node marked {node.mark} cannot have children"
            elif known == "terminals" and node.mark:
                yield f"{where}: a terminal cannot be marked {node.mark}"
            elif known == "nonterminals" and node.mark not in (FOOT, SITE):
                yield f"{where}: a nonterminal leaf must be a foot (*) or a site (↓)"
        if len(tree) == 1:
            yield f"{_where(tree, 0)}: an elementary tree needs at least one child"
        if len(feet) > 1:
            yield f"{_where(tree, feet[1])}: a second foot node"
        if feet and tree.nodes[feet[0]].label != tree.root.label:
            yield f"{_where(tree, feet[0])}: the foot must carry the root's label"

    def _use_problems(self) -> Iterator[str]:
        """Trees and sites that no complete derivation from S could ever use."""
        if not any(tree.root.label == self.start for tree in self.initial.values()):
            yield f"no initial tree has the start symbol '{self.start}' as its root"
            return
        completable = self._completable()
        for name, tree in self.trees.items():
            for i, node in enumerate(tree.nodes):
                if node.mark == SITE and node.label not in completable:
                    yield (
                        f"tree '{name}', {_where(tree, i)}: no initial tree with this root can ever"
                        " be completed, so the site stays open"
                    )
        for name in sorted(self.trees.keys() - self._reachable()):
            tree = self.trees[name]
            verb = "adjoin at" if tree.is_auxiliary else "be substituted for"
            yield f"tree '{name}' is never used: it can {verb} no reachable '{tree.root.label}'"

    def _completable(self) -> set[str]:
        """Labels of which some initial tree can have all its sites filled."""
        found: set[str] = set()
        while True:
            more = {
                tree.root.label
                for tree in self.initial.values()
                if all(node.label in found for node in tree.frontier if node.mark == SITE)
            }
            if more <= found:
                return found
            found |= more

    def _reachable(self) -> set[str]:
        """Names of the trees that some derivation from S uses."""
        found = {name for name, tree in self.initial.items() if tree.root.label == self.start}
        while True:
            used = [self.trees[name] for name in found]
            sites = {node.label for tree in used for node in tree.frontier if node.mark == SITE}
            hosts = {
                node.label
                for tree in used
                for i, node in enumerate(tree.nodes)
                if tree.admits_adjunction(i)
            }
            more = {
                name
                for name, tree in self.trees.items()
                if tree.root.label in (hosts if tree.is_auxiliary else sites)
            }
            if more <= found:
                return found
            found |= more


def _listing(symbols: list[str]) -> str:
    return ", ".join(f"'{symbol}'" for symbol in symbols)
