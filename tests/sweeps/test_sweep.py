"""Sweeps: what is finished is skipped, what failed is tried again, and nothing is lost."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.command import run
from tests.sweeps import plans
from tests.sweeps.plans import QUICK, digest, make_plan

import adjoin
from adjoin import AdjoinError, Sweep
from adjoin.files import locked
from adjoin.sweeps import sweep as sweeping
from adjoin.sweeps.processes import Processes, WorkerDied

ROOT = Path(__file__).parents[2]
_RESIDUAL = {**QUICK, "initial_mode": "residual"}
"""It takes a job to find out that there are no terms to fit first."""


def sweep(plan: Any, out: Path, **given: Any) -> Sweep:
    """A sweep in this process, one job after the other."""
    with ThreadPoolExecutor(1) as executor:
        return adjoin.sweep(plan, out, executor=executor, **given)


def stamps(out: Path) -> dict[str, int]:
    """When each run was written."""
    return {file.parent.name: file.stat().st_mtime_ns for file in out.glob("*/run.nc")}


def test_one_table_is_collected_and_a_second_time_everything_is_skipped(tmp_path: Path) -> None:
    plan, out, told = make_plan(tmp_path), tmp_path / "out", []
    first = sweep(plan, out, observe=told.append)
    assert told[-1] == "2 of 2 jobs done; last rig-small-max_lag=2-seed=0"
    assert first.is_complete
    table = first.table
    assert list(table["max_lag"]) == [1, 2]
    assert set(table["state"]) == {"done"}
    assert set(table["judged_on"]) == {"test.csv"}
    name = "rig-small-max_lag=2-seed=0"
    test = adjoin.read_data(tmp_path / "test.csv", output="y")
    score = adjoin.compare([first.load(name)], test).table["free_run_nmse"].iloc[0]
    assert table.loc[name, "free_run_nmse"] == pytest.approx(score, rel=1e-12)
    assert sorted(p.name for p in (out / name).iterdir()) == ["job.json", "run.nc"]
    record = json.loads((out / name / "job.json").read_text(encoding="utf-8"))
    assert record["state"] == "done"
    assert set(record["scores"]) == {"train", "validation", "test.csv"}
    assert (out / "table.csv").read_text(encoding="utf-8").count("\n") == 3
    assert "small, max_lag=2" in first._repr_html_()
    nmse = list(first.summary["nmse"])
    assert nmse == sorted(nmse)
    before = stamps(out)
    again = sweep(plan, out, observe=told.append)
    assert "2 jobs, 2 of them finished before" in told
    assert again.skipped == set(table.index)
    assert stamps(out) == before
    assert again.table.equals(table)


def test_seeds_that_are_added_are_all_that_is_run(tmp_path: Path) -> None:
    plan, out = make_plan(tmp_path), tmp_path / "out"
    sweep(plan, out)
    before = stamps(out)
    found = sweep({**plan, "seeds": [0, 1]}, out)
    assert len(found.table) == 4
    assert len(found.skipped) == 2
    assert before.items() < stamps(out).items()
    (one, _) = found.groups
    assert (one.n_jobs, one.n_done) == (2, 2)
    assert one.lowest <= one.nmse <= one.highest


def test_other_data_or_settings_are_refused_and_named_and_force_runs_them_anew(
    tmp_path: Path,
) -> None:
    plan, out = make_plan(tmp_path), tmp_path / "out"
    sweep(plan, out)
    before = stamps(out)
    other = make_plan(tmp_path, settings={"small": {**QUICK, "max_lag": [1, 2], "thin": 2}})
    with pytest.raises(AdjoinError, match=r"another job: thin was 5 and is 2, and so are 1 more"):
        sweep(other, out)
    rows = np.loadtxt(tmp_path / "test.csv", delimiter=",", skiprows=1)
    rows[3, 1] += 1e-3
    np.savetxt(tmp_path / "test.csv", rows, delimiter=",", header="u,y", comments="")
    with pytest.raises(AdjoinError, match="the test data differ: 'y' of record 0"):
        sweep(plan, out)
    assert stamps(out) == before
    both = {"small": {**QUICK, "max_lag": [1, 2]}, "new": QUICK}
    found = sweep({**plan, "settings": both}, out, force=True)
    assert found.is_complete
    assert found.skipped == frozenset()
    assert all(stamps(out)[name] > stamp for name, stamp in before.items())


def test_a_job_that_fails_is_tried_again_reported_and_does_not_stop_the_others(
    tmp_path: Path,
) -> None:
    plan = make_plan(tmp_path, settings={"bad": _RESIDUAL, "good": QUICK})
    found = sweep(plan, tmp_path / "out", retries=2)
    assert not found.is_complete
    assert list(found.table["state"]) == ["failed", "done"]
    assert list(found.table["attempts"]) == [3, 1]
    assert "needs terms to fit first" in found.failed["rig-bad-seed=0"]
    assert "needs terms to fit first" in found._repr_html_()
    again = sweep(plan, tmp_path / "out", retries=0)
    assert list(again.table["attempts"]) == [4, 1]
    assert again.skipped == {"rig-good-seed=0"}


def test_a_folder_that_is_something_else_or_in_other_hands_is_left_alone(tmp_path: Path) -> None:
    plan, out = make_plan(tmp_path), tmp_path / "out"
    with pytest.raises(AdjoinError, match="is no sweep but has other files"):
        sweep(plan, tmp_path)
    with pytest.raises(AdjoinError, match="needs a folder for its runs"):
        adjoin.sweep(plan)
    sweep(plan, out)
    with locked(out / "lock"), pytest.raises(AdjoinError, match="another process is at work"):
        sweep(plan, out)
    (out / "rig-small-max_lag=1-seed=0" / "job.json").write_text("{", encoding="utf-8")
    with pytest.raises(AdjoinError, match=r"job\.json' is damaged"):
        sweep(plan, out)


def test_a_discovery_and_a_fit_are_in_one_table(tmp_path: Path) -> None:
    settings = {
        "found": {"command": "discover", "effort": "quick", "max_lag": 1, "max_degree": 1},
        "fitted": QUICK,
    }
    found = sweep(make_plan(tmp_path, settings=settings), tmp_path / "out")
    assert found.failed == {}
    assert found.load("rig-found-seed=0").discovered is not None
    assert found.table["free_run_nmse"].max() < 20.0


@pytest.mark.slow
def test_results_are_the_same_whatever_the_number_of_processes_and_who_dies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = make_plan(tmp_path, seeds=[0, 1], settings={"small": QUICK})
    two = adjoin.sweep(plan, tmp_path / "two", n_jobs=2)
    assert two.failed == {}
    monkeypatch.setattr(sweeping, "run_job", plans.die_once)
    one = adjoin.sweep(plan, tmp_path / "one", n_jobs=1)
    assert list(one.table["attempts"]) == [2, 1]
    assert one.failed == {}
    for name in one.table.index:
        assert digest(tmp_path / "one" / name / "run.nc") == digest(
            tmp_path / "two" / name / "run.nc"
        )
    gone = adjoin.sweep(
        {**plan, "settings": {"other": QUICK}}, tmp_path / "two", n_jobs=1, retries=0
    )
    assert gone.failed == {
        "rig-other-seed=0": "its process died, killed by somebody or for want of memory"
    }
    columns = ["free_run_nmse", "coverage", "equation"]
    assert one.table[columns].equals(two.table[columns])


def test_a_process_that_dies_takes_nothing_with_it() -> None:
    with Processes(2) as executor:
        dead = executor.submit(os._exit, 3)
        alive = [executor.submit(pow, 2, n) for n in range(4)]
        assert isinstance(dead.exception(), WorkerDied)
        assert [future.result() for future in alive] == [1, 2, 4, 8]
    assert multiprocessing.active_children() == []


_HURRIED = """
from tests.killing import hurry
hurry()
if __name__ == "__main__":
    from adjoin.cli import main
    main()
"""
_LONG = {**QUICK, "samples": 1_000_000, "thin": 1000}


def stop(folder: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """Sweep two jobs, and send a signal as soon as both have saved something more."""
    command = [sys.executable, "hurried.py", "sweep", "plan.toml", "--jobs", "2"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    before = saved(folder)
    with subprocess.Popen(command, cwd=folder, env=environment, **pipes) as process:
        while len(saved(folder) - before) < 2:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def saved(folder: Path) -> set[tuple[Path, int]]:
    files = folder.glob("plan/*/run.nc.checkpoint/chain.0.arrays")
    return {(file, file.stat().st_mtime_ns) for file in files}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
def test_a_sweep_that_is_killed_and_then_stopped_goes_on_and_ends_with_the_same_bits(
    tmp_path: Path,
) -> None:
    plan = "\n".join(
        ["seeds = [0, 1]", "[data.rig]", "file = 'rig.csv'", "output = 'y'", "[settings.long]"]
        + [f"{name} = {value}" for name, value in _LONG.items()]
    )
    (tmp_path / "plan.toml").write_text(plan, encoding="utf-8")
    rig = plans.write_rig(tmp_path)
    # A script, as every process reads it once more, and hurries.
    (tmp_path / "hurried.py").write_text(_HURRIED, encoding="utf-8")
    assert stop(tmp_path, signal.SIGKILL).returncode == -signal.SIGKILL
    ended = stop(tmp_path, signal.SIGINT)
    assert ended.returncode == 1
    assert "what was drawn is kept in 'plan': the same sweep goes on there" in ended.stderr
    assert "Traceback" not in ended.stderr
    states = [json.loads(p.read_text())["state"] for p in tmp_path.glob("plan/*/job.json")]
    assert states == ["stopped"] * 2
    assert list(tmp_path.glob("plan/*/run.nc")) == []
    done = run("sweep", "plan.toml", "--jobs", "1", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for seed in (0, 1):
        folder = tmp_path / f"plan/rig-long-seed={seed}"
        identifier = adjoin.Identifier(**_LONG, seed=seed)
        identifier.fit(adjoin.read_data(rig, output="y")).posterior_.save(tmp_path / "whole.nc")
        assert digest(folder / "run.nc") == digest(tmp_path / "whole.nc")
        assert sorted(p.name for p in folder.iterdir()) == ["job.json", "run.nc"]
        assert json.loads((folder / "job.json").read_text())["attempts"] == 3
