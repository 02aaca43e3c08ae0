"""The names by which equations call signals: what is legal, and how texts become names.

Receives names as users and files write them; gives `SignalNames` to everything that has signals.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from adjoin.errors import AdjoinError

# k, and what functions are called; a test holds it against the register in ``kernels``, which this
# layer may not import.
_LONGEST_UNIT = 12  # characters; what is longer in brackets is a remark
RESERVED = {"k", "abs", "sin", "cos", "tanh", "sign", "exp", "sqrt", "sqrtabs"}


def legal_name(text: str) -> str:
    """Return the signal name nearest to a text: ``"Force (N)"`` becomes ``"Force_N"``."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text):
        text = "".join(map(_latin, unicodedata.normalize("NFKD", text)))
        text = re.sub(r"\W+", "_", text.encode("ascii", "ignore").decode()).strip("_") or "signal"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if text in RESERVED else text


def _latin(character: str) -> str:
    """Spell a Greek letter by its Unicode name: ω is omega, Ω is Omega."""
    kind, _, name = unicodedata.name(character, "").partition(" LETTER ")
    if not kind.startswith("GREEK") or not name:
        return character
    spelled = name.split()[-1].lower()
    return spelled.capitalize() if kind.endswith("CAPITAL") else spelled


def split_unit(text: str) -> tuple[str, str]:
    """Take the unit off a name: ``"Force (N)"`` is ``"Force"`` in ``"N"``; empty if not known."""
    found = re.fullmatch(r"(.*?)\s*[\[(]([^\[\]()]*(?:\([^()]*\)[^\[\]()]*)?)[\])]\s*", text)
    if found is None:
        return text.strip(), ""
    return found[1].strip(), plain_unit(found[2])


def plain_unit(text: str) -> str:
    """A unit without its brackets; empty for a question mark or dash, and for whole sentences."""
    unit = text.strip().strip("[]").strip()
    if unit.startswith("(") and unit.endswith(")"):
        unit = unit[1:-1].strip()
    is_unit = 0 < len(unit) <= _LONGEST_UNIT and unit.strip("?-–— ")
    return unit if is_unit else ""


def split_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Take names apart: ``"u, udot"`` and ``["u", "udot"]`` are the same two."""
    if isinstance(names, str):
        return tuple(part.strip() for part in names.split(",") if part.strip())
    found = tuple(names) if isinstance(names, Iterable) else (names,)
    for name in found:
        if not isinstance(name, str):
            raise AdjoinError(f"{name!r} is not a name; write 'u, udot' or ['u', 'udot'].")
    return found


@dataclass(frozen=True)
class SignalNames:
    """The names by which equations call the signals; no inputs for an autonomous system.

    ASCII letters, digits and underscores, no digit first; `k` and the functions are reserved.
    Several inputs may be one text with commas.
    """

    inputs: tuple[str, ...] = ("u",)
    output: str = "y"
    noise: str = "e"

    def __post_init__(self) -> None:
        inputs = split_names(self.inputs)
        object.__setattr__(self, "inputs", inputs)
        for name in self.ordered:
            if (legal := legal_name(str(name))) != name:
                fault = (
                    "reserved" if str(name) in RESERVED else "not legal (use letters, digits and _)"
                )
                raise AdjoinError(f"signal name {name!r} is {fault}; rename it, e.g. to {legal!r}.")
        signals = Counter((*inputs, self.output))
        name, times = signals.most_common(1)[0]
        if times > 1:
            raise AdjoinError(f"{times} signals are called {name!r}; give each its own name.")
        if self.noise in signals:
            raise AdjoinError(
                f"the signal {self.noise!r} has the name of the noise; rename it, or pass another"
                f" noise name: SignalNames(..., noise='{self.noise}_noise')."
            )

    @classmethod
    def declare(cls, inputs: str | Iterable[str], output: str = "y") -> SignalNames:
        """Name the signals, and the noise `e`, or `e_noise` where a signal has that name."""
        inputs, noise = split_names(inputs), "e"
        while noise in (*inputs, output):
            noise += "_noise"
        return cls(inputs, output, noise)

    @property
    def ordered(self) -> tuple[str, ...]:
        """Inputs, then the output, then the noise."""
        return (*self.inputs, self.output, self.noise)

    def position(self, name: str) -> int:
        """Index of a name in `ordered`."""
        if name not in self.ordered:
            raise AdjoinError(f"no signal is called {name!r}; known are {', '.join(self.ordered)}.")
        return self.ordered.index(name)
