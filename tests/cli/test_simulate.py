"""``adjoin simulate``: the table keeps what the file calls things, and says what is beyond it."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import run
from tests.systems import by_hand

from adjoin import Dataset, Grammar, Model
from adjoin.data.names import SignalNames
from adjoin.data.readers import read_labelled

GRAMMAR = Grammar.narx(inputs=["Force_N"], output="velocity", max_lag=2, max_degree=2)
RNG = np.random.default_rng(0)
FORCE = RNG.standard_normal(60)
TRUTH = Model.parse("velocity(k) = 0.5*Force_N(k-1) + 0.6*velocity(k-1)")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run, the same as a model, and new data with time stamps and a row of units."""
    place = tmp_path_factory.mktemp("rig")
    velocity = TRUTH.simulate(FORCE, noise=0.05 * RNG.standard_normal(60))
    data = Dataset.from_arrays(FORCE, velocity, ["Force_N", "velocity"])
    draw = ("Force_N(k-1) + velocity(k-1)", [0.5, 0.6], 0.0025)
    by_hand(data, [[draw] * 4], GRAMMAR).save(place / "rig.nc")
    TRUTH.save(place / "rig.json")
    stamps = [f"2026-01-01 12:00:{i:02d}.10" for i in range(60)]
    rows = zip(stamps, 3.0 * FORCE, TRUTH.simulate(3.0 * FORCE), strict=True)
    with (place / "new.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["timestamp", "Force (N)", "velocity"], ["-", "N", "m/s"]])
        csv.writer(file).writerows(rows)
    return place


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_time_stamps_and_headers_of_the_file_go_through(folder: Path) -> None:
    done = run("simulate", "rig.nc", "new.csv", "--out", "simulated.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = read(folder / "simulated.csv")
    assert list(rows[0])[:5] == ["sample", "timestamp", "Force (N)", "velocity", "model"]
    assert [row["timestamp"] for row in rows] == [f"2026-01-01 12:00:{i:02d}.10" for i in range(60)]
    assert [float(row["Force (N)"]) for row in rows] == (3.0 * FORCE).tolist()
    assert [row["sample"] for row in rows] == list(map(str, range(60)))


def test_inputs_beyond_what_was_fitted_are_said(folder: Path) -> None:
    done = run("simulate", "rig.nc", "new.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    (said,) = json.loads(done.stdout)["warnings"]
    assert said == "Force_N goes 2.9 times as far as in what was fitted"
    shown = run("simulate", "rig.nc", "new.csv", cwd=folder)
    assert f"note: {said}" in shown.stderr
    done = run("simulate", "rig.json", "new.csv", "--json", cwd=folder)
    assert json.loads(done.stdout)["warnings"] == []  # a model file has no data


def test_a_header_that_is_one_of_ours_is_kept(folder: Path) -> None:
    model = Model.parse("mean(k) = 0.5*model(k-1) + 0.6*mean(k-1)")
    model.save(folder / "odd.json")
    rows = "".join(f"{i},{0.1 * i:.1f},{i % 3},{i % 5}\n" for i in range(20))
    (folder / "odd.csv").write_text(f"sample,time,model,mean\n{rows}", encoding="utf-8")
    done = run("simulate", "odd.json", "odd.csv", "--out", "kept.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = read(folder / "kept.csv")
    assert list(found[0]) == ["sample", "time", "model", "mean", "model (simulated)"]
    assert [row["model"] for row in found[:4]] == ["0.0", "1.0", "2.0", "0.0"]


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("t,u,y\n0.10,1,2\n0.20,3,4\n", {"t": ["0.10", "0.20"]}),
        ("Time (s);u;y\n0,10;1;2\n0,20;3;4\n", {"Time (s)": ["0.10", "0.20"]}),
        ("u,y\n1,2\n3,4\n", {}),
        ("date,time,u,y\na,b,1,2\nc,d,3,4\n", {"date": ["a", "c"], "time": ["b", "d"]}),
    ],
)
def test_time_columns_are_read_as_they_are_written(
    tmp_path: Path, text: str, times: dict[str, list[str]]
) -> None:
    (tmp_path / "new.csv").write_text(text, encoding="utf-8")
    found = read_labelled(tmp_path / "new.csv", SignalNames(("u",), "y"))
    assert found.others == times
    assert found.headers == ("u", "y")


def test_times_of_a_matlab_file(tmp_path: Path) -> None:
    import scipy.io

    series = {"t": np.array([0.5, 1.0, 1.5]), "u": np.ones(3), "y": np.arange(3.0)}
    scipy.io.savemat(tmp_path / "new.mat", series)
    found = read_labelled(tmp_path / "new.mat", SignalNames(("u",), "y"))
    assert found.others == {"t": [0.5, 1.0, 1.5]}


def test_records_are_run_one_by_one_and_scored_as_a_report_does(folder: Path) -> None:
    lengths, starts = (20, 15, 25), (0.0, 20.0, 90.0)  # the last begins behind a gap
    runs = ("a", "b", "b")
    rows = []
    for run_name, n, start in zip(runs, lengths, starts, strict=True):
        noise = 0.1 * RNG.standard_normal(n)
        y = TRUTH.simulate(FORCE[:n], [0.5], noise=noise)
        times = (start + np.arange(n)).tolist()
        cells = zip(times, FORCE[:n], y, strict=True)
        rows += [[t, "ok", u, value, run_name] for t, u, value in cells]
    with (folder / "runs.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["time", "note", "Force_N", "velocity", "record"], *rows])
    arguments = ("simulate", "rig.nc", "runs.csv", "--draws", "30", "--json")
    done = run(*arguments, "--out", "runs_simulated.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "runs.csv has 3 records, each run by itself" in done.stderr
    facts = json.loads(done.stdout)
    assert (facts["n_records"], facts["n_samples"], facts["n_seed"]) == (3, 60, 2)
    reported = run(
        *("report", "rig.nc", "--data", "runs.csv", "--out", "runs.html", "--draws", "30"),
        "--json",
        cwd=folder,
    )
    assert facts["scores"]["runs.csv"] == json.loads(reported.stdout)["scores"]["runs.csv"]
    found = read(folder / "runs_simulated.csv")
    assert list(found[0])[:7] == [
        *("sample", "time", "note", "Force_N", "velocity", "record", "model")
    ]
    assert [[row["note"], row["record"]] for row in found] == [[row[1], row[4]] for row in rows]
    for first in (0, 20, 35):  # each from its own measured samples
        seeds = found[first : first + 2]
        assert [row["model"] for row in seeds] == [row["velocity"] for row in seeds]
    misses = np.array([float(row["model"]) - float(row["velocity"]) for row in found])
    scored = np.delete(misses, [0, 1, 20, 21, 35, 36])
    rmse = facts["scores"]["runs.csv"]["free_run"]["rmse"]
    assert np.sqrt((scored**2).mean()) == pytest.approx(rmse)
    for text in ("run by itself", "2 samples of each record not scored"):
        assert text in run(*arguments[:-1], cwd=folder).stderr


def test_a_record_that_is_too_short_is_named(folder: Path) -> None:
    rows = "".join(f"{0 if i < 30 else 1},{i % 7},{i % 5}\n" for i in range(31))
    (folder / "short.csv").write_text(f"record,Force_N,velocity\n{rows}", encoding="utf-8")
    done = run("simulate", "rig.nc", "short.csv", cwd=folder)
    assert done.returncode == 2
    assert "1 samples in record 1 do not reach beyond the 2 that seed the run" in done.stderr


def test_empty_cells_are_filled_where_there_is_an_option_for_it(folder: Path) -> None:
    text = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
    text[9] = text[9].rsplit(",", 1)[0] + ","
    (folder / "hole.csv").write_text("\n".join(text), encoding="utf-8")
    for command in ("fit", "discover"):
        done = run(command, "hole.csv", "--inputs", "Force_N", "--output", "velocity", cwd=folder)
        assert done.returncode == 2
        assert "the cell is empty; --fill 1 interpolates what is missing" in done.stderr
    done = run("simulate", "rig.nc", "hole.csv", cwd=folder)
    assert done.returncode == 2
    assert "fill" not in done.stderr
