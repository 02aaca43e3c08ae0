"""Generated code: run on its own, it must say what `Model.simulate` says."""

from __future__ import annotations

import ast
import math
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import structures

from adjoin import AdjoinError, Model, Structure
from adjoin.data.names import SignalNames
from adjoin.errors import DivergenceWarning
from adjoin.modelling.python_code import python_code

NAMES = [
    SignalNames(),
    SignalNames(("u", "udot"), "F"),
    SignalNames((), "y"),
    SignalNames(("lambda", "y_init", "math"), "class"),
    SignalNames(("range", "n_samples", "_sign", "value"), "len"),
    SignalNames(("total", "total_", "simulated"), "float"),
    SignalNames(("I", "displacement_of_platform"), "__debug__"),
]
SMALL = st.floats(-0.4, 0.4, allow_subnormal=False)


def run(model: Model, *arguments: Any, name: str = "simulate", **options: Any) -> list[float]:
    """Run the generated function in a namespace of its own."""
    namespace: dict[str, Any] = {}
    exec(python_code(model, name), namespace)
    return namespace[name](*arguments, **options)  # type: ignore[no-any-return]


@st.composite
def models(draw: st.DrawFn) -> Model:
    structure = draw(structures(draw(st.sampled_from(NAMES))))
    theta = draw(st.lists(SMALL, min_size=len(structure), max_size=len(structure)))
    signals = st.sampled_from([*structure.names.inputs, structure.names.output])
    offsets = draw(st.dictionaries(signals, st.sampled_from([2.5, -1e3, 1e-3]), max_size=2))
    return Model(structure, theta, draw(st.none() | st.just(0.1)), offsets)


@given(model=models(), seed=st.integers(0, 99), is_seeded=st.booleans())
def test_generated_code_simulates_as_the_model_does(
    model: Model, seed: int, is_seeded: bool
) -> None:
    rng = np.random.default_rng(seed)
    n = model.max_lag + 20
    level = [model.offsets.get(name, 0.0) for name in model.names.inputs]
    u = rng.normal(0.0, 0.7, (n, len(level))) + level
    rest = model.offsets.get(model.names.output, 0.0)
    y_init = rest + rng.normal(0.0, 0.7, model.max_lag + 1) if is_seeded else None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        expected = model.simulate(u if level else n, y_init)
    arguments = [column.tolist() for column in u.T] if level else [n]
    found = np.array(run(model, *arguments, y_init=y_init))
    assert len(found) == n
    # A run that leaves for infinity multiplies every rounding error: compare up to there.
    far = np.flatnonzero(~(np.abs(expected - rest) < 1e3))
    stop = far[0] if len(far) else n
    scale = 1.0 + np.abs(expected[:stop]).max(initial=0.0)
    np.testing.assert_allclose(found[:stop], expected[:stop], rtol=1e-11, atol=1e-11 * scale)
    if is_seeded:
        assert found[: len(y_init)].tolist() == y_init.tolist()


@given(model=models())
def test_generated_code_imports_nothing_but_math(model: Model) -> None:
    tree = ast.parse(python_code(model))
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    assert [ast.unparse(node) for node in imported] == ["import math"]


def many_models() -> list[Model]:
    """All names with all functions, and terms of every length around the width of a line."""
    found = []
    for names in NAMES:
        sources = [*names.inputs, names.output]
        texts = [
            f"{function}({signal}(k-{lag}))".replace("sqrtabs(", "sqrt(abs(")
            for signal in sources
            for lag, function in enumerate(["abs", "sin", "cos", "tanh", "sign", "exp"], 1)
        ]
        texts += [f"sqrt(abs({signal}(k-12)))^2" for signal in sources]
        texts += [f"{names.noise}(k-1)*{names.output}(k-1)"]
        for length in range(1, 9):
            product = [f"{sources[i % len(sources)]}(k-{10 ** (i % 3)})" for i in range(length)]
            texts.append("*".join([*product, f"{names.output}(k-2)^{length}"]))
        structure = Structure.parse(" + ".join(texts), names)
        for scale in (1.0, 1e-7, 1e20, 1 / 3):
            theta = [scale * (-1) ** i for i in range(len(structure))]
            offsets = {name: scale * 7.0 for name in sources} if scale != 1.0 else {}
            found.append(Model(structure, theta, 0.1, offsets))
        found.append(Model(Structure((), names), ()))
        found.append(Model(Structure(((),), names), (0.5,)))
    return found


def test_generated_code_passes_the_formatter_and_the_linter(tmp_path: Path) -> None:
    for number, model in enumerate(many_models()):
        (tmp_path / f"model_{number}.py").write_text(python_code(model), "utf-8")
    for command in (["format", "--diff"], ["check"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_code_says_what_it_is() -> None:
    model = Model.parse(
        "F(k) = 0.5*u(k)*abs(u(k)) - 2e-06*e(k-1)", noise_sd=0.25, offsets={"u": 1.5}
    )
    code = python_code(model, "drag")
    assert "def drag(u, y_init=None):" in code
    assert "    F(k) = 0.5*u(k)*abs(u(k)) - 2e-06*e(k-1)\n" in code
    assert "in deviations: u from 1.5" in code
    assert "standard deviation 0.25" in code
    assert "# e(k-1) is left out: there is no noise." in code
    assert "total += 0.5 * u[k] * abs(u[k])" in code


def test_inputs_are_given_by_name_in_any_kind_of_sequence() -> None:
    model = Model.parse("y(k) = 0.5*u(k-1) + 0.25*v(k)*y(k-1)")
    u, v = np.arange(6.0), np.linspace(-1.0, 1.0, 6)
    expected = model.simulate(np.column_stack([u, v]), [2.0])
    assert run(model, u=u, v=v, y_init=(2,)) == pytest.approx(expected, rel=1e-14)
    assert run(model, v=tuple(v), u=u.tolist(), y_init=np.array([2])) == pytest.approx(expected)
    assert all(type(value) is float for value in run(model, u, v, y_init=np.array([2])))


def test_names_that_collide_get_an_underscore_and_the_docstring_says_so() -> None:
    model = Model.parse("class(k) = 0.5*lambda(k-1) + lambda_(k)")
    code = python_code(model)
    assert "def simulate(lambda_, lambda__, y_init=None):" in code
    said = "lambda is called lambda_, lambda_ is called lambda__, class is called class_"
    assert said in " ".join(code.split())
    assert run(model, [1.0, 2.0], [10.0, 20.0]) == [0.0, 20.5]


@pytest.mark.parametrize(
    ("equation", "is_lost_for_good"),
    [
        ("y(k) = 3*y(k-1)^2", True),
        ("y(k) = 3*y(k-1)^2*y(k-2)^7", True),
        ("y(k) = y(k-1)*y(k-1)*u(k)", True),
        ("y(k) = exp(y(k-1))", True),
        ("y(k) = exp(u(k))", False),
        ("y(k) = 1e80*u(k)^16", False),
    ],
)
def test_what_diverges_is_nan_where_the_models_is(equation: str, is_lost_for_good: bool) -> None:
    model = Model.parse(equation, inputs="u")
    u = np.full(60, 5.0)
    u[30] = 1e3
    y_init = [4.0] * max(model.max_lag, 1)
    with pytest.warns(DivergenceWarning):
        expected = model.simulate(u, y_init)
    found = run(model, u, y_init)
    assert [math.isnan(value) for value in found] == np.isnan(expected).tolist()
    assert math.isnan(found[-1]) == is_lost_for_good


def test_lengths_that_do_not_fit_are_refused() -> None:
    model = Model.parse("y(k) = u(k-3) + v(k)")
    with pytest.raises(ValueError, match="the inputs differ in length"):
        run(model, [0.0] * 9, [0.0] * 8)
    for n_init in (2, 9):
        with pytest.raises(ValueError, match="y_init needs 3 samples or more"):
            run(model, [0.0] * 9, [0.0] * 9, [0.0] * n_init)


@pytest.mark.parametrize(
    "name", ["", "two words", "1st", "lambda", "math", "range", "y_init", "ε-δ"]
)
def test_a_function_name_that_python_could_not_use_is_refused(name: str) -> None:
    with pytest.raises(AdjoinError, match="cannot be called"):
        python_code(Model.parse("y(k) = u(k-1)"), name)


def test_a_signal_may_have_the_name_of_the_function() -> None:
    model = Model.parse("y(k) = 2*simulate(k)")
    assert run(model, [1.0, 2.0]) == [2.0, 4.0]


def test_the_sign_of_zero_is_zero() -> None:
    assert run(Model.parse("y(k) = 2*sign(u(k))"), [3.0, 0.0, -0.0, -1e-9]) == [2.0, 0.0, 0.0, -2.0]
