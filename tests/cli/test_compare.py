"""``adjoin compare``, and what ``--force`` is for, as a user starts them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.command import run
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, made
from tests.schema import require_scores

from adjoin import Dataset

SEVERAL = ("compare", "poor.nc", "good.nc")


def write(path: Path, data: Dataset) -> None:
    rows = np.column_stack([data.u, data.y])
    np.savetxt(path, rows, delimiter=",", header="u,y", comments="", fmt="%.17g")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with the same held-out data, and files to compare them on."""
    place = tmp_path_factory.mktemp("runs")
    made([[TRUE] * 4], held_out=HELD_OUT).save(place / "good.nc")
    made([[POOR] * 4], held_out=HELD_OUT).save(place / "poor.nc")
    write(place / "test.csv", TEST)
    write(place / "train.csv", TRAIN)
    return place


def test_json_has_every_run_with_scores_in_the_one_shape(folder: Path) -> None:
    done = run(*SEVERAL, "--data", "test.csv", "--out", "runs.svg", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["part"] == "test.csv"
    assert facts["best"] == "good.nc"
    assert facts["notes"] == []
    assert facts["written"] == {"picture": "runs.svg"}
    assert [run["name"] for run in facts["runs"]] == ["good.nc", "poor.nc"]
    for found in facts["runs"]:
        require_scores(found["scores"], {"test.csv"})
        assert set(found) == {
            *("name", "objective", "equation", "n_terms", "scores", "verdict", "seconds")
        }
    assert (folder / "runs.svg").read_text(encoding="utf-8").startswith("<?xml")


def test_the_table_is_on_standard_output_and_notes_are_not(folder: Path) -> None:
    done = run(*SEVERAL, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "good.nc simulates best on the validation data" in done.stdout
    assert done.stdout.index("good.nc  ") < done.stdout.index("poor.nc")
    assert max(map(len, done.stdout.splitlines())) <= 100
    assert "note: compared on the data that all runs held out" in done.stderr
    assert "(--data …)" in done.stderr
    done = run(*SEVERAL, "--data", "train.csv", cwd=folder)
    assert "note: train.csv is not new" in done.stderr
    assert "note" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("compare", "good.nc", "nothing.nc"), "nothing.nc"),
        (("compare", "good.nc", "good.nc"), "given twice; give each once"),
        ((*SEVERAL, "--data", "nothing.csv"), "nothing.csv"),
        ((*SEVERAL, "--out", "runs.bmp"), "must end in one of"),
        ((*SEVERAL, "--out", "good.nc"), "overwrite 'good.nc', which is read"),
        ((*SEVERAL, "--out", "good.nc", "--force"), "overwrite 'good.nc', which is read"),
        ((*SEVERAL, "--out", "nowhere/runs.svg"), "nowhere"),
    ],
)
def test_mistakes_end_with_2_and_say_what(
    folder: Path, arguments: tuple[str, ...], complaint: str
) -> None:
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stderr
    assert complaint in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "good.nc", "--out", "old.png"),
        ("report", "good.nc", "--out", "old.html"),
        ("report", "good.nc", "--out", "new.html", "--model", "old.json"),
        ("simulate", "good.nc", "test.csv", "--out", "old.csv"),
        ("fit", "train.csv", "--out", "old.nc"),
        ("fit", "train.csv", "--report", "old.html"),
        ("demo", "--report", "old.html"),
        ("grammar", "draw", "--out", "old.svg"),
        ("case", "academic", "--out", "study"),
    ],
)
def test_nothing_is_overwritten_silently(folder: Path, arguments: tuple[str, ...]) -> None:
    kept = [folder / f"old.{kind}" for kind in ("png", "html", "json", "csv", "nc", "svg")]
    (folder / "study").mkdir(exist_ok=True)
    for file in (*kept, folder / "study" / "case.json"):
        file.write_text("mine", encoding="utf-8")
    done = run(*arguments, cwd=folder)
    assert done.returncode == 2, done.stdout
    assert "exists already; pass --force to overwrite it" in " ".join(done.stderr.split())
    assert {file.read_text(encoding="utf-8") for file in kept} == {"mine"}
    assert not (folder / "new.html").exists()


def test_default_names_are_not_overwritten_either(tmp_path: Path, folder: Path) -> None:
    shutil.copy(folder / "good.nc", tmp_path)
    for name, command in (("good.html", ("report", "good.nc")), ("trees.svg", ("grammar", "draw"))):
        (tmp_path / name).write_text("mine", encoding="utf-8")
        done = run(*command, cwd=tmp_path)
        assert done.returncode == 2, done.stdout
        assert f"'{name}' exists already; pass --force" in " ".join(done.stderr.split())
        assert (tmp_path / name).read_text(encoding="utf-8") == "mine"


def test_force_overwrites_and_a_page_of_the_same_run_is_made_again(folder: Path) -> None:
    (folder / "again.csv").write_text("mine", encoding="utf-8")
    done = run("simulate", "good.nc", "test.csv", "--out", "again.csv", "--force", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert (folder / "again.csv").read_text(encoding="utf-8").startswith("sample,")
    page = folder / "good.html"
    page.write_text("mine", encoding="utf-8")
    options = ("--draws", "20")
    assert run("report", "good.nc", *options, "--force", cwd=folder).returncode == 0
    assert "<html" in page.read_text(encoding="utf-8")
    done = run("report", "good.nc", *options, "--title", "again", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "<title>again" in page.read_text(encoding="utf-8")
    shutil.copy(page, folder / "poor.html")  # a page, but of another run
    assert run("report", "poor.nc", *options, cwd=folder).returncode == 2


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("answer", "is_written"), [("y", True), ("n", False)])
def test_a_person_at_a_terminal_is_asked(folder: Path, answer: str, is_written: bool) -> None:
    import pty

    (folder / "asked.csv").write_text("mine", encoding="utf-8")
    ours, theirs = pty.openpty()
    os.write(ours, f"{answer}\n".encode())
    command = ("simulate", "good.nc", "test.csv", "--out", "asked.csv")
    done = subprocess.run(
        [sys.executable, "-m", "adjoin.cli", *command],
        stdin=theirs,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        check=False,
        cwd=folder,
        timeout=300,
    )
    os.close(theirs)
    os.close(ours)
    assert done.returncode == (0 if is_written else 2)
    assert ((folder / "asked.csv").read_text(encoding="utf-8") == "mine") is not is_written
