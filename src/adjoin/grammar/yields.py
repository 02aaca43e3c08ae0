"""What the words of a dynamical grammar mean: the yield of a derived tree, read as a structure.

Receives terminals in order, such as ``θ × q⁻¹ u + ε``; gives atoms, terms and structures.
"""

from __future__ import annotations

from collections.abc import Sequence

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import function_name, is_meant_as_function
from adjoin.grammar.terms import Atom, Structure

PARAMETER = "θ"
TIMES = "×"
PLUS = "+"
DELAY = "q⁻¹"
NOISE = "ε"

Words = Sequence[str]


def read_atom(words: Words, names: SignalNames) -> Atom:
    """Read ``[function] {q⁻¹} signal``: one atom, each ``q⁻¹`` one sample of delay."""
    *before, last = words or ("",)
    has_function = before and before[0] and is_meant_as_function(before[0])
    function = function_name(before.pop(0)) if has_function else ""
    signal = names.noise if last == NOISE else last
    known = last == NOISE or last in (*names.inputs, names.output)
    if not known or any(word != DELAY for word in before):
        raise AdjoinError(
            f"'{' '.join(words)}' is not an atom: expected an optional function, any number of"
            f" {DELAY}, then one of {', '.join((*names.inputs, names.output, NOISE))}"
        )
    return Atom(signal, len(before), function)


def split_at(words: Words, separator: str) -> list[list[str]]:
    """The stretches of `words` between the separators."""
    parts: list[list[str]] = [[]]
    for word in words:
        if word == separator:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def read_structure(words: Words, names: SignalNames) -> Structure:
    """Read a whole yield ``θ × atom × … + θ × atom … + ε`` as a structure.

    Raises
    ------
    AdjoinError
        If a product has not exactly one parameter, or the bare noise is missing or repeated.
    """
    terms = []
    noises = 0
    for product in split_at(words, PLUS):
        factors = split_at(product, TIMES)
        if factors == [[NOISE]]:
            noises += 1
            continue
        if factors.count([PARAMETER]) != 1:
            raise AdjoinError(f"'{' '.join(product)}' needs exactly one parameter {PARAMETER}")
        terms.append(tuple(read_atom(f, names) for f in factors if f != [PARAMETER]))
    if noises != 1:
        raise AdjoinError(f"the yield must contain the bare noise {NOISE} once, not {noises} times")
    return Structure(tuple(terms), names)
