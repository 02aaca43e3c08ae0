"""``adjoin case``: what it says before it starts, what it writes, and what it refuses."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import run

from adjoin import AdjoinError
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
