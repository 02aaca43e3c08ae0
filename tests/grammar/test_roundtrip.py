"""Structure ↔ derivation ↔ derived tree ↔ text, walked both ways on random trees."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import derivations, grammars, structures

from adjoin import AdjoinError, Grammar, Structure
from adjoin.grammar.derivation import derive
from adjoin.grammar.yields import DELAY, read_structure


@given(st.data())
def test_derivation_to_structure_to_text_and_all_the_way_back(data: st.DataObject) -> None:
    grammar = data.draw(grammars())
    random_tree = derive(grammar.tag, data.draw(derivations(grammar.tag)))
    structure = grammar.structure(random_tree)

    canonical = grammar.derivation(structure)
    tree = grammar.derive(canonical)
    assert grammar.structure(tree) == structure
    assert Structure.parse(str(structure), grammar.names) == structure
    assert grammar.derivation(str(structure)) == canonical


@given(st.data())
def test_no_derivable_tree_has_the_present_output_on_the_right(data: st.DataObject) -> None:
    inputs = data.draw(st.sampled_from([("u",), ("u", "v")]))
    functions = data.draw(st.sampled_from([(), ("abs", "exp")]))
    grammar = Grammar.narmax(inputs, functions=functions)
    words = derive(grammar.tag, data.draw(derivations(grammar.tag, max_steps=40))).words
    for place, word in enumerate(words):
        if word == "y" or (word == "ε" and place + 1 < len(words)):
            assert words[place - 1] == DELAY


@given(structures())
def test_any_structure_has_a_tree_in_its_smallest_grammar(structure: Structure) -> None:
    grammar = Grammar.smallest(structure)
    tree = grammar.derive(structure)
    assert grammar.structure(tree) == structure
    # With the foot rightmost the yield reads in canonical order: the text is the tree, read aloud.
    assert read_structure(tree.words, structure.names).terms == structure.terms
    n_terms = sum(word == "θ" for word in tree.words)
    assert n_terms == len(structure)


def test_the_empty_structure_is_bare_noise() -> None:
    tree = Grammar.narx().derive("0")
    assert tree.sentence == "ε"
    assert str(Grammar.narx().structure(tree)) == "0"


def test_the_academic_system_is_derived_as_in_the_paper() -> None:
    tree = Grammar.narx().derive("u(k-1) + u(k-5)^3 + y(k-1)")
    used = [step.tree for step in tree.derivation.steps]
    # One initial tree; two input terms and one output term; two more cubic factors; 1 + 3*5 delays.
    counts = {name: used.count(name) for name in sorted(set(used))}
    assert counts == {"η1": 1, "α1": 2, "α2": 1, "α3": 2, "α5": 16}


@pytest.mark.parametrize(
    ("structure", "reason"),
    [
        ("v(k)", "no signal is called 'v'"),
        ("u(k-11)", "lags from 0 to 10, not 11; .* max_lag"),
        ("u(k)^5", "degree 5 exceeds max_degree 4"),
        ("abs(u(k))", "no tree for 'u' inside abs.*add the function abs"),
        ("e(k-1)", "no tree for 'e'; use a NARMAX"),
    ],
)
def test_what_a_grammar_cannot_derive_is_refused_with_the_reason(structure, reason) -> None:
    with pytest.raises(AdjoinError, match=reason):
        Grammar.narx().derive(structure)


def test_a_constant_needs_its_tree() -> None:
    with pytest.raises(AdjoinError, match=r"does not derive a constant: .* use constant=True"):
        Grammar.narx(constant=False).derive("1 + u(k)")
    assert Grammar.narx().derive("1 + u(k)").sentence == "θ + θ × u + ε"


class TestGreyBox:
    """A fixed initial tree: its terms are in every structure and nothing can edit them."""

    grammar = Grammar.narx(("u", "udot"), "F", max_lag=3).with_initial("u(k)*abs(u(k)) + udot(k)")

    def test_the_fixed_terms_are_read_off_the_initial_tree(self) -> None:
        assert str(self.grammar.alphabet.fixed) == "u(k)*abs(u(k)) + udot(k)"
        assert [c.function for c in self.grammar.alphabet.choices] == ["", "", ""]

    @given(st.data())
    def test_every_derivable_structure_contains_them(self, data: st.DataObject) -> None:
        tree = derive(self.grammar.tag, data.draw(derivations(self.grammar.tag, max_steps=8)))
        assert set(self.grammar.alphabet.fixed) <= set(self.grammar.structure(tree))

    def test_structures_go_round(self) -> None:
        tree = self.grammar.derive("F(k) = F(k-1)*u(k-2) + u(k)*abs(u(k)) + udot(k)")
        assert str(self.grammar.structure(tree)) == ("u(k)*abs(u(k)) + u(k-2)*F(k-1) + udot(k)")

    def test_a_structure_without_them_is_refused(self) -> None:
        with pytest.raises(AdjoinError, match=r"fixes the term u\(k\)\*abs\(u\(k\)\)"):
            self.grammar.derive("udot(k)")

    def test_their_lags_count(self) -> None:
        grammar = Grammar.narx(max_lag=3).with_initial("u(k-9)")
        assert grammar.alphabet.max_lag == 9

    def test_fixing_more_keeps_what_is_fixed(self) -> None:
        grammar = Grammar.narx().with_initial("u(k)^2").with_initial("y(k-1)")
        assert str(grammar.alphabet.fixed) == "u(k)^2 + y(k-1)"

    def test_any_grammar_the_samplers_can_use_takes_them(self) -> None:
        mine = Grammar.from_text(
            "start S\ninputs u\noutput y\ntree a = S(eps)\n"
            "tree b = S(theta times expr1(L(u)) + S*)\ntree d = L(q^-1 L*)"
        ).with_initial("u(k)*abs(y(k-1))")
        assert str(mine.alphabet.fixed) == "u(k)*abs(y(k-1))"
        assert mine.derive("u(k)*abs(y(k-1)) + u(k-2)").sentence.endswith("θ × u × abs q⁻¹ y + ε")
        with pytest.raises(AdjoinError, match="declares no output"):
            Grammar.keith().with_initial("u(k)")

    def test_it_survives_the_text_format(self) -> None:
        assert Grammar.from_text(self.grammar.to_text()) == self.grammar
