"""The pasts that a model looks at: one for each signal, and for each function of a signal.

Receives the terms of one or several models; gives `History` objects in the order of the kernel's
tables, which generated code keeps, and products of their values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from adjoin.data.names import SignalNames
from adjoin.export.identifiers import Identifiers
from adjoin.grammar.functions import find_function
from adjoin.grammar.terms import Atom, Term, function_key


class History(NamedTuple):
    """The past of one signal in one function.

    ``signal``, ``word`` : which, and the function's word, empty for the signal itself.
    ``lag`` : how far it is looked back.
    ``plain`` : its identifier without what says past or present, such as ``abs_force``.
    """

    signal: str
    word: str
    lag: int
    plain: str


Key = tuple[str, str]
"""A signal and the word of a function."""


def find_histories(
    terms: Iterable[Term], names: SignalNames, identifiers: Identifiers
) -> dict[Key, History]:
    """The pasts that some terms need, inputs first, each with a name of its own."""
    lag: dict[Key, int] = {}
    for term in terms:
        for atom in term:
            key = atom.signal, atom.function
            lag[key] = max(lag.get(key, 0), atom.lag)
    keys = sorted(lag, key=lambda key: (names.position(key[0]), function_key(key[1])))
    return {key: History(*key, lag[key], _claim(*key, identifiers)) for key in keys}


def _claim(signal: str, word: str, identifiers: Identifiers) -> str:
    """A name such as ``abs_force`` that is free together with what is made of it."""
    function = find_function(word).name.partition("[")[0] if word else ""
    wanted = f"{function}_{signal}" if function else signal
    return identifiers.claim_family(("past_", "now_", "at_"), wanted)


def value_text(atom: Atom, history: Mapping[Key, History]) -> str:
    """The value of an atom where pasts are pointers just behind the newest sample.

    ``past_force[-2]``, or ``now_force`` where only the present is looked at.
    """
    found = history[atom.signal, atom.function]
    if not found.lag:
        return f"now_{found.plain}"
    return f"past_{found.plain}[{-atom.lag}]"
