"""Compilation: read off the trees, whatever they are called, or refused with a reason."""

from __future__ import annotations

import pytest

from adjoin import AdjoinError, Grammar
from adjoin.grammar import Atom

NARX = """
start S
inputs u
output y
max_lag 3
max_degree 2
tree a = S(eps)
tree u1 = S(theta times P(L(u)) + S*)
tree y1 = S(theta times P(L(q^-1 y)) + S*)
tree u2 = P(L(u) times P*)
tree y2 = P(L(q^-1 y) times P*)
tree d = L(q^-1 L*)
"""


def _edited(**replacements: str) -> Grammar:
    """The grammar above with some trees rewritten, added, or dropped (written as '')."""
    lines = [line for line in NARX.strip().splitlines() if line.split()[1] not in replacements]
    lines += [f"tree {name} = {tree}" for name, tree in replacements.items() if tree]
    return Grammar.from_text("\n".join(lines))


def test_the_ready_narx_grammar() -> None:
    alphabet = Grammar.narx(max_lag=2, max_degree=2).alphabet
    assert alphabet.atoms == (
        Atom("u", 0), Atom("u", 1), Atom("u", 2), Atom("y", 1), Atom("y", 2),
    )  # fmt: skip
    assert [(c.signal, c.min_lag, c.max_lag, c.weight) for c in alphabet.choices] == [
        ("u", 0, 2, 0.5),
        ("y", 1, 2, 0.5),
    ]
    assert alphabet.n_terms == 5 + 15 + 1
    assert alphabet.constant == "α6"
    assert alphabet.max_lag == 2


def test_the_nine_term_alphabet_of_the_exact_checks() -> None:
    grammar = Grammar.narx(max_lag=1, max_degree=2, constant=False)
    assert grammar.alphabet.n_terms == 9
    assert grammar.alphabet.constant is None


@pytest.mark.parametrize(
    ("grammar", "signals", "max_degree", "n_choices"),
    [
        (Grammar.fir(), {"u"}, 1, 1),
        (Grammar.arx(("u", "v")), {"u", "v", "y"}, 1, 3),
        (Grammar.volterra(functions=("abs",)), {"u"}, 4, 2),
        (Grammar.narmax(), {"u", "y", "e"}, 4, 3),
        (Grammar.narx(("u", "udot"), functions=("abs", "sqrt(abs(.))")), {"u", "udot", "y"}, 4, 9),
        (Grammar.narx(inputs=()), {"y"}, 4, 1),
    ],
)
def test_ready_grammars(grammar: Grammar, signals, max_degree: int, n_choices: int) -> None:
    alphabet = grammar.alphabet
    assert {choice.signal for choice in alphabet.choices} == signals
    assert alphabet.max_degree == max_degree
    assert len(alphabet.choices) == n_choices
    assert sum(choice.weight for choice in alphabet.choices) == pytest.approx(1.0)
    smallest = {choice.signal: choice.min_lag for choice in alphabet.choices}
    assert all(smallest[s] == (0 if s in grammar.signals.inputs else 1) for s in signals)


def test_names_of_trees_and_labels_do_not_matter() -> None:
    ready = Grammar.narx(max_lag=3, max_degree=2).alphabet
    mine = _edited(one="S(S* + theta)").alphabet
    assert mine.atoms == ready.atoms
    assert mine.n_terms == ready.n_terms
    assert mine.constant == "one"


def test_functions_that_multiply_to_abs_bring_it_along() -> None:
    assert Grammar.narx(functions="sign") == Grammar.narx(functions="sign, abs")
    assert Grammar.narx(functions="sqrtabs, abs") == Grammar.narx(functions="sqrtabs,abs")
    assert "abs" not in {c.function for c in Grammar.arx(functions="sign").alphabet.choices}


def test_terms_are_counted_in_one_spelling_each() -> None:
    alphabet = Grammar.fir(functions="sign,abs,sqrtabs", max_lag=0, constant=False).alphabet
    assert alphabet.n_terms == 4
    volterra = Grammar.volterra(functions="sign,sqrtabs", max_lag=0, constant=False, max_degree=2)
    # u, |u|, sign u, √|u|; u², u·|u|, u·√|u|, |u|·√|u|, sign u·√|u|: not |u|², √|u|², sign²,
    # sign·u, sign·|u|.
    assert volterra.alphabet.n_terms == 4 + 5


def test_columns_called_like_nonterminals_are_no_problem() -> None:
    grammar = Grammar.narx(inputs=("op", "par", "expr1", "expr2"), output="expr0")
    text = "op(k)*par(k-1) + expr1(k)*expr0(k-1) + expr2(k-2)"
    assert str(grammar.structure(grammar.derive(text))) == text
    assert str(grammar.with_initial("op(k)^2").alphabet.fixed) == "op(k)^2"


def test_an_input_called_like_the_noise_is_no_problem() -> None:
    grammar = Grammar.narmax(inputs=("e", "e_noise"))
    assert grammar.signals.noise not in ("e", "e_noise")
    assert len(grammar.alphabet.choices) == 4


def test_feet_on_the_left_are_as_good() -> None:
    grammar = _edited(
        u1="S(S* + P(L(u)) times theta)",
        y1="S(S* + theta times P(L(q^-1 y)))",
        u2="P(P* times L(u))",
        y2="P(P* times L(q^-1 y))",
    )
    assert grammar.alphabet.n_terms == _edited().alphabet.n_terms
    tree = grammar.derive("u(k-1)*y(k-2) + u(k)")
    assert str(grammar.structure(tree)) == "u(k) + u(k-1)*y(k-2)"


def test_an_atom_without_delay_tree_keeps_its_lag() -> None:
    grammar = _edited(u1="S(theta times P(N(u)) + S*)", u2="P(N(u) times P*)")
    spans = {choice.signal: (choice.min_lag, choice.max_lag) for choice in grammar.alphabet.choices}
    assert spans == {"u": (0, 0), "y": (1, 3)}


def test_a_deeper_first_delay_is_read_off_the_tree() -> None:
    grammar = _edited(y1="S(theta times P(L(q^-1 q^-1 y)) + S*)", y2="P(L(q^-1 q^-1 y) times P*)")
    (choice,) = [choice for choice in grammar.alphabet.choices if choice.signal == "y"]
    assert (choice.min_lag, choice.max_lag) == (2, 3)
    assert str(grammar.structure(grammar.derive("y(k-3)*y(k-2)"))) == "y(k-2)*y(k-3)"


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"y1": "S(theta times P(L(y)) + S*)"}, "tree 'y1': 'y' would stand undelayed"),
        ({"y2": ""}, "tree 'y1': its atom can start a term but not extend one"),
        ({"y1": ""}, "tree 'y2': its atom can extend a term but not start one"),
        ({"y2": "P(L(q^-1 q^-1 y) times P*)"}, "'y1': its atom can start a term but not extend"),
        ({"u3": "S(theta times P(L(u)) + S*)"}, "tree 'u3': it brings in the same atom as 'u1'"),
        ({"d2": "L(q^-1 L*)"}, "tree 'd2': 'd' adds the same delay already"),
        ({"u1": "S(theta times P(L(u) times L(u)) + S*)"}, "tree 'u1'.*one atom"),
        ({"u1": "S(theta theta + S*)"}, "tree 'u1': a term tree yields one θ times one atom"),
        ({"c": "S(theta + S*)", "d2": "S(S* + theta)"}, "tree 'd2': 'c' adds a constant already"),
        ({"c": "P(theta + P*)"}, "adds a term, but not at 'S'"),
        ({"c": "S(S(theta) + S*)"}, "tree 'c', node 1 'S': a tree could adjoin"),
        ({"u2": "P(L(u) times theta times P*)"}, "tree 'u2': a factor tree yields one atom"),
        ({"u2": "P(L(u) P*)"}, "tree 'u2': its yield 'u .* is no term, no factor and no delay"),
        ({"u1": "S(theta times L(u) + S*)"}, "tree 'u1': no node 'P' spans its atom"),
        ({"u1": "S(theta times P(P(L(u))) + S*)"}, "tree 'u1', node 3.1 'P': a tree could adjoin"),
        ({"u2": "P(L(L(u)) times P*)"}, "tree 'u2', node 1.1 'L': a tree could adjoin"),
        ({"a": "S(theta times P(L(u)) + S!(eps))"}, "tree 'a', node 3 'P': a tree could adjoin"),
        ({"a": "S(u)"}, "tree 'a': 'u' needs exactly one parameter"),
        ({"a": "S(eps + eps)"}, "tree 'a'.*bare noise ε once, not 2"),
        ({"y1": "S(theta times L(P(q^-1 y)) + S*)"}, "'y1', node 3 'L': a delay here would"),
        ({"d": "L!(q^-1 L*)"}, "tree 'd', node root 'L': its root is closed"),
        ({"u2": "P!(L(u) times P*)"}, "tree 'u2', node root 'P': its root is closed"),
        ({"u1": "S!(theta times P(L(u)) + S*)"}, "tree 'u1', node root 'S': its root is closed"),
        ({"d": "L(q^-1 P(L*))"}, "tree 'd', node 2 'P': a tree could adjoin"),
        ({"u6": "Q(L(u) times Q*)", "u1": "S(theta times Q(P(L(u))) + S*)"}, "not also at 'Q'"),
        ({"e1": "S(theta times P(abs L(q^-1 eps)) + S*)",
          "e2": "P(abs L(q^-1 eps) times P*)"}, "tree 'e1': the noise 'e' cannot stand inside abs"),
        ({"u1": "S(theta times P(N(q^-1 q^-1 q^-1 q^-1 u)) + S*)",
          "u2": "P(N(q^-1 q^-1 q^-1 q^-1 u) times P*)"}, "its 4 delays exceed max_lag 3"),
        ({"a": "S!(eps)"}, "is never used"),
        ({"b": "S(eps)"}, "it has 2 initial trees"),
        ({"w": "S(theta times P(L@) + S*)", "w2": "L(u)"}, "substitution site"),
        ({"q": "S(q^-1 S*)"}, "'S' takes trees of two kinds"),
        ({"u4": "L(L(u) times L*)", "u2": "", "y2": ""}, "'L' takes trees of two kinds"),
        ({"u5": "P(theta times L(u) + P*)"}, "adds a term, but not at 'S'"),
        ({"y1": "S(theta times P(L(q^-1 q^-1 q^-1 q^-1 y)) + S*)",
          "y2": "P(L(q^-1 q^-1 q^-1 q^-1 y) times P*)"}, "its 4 delays exceed max_lag 3"),
        ({"y1": "S(theta times P(M(q^-1 y)) + S*)"}, "delayed in one place only"),
        ({"u1": "S(theta times P(L(sin(u))) + S*)"}, "write the function as a word"),
        ({"u1": "S(theta times P(L(sin u)) + S*)"}, "tree 'u1', node 3.1 'L': a tree could adjoin"),
        ({"u1": "S(theta times P(L(w)) + S*)"}, "tree 'u1': 'w' is not an atom"),
    ],
)  # fmt: skip
def test_shapes_the_samplers_cannot_use_are_refused(edit: dict[str, str], reason: str) -> None:
    with pytest.raises(AdjoinError, match=f"(?s){reason}"):
        _ = _edited(**edit).alphabet


def test_a_grammar_without_term_trees_is_refused() -> None:
    with pytest.raises(AdjoinError, match="no tree adds a term"):
        _ = Grammar.from_text("start S\noutput y\ntree a = S(eps)").alphabet


def test_a_grammar_about_words_has_no_alphabet() -> None:
    with pytest.raises(AdjoinError, match="declares no output"):
        _ = Grammar.keith().alphabet


@pytest.mark.parametrize("options", [{"max_lag": -1}, {"max_degree": 0}, {"max_lag": 2.5}])
def test_bounds_are_checked(options) -> None:
    with pytest.raises(AdjoinError, match="must be a whole number"):
        Grammar.narx(**options)


def test_past_outputs_need_a_lag() -> None:
    with pytest.raises(AdjoinError, match="max_lag of at least 1"):
        Grammar.narx(max_lag=0)
    assert Grammar.volterra(max_lag=0).alphabet.max_lag == 0


def test_names_may_be_one_string() -> None:
    assert Grammar.narx(inputs="u, v", functions="abs,sin") == Grammar.narx(
        inputs=("u", "v"), functions=("abs", "sin")
    )


def test_unknown_functions_are_refused() -> None:
    with pytest.raises(AdjoinError, match="unknown function 'log'"):
        Grammar.narx(functions=("log",))
