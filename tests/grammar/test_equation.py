"""Equations as text, LaTeX and SymPy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.simulate import FUNCTIONS
from tests.strategies import structures

from adjoin import AdjoinError, Model, Structure
from adjoin.grammar.equation import read_equation
from adjoin.signals import SignalNames

ACADEMIC = "y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)"

coefficients = st.floats(allow_nan=False, allow_infinity=False)


@given(structures(), st.data())
def test_an_equation_reads_back_to_exactly_the_same_model(
    structure: Structure, data: st.DataObject
) -> None:
    theta = data.draw(st.lists(coefficients, min_size=len(structure), max_size=len(structure)))
    model = Model(structure, tuple(theta))
    again = Model.parse(model.equation, inputs=structure.names.inputs)
    assert again.structure == structure
    assert [math.copysign(1, value) for value in again.theta] == [
        math.copysign(1, v) for v in theta
    ]
    assert again.theta == model.theta
    assert again.equation == model.equation


@given(structures(), st.randoms(use_true_random=False))
def test_equal_structures_print_equally(structure: Structure, random) -> None:
    terms = [tuple(random.sample(term, len(term))) for term in structure]
    random.shuffle(terms)
    assert str(Structure(tuple(terms), structure.names)) == str(structure)


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("y(k)=.3*y(k-1)+5e-1*u(k-1)-u(k-5)**3*.3", ACADEMIC),
        ("y(k) = 0.3·y(k−1) + 0.5 × u(k−1) − 0.3 u³".replace(" u³", "*u(k-5)³"), ACADEMIC),
        (f"{ACADEMIC} + e(k)", ACADEMIC),
        ("y(k) = u(k)*2*u(k)/4", "y(k) = 0.5*u(k)^2"),
        ("y(k) = u(k) + u(k)", "y(k) = 2*u(k)"),
        ("y(k) = - -u(k)", "y(k) = 1*u(k)"),
        ("y(k) = 2^3*u(k-0)", "y(k) = 8*u(k)"),
        ("y(k) = 0", "y(k) = 0"),
        ("y(k) = 1.5", "y(k) = 1.5"),
        ("F(k) = abs(u(k))*u(k)", "F(k) = 1*u(k)*abs(u(k))"),
        ("y(k) = sqrt(abs(u(k-1)))^2", "y(k) = 1*sqrt(abs(u(k-1)))^2"),
        ("y(k) = sqrtabs(u(k-1))", "y(k) = 1*sqrt(abs(u(k-1)))"),
        ("y(k) = y(k-2)*u(k)*y(k-1)*u(k)", "y(k) = 1*u(k)^2*y(k-1)*y(k-2)"),
        ("y(k) = 0.2*e(k-1) + 0.1*y(k-1)", "y(k) = 0.1*y(k-1) + 0.2*e(k-1)"),
    ],
)
def test_canonical_form(written: str, canonical: str) -> None:
    assert Model.parse(written).equation == canonical


def test_inputs_are_ordered_as_declared_and_else_as_they_appear() -> None:
    text = "y(k) = udot(k) + u(k)"
    assert Model.parse(text).names.inputs == ("udot", "u")
    assert Model.parse(text, inputs=("u", "udot")).equation == "y(k) = 1*u(k) + 1*udot(k)"
    assert Model.parse(text, inputs=("u", "udot", "unused")).names.inputs[2] == "unused"


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("y(k) = 0.5*(u(k) + 1)", 12, "sum of products"),
        ("y(k) = u(k-1", 13, r"ends where \) is expected"),
        ("y(k) = u(k+1)", 8, "in the future"),
        ("y(k) = u(k-1.5)", 12, "whole number"),
        ("y(k) = u(k)^-1", 13, "whole number as the power"),
        ("y(k) = u(k)^99", 13, "from 1 to 32"),
        ("y(k) = u(k-99999)", 12, "up to 10000"),
        ("y(k) = foo(u(k))", 12, "'foo' is not a function"),
        ("y(k) = sin(abs(u(k)))", 12, "inside a function"),
        ("y(k) = sqrt(u(k))", 14, r"only sqrt\(abs"),
        ("y(k-1) = u(k)", 1, "left-hand side"),
        ("y(k) = u(k) u(k-1)", 13, r"expected \+, - or \*"),
        ("y(k) = 0.5*", 12, "ends where a number or a signal"),
        ("y(k) = ", 8, "ends where"),
        ("y(k) = u(k) ? 2", 13, "no meaning"),
        ("y(k) = u(k)/0", 13, "division by zero"),
        ("y(k) = k*u(k)", 8, "not a signal"),
        ("y(k) = __import__('os')", 19, "no meaning"),
    ],
)
def test_errors_point_at_the_column(text: str, column: int, message: str) -> None:
    with pytest.raises(AdjoinError, match=f"column {column}: .*{message}") as caught:
        Model.parse(text)
    pointer = str(caught.value).splitlines()[-1]
    assert pointer.index("^") == column + 1  # two spaces of indent, columns from one


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y(k) = 0.5*y(k)", r"y\(k\) cannot stand on the right-hand side"),
        ("y(k) = 0.5*e(k)", r"e\(k\) cannot stand on the right-hand side"),
        ("y(k) = abs(e(k-1))", "cannot stand inside abs"),
        ("y(k) = Cd*u(k)", "'Cd' has no value"),
        ("y(k) = " + "*".join(["u(k)^30"] * 2), "60 factors"),
    ],
)
def test_equations_that_are_no_models_are_refused(text: str, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Model.parse(text)


def test_named_coefficients_take_values() -> None:
    model = Model.parse("F(k) = Cd*u(k)*abs(u(k)) + Cm*udot(k)", constants={"Cd": 1.5, "Cm": -2})
    assert model.equation == "F(k) = 1.5*u(k)*abs(u(k)) - 2*udot(k)"
    named = read_equation("F(k) = Cd*u(k)*abs(u(k)) + Cm*udot(k)")
    assert named.unvalued == ("Cd", "Cm")
    assert str(named) == "F(k) = u(k)*abs(u(k)) + udot(k)"


def test_the_declared_output_must_be_the_equations() -> None:
    with pytest.raises(AdjoinError, match="is for 'F', but the output is 'y'"):
        Structure.parse("F(k) = u(k)", SignalNames())


def test_latex() -> None:
    model = Model.parse(
        "F(k) = -1.23456e-7*u_dot(k-1)^2 + 2*abs(F(k-1))^3 - 1.5e12*sqrt(abs(u(k)))*sign(u(k-1))"
    )
    assert model.latex() == (
        r"F_{k} = -1.235\times 10^{-7}\,\mathrm{u\_dot}_{k-1}^{2}"
        r" - 1.5\times 10^{12}\,\sqrt{\left|u_{k}\right|}\,"
        r"\operatorname{sign}\left(u_{k-1}\right)"
        r" + 2\,\left(\left|F_{k-1}\right|\right)^{3}"
    )
    assert (
        Model.parse(ACADEMIC).latex() == r"y_{k} = 0.5\,u_{k-1} - 0.3\,u_{k-5}^{3} + 0.3\,y_{k-1}"
    )


@given(structures(noise=False), st.integers(0, 100))
def test_sympy_has_the_same_value(structure: Structure, seed: int) -> None:
    import sympy

    values = {}
    theta = [0.5 + 0.1 * j for j in range(len(structure))]
    equation = Model(structure, tuple(theta)).sympy()
    k = sympy.Symbol("k", integer=True)
    expected = 0.0
    for term, coefficient in zip(structure, theta, strict=True):
        product = coefficient
        for atom in term:
            key = sympy.Function(atom.signal, real=True)(k - atom.lag)
            values[key] = math.sin(1.0 + seed + 3 * atom.lag + len(atom.signal))
            product *= FUNCTIONS[atom.function](values[key])
        expected += product
    assert float(equation.rhs.subs(values)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert equation.lhs == sympy.Function(structure.names.output, real=True)(k)
