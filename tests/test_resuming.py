"""Fits that were stopped, by SIGKILL or by Ctrl-C, end as if nothing had happened."""

from __future__ import annotations

import _thread
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import killing
from tests.systems import quick, simulated

from adjoin import AdjoinError, Dataset, Identifier, Prior
from adjoin.inference import checkpoint
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.runner import Snapshot

ROOT = Path(__file__).parents[1]
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
U, Y = simulated(n=120)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked there")
@pytest.mark.skipif(not IS_COMPILED, reason="a fit takes long as plain Python")
@pytest.mark.parametrize(
    "names", [killing.NAMES[:2], killing.NAMES[2:5], killing.NAMES[5:]], ids=", ".join
)
def test_killed_at_25_random_moments_it_ends_with_the_same_bits(
    names: tuple[str, ...], tmp_path: Path
) -> None:
    """Of every engine, with stages, the choice of units and of the power; and a discovery."""
    command = [sys.executable, "-m", "tests.killing", str(tmp_path), "25", *names]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        command, capture_output=True, check=False, text=True, cwd=ROOT, env=environment, timeout=900
    )
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["name"] for one in found] == list(names)
    for one in found:
        assert one["same"], one
        assert one["kills"] >= 25
        assert one["further"] >= killing.FEWEST, one
        assert one["left"] == []


def stop_at(n_samples: int, seen: list[int] | None = None) -> Any:
    """An observer that presses Ctrl-C once a chain is so far; `seen` is where each was first."""
    pressed: list[bool] = []

    def watch(snapshot: Snapshot) -> None:
        if seen is not None and len(seen) <= snapshot.chain:
            seen.append(snapshot.n_samples)
        if snapshot.n_samples >= n_samples and not pressed:
            pressed.append(True)
            _thread.interrupt_main()

    return watch


def test_ctrl_c_leaves_a_posterior_and_a_checkpoint_to_go_on_from(tmp_path: Path) -> None:
    given = {"samples": 3_000_000, "thin": 1000, "n_jobs": 2}
    whole = quick(**given).fit(U, Y).posterior_
    place, seen = tmp_path / "run.checkpoint", []
    with pytest.warns(UserWarning, match=r"interrupted: .*; '.*run.checkpoint' goes on from there"):
        stopped = quick(**given, checkpoint=place, progress=stop_at(50_000)).fit(U, Y)
    assert not stopped.is_complete_
    done = quick(**given, checkpoint=place, progress=stop_at(10**9, seen)).fit(U, Y)
    assert done.is_complete_
    assert min(seen) > 10_000  # it did not begin anew
    assert killing.digest(done.posterior_) == killing.digest(whole)
    sampling_s = done.posterior_.timing["sampling_s"]
    assert sampling_s > stopped.posterior_.timing["sampling_s"]  # of both processes


def test_ctrl_c_in_annealing_leaves_something_to_go_on_from(tmp_path: Path) -> None:
    given = {"objective": "abc", "samples": 6000, "ladder": {"rungs": 4, "descent": 200}}
    whole = quick(**given).fit(U, Y).posterior_
    place, seen = tmp_path / "run.checkpoint", []
    with pytest.raises(KeyboardInterrupt) as stopped:
        quick(**given, checkpoint=place, progress=stop_at(1)).fit(U, Y)
    (note,) = stopped.value.__notes__
    assert "run.checkpoint' has what was drawn, and goes on from there" in note
    done = quick(**given, checkpoint=place, progress=stop_at(10**9, seen)).fit(U, Y)
    assert killing.digest(done.posterior_) == killing.digest(whole)


def test_a_fit_that_is_done_is_read_and_not_drawn_again(tmp_path: Path) -> None:
    place, seen = tmp_path / "run.checkpoint", []
    first = quick(checkpoint=place).fit(U, Y)
    watch = stop_at(10**9, seen)
    again = quick(checkpoint=place, progress=watch, n_jobs=1, memory_mb=64).fit(U, Y)
    assert seen == [2000, 2000]
    assert killing.digest(again.posterior_) == killing.digest(first.posterior_)


def test_a_run_without_a_seed_goes_on_with_the_one_it_began_with(tmp_path: Path) -> None:
    place = tmp_path / "run.checkpoint"
    first = quick(seed=None, checkpoint=place).fit(U, Y)
    again = quick(seed=None, checkpoint=place).fit(U, Y)
    assert again.seed_ == first.seed_
    assert killing.digest(again.posterior_) == killing.digest(first.posterior_)


def _digest_of_folder(place: Path) -> str:
    found = hashlib.sha256()
    for file in sorted(place.iterdir()):
        found.update(file.name.encode() + file.read_bytes())
    return found.hexdigest()


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"seed": 1}, "seed was 0 and is 1"),
        ({"max_lag": 3, "thin": 7}, "max_lag was 2 and is 3; thin was 5 and is 7"),
        ({"prior": "paper"}, "prior was 'default' and is 'paper'"),
        ({"prior": Prior(expected_terms=2.0)}, "prior differs"),
        ({"moves": Moves.fixed()}, "moves differs"),
        ({"initial": "u(k-1)"}, "initial was None and is 'u(k-1)'"),
        ({"functions": {"u": "abs"}}, "functions was [] and is {'u': 'abs'}"),
    ],
)
def test_other_settings_are_refused_and_named(
    changed: dict[str, Any], words: str, tmp_path: Path
) -> None:
    place = tmp_path / "run.checkpoint"
    quick(checkpoint=place).fit(U, Y)
    before = _digest_of_folder(place)
    with pytest.raises(AdjoinError) as refused:
        quick(checkpoint=place, **changed).fit(U, Y)
    assert words in str(refused.value)
    assert "delete the folder to begin anew" in str(refused.value)
    assert _digest_of_folder(place) == before


def test_other_data_are_refused_and_named(tmp_path: Path) -> None:
    place, data = tmp_path / "run.checkpoint", Dataset.from_arrays([U, U[:60]], [Y, Y[:60]])
    quick(checkpoint=place).fit(data)
    other = Y[:60].copy()
    other[7] += 1e-12
    for changed, words in (
        (Dataset.from_arrays([U, U[:60]], [Y, other]), "the data differ: 'y' of record 1"),
        (Dataset.from_arrays(U, Y), "samples by record were [120, 60] and are [120]"),
        (
            Dataset.from_arrays([U, U[:60]], [Y, Y[:60]], names=("v", "y")),
            "signals were ['u', 'y'] and are ['v', 'y']",
        ),
        (
            Dataset.from_arrays([U, U[:60]], [Y, Y[:60]], sampling_time=0.1),
            "sampling time were None and are 0.1",
        ),
    ):
        with pytest.raises(AdjoinError) as refused:
            quick(checkpoint=place).fit(changed)
        assert words in str(refused.value)
    with pytest.raises(AdjoinError, match="there were no held-out data"):
        quick(checkpoint=place).fit(data, held_out=Dataset.from_arrays(U, Y))


def test_all_arguments_can_be_told_apart_and_are_the_same_in_another_process(
    tmp_path: Path,
) -> None:
    """A ladder, a distance and a grammar are described by what they are, not where they are."""
    from adjoin import Grammar, distances

    given = {
        "objective": "abc",
        "samples": 2000,
        "grammar": Grammar.narx(max_lag=1, max_degree=1),
        "ladder": Ladder(rungs=3, descent=50, stages=3),
        "max_lag": 10,
        "max_degree": 4,
    }
    place = tmp_path / "run.checkpoint"
    quick(checkpoint=place, **given, distance=distances.Spectrum()).fit(U, Y)
    manifest = json.loads((place / checkpoint.MANIFEST).read_text(encoding="utf-8"))
    assert " at 0x" not in json.dumps(manifest)
    assert manifest["run"]["settings"]["ladder"]["rungs"] == 3
    with pytest.raises(AdjoinError, match="distance was"):
        quick(checkpoint=place, **given, distance=np.linalg.norm).fit(U, Y)


def test_a_run_of_another_version_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "run.checkpoint"
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "__version__", "0.0.1")
        quick(checkpoint=place).fit(U, Y)
    with pytest.raises(AdjoinError, match=r"adjoin was 0\.0\.1 and is"):
        quick(checkpoint=place).fit(U, Y)


def test_a_checkpoint_is_a_folder() -> None:
    with pytest.raises(AdjoinError, match="checkpoint must be a folder or None, not 3"):
        Identifier(checkpoint=3).fit(U, Y)  # type: ignore[arg-type]


# Longer


@pytest.mark.parametrize(
    ("given", "longer"),
    [
        ({"samples": 3000}, {"samples": 20_000}),
        ({"samples": 3000, "likelihood_power": "auto"}, {"samples": 9000}),
        (
            {"samples": 1000, "objective": "simulation"},
            {"samples": 1700, "burn_in": 0.29441176},
        ),
        (
            {"samples": 2000, "search": {"candidates": 8, "rungs": 2, "interval": 50}},
            {"samples": 5000, "burn_in": 0.2001},
        ),
        (
            {"samples": 1500, "objective": "abc", "ladder": {"rungs": 4, "descent": 60}},
            {"samples": 3000, "ladder": {"rungs": 4, "descent": 60, "annealing": 0.25}},
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:chain . is left out")
def test_a_run_that_is_made_longer_is_one_long_run(
    given: dict[str, Any], longer: dict[str, Any], tmp_path: Path
) -> None:
    """And once more where all of it is there already."""
    place, seen = tmp_path / "run.checkpoint", []
    first = quick(**given, checkpoint=place).fit(U, Y)
    whole = quick(**given | longer).fit(U, Y)
    assert killing.digest(first.posterior_) != killing.digest(whole.posterior_)
    long = quick(**given | longer, checkpoint=place, warm_start=True)
    long.set_params(progress=stop_at(10**9, seen)).fit(U, Y)
    assert min(seen) >= given["samples"] // 2  # of chains that meet, where they do
    assert killing.digest(long.posterior_) == killing.digest(whole.posterior_)
    again = quick(**given | longer, checkpoint=place).fit(U, Y)
    assert killing.digest(again.posterior_) == killing.digest(whole.posterior_)
    with pytest.raises(AdjoinError, match="made longer, never shorter"):
        quick(**given, checkpoint=place, warm_start=True).fit(U, Y)


def test_stages_go_on_with_a_larger_bound(tmp_path: Path) -> None:
    u, y = simulated("y(k) = 0.5*u(k-1) + 0.6*y(k-1) + 0.3*u(k-2)^2", n=60, noise=2.0)
    given = {"samples": "auto", "max_samples": 20_000}
    place = tmp_path / "run.checkpoint"
    first = quick(**given, checkpoint=place).fit(u, y)
    assert first.posterior_.settings.ended_by == "max_samples"
    whole = quick(**given | {"max_samples": 60_000}).fit(u, y)
    assert len(whole.posterior_.settings.stages) > 1
    long = quick(**given | {"max_samples": 60_000}, checkpoint=place, warm_start=True).fit(u, y)
    assert killing.digest(long.posterior_) == killing.digest(whole.posterior_)


@pytest.mark.parametrize(
    ("given", "remedy"),
    [
        ({"objective": "simulation", "samples": 1000}, r"pass (burn_in)=(0\.\d+) to make it"),
        (
            {"objective": "abc", "samples": 1500, "ladder": {"rungs": 4, "descent": 60}},
            r"pass ladder=\{'(annealing)': (0\.\d+)\} to make it longer",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:chain . is left out")
def test_a_longer_run_that_would_be_another_is_refused_with_the_one_that_is_not(
    given: dict[str, Any], remedy: str, tmp_path: Path
) -> None:
    """Where chains settle by a share of their samples, a longer run settles later."""
    place, samples = tmp_path / "run.checkpoint", 2 * given["samples"] + 7
    first = quick(**given, checkpoint=place).fit(U, Y)
    longer = quick(**given | {"samples": samples}, checkpoint=place, warm_start=True)
    with pytest.raises(AdjoinError) as refused:
        longer.fit(U, Y)
    back = quick(**given, checkpoint=place, warm_start=True).fit(U, Y)  # nothing was lost by it
    assert killing.digest(back.posterior_) == killing.digest(first.posterior_)
    found = re.search(remedy, str(refused.value))
    assert found is not None, refused.value
    share = {found[1]: float(found[2])}
    more = share if "burn_in" in share else {"ladder": given["ladder"] | share}
    whole = quick(**given | {"samples": samples} | more).fit(U, Y)
    longer.set_params(**more).fit(U, Y)
    assert killing.digest(longer.posterior_) == killing.digest(whole.posterior_)


def test_what_is_no_longer_run_is_refused(tmp_path: Path) -> None:
    place = tmp_path / "run.checkpoint"
    quick(checkpoint=place).fit(U, Y)
    with pytest.raises(AdjoinError, match="seed was 0 and is 1"):
        quick(samples=5000, seed=1, checkpoint=place, warm_start=True).fit(U, Y)
    with pytest.raises(AdjoinError, match=r"samples was 2000 and is 5000.*warm_start=True"):
        quick(samples=5000, checkpoint=place).fit(U, Y)
    with pytest.raises(AdjoinError, match="warm_start=True goes on with the chains"):
        quick(warm_start=True).fit(U, Y)
    with pytest.raises(AdjoinError, match="warm_start must be True or False"):
        quick(warm_start=1, checkpoint=place).fit(U, Y)
