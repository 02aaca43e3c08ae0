"""The parser of equations: text to terms with coefficients.

Receives text; gives an `Equation`, which ``equation.py`` prints back. The grammar of the text is a
sum of products, read by recursive descent: no ``eval``.

    equation := [name "(k)" "="] sum
    sum      := [sign] product { sign product }
    product  := factor { ("*" factor) | ("/" number) }
    factor   := ( number | constant | atom ) [ ("^" | "**") whole number ]
    atom     := name "(k" [("-" | "+") whole number] ")" | function "(" atom ")"
              | "pos(" atom [("-" | "+") number] ")"
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from typing import NoReturn

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.equation import Coefficient, Equation
from adjoin.grammar.functions import FUNCTIONS, POS, hinge_word
from adjoin.grammar.spelling import reduce_product
from adjoin.grammar.terms import Atom, Structure, Term, make_term

# Bounds on what may be typed, so that a slip like u(k)^99999999 is an error and not a full memory.
MAX_POWER = 32
MAX_LAG = 10_000

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<symbol>\*\*|[-+*/^()=])"
)
_HINTS = {
    "[": "; write u(k-1) with round brackets",
    ",": "; write decimals with a point, 0.5",
    "|": "; write abs(...)",
}
_UNICODE = str.maketrans({"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "²": "^2", "³": "^3"})


def read_equation(
    text: str,
    names: SignalNames | None = None,
    constants: Mapping[str, float] | None = None,
    inputs: str | Iterable[str] | None = None,
    is_respelled: bool = True,
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
        Values of named coefficients such as ``Cd`` in ``Cd*u(k)*abs(u(k))``.
    inputs : str or iterable of str, optional
        The inputs alone, where the left-hand side says the rest.
    is_respelled : bool
        Whether products get their one spelling, by which ``sign(x)^2`` is 1 where x is 0 too; what
        is read from a file is taken as it is.

    Raises
    ------
    AdjoinError
        With the column where reading stopped.
    """
    if not isinstance(text, str):
        raise AdjoinError(f"an equation is text, not {type(text).__name__}")
    values: dict[str, float] = {}
    for name, value in (constants or {}).items():
        try:
            values[name] = float(value)
        except (TypeError, ValueError):
            raise AdjoinError(f"the constant '{name}' must be a number, not {value!r}") from None
    return _Reader(text, values, is_respelled).read(names, inputs)


class _Reader:
    """Recursive descent over the tokens of one equation."""

    def __init__(self, text: str, constants: Mapping[str, float], is_respelled: bool) -> None:
        self.is_respelled = is_respelled
        self.text = text.translate(_UNICODE)
        self.constants = constants
        self.tokens: list[tuple[str, str, int]] = []
        self.place = 0
        self.bare: dict[str, int] = {}  # names without brackets behind them, and where
        position = 0
        while position < len(self.text):
            if self.text[position].isspace():
                position += 1
                continue
            match = _TOKEN.match(self.text, position)
            if match is None:
                sign = self.text[position]
                self._fail(f"'{sign}' has no meaning here{_HINTS.get(sign, '')}", position)
            assert match.lastgroup is not None
            self.tokens.append((match.lastgroup, match.group(), position))
            position = match.end()

    def read(self, names: SignalNames | None, inputs: str | Iterable[str] | None) -> Equation:
        output = self._left_hand_side()
        if names is not None and output not in (None, names.output):
            raise AdjoinError(f"the equation is for '{output}', but the output is '{names.output}'")
        parts = self._sum()
        if self.place < len(self.tokens):
            self._fail("expected +, - or * here")
        if names is None:
            seen = [atom.signal for atoms, _ in parts for atom in atoms]
            names = _name_signals(output or "y", seen, inputs)
        self._check_constants(names)
        # "+ e(k)" is part of every model and carries no coefficient: it may be written once.
        bare_noise = ([Atom(names.noise, 0)], Coefficient(1.0))
        if bare_noise in parts:
            parts.remove(bare_noise)
        total: dict[Term, dict[tuple[str, ...], float]] = {}
        for atoms, (value, constants) in parts:
            # Checked as it was typed: sign(y(k))^2 is an error, and not 1.
            product = make_term(atoms, names)
            if self.is_respelled:
                product = make_term(reduce_product(product), names)
            term = total.setdefault(product, {})
            term[constants] = term[constants] + value if constants in term else value
        if not all(math.isfinite(value) for term in total.values() for value in term.values()):
            raise AdjoinError("a coefficient of the equation is too large to be a number")
        structure = Structure(tuple(total), names)
        coefficients = tuple(
            tuple(Coefficient(value, constants) for constants, value in sorted(total[term].items()))
            for term in structure
        )
        return Equation(structure, coefficients)

    def _check_constants(self, names: SignalNames) -> None:
        """A signal without its (k) would pass for a coefficient, and a slip for a constant."""
        for name, position in self.bare.items():
            if name in names.ordered:
                self._fail(f"'{name}' is a signal; write {name}(k)", position)
        if unused := sorted(self.constants.keys() - self.bare.keys()):
            raise AdjoinError(f"the equation has no constant '{unused[0]}'")

    def _left_hand_side(self) -> str | None:
        if not any(token == "=" for _, token, _ in self.tokens):
            return None
        name = self._take("name", "a signal such as y(k)")
        if self._peek() == "=":
            self._fail(f"write the output as {name[1]}(k)", name[2])
        output = self._atom(name)
        if output.lag or output.function:
            self._fail("the left-hand side must be the output now, such as y(k)", 0)
        self._take("=", "=")
        return output.signal

    def _sum(self) -> list[tuple[list[Atom], Coefficient]]:
        if [token for _, token, _ in self.tokens[self.place :]] == ["0"]:
            self.place += 1
            return []  # the empty structure
        parts = []
        while True:
            sign = 1.0
            while self._peek() in ("+", "-"):
                sign *= -1.0 if self._next()[1] == "-" else 1.0
            parts.append(self._product(sign))
            if self._peek() not in ("+", "-"):
                return parts

    def _product(self, sign: float) -> tuple[list[Atom], Coefficient]:
        atoms: list[Atom] = []
        named: list[str] = []
        begin = self.place
        value = sign * self._factor(atoms, named)
        while self._peek() in ("*", "/"):
            if self._next()[1] == "*":
                value *= self._factor(atoms, named)
                continue
            divisor = float(self._take("number", "a number to divide by")[1])
            if divisor == 0.0:
                self._fail("division by zero", self.tokens[self.place - 1][2])
            value /= divisor
        if not math.isfinite(value):
            self._fail("the number is too large", self.tokens[begin][2])
        if len(atoms) > MAX_POWER:
            raise AdjoinError(f"a term has {len(atoms)} factors; the limit is {MAX_POWER}")
        return atoms, Coefficient(value, tuple(sorted(named)))

    def _factor(self, atoms: list[Atom], named: list[str]) -> float:
        """Read one factor: an atom or a constant is appended, a number returned."""
        if self._peek() == "(":
            self._fail("brackets are not expanded: write the equation as a sum of products")
        kind, token, position = self._next("a number or a signal such as u(k-1)")
        if kind == "number":
            return self._number(float(token))
        if kind != "name":
            self._fail("expected a number or a signal such as u(k-1)", position)
        if self._peek() == "(":
            atom = self._atom((kind, token, position))
            atoms.extend([atom] * self._power())
            return 1.0
        if token == "k":
            self._fail("k counts samples and is not a signal", position)
        self.bare.setdefault(token, position)
        if token in self.constants:
            return self._number(self.constants[token])
        named.extend([token] * self._power())
        return 1.0

    def _number(self, base: float) -> float:
        try:
            return base ** self._power()
        except OverflowError:
            return math.inf

    def _power(self) -> int:
        if self._peek() not in ("^", "**"):
            return 1
        self._next()
        _, token, position = self._take("number", "a whole number as the power")
        if not _is_whole(token) or not 1 <= int(token) <= MAX_POWER:
            self._fail(f"a power must be a whole number from 1 to {MAX_POWER}", position)
        return int(token)

    def _atom(self, name: tuple[str, str, int]) -> Atom:
        _, token, position = name
        is_function = self._is_function(token)
        self._take("(", "(")
        if is_function:
            return self._function(token)
        if self._take("name", "k, as in u(k-1)")[1] != "k":
            known = ", ".join(name for name in FUNCTIONS if name and name != "sqrtabs")
            hint = f"'{token}' is not a function (known: {known}, sqrt(abs(.)))"
            if self._peek() != "(":
                hint = f"a signal's argument is k, as in {token}(k-1)"
            self._fail(hint, self.tokens[self.place - 1][2])
        lag = 0
        if self._peek() in ("-", "+"):
            ahead = self._next()[1] == "+"
            _, number, place = self._take("number", "a whole number of samples")
            if not _is_whole(number) or int(number) > MAX_LAG:
                self._fail(f"a lag must be a whole number up to {MAX_LAG}", place)
            lag = int(number)
            if ahead and lag:
                self._fail(f"{token}(k+{lag}) is in the future; shift the equation", position)
        self._take(")", ")")
        return Atom(token, lag)

    def _function(self, name: str) -> Atom:
        """Read the argument of a function, whose bracket is open already."""
        if name == "sqrt":
            if self._take("name", "abs(...)")[1] != "abs":
                self._fail(
                    "only sqrt(abs(...)) is known: the root of a negative is not real",
                    self.tokens[self.place - 1][2],
                )
            self._take("(", "(")
        like = ", as in pos(u(k-1) - 0.25)" if name == POS else ""
        argument = self._take("name", f"a signal inside {name}(...){like}")
        if self._is_function(argument[1]):
            self._fail("a function inside a function is not supported", argument[2])
        atom = self._atom(argument)
        if name == POS:
            return Atom(atom.signal, atom.lag, hinge_word(self._knot()))
        if self._peek() in ("-", "+"):
            self._fail(f"only pos(...) takes a shift, not {name}(...)")
        self._take(")", ")")
        if name == "sqrt":
            self._take(")", ")")
        return Atom(atom.signal, atom.lag, "sqrtabs" if name == "sqrt" else name)

    def _knot(self) -> float:
        """Read what is taken off the signal inside pos(...), and its closing bracket."""
        knot = 0.0
        if self._peek() in ("-", "+"):
            sign = 1.0 if self._next()[1] == "-" else -1.0
            _, token, position = self._take("number", "a number, as in pos(u(k-1) - 0.25)")
            knot = sign * float(token)
            if not math.isfinite(knot):
                self._fail("the number is too large", position)
        self._take(")", ")")
        return knot

    def _is_function(self, name: str) -> bool:
        """Whether a name that was just read is a function; a signal may be called pos."""
        behind = [token for _, token, _ in self.tokens[self.place : self.place + 2]]
        is_signal = name == POS and behind == ["(", "k"]
        return name == "sqrt" or (name in FUNCTIONS and not is_signal)

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


def _is_whole(token: str) -> bool:
    return re.fullmatch("[0-9]{1,9}", token) is not None


def _name_signals(
    output: str, seen: Iterable[str], inputs: str | Iterable[str] | None
) -> SignalNames:
    """The names of an equation's signals: inputs as declared, else in the order they are seen."""
    noise = SignalNames.declare((), output).noise
    if inputs is None:
        found = dict.fromkeys(seen)
        return SignalNames(tuple(s for s in found if s not in (output, noise)), output, noise)
    names = SignalNames.declare(inputs, output)
    for signal in seen:
        if signal not in names.ordered:
            raise AdjoinError(
                f"the equation uses '{signal}', which is not among the inputs"
                f" {', '.join(names.inputs) or '(none)'}"
            )
    return names
