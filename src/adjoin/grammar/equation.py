"""Equations printed as text, LaTeX and SymPy; ``parser.py`` reads the text form back.

Receives terms with coefficients; gives text. A printed equation reads back to exactly the same
numbers.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from adjoin.errors import AdjoinError
from adjoin.grammar.functions import find_function, number_text
from adjoin.grammar.terms import Atom, Structure, Term, powers

if TYPE_CHECKING:
    import sympy


class Coefficient(NamedTuple):
    """A number times named constants that have no value yet: ``2*Cd`` is (2.0, ("Cd",))."""

    value: float
    constants: tuple[str, ...] = ()


@dataclass(frozen=True)
class Equation:
    """What a text said.

    Parameters
    ----------
    structure : Structure
        Its terms, over the signals it names: inputs in declared order, else as they appear.
    coefficients : tuple of tuple of Coefficient
        For every term what multiplies it; numbers are added up, named constants kept apart.
    """

    structure: Structure
    coefficients: tuple[tuple[Coefficient, ...], ...]

    @property
    def constants(self) -> tuple[str, ...]:
        """The named constants that were given no value."""
        named = {name for parts in self.coefficients for part in parts for name in part.constants}
        return tuple(sorted(named))

    @property
    def theta(self) -> tuple[float, ...]:
        """The coefficients as numbers; `AdjoinError` if a constant has no value."""
        if self.constants:
            name = self.constants[0]
            raise AdjoinError(
                f"the coefficient '{name}' has no value; pass constants={{'{name}': ...}}, or write"
                f" {name}(k) if it is a signal"
            )
        return tuple(part.value for (part,) in self.coefficients)

    def __str__(self) -> str:
        return f"{self.structure.names.output}(k) = {_signed_sum(self._pieces(term_text))}"

    def latex(self) -> str:
        """The equation in LaTeX."""
        body = _signed_sum(self._pieces(term_latex), latex=True)
        return f"{_symbol_latex(self.structure.names.output)}_{{k}} = {body}"

    def _pieces(self, spell: Callable[[Term], str]) -> list[tuple[Coefficient, str]]:
        pairs = zip(self.structure, self.coefficients, strict=True)
        return [(part, spell(term) if term else "") for term, parts in pairs for part in parts]


def term_text(term: Term) -> str:
    """``u(k-1)*y(k-2)^2``; the empty product is ``1``."""
    return "*".join(_atom_text(a) + (f"^{n}" if n > 1 else "") for a, n in powers(term)) or "1"


def _atom_text(atom: Atom) -> str:
    lagged = f"{atom.signal}(k-{atom.lag})" if atom.lag else f"{atom.signal}(k)"
    return function_text(atom.function, lagged)


def function_text(word: str, argument: str) -> str:
    """An argument inside a function: ``abs(u(k))``, ``pos(u(k) - 0.25)``."""
    function = find_function(word)
    return function.text.format(argument + _shift(function.shift))


def _shift(by: float, latex: bool = False) -> str:
    """`` - 0.25`` or `` + 0.25``, in all the digits it takes to read back; nothing for 0."""
    number = number_text(abs(by))
    return f" {'-' if by > 0.0 else '+'} {tidy_exponent(number) if latex else number}" if by else ""


def equation_text(
    output: str, terms: Sequence[Term], theta: Iterable[float], digits: int | None = None
) -> str:
    """Print an equation; without `digits` every coefficient reads back as exactly the same number.

    Examples
    --------
    >>> equation_text("y", [(Atom("u", 1),), (Atom("y", 1),)], [0.5, -0.3])
    'y(k) = 0.5*u(k-1) - 0.3*y(k-1)'
    """
    pieces = [
        (Coefficient(value), term_text(term) if term else "")
        for term, value in zip(terms, theta, strict=True)
    ]
    return f"{output}(k) = " + _signed_sum(pieces, digits)


def equation_latex(
    output: str,
    terms: Sequence[Term],
    theta: Iterable[float],
    digits: int | None = None,
    offset_digits: int | None = None,
    offsets: Mapping[str, float] | None = None,
) -> str:
    r"""Print an equation in LaTeX: ``y_{k} = 0.5\,u_{k-1} - 0.3\,u_{k-5}^{3}``.

    Signals with an offset carry a tilde, and what it stands for is said behind the equation.
    Without digits every number reads back as itself.
    """
    moved = offsets or {}
    pieces = [
        (Coefficient(value), term_latex(term, moved) if term else "")
        for term, value in zip(terms, theta, strict=True)
    ]
    body = f"{_symbol_latex(output, moved)}_{{k}} = " + _signed_sum(pieces, digits, latex=True)
    meaning = [
        f"{_symbol_latex(name, moved)} = {_symbol_latex(name)}"
        + _signed_sum([(Coefficient(-offset), "")], offset_digits, latex=True, follows=True)
        for name, offset in moved.items()
    ]
    return r",\quad ".join([body, *meaning])


def term_latex(term: Term, moved: Mapping[str, float] | None = None) -> str:
    """A term in LaTeX; signals in `moved` carry a tilde."""
    return r"\,".join(_power_latex(atom, n, moved or {}) for atom, n in powers(term)) or "1"


def _power_latex(atom: Atom, power: int, moved: Mapping[str, float]) -> str:
    lag = f"k-{atom.lag}" if atom.lag else "k"
    signal = f"{_symbol_latex(atom.signal, moved)}_{{{lag}}}"
    function = find_function(atom.function)
    text = function.latex.format(signal + _shift(function.shift, latex=True))
    if power == 1:
        return text
    return f"{text}^{{{power}}}" if not atom.function else rf"\left({text}\right)^{{{power}}}"


def _symbol_latex(name: str, moved: Mapping[str, float] | None = None) -> str:
    spelled = (
        name
        if len(name) == 1 and name.isalpha()
        else rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}"
    )
    return rf"\tilde{{{spelled}}}" if moved and name in moved else spelled


def _signed_sum(
    pieces: Iterable[tuple[Coefficient, str]],
    digits: int | None = None,
    latex: bool = False,
    follows: bool = False,
) -> str:
    """Join coefficient times factor with their signs; ``0`` if there is nothing to join.

    A coefficient of 1 is left out where something else is left to print. A sum that `follows`
    something else starts with its sign.
    """
    text = ""
    for (value, constants), factor in pieces:
        named = [
            (_symbol_latex(name) if latex else name) + (f"^{n}" if n > 1 else "")
            for name, n in Counter(constants).items()
        ]
        others = [*named, factor] if factor else named
        number = repr(abs(float(value))) if digits is None else f"{abs(value):.{digits}g}"
        if others or latex:
            number = number.removesuffix(".0")
        elif number == "0":
            number = "0.0"  # a constant; a lone 0 is the empty structure
        if latex:
            number = tidy_exponent(number)
        factors = others if others and number == "1" else [number, *others]
        product = (r"\," if latex else "*").join(factors)
        # The sign bit, not "< 0", so that a coefficient of -0.0 reads back as it was.
        is_negative = math.copysign(1.0, value) < 0
        if text or follows:
            text += (" - " if is_negative else " + ") + product
        else:
            text = ("-" if is_negative else "") + product
    return text or "0"


def tidy_exponent(number: str) -> str:
    """``1.2e-05`` as LaTeX writes it."""
    mantissa, e, exponent = number.partition("e")
    return rf"{mantissa}\times 10^{{{int(exponent)}}}" if e else number


def equation_sympy(
    output: str,
    terms: Sequence[Term],
    theta: Iterable[float],
    offsets: Mapping[str, float] | None = None,
) -> sympy.Eq:
    """An equation as a SymPy equality in raw signals, functions of the integer symbol ``k``."""
    import sympy

    k = sympy.Symbol("k", integer=True)
    moved = offsets or {}

    def value_of(atom: Atom) -> sympy.Expr:
        signal = sympy.Function(atom.signal, real=True)(k - atom.lag)
        function = find_function(atom.function)
        value = signal
        for shift in (moved.get(atom.signal, 0.0), function.shift):
            value = value - sympy.Float(shift) if shift else value
        for name in function.sympy:
            value = getattr(sympy, name)(value, *([0] if name == "Max" else []))
        return value

    right = sympy.Add(
        *(
            sympy.Mul(sympy.Float(float(value)), *map(value_of, term))
            for term, value in zip(terms, theta, strict=True)
        ),
        *([sympy.Float(moved[output])] if moved.get(output) else []),
    )
    return sympy.Eq(sympy.Function(output, real=True)(k), right, evaluate=False)
