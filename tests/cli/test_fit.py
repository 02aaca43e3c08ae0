"""``adjoin fit``: the JSON contract, the tables, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.command import run
from tests.schema import require_findings

from adjoin import Grammar, Model, datasets

QUICK = ("--samples", "10000", "--chains", "2", "--seed", "0")


def _write(path: Path, **columns: np.ndarray) -> Path:
    rows = np.column_stack(list(columns.values()))
    np.savetxt(path, rows, delimiter=",", header=",".join(columns), comments="")
    return path


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    train = datasets.academic(seed=0).train
    folder = tmp_path_factory.mktemp("rig")
    time_column = np.arange(len(train)) / 100
    return _write(folder / "rig.csv", time=time_column, force=train.u, velocity=train.y)


def test_json_is_one_object_with_the_contract_s_keys(rig: Path) -> None:
    done = run("fit", str(rig), "--inputs", "force", "--output", "velocity", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    require_findings(facts, {"train"})
    assert facts["verdict"]["summary"].startswith("the simulation may hold: it was not tried on")
    best = facts["structures"][0]
    assert best["structure"] == ["force(k-1)", "force(k-5)^3", "velocity(k-1)"]
    assert best["equation"] == facts["equation"]
    assert facts["equation"].startswith("velocity(k) = 0.5")
    keys = {"term", "inclusion", "mean", "sd", "q025", "q975", "frequency"}
    assert keys == set(facts["terms"][0])
    assert {"mean", "q025", "q975"} <= set(facts["noise"])
    assert {"compile_s", "sampling_s", "total_s"} == set(facts["timing"])
    assert facts["settings"]["seed"] == 0
    assert facts["settings"]["is_complete"] is True
    assert facts["diagnostics"]["chains_agree_on_mode"] is True
    assert sum(s["mass"] for s in facts["structures"]) <= 1.0 + 1e-9


def test_a_free_run_fit_has_the_same_json_and_its_ladder(rig: Path, tmp_path: Path) -> None:
    arguments = ("--inputs", "force", "--output", "velocity", "--objective", "abc", "--max-lag")
    quick = ("5", "--samples", "6000", "--chains", "2", "--seed", "1", "--validation", "0.3")
    out = tmp_path / "free.nc"
    done = run("fit", str(rig), *arguments, *quick, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    require_findings(facts, {"train", "validation"})
    assert facts["structures"][0]["structure"] == ["force(k-1)", "force(k-5)^3", "velocity(k-1)"]
    assert len(facts["diagnostics"]["ladder"][0]["tolerance"]) == 12
    assert facts["settings"]["objective"] == "abc"
    assert facts["settings"]["rule"] == "default"
    shown = run("fit", str(rig), *arguments, *quick)
    assert shown.returncode == 0, shown.stderr
    assert "tolerance" in shown.stdout
    simulated = run("simulate", str(out), str(rig), "--json")
    assert simulated.returncode == 0, simulated.stderr


def test_a_model_with_past_noise_by_a_flag_or_a_grammar_file(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    u, e = rng.standard_normal((2, 600))
    y = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.6*e(k-1)").simulate(u, noise=0.3 * e)
    file, grammar = _write(tmp_path / "rig.csv", u=u, y=y), tmp_path / "my.tag"
    Grammar.narx(noise=True, max_lag=2, max_degree=2).write(grammar)
    quick = ("--chains", "2", "--seed", "0", "--no-center", "--rungs", "3", "--json")
    answers = []
    for more in (
        ("--past-noise", "--max-lag", "2", "--max-degree", "2"),
        ("--grammar", str(grammar)),
    ):
        done = run("fit", str(file), *quick, *more)
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        require_findings(facts, {"train"})
        assert facts["structures"][0]["structure"] == ["u(k-2)", "y(k-1)", "e(k-1)"]
        assert facts["settings"]["samples"] == 10_000
        assert facts["settings"]["search"]["rungs"] == 3
        answers.append(facts["structures"])
    assert answers[0] == answers[1]
    refused = run("fit", str(file), "--past-noise", "--objective", "simulation")
    assert refused.returncode == 2
    assert "use --objective prediction" in refused.stderr
    refused = run("fit", str(file), "--past-noise", "--samples", "auto")
    assert "--samples auto is for --objective prediction without past noise" in " ".join(
        refused.stderr.split()
    )


def test_the_same_seed_gives_the_same_answer_whatever_the_jobs(rig: Path) -> None:
    answers = []
    for jobs in ("1", "2"):
        done = run("fit", str(rig), "--output", "velocity", *QUICK, "--jobs", jobs, "--json")
        facts = json.loads(done.stdout)
        answers.append((facts["structures"], facts["terms"], facts["noise"]))
    assert answers[0] == answers[1]


def test_the_tables_say_what_was_found(rig: Path) -> None:
    done = run("fit", str(rig), "--output", "velocity", *QUICK, "--validation", "0.2")
    assert done.returncode == 0, done.stderr
    for text in (
        "force(k-5)^3",
        "inclusion",
        "noise",
        "train ",
        "validation",
        "verdict",
        "this chain alone",
    ):
        assert text in done.stdout


def test_several_files_are_several_records(tmp_path: Path) -> None:
    train = datasets.academic(seed=1).train
    files = [
        _write(tmp_path / f"run{i}.csv", u=train.u[a : a + 400], y=train.y[a : a + 400])
        for i, a in enumerate((0, 500))
    ]
    done = run("fit", *map(str, files), *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["structures"][0]["structure"] == ["u(k-1)", "u(k-5)^3", "y(k-1)"]
    assert facts["settings"]["data"] == [str(file) for file in files]


def test_a_grey_box_has_its_terms_in_every_structure(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    u, udot, e = rng.standard_normal((3, 400))
    file = _write(tmp_path / "sea.csv", u=u, udot=udot, F=2 * u * abs(u) + udot + 0.1 * e)
    done = run(
        *("fit", str(file), "--inputs", "u,udot", "--output", "F", "--max-lag", "2", *QUICK),
        *("--initial", "u(k)*abs(u(k)) + udot(k)", "--json"),
    )
    assert done.returncode == 0, done.stderr
    for found in json.loads(done.stdout)["structures"]:
        assert {"u(k)*abs(u(k))", "udot(k)"} <= set(found["structure"])


def test_power_auto_is_reported(rig: Path) -> None:
    options = ("--output", "velocity", "--likelihood-power", "auto", *QUICK)
    done = run("fit", str(rig), *options, "--json")
    assert done.returncode == 0, done.stderr
    assert 0.0 < json.loads(done.stdout)["settings"]["likelihood_power"] <= 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--output", "speed"), "speed"),
        (("--output", "velocity", "--prior", "flat"), "prior must be"),
        (("--output", "velocity", "--objective", "guess"), "is unknown; use 'prediction' or"),
        (("--output", "velocity", "--rule", "paper"), "rule is for --objective abc"),
        (("--output", "velocity", "--validation", "1.5"), "between 0 and 1"),
        (("--output", "velocity", "--likelihood-power", "much"), "number or auto"),
        (("--output", "velocity", "--max-lag", "5000"), "too few samples"),
        (("--output", "velocity", "--initial", "water(k)"), "water"),
        (("--output", "velocity", "--functions", "sinh"), "sinh"),
    ],
)
def test_bad_usage_and_bad_data_end_with_2_and_say_why(
    rig: Path, options: tuple[str, ...], message: str
) -> None:
    done = run("fit", str(rig), *options, *QUICK, "--json")
    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr


def test_a_validation_part_shorter_than_the_lags_is_refused_before_the_run(
    rig: Path, tmp_path: Path
) -> None:
    Grammar.narx(inputs="force", output="velocity", max_lag=200).write(tmp_path / "long.tag")
    options = ("--inputs", "force", "--output", "velocity", "--validation", "0.1", *QUICK)
    done = run("fit", str(rig), *options, "--grammar", str(tmp_path / "long.tag"))
    assert done.returncode == 2
    assert "the validation part: too few samples: 100" in done.stderr


def test_a_missing_file_is_bad_data(tmp_path: Path) -> None:
    done = run("fit", str(tmp_path / "none.csv"), *QUICK)
    assert done.returncode == 2
    assert "none.csv" in done.stderr


_INTERRUPTED = """
import os, signal
from adjoin.cli import main
from adjoin.inference.engines.prediction import PredictionChain
signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
advance, one_signal = PredictionChain.advance, iter([signal.SIGINT])
def advance_and_interrupt(chain, n_samples):
    advance(chain, n_samples)
    if chain.n_samples > 100_000:
        os.kill(os.getpid(), next(one_signal, 0))
PredictionChain.advance = advance_and_interrupt
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process there")
def test_ctrl_c_prints_what_there_is_and_ends_with_1(rig: Path) -> None:
    """The signal comes once there are samples, however long that takes."""
    command = [sys.executable, "-c", _INTERRUPTED, "fit", str(rig), "--output", "velocity"]
    command += ["--samples", "1000000000", "--thin", "1000", "--chains", "2", "--json"]
    done = subprocess.run(command, capture_output=True, check=False, text=True, timeout=300)
    assert done.returncode == 1, done.stderr
    assert "interrupted" in done.stderr
    facts = json.loads(done.stdout)
    assert facts["settings"]["is_complete"] is False
    assert facts["structures"]


@pytest.mark.parametrize("objective", ["osa", "abc"])
def test_a_grey_box_of_two_inputs_has_the_white_box_beside_it(
    objective: str, tmp_path: Path
) -> None:
    train = datasets.waves(seed=0).train
    data = _write(tmp_path / "waves.csv", u=train.u[:, 0], udot=train.u[:, 1], F=train.y)
    grey = ("--initial", "u(k)*abs(u(k)) + udot(k)", "--initial-mode", "residual")
    signals = ("--inputs", "u,udot", "--output", "F", "--objective", objective, "--max-lag", "2")
    quick = ("--samples", "1000", "--chains", "2", "--seed", "0", "--validation", "0.3")
    page = tmp_path / "waves.html"
    done = run("fit", str(data), *grey, *signals, *quick, "--json", "--report", str(page))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    require_findings(facts, {"train", "validation"})
    white = facts["white_box"]
    assert white["equation"].startswith("F(k) = 0.32")
    kept = {term["term"]: term for term in facts["terms"]}
    for term in ("u(k)*abs(u(k))", "udot(k)"):
        assert kept[term]["inclusion"] == 1.0
        assert kept[term]["sd"] < 1e-12
    assert "white box" in page.read_text(encoding="utf-8")
    shown = run("fit", str(data), *grey, *signals, *quick)
    (line,) = (line for line in shown.stdout.splitlines() if line.startswith("white box"))
    assert len(line) < 80  # rounded
    assert "\n           validation: free run RMSE 0.16" in shown.stdout


def test_a_decimal_mark_that_cannot_be_told_is_asked_for_by_an_option_that_exists(
    tmp_path: Path,
) -> None:
    """Thousands with a comma, or a decimal comma: the message names the option, and it works."""
    rng = np.random.default_rng(0)
    rows = [f"{x:.4f};{y:.4f}".replace(".", ",") for x, y in rng.normal(size=(60, 2))]
    path = tmp_path / "rig.csv"
    path.write_text("\n".join(["note;u;y", *(f"1.5;{row}" for row in rows)]), encoding="utf-8")
    quick = ("--inputs", "u", "--max-lag", "2", "--samples", "200", "--chains", "1", "--seed", "0")
    asked = run("fit", str(path), *quick)
    assert asked.returncode == 2
    assert "or pass --decimal . or --decimal ,." in asked.stderr
    done = run("fit", str(path), *quick, "--decimal", ",")
    assert done.returncode == 0, done.stderr
    assert f"→ hold data out to try it on: adjoin fit {path} --inputs u" in done.stdout
    assert "--decimal , --validation 0.3" in done.stdout


def test_the_other_commands_take_the_decimal_mark_too(tmp_path: Path) -> None:
    from adjoin import Model

    Model.parse("y(k) = 0.5*u(k)").save(tmp_path / "half.json")
    path = tmp_path / "new.csv"
    path.write_text("note;u\n1.5;0,5\n1.5;2,5\n", encoding="utf-8")
    asked = run("simulate", str(tmp_path / "half.json"), str(path))
    assert asked.returncode == 2
    assert "--decimal ," in asked.stderr
    done = run("simulate", str(tmp_path / "half.json"), str(path), "--decimal", ",")
    assert done.returncode == 0, done.stderr
    assert "1.25" in done.stdout
