"""What is left of ``adjoin fit --out RUN`` that was stopped, and what becomes of it by --resume."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from tests import killing
from tests.command import run
from tests.systems import simulated

import adjoin
from adjoin.files import locked

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")

FIT = ("--output", "y", "--max-lag", "2", "--max-degree", "2", "--chains", "2", "--seed", "0")
LONG = (*FIT, "--samples", "1500000", "--thin", "1000", "--jobs", "2")
_HURRIED = """
from tests.killing import hurry
hurry()
from adjoin.cli import main
main()
"""


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    u, y = simulated(n=120)
    path = tmp_path_factory.mktemp("rig") / "rig.csv"
    np.savetxt(path, np.column_stack([u, y]), delimiter=",", header="u,y", comments="")
    return path


@pytest.fixture(scope="module")
def whole(rig: Path) -> adjoin.Posterior:
    """What the long run gives that nobody stops."""
    out = rig.with_name("whole.nc")
    done = run("fit", str(rig), *LONG, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert [*rig.parent.glob("*.checkpoint")] == []
    return adjoin.load(out)


def stopped(rig: Path, out: Path, number: signal.Signals) -> subprocess.CompletedProcess[str]:
    """The long run, with a signal as soon as chains of it have been saved."""
    command = [sys.executable, "-c", _HURRIED, "fit", str(rig), *LONG, "--out", str(out)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=Path(__file__).parents[2], **pipes) as process:
        folder = out.with_name(f"{out.name}.checkpoint")
        while not all((folder / f"chain.{i}.arrays").exists() for i in (0, 1)):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        output, errors = process.communicate(timeout=300)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def test_killed_it_goes_on_by_resume_and_ends_with_the_same_bits(
    rig: Path, tmp_path: Path, whole: adjoin.Posterior
) -> None:
    out = tmp_path / "run.nc"
    folder = tmp_path / "run.nc.checkpoint"
    assert stopped(rig, out, signal.SIGKILL).returncode == -signal.SIGKILL
    assert not out.exists()
    again = run("fit", str(rig), *LONG, "--out", str(out))
    assert again.returncode == 2
    assert "pass --resume to go on with it, or --force to begin anew" in " ".join(
        again.stderr.split()
    )
    other = run("fit", str(rig), *LONG, "--max-lag", "3", "--out", str(out), "--resume")
    assert other.returncode == 2
    assert "max_lag was 2 and is 3" in other.stderr
    done = run("fit", str(rig), *LONG, "--out", str(out), "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert f"going on from {folder}" in " ".join(done.stderr.split())
    assert killing.digest(adjoin.load(out)) == killing.digest(whole)
    assert json.loads(done.stdout)["written"] == {"run": str(out)}
    assert not folder.exists()


def test_ctrl_c_writes_what_there_is_and_resume_goes_on(
    rig: Path, tmp_path: Path, whole: adjoin.Posterior
) -> None:
    out = tmp_path / "run.nc"
    ended = stopped(rig, out, signal.SIGINT)
    assert ended.returncode == 1
    assert "the same command with --resume goes on from there" in " ".join(ended.stderr.split())
    assert not adjoin.load(out).settings.is_complete
    done = run("fit", str(rig), *LONG, "--out", str(out), "--resume")
    assert done.returncode == 0, done.stderr
    assert killing.digest(adjoin.load(out)) == killing.digest(whole)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.nc"]


def test_a_run_that_is_finished_is_told_and_never_drawn_again(rig: Path, tmp_path: Path) -> None:
    out, quick = tmp_path / "run.nc", (*FIT, "--samples", "2000")
    first = run("fit", str(rig), *quick, "--out", str(out), "--resume", "--json")
    assert first.returncode == 0, first.stderr
    assert "to go on from: the run begins" in " ".join(first.stderr.split())
    before = out.read_bytes()
    again = run("fit", str(rig), *quick, "--out", str(out), "--resume", "--json", "--jobs", "1")
    assert again.returncode == 0, again.stderr
    assert "is finished: there is nothing to resume" in " ".join(again.stderr.split())
    one, other = json.loads(first.stdout), json.loads(again.stdout)
    assert other.pop("written") == {}
    assert one.pop("written") == {"run": str(out)}
    assert one == other
    refused = run("fit", str(rig), *quick, "--out", str(out))
    assert refused.returncode == 2
    assert "exists already" in refused.stderr
    other_run = run("fit", str(rig), *quick, "--thin", "7", "--out", str(out), "--resume")
    assert other_run.returncode == 2
    assert "is another run: thin was None and is 7" in " ".join(other_run.stderr.split())
    assert out.read_bytes() == before


def test_force_begins_anew(rig: Path, tmp_path: Path) -> None:
    out, folder = tmp_path / "run.nc", tmp_path / "run.nc.checkpoint"
    identifier = adjoin.Identifier(samples=2000, chains=1, seed=3, checkpoint=folder)
    identifier.fit(adjoin.read_data(rig))
    done = run("fit", str(rig), *FIT, "--samples", "2000", "--out", str(out), "--force")
    assert done.returncode == 0, done.stderr
    assert [*tmp_path.iterdir()] == [out]


@pytest.mark.parametrize("more", [(), ("--resume",), ("--force",)])
def test_a_run_that_somebody_is_at_work_on_is_left_to_him(
    more: tuple[str, ...], rig: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run.nc.checkpoint"
    adjoin.Identifier(samples=2000, chains=1, checkpoint=folder).fit(adjoin.read_data(rig))
    before = sorted(file.name for file in folder.iterdir())
    with locked(folder / "lock"):
        done = run("fit", str(rig), *FIT, "--out", str(tmp_path / "run.nc"), *more)
    assert done.returncode == 2
    assert "another process is at work in" in " ".join(done.stderr.split())
    assert sorted(file.name for file in folder.iterdir()) == before


def test_resume_needs_a_run_to_go_on_with(rig: Path) -> None:
    done = run("fit", str(rig), *FIT, "--resume")
    assert done.returncode == 2
    assert "pass both" in done.stderr


def test_a_run_that_is_refused_leaves_nothing_behind(rig: Path, tmp_path: Path) -> None:
    out = tmp_path / "run.nc"
    for wrong in (("--max-lag", "500"), ("--initial-mode", "residual", "--no-center")):
        done = run("fit", str(rig), *FIT, "--samples", "2000", *wrong, "--out", str(out))
        assert done.returncode == 2
    assert [*tmp_path.iterdir()] == []


def test_partial_files_of_killed_writers_do_not_stay(rig: Path, tmp_path: Path) -> None:
    partial = tmp_path / ".adjoin-0123456789abcdef"
    partial.write_bytes(b"half")
    os.utime(partial, (0, 0))
    done = run("fit", str(rig), *FIT, "--samples", "500", "--out", str(tmp_path / "run.nc"))
    assert done.returncode == 0, done.stderr
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]


_DISCOVER = ("--output", "y", "--max-lag", "2", "--max-degree", "2", "--effort", "quick")


@pytest.mark.slow
def test_a_discovery_that_was_killed_goes_on_and_ends_as_if_nothing_had_happened(
    rig: Path, tmp_path: Path
) -> None:
    out, folder = tmp_path / "found.nc", tmp_path / "found.nc.checkpoint"
    whole = run("discover", str(rig), *_DISCOVER, "--out", str(tmp_path / "whole.nc"), "--json")
    assert whole.returncode == 0, whole.stderr
    command = [sys.executable, "-c", _HURRIED, "discover", str(rig), *_DISCOVER, "--out", str(out)]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stderr=subprocess.DEVNULL
    ) as process:
        while not list(folder.glob("posterior-*")):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    assert not out.exists()
    left = run("discover", str(rig), *_DISCOVER, "--out", str(out))
    assert left.returncode == 2
    assert "pass --resume to go on with it" in " ".join(left.stderr.split())
    fitted = run("fit", str(rig), "--output", "y", "--out", str(out), "--resume")
    assert fitted.returncode == 2
    assert "it was begun by discover, and this is fit" in " ".join(fitted.stderr.split())
    done = run("discover", str(rig), *_DISCOVER, "--out", str(out), "--resume", "--json")
    assert done.returncode == 0, done.stderr
    assert not folder.exists()
    one, other = json.loads(whole.stdout), json.loads(done.stdout)
    for key in ("equation", "structures", "terms", "noise", "scores", "verdict"):
        assert one[key] == other[key], key
    found, wanted = adjoin.load(out), adjoin.load(tmp_path / "whole.nc")
    assert killing.digest(found) == killing.digest(wanted)
    again = run("discover", str(rig), *_DISCOVER, "--out", str(out), "--resume", "--json")
    assert again.returncode == 0, again.stderr
    assert "is finished: there is nothing to resume" in " ".join(again.stderr.split())
    assert json.loads(again.stdout)["equation"] == one["equation"]
    assert json.loads(again.stdout).keys() == other.keys()


@pytest.mark.slow
def test_a_finished_run_is_made_longer_and_is_one_long_run(rig: Path, tmp_path: Path) -> None:
    out, long = tmp_path / "run.nc", (*FIT, "--samples", "9000")
    kept = ("--out", str(out), "--keep-checkpoint")
    first = run("fit", str(rig), *FIT, "--samples", "3000", *kept)
    assert first.returncode == 0, first.stderr
    longer = run("fit", str(rig), *long, *kept, "--resume")
    assert longer.returncode == 0, longer.stderr
    assert run("fit", str(rig), *long, "--out", str(tmp_path / "whole.nc")).returncode == 0
    assert killing.digest(adjoin.load(out)) == killing.digest(adjoin.load(tmp_path / "whole.nc"))
    shorter = run("fit", str(rig), *FIT, "--samples", "3000", *kept, "--resume")
    assert shorter.returncode == 2
    assert "a run is made longer, never shorter" in " ".join(shorter.stderr.split())
    gone = run("fit", str(rig), *long, "--out", str(out), "--resume")
    assert gone.returncode == 0
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.nc", "whole.nc"]
    refused = run("fit", str(rig), *FIT, "--samples", "20000", *kept, "--resume")
    assert refused.returncode == 2
    assert "made longer if it was made with --keep-checkpoint" in " ".join(refused.stderr.split())
