"""Equations as text, LaTeX and SymPy; the text form is printed and parsed by this one module.

Receives text or terms with coefficients; gives terms with coefficients or text. The grammar of the
text form is a sum of products, read by recursive descent: no ``eval``.

    equation := [name "(k)" "="] sum
    sum      := [sign] product { sign product }
    product  := factor { ("*" factor) | ("/" number) }
    factor   := ( number | constant | atom ) [ ("^" | "**") whole number ]
    atom     := name "(k" [("-" | "+") whole number] ")" | function "(" atom ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

from adjoin.errors import AdjoinError
from adjoin.grammar.terms import FUNCTIONS, Atom, Structure, Term, make_term, powers
from adjoin.signals import SignalNames

if TYPE_CHECKING:
    import sympy

# Bounds on what may be typed, so that a slip like u(k)^99999999 is an error and not a full memory.
MAX_POWER = 32
MAX_LAG = 10_000

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>\*\*|[-+*/^()=])"
)
_UNICODE = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "²": "^2", "³": "^3"})


@dataclass(frozen=True)
class Equation:
    """What a text said.

    Parameters
    ----------
    structure : Structure
        Its terms, over the signals it names: inputs in declared order, else as they appear.
    theta : tuple of float
        Their coefficients; a term that is written twice has the sum.
    unvalued : tuple of str
        Named coefficients that were given no value and stand for 1.
    """

    structure: Structure
    theta: tuple[float, ...]
    unvalued: tuple[str, ...] = ()

    @property
    def stated_theta(self) -> tuple[float, ...] | None:
        """The coefficients, or None if some were only named."""
        return None if self.unvalued else self.theta

    def __str__(self) -> str:
        return equation_text(self.structure.names.output, self.structure.terms, self.stated_theta)

    def latex(self) -> str:
        """The equation in LaTeX."""
        return equation_latex(self.structure.names.output, self.structure.terms, self.stated_theta)


def read_equation(
    text: str,
    names: SignalNames | None = None,
    constants: Mapping[str, float] | None = None,
) -> Equation:
    """Read ``y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)``, or a right-hand side alone.

    Parameters
    ----------
    text : str
        The equation. A trailing ``+ e(k)``, the bare noise, may be written and changes nothing.
    names : SignalNames, optional
        The declared signals. Without them the left-hand side names the output (``y`` if there is
        none), ``e`` is the noise, and every other signal is an input.
    constants : mapping of str to float, optional
        Values of named coefficients such as ``Cd`` in ``Cd*u(k)*abs(u(k))``; a name without a value
        counts as 1.

    Raises
    ------
    AdjoinError
        With the column where reading stopped.
    """
    return _Reader(text).read(names, dict(constants or {}))


class _Reader:
    """Recursive descent over the tokens of one equation."""

    def __init__(self, text: str) -> None:
        self.text = text.translate(_UNICODE)
        self.tokens: list[tuple[str, str, int]] = []
        position = 0
        while position < len(self.text):
            if self.text[position].isspace():
                position += 1
                continue
            match = _TOKEN.match(self.text, position)
            if match is None:
                self._fail(f"'{self.text[position]}' has no meaning here", position)
            assert match.lastgroup is not None
            self.tokens.append((match.lastgroup, match.group(), position))
            position = match.end()
        self.place = 0
        self.unvalued: set[str] = set()

    def read(self, names: SignalNames | None, constants: dict[str, float]) -> Equation:
        self.constants = constants
        output = self._left_hand_side()
        if names is not None and output not in (None, names.output):
            raise AdjoinError(f"the equation is for '{output}', but the output is '{names.output}'")
        parts = self._sum()
        if self.place < len(self.tokens):
            self._fail("expected +, - or * here")
        if names is None:
            names = _infer_names(output or "y", parts)
        bare_noise = (Atom(names.noise, 0),)
        total: dict[Term, float] = {}
        for atoms, coefficient in parts:
            if tuple(atoms) == bare_noise and coefficient == 1.0:
                continue  # "+ e(k)" is part of every model and carries no coefficient
            term = make_term(atoms, names)
            total[term] = total[term] + coefficient if term in total else coefficient
        structure = Structure(tuple(total), names)
        return Equation(structure, tuple(total[t] for t in structure), tuple(sorted(self.unvalued)))

    def _left_hand_side(self) -> str | None:
        if not any(token == "=" for _, token, _ in self.tokens):
            return None
        output = self._atom(self._take("name", "a signal such as y(k)"))
        if output.lag or output.function:
            self._fail("the left-hand side must be the output now, such as y(k)", 0)
        self._take("=", "=")
        return output.signal

    def _sum(self) -> list[tuple[list[Atom], float]]:
        if [token for _, token, _ in self.tokens[self.place :]] == ["0"]:
            self.place += 1
            return []  # the empty structure
        parts = []
        while True:
            sign = 1.0
            while self._peek() in ("+", "-"):
                sign *= -1.0 if self._next()[1] == "-" else 1.0
            atoms, coefficient = self._product()
            parts.append((atoms, sign * coefficient))
            if self._peek() not in ("+", "-"):
                return parts

    def _product(self) -> tuple[list[Atom], float]:
        atoms: list[Atom] = []
        coefficient = self._factor(atoms)
        while self._peek() in ("*", "/"):
            if self._next()[1] == "*":
                coefficient *= self._factor(atoms)
                continue
            divisor = float(self._take("number", "a number to divide by")[1])
            if divisor == 0.0:
                self._fail("division by zero", self.tokens[self.place - 1][2])
            coefficient /= divisor
        if len(atoms) > MAX_POWER:
            raise AdjoinError(f"a term has {len(atoms)} factors; the limit is {MAX_POWER}")
        return atoms, coefficient

    def _factor(self, atoms: list[Atom]) -> float:
        """Read one factor; append an atom to `atoms`, or return a number to multiply by."""
        if self._peek() == "(":
            self._fail("brackets are not expanded: write the equation as a sum of products")
        kind, token, position = self._next("a number or a signal such as u(k-1)")
        if kind == "number":
            return float(token) ** self._power()
        if kind != "name":
            self._fail("expected a number or a signal such as u(k-1)", position)
        if self._peek() != "(":
            if token == "k":
                self._fail("k counts samples and is not a signal", position)
            self.unvalued |= {token} - set(self.constants)
            return float(self.constants.get(token, 1.0)) ** self._power()
        atom = self._atom((kind, token, position))
        atoms.extend([atom] * self._power())
        return 1.0

    def _power(self) -> int:
        if self._peek() not in ("^", "**"):
            return 1
        self._next()
        _, token, position = self._take("number", "a whole number as the power")
        if not token.isdigit() or not 1 <= int(token) <= MAX_POWER:
            self._fail(f"a power must be a whole number from 1 to {MAX_POWER}", position)
        return int(token)

    def _atom(self, name: tuple[str, str, int]) -> Atom:
        _, token, position = name
        self._take("(", "(")
        if token == "sqrt":
            if self._take("name", "abs(...)")[1] != "abs":
                self._fail("only sqrt(abs(...)) is known: the root of a negative is not real")
            inner = self._atom(("name", "abs", position))
            self._take(")", ")")
            if inner.function != "abs":
                self._fail("a function inside sqrt(abs(...)) is not supported", position)
            return Atom(inner.signal, inner.lag, "sqrtabs")
        if token in FUNCTIONS:
            argument = self._take("name", f"a signal inside {token}(...)")
            inner = self._atom(argument)
            self._take(")", ")")
            if inner.function:
                self._fail("a function inside a function is not supported", argument[2])
            return Atom(inner.signal, inner.lag, token)
        if self._take("name", "k, as in u(k-1)")[1] != "k":
            hint = f"'{token}' is not a function; a signal's argument is k, as in {token}(k-1)"
            self._fail(hint, self.tokens[self.place - 1][2])
        lag = 0
        if self._peek() in ("-", "+"):
            ahead = self._next()[1] == "+"
            _, number, place = self._take("number", "a whole number of samples")
            if not number.isdigit() or int(number) > MAX_LAG:
                self._fail(f"a lag must be a whole number up to {MAX_LAG}", place)
            lag = int(number)
            if ahead and lag:
                self._fail(f"{token}(k+{lag}) is in the future", position)
        self._take(")", ")")
        return Atom(token, lag)

    def _peek(self) -> str | None:
        return self.tokens[self.place][1] if self.place < len(self.tokens) else None

    def _next(self, expected: str = "more") -> tuple[str, str, int]:
        if self.place == len(self.tokens):
            self._fail(f"the equation ends where {expected} is expected", len(self.text))
        self.place += 1
        return self.tokens[self.place - 1]

    def _take(self, wanted: str, expected: str) -> tuple[str, str, int]:
        kind, token, position = self._next(expected)
        if wanted not in (kind, token):
            self._fail(f"expected {expected}, not '{token}'", position)
        return kind, token, position

    def _fail(self, message: str, position: int | None = None) -> NoReturn:
        if position is None:
            position = self.tokens[self.place][2] if self.place < len(self.tokens) else 0
        raise AdjoinError(
            f"cannot read the equation at column {position + 1}: {message}\n"
            f"  {self.text}\n  {' ' * position}^"
        )


def _infer_names(output: str, parts: Iterable[tuple[list[Atom], float]]) -> SignalNames:
    noise = "e" if output != "e" else "noise"
    seen = dict.fromkeys(atom.signal for atoms, _ in parts for atom in atoms)
    return SignalNames(tuple(s for s in seen if s not in (output, noise)), output, noise)


def term_text(term: Term) -> str:
    """``u(k-1)*y(k-2)^2``; the empty product is ``1``."""
    return "*".join(_atom_text(a) + (f"^{n}" if n > 1 else "") for a, n in powers(term)) or "1"


def _atom_text(atom: Atom) -> str:
    lagged = f"{atom.signal}(k-{atom.lag})" if atom.lag else f"{atom.signal}(k)"
    return FUNCTIONS[atom.function].text.format(lagged)


def equation_text(
    output: str, terms: Sequence[Term], theta: Iterable[float] | None, digits: int | None = None
) -> str:
    """Print an equation; without `digits` every coefficient reads back as exactly the same number.

    Without `theta` only the terms are printed.

    Examples
    --------
    >>> equation_text("y", [(Atom("u", 1),), (Atom("y", 1),)], [0.5, -0.3])
    'y(k) = 0.5*u(k-1) - 0.3*y(k-1)'
    """
    return f"{output}(k) = " + _signed_sum(terms, theta, digits, term_text, "*")


def equation_latex(
    output: str, terms: Sequence[Term], theta: Iterable[float] | None, digits: int | None = 4
) -> str:
    r"""Print an equation in LaTeX: ``y_{k} = 0.5\,u_{k-1} - 0.3\,u_{k-5}^{3}``."""
    body = _signed_sum(terms, theta, digits, term_latex, r"\,")
    return f"{_symbol_latex(output)}_{{k}} = {_tidy_exponents(body)}"


def term_latex(term: Term) -> str:
    """A term in LaTeX."""
    return r"\,".join(_power_latex(atom, n) for atom, n in powers(term)) or "1"


def _power_latex(atom: Atom, power: int) -> str:
    lag = f"k-{atom.lag}" if atom.lag else "k"
    text = FUNCTIONS[atom.function].latex.format(f"{_symbol_latex(atom.signal)}_{{{lag}}}")
    if power == 1:
        return text
    return f"{text}^{{{power}}}" if not atom.function else rf"\left({text}\right)^{{{power}}}"


def _symbol_latex(name: str) -> str:
    return name if len(name) == 1 else rf"\mathrm{{{name.replace('_', chr(92) + '_')}}}"


def _tidy_exponents(text: str) -> str:
    return re.sub(
        r"(?<![\w{])(\d+(?:\.\d+)?)e([+-]\d+)",
        lambda m: rf"{m[1]}\times 10^{{{int(m[2])}}}",
        text,
    )


def _signed_sum(
    terms: Sequence[Term],
    theta: Iterable[float] | None,
    digits: int | None,
    spell: Callable[[Term], str],
    times: str,
) -> str:
    """Join coefficient-times-term with their signs; ``0`` if there is nothing to join."""
    if theta is None:
        return " + ".join(map(spell, terms)) or "0"
    pieces: list[str] = []
    for term, value in zip(terms, theta, strict=True):
        number = repr(abs(float(value))) if digits is None else f"{abs(value):.{digits}g}"
        # The sign bit, not "< 0", so that a coefficient of -0.0 reads back as it was.
        is_negative = math.copysign(1.0, value) < 0
        sign = (" - " if is_negative else " + ") if pieces else ("-" if is_negative else "")
        pieces.append(sign + (number.removesuffix(".0") + times + spell(term) if term else number))
    return "".join(pieces) or "0"


def equation_sympy(output: str, terms: Sequence[Term], theta: Iterable[float]) -> sympy.Eq:
    """An equation as a SymPy equality in functions of the integer symbol ``k``."""
    import sympy

    k = sympy.Symbol("k", integer=True)
    wrap = {
        "": lambda x: x,
        "abs": sympy.Abs,
        "sin": sympy.sin,
        "cos": sympy.cos,
        "tanh": sympy.tanh,
        "sign": sympy.sign,
        "exp": sympy.exp,
        "sqrtabs": lambda x: sympy.sqrt(sympy.Abs(x)),
    }
    right = sympy.Add(
        *(
            sympy.Mul(
                sympy.Float(float(value)),
                *(wrap[a.function](sympy.Function(a.signal, real=True)(k - a.lag)) for a in term),
            )
            for term, value in zip(terms, theta, strict=True)
        )
    )
    return sympy.Eq(sympy.Function(output, real=True)(k), right, evaluate=False)
