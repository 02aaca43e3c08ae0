"""One spelling for one function: equal functions are spelled alike, different ones are not."""

from __future__ import annotations

from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.simulate import FUNCTIONS, apply
from tests.strategies import atoms

from adjoin import Grammar, Model, Structure
from adjoin.data.names import SignalNames
from adjoin.grammar.equation import term_text
from adjoin.grammar.spelling import find_clashes, is_reduced, reduce_product
from adjoin.grammar.terms import Atom, Term, make_term

NAMES = SignalNames(("u", "v"), "y")
SIGNED = [Atom("u", 1, name) for name in ("", "abs", "sign", "sqrtabs")]
BENT = [*SIGNED, Atom("u", 1, "pos[0]"), Atom("u", 1, "pos[0.5]"), Atom("u", 1, "pos[-0.3]")]
POINTS = np.array([-2.7, -1.3, -0.4, -0.1, 0.2, 0.9, 1.8, 3.1])


def value(term: Term) -> np.ndarray:
    """A product of functions of one signal at some points other than 0."""
    columns = [[apply(FUNCTIONS, atom.function, x) for x in POINTS.tolist()] for atom in term]
    return np.prod([np.ones(len(POINTS)), *columns], axis=0)


def test_products_are_spelled_alike_if_and_only_if_they_are_the_same_function() -> None:
    products = [p for d in range(5) for p in combinations_with_replacement(BENT, d)]
    spelled: dict[tuple[Atom, ...], np.ndarray] = {}
    for product in products:
        reduced = tuple(sorted(reduce_product(product)))
        np.testing.assert_allclose(value(reduced), value(product), rtol=1e-12)
        spelled.setdefault(reduced, value(product))
    different = list(spelled.values())
    for i, one in enumerate(different):
        for other in different[:i]:
            assert not np.allclose(one, other, rtol=1e-9)
    assert len(products) == 330
    assert len(different) < 150


@given(st.lists(atoms(NAMES, noise=False), max_size=6))
def test_reducing_twice_is_reducing_once_and_never_makes_it_longer(product: list[Atom]) -> None:
    reduced = reduce_product(product)
    assert sorted(reduce_product(reduced)) == sorted(reduced)
    assert len(reduced) <= len(product)


@given(st.lists(atoms(NAMES, max_lag=2, noise=False), max_size=5))
def test_a_product_is_reduced_if_no_two_of_its_atoms_clash(product: list[Atom]) -> None:
    words = [*(FUNCTIONS.keys() - {"pos"}), *{a.function for a in product}, "pos[0]"]
    every = [Atom(s, lag, f) for s in ("u", "v", "y") for lag in (0, 1, 2) for f in words]
    is_its_own = sorted(reduce_product(product)) == sorted(product)
    assert is_reduced(product, find_clashes(every)) == is_its_own


def test_only_spellings_that_the_alphabet_has_take_the_place_of_others() -> None:
    plain, absolute, sign, root = SIGNED
    assert find_clashes([plain, sign]) == {sign: [sign]}
    assert find_clashes([plain, absolute]) == {absolute: [absolute]}
    assert set(find_clashes(SIGNED)[sign]) == {plain, absolute, sign}
    assert find_clashes([plain, root]) == {}


def test_a_grammar_without_the_other_spelling_keeps_its_own() -> None:
    text = """
start S
inputs u
output y
max_degree 2
tree a = S(eps)
tree u1 = S(theta times P(sqrtabs L(u)) + S*)
tree u2 = P(sqrtabs L(u) times P*)
tree d = L(q^-1 L*)
"""
    grammar = Grammar.from_text(text)
    tree = grammar.derive("sqrt(abs(u(k)))^2")
    assert str(grammar.structure(tree)) == "sqrt(abs(u(k)))^2"


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """sign(x)^2 is 1 but where x is 0, so that a file may mean what it says."""
    structure = Structure(((Atom("u", 0, "sign"),) * 2,), SignalNames())
    Model(structure, (2.0,)).save(tmp_path / "model.json")
    assert Model.read(tmp_path / "model.json").simulate([0.0, 1.0]).tolist() == [0.0, 2.0]


def test_a_derived_tree_yields_terms_in_their_spelling() -> None:
    grammar = Grammar.narx(functions="sqrtabs", max_lag=1, max_degree=2)
    fixed = grammar.with_initial("sqrt(abs(u(k)))^2 + abs(y(k-1))^2")
    assert str(fixed.alphabet.fixed) == "abs(u(k)) + y(k-1)^2"


@pytest.mark.parametrize("functions", ["sign", "sqrtabs", "sign, sqrtabs, sin"])
def test_every_term_of_an_alphabet_can_be_typed_and_derived(functions: str) -> None:
    grammar = Grammar.narx(functions=functions, max_lag=1, max_degree=2)
    alphabet = grammar.alphabet
    for product in combinations_with_replacement(alphabet.atoms, 2):
        term = make_term(reduce_product(product), grammar.signals)
        assert grammar.structure(grammar.derive(term_text(term))).terms == (term,)
