"""``adjoin demo``: a known rig from its record to the page, and the physics that is found in it."""

from __future__ import annotations

import json
import math
import re
import shlex
from pathlib import Path

import pytest
from tests.command import run
from tests.schema import require_findings

import adjoin
from adjoin.cases import demonstration
from adjoin.model import Model

MADE = ("rig.csv", "rig.html", "rig.nc", "test.csv")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def printed(folder: Path) -> str:
    done = run("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_tells_the_whole_way(folder: Path, printed: str) -> None:
    assert sorted(file.name for file in folder.iterdir()) == sorted(MADE)
    order = [
        "adjoin check rig.csv",
        "there is 1 gap in the time column",
        "The offset of the sensor is small",
        "adjoin discover rig.csv",
        "verdict    it simulates held-out data",
        "displacement(k) = ",
        "The rig is 1.2 kg",
        "On a second experiment, test.csv",
        "the page, for a browser: ",
        "adjoin discover YOUR.csv",
    ]
    assert str((folder / "rig.html").resolve()) in printed
    places = [printed.index(piece) for piece in order]
    assert places == sorted(places)


def test_its_equation_has_the_physics_of_the_rig(folder: Path, printed: str) -> None:
    model = adjoin.load(folder / "rig.nc").map_model
    found = demonstration.physics_of(model)
    # What a measurement of the rig would give, within a few percent.
    assert found.rest == pytest.approx(2.5, abs=0.1)
    assert found.frequency == pytest.approx(7.96, rel=0.05)
    assert found.damping == pytest.approx(0.075, rel=0.2)
    assert found.way == pytest.approx(10.0, rel=0.05)
    assert f"rests at {found.rest:.2f} mm" in " ".join(printed.split())
    missed = re.search(r"simulation misses ([\d.]+) % of the variance", printed)
    assert missed
    assert 0.0 < float(missed[1]) < 2.0


def test_every_command_that_it_suggests_exists(printed: str) -> None:
    commands = re.findall(r"^  \$ adjoin (.*)$", printed, re.MULTILINE)
    assert len(commands) >= 6
    for command in commands:
        name, *words = shlex.split(command)
        known = run(name, "--help").stdout
        assert all(word in known for word in words if word.startswith("--")), command


def test_json_is_one_object_and_its_own_files_are_made_again(folder: Path, printed: str) -> None:
    done = run("demo", "--json", "--out", "rig.nc", cwd=folder)
    assert done.returncode == 2  # a file that was named is not overwritten silently
    assert "exists already" in done.stderr
    done = run("demo", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert set(facts["scores"]) >= {"train"}
    require_findings(facts, set(facts["scores"]))
    assert facts["verdict"]["level"] == "good"
    assert facts["physics"]["equation"]["way"] == pytest.approx(10.0, rel=0.05)
    assert sorted(facts["written"].values()) == sorted(MADE)


def test_a_record_of_yours_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "rig.csv").write_text("mine", encoding="utf-8")
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 2
    assert "'rig.csv' exists already; pass --force" in " ".join(done.stderr.split())
    assert [file.name for file in tmp_path.iterdir()] == ["rig.csv"]
    (tmp_path / "rig.csv").unlink()
    (tmp_path / "rig.nc").write_text("mine", encoding="utf-8")
    assert run("demo", cwd=tmp_path).returncode == 2
    assert (tmp_path / "rig.nc").read_text(encoding="utf-8") == "mine"
    (tmp_path / "rig.nc").unlink()
    for name, text in demonstration.texts().items():  # beside its own record, too
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / "rig.html").write_text("mine", encoding="utf-8")
    assert run("demo", cwd=tmp_path).returncode == 2
    assert (tmp_path / "rig.html").read_text(encoding="utf-8") == "mine"


def test_physics_of_a_known_equation() -> None:
    """A linear spring of 3 N/mm and 1.2 kg without damping, by its exact difference equation."""
    step, swing = 0.01, math.sqrt(3.0e3 / 1.2)
    pole = math.exp(-0.05 * swing * step)
    turn = swing * math.sqrt(1.0 - 0.05**2) * step
    first, second = 2.0 * pole * math.cos(turn), -(pole**2)
    gain = (1.0 - first - second) / 3.0
    shift = 2.5 * (1.0 - first - second)
    model = Model.parse(
        f"displacement(k) = {shift!r} + {gain!r}*force(k-1) + {first!r}*displacement(k-1)"
        f" + {second!r}*displacement(k-2)"
    )
    found = demonstration.physics_of(model)
    assert found.rest == pytest.approx(2.5)
    assert found.frequency == pytest.approx(swing / (2.0 * math.pi), rel=1e-5)
    assert found.damping == pytest.approx(0.05, rel=1e-4)
    assert found.way == pytest.approx(15.0)


def test_an_equation_that_does_not_swing_is_said_to_be_so() -> None:
    found = demonstration.physics_of(Model.parse("displacement(k) = 2.5 + 0.1*force(k-1)"))
    assert "does not swing" in demonstration.in_words(found)
    assert demonstration.plain(found)["equation"]["frequency"] is None
