"""``adjoin sweep``: what it prints, and how it ends."""

from __future__ import annotations

import csv
import json
from pathlib import Path

from tests.command import run
from tests.sweeps.plans import write_rig

from adjoin.sweeps.example import EXAMPLE

_PLAN = """
[data.rig]
file = "rig.csv"
output = "y"
validation = 0.2

[settings.bad]
initial_mode = "residual"
samples = 500

[settings.good]
max_lag = 2
max_degree = 2
samples = 500
chains = 1
"""


def test_a_sweep_in_which_a_job_fails_ends_with_1_and_says_which(tmp_path: Path) -> None:
    write_rig(tmp_path)
    (tmp_path / "plan.toml").write_text(_PLAN, encoding="utf-8")
    done = run("sweep", "plan.toml", "--jobs", "1", "--retries", "0", "--json", cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert (found["n_jobs"], found["n_done"], found["n_skipped"]) == (2, 1, 0)
    assert list(found["failed"]) == ["rig-bad-seed=0"]
    bad, good = found["jobs"]
    assert bad["state"] == "failed"
    assert set(good["scores"]) == {"train", "validation"}
    assert set(good["scores"]["train"]) == {"free_run", "one_step", "coverage"}
    with (tmp_path / "plan" / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["state"] for row in rows] == ["failed", "done"]
    shown = run("sweep", "plan.toml", "--jobs", "1", "--retries", "0", cwd=tmp_path)
    assert shown.returncode == 1
    assert "failed  rig-bad-seed=0: initial_mode='residual' needs terms" in shown.stdout
    assert "error of the free run on validation" in shown.stdout
    assert "1 finished before" in shown.stderr


def test_a_plan_that_cannot_be_run_is_an_error_and_the_example_is_printed(tmp_path: Path) -> None:
    shown = run("sweep", "--example")
    assert (shown.returncode, shown.stdout) == (0, EXAMPLE)
    assert run("sweep").returncode == 2
    (tmp_path / "plan.toml").write_text(_PLAN, encoding="utf-8")
    done = run("sweep", "plan.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "plan.toml, [data.rig]: file: " in " ".join(done.stderr.split())
    assert [file.name for file in tmp_path.iterdir()] == ["plan.toml"]
