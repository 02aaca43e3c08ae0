"""Saved runs come back as they were, and other programs can read them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
from tests.exchange.runs import (
    assert_made_of_the_same,
    assert_same,
    fitted,
    free_run,
    load,
    quick_free_run,
    rich,
    small,
)
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Posterior
from adjoin.exchange import run_file
from adjoin.exchange.run_file import SavedRun, read_run, write_run
from adjoin.inference.objective import PREDICTION
from adjoin.inference.settings import NoSettings
from adjoin.inference.traces import ChainTrace


def one_chain() -> Posterior:
    return quick(chains=3).fit(*simulated()).posterior_.chain(2)


def autonomous() -> Posterior:
    data = Dataset.from_arrays(None, simulated()[1])
    return quick().fit(data).posterior_


def without_terms() -> Posterior:
    data = Dataset.from_arrays(*simulated(n=20))
    return by_hand(data, [[("0", [], 1.0)], [("0", [], 2.0)]], Grammar.narx(max_lag=1))


def centred() -> Posterior:
    u, y = simulated()
    return quick(chains=1).fit(1e4 * u, 300.0 + y).posterior_


def mean_deviation(simulated: np.ndarray, measured: np.ndarray) -> float:
    return float(np.abs(simulated - measured).mean())


def by_a_distance_of_ones_own() -> Posterior:
    return quick_free_run(distance=mean_deviation, chains=1)


RUNS: list[Callable[[], Posterior]] = [
    fitted,
    rich,
    small,
    one_chain,
    autonomous,
    without_terms,
    centred,
    free_run,
    by_a_distance_of_ones_own,
]


@pytest.mark.parametrize("make", RUNS)
def test_a_run_comes_back_to_the_last_bit(make: Callable[[], Posterior], tmp_path: Path) -> None:
    run = make()
    write_run(run, tmp_path / "run.nc")
    assert_same(load(tmp_path / "run.nc"), run)


@pytest.mark.parametrize("make", [rich, small, free_run])
def test_the_same_run_gives_the_same_bytes(make: Callable[[], Posterior], tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("a.nc", "b.nc", "c.nc"))
    run = make()
    write_run(run, first)
    write_run(run, second)
    write_run(read_run(first), third)
    assert first.read_bytes() == second.read_bytes() == third.read_bytes()


def without_limit(trace: ChainTrace) -> ChainTrace:
    """As a chain leaves it that samples the prior, where free runs may diverge."""
    infinite = np.full_like(trace.ladder.tolerance, np.inf)
    ladder = trace.ladder._replace(tolerance=infinite, distance=infinite[0, 0] * trace.noise)
    return trace._replace(ladder=ladder, noise=infinite[0, 0] * trace.noise)


def test_a_ladder_without_limit_comes_back_with_infinite_distances_and_noise(
    tmp_path: Path,
) -> None:
    traces = tuple(map(without_limit, free_run().traces))
    run = replace(free_run(), traces=traces)
    write_run(run, tmp_path / "run.nc")
    assert_made_of_the_same(load(tmp_path / "run.nc"), run)


def test_a_file_of_the_first_schema_is_still_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(run_file, "_PLAIN", 1)
        write_run(small(), tmp_path / "run.nc")
    assert b"adjoin-run schema 00000001 " in (tmp_path / "run.nc").read_bytes()
    assert_same(load(tmp_path / "run.nc"), small())


def test_the_bytes_do_not_depend_on_the_process(tmp_path: Path) -> None:
    write_run(small(), tmp_path / "here.nc")
    program = (
        "from tests.exchange.runs import *; from adjoin.exchange.run_file import write_run;"
        "import sys; write_run(small(), sys.argv[1])"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", program, tmp_path / "there.nc"], cwd=root, check=True)
    assert (tmp_path / "here.nc").read_bytes() == (tmp_path / "there.nc").read_bytes()


def test_what_is_read_are_the_arguments_of_a_posterior_in_its_order() -> None:
    assert SavedRun._fields == tuple(field.name for field in fields(Posterior))


def test_xarray_reads_data_and_traces_by_name(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    run = rich()
    write_run(run, tmp_path / "run.nc")
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        assert tree.attrs["format"] == "adjoin-run"
        assert tree["data"].attrs["label"] == run.data.label
        record = tree["data/record_1"]
        assert record["force"].dims == record["z"].dims == ("k",)
        np.testing.assert_array_equal(record["e"].values, run.data.records[1].inputs[:, 1])
        np.testing.assert_array_equal(record["z"].values, run.data.records[1].output)
        np.testing.assert_array_equal(tree["chain_1/theta"].values, run.traces[1].theta)
        assert "ladder" not in tree["chain_1"]
        assert tree["chain_1/noise"].attrs["long_name"] == "variance of the noise, in model units"


def test_xarray_reads_ladders_by_name(tmp_path: Path) -> None:
    xarray = pytest.importorskip("xarray")
    write_run(free_run(), tmp_path / "run.nc")
    expected = free_run().traces[1].ladder
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as tree:
        ladder = tree["chain_1/ladder"]
        assert ladder["distance"].dims == tree["chain_1/noise"].dims == ("record",)
        assert ladder["tolerance"].dims == ("stage", "rung")
        assert ladder["move"].dims == ("rung", "kind", "outcome")
        np.testing.assert_array_equal(ladder["tolerance"].values, expected.tolerance)
        assert ladder.attrs["reason"] == expected.reason


def test_h5py_and_h5netcdf_ignore_the_seal(tmp_path: Path) -> None:
    import h5netcdf
    import h5py

    run = small()
    write_run(run, tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        np.testing.assert_array_equal(file["chain_2/noise"][()], run.traces[1].noise)
    with h5netcdf.File(tmp_path / "run.nc") as file:
        assert file["chain_2"].dimensions["record"].size == 4
        assert file["chain_2"].variables["structure"].dimensions == ("record",)


def test_keys_can_be_spelled_without_adjoin(tmp_path: Path) -> None:
    import h5py

    write_run(small(), tmp_path / "run.nc")
    with h5py.File(tmp_path / "run.nc") as file:
        atoms = file.attrs["atoms"].split(", ")
        key, edge = file["chain_2/key"][()].tolist(), file["chain_2/key_offset"][()].tolist()
    spelled = []
    for number in key[edge[1] : edge[2]]:
        digits = np.base_repr(number, len(atoms) + 1)
        spelled.append("*".join(atoms[int(digit, 36) - 1] for digit in digits))
    assert spelled == ["u(k)*abs(u(k))", "u(k-3)"]


def test_much_is_packed(tmp_path: Path) -> None:
    n = 100_000
    run = by_hand(small().data, [[("u(k-1)", [0.5], 1.0)]], Grammar.narx(max_lag=1))
    trace = run.traces[0]._replace(offset=np.arange(n + 1), n_samples=n)
    long = {"structure", "theta", "noise", "coefficient", "log_lik", "log_prior"}
    trace = trace._replace(**{name: np.repeat(getattr(trace, name), n) for name in long})
    write_run(replace(run, traces=(trace,)), tmp_path / "run.nc")
    # Seven arrays of 100,000 values are 5.6 megabytes.
    assert (tmp_path / "run.nc").stat().st_size < 400_000
    assert read_run(tmp_path / "run.nc").traces[0].theta.tobytes() == trace.theta.tobytes()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"settings": {"validation": float("nan")}}, "settings must be plain values"),
        ({"chain_numbers": (2, 0)}, "chains must be the numbers"),
        ({"power": -1.0}, "power must be from 0"),
    ],
)
def test_what_could_not_be_read_back_is_not_saved(
    changed: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(AdjoinError, match=f"cannot save the run: .*{message}"):
        write_run(small(**changed), tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


def test_chains_with_and_without_ladders_are_not_saved_together(tmp_path: Path) -> None:
    run = free_run()
    first, second = run.traces
    no_ladder = second._replace(ladder=None)
    mixed = replace(run, traces=(first, no_ladder))
    mistaken = run.with_settings(objective=PREDICTION, own_settings=NoSettings())
    for changed in (mixed, mistaken):
        with pytest.raises(AdjoinError, match=r"cannot save the run: settings .* have a ladder"):
            write_run(changed, tmp_path / "run.nc")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("label", ["a\0b", "\ud800"])
def test_a_label_that_no_file_holds_is_refused(label: str, tmp_path: Path) -> None:
    run = small()
    data = Dataset(run.data.records, run.data.names, label=label)
    with pytest.raises(AdjoinError, match="cannot save the run: the label"):
        write_run(run.with_held_out(data), tmp_path / "run.nc")
