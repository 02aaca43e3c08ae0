"""Equations typeset as MathML, which browsers draw without any script or font of ours.

Receives a `Model`; gives pages and notebooks markup in which every name is escaped. The equation
comes in pieces, one ``<math>`` per term, so that a line can break between terms on a narrow screen.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from markupsafe import Markup

from adjoin.grammar.functions import find_function, number_text
from adjoin.grammar.terms import Atom, Term, powers
from adjoin.model import Model
from adjoin.modelling.digits import rounded_text

# Alone at the head of its own <math>, a sign would be set as a prefix, without room around it.
_OPERATOR = Markup('<mo form="infix" lspace="0.2em" rspace="0.3em">{}</mo>')
_MINUS, _TIMES, _APPLY, _THIN = "−", "×", "\u2061", Markup('<mspace width="0.17em"/>')


def model_html(model: Model) -> str:
    """The equation, what its Δ stand for and how large its noise is, as a notebook shows them."""
    line = Markup('<p style="margin: 0.2em 0">{}</p>')
    lines = [line.format(Markup(" ").join(equation_mathml(model)))]
    if model.offsets:
        lines.append(line.format(Markup(", ").join(offsets_mathml(model))))
    if model.noise_sd is not None:
        lines.append(line.format(f"standard deviation of the noise {model.noise_sd:.4g}"))
    if model.digits.remark:
        lines.append(line.format(model.digits.remark))
    return str(Markup("").join(lines))


def equation_mathml(model: Model, order: Sequence[int] | None = None) -> list[Markup]:
    """The left-hand side with its equals sign, then one piece per term with its sign.

    `order` has the numbers of the terms that are wanted, as they are to follow each other; default:
    all in theirs.
    """
    moved, digits = model.offsets, model.digits.coefficients
    left = Markup("<math>{}<mo>=</mo></math>").format(_power(Atom(model.names.output, 0), 1, moved))
    pieces = [left]
    terms = list(zip(model.structure, model.theta, strict=True))
    for term, theta in terms if order is None else [terms[i] for i in order]:
        is_first, is_negative = len(pieces) == 1, theta < 0.0
        sign = _MINUS if is_negative else "" if is_first else "+"
        operator = _OPERATOR.format(sign) if sign else Markup("")
        number = _number(rounded_text(abs(theta), digits))
        factors = [number, *([term_mathml(term, moved)] if term else [])]
        pieces.append(Markup("<math>{}{}</math>").format(operator, _THIN.join(factors)))
    if len(pieces) == 1:
        pieces.append(Markup("<math><mn>0</mn></math>"))
    return pieces


def term_mathml(term: Term, moved: Collection[str] = ()) -> Markup:
    """A product of atoms, without the ``<math>`` around it; signals in `moved` carry a Δ."""
    return _THIN.join([_power(atom, n, moved) for atom, n in powers(term)] or [_number("1")])


def offsets_mathml(model: Model) -> list[Markup]:
    """What each Δ stands for: the signal less its offset."""
    return [
        Markup("<math>{}<mo>=</mo>{}<mo>{}</mo>{}</math>").format(
            _name(name, moved=(name,)),
            _name(name),
            "+" if offset.startswith("-") else _MINUS,
            _number(offset.removeprefix("-")),
        )
        for name, offset in model.printed_offsets.items()
    ]


def _power(atom: Atom, power: int, moved: Collection[str]) -> Markup:
    lag = Markup("<mi>k</mi>")
    if atom.lag:
        lag = Markup("<mrow><mi>k</mi><mo>{}</mo><mn>{}</mn></mrow>").format(_MINUS, atom.lag)
    symbol = _name(atom.signal, moved)
    if power > 1 and not atom.function:
        return Markup("<msubsup>{}{}<mn>{}</mn></msubsup>").format(symbol, lag, power)
    lagged = _function(atom.function, Markup("<msub>{}{}</msub>").format(symbol, lag))
    if power == 1:
        return lagged
    return Markup("<msup><mrow>{}</mrow><mn>{}</mn></msup>").format(
        _fenced("(", lagged, ")"), power
    )


def _function(name: str, argument: Markup) -> Markup:
    function = find_function(name)
    if function.shift:
        sign = _MINUS if function.shift > 0.0 else "+"
        knot = _number(number_text(abs(function.shift)))
        argument = Markup("{}<mo>{}</mo>{}").format(argument, sign, knot)
    for part in function.sympy:
        if part == "Max":
            both = Markup('{}<mo separator="true">,</mo><mn>0</mn>').format(argument)
            applied = Markup("<mi>max</mi><mo>{}</mo>{}")
            argument = applied.format(_APPLY, _fenced("(", both, ")"))
        elif part == "Abs":
            argument = _fenced("|", argument, "|")
        elif part == "sqrt":
            argument = Markup("<msqrt>{}</msqrt>").format(argument)
        else:
            applied = Markup("<mi>{}</mi><mo>{}</mo>{}")
            argument = applied.format(part, _APPLY, _fenced("(", argument, ")"))
    return argument


def _fenced(left: str, inside: Markup, right: str) -> Markup:
    fence = Markup('<mo fence="true" stretchy="false">{}</mo>')
    return Markup("<mrow>{}{}{}</mrow>").format(fence.format(left), inside, fence.format(right))


def _name(name: str, moved: Collection[str] = ()) -> Markup:
    symbol = Markup("<mi>{}</mi>").format(name)
    return Markup("<mrow><mi>Δ</mi>{}</mrow>").format(symbol) if name in moved else symbol


def _number(text: str) -> Markup:
    mantissa, e, exponent = text.partition("e")
    if not e:
        return Markup("<mn>{}</mn>").format(mantissa)
    sign = Markup("<mo>{}</mo>").format(_MINUS) if int(exponent) < 0 else Markup("")
    return Markup(
        "<mn>{}</mn><mo>{}</mo><msup><mn>10</mn><mrow>{}<mn>{}</mn></mrow></msup>"
    ).format(mantissa, _TIMES, sign, abs(int(exponent)))
