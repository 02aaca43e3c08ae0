"""Trees as text for the terminal.

Receives trees and derivations; gives lines drawn with box characters. Pictures are made in
``report/trees.py``.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoin.errors import AdjoinError
from adjoin.grammar.derivation import Derivation
from adjoin.grammar.tag import Tree, format_address

_MOST_LEVELS = 20_000_000  # of all lines together: sixty megabytes of blanks and lines


def tree_text(tree: Tree) -> str:
    """Draw a tree with its root on top; a lone leaf stands beside its parent.

    Examples
    --------
    >>> print(tree_text(Tree.parse("expr2(op(q⁻¹) expr2*)")))
    expr2
    ├─ op ─ q⁻¹
    └─ expr2*
    """
    labels: list[str] = []
    depths: list[int] = []
    for i, node in enumerate(tree.nodes):
        is_lone_leaf = i > 0 and tree.is_leaf(i) and tree.end(i - 1) == i + 1
        if is_lone_leaf:
            labels[-1] += f" ─ {node.label}{node.mark}"
        else:
            labels.append(node.label + node.mark)
            depths.append(node.depth)
    return _draw(labels, depths)


def derivation_text(derivation: Derivation) -> str:
    """Draw a derivation: each elementary tree with the node of its parent where it was put."""
    labels = [
        step.tree + (f" at {format_address(step.address)}" if step.parent >= 0 else "")
        for step in derivation.steps
    ]
    return _draw(labels, derivation.depths)


def _draw(labels: Sequence[str], depths: Sequence[int]) -> str:
    """Indent labels by depth and join siblings by lines.

    Going upwards, `is_open[d]` says whether a node at depth d follows further down under the same
    parent, so that the line at depth d must go on. A drawing grows with the square of the depth, so
    there is a bound.
    """
    if sum(depths) > _MOST_LEVELS:
        raise AdjoinError(
            f"a tree of {len(labels)} nodes, up to {max(depths)} levels deep, is too large to draw"
        )
    lines: list[str] = []
    is_open = [False] * (max(depths) + 2)
    for label, depth in zip(reversed(labels), reversed(depths), strict=True):
        stem = "".join("│  " if is_open[d] else "   " for d in range(1, depth))
        branch = ("├─ " if is_open[depth] else "└─ ") if depth else ""
        lines.append(stem + branch + label)
        is_open[depth] = True
        is_open[depth + 1 :] = [False] * (len(is_open) - depth - 1)
    return "\n".join(reversed(lines))
