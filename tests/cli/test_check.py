"""``adjoin check``, and the options by which data are prepared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.command import run
from tests.data.planted import clean

import adjoin
from adjoin import AdjoinError
from adjoin.exchange.data_files import read_tables


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    u, y, _ = clean("arx", 0)
    time = 0.01 * np.arange(len(u))
    table = pd.DataFrame({"time": time, "force": u, "velocity": y + 50.0})
    table.drop(index=range(700, 703)).to_csv(tmp_path / "rig.csv", index=False)
    return tmp_path / "rig.csv"


def test_what_is_found_is_a_table_and_a_json_object(rig: Path) -> None:
    arguments = ("check", str(rig), "--inputs", "force", "--output", "velocity")
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert " good " not in done.stdout  # what is only worth knowing is a note
    for words in ("caution", "note", "there is 1 gap", "--fill 3 interpolates it", "--center"):
        assert words in done.stdout
    done = run(*arguments, "--fill", "3", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [finding["name"] for finding in found["findings"]][:1] == ["offset"]
    assert found["data"]["n_records"] == 1
    assert found["data"]["prepared"][0].startswith("3 samples missing")


def test_a_page_of_findings_is_written_and_not_overwritten_unasked(rig: Path) -> None:
    page = rig.with_suffix(".html")
    arguments = ("check", str(rig), "--output", "velocity", "--report", str(page))
    done = run(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["findings"][0]["evidence"]["picture"]
    text = page.read_text(encoding="utf-8")
    assert text.count("<svg") == 2 * len(json.loads(done.stdout)["findings"])
    assert "--center" in text
    assert run(*arguments).returncode == 2
    assert run(*arguments, "--force").returncode == 0
    assert run("check", str(rig), "--output", "velocity", "--report", str(rig)).returncode == 2


def test_bad_data_end_with_status_2(rig: Path) -> None:
    done = run("check", str(rig), "--inputs", "torque", "--output", "velocity")
    assert done.returncode == 2
    assert "no column is called 'torque'" in done.stderr


def test_files_are_read_and_prepared_in_one_way(rig: Path) -> None:
    data = read_tables([rig, rig], "force", "velocity", decimate=3, detrend=True, fill=3)
    assert (data.n_records, data.n_samples) == (2, 1000)
    assert data.sampling_time == pytest.approx(0.03)
    assert len(data.prepared) == 4
    assert read_tables([rig], "force", "velocity").n_records == 2
    with pytest.raises(AdjoinError, match="no column is called 'x'"):
        read_tables([rig], "x", "velocity")


def test_a_fit_says_what_was_done_to_the_data(rig: Path) -> None:
    more = ("--decimate", "2", "--fill", "3", "--samples", "400", "--chains", "1", "--max-lag", "3")
    done = run("fit", str(rig), "--inputs", "force", "--output", "velocity", *more, "--json")
    assert done.returncode == 0, done.stderr
    assert "prepared: every 2nd sample kept" in done.stderr


@pytest.fixture
def slow_model(tmp_path: Path) -> Path:
    model = tmp_path / "slow.json"
    adjoin.Model.parse("velocity(k) = 0.5*velocity(k-1) + force(k-1)", inputs=("force",)).save(
        model, sampling_time=0.05
    )
    return model


def test_a_model_of_slower_samples_is_not_run_on_faster_ones(
    rig: Path, slow_model: Path, tmp_path: Path
) -> None:
    done = run("simulate", str(slow_model), str(rig))
    assert done.returncode == 2
    assert "a sample every 0.01 s" in done.stderr
    assert "one every 0.05 s" in done.stderr
    assert "--decimate 5" in done.stderr
    out = tmp_path / "slow.csv"
    done = run("simulate", str(slow_model), str(rig), "--decimate", "5", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "rig.csv has 2 records, each run by itself" in done.stderr  # one filter each, too
    table = pd.read_csv(out)
    assert len(table) == 300  # of 1,497 samples
    assert table["time"].iloc[1] == pytest.approx(0.05)
    slow = read_tables([rig], "force", "velocity", fill=3).decimate(5)
    assert np.allclose(table["force"][:60], slow.u[:60], atol=1e-6 * np.ptp(slow.u))
