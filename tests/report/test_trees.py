"""Drawings of trees: as text, and as pictures with everything in them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure
from tests.strategies import derivations, grammars

from adjoin import Grammar
from adjoin.grammar.derivation import derive
from adjoin.grammar.render import derivation_text, tree_text
from adjoin.report.trees import figure_derived, figure_grammar, plot_tree, term_colours

NARX = Grammar.narx()


def test_text_drawings() -> None:
    derived = NARX.derive("u(k-1)*y(k-1)")
    assert derivation_text(derived.derivation) == (
        "η1\n└─ α2 at root\n   └─ α3 at 3\n      └─ α5 at 1"
    )
    assert tree_text(derived.tree) == (
        "expr0\n├─ par ─ θ\n├─ op ─ ×\n├─ expr1\n│  ├─ expr2\n│  │  ├─ op ─ q⁻¹\n"
        "│  │  └─ expr2 ─ u\n│  ├─ op ─ ×\n│  └─ expr1\n│     └─ expr2\n"
        "│        ├─ op ─ q⁻¹\n│        └─ y\n├─ op ─ +\n└─ expr0 ─ ε"
    )


@given(st.data())
@settings(max_examples=20)
def test_every_node_is_drawn_once(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    derived = derive(grammar.tag, data.draw(derivations(grammar.tag, max_steps=10)))
    figure = Figure()
    ax = plot_tree(derived.tree, figure.subplots())
    assert sorted(text.get_text() for text in ax.texts) == sorted(
        node.label for node in derived.tree.nodes
    )
    drawn = tree_text(derived.tree)
    assert sum(drawn.count(f"{label}") > 0 for label in set(derived.words)) == len(
        set(derived.words)
    )


def test_siblings_do_not_overlap() -> None:
    derived = NARX.derive("u(k-1) + u(k-5)^3 + y(k-1)")
    figure = figure_derived(derived, NARX.tag)
    figure.canvas.draw()
    upper, lower = figure.axes
    for ax in (upper, lower):
        boxes = [t.get_window_extent() for t in ax.texts if t.get_bbox_patch() is not None]
        rows: dict[float, list] = {}
        for box in boxes:
            rows.setdefault(round((box.y0 + box.y1) / 2), []).append(box)
        for row in rows.values():
            row.sort(key=lambda box: box.x0)
            for left, right in pairwise(row):
                assert left.x1 <= right.x0 + 1e-6


def test_terms_have_colours_of_their_own() -> None:
    derivation = NARX.derivation("u(k-1)*y(k-1) + y(k-2)")
    groups = dict(zip([s.tree for s in derivation.steps], term_colours(derivation), strict=True))
    assert groups["η1"] == 0
    assert len(set(term_colours(derivation))) == 3


def test_a_grammar_is_drawn_whole() -> None:
    figure = figure_grammar(Grammar.keith())
    titles = [ax.get_title() for ax in figure.axes]
    assert titles[:5] == [f"{n}  (initial)" for n in ("η1", "η2", "η3", "η4")] + ["α1  (auxiliary)"]


@pytest.mark.parametrize("name", ["a$b$", "x_1^2", "<b>", "%"])
def test_labels_are_text_and_nothing_else(name: str) -> None:
    grammar = Grammar.from_text(f'start S\ntree one = S("{name}")')
    figure = figure_grammar(grammar)
    figure.canvas.draw()
    assert name in [text.get_text() for text in figure.axes[0].texts]
