"""Tree-adjoining grammars: labelled trees, the two operations on them, and whole-grammar checks.

This is the pure formalism ``<N, T, S, I, A>``: it receives symbols and trees and knows nothing of
signals or equations. Derivations (``derivation.py``) are built on it.

A tree is kept flat, as its nodes in pre-order with their depths, so that comparing, hashing and
walking a tree of thousands of nodes needs no recursion. Reading and checking take time and memory
in proportion to the text, however deep its brackets are nested.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from adjoin.errors import AdjoinError
from adjoin.grammar.brackets import quote, read_brackets
from adjoin.text import brief

FOOT = "*"
SITE = "↓"
SEALED = "!"
_SHOWN_LEVELS = 20  # of an address in an error

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
        return self._ends[index]

    @cached_property
    def _ends(self) -> list[int]:
        """`end` of every node, in one pass."""
        found = [len(self.nodes)] * len(self.nodes)
        open_nodes: list[int] = []  # the path from the root to the node before
        for i, node in enumerate(self.nodes):
            while len(open_nodes) > node.depth:
                found[open_nodes.pop()] = i
            open_nodes.append(i)
        return found

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
        """The Gorn address of every node, in pre-order; of a deep tree, far longer than it."""
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
        position, last = 0, len(self.nodes)
        for number in address:
            last = self._ends[position]
            position += 1
            for _ in range(number - 1):
                position = self._ends[position] if position < last else last
            if number < 1 or position >= last:
                where = _short_address(tuple(address))
                raise AdjoinError(f"there is no node {where} in {brief(self)}")
        return position

    def address(self, index: int) -> Address:
        """The Gorn address of node number `index`."""
        found: list[int] = []
        depth, number = self.nodes[index].depth, 1
        for i in range(index - 1, -1, -1):
            above = self.nodes[i].depth
            if above == depth:
                number += 1
            elif above < depth:
                found.append(number)
                depth, number = above, 1
        return tuple(reversed(found))

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
        return cls(tuple(Node(*node) for node in read_brackets(text)))

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
    node, where = host.nodes[index], node_text(host, index)
    if node.mark != SITE:
        raise AdjoinError(f"{where} is not a substitution site (marked ↓)")
    if guest.is_auxiliary:
        raise AdjoinError(f"{where} takes initial trees, but {brief(guest)} has a foot node")
    _check_label(node, guest, where)


def check_adjunction(host: Tree, index: int, guest: Tree) -> None:
    """Raise `AdjoinError` unless `guest` may be adjoined at node number `index` of `host`."""
    node, where = host.nodes[index], node_text(host, index)
    if not guest.is_auxiliary:
        raise AdjoinError(
            f"only auxiliary trees adjoin, and {brief(guest)} has no foot node (marked *)"
        )
    if not host.admits_adjunction(index):
        reason = {FOOT: "a foot node", SITE: "a substitution site", SEALED: "closed to adjunction"}
        raise AdjoinError(f"nothing can adjoin at {where}: it is {reason.get(node.mark, 'a leaf')}")
    _check_label(node, guest, where)


def _check_label(node: Node, guest: Tree, where: str) -> None:
    if node.label != guest.root.label:
        raise AdjoinError(f"{where} does not match the root '{guest.root.label}' of {brief(guest)}")


def node_text(tree: Tree, index: int) -> str:
    """What errors call node number `index`: its address and label."""
    return f"node {_short_address(tree.address(index))} '{tree.nodes[index].label}'"


def _short_address(address: Address) -> str:
    """An address as an error shows it: its beginning and its length, if it is long."""
    if len(address) <= _SHOWN_LEVELS:
        return format_address(address)
    return f"{format_address(address[:_SHOWN_LEVELS])}.… ({len(address)} levels down)"


def _splice(host: Tree, start: int, stop: int, part: tuple[Node, ...]) -> tuple[Node, ...]:
    shift = host.nodes[start].depth
    moved = tuple(Node(n.label, n.depth + shift, n.mark) for n in part)
    return host.nodes[:start] + moved + host.nodes[stop:]


class _Problem(NamedTuple):
    """What keeps a grammar from being one; put into words only if it is shown."""

    reason: str
    name: str = ""
    tree: Tree | None = None
    node: int = 0

    def __str__(self) -> str:
        if self.tree is None:
            return self.reason
        return f"tree '{self.name}', {node_text(self.tree, self.node)}: {self.reason}"


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

    def _problems(self) -> Iterator[_Problem]:
        """Everything that keeps this from being a usable grammar, each naming tree and node."""
        both = sorted(set(self.nonterminals) & set(self.terminals))
        if both:
            yield _Problem(f"{_listing(both)} cannot be both terminal and nonterminal")
        for kind, symbols in (("nonterminal", self.nonterminals), ("terminal", self.terminals)):
            for symbol in symbols:
                if '"' in symbol or not (symbol == "" or symbol.isprintable()):
                    yield _Problem(f"the {kind} {symbol!r} contains a quote or a control character")
            repeated = sorted(symbol for symbol, times in Counter(symbols).items() if times > 1)
            if repeated:
                yield _Problem(f"the {kind} {_listing(repeated)} is listed more than once")
        if self.start not in self.nonterminals:
            yield _Problem(f"the start symbol '{self.start}' is not a nonterminal")
        broken = False
        inner, outer = set(self.nonterminals), set(self.terminals)
        for name, tree in self.trees.items():
            if not re.fullmatch(r'[^\s()"=#]+', name):
                yield _Problem(
                    f"the tree name '{name}' must have no spaces, brackets, quotes, = or #"
                )
            for index, reason in _tree_problems(tree, inner, outer):
                broken = True
                yield _Problem(reason, name, tree, index)
        if not broken:
            yield from self._use_problems()

    def _use_problems(self) -> Iterator[_Problem]:
        """Trees and sites that no complete derivation from S could ever use."""
        if not any(tree.root.label == self.start for tree in self.initial.values()):
            yield _Problem(f"no initial tree has the start symbol '{self.start}' as its root")
            return
        completable = self._completable()
        for name, tree in self.trees.items():
            for i, node in enumerate(tree.nodes):
                if node.mark == SITE and node.label not in completable:
                    reason = (
                        "no initial tree with this root can ever be completed, so the site stays"
                        " open"
                    )
                    yield _Problem(reason, name, tree, i)
        for name in sorted(self.trees.keys() - self._reachable()):
            tree = self.trees[name]
            verb = "adjoin at" if tree.is_auxiliary else "be substituted for"
            yield _Problem(
                f"tree '{name}' is never used: it can {verb} no reachable '{tree.root.label}'"
            )

    def _completable(self) -> set[str]:
        """Labels of which some initial tree can have all its sites filled."""
        open_sites = {name: _sites(tree) for name, tree in self.initial.items()}
        waiting: defaultdict[str, list[str]] = defaultdict(list)  # trees by a label they wait for
        for name, labels in open_sites.items():
            for label in labels:
                waiting[label].append(name)
        fresh = [self.trees[name].root.label for name, labels in open_sites.items() if not labels]
        found: set[str] = set()
        while fresh:
            if (label := fresh.pop()) in found:
                continue
            found.add(label)
            for name in waiting[label]:
                open_sites[name].discard(label)
                if not open_sites[name]:
                    fresh.append(self.trees[name].root.label)
        return found

    def _reachable(self) -> set[str]:
        """Names of the trees that some derivation from S uses."""
        by_root: defaultdict[tuple[str, bool], list[str]] = defaultdict(list)
        for name, tree in self.trees.items():
            by_root[tree.root.label, tree.is_auxiliary].append(name)
        fresh = by_root.pop((self.start, False), [])
        found: set[str] = set()
        while fresh:
            name = fresh.pop()
            found.add(name)
            tree = self.trees[name]
            hosts = {n.label for i, n in enumerate(tree.nodes) if tree.admits_adjunction(i)}
            for label, is_auxiliary in (
                *((label, False) for label in _sites(tree)),
                *((label, True) for label in hosts),
            ):
                fresh += by_root.pop((label, is_auxiliary), [])  # each is reached once
        return found


def _tree_problems(tree: Tree, inner: set[str], outer: set[str]) -> Iterator[tuple[int, str]]:
    """What is wrong with one tree over the nonterminals `inner` and terminals `outer`, by node."""
    feet = [i for i, node in enumerate(tree.nodes) if node.mark == FOOT]
    for i, node in enumerate(tree.nodes):
        is_terminal = node.label not in inner
        if is_terminal and node.label not in outer:
            yield i, "the label is neither among the nonterminals nor the terminals"
        elif not tree.is_leaf(i):
            if is_terminal:
                yield i, "a terminal cannot have children"
            if node.mark in (FOOT, SITE):
                yield i, f"a node marked {node.mark} cannot have children"
        elif is_terminal and node.mark:
            yield i, f"a terminal cannot be marked {node.mark}"
        elif not is_terminal and node.mark not in (FOOT, SITE):
            yield i, "a nonterminal leaf must be a foot (*) or a site (↓)"
    if len(tree) == 1:
        yield 0, "an elementary tree needs at least one child"
    if len(feet) > 1:
        yield feet[1], "a second foot node"
    if feet and tree.nodes[feet[0]].label != tree.root.label:
        yield feet[0], "the foot must carry the root's label"


def _sites(tree: Tree) -> set[str]:
    """The labels of a tree's substitution sites."""
    return {node.label for node in tree.frontier if node.mark == SITE}


def _listing(symbols: list[str]) -> str:
    return ", ".join(f"'{symbol}'" for symbol in symbols)
