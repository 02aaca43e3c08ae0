"""``adjoin discover``: the JSON contract, what is written, and what goes wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tests.command import run
from tests.schema import require_findings

from adjoin import load
from adjoin.cli.output import stages

QUICK = ("--effort", "quick", "--max-lag", "2", "--max-degree", "2")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(8)
    u, y = rng.uniform(-2.0, 2.0, size=600), np.full(600, 5.0)
    for k in range(1, 600):
        y[k] = 0.6 * y[k - 1] + 0.5 * u[k - 1] - 0.1 * u[k - 1] ** 2 + 2.0
    time = np.arange(600) / 50.0
    time[300:] += 7.0  # a gap
    columns = {"time [s]": time, "force [N]": u, "speed": y + 0.02 * rng.normal(size=600)}
    path = tmp_path_factory.mktemp("discover") / "rig.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def _discover(rig: Path, *words: str) -> tuple[str, ...]:
    return ("discover", str(rig), "--inputs", "force [N]", "--output", "speed", *QUICK, *words)


def test_json_is_one_object_with_the_contract_s_keys(rig: Path, tmp_path: Path) -> None:
    out = tmp_path / "rig.nc"
    done = run(*_discover(rig, "--json", "--out", str(out)))
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    require_findings(facts, {"train", "validation"})
    assert facts["verdict"]["level"] == "good"
    assert sum(one["chosen"] for one in facts["candidates"]) == 1
    assert any("gap" in finding["words"] for finding in facts["data_check"]["findings"])
    assert load(out).map_model.equation == facts["equation"]
    for stage in (
        "s: looking at the data",
        "s: linear models",
        "s: 0 of 6 settings",
        "s: fitting the best",
    ):
        assert done.stderr.count(stage) == 1  # a log is told what is being done


def test_a_stage_that_goes_on_has_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 2.0, 15.9, 16.1, 17.0, 17.5])
    monkeypatch.setattr("adjoin.cli.output.time.monotonic", lambda: next(clock))
    with stages("reading the data") as tell:
        for n in range(5):
            tell(f"{n} of 40 settings" + (f"; the best misses {n} %" if n else ""))
        tell("fitting the best 3 to all data")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.splitlines() == [
        "1 s: 0 of 40 settings",
        "16 s: 3 of 40 settings; the best misses 3 %",
        "18 s: fitting the best 3 to all data",
    ]


def test_a_person_is_told_first_whether_it_simulates(rig: Path) -> None:
    done = run(*_discover(rig))
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("verdict    it simulates held-out data")
    assert "speed(k) = " in done.stdout
    assert "(chosen)" in done.stdout
    assert "1 gap in the time column" in done.stderr


def test_what_is_wrong_with_the_data_is_said_before_the_comparison(rig: Path) -> None:
    """With what to do about it, in options that exist: hours are not spent on swapped columns."""
    done = run("discover", str(rig), "--inputs", "speed", "--output", "force [N]", *QUICK)
    assert done.returncode == 0, done.stderr
    found = done.stderr.index("the columns seem to be swapped")
    assert found < done.stderr.index("linear models of all lags")
    assert "→ --inputs force_N and --output speed" in done.stderr
    assert "the columns seem to be swapped" in done.stdout.partition("\n")[0]
    steps = done.stdout.partition("next ")[2]
    assert steps.lstrip().startswith("→ swap the columns")


def test_advice_of_a_comparison_names_what_it_can_do(rig: Path, tmp_path: Path) -> None:
    page = tmp_path / "rig.html"
    done = run(*_discover(rig, "--report", str(page)))
    assert done.returncode == 0, done.stderr
    for said in (done.stderr, done.stdout, re.sub(r"<[^>]*>", "", page.read_text("utf-8"))):
        assert "--center" not in said.replace("adjoin fit --center", "")
        assert "center=True" not in said
    assert "adjoin fit --center may help (discover tries both)" in done.stderr


def test_an_unknown_effort_is_refused_before_anything_is_read() -> None:
    done = run("discover", "nothing.csv", "--effort", "fast")
    assert done.returncode == 2
    assert "fast" in done.stderr
    assert "nothing.csv" not in done.stderr


def test_what_cannot_be_used_is_refused(rig: Path) -> None:
    done = run(*_discover(rig, "--effort", "much"))
    assert done.returncode == 2
    assert "quick" in done.stderr
