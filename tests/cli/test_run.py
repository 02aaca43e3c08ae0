"""``adjoin fit --out``, ``adjoin report`` and ``adjoin simulate``, as a user starts them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest
from tests.command import run
from tests.schema import require_findings, require_scores

import adjoin

QUICK = ("--samples", "3000", "--chains", "2", "--seed", "0", "--max-lag", "6")


def write_table(path: Path, part: adjoin.Dataset, columns: tuple[str, ...] = ("u", "y")) -> Path:
    values = {"u": part.u, "y": part.y}
    header = {"u": "Force (N)", "y": "velocity"}
    np.savetxt(
        path,
        np.column_stack([values[name] for name in columns]),
        delimiter=",",
        header=",".join(header[name] for name in columns),
        comments="",
        fmt="%.17g",
    )
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with data, a saved run, its page, and the model in three forms."""
    place = tmp_path_factory.mktemp("rig")
    parts = adjoin.datasets.academic(seed=0)
    write_table(place / "train.csv", parts.train)
    write_table(place / "test.csv", parts.test)
    write_table(place / "inputs.csv", parts.test, ("u",))
    fitted = run(
        *("fit", "train.csv", "--inputs", "Force (N)", "--output", "velocity"),
        *(*QUICK, "--validation", "0.2", "--sampling-time", "0.01", "--out", "rig.nc", "--json"),
        cwd=place,
    )
    assert fitted.returncode == 0, fitted.stderr
    (place / "fit.json").write_text(fitted.stdout, encoding="utf-8")
    reported = run(
        *("report", "rig.nc", "--data", "test.csv", "--draws", "50", "--title", "<b>rig</b>"),
        *("--model", "rig.json", "--python", "rig.py", "--latex", "rig.tex", "--json"),
        cwd=place,
    )
    assert reported.returncode == 0, reported.stderr
    (place / "report.json").write_text(reported.stdout, encoding="utf-8")
    return place


def test_a_run_is_saved_and_the_saved_one_says_the_same(folder: Path) -> None:
    facts = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    assert facts["written"] == {"run": "rig.nc"}
    require_findings(facts, {"train", "validation"})
    every = adjoin.load(folder / "rig.nc")
    assert every.held_out is not None
    assert every.data.n_samples + every.held_out.n_samples == 1000
    chosen = every.select_chain(every.held_out, every.held_out)
    assert chosen.chain_numbers == (facts["diagnostics"]["selected_chain"],)
    assert chosen.map_model.equation == facts["equation"]
    assert every.settings["data"] == ["train.csv"]
    assert every.data.sampling_time == every.held_out.sampling_time == 0.01


def test_the_report_is_written_with_everything_asked_for(folder: Path) -> None:
    facts = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert facts["written"] == {
        "report": "rig.html",
        "model": "rig.json",
        "python": "rig.py",
        "latex": "rig.tex",
    }
    page = (folder / "rig.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;rig&lt;/b&gt;" in page
    assert "adjoin.load(&#39;rig.nc&#39;)" in page
    assert "one every 0.01 s" in page
    require_findings(facts, {"train", "validation", "test.csv"})
    assert 0.85 < facts["scores"]["test.csv"]["coverage"] <= 1.0
    assert facts["scores"]["test.csv"]["free_run"]["diverged"] == 0.0
    assert {test["test"] for test in facts["residual_tests"]} >= {"residual with itself"}
    assert facts["answers"]["trusted"]["level"] in ("good", "caution", "poor")
    assert "\\toprule" in (folder / "rig.tex").read_text(encoding="utf-8")


def test_the_model_file_simulates_as_the_model_does(folder: Path) -> None:
    done = run("simulate", "rig.json", "test.csv", cwd=folder)
    assert done.returncode == 0, done.stderr
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert list(rows[0]) == ["sample", "Force (N)", "velocity", "model"]
    model = adjoin.Model.read(folder / "rig.json")
    test = adjoin.datasets.academic(seed=0).test
    expected = model.simulate(test.u, test.y[: model.max_lag])
    assert [float(row["model"]) for row in rows] == expected.tolist()
    assert "RMSE" in done.stderr
    assert f"{model.max_lag} samples not scored" in done.stderr


def test_the_generated_function_simulates_as_the_model_does(folder: Path) -> None:
    model = adjoin.Model.read(folder / "rig.json")
    test = adjoin.datasets.academic(seed=0).test
    space: dict[str, object] = {}
    exec(compile((folder / "rig.py").read_text(encoding="utf-8"), "rig.py", "exec"), space)
    simulated = space["simulate"](test.u, y_init=test.y[: model.max_lag])  # type: ignore[operator]
    np.testing.assert_allclose(simulated, model.simulate(test.u, test.y[: model.max_lag]))


def test_a_run_simulates_with_bands(folder: Path) -> None:
    done = run("simulate", "rig.nc", "test.csv", "--out", "bands.csv", "--draws", "40", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    with (folder / "bands.csv").open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0])[3:7] == ["model", "mean", "median", "sd"]
    assert list(rows[0])[7:] == ["q2.5", "q16", "q84", "q97.5"]  # the band of a half is the median
    last = {name: float(value) for name, value in rows[-1].items()}
    assert last["q2.5"] < last["q16"] < last["q84"] < last["q97.5"]
    assert "the 95 % band holds" in done.stderr


def test_all_commands_have_the_same_scores(folder: Path) -> None:
    """Fit and report of the same parts, report and simulate of the same test data."""
    fitted, reported = (
        json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["scores"]
        for name in ("fit", "report")
    )
    for part in ("train", "validation"):
        for kind in ("free_run", "one_step"):
            assert fitted[part][kind] == reported[part][kind]
        assert fitted[part]["coverage"] == pytest.approx(reported[part]["coverage"], abs=0.03)
    done = run("simulate", "rig.nc", "test.csv", "--draws", "50", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["scores"] == {"test.csv": reported["test.csv"]}


def test_several_test_files_are_scored_together(folder: Path) -> None:
    (folder / "more.csv").write_bytes((folder / "test.csv").read_bytes())
    data = ("--data", "test.csv", "--data", "more.csv", "--out", "both.html", "--draws", "10")
    done = run("report", "rig.nc", *data, "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    require_findings(json.loads(done.stdout), {"train", "validation", "test.csv + more.csv"})


def test_without_a_measured_output_the_run_starts_at_rest(folder: Path) -> None:
    done = run("simulate", "rig.json", "inputs.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["scores"] == {}
    assert facts["n_seed"] == 0
    model = adjoin.Model.read(folder / "rig.json")
    assert facts["series"]["model"] == model.simulate(adjoin.datasets.academic(0).test.u).tolist()


def test_a_model_without_lags_needs_no_samples_to_start_from(folder: Path) -> None:
    names = adjoin.Model.read(folder / "rig.json").names
    static = adjoin.Model.parse(f"{names.output}(k) = 2*{names.inputs[0]}(k)", inputs=names.inputs)
    static.save(folder / "static.json")
    for data in ("test.csv", "inputs.csv"):
        done = run("simulate", "static.json", data, "--json", cwd=folder)
        assert done.returncode == 0, done.stderr
        found = json.loads(done.stdout)["series"]["model"]
        assert found == (2.0 * adjoin.datasets.academic(0).test.u).tolist()


def test_several_steps_ahead(folder: Path) -> None:
    done = run("simulate", "rig.nc", "test.csv", "--steps-ahead", "3", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    require_scores(facts["scores"], {"test.csv"})
    assert facts["ahead"]["steps"] == 3
    assert facts["ahead"]["rmse"] > 0.0
    chosen, test = adjoin.load(folder / "rig.nc").selected, adjoin.datasets.academic(0).test
    assert facts["chains"] == list(chosen.chain_numbers)
    assert facts["equation"] == chosen.map_model.equation  # that of the report and of fit
    assert facts["series"]["model"] == chosen.map_model.predict(test.u, test.y, 3).tolist()
    assert facts["series"]["mean"] == chosen.predict(test.u, test.y, 3).mean.tolist()


def test_a_diverging_model_is_said_to_diverge(folder: Path) -> None:
    names = adjoin.Model.read(folder / "rig.json").names
    y = names.output
    wild = adjoin.Model.parse(f"{y}(k) = 9*{y}(k-1)^2 + 1", inputs=names.inputs)
    wild.save(folder / "wild.json")
    done = run("simulate", "wild.json", "test.csv", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["diverged"] is True
    require_scores(facts["scores"], {"test.csv"}, is_lone=True)
    assert facts["scores"]["test.csv"]["free_run"]["rmse"] is None
    assert facts["scores"]["test.csv"]["free_run"]["diverged"] == 1.0
    assert facts["series"]["model"][-1] is None


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("report", "nothing.nc"), "nothing.nc"),
        (("report", "train.csv"), "train.csv"),
        (("report", "train.csv"), "pass what adjoin discover --out, adjoin fit --out or"),
        (("simulate", "test.csv", "rig.nc"), "were the arguments swapped? The model or run comes"),
        (("simulate", "test.csv", "rig.json"), "were the arguments swapped?"),
        (
            ("discover", "rig.nc", "--output", "velocity"),
            "is a saved run, not data; adjoin report",
        ),
        (("fit", "rig.nc", "--output", "velocity"), "is a saved run, not data"),
        (("check", "rig.nc", "--output", "velocity"), "is a saved run, not data"),
        (
            ("discover", "train.csv", "--output", "velocity", "--out", "found.csv"),
            "'found.csv' is to be a saved run, which is no .csv file; name it 'found.nc'",
        ),
        (("report", "rig.json"), "rig.json"),
        (("report", "rig.nc", "--data", "inputs.csv"), "no column 'velocity'"),
        (("report", "rig.nc", "--out", "nowhere/page.html"), "nowhere"),
        (("report", "rig.nc", "--out", "rig.nc"), "overwrite 'rig.nc', which is read"),
        (("report", "rig.nc", "--model", "./rig.nc"), "overwrite 'rig.nc'"),
        (("report", "rig.nc", "--latex", "a.txt", "--python", "a.txt"), "overwrite the python"),
        (("simulate", "rig.json", "test.csv", "--out", "test.csv"), "overwrite 'test.csv'"),
        (
            ("fit", "train.csv", "--output", "velocity", "--out", "train.csv"),
            "overwrite 'train.csv'",
        ),
        (("simulate", "nothing.json", "test.csv"), "nothing.json"),
        (("simulate", "rig.json", "rig.nc"), "rig.nc"),
        (("simulate", "fit.json", "test.csv"), "fit.json"),
        (("simulate", "rig.json", "inputs.csv", "--steps-ahead", "2"), "measured output"),
        (("simulate", "rig.json", "other.csv"), "Did you mean"),
        (("fit", "train.csv", "--output", "velocity", "--out", "nowhere/rig.nc"), "nowhere"),
        (("fit", "train.csv", "--output", "velocity", "--report", "."), "folder"),
    ],
)
def test_mistakes_end_with_2_and_say_what(
    folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    (folder / "other.csv").write_text("Forces,x\n1,2\n3,4\n", encoding="utf-8")
    before = (folder / "rig.nc").read_bytes()
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert complaint in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
    assert (folder / "rig.nc").read_bytes() == before
    assert not list(folder.glob(".adjoin-*"))


def test_a_damaged_run_is_refused(folder: Path) -> None:
    content = bytearray((folder / "rig.nc").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "damaged.nc").write_bytes(content)
    done = run("report", "damaged.nc", cwd=folder)
    assert done.returncode == 2
    assert "damaged.nc" in done.stderr
    assert not (folder / "damaged.html").exists()
