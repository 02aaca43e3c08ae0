"""``adjoin case``: what it says before it starts, what it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests.command import run

from adjoin import AdjoinError
from adjoin.cases.plain_values import describe
from adjoin.cases.setups import Plan
from adjoin.cases.study import run_study
from adjoin.cli.case import case

QUICK = ("case", "academic", "--objective", "osa", "--lambda-t", "5", "--chains", "2")


def test_a_case_says_how_long_it_takes_then_runs_and_writes_everything(tmp_path: Path) -> None:
    out = tmp_path / "academic"
    done = run(*QUICK, "--out", str(out), "--json")
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert "2 setups × 2 chains; expected one step ahead: about" in lines[0]
    assert lines[1].startswith("[1/2] OSA, paper's prior, λ_t = 5")
    facts = json.loads(done.stdout)
    assert facts["case"] == "academic"
    assert facts["is_complete"] is True
    assert {record["n_recovered"] for record in facts["scores"]} == {2}
    assert facts["timing"]["expected_s"]["prediction"] > 0.0
    assert set(facts["written"]) == {path.name for path in out.iterdir()}
    assert {"index.html", "scores.csv", "parameters.csv", "case.json"} <= set(facts["written"])
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["selected_map_nmse_percent"]) for row in rows] == [
        record["selected_map_nmse_percent"] for record in facts["scores"]
    ]
    stored = json.loads((out / "case.json").read_text(encoding="utf-8"))
    assert stored["scores"] == facts["scores"]
    assert stored["parameters"] == facts["parameters"]


def test_the_tables_are_on_standard_output_and_messages_are_not() -> None:
    done = run(*QUICK)
    assert done.returncode == 0, done.stderr
    assert "expected" not in done.stdout
    for text in ("Test errors", "paper", "1.154", "the true equation in 2 of 2 chains"):
        assert text in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 100


_HURRIED = """
from tests.killing import hurry
hurry()
from adjoin.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_a_case_that_was_killed_goes_on_by_resume_and_ends_with_the_same_numbers(
    tmp_path: Path,
) -> None:
    out, kept = tmp_path / "academic", tmp_path / "academic" / "checkpoint"
    command = [sys.executable, "-c", _HURRIED, *QUICK, "--out", str(out)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL
    ) as process:
        while not all((kept / f"setup-1.chain.{i}.arrays").exists() for i in (0, 1)):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert [file.name for file in out.iterdir()] == ["checkpoint"]
    left = run(*QUICK, "--out", str(out))
    assert left.returncode == 2
    assert "pass --resume to go on with it, or --force" in " ".join(left.stderr.split())
    other = run(*QUICK, "--out", str(out), "--resume", "--seed", "1")
    assert other.returncode == 2
    assert "seed was 0 and is 1" in " ".join(other.stderr.split())
    done = run(*QUICK, "--out", str(out), "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert not kept.exists()
    found = json.loads(done.stdout)
    whole = json.loads(json.dumps(describe(run_study(Plan("academic", ("osa",), (5.0,), 2)))))
    for facts in (found, whole):
        for record in facts["scores"]:
            del record["seconds_per_chain"]
    for key in ("scores", "parameters", "best_by_validation", "notes", "is_complete"):
        assert found[key] == whole[key], key
    again = run(*QUICK, "--out", str(out), "--resume", "--json")
    assert again.returncode == 0, again.stderr
    assert "is finished: there is nothing to resume" in " ".join(again.stderr.split())
    assert json.loads(again.stdout)["parameters"] == found["parameters"]
    changed = run(*QUICK, "--out", str(out), "--resume", "--seed", "1")
    assert changed.returncode == 2
    assert "is of another case: seed was 0 and is 1" in " ".join(changed.stderr.split())


def test_resume_needs_a_folder_to_go_on_in() -> None:
    with pytest.raises(AdjoinError, match="pass both"):
        case("academic", resume=True)


def test_missing_silverbox_data_are_bad_data(tmp_path: Path) -> None:
    done = run("case", "silverbox", "--data", str(tmp_path))
    assert done.returncode == 2
    assert "SNLS80mV.csv" in done.stderr
    assert "expected" not in done.stderr
    assert not done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"name": "tower"}, "there is no case 'tower'"),
        ({"objective": "mpo"}, "there is no objective 'mpo'"),
        ({"lambda_t": "1,many"}, "--lambda-t is numbers"),
        ({"lambda_t": "-1"}, "λ_t must be a number from 0.001 to 100"),
        ({"data": Path("x.csv")}, "simulates its data"),
    ],
)
def test_what_means_nothing_is_refused(arguments: dict, complaint: str) -> None:
    with pytest.raises(AdjoinError, match=complaint):
        case(**{"name": "academic", **arguments})


def test_a_folder_that_cannot_be_written_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    for out, complaint in (
        (file, "is a file"),
        (tmp_path / "no" / "such", "cannot write to the folder"),
    ):
        with pytest.raises(AdjoinError, match=complaint):
            case("no case is looked at yet", out=out)


def test_what_cannot_be_written_is_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "out" / "scores.csv").mkdir(parents=True)
    done = run(*QUICK, "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "scores.csv" in done.stderr
    assert "the true equation in 2 of 2 chains" in done.stdout


def test_physics_that_data_cannot_tell_apart_is_refused_before_anything_runs(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    u, force = rng.standard_normal((2, 300))
    rows = np.column_stack([u, 2.0 * u * np.abs(u), force])
    header = "velocity,acceleration,force"
    np.savetxt(tmp_path / "own.csv", rows, delimiter=",", header=header, comments="")
    done = run("case", "waves", "--objective", "osa", "--data", str(tmp_path / "own.csv"))
    assert done.returncode == 2
    assert "cannot be told apart" in done.stderr
    assert "per chain" not in done.stderr
