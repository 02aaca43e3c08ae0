"""The MATLAB function, run by Octave: the numbers of `Model.simulate`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from tests.export.models import Drawn, draw_many, expected
from tests.export.test_c_code import HOSTILE, TEXTS, error_of

from adjoin import AdjoinError, Model
from adjoin.export.card import Card
from adjoin.export.matlab_code import is_spelled, matlab_code
from adjoin.grammar.functions import FUNCTIONS

OCTAVE = shutil.which("octave-cli") or shutil.which("octave")
needs_octave = pytest.mark.skipif(OCTAVE is None, reason="there is no Octave to run MATLAB code")


def run_octave(folder: Path, commands: str) -> None:
    command = [str(OCTAVE), "--no-gui", "--norc", "--quiet", "--eval", commands]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr, done.stderr


def simulate_all(folder: Path, many: list[Drawn]) -> list[np.ndarray]:
    """The runs of several models, in one Octave."""
    commands = []
    for i, drawn in enumerate(many):
        model = drawn.model
        (folder / f"model_{i}.m").write_text(model.matlab(f"model_{i}"), encoding="ascii")
        np.savetxt(folder / f"{i}.txt", drawn.rows, fmt="%.17g")
        rows = f"rows = load('{i}.txt');"
        given = "rows(:, 1:end-1)" if model.names.inputs else "size(rows, 1)"
        init = f"rows(1:{model.max_lag}, end)"
        run = f"y = model_{i}({given}, {init}); f = fopen('{i}.out', 'w');"
        commands.append(f"{rows} {run} fprintf(f, '%.17g\\n', y); fclose(f);")
    run_octave(folder, "\n".join(commands))
    return [np.loadtxt(folder / f"{i}.out") for i in range(len(many))]


@needs_octave
def test_octave_simulates_as_the_model_does(tmp_path: Path) -> None:
    many, _ = draw_many(12, 400, seed=5)
    for drawn, found in zip(many, simulate_all(tmp_path, many), strict=True):
        assert error_of(found, expected(drawn)) < 1e-12, drawn.model


@needs_octave
def test_octave_loses_what_the_model_loses(tmp_path: Path) -> None:
    u = np.full(60, 5.0)
    u[30] = 1e3
    texts = ["y(k) = 3*y(k-1)^2", "y(k) = exp(y(k-1))", "y(k) = exp(u(k))", "y(k) = 1e80*u(k)^16"]
    texts += ["y(k) = 0.5*y(k-1) + u(k) + e(k-1)", "y(k) = u(k-12) + 0.1*sign(y(k-2))"]
    many = [Drawn(Model.parse(t, inputs="u"), u.reshape(-1, 1), np.full(60, 4.0)) for t in texts]
    for drawn, found in zip(many, simulate_all(tmp_path, many), strict=True):
        reference = expected(drawn)
        np.testing.assert_array_equal(np.isnan(found), np.isnan(reference))
        np.testing.assert_allclose(found, reference, rtol=1e-12)


@needs_octave
def test_names_that_matlab_has_other_uses_for_are_made_safe(tmp_path: Path) -> None:
    names = [*HOSTILE, ("end", "numel", "pi"), ("u", "y_init", "total"), ("n", "past_y", "nan")]
    many = []
    for first, second, output in names:
        text = f"{output}(k) = 0.5*{first}(k-1) + 0.1*abs({second}(k-2))*abs({output}(k-2))"
        model = Model.parse(f"{text} + 0.1*{output}(k-1) + 0.1*{second}(k)")
        u = np.random.default_rng(0).normal(size=(40, 2))
        many.append(Drawn(model, u, np.zeros(40)))
    for drawn, found in zip(many, simulate_all(tmp_path, many), strict=True):
        np.testing.assert_allclose(found, expected(drawn), rtol=1e-12)


@needs_octave
@pytest.mark.parametrize(
    ("header", "name"),
    [
        ('time,"coil force [N]",speed (m/s)', "coil_force"),
        ('time,"coil force [N]",speed (m/s)', "coil_force_N"),
        ("time,coil_force,speed\r", "coil_force"),
    ],
)
def test_the_script_runs_the_function_on_a_table(tmp_path: Path, header: str, name: str) -> None:
    model = Model.parse(f"speed(k) = 0.5*{name}(k-2) + 0.25*speed(k-1)", offsets={"speed": 1.0})
    code = matlab_code(model, "rig")
    (tmp_path / "rig.m").write_text(code.function, encoding="ascii")
    (tmp_path / "run_rig.m").write_text(code.script, encoding="ascii")
    rng = np.random.default_rng(0)
    u, y = rng.normal(size=50), rng.normal(size=50)
    rows = [f"{0.1 * k},{u[k]:.17g},{y[k]:.17g}" for k in range(50)]
    (tmp_path / "data.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    run_octave(tmp_path, "run_rig")
    found = np.loadtxt(tmp_path / "rig_simulated.csv", skiprows=1)
    np.testing.assert_allclose(found, model.simulate(u, y[:2]), rtol=1e-14)


@pytest.mark.parametrize("text", TEXTS)
def test_nothing_of_a_users_text_is_matlab(text: str) -> None:
    model = Model.parse("y(k) = 0.5*u(k-1) + 0.2*y(k-1)")
    card = Card({"u": text, "y": text}, 0.01, f"the run {text}")

    def bare(whole: str) -> list[str]:
        return [line for line in whole.splitlines() if not line.lstrip().startswith("%")]

    hostile, plain = matlab_code(model, "rig", card), matlab_code(model, "rig")
    assert hostile.function.isascii()
    assert bare(hostile.function) == bare(plain.function)
    assert bare(hostile.script) == bare(plain.script)
    assert not re.search(r"^\s*%[{}]\s*$", hostile.function, re.MULTILINE)  # a block of comments


def test_every_function_is_spelled_and_words_of_matlab_are_no_names() -> None:
    assert [name for name in FUNCTIONS if not is_spelled(name)] == []
    with pytest.raises(AdjoinError, match="cannot be called 'end'"):
        Model.parse("y(k) = u(k)").matlab("end")
