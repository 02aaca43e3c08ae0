"""The text format of grammars."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from tests.strategies import grammars

from adjoin import AdjoinError, Grammar
from adjoin.data.names import SignalNames
from adjoin.grammar import TAG, Tree


@given(grammars())
def test_round_trip(grammar: Grammar) -> None:
    assert Grammar.from_text(grammar.to_text()) == grammar


def test_files_are_written_whole_and_read_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.tag"
    Grammar.keith().write(path)
    assert Grammar.read(path) == Grammar.keith()
    assert [file.name for file in tmp_path.iterdir()] == ["mine.tag"]


def test_comments_continuations_and_typable_spellings() -> None:
    text = """\
    # a comment
    name     tiny          # another
    start    S
    inputs   u
    output   y
    tree a = S(eps)
    tree b = S(theta times P(u)
               + S*)       # goes on
    """.replace("\n    ", "\n").lstrip()
    grammar = Grammar.from_text(text)
    assert grammar.tag.terminals == ("ε", "θ", "×", "u", "+")
    assert str(grammar.tag.trees["b"]) == "S(θ × P(u) + S*)"


def test_odd_spellings_read_back() -> None:
    text = '\ufeffstart\tS\ntree a = S("x # y" "a\tb")'.replace("a\tb", "a b")
    assert Grammar.from_text(text).tag.terminals == ("x # y", "a b")
    signals = "start S\ninputs theta, eps\noutput y\nnoise w\ntree a = S(w)\n"
    grammar = Grammar.from_text(
        signals + "tree b = S(θ times theta + S*)\ntree c = S(θ × eps + S*)"
    )
    assert [choice.signal for choice in grammar.alphabet.choices] == ["theta", "eps"]
    assert Grammar.from_text(grammar.to_text()) == grammar
    assert "noise        w" in grammar.to_text()


def test_a_grammar_made_in_python_may_not_use_the_spellings_as_labels() -> None:
    tag = TAG(("S",), ("theta",), "S", {"a": Tree.parse("S(theta)")})
    assert Grammar(tag).name == "grammar"  # no dynamics, so a word like any other
    with pytest.raises(AdjoinError, match="'theta' is how the text format spells θ"):
        Grammar(tag, SignalNames())


def test_the_noise_may_be_written_by_its_name() -> None:
    text = "start S\ninputs u\noutput y\nnoise xi\ntree a = S(xi)\ntree b = S(theta times u + S*)"
    assert Grammar.from_text(text).tag.terminals[0] == "ε"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "start symbol is missing"),
        ("start S", "no trees"),
        ("start S T\ntree a = S(x)", "line 1: 'start' takes one value, not 2"),
        ("start S\nstart S\ntree a = S(x)", "line 2: 'start' is written a second time"),
        ("start S\ntree a = S(x)\ntree a = S(y)", "line 3: the tree 'a' is written a second"),
        ("start S\ntree a S(x)", "line 2: a tree is written"),
        ("start S\ntree a = S(x", "line 2: tree 'a': unbalanced"),
        ("start S\nbegin T", "line 2: unknown keyword 'begin'"),
        ("start S\nTree a = S(x)", "line 2: unknown keyword 'Tree'; did you mean 'tree'"),
        ("start S\noutput y\nmax_lag ²\ntree a = S(eps)", "max_lag must be a whole number"),
        ("start S\nmax_lag 3\ntree a = S(x)", "need an output"),
        ("  start S", "line 1: an indented line continues nothing"),
        ("start S\nmax_lag many\noutput y\ntree a = S(eps)", "max_lag must be a whole number"),
        ("start S\ninputs u\ntree a = S(u)", "need an output"),
        ("start S\noutput y y2\ntree a = S(y)", "takes one value"),
        ("start S\noutput k\ntree a = S(eps)", "'k' is reserved"),
        ("start S\ninputs u u\noutput y\ntree a = S(eps)", "2 signals are called 'u'"),
        ("start S\nterminals x\ntree a = S(z)", "tree 'a', node 1 'z': the label is neither"),
        ("start S\nterminals ( x\ntree a = S(x)", "line 2: cannot read"),
    ],
)
def test_errors_name_the_line(text: str, message: str) -> None:
    with pytest.raises(AdjoinError, match=message) as caught:
        Grammar.from_text(text, source="my.tag")
    assert str(caught.value).startswith("my.tag")


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(AdjoinError, match="cannot read the grammar"):
        Grammar.read(tmp_path / "none.tag")
    with pytest.raises(AdjoinError, match="cannot read the grammar"):
        Grammar.read(tmp_path)
    (tmp_path / "binary.tag").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AdjoinError, match="not a UTF-8"):
        Grammar.read(tmp_path / "binary.tag")
    with pytest.raises(AdjoinError, match="not a UTF-8"):
        Grammar.read("a\0b")
    before = sorted(tmp_path.iterdir())
    with pytest.raises(AdjoinError, match="cannot write"):
        Grammar.keith().write(tmp_path)
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(AdjoinError, match="cannot write"):
        Grammar.keith().write(tmp_path / "missing" / "x.tag")
