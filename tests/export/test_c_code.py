"""Exported C: compiled without a warning, it says what `Model.simulate` and `predict` say."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.export.models import Drawn, draw_many, draw_model, draw_record, expected

from adjoin import AdjoinError, Dataset, Model
from adjoin.data.names import SignalNames
from adjoin.export.c_code import c_code
from adjoin.export.c_spelling import is_spelled
from adjoin.export.card import Card
from adjoin.export.compiling import EXACT, STRICT, find_compiler
from adjoin.export.driver import Trial, run_trials
from adjoin.export.identifiers import C_WORDS
from adjoin.grammar.functions import FUNCTIONS
from adjoin.modelling.digits import FittedTo
from adjoin.modelling.origin import Origin

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
STRICTER = (*STRICT, "-Wconversion", "-Wshadow", *EXACT)
SANITIZED = (*STRICT, "-O1", "-g", "-ffp-contract=off", "-fsanitize=address,undefined")
SANITIZED = (*SANITIZED, "-fno-sanitize-recover=all")


def run_c(
    *drawn: Drawn, is_free: bool = True, flags: tuple[str, ...] = STRICTER
) -> list[np.ndarray]:
    trials = [
        Trial(d.model.c(f"model_{i}"), d.rows, d.model.max_lag, is_free)
        for i, d in enumerate(drawn)
    ]
    return [out[:, 0] for out in run_trials(trials, flags)]


def error_of(found: np.ndarray, reference: np.ndarray) -> float:
    """The largest difference relative to the size of the series."""
    return float(np.abs(found - reference).max() / np.abs(reference).max())


@needs_compiler
@pytest.mark.parametrize("flags", [STRICTER, SANITIZED], ids=["strict", "sanitized"])
def test_c_simulates_as_the_model_does(flags: tuple[str, ...]) -> None:
    many, _ = draw_many(20, 4000, seed=1)
    for drawn, found in zip(many, run_c(*many, flags=flags), strict=True):
        assert error_of(found, expected(drawn)) < 1e-12, drawn.model


@needs_compiler
def test_c_predicts_one_step_ahead_with_past_noise() -> None:
    rng = np.random.default_rng(2)
    many = [draw_record(draw_model(rng, 9, noise=i % 2 == 0), rng, 1000) for i in range(10)]
    many = [d for d in many if np.isfinite(expected(d, is_free=False)).all()]
    assert sum(d.model.structure.has_noise for d in many) > 2
    for drawn, found in zip(many, run_c(*many, is_free=False), strict=True):
        assert error_of(found, expected(drawn, is_free=False)) < 1e-12, drawn.model


@needs_compiler
def test_every_function_has_its_value_at_every_kind_of_number() -> None:
    assert [name for name in FUNCTIONS if not is_spelled(name)] == []
    values = [0.0, -0.0, 0.25, 1.0, -1.0, 1e-300, -1e-300, 1e8, -1e8, 36.7, 700.0, -700.0, 708.9]
    texts = ["abs(u(k))", "sin(u(k))", "cos(u(k))", "tanh(u(k))", "sign(u(k))", "1e-300*exp(u(k))"]
    texts += ["sqrt(abs(u(k)))", "pos(u(k))", "pos(u(k) - 0.25)", "pos(u(k) + 1e-07)"]
    u = np.array(values)
    for text in texts:
        drawn = Drawn(Model.parse(f"y(k) = {text}"), u, np.zeros_like(u))
        np.testing.assert_array_equal(run_c(drawn)[0], expected(drawn))


@needs_compiler
@pytest.mark.parametrize(
    "equation",
    [
        "y(k) = 3*y(k-1)^2",
        "y(k) = exp(y(k-1))",
        "y(k) = exp(u(k))",
        "y(k) = 1e80*u(k)^16",
        "y(k) = 1e80*u(k)^16 + e(k-1)",
        "y(k) = 0.5*y(k-1) + u(k)",
    ],
)
def test_what_runs_away_is_nan_where_the_models_is(equation: str) -> None:
    u = np.full(60, 5.0)
    u[30] = 1e3
    parsed = Model.parse(equation, inputs="u")
    for model in (parsed, replace(parsed, limits=(-5.0, 900.0))):
        drawn = Drawn(model, u, np.full(60, 4.0))
        for is_free in (True, False):
            reference = expected(drawn, is_free)
            (found,) = run_c(drawn, is_free=is_free)
            np.testing.assert_array_equal(np.isnan(found), np.isnan(reference))


@needs_compiler
def test_without_seeds_it_begins_at_rest(tmp_path: Path) -> None:
    model = Model.parse(
        "y(k) = 0.5*u(k-2) + 0.25*y(k-1) + cos(y(k-3)) + pos(u(k-1) + 1)",
        offsets={"u": 2.0, "y": -7.0},
    )
    u = np.array([2.0, 2.0, 2.0, 3.0, 4.0, 5.0])
    rows = np.column_stack([u[3:], np.zeros(3)])
    (found,) = run_trials([Trial(model.c("rest"), rows, 0)])
    # What went before lies at rest in both: three samples of the offsets.
    assert found[:, 0].tolist() == model.simulate(u)[3:].tolist()


@needs_compiler
def test_single_precision_is_as_near_as_single_precision_is() -> None:
    model = Model.parse("y(k) = 0.1*u(k-1) + 0.3*tanh(y(k-1)) + 1e-60 + 0.2*pos(u(k) - 0.25)^2")
    drawn = draw_record(model, np.random.default_rng(0), 500)
    code = model.c("small", single=True)
    assert "double" not in code.source.replace("double precision", "")
    (found,) = run_trials(
        [Trial(code, drawn.rows, 1, single=True)], (*STRICTER, "-Wdouble-promotion")
    )
    assert 1e-9 < error_of(found[:, 0], expected(drawn)) < 1e-5
    with pytest.raises(AdjoinError, match="too large for single precision"):
        Model.parse("y(k) = 1e60*u(k)").c(single=True)


HOSTILE = [
    ("int", "double", "while"),
    ("state", "total", "measured"),
    ("__LINE__", "_Bool", "___"),
    ("NULL", "NAN", "INFINITY"),
    ("model_step", "model_state", "model_push"),
    ("past_y", "now_u", "y"),
    ("at_y", "past_abs_y", "fabs"),
    ("u", "u_", "u__"),
    ("unix", "errno", "main"),
    ("a" * 90, "a" * 91, "system"),
]
TEXTS = [
    '*/ int main(void) { return system("x"); } /*',
    "??/\n??/ \\\n // %} \r ... ",
    "N\u2028m²·°C µ \"'<&]]>\0",
]


@needs_compiler
@pytest.mark.parametrize("names", HOSTILE)
def test_names_that_c_has_other_uses_for_are_made_safe(names: tuple[str, str, str]) -> None:
    first, second, output = names
    model = Model.parse(
        f"{output}(k) = 0.5*{first}(k-1) + 0.1*abs({second}(k-2))*{output}(k-1)"
        f" + 0.1*abs({output}(k-2)) + 0.1*{second}(k)"
    )
    drawn = draw_record(model, np.random.default_rng(0), 50)
    (found,) = run_trials([Trial(model.c(), drawn.rows, model.max_lag)], STRICTER)
    np.testing.assert_array_equal(found[:, 0], expected(drawn))


@needs_compiler
@pytest.mark.parametrize("text", TEXTS)
def test_nothing_of_a_users_text_is_code(text: str, tmp_path: Path) -> None:
    model = Model.parse("y(k) = 0.5*u(k-1) + 0.2*y(k-1)")
    card = Card({"u": text, "y": text}, 0.01, f"the run {text}")
    code = c_code(model, "rig", card=card)
    code.save(tmp_path / "rig.c")
    command = [
        *find_compiler(),
        "-std=c99",
        "-trigraphs",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-pedantic",
    ]
    subprocess.run([*command, "-c", "rig.c"], cwd=tmp_path, check=True)
    assert (code.header + code.source).isascii()

    def bare(whole: str) -> str:
        return re.sub(r"/\*.*?\*/", "", whole, flags=re.DOTALL)

    plain = c_code(model, "rig")
    assert bare(code.header) == bare(plain.header)
    assert bare(code.source) == bare(plain.source)


def test_two_signals_never_have_one_name() -> None:
    code = Model.parse("y(k) = u(k) + abs_u(k-1) + abs(u(k-1)) + past_u(k-1) + u(k-1)").c()
    members = re.findall(r"double (\w+)\[", code.header)
    assert len(members) == len(set(members)) == 4


def test_the_code_says_what_it_is() -> None:
    data = replace(
        Dataset.from_arrays(np.ones(9), np.arange(9.0), ["force", "speed"], 0.01),
        units=("N", "m/s"),
    )
    model = replace(
        Model.parse("speed(k) = 0.5*force(k-3)", noise_sd=0.25, offsets={"force": 1.5}),
        fitted_to=FittedTo(data, 3),
        limits=(-4.0, 9.0),
        origin=Origin("rig.nc", "rig.csv", 7, "0.1.0"),
    )
    words = " ".join(model.c("rig").header.replace("\n *", " ").split())
    for said in (
        "speed(k) = 0.5*force(k-3)",
        "Inputs: force [N]. Output: speed [m/s].",
        "Sampling time: 0.01 s.",
        "Largest lag: 3 samples.",
        "deviations (force from 1.5)",
        "between about -4 and 9",
        "Noise of standard deviation 0.25 is left out.",
        "the run rig.nc of rig.csv, seed 7, by adjoin 0.1.0",
        "1 multiplications, 1 additions and 0 functions",
    ):
        assert said in words


@pytest.mark.parametrize("name", ["", "two words", "1st", "int", "_x", "é", "a" * 41])
def test_a_name_that_c_could_not_use_is_refused(name: str) -> None:
    with pytest.raises(AdjoinError, match="cannot be called"):
        Model.parse("y(k) = u(k-1)").c(name)


@needs_compiler
def test_saved_files_are_compiled_by_c_and_by_cpp(tmp_path: Path) -> None:
    source, header = Model.parse("y(k) = 0.5*u(k-1) + y(k-1)").c("rig").save(tmp_path / "rig.c")
    assert (source.name, header.name) == ("rig.c", "rig.h")
    main = '#include "rig.h"\n#include <math.h>\nint main(){rig_state s; rig_init(&s);'
    main += (
        " rig_step(&s, 2.0); return std::isnan(rig_step(&s, 0.0)) || rig_step(&s, 0.0) != 1.0; }\n"
    )
    (tmp_path / "main.cpp").write_text(main.replace("<math.h>", "<cmath>"), encoding="utf-8")
    if shutil.which("g++") is None:
        pytest.skip("there is no C++ compiler")
    subprocess.run([*find_compiler(), "-c", "rig.c"], cwd=tmp_path, check=True)
    subprocess.run(["g++", "main.cpp", "rig.o", "-o", "main"], cwd=tmp_path, check=True)
    subprocess.run([str(tmp_path / "main")], check=True)
    with pytest.raises(AdjoinError, match=r"let its name end in \.c"):
        Model.parse("y(k) = u(k-1)").c().save(tmp_path / "rig.cpp")


def test_every_keyword_is_reserved() -> None:
    assert {"int", "restrict", "class", "typeof", "far"} <= C_WORDS
    assert SignalNames(("int",), "double").inputs == ("int",)  # such names do reach the exporter
