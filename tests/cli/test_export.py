"""``adjoin export``, as a user starts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.command import run
from tests.export.test_c_ensemble import posterior_of

import adjoin
from adjoin.export.compiling import find_compiler


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run and a model of it."""
    place = tmp_path_factory.mktemp("export")
    posterior, _ = posterior_of(30, 0.2, settings={"seed": 7, "data": ("rig.csv",)})
    posterior.save(place / "rig.nc")
    adjoin.load(place / "rig.nc").map_model.save(place / "rig.json")
    return place


@pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")
def test_a_run_is_exported_and_checked(folder: Path) -> None:
    files = ("--c", "my-rig.c", "--fmu", "int.fmu", "--matlab", "1st.m", "--python", "rig.py")
    done = run("export", "rig.nc", *files, "--check", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["written"] == {
        "c": "my-rig.c",
        "fmu": "int.fmu",
        "matlab": "1st.m",
        "python": "rig.py",
        "header": "my_rig.h",
        "script": "run_m1st.m",
    }
    assert all((folder / path).exists() for path in facts["written"].values())
    assert [found["kind"] for found in facts["checks"]] == ["C", "FMU", "MATLAB", "Python"]
    assert all(found["is_good"] is not False for found in facts["checks"])
    assert facts["sampling_time"] == 0.1
    assert facts["origin"]["run"] == "rig.nc"
    header = (folder / "my_rig.h").read_text(encoding="ascii")
    assert "the run rig.nc of rig.csv, seed 7, by adjoin" in " ".join(header.split())
    assert "double my_rig_step(" in header
    again = run("export", "rig.nc", "--c", "my-rig.c", cwd=folder)
    assert again.returncode == 2
    assert "'my-rig.c' exists already; pass --force to overwrite it" in again.stderr


def test_draws_of_a_run_are_exported_with_bands(folder: Path) -> None:
    done = run(
        "export", "rig.nc", "--draws", "20", "--c", "many.c", "--fmu", "many.fmu", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    assert "ensemble   20 models" in done.stderr
    assert "many_n_models = 20" in (folder / "many.h").read_text(encoding="ascii")


def test_a_model_file_remembers_its_run_and_needs_a_step(folder: Path) -> None:
    refused = run("export", "rig.json", "--fmu", "model.fmu", cwd=folder)
    assert refused.returncode == 2
    assert "seconds are between two samples (--step 0.01)" in refused.stderr
    done = run("export", "rig.json", "--fmu", "model.fmu", "--step", "0.25", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert facts["sampling_time"] == 0.25
    assert facts["origin"] == {
        "run": "rig.nc",
        "data": "rig.csv",
        "seed": 7,
        "version": adjoin.__version__,
    }


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "nothing to write; name a file by --c, --fmu, --matlab or --python"),
        (("--c", "rig.cpp"), "'rig.cpp' is to be c; let its name end in .c"),
        (("--c", "x.c", "--draws", "9"), "or leave out --draws"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    folder: Path, options: tuple[str, ...], said: str
) -> None:
    done = run("export", "rig.json", *options, cwd=folder)
    assert done.returncode == 2
    assert said in " ".join(done.stderr.split())
