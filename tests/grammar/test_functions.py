"""Functions by their words, and hinges in every form that equations and grammars have."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjoin import AdjoinError, Grammar, Model, Structure
from adjoin.data.names import SignalNames
from adjoin.grammar import Atom
from adjoin.grammar.functions import find_function, function_name, hinge_word, is_function
from adjoin.grammar.terms import exponents


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_knot_reads_back_from_its_word_and_from_the_equation(knot: float) -> None:
    word = hinge_word(knot)
    function = find_function(word)
    assert (function.name, function.shift, function.code) == (word, knot, 8)
    assert function_name(word) == word
    structure = Structure(((Atom("u", 1, word),),), SignalNames())
    assert Structure.parse(str(structure)) == structure
    grammar = Grammar.narx(functions=word)
    assert Grammar.from_text(grammar.to_text()) == grammar
    assert grammar.structure(grammar.derive(structure)) == structure


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("pos(u(k-1) - 0.25)", "pos(u(k-1) - 0.25)"),
        ("pos(u(k-1)+.250)", "pos(u(k-1) + 0.25)"),
        ("pos(y(k-1))", "pos(y(k-1))"),
        ("pos(y(k-1) - 0)", "pos(y(k-1))"),
        ("pos(y(k-1) + 0.0)", "pos(y(k-1))"),
        ("pos(u(k) − 2.0)²", "pos(u(k) - 2)^2"),
        ("pos(u(k) - 1e3)*u(k)", "u(k)*pos(u(k) - 1000)"),
        ("pos(u(k) - 3)*pos(u(k) + 1e-7)*abs(u(k))", "u(k)*pos(u(k) + 1e-07)*pos(u(k) - 3)"),
        ("pos(pos(k-1) - 2) + pos(k)", "pos(k) + pos(pos(k-1) - 2)"),
        ("abs(pos(k-1))", "abs(pos(k-1))"),
    ],
)
def test_one_spelling(written: str, printed: str) -> None:
    assert str(Structure.parse(written)) == printed


def test_latex_and_sympy_say_max() -> None:
    import sympy

    model = Model.parse("y(k) = 2*pos(u(k-1) - 0.25) + pos(u(k) + 1e-7)^2 - pos(y(k-1))")
    assert model.latex() == (
        r"y_{k} = \left(\max\left(u_{k} + 1\times 10^{-7},\,0\right)\right)^{2}"
        r" + 2\,\max\left(u_{k-1} - 0.25,\,0\right) - \max\left(y_{k-1},\,0\right)"
    )
    k = sympy.Symbol("k", integer=True)
    u = sympy.Function("u", real=True)
    right = Model.parse("y(k) = pos(u(k-1) - 0.25)", offsets={"u": 2.0}).sympy().rhs
    assert right == 1.0 * sympy.Max(u(k - 1) - 2.25, 0)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("abs(u(k) - 0.5)", r"column 10: only pos\(\.\.\.\) takes a shift, not abs"),
        ("sqrt(abs(u(k) + 1))", r"only pos\(\.\.\.\) takes a shift, not sqrt"),
        ("pos(u(k) - 1e999)", "column 12: the number is too large"),
        ("pos(u(k) - v)", r"expected a number, as in pos\(u\(k-1\) - 0\.25\), not 'v'"),
        ("pos(0.5 - u(k))", r"a signal inside pos\(\.\.\.\), as in pos\(u\(k-1\) - 0\.25\)"),
        ("pos(u(k) - 1 - 1)", r"expected \), not '-'"),
        ("pos(abs(u(k)))", "a function inside a function"),
        ("abs(pos(u(k) - 1))", "a function inside a function"),
        ("pos(u(k) - 1", r"ends where \) is expected"),
    ],
)
def test_what_is_no_hinge_is_refused_with_the_place(text: str, reason: str) -> None:
    with pytest.raises(AdjoinError, match=reason):
        Structure.parse(text)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("hinge", r"come from data: Identifier\(functions='hinge'\).* as in pos\[0\.25\]"),
        ("pos[x]", r"only pos takes a knot, a finite number"),
        ("pos[inf]", r"only pos takes a knot, a finite number"),
        ("abs[1]", r"'abs\[1\]': only pos takes a knot"),
        ("poss", r"unknown function 'poss'.* offers abs, .*, pos\[0\.25\]"),
    ],
)
def test_what_is_no_function_is_refused(name: str, reason: str) -> None:
    with pytest.raises(AdjoinError, match=reason):
        Grammar.narx(functions=name)


def test_words_have_one_spelling() -> None:
    names = ["pos", "pos[0]", "pos[-0.0]", "pos[.250]", " pos[ 1e0 ] ", "sqrt(abs(.))"]
    words = ["pos[0]", "pos[0]", "pos[0]", "pos[0.25]", "pos[1]", "sqrtabs"]
    assert [function_name(name) for name in names] == words
    assert not any(map(is_function, ["pos", "pos[0.250]", "pos[-0]", "pos[]", "hinge"]))
    with pytest.raises(AdjoinError, match=r"unknown function 'pos\[1\.0\]' of u"):
        Structure(((Atom("u", 1, "pos[1.0]"),),), SignalNames())
    with pytest.raises(AdjoinError, match="finite"):
        hinge_word(float("nan"))


def test_a_grammar_file_may_spell_hinges_by_hand(tmp_path: Path) -> None:
    text = (
        "start S\ninputs u\noutput y\nmax_lag 3\ntree a = S(eps)\n"
        "tree b = S(theta times F(pos[.50] L(u)) + S*)\n"
        "tree c = S(theta times F(pos L(q^-1 y)) + S*)\n"
        "tree f = F(pos[.50] L(u) times F*)\ntree g = F(pos L(q^-1 y) times F*)\n"
        "tree d = L(q^-1 L*)\n"
    )
    grammar = Grammar.from_text(text)
    assert [choice.function for choice in grammar.alphabet.choices] == ["pos[0.5]", "pos[0]"]
    structure = Structure.parse("pos(u(k-2) - 0.5)*pos(y(k-3))", grammar.signals)
    assert grammar.structure(grammar.derive(structure)) == structure
    grammar.write(tmp_path / "mine.tag")
    assert Grammar.read(tmp_path / "mine.tag") == grammar
    with pytest.raises(AdjoinError, match=r"tree 'b': cannot read the function 'pos\[x\]'"):
        Grammar.from_text(text.replace("pos[.50]", "pos[x]")).alphabet  # noqa: B018


def test_each_signal_may_have_functions_of_its_own() -> None:
    grammar = Grammar.narx(
        ("u", "v"), functions={"v": "pos[1], abs", "y": ["pos[-2]"]}, max_lag=1, max_degree=2
    )
    found = [(choice.signal, choice.function) for choice in grammar.alphabet.choices]
    assert found == [
        ("u", ""),
        ("v", ""),
        ("v", "abs"),
        ("v", "pos[1]"),
        ("y", ""),
        ("y", "pos[-2]"),
    ]
    assert [choice.weight for choice in grammar.alphabet.choices] == [1 / 6] * 6
    assert grammar.tag.terminals[-3:] == ("pos[1]", "abs", "pos[-2]")
    with pytest.raises(AdjoinError, match=r"no tree for 'u' inside pos\[1\]"):
        grammar.derive("pos(u(k) - 1)")
    with pytest.raises(AdjoinError, match="functions for 'w', but the signals are u, v, y"):
        Grammar.narx(("u", "v"), functions={"w": "abs"})


def test_a_signal_may_be_called_pos() -> None:
    grammar = Grammar.narx("pos", "vel", functions="pos, pos[1]", max_lag=1)
    structure = Structure.parse("pos(k) + pos(pos(k-1)) + pos(pos(k) - 1)*vel(k-1)", grammar.names)
    tree = grammar.derive(structure)
    assert tree.sentence == "θ × pos + θ × pos[1] pos × q⁻¹ vel + θ × pos[0] q⁻¹ pos + ε"
    assert grammar.structure(tree) == structure
    assert Grammar.from_text(grammar.to_text()) == grammar
    assert Model.parse("vel(k) = pos(k-1)").simulate([1.0, 2.0]).tolist() == [0.0, 1.0]


def test_a_hinge_scales_as_its_signal_does() -> None:
    (term,) = Structure.parse("pos(u(k) - 2)^2*y(k-1)").terms
    assert exponents(term) == {"u": 2.0, "y": 1.0}
    assert find_function("pos[2]").argument(4.0) == (1.0, 0.5)
    assert find_function("sin").argument(4.0) == (4.0, 0.0)
