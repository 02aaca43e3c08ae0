"""Grammar files of any depth and width cost time and memory in proportion to their length."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from adjoin import AdjoinError, Grammar
from adjoin.grammar.render import tree_text
from adjoin.grammar.tag import Tree

SHAPES: dict[str, Callable[[int], str]] = {
    "nested": lambda n: "start S\ntree a = " + "S(" * n + "x" + ")" * n,
    "comb": lambda n: "start S\ntree a = " + "S(x " * n + "x" + ")" * n,
    "wide": lambda n: "start S\ntree a = S(" + "x " * n + ")",
    "unknown labels": lambda n: "start S\nterminals x\ntree a = " + "S(y " * n + "x" + ")" * n,
    "not closed": lambda n: "start S\ntree a = " + "S(" * n + "x",
    "many labels": lambda n: f"start S\ntree a = S({' '.join(f'x{i}' for i in range(n))})",
    "many trees": lambda n: "start S\n" + "".join(f"tree a{i} = S(x)\n" for i in range(n)),
    "chain of trees": lambda n: (
        "start S0\n"
        + "".join(f"tree a{i} = S{i}(S{i + 1}@)\n" for i in range(n))
        + f"tree z = S{n}(x)\n"
    ),
    "continued": lambda n: "start S\ntree a = S(" + "\n x" * n + ")",
    "for samplers": lambda n: (
        "start S\ninputs u\noutput y\ntree i = S(ε)\ntree a = S("
        + "P(" * n
        + "θ × u"
        + ")" * n
        + " + S*)"
    ),
}


def use(text: str) -> None:
    """Read a grammar, check it, write it, and compile it; or have it refused in few words."""
    message = ""
    try:
        grammar = Grammar.from_text(text)
        assert Grammar.from_text(grammar.to_text()) == grammar
        if grammar.names is not None:
            assert grammar.alphabet.n_terms > 0
    except AdjoinError as error:
        message = str(error)
    assert len(message) < 5_000


def lines_of(text: str) -> int:
    """How many lines of the package are executed: the work, whatever the clock says."""
    count = 0

    def watch(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if "adjoin" not in frame.f_code.co_filename:
            return None
        count += event == "line"
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        use(text)
    finally:
        sys.settrace(before)
    return count


def peak_of(text: str) -> int:
    """The least of three: other threads of the process only ever add to it."""
    peaks = []
    for _ in range(3):
        tracemalloc.start()
        try:
            use(text)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    return min(peaks)


@pytest.mark.parametrize("shape", SHAPES)
def test_work_and_memory_grow_with_the_text(shape: str) -> None:
    """Twice the text, twice the lines executed and twice the memory."""
    make = SHAPES[shape]
    use(make(3))  # whatever is made once
    assert lines_of(make(400)) < 2.2 * lines_of(make(200)) + 200
    assert peak_of(make(4000)) < 2.5 * peak_of(make(2000)) + 100_000


def test_seventy_kilobytes_of_brackets_are_a_grammar() -> None:
    text = SHAPES["nested"](23_000)
    assert len(text) > 69_000
    tree = Grammar.from_text(text).tag.tree("a")
    assert tree.address(len(tree) - 1) == (1,) * 23_000
    assert tree.index((1,) * 23_000) == 23_000
    with pytest.raises(AdjoinError, match=r"23000 nodes, up to 2\d* levels deep, is too large"):
        tree_text(tree)


def test_errors_about_large_trees_are_short() -> None:
    tree = Tree.parse("S(" * 5000 + "x" + ")" * 5000)
    with pytest.raises(
        AdjoinError, match=r"there is no node 1\.1.*… \(5001 levels down\)"
    ) as caught:
        tree.index((1,) * 5001)
    assert len(str(caught.value)) < 500
