"""A model counts samples, so it is not run on data of another rate without a word."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adjoin import AdjoinError, Dataset, Identifier, load
from adjoin.data.readers import read_measured
from adjoin.results.assessment import assess


def _raw() -> Dataset:
    rng = np.random.default_rng(0)
    u = np.repeat(rng.normal(size=400), 5)
    y = np.zeros(2000)
    for k in range(1, 2000):
        y[k] = 0.9 * y[k - 1] + 0.1 * u[k - 1]
    y += 20.0 + 0.001 * np.arange(2000) + 0.01 * rng.normal(size=2000)
    return Dataset.from_arrays(u, y, sampling_time=0.01)


def test_runs_of_prepared_data_refuse_raw_ones_and_keep_what_was_done(tmp_path: Path) -> None:
    raw = _raw()
    slow = raw.detrend("y").decimate(5)
    fitted = Identifier(max_lag=2, max_degree=1, samples=400, chains=1, seed=0).fit(slow)
    posterior = fitted.posterior_
    for call in (posterior.simulate, posterior.predict, posterior.map_model.simulate):
        with pytest.raises(AdjoinError, match=r"--decimate 5 or Dataset\.decimate"):
            call(raw)
    with pytest.raises(AdjoinError, match=r"a sample every 0\.01 s"):
        assess(posterior, raw)
    assert len(posterior.simulate(raw.decimate(5), draws=5).mean) == 400
    posterior.save(tmp_path / "run.nc")
    again = load(tmp_path / "run.nc").data
    assert again.prepared == slow.prepared
    assert len(again.prepared) == 2
    assert again.sampling_time == pytest.approx(0.05)


def test_a_file_says_its_own_sampling_time(tmp_path: Path) -> None:
    raw = _raw()
    table = pd.DataFrame({"time [s]": 0.01 * np.arange(2000), "u": raw.u, "y": raw.y})
    table.to_csv(tmp_path / "raw.csv", index=False)
    assert read_measured(tmp_path / "raw.csv", raw.decimate(5)).sampling_time == 0.01
    table.drop(columns="time [s]").to_csv(tmp_path / "raw.csv", index=False)
    assert read_measured(tmp_path / "raw.csv", raw).sampling_time == 0.01


def test_test_data_are_cut_into_records_as_data_to_fit_are(tmp_path: Path) -> None:
    raw = _raw()
    times = np.delete(0.01 * np.arange(2060), slice(700, 760))
    table = pd.DataFrame({"time": times, "u": raw.u, "y": raw.y})
    table.to_csv(tmp_path / "gap.csv", index=False)
    found = read_measured(tmp_path / "gap.csv", raw)
    assert [len(record) for record in found.records] == [700, 1300]
    assert found.names == raw.names


def test_test_data_are_in_the_units_of_the_run(tmp_path: Path) -> None:
    raw = replace(_raw(), units=("V", "mm"))
    table = pd.DataFrame({"u": raw.u, "y": raw.y})
    table.to_csv(tmp_path / "bare.csv", index=False)
    assert read_measured(tmp_path / "bare.csv", raw).units == ("V", "mm")
    bare = (tmp_path / "bare.csv").read_text()
    for below, units in (("V,mm", ("V", "mm")), ("-,mm", ("V", "mm"))):
        (tmp_path / "said.csv").write_text(bare.replace("u,y\n", f"u,y\n{below}\n"))
        assert read_measured(tmp_path / "said.csv", raw).units == units
        assert read_measured(tmp_path / "said.csv", replace(raw, units=())).units[1] == "mm"
    (tmp_path / "other.csv").write_text(bare.replace("u,y\n", "u,y\nV,m\n"))
    with pytest.raises(AdjoinError, match="column 'y' is in m, but the run is of data in mm"):
        read_measured(tmp_path / "other.csv", raw)
