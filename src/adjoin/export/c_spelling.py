"""How C spells numbers and functions, in double or in single precision.

Receives functions of the register (``kernels``) by name; gives C that has the same value, to the
last bit where the mathematics library is the same.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from adjoin.errors import AdjoinError
from adjoin.grammar.functions import POS, find_function
from adjoin.kernels.simulate import LIMIT

_LARGEST_SINGLE = 1e30  # in the place of the 1e100 where runs are lost, which no float holds

_CALLS = {
    "abs": "fabs{s}({x})",
    "sin": "sin{s}({x})",
    "cos": "cos{s}({x})",
    "tanh": "tanh{s}({x})",
    "sign": "{name}_sign({x})",
    "exp": "{name}_exp({x})",
    "sqrtabs": "sqrt{s}(fabs{s}({x}))",
    POS: "{name}_pos({x})",
}
_HELPERS = {
    "sign": """
static {real} {name}_sign({real} x)
{{
    return ({real})((x > {zero}) - (x < {zero}));
}}
""",
    # The same bound as where it was fitted: beyond, the result counts as infinite.
    "exp": """
static {real} {name}_exp({real} x)
{{
    return x < {largest} ? exp{s}(x) : {infinity};
}}
""",
    POS: """
static {real} {name}_pos({real} x)
{{
    return x <= {zero} ? {zero} : x;
}}
""",
}


@dataclass(frozen=True)
class Spelling:
    """The type of numbers, and what it does to everything that is written.

    Parameters
    ----------
    name : str
        What functions of the file begin with.
    single : bool
        Whether numbers are ``float``.
    """

    name: str
    single: bool = False

    @property
    def real(self) -> str:
        """The type."""
        return "float" if self.single else "double"

    @property
    def suffix(self) -> str:
        """Of literals, and of functions of math.h."""
        return "f" if self.single else ""

    @property
    def n_bytes(self) -> int:
        """Of one number."""
        return 4 if self.single else 8

    def number(self, value: float) -> str:
        """A literal that reads back as the number, or as the ``float`` nearest to it."""
        if not self.single:
            return repr(float(value))
        with np.errstate(over="ignore", under="ignore"):
            nearest = np.float32(value)
        if not np.isfinite(nearest):
            raise AdjoinError(f"{value!r} is too large for single precision; export double")
        text = repr(float(str(nearest)))
        return text + "f"

    def limit(self, value: float) -> str:
        """A bound of runs as a literal."""
        largest = _LARGEST_SINGLE if self.single else LIMIT
        return self.number(max(-largest, min(value, largest)))

    @property
    def widest(self) -> str:
        """Beyond it nothing can be predicted."""
        return self.limit(LIMIT)

    def call(self, word: str, argument: str) -> str:
        """The function that a word stands for, of an argument; hinges with their knot."""
        if not word:
            return argument
        function = find_function(word)
        shift = function.shift
        if shift:
            sign = "-" if shift > 0.0 else "+"
            argument = f"{argument} {sign} {self.number(abs(shift))}"
        return _CALLS[_kind(word)].format(x=argument, name=self.name, s=self.suffix)

    def helpers(self, words: set[str]) -> str:
        """The definitions that calls of these functions need."""
        kinds = {_kind(word) for word in words if word}
        parts = {
            "real": self.real,
            "name": self.name,
            "s": self.suffix,
            "zero": self.number(0.0),
            "largest": self.number(88.0 if self.single else 709.0),
            "infinity": "HUGE_VALF" if self.single else "HUGE_VAL",
        }
        return "".join(text.format(**parts) for kind, text in _HELPERS.items() if kind in kinds)


def is_spelled(name: str) -> bool:
    """Whether C has a spelling for a function of the register."""
    return not name or name in _CALLS


def value_at(word: str, value: float) -> float:
    """What a function is of a number, as the kernels have it."""
    function = find_function(word)
    found = function.value(value - function.shift)
    if not math.isfinite(found):
        raise AdjoinError(f"{word} of {value!r} is not finite")
    return found


def _kind(word: str) -> str:
    """The name in the register: every hinge is of one kind."""
    name = find_function(word).name
    return POS if name.startswith(f"{POS}[") else name
