"""Benchmark data: the academic system and the Silverbox."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest

from adjoin import AdjoinError, Model, datasets, scores


def test_academic_data_are_a_function_of_the_seed() -> None:
    one, two, other = (datasets.academic(seed) for seed in (3, 3, 4))
    assert one.train.y.tolist() == two.train.y.tolist()
    assert one.train.y.tolist() != other.train.y.tolist()


def test_academic_data_are_the_papers() -> None:
    benchmark = datasets.academic(0)
    train, validation, test = benchmark
    assert [len(train), len(validation), len(test)] == [1000, 500, 500]
    assert benchmark.n_seed == 5
    with pytest.raises(AdjoinError, match="whole number from 0"):
        datasets.academic(-1)
    assert str(benchmark.truth.structure) == "u(k-1) + u(k-5)^3 + y(k-1)"
    u = np.concatenate([part.u for part in benchmark])
    y = np.concatenate([part.y for part in benchmark])
    clean = benchmark.truth.simulate(u, y[:5])
    # Past the transient of the noisy seed the truth differs from the data by white noise alone, of
    # a tenth of the signal's deviation. 1990 samples: the deviation is known to 1/sqrt(2*1990)
    # = 1.6 %, so 6.4 % is four standard errors (false alarm 6e-5 for this fixed seed).
    residual = y[10:] - clean[10:]
    assert residual.std() == pytest.approx(benchmark.noise_sd, rel=0.064)
    assert benchmark.noise_sd == pytest.approx(0.1 * clean.std(), rel=0.02)
    # Noise on the output is not fed back: neighbours are uncorrelated to 4/sqrt(1990).
    correlation = np.corrcoef(residual[1:], residual[:-1])[0, 1]
    assert abs(correlation) < 0.09


def test_the_papers_silverbox_equation_scores_what_the_paper_says(silverbox_folder: Path) -> None:
    benchmark = datasets.silverbox(silverbox_folder, split="paper")
    test = benchmark.test
    model = Model.parse(datasets.SILVERBOX_EQUATION)
    simulated = model.simulate(test.u, test.y[: benchmark.n_seed])
    scored = slice(benchmark.n_seed, None)
    assert 1e3 * scores.rmse(test.y[scored], simulated[scored]) == pytest.approx(0.3976, abs=5e-4)
    assert 1e3 * np.std(test.y[scored]) == pytest.approx(53.48, abs=0.01)
    # Where nothing is extrapolated the published range of this model is far below the full arrow.
    inside = benchmark.tests["arrow no-extrapolation"]
    assert len(inside) == 32_000


def test_the_two_silverbox_protocols_are_kept_apart(silverbox_folder: Path) -> None:
    paper = datasets.silverbox(silverbox_folder, split="paper")
    official = datasets.silverbox(silverbox_folder, split="official")
    assert "paper split" in paper.protocol
    assert "official split" in official.protocol
    assert len(paper.train) == 69_400
    assert len(paper.validation) == 17_350
    assert abs(paper.train.y.mean()) < 1e-12
    assert len(official.train) == int(0.75 * 86_750)
    assert official.validation is None
    assert list(official.tests) == ["arrow full", "arrow no-extrapolation", "multisine"]
    assert [len(test) for test in official.tests.values()] == [40_475, 32_000, 86_750 - 65_062]
    arrow, inside = list(official.tests.values())[:2]
    assert inside.y.tolist() == arrow.y[:32_000].tolist()
    # Raw volts: the offsets that the paper's split removes are still in them.
    np.testing.assert_allclose(
        official.test.y - paper.offsets["y"], paper.test.y, rtol=0, atol=1e-15
    )
    assert paper.train.sampling_time == pytest.approx(1 / 610.35)


def test_silverbox_through_the_environment(silverbox_folder: Path, monkeypatch) -> None:
    monkeypatch.setenv("ADJOIN_DATA", str(silverbox_folder))
    assert len(datasets.silverbox().train) == 69_400


def test_silverbox_errors(tmp_path: Path, monkeypatch) -> None:
    with pytest.raises(AdjoinError, match="'paper' or 'official'"):
        datasets.silverbox(split="mine")
    with pytest.raises(AdjoinError, match=r"neither SNLS80mV\.csv nor"):
        datasets.silverbox(tmp_path)
    (tmp_path / "SNLS80mV.csv").write_text('"V1","V2",\n1,2,\n3,4,\n')
    with pytest.raises(AdjoinError, match="131072 samples"):
        datasets.silverbox(tmp_path)
    monkeypatch.delenv("ADJOIN_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "nonlinear_benchmarks", None)
    with pytest.raises(AdjoinError, match="no Silverbox data: pass path="):
        datasets.silverbox()


def test_silverbox_through_nonlinear_benchmarks(monkeypatch) -> None:
    """The package hands over an object with .u and .y; a stand-in of the same shape will do."""
    rng = np.random.default_rng(0)
    measured = types.SimpleNamespace(
        u=rng.standard_normal(131_072), y=rng.standard_normal(131_072), sampling_time=1 / 610.35
    )
    package = types.SimpleNamespace(Silverbox=lambda train_test_split: measured)
    monkeypatch.delenv("ADJOIN_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "nonlinear_benchmarks", package)
    benchmark = datasets.silverbox(split="official")
    assert benchmark.test.u.tolist() == measured.u[100:40_575].tolist()
