"""Long records: nothing as long as the record is copied, and blocks say what the whole does.

What counts as long is made small here, so that both ways are taken on the same data.
"""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from tests.engines import simulation_engine

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model
from adjoin import blocks as of_blocks
from adjoin.data.scaling import Scaling
from adjoin.grammar import Structure
from adjoin.inference.engines import simulation_setup
from adjoin.inference.problem import Problem
from adjoin.inference.rows import least_squares
from adjoin.results import collection

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
TRUTH = Model.parse("y(k) = 0.5*y(k-1) - 0.2*y(k-2) + 0.7*u(k-1) + 0.2*u(k-2)^2 + 1")
FITTED = {"max_lag": 2, "max_degree": 2, "samples": 200, "chains": 1, "seed": 0, "n_jobs": 1}


def record(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A noisy run of a known system."""
    rng = np.random.default_rng(seed)
    u = rng.normal(size=n)
    return u, np.asarray(TRUTH.simulate(u, np.zeros(2), 0.1 * rng.normal(size=n)))


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything from a thousand rows on is long."""
    monkeypatch.setattr(of_blocks, "LONG", 1000)
    monkeypatch.setattr(of_blocks, "BLOCK", 128)


def test_sums_over_blocks_are_those_over_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    records = [1e3 + np.random.default_rng(i).normal(size=n) for i, n in enumerate((1500, 700))]
    other = [series[::-1].copy() for series in records]

    def sums() -> list[float]:
        return [
            *of_blocks.moments(records),
            of_blocks.sum_of_squares(records, 0.5),
            of_blocks.mean_square(records, other),
        ]

    joined = np.concatenate(records)
    whole = sums()
    assert whole[:2] == [joined.mean(), joined.std()]
    monkeypatch.setattr(of_blocks, "LONG", 1000)
    monkeypatch.setattr(of_blocks, "BLOCK", 128)
    assert sums() == pytest.approx(whole, rel=1e-13)
    assert not of_blocks.is_constant(records)
    assert of_blocks.is_constant([np.full(700, 2.0), np.full(300, 2.0)])


def test_runs_in_pieces_are_runs_to_the_last_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    u, y = record(3000)
    inputs, outputs = [u[:1700, None], u[1700:, None]], [y[:1700], y[1700:]]
    noise = [0.1 * np.random.default_rng(3).normal(size=len(series)) for series in outputs]
    lost = Model.parse("y(k) = 1.5*y(k-1)^3 + u(k-1)")  # runs away
    apart = Model.parse("y(k) = 1e60*u(k-1)^2*u(k-3) + u(k-2)")  # loses single samples

    def runs() -> list[object]:
        found = [TRUTH.predicted_response(inputs, outputs, 1, noise)]
        for model, driven in ((TRUTH, noise), (TRUTH, None), (lost, None), (apart, None)):
            found.append(model.free_response(inputs, [series[:4] for series in outputs], driven))
        return [
            [(s.tobytes(), d) for s, d in zip(r.series, r.diverged, strict=True)] for r in found
        ]

    whole = runs()
    monkeypatch.setattr(of_blocks, "LONG", 1000)
    monkeypatch.setattr(of_blocks, "BLOCK", 128)
    assert runs() == whole


def test_least_squares_of_a_long_record_keep_the_digits_of_its_columns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    u, y = record(4000)
    data = Dataset.from_arrays([u[:2500] + 1e4, u[2500:] + 1e4], [y[:2500], y[2500:]])
    grammar = Grammar.narx(max_lag=2, max_degree=2, functions={"u": "abs"})
    structure = Structure.parse("1 + u(k-1) + u(k-2)^2 + y(k-1) + abs(u(k-1))*y(k-2)", data.names)

    def fitted() -> tuple[np.ndarray, Problem]:
        problem = Problem(data, grammar.alphabet, Scaling.from_dataset(data, True, True))
        columns, output = problem.rows.reduced(structure)
        return least_squares(structure, columns, output), problem

    theta, whole = fitted()
    regression = whole.regression
    monkeypatch.setattr(of_blocks, "LONG", 1000)
    monkeypatch.setattr(of_blocks, "BLOCK", 128)
    again, problem = fitted()
    assert problem.rows.reduced(structure)[0].shape == (6, 5)
    np.testing.assert_allclose(again, theta, rtol=1e-10)
    np.testing.assert_allclose(problem.rows.factors(structure), whole.rows.factors(structure))
    for name in ("row", "lag", "start", "stop"):
        np.testing.assert_array_equal(
            getattr(problem.regression, name), getattr(regression, name), name
        )
    np.testing.assert_allclose(problem.regression.series, regression.series, rtol=0.0, atol=1e-14)
    assert problem.regression.target_norm == pytest.approx(regression.target_norm, rel=1e-13)


def test_signals_of_the_table_are_read_where_they_are() -> None:
    """No second copy of the signals, where the kernels read them plain."""
    u, y = record(500)
    problem = Problem(Dataset.from_arrays(u, y), Grammar.narx(max_lag=2, max_degree=2).alphabet)
    found = problem.regression
    assert np.shares_memory(found.series, problem.rows.table.value)
    assert np.shares_memory(found.output, found.series)
    assert np.shares_memory(found.target, found.series)


def save(folder: Path, n: int) -> tuple[Path, np.ndarray]:
    """A file with two inputs and the output as columns."""
    u, y = record(n)
    table = np.column_stack([u, np.roll(u, 3), y])
    np.save(folder / "rig.npy", table)
    return folder / "rig.npy", table


def test_mapped_arrays_stay_in_their_files(tmp_path: Path) -> None:
    path, table = save(tmp_path, 3000)
    mapped = np.load(path, mmap_mode="r")
    data = Dataset.from_arrays(mapped[:, :2], mapped[:, 2], ["a", "b", "y"])
    for part in (data, data[500:2500], data.split(0.5)[1], data.windows(400, 2)):
        for one in part.records:
            assert of_blocks.is_mapped(one.inputs)
            assert of_blocks.is_mapped(one.output)
    assert not data.records[0].output.flags.writeable
    np.testing.assert_array_equal(data.u, table[:, :2])
    whole = Dataset.from_arrays(table[:, :2], table[:, 2], ["a", "b", "y"])
    settings = FITTED | {"samples": 20}
    mine, theirs = (Identifier(**settings).fit(given).posterior_ for given in (data, whole))
    assert mine.traces[0].theta.tobytes() == theirs.traces[0].theta.tobytes()
    mine.save(tmp_path / "run.nc")
    assert adjoin.load(tmp_path / "run.nc").map_model == mine.map_model


def test_what_may_change_is_copied(tmp_path: Path) -> None:
    u, y = record(200)
    data = Dataset.from_arrays(u, y)
    u[:], y[:] = 0.0, 0.0
    assert data.u.any()
    assert data.y.any()
    path, _ = save(tmp_path, 200)
    single = np.load(path, mmap_mode="r").astype(np.float32)
    np.save(path, single)
    mapped = np.load(path, mmap_mode="r")
    assert not of_blocks.is_mapped(
        Dataset.from_arrays(mapped[:, 0], mapped[:, 2]).records[0].output
    )
    # Parts of what nobody can write to are no copies.
    assert np.shares_memory(data.records[0].output, data[50:100].records[0].output)


def test_faults_in_a_mapped_file_are_named(tmp_path: Path) -> None:
    path, table = save(tmp_path, 3000)
    for value, words in ((np.nan, "1 NaN value"), (np.inf, "1 infinite value"), (1e30, "1e+30")):
        table[2000, 2] = value
        np.save(path, table)
        mapped = np.load(path, mmap_mode="r")
        with pytest.raises(AdjoinError, match="sample 2000") as caught:
            Dataset.from_arrays(mapped[:, 0], mapped[:, 2])
        assert words in str(caught.value)


def test_array_files_are_read_as_records(tmp_path: Path) -> None:
    path, table = save(tmp_path, 400)
    one = adjoin.read_data(path, inputs="c1, c2", output="c3", sampling_time=0.1)
    assert (one.names.ordered[:-1], one.sampling_time) == (("c1", "c2", "c3"), 0.1)
    assert of_blocks.is_mapped(one.records[0].inputs)
    np.testing.assert_array_equal(one.u, table[:, :2])
    apart = adjoin.read_data(path, inputs="c1", output="c2")
    np.testing.assert_array_equal(apart.y, table[:, 1])
    several = adjoin.read_data([path, str(path)], inputs="c1", output="c3")
    assert (several.n_records, several.n_samples) == (2, 800)
    named = np.zeros(50, dtype=[("time", float), ("force", float), ("y", float)])
    named["time"], named["force"] = np.arange(50) * 0.5, table[:50, 0]
    np.save(tmp_path / "named.npy", named)
    found = adjoin.read_data(tmp_path / "named.npy")
    assert found.names.ordered[:-1] == ("force", "y")
    np.testing.assert_array_equal(found.u, table[:50, 0])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (np.zeros(5), "holds no table"),
        (np.array([["a", "b"]]), "not numbers"),
        (np.array([[{}, 1]], dtype=object), "not a readable array"),
        (None, "not a readable array"),
    ],
)
def test_array_files_that_are_none_are_refused(
    tmp_path: Path, content: np.ndarray | None, words: str
) -> None:
    path = tmp_path / "rig.npy"
    if content is None:
        path.write_bytes(b"\x93NUMPY\x01\x00 and no more")
    else:
        np.save(path, content, allow_pickle=True)
    with pytest.raises(AdjoinError, match=words):
        adjoin.read_data(path, inputs="c1", output="c2")


@pytest.mark.skipif(not IS_COMPILED, reason="takes long")
def test_a_long_record_is_never_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the file: the signals in model units, and three series that were asked for.

    A column takes 4 MB here. Copies of the data, or columns of the terms, would be seen: those of
    the MAP model alone, as least squares took them before, are 20 MB twice.
    """
    monkeypatch.setattr(of_blocks, "LONG", 2**17)
    monkeypatch.setattr(of_blocks, "BLOCK", 2**13)
    monkeypatch.setattr(collection, "TESTED", 2**13)
    n = 2**19
    u, y = record(n)
    np.save(tmp_path / "u.npy", u)
    np.save(tmp_path / "y.npy", y)
    settings = FITTED | {"center": True, "memory_mb": 1}
    small = Identifier(**settings).fit(u[:2000], y[:2000]).posterior_
    _ = small.map_model.equation, small.diagnostics, small.residual_tests()  # imports, compiles
    del u, y, small
    u, y = (np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("u", "y"))

    def peak() -> float:
        """Since it was asked last, in columns beyond what there was at first."""
        most = (tracemalloc.get_traced_memory()[1] - before) / (8 * n)
        tracemalloc.reset_peak()
        return most

    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        data = Dataset.from_arrays(u, y)
        assert peak() < 0.2
        posterior = Identifier(**settings).fit(data).posterior_
        assert peak() < 3.3  # both signals in model units, blocks, and 3 MB of buffers
        _ = posterior.map_model.equation  # its run, and that of the rounded one
        assert peak() < 7.0
        _ = posterior.terms, posterior.residual_tests(), posterior.diagnostics
        assert peak() < 9.0
    finally:
        tracemalloc.stop()
    assert posterior.map_model.noise_sd < 0.5  # of an output whose standard deviation is 0.9


def test_stretches_are_spread_over_all_records() -> None:
    u, y = record(3000)
    data = Dataset.from_arrays([u[:900], u[900:]], [y[:900], y[900:]])
    part = data.excerpt(2, 640)
    assert part.n_records == 32
    assert part.n_samples == 640 + 32 * 2
    for one in part.records:  # each is a piece of the data
        (where,) = np.flatnonzero(u == one.inputs[0, 0])
        np.testing.assert_array_equal(one.output, y[where : where + len(one)])
    firsts = [int(np.flatnonzero(u == one.inputs[0, 0])[0]) for one in part.records]
    assert firsts[0] == 0
    assert firsts[-1] > 2900
    assert data.excerpt(2, 10**6) is data
    short = Dataset.from_arrays(list(u.reshape(100, 30)), list(y.reshape(100, 30)))
    part = short.excerpt(25, 320)
    assert min(map(len, part.records)) > 26
    assert part.n_samples - 25 * part.n_records > 280


def test_starts_of_free_runs_are_looked_for_on_a_part_of_long_records(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    u, y = record(3000)
    data, alphabet = Dataset.from_arrays(u, y), Grammar.narx(max_lag=2, max_degree=2).alphabet
    engine = simulation_engine(data, alphabet)
    assert engine._glimpse is engine.runs
    monkeypatch.setattr(simulation_setup, "_LONG", 2000)
    monkeypatch.setattr(simulation_setup, "_SEEN", 640)
    engine = simulation_engine(data, alphabet)
    assert engine._glimpse.data.n_samples < 800
    assert engine.runs.data is data  # what counts is judged on all samples
