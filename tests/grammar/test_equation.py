"""Equations as text, LaTeX and SymPy."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.naive.simulate import FUNCTIONS, apply
from tests.strategies import structures

from adjoin import AdjoinError, Model, Structure
from adjoin.data.names import SignalNames
from adjoin.grammar.parser import read_equation

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
        ("y(k) = u(k) - 0.25*u(k)", "y(k) = 0.75*u(k)"),
        ("y(k) = u(k+0)", "y(k) = u(k)"),
        ("y(k) = u(k-10000) + y(k-1)^32", "y(k) = u(k-10000) + y(k-1)^32"),
        ("e(k) = 0.5*e(k-1) + u(k)", "e(k) = u(k) + 0.5*e(k-1)"),
        ("y(k) = - -u(k)", "y(k) = u(k)"),
        ("y(k) = 2^3*u(k-0)", "y(k) = 8*u(k)"),
        ("y(k) = 0", "y(k) = 0"),
        ("y(k) = -u(k) - 1", "y(k) = -1.0 - u(k)"),
        ("y(k) = 1.5", "y(k) = 1.5"),
        ("y(k) = 0.0", "y(k) = 0.0"),
        ("F(k) = abs(u(k))*u(k)", "F(k) = u(k)*abs(u(k))"),
        ("y(k) = sqrt(abs(u(k-1)))^2", "y(k) = abs(u(k-1))"),
        ("y(k) = sqrt(abs(u(k)))^3*sin(u(k))", "y(k) = abs(u(k))*sin(u(k))*sqrt(abs(u(k)))"),
        ("y(k) = 2*abs(u(k))^2 + u(k)^2", "y(k) = 3*u(k)^2"),
        ("y(k) = sign(u(k))^2*u(k-1)", "y(k) = u(k-1)"),
        ("y(k) = sign(u(k))^2 + 2", "y(k) = 3.0"),
        ("y(k) = sign(u(k))*abs(u(k)) - u(k)*sign(u(k))", "y(k) = u(k) - abs(u(k))"),
        ("y(k) = sign(u(k))*u(k)^2*y(k-1)", "y(k) = u(k)*abs(u(k))*y(k-1)"),
        ("y(k) = sign(u(k))*abs(u(k-1))", "y(k) = sign(u(k))*abs(u(k-1))"),
        ("y(k) = sign(u(k))*sqrt(abs(u(k)))", "y(k) = sign(u(k))*sqrt(abs(u(k)))"),
        ("y(k) = sqrtabs(u(k-1))", "y(k) = sqrt(abs(u(k-1)))"),
        ("y(k) = y(k-2)*u(k)*y(k-1)*u(k)", "y(k) = u(k)^2*y(k-1)*y(k-2)"),
        ("y(k) = 0.2*e(k-1) + 0.1*y(k-1)", "y(k) = 0.1*y(k-1) + 0.2*e(k-1)"),
    ],
)
def test_canonical_form(written: str, canonical: str) -> None:
    assert Model.parse(written).equation == canonical


def test_a_constant_of_zero_is_not_the_empty_structure() -> None:
    model = Model.parse("y(k) = 0.0")
    assert len(model.structure) == 1
    assert Model.parse(model.format(3)) == model


def test_inputs_are_ordered_as_declared_and_else_as_they_appear() -> None:
    text = "y(k) = udot(k) + u(k)"
    assert Model.parse(text).names.inputs == ("udot", "u")
    assert Model.parse(text, inputs=("u", "udot")).equation == "y(k) = u(k) + udot(k)"
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
        ("y(k) = foo(u(k))", 12, "'foo' is not a function .known: abs, sin"),
        ("y(k) = u(t-1)", 10, r"argument is k, as in u\(k-1\)"),
        ("y = u(k)", 1, r"write the output as y\(k\)"),
        ("y(k) = 0,5*u(k)", 9, "write decimals with a point"),
        ("y(k) = u[k-1]", 9, "round brackets"),
        ("y(k) = |u(k)|", 8, r"write abs"),
        ("y(k) = 1e400*u(k)", 8, "too large"),
        ("y(k) = u(k) + 2*1e300^9*u(k)", 15, "too large"),
        ("y(k) = sin(abs(u(k)))", 12, "inside a function"),
        ("y(k) = sqrt(abs(sin(u(k))))", 17, "inside a function"),
        ("y(k) = " + "sin(" * 3000, 12, "inside a function"),
        ("y(k) = u(k-" + "9" * 5000 + ")", 12, "up to 10000"),
        ("y(k) = u*abs(u(k))", 8, r"'u' is a signal; write u\(k\)"),
        ("y(k) = 0.5*y + u(k)", 12, r"'y' is a signal; write y\(k\)"),
        ("y(k) = sqrt(u(k))", 13, r"only sqrt\(abs"),
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
        ("y(k) = u(k) + e(k) + e(k)", r"e\(k\) cannot stand on the right-hand side"),
        ("y(k) = 1e308*u(k) + 1e308*u(k)", "too large"),
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
    assert Model.parse("y(k) = c^3*u(k)", constants={"c": 2}).theta == (8.0,)
    named = read_equation("F(k) = -2*Cd^2*u(k)*abs(u(k)) + Cm*udot(k) + 0.5*udot(k)")
    assert named.constants == ("Cd", "Cm")
    assert str(named) == "F(k) = -2*Cd^2*u(k)*abs(u(k)) + 0.5*udot(k) + Cm*udot(k)"
    assert str(read_equation(str(named))) == str(named)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": None}, "an equation is text, not NoneType"),
        ({"text": "y(k) = a*u(k)", "constants": {"a": "x"}}, "constant 'a' must be a number"),
        ({"text": "y(k) = u(k)", "inputs": 3}, "3 is not a name"),
        ({"text": "y(k) = w(k)", "inputs": "u,v"}, "uses 'w', which is not among the inputs u, v"),
        ({"text": "y(k) = u(k)", "constants": {"a": 1}}, "has no constant 'a'"),
        ({"text": "y(k) = a*u(k)", "constants": {"a": 1, "u": 1}}, "no constant 'u'"),
        ({"text": "y(k) = u(k)", "noise_sd": "loud"}, "noise_sd must be a finite number"),
        ({"text": "y(k) = u(k)", "offsets": {"u": "x"}}, "offset of 'u' must be a finite number"),
    ],
)
def test_arguments_of_the_wrong_kind(arguments, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Model.parse(**arguments)


def test_an_input_may_be_called_like_the_noise() -> None:
    model = Model.parse("y(k) = 0.5*e(k) + y(k-1)", inputs="e")
    assert model.names.inputs == ("e",)
    assert model.simulate([2.0, 2.0], [1.0]).tolist() == [1.0, 2.0]


def test_the_declared_output_must_be_the_equations() -> None:
    with pytest.raises(AdjoinError, match="is for 'F', but the output is 'y'"):
        Structure.parse("F(k) = u(k)", SignalNames())


def test_latex() -> None:
    model = Model.parse(
        "F(k) = -1.23456e-7*u_dot(k-1)^2 + 2*sin(F(k-1))^3 - 1.5e12*sqrt(abs(u(k)))*sign(u(k-1))"
    )
    assert model.latex(4) == (
        r"F_{k} = -1.235\times 10^{-7}\,\mathrm{u\_dot}_{k-1}^{2}"
        r" - 1.5\times 10^{12}\,\sqrt{\left|u_{k}\right|}\,"
        r"\operatorname{sign}\left(u_{k-1}\right)"
        r" + 2\,\left(\sin\left(F_{k-1}\right)\right)^{3}"
    )
    assert (
        Model.parse(ACADEMIC).latex() == r"y_{k} = 0.5\,u_{k-1} - 0.3\,u_{k-5}^{3} + 0.3\,y_{k-1}"
    )


def test_latex_of_powers_of_functions() -> None:
    assert Model.parse("y(k) = 2*sin(u(k))^2").latex() == (
        r"y_{k} = 2\,\left(\sin\left(u_{k}\right)\right)^{2}"
    )


def test_latex_says_what_the_offsets_are() -> None:
    model = Model.parse("y(k) = 2*u(k)^2 + 1e-5*y(k-1)", offsets={"u": 5, "y": -7})
    assert model.latex() == (
        r"\tilde{y}_{k} = 2\,\tilde{u}_{k}^{2} + 1\times 10^{-5}\,\tilde{y}_{k-1}"
        r",\quad \tilde{u} = u - 5,\quad \tilde{y} = y + 7"
    )


def test_sympy_writes_the_offsets_out() -> None:
    import sympy

    model = Model.parse("y(k) = 2*u(k)^2 + 0.5*y(k-1)", offsets={"u": 5, "y": 7})
    k = sympy.Symbol("k", integer=True)
    u, y = (sympy.Function(name, real=True) for name in "uy")
    value = model.sympy().rhs.subs({u(k): 6.0, y(k - 1): 9.0})
    expected = model.predict([0.0, 6.0], [9.0, 0.0])[1]
    # SymPy adds in an order of its own, which differs between its versions by rounding.
    assert float(value) == pytest.approx(expected, rel=1e-14)


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
            product *= apply(FUNCTIONS, atom.function, values[key])
        expected += product
    assert float(equation.rhs.subs(values)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert equation.lhs == sympy.Function(structure.names.output, real=True)(k)
