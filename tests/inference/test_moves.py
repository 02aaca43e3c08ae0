"""`Moves`: the nine moves by name, as a user sets them."""

from __future__ import annotations

import math
from dataclasses import fields

import numpy as np
import pytest

from adjoin import AdjoinError, Grammar
from adjoin.grammar.encoding import Encoding
from adjoin.inference.moves import Moves

PAIRS = [
    ("add_term", "remove_term"),
    ("add_factor", "remove_factor"),
    ("add_lag", "remove_lag"),
    ("swap_input", "swap_output"),
]
NAMES = [field.name for field in fields(Moves)]


def test_the_defaults_are_the_papers() -> None:
    assert list(Moves().probabilities.values()) == [0.3, 0.12, 0.12] + 4 * [0.08] + 2 * [0.07]
    assert Moves.read(None) == Moves()
    assert Moves.read(Moves(0.5, 0.25, 0.25, *6 * [0.0])).stay == 0.5


def test_moves_by_name_are_all_that_is_tried() -> None:
    moves = Moves.read({"remove_term": 0.5, "add_term": 0.5})
    assert moves.probabilities == {**dict.fromkeys(NAMES, 0.0), "add_term": 0.5, "remove_term": 0.5}
    assert Moves.read(moves) is moves
    assert Moves.read(moves.probabilities) == moves


@pytest.mark.parametrize(("move", "inverse"), PAIRS)
def test_a_move_needs_its_inverse(move: str, inverse: str) -> None:
    for one in (move, inverse):
        with pytest.raises(AdjoinError, match=f"'{move}' and '{inverse}' undo each other"):
            Moves.read({"stay": 0.5, one: 0.5})
    assert Moves.read({"stay": 0.5, move: 0.1, inverse: 0.4}).stay == 0.5


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, "0.1", None])
def test_a_probability_out_of_range_is_named(name: str, value) -> None:
    with pytest.raises(AdjoinError, match=f"move '{name}' must be in"):
        Moves.read({**Moves().probabilities, name: value})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"stay": 0.9}, "add up to 0.9, not to 1"),
        ({"stay": 0.6, "add_term": 0.3, "remove_term": 0.3}, "add up to 1.2, not to 1"),
        ({}, "add up to 0, not to 1"),
        ({"jump": 1.0}, "no move is called 'jump'; there are stay, add_term"),
        ([0.5, 0.5], "moves must be probabilities by name"),
        (0.5, "moves must be probabilities by name, not 0.5"),
    ],
)
def test_wrong_moves_are_refused(given, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Moves.read(given)


def test_rounding_in_the_sum_is_forgiven() -> None:
    assert Moves.read({"stay": 0.7 + 0.2, "add_lag": 0.05, "remove_lag": 0.05})


def test_numpy_numbers_will_do() -> None:
    assert Moves.read({"stay": np.float64(0.5), "add_lag": 0.25, "remove_lag": 0.25}).stay == 0.5


def test_the_kernels_table_leads_back_by_the_inverse_move() -> None:
    """Whatever one move makes of an atom, the other can undo; n_choices counts the ways."""
    encoding = Encoding(Grammar.narx(("u", "v"), functions="abs", max_lag=3).alphabet)
    table = Moves().table(encoding)

    def results(move: int, atom: int) -> list[int]:
        start = table.choice_start[move, atom]
        return table.choice[start : start + table.n_choices[move, atom]].tolist()

    for move, inverse in ((5, 6), (6, 5), (7, 8), (8, 7)):
        for atom in range(len(encoding.atoms)):
            assert all(atom in results(inverse, new) for new in results(move, atom))
    assert table.n_choices[:5].sum() == 0
    output = encoding.number[encoding.alphabet.atoms[0]._replace(signal="y", lag=1)]
    swapped = [encoding.atoms[i] for i in results(8, output)]
    assert [(atom.signal, atom.lag) for atom in swapped] == [("u", 1), ("v", 1)]
