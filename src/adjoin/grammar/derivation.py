"""Derivations: which elementary tree went where, and the tree that results.

Receives a `TAG`; gives derivation trees and derived trees, both first class. A derived tree keeps
its derivation, so every node can say which elementary tree it came from.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from adjoin.errors import AdjoinError
from adjoin.grammar.tag import (
    FOOT,
    SITE,
    TAG,
    Address,
    Node,
    Tree,
    check_adjunction,
    check_substitution,
    format_address,
)


class Step(NamedTuple):
    """One node of a derivation tree.

    ``tree`` is the elementary tree used, ``parent`` the number of the step it was put into (-1 for
    the first) and ``address`` the node of the parent's *elementary* tree where it was put.
    """

    tree: str
    parent: int
    address: Address


@dataclass(frozen=True)
class Derivation:
    """A derivation tree, as its steps in pre-order with siblings sorted by address.

    Steps may be given in any order in which parents come before their children; they are put into
    pre-order, so that equal derivations compare equal.

    Examples
    --------
    >>> Derivation((("S", -1, ()), ("keith", 0, (1,)), ("cats", 0, (2, 2)))).steps[2].tree
    'cats'
    """

    steps: tuple[Step, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", _preorder([Step(*step) for step in self.steps]))

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def depths(self) -> tuple[int, ...]:
        """Depth of every step below the first."""
        depths: list[int] = []
        for step in self.steps:
            depths.append(depths[step.parent] + 1 if step.parent >= 0 else 0)
        return tuple(depths)


def _preorder(steps: list[Step]) -> tuple[Step, ...]:
    children: list[list[int]] = [[] for _ in steps]
    for number, step in enumerate(steps):
        if not (0 <= step.parent < number or step.parent == number - 1 == -1):
            raise AdjoinError(
                f"step {number} ('{step.tree}') of the derivation names step {step.parent} as its"
                " parent; the first step has parent -1, every other an earlier step"
            )
        if number:
            children[step.parent].append(number)
    ordered: list[Step] = []
    waiting = [(0, -1)] if steps else []
    while waiting:
        number, parent = waiting.pop()
        place = len(ordered)
        ordered.append(Step(steps[number].tree, parent, tuple(steps[number].address)))
        below = sorted(children[number], key=lambda child: steps[child].address, reverse=True)
        waiting.extend((child, place) for child in below)
    return tuple(ordered)


@dataclass(frozen=True, repr=False)
class DerivedTree:
    """The tree that a derivation builds.

    Parameters
    ----------
    tree : Tree
        The tree itself; its leaves are terminals.
    derivation : Derivation
        How it was built.
    origin : tuple of int
        For every node of `tree`, the step of `derivation` that brought it in.
    """

    tree: Tree
    derivation: Derivation
    origin: tuple[int, ...]

    def __repr__(self) -> str:
        return f"DerivedTree({self.sentence!r})"

    @property
    def words(self) -> tuple[str, ...]:
        """The yield, as a tuple of terminals."""
        return self.tree.words

    @property
    def sentence(self) -> str:
        """The yield, as one string."""
        return " ".join(word for word in self.words if word)


def derive(tag: TAG, derivation: Derivation) -> DerivedTree:
    """Carry out a derivation.

    Every substitution and adjunction is checked for label, foot node and place, and the result must
    be complete: rooted in the start symbol, no substitution site left open.

    Raises
    ------
    AdjoinError
        Naming the step, its elementary tree and the node, if anything does not fit.
    """
    steps = derivation.steps
    if not steps:
        raise AdjoinError("an empty derivation derives no tree; begin with an initial tree")
    trees = [tag.tree(step.tree) for step in steps]
    if trees[0].is_auxiliary or trees[0].root.label != tag.start:
        raise AdjoinError(
            "a derivation begins with an initial tree whose root is the start symbol"
            f" '{tag.start}', not with '{steps[0].tree}'"
        )
    guests = _guests(steps, trees)
    nodes, origin = _unfold(trees, guests)
    return DerivedTree(Tree(tuple(nodes)), derivation, tuple(origin))


def _guests(steps: Iterable[Step], trees: list[Tree]) -> list[dict[int, int]]:
    """For every step, which node numbers of its elementary tree host which later step."""
    guests: list[dict[int, int]] = [{} for _ in trees]
    for number, step in enumerate(steps):
        if number == 0:
            continue
        host, guest = trees[step.parent], trees[number]
        try:
            index = host.index(step.address)
            check = check_substitution if host.nodes[index].mark == SITE else check_adjunction
            check(host, index, guest)
            if index in guests[step.parent]:
                raise AdjoinError(
                    f"node {format_address(step.address)} '{host.nodes[index].label}' already"
                    " hosts a tree; adjoin at the root of that tree instead"
                )
        except AdjoinError as error:
            raise AdjoinError(f"step {number} ('{step.tree}') does not fit: {error}") from None
        guests[step.parent][index] = number
    for number, tree in enumerate(trees):
        for index, node in enumerate(tree.nodes):
            if node.mark == SITE and index not in guests[number]:
                raise AdjoinError(
                    f"the derivation is incomplete: node {format_address(tree.address(index))}"
                    f" '{node.label}' of step {number} is an open substitution site"
                )
    return guests


def _unfold(trees: list[Tree], guests: list[dict[int, int]]) -> tuple[list[Node], list[int]]:
    """Write the derived tree in pre-order, in one pass.

    A stack holds the stretches of elementary trees still to be written, as (step, first node, end,
    depth to add). A node that hosts an auxiliary tree is written when that tree's foot is reached.
    """
    nodes: list[Node] = []
    origin: list[int] = []
    at_foot: dict[int, tuple[int, int, int]] = {}
    stack = [(0, 0, len(trees[0]), 0)]
    while stack:
        step, index, end, shift = stack.pop()
        if index == end:
            continue
        tree = trees[step]
        node = tree.nodes[index]
        guest = guests[step].get(index)
        if guest is not None:
            after = tree.end(index)
            stack.append((step, after, end, shift))
            stack.append((guest, 0, len(trees[guest]), shift + node.depth))
            if node.mark != SITE:
                at_foot[guest] = (step, index, after)
            continue
        stack.append((step, index + 1, end, shift))
        depth = shift + node.depth
        if node.mark == FOOT:
            step, host, after = at_foot[step]
            stack.append((step, host + 1, after, depth - trees[step].nodes[host].depth))
        nodes.append(Node(node.label, depth, "" if node.mark == FOOT else node.mark))
        origin.append(step)
    return nodes, origin
