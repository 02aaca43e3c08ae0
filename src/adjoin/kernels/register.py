"""The register of functions of atoms: all that is known of each, in one place.

Receives nothing and imports no numba: the grammar spells functions by it, models are written by it,
and ``functions`` compiles the values and slopes that stand here. A new function is one entry, and
its twin in ``tests/naive/simulate.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

RealFunction = Callable[[float], float]


class Function(NamedTuple):
    """A unary function f that an atom may carry.

    ``code`` : its number in the kernels, and its place in the register. It is stored in arrays:
    append, never renumber.
    ``name`` : what grammars call it; ``text``, ``latex``, ``python`` : its spelling around an
    argument, in equations, in LaTeX and in Python source; ``sympy`` : the names of the functions in
    SymPy that make it up, the innermost first; ``Max`` is the larger of its argument and 0.
    ``homogeneity`` : the power h in f(s·x) = s^h·f(x) for s > 0, or None where there is none.
    ``value``, ``slope`` : f and f' in plain Python, of what numba compiles; f' is 0 where there is
    none. They raise nothing: where f is not finite, it is infinite.
    ``can_overflow`` : whether its Python source raises an error beyond the range of numbers.
    ``python_helper`` : what its Python source needs to be defined before.
    ``shift`` : c, where f is applied to x - c. In the register it is 0; ``grammar.functions`` makes
    hinges of ``pos`` with any other.
    """

    code: int
    name: str
    text: str
    latex: str
    python: str
    sympy: tuple[str, ...]
    homogeneity: float | None
    value: RealFunction
    slope: RealFunction
    can_overflow: bool = False
    python_helper: str = ""
    shift: float = 0.0

    def argument(self, scale: float) -> tuple[float, float]:
        r"""The factor a and the shift b in what f is applied to where a signal is x̃ = x/s.

        .. math:: f(x - c) = s^h f(a x̃ - b), \qquad (a, b) = (1, c/s)

        Where f does not scale, the signal has its own unit: h = 0 and (a, b) = (s, c).
        """
        return (scale, self.shift) if self.homogeneity is None else (1.0, self.shift / scale)


def _identity(value: float) -> float:
    return value


def _one(value: float) -> float:
    return 1.0


def _zero(value: float) -> float:
    return 0.0


def _abs(value: float) -> float:
    return abs(value)


def _sign(value: float) -> float:
    return (1.0 if value > 0.0 else 0.0) - (1.0 if value < 0.0 else 0.0)


def _sin(value: float) -> float:
    return math.sin(value)


def _cos(value: float) -> float:
    return math.cos(value)


def _minus_sin(value: float) -> float:
    return -math.sin(value)


def _tanh(value: float) -> float:
    return math.tanh(value)


def _tanh_slope(value: float) -> float:
    return 1.0 - math.tanh(value) ** 2


def _exp(value: float) -> float:
    # Beyond this the result is infinite; math.exp would raise where kernels are not compiled.
    return math.exp(value) if value < 709.0 else math.inf


def _sqrt_abs(value: float) -> float:
    return math.sqrt(abs(value))


def _sqrt_abs_slope(value: float) -> float:
    root = math.sqrt(abs(value))
    return math.copysign(0.5 / root, value) if root > 0.0 else 0.0


def _pos(value: float) -> float:
    return 0.0 if value <= 0.0 else value


def _pos_slope(value: float) -> float:
    return 1.0 if value > 0.0 else 0.0


_SIGN_HELPER = '''
def _sign(value):
    """Return -1, 0 or 1."""
    return (value > 0.0) - (value < 0.0)

'''

REGISTER: tuple[Function, ...] = (
    Function(
        code=0,
        name="",
        text="{}",
        latex="{}",
        python="{}",
        sympy=(),
        homogeneity=1.0,
        value=_identity,
        slope=_one,
    ),
    Function(
        code=1,
        name="abs",
        text="abs({})",
        latex=r"\left|{}\right|",
        python="abs({})",
        sympy=("Abs",),
        homogeneity=1.0,
        value=_abs,
        slope=_sign,
    ),
    Function(
        code=2,
        name="sin",
        text="sin({})",
        latex=r"\sin\left({}\right)",
        python="math.sin({})",
        sympy=("sin",),
        homogeneity=None,
        value=_sin,
        slope=_cos,
    ),
    Function(
        code=3,
        name="cos",
        text="cos({})",
        latex=r"\cos\left({}\right)",
        python="math.cos({})",
        sympy=("cos",),
        homogeneity=None,
        value=_cos,
        slope=_minus_sin,
    ),
    Function(
        code=4,
        name="tanh",
        text="tanh({})",
        latex=r"\tanh\left({}\right)",
        python="math.tanh({})",
        sympy=("tanh",),
        homogeneity=None,
        value=_tanh,
        slope=_tanh_slope,
    ),
    Function(
        code=5,
        name="sign",
        text="sign({})",
        latex=r"\operatorname{{sign}}\left({}\right)",
        python="_sign({})",
        sympy=("sign",),
        homogeneity=0.0,
        value=_sign,
        slope=_zero,
        python_helper=_SIGN_HELPER,
    ),
    Function(
        code=6,
        name="exp",
        text="exp({})",
        latex=r"\exp\left({}\right)",
        python="math.exp({})",
        sympy=("exp",),
        homogeneity=None,
        value=_exp,
        slope=_exp,
        can_overflow=True,
    ),
    Function(
        code=7,
        name="sqrtabs",
        text="sqrt(abs({}))",
        latex=r"\sqrt{{\left|{}\right|}}",
        python="math.sqrt(abs({}))",
        sympy=("Abs", "sqrt"),
        homogeneity=0.5,
        value=_sqrt_abs,
        slope=_sqrt_abs_slope,
    ),
    Function(
        code=8,
        name="pos",
        text="pos({})",
        latex=r"\max\left({},\,0\right)",
        python="max({}, 0.0)",
        sympy=("Max",),
        homogeneity=1.0,
        value=_pos,
        slope=_pos_slope,
    ),
)
