"""Pictures of elementary, derivation and derived trees, after the figures of the paper.

Receives trees; each function takes and returns matplotlib Axes or Figures.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from statistics import median

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.errors import AdjoinError
from adjoin.files import write_whole
from adjoin.grammar.derivation import Derivation, DerivedTree
from adjoin.grammar.grammar import Grammar
from adjoin.grammar.tag import FOOT, SITE, TAG, Tree, format_address
from adjoin.report.colours import COLOURS, FAINT, INK, MUTED, PAPER
from adjoin.report.layout import GridLayout

_PAD = 11.0  # points around a tree
_FORMATS = (".svg", ".png", ".pdf")


def plot_tree(tree: Tree, ax: Axes, title: str = "", origin: Sequence[int] | None = None) -> Axes:
    """Draw a tree: nonterminals in italics, terminals in boxes, marks behind the label.

    Parameters
    ----------
    tree : Tree
    ax : Axes
    title : str
    origin : (n_nodes,) int, optional
        A colour number for every node, such as the term it belongs to.
    """
    x = _columns([node.label + node.mark for node in tree.nodes], [n.depth for n in tree.nodes])
    above: list[int] = []
    for i, node in enumerate(tree.nodes):
        del above[node.depth :]
        colour = _colour(origin[i] if origin is not None else 0)
        if above:
            _line(ax, (x[above[-1]], -tree.nodes[above[-1]].depth), (x[i], -node.depth))
        is_word = tree.is_leaf(i) and node.mark not in (FOOT, SITE)
        _label(ax, x[i], -node.depth, node.label + node.mark, colour, is_word)
        above.append(i)
    return _finish(ax, x, max(node.depth for node in tree.nodes), title)


def plot_derivation(
    derivation: Derivation, ax: Axes, tag: TAG | None = None, title: str = ""
) -> Axes:
    """Draw a derivation: adjunctions with full lines, substitutions dashed, the node beside them.

    Parameters
    ----------
    derivation : Derivation
    ax : Axes
    tag : TAG, optional
        Tells substitutions from adjunctions.
    title : str
    """
    depths = derivation.depths
    addresses = [format_address(s.address) if s.parent >= 0 else "" for s in derivation.steps]
    x = _columns(
        [f"{s.tree} {a}" for s, a in zip(derivation.steps, addresses, strict=True)], depths
    )
    group = term_colours(derivation)
    for i, step in enumerate(derivation.steps):
        if step.parent >= 0:
            is_site = tag is not None and not tag.tree(step.tree).is_auxiliary
            start, end = (x[step.parent], -depths[step.parent]), (x[i], -depths[i])
            _line(ax, start, end, "--" if is_site else "-")
            ax.text(
                (start[0] + end[0]) / 2,
                (start[1] + end[1]) / 2,
                addresses[i],
                fontsize=6.5,
                color=MUTED,
                ha="center",
                va="center",
                bbox={"facecolor": PAPER, "edgecolor": "none", "pad": 0.8},
            )
        _label(ax, x[i], -depths[i], step.tree, _colour(group[i]), True)
    return _finish(ax, x, max(depths), title)


def _colour(group: int) -> str:
    """Grey for the initial tree, number 0; then a colour for each term, in turn."""
    return COLOURS[(group - 1) % len(COLOURS)] if group else INK


def term_colours(derivation: Derivation) -> list[int]:
    """A number for every step: 0 for the initial tree, then one for each term.

    A step that adjoins at the root of a term tree starts the next term; every other step belongs to
    the term of the step it was put into.
    """
    group: list[int] = []
    is_term: list[bool] = []
    count = 0
    for step in derivation.steps:
        starts = step.parent == 0 or (
            step.parent > 0 and is_term[step.parent] and step.address == ()
        )
        is_term.append(starts)
        count += starts
        group.append(count if starts else (group[step.parent] if step.parent >= 0 else 0))
    return group


def figure_grammar(grammar: Grammar) -> Figure:
    """All elementary trees of a grammar, initial trees first."""
    trees = {**grammar.tag.initial, **grammar.tag.auxiliary}
    n_columns = min(len(trees), 3 if len(trees) <= 9 else 5)
    n_rows = math.ceil(len(trees) / n_columns)
    depths = [max(node.depth for node in tree.nodes) for tree in trees.values()]
    heights = [max(depths[row * n_columns : (row + 1) * n_columns]) + 1.6 for row in range(n_rows)]
    figure = Figure(figsize=(3.7 * n_columns, 0.62 * sum(heights)), layout=GridLayout(_PAD))
    axes = figure.subplots(n_rows, n_columns, squeeze=False, height_ratios=heights).ravel()
    for ax, (name, tree) in zip(axes, trees.items(), strict=False):
        kind = "auxiliary" if tree.is_auxiliary else "initial"
        plot_tree(tree, ax, f"{name}  ({kind})")
    for ax in axes[len(trees) :]:
        ax.set_axis_off()
    used = list(axes[: len(trees)])
    _same_width(used)
    for row in range(0, len(used), n_columns):
        deepest = min(ax.get_ylim()[0] for ax in used[row : row + n_columns])
        for ax in used[row : row + n_columns]:
            ax.set_ylim(deepest, 0.5)
    return figure


def figure_derived(derived: DerivedTree, tag: TAG, title: str = "") -> Figure:
    """A derived tree above the derivation that built it, coloured by term."""
    tree, derivation = derived.tree, derived.derivation
    group = term_colours(derivation)
    tree_depth = max(node.depth for node in tree.nodes) + 1
    step_depth = max(derivation.depths) + 1
    figure = Figure(layout=GridLayout(_PAD))
    upper, lower = figure.subplots(2, 1, height_ratios=(tree_depth, step_depth))
    plot_tree(tree, upper, "derived tree", [group[step] for step in derived.origin])
    plot_derivation(derivation, lower, tag, "derivation tree")
    _same_width([upper, lower])
    # Wider than 60 inches no viewer shows it; the picture is then better split by its reader.
    width = min(max(7.0, 0.5 * _width(upper)), 60.0)
    figure.set_size_inches(width, 0.5 * (tree_depth + step_depth) + 1.6)
    if title:
        figure.suptitle(title, fontsize=11, color=INK)
    return figure


def picture_format(path: str | Path) -> str:
    """The ending by which a picture is written; one that means nothing is refused."""
    kind = Path(path).suffix.lower()
    if kind not in _FORMATS:
        raise AdjoinError(f"'{Path(path).name}' must end in one of {', '.join(_FORMATS)}")
    return kind


def save_figure(figure: Figure, path: str | Path) -> None:
    """Write a figure as SVG, PNG or PDF, by the ending of the path."""
    kind = picture_format(path)
    # No date and no random names inside, so that the same trees give the same file.
    dated = {".svg": "Date", ".pdf": "CreationDate"}.get(kind)
    metadata = {dated: None} if dated else None
    drawn = BytesIO()
    with rc_context({"svg.hashsalt": "adjoin"}):
        figure.savefig(drawn, format=kind[1:], dpi=150, facecolor="white", metadata=metadata)
    write_whole(path, drawn.getvalue())


def _columns(labels: Sequence[str], depths: Sequence[int]) -> list[float]:
    """Horizontal places: leaves side by side, a parent above its middle child.

    A leaf is given room for the widest label of the unbranched chain above it, so that labels at
    the same height never overlap.
    """
    children: list[list[int]] = [[] for _ in labels]
    path: list[int] = []
    for i, depth in enumerate(depths):
        del path[depth:]
        if path:
            children[path[-1]].append(i)
        path.append(i)
    room = [0.62 + 0.2 * len(label) for label in labels]
    for i, below in enumerate(children):
        if len(below) == 1:
            room[below[0]] = max(room[below[0]], room[i])
    x = [0.0] * len(labels)
    edge = 0.0
    for i, below in enumerate(children):
        if not below:
            x[i] = edge + room[i] / 2
            edge += room[i]
    for i in range(len(labels) - 1, -1, -1):
        if children[i]:
            x[i] = median(x[child] for child in children[i])
    return x


def _line(ax: Axes, start: tuple[float, float], end: tuple[float, float], style: str = "-") -> None:
    ax.plot(*zip(start, end, strict=True), style, color=FAINT, linewidth=1.0, zorder=1)


def _label(ax: Axes, x: float, y: float, text: str, colour: str, is_word: bool) -> None:
    box = {
        "boxstyle": "round,pad=0.22",
        "facecolor": PAPER,
        "edgecolor": colour if is_word else "none",
        "linewidth": 0.9,
    }
    ax.text(
        x,
        y,
        text,
        color=colour,
        ha="center",
        va="center",
        fontsize=9,
        style="normal" if is_word else "italic",
        bbox=box,
        zorder=2,
        parse_math=False,  # a user's label is text, whatever dollar signs are in it
    )


def _finish(ax: Axes, x: Sequence[float], depth: int, title: str) -> Axes:
    ax.set_xlim(min(x) - 0.8, max(x) + 0.8)
    ax.set_ylim(-depth - 0.5, 0.5)
    ax.set_axis_off()
    if title:
        ax.set_title(title, fontsize=10, color=INK)
    return ax


def _width(ax: Axes) -> float:
    left, right = ax.get_xlim()
    return right - left


def _same_width(axes: Sequence[Axes]) -> None:
    """Widen all axes to the widest, so that labels are equally far apart everywhere."""
    width = max(map(_width, axes))
    for ax in axes:
        middle = sum(ax.get_xlim()) / 2
        ax.set_xlim(middle - width / 2, middle + width / 2)
