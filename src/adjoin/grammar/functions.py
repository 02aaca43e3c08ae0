"""The functions that an atom may stand in, by the words that grammars have for them.

Receives words such as ``abs`` and ``pos[0.25]``; gives the entries of the register (``kernels``),
those of hinges with their knot. Every knot makes a word of its own, so that whoever knows an atom
by signal, lag and word needs to know nothing of knots.
"""

from __future__ import annotations

import math
import re
from difflib import get_close_matches
from functools import lru_cache

from adjoin.errors import AdjoinError
from adjoin.kernels.register import REGISTER, Function

FUNCTIONS: dict[str, Function] = {function.name: function for function in REGISTER}
"""The register by name. ``pos`` alone is no word: a signal, a position, may be called that."""

HINGE = "hinge"
"""What stands for hinges whose knots are yet to be taken from data."""

POS = "pos"
"""What hinges are made of."""

_SYNONYMS = {"sqrt(abs)": "sqrtabs", "sqrt(abs(.))": "sqrtabs", POS: f"{POS}[0]"}
_BRACKETED = re.compile(r"(?P<name>\w+)\[(?P<knot>[^\[\]]*)\]")


def hinge_word(knot: float) -> str:
    """The word of max(x - c, 0): ``pos[0.25]``; it reads back to exactly the same knot c."""
    if not math.isfinite(knot):
        raise AdjoinError(f"the knot of a hinge must be a finite number, not {knot!r}")
    return f"{POS}[{number_text(knot)}]"


def number_text(value: float) -> str:
    """The shortest text of a number that reads back exactly, a whole one without a point."""
    return repr(float(value) + 0.0).removesuffix(".0")  # adding 0 takes the sign off a zero


def is_function(word: str) -> bool:
    """Whether a word stands for a function; hinges must be spelled as `hinge_word` does."""
    return _look_up(word) is not None


def find_function(word: str) -> Function:
    """What a word stands for; the empty one for the signal itself."""
    function = _look_up(word)
    if function is None:
        raise AdjoinError(f"unknown function '{word}'")
    return function


@lru_cache(maxsize=4096)
def _look_up(word: str) -> Function | None:
    if word in FUNCTIONS:
        return FUNCTIONS[word] if word != POS else None
    knot = _read_knot(word)
    if knot is None or hinge_word(knot) != word:
        return None
    return FUNCTIONS[POS]._replace(name=word, shift=knot)


def is_hinge(word: str) -> bool:
    """Whether a word stands for a function of x - c, with c of any value."""
    return find_function(word).code == FUNCTIONS[POS].code


def is_meant_as_function(word: str) -> bool:
    """Whether a word before a signal is to be a function, rightly spelled or not."""
    return word in FUNCTIONS or word.startswith(f"{POS}[")


def function_name(name: str) -> str:
    """The canonical word of a function: ``sqrt(abs(.))`` is ``sqrtabs``; unknown ones raise."""
    plain = name.replace(" ", "").replace("(.)", "")
    plain = _SYNONYMS.get(plain, plain)
    if plain and is_function(plain):
        return plain
    knot = _read_knot(plain)
    if knot is not None:
        return hinge_word(knot)
    if plain == HINGE:
        raise AdjoinError(
            "the knots of hinges come from data: Identifier(functions='hinge') and adjoin fit"
            " --functions hinge place them; without data write each knot, as in pos[0.25]"
        )
    if _BRACKETED.fullmatch(plain):
        raise AdjoinError(
            f"cannot read the function '{name}': only pos takes a knot, a finite number, as in"
            " pos[0.25] for the larger of x - 0.25 and 0"
        )
    known = [f"{POS}[0.25]" if text == POS else text for text in FUNCTIONS if text]
    meant = get_close_matches(plain, known, n=1)
    hint = f" (did you mean {meant[0]}?)" if meant else ""
    raise AdjoinError(f"unknown function '{name}'{hint}; the grammar offers {', '.join(known)}")


def _read_knot(word: str) -> float | None:
    match = _BRACKETED.fullmatch(word)
    if match is None or match["name"] != POS:
        return None
    try:
        knot = float(match["knot"])
    except ValueError:
        return None
    return knot if math.isfinite(knot) else None
