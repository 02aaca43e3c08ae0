"""Records and sampling times from the columns of a file, units, and prepared data."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from adjoin import AdjoinError, Dataset, check_data, read_data
from adjoin.data.timing import Timing

Save = Callable[..., Path]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Write columns to a file."""

    def save(name: str = "data.csv", **columns: object) -> Path:
        pd.DataFrame(columns).to_csv(tmp_path / name, index=False)
        return tmp_path / name

    return save


def noise(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=n)


def lengths(data: Dataset) -> list[int]:
    return [len(record) for record in data.records]


@pytest.mark.parametrize("name", ["record", "Run", "EXPERIMENT", "trial", "segment_id"])
@pytest.mark.parametrize("values", [["a", "b", "a"], [1, 2, 1]])
def test_a_column_of_records_cuts_where_it_changes(save: Save, name: str, values: list) -> None:
    path = save(**{name: np.repeat(values, [5, 7, 8]), "u": noise(20), "y": noise(20)})
    data = read_data(path)
    assert lengths(data) == [5, 7, 8]
    assert data.names.inputs == ("u",)


def test_a_chosen_column_of_records_is_a_signal_and_a_counter_cuts_nothing(save: Save) -> None:
    path = save(run=np.repeat([0, 1], 10), u=noise(20), y=noise(20))
    assert read_data(path, "run, u").n_records == 1
    path = save(record=np.arange(20), u=noise(20), y=noise(20))
    assert read_data(path).n_records == 1


@pytest.mark.parametrize(
    ("header", "factor"),
    [("t", 1), ("Time [ms]", 1e3), ("time (min)", 1 / 60), ("t_us", 1e6), ("Zeit in h", 1 / 3600)],
)
def test_the_sampling_time_is_the_usual_step(save: Save, header: str, factor: float) -> None:
    time = (3.0 + 0.02 * np.arange(50)) * factor
    data = read_data(save(**{header: time, "u": noise(50), "y": noise(50)}))
    assert data.sampling_time == pytest.approx(0.02, rel=1e-6)
    assert data.timing is not None
    assert data.timing.starts == (0.0,)
    given = read_data(save(**{header: time, "u": noise(50), "y": noise(50)}), sampling_time=7.0)
    assert given.sampling_time == 7.0


def test_dates_clocks_and_unix_time(save: Save) -> None:
    n = 40
    stamps = pd.date_range("2024-01-31T23:59:50", periods=n, freq="500ms")
    for times in (
        stamps.strftime("%Y-%m-%dT%H:%M:%S.%f"),
        stamps.tz_localize("UTC").strftime("%Y-%m-%d %H:%M:%S.%f+00:00"),
        (stamps - pd.Timestamp(0)) // pd.Timedelta("1ms"),
    ):
        data = read_data(save(timestamp=times, u=noise(n), y=noise(n)))
        assert (data.sampling_time, data.n_records) == (0.5, 1)
    midnight = read_data(save(time=stamps.strftime("%H:%M:%S.%f"), u=noise(n), y=noise(n)))
    assert lengths(midnight) == [20, 20]
    odd = read_data(save(date=["01.02.2020"] * n, u=noise(n), y=noise(n)))
    assert odd.sampling_time is None
    assert odd.timing == Timing("date")


def test_gaps_and_time_that_goes_back_end_records(save: Save) -> None:
    time = np.concatenate([np.arange(30), np.arange(45, 65), np.arange(10)]) * 0.1
    data = read_data(save(time=time, u=noise(60), y=noise(60)))
    assert lengths(data) == [30, 20, 10]
    assert data.timing is not None
    assert (data.timing.n_gaps, data.timing.n_backward) == (1, 1)
    assert data.timing.longest_gap == pytest.approx(1.6)
    assert data.timing.starts == pytest.approx((0.0, 4.5, 0.0))
    parts = data.split(0.5)
    assert parts[1].timing is not None
    assert parts[1].timing.starts == pytest.approx((1.5, 5.5, 0.5))


def test_a_jump_of_a_counter_ends_a_record_and_a_check_says_so(save: Save) -> None:
    rows = np.delete(np.arange(400), slice(99, 130))
    path = save(sample=rows, u=noise(369), y=noise(369))
    data = read_data(path)
    assert (lengths(data), data.names.inputs, data.sampling_time) == ([99, 270], ("u",), None)
    assert data.timing is not None
    assert (data.timing.column, data.timing.is_counter) == ("sample", True)
    (found,) = (found for found in check_data(path).findings if found.name == "gaps")
    assert found.level == "caution"
    assert "1 gap in the counter 'sample', the longest of 31 missing rows; a record" in found.words
    short = save(row=np.delete(np.arange(0, 400, 2), [50, 51]), u=noise(198), y=noise(198))
    (found,) = (found for found in check_data(short).findings if found.name == "gaps")
    assert found.remedy == "fill=2 interpolates it"
    filled = read_data(short, fill=2)
    assert lengths(filled) == [200]
    assert filled.prepared[0] == "2 samples missing in 1 gap of the counter interpolated"


@pytest.mark.parametrize(
    ("counter", "expected"),
    [
        (np.arange(300), [300]),
        (np.arange(7, 3007, 10), [300]),
        (np.arange(300) % 100, [100, 100, 100]),
        (np.arange(300)[::-1], [300]),  # it counts down: nothing that is known of goes that way
        (np.arange(300) % 256, [300]),  # 8 bits
        (np.delete(np.arange(600) % 256, slice(250, 550)), [250, 50]),
        (np.random.default_rng(0).permutation(300), [300]),
        (np.arange(300) // 3, [300]),
        (np.cumsum(np.random.default_rng(0).integers(1, 9, 300)), [300]),
        (0.5 * np.arange(300) + (np.arange(300) > 150), [300]),
    ],
)
def test_counters_that_count_on_restart_or_count_no_samples(
    save: Save, counter: np.ndarray, expected: list[int]
) -> None:
    data = read_data(save(index=counter, u=noise(300), y=noise(300)))
    assert lengths(data) == expected


def test_times_and_records_tell_more_than_a_counter(save: Save) -> None:
    rows = np.delete(np.arange(330), slice(100, 130))
    both = save(time=0.1 * np.arange(300), sample=rows, u=noise(300), y=noise(300))
    assert lengths(read_data(both)) == [300]
    runs = np.repeat([1, 2], 150)
    again = np.tile(np.arange(150), 2)
    data = read_data(save(run=runs, sample=again, u=noise(300), y=noise(300)))
    assert (lengths(data), data.timing) == ([150, 150], None)
    unread = save(time=["soon"] * 300, sample=np.arange(300), u=noise(300), y=noise(300))
    assert read_data(unread).timing == Timing("time")


def test_jitter_rounding_and_repeated_stamps_end_no_records(save: Save) -> None:
    even = 0.01 * np.arange(400)
    jittered = even + 0.001 * noise(400)
    rounded = np.round(np.arange(400) / 6400, 4)
    repeated = even.copy()
    repeated[100] = repeated[99]
    whole = np.floor(0.1 * np.arange(400))
    steps = {"jitter": 0.01, "rounded": 1 / 6400, "repeated": 0.01, "whole": 0.1}
    times = (jittered, rounded, repeated, whole)
    for time, step in zip(times, steps.values(), strict=True):
        data = read_data(save(time=time, u=noise(400), y=noise(400)))
        assert data.n_records == 1
        assert data.sampling_time == pytest.approx(step, rel=0.03)
        assert data.timing is not None
        assert not data.timing.is_irregular


def test_irregular_sampling_is_read_and_noted(save: Save) -> None:
    steps = np.random.default_rng(0).choice([0.1, 0.5, 1.0, 60.0], 400, p=[0.3, 0.1, 0.5, 0.1])
    data = read_data(save(time=np.cumsum(steps), u=noise(400), y=noise(400)))
    assert data.n_records == 1
    assert data.timing is not None
    assert data.timing.is_irregular
    assert data.timing.longest == 60.0


def test_short_records_are_read(save: Save) -> None:
    time = np.concatenate([[0.0], 10 + np.arange(8), [40.0]])
    assert lengths(read_data(save(time=time, u=noise(10), y=noise(10)))) == [1, 8, 1]


def test_units_of_headers_and_of_the_row_below(save: Save, tmp_path: Path) -> None:
    data = read_data(
        save(**{"force [N]": noise(9), "v (m/s)": noise(9), "x": noise(9)}), output="x"
    )
    assert data.names.inputs == ("force_N", "v_m_s")
    assert data.units == ("N", "m/s", "")
    (tmp_path / "row.csv").write_text("t;u;v;y\ns;V;-;[mm]\n0;1;2;3\n1;5;4;7\n2;2;2;2\n")
    data = read_data(tmp_path / "row.csv")
    assert data.units == ("V", "", "mm")
    assert data[1:].units == Dataset.join([data, data]).units == data.units
    assert Dataset.join([data, data]).n_records == 2
    with pytest.raises(AdjoinError, match="2 units of 3 signals"):
        Dataset(data.records, data.names, units=("V", "mm"))


def test_data_of_different_rates_or_units_are_not_joined(save: Save) -> None:
    slow, fast = (
        read_data(save(time=step * np.arange(9), u=noise(9), y=noise(9))) for step in (1.0, 0.1)
    )
    with pytest.raises(AdjoinError, match=r"sampling times differ, from 0\.1 s to 1 s"):
        Dataset.join([slow, fast])
    volts, newtons = (
        read_data(save(**{"t": np.arange(9), "u": noise(9), f"y ({unit})": noise(9)}), "u", "y_N")
        for unit in ("N", "N")
    )
    assert Dataset.join([volts, newtons]).n_records == 2


# --- prepared data -------------------------------------------------------------------------------


def test_missing_cells_are_filled_up_to_so_many(save: Save) -> None:
    u, y = np.arange(30.0) ** 2, np.arange(30.0)
    u[5], y[[10, 11]], y[20:25] = np.nan, np.nan, np.nan
    path = save(u=u, y=y)
    with pytest.raises(
        AdjoinError, match=r"the cell is empty.*fill=5 interpolates what is missing"
    ):
        read_data(path)
    (said,) = (found for found in check_data(path).findings if found.name == "missing-values")
    assert said.remedy == "fill=5 interpolates what is missing"  # the same advice
    data = read_data(path, fill=2)
    assert lengths(data) == [20, 5]
    assert data.u[0][5] == pytest.approx((16 + 36) / 2)
    assert data.y[0].tolist() == list(range(20))
    assert "3 missing values interpolated, up to 2 in a row" in repr(data)
    assert data.prepared[1] == "5 rows with missing values left out, where a record ends"
    assert lengths(read_data(path, fill=5)) == [30]
    assert lengths(read_data(path, fill=0)) == [5, 4, 8, 5]


def test_only_missing_cells_are_filled_and_not_damaged_ones(save: Save, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text("u,y\n1,2\nNA,3\n4,2 mV\n5,6\n")
    with pytest.raises(AdjoinError, match="line 4, column 'y': '2 mV' is not a number"):
        read_data(tmp_path / "bad.csv", fill=3)
    with pytest.raises(AdjoinError, match="mV' is not a number; correct the file, or"):
        read_data(tmp_path / "bad.csv")  # what is damaged is not filled in
    with pytest.raises(AdjoinError, match="fill=20 interpolates short runs"):
        read_data(save(u=np.where(np.arange(60) < 30, np.nan, 1.0), y=noise(60)))
    (tmp_path / "bad.csv").write_text("u,y\n1,2\nOVER,3\n4,?\n5,6\n")
    assert read_data(tmp_path / "bad.csv", fill=3).u.tolist() == [1.0, 2.5, 4.0, 5.0]
    with pytest.raises(AdjoinError, match="fill must be"):
        read_data(tmp_path / "bad.csv", fill=-1)


def test_samples_that_the_time_column_lacks_are_filled(save: Save) -> None:
    time = np.delete(np.arange(60.0), [20, 40, 41, 42, 43])
    path = save(time=time, u=2 * time, y=time)
    assert lengths(read_data(path, "u")) == [20, 19, 16]
    data = read_data(path, "u", fill=1)
    assert lengths(data) == [40, 16]
    assert data.y[0].tolist() == list(range(40))
    assert "1 sample missing in 1 gap" in data.prepared[0]
    assert data.timing is not None
    assert (data.timing.n_gaps, data.timing.starts) == (1, (0.0, 44.0))


@pytest.mark.parametrize("factor", [2, 5, 24])
def test_decimation_keeps_slow_parts_and_removes_fast_ones(factor: int) -> None:
    time = np.arange(6000)
    slow, fast = 5.0 + np.sin(2 * np.pi * time / (40 * factor)), np.sin(2 * np.pi * time * 0.47)
    data = Dataset.from_arrays(slow, slow + fast, sampling_time=0.1).decimate(factor)
    assert len(data) == -(-6000 // factor)
    assert data.sampling_time == pytest.approx(0.1 * factor)
    inner = slice(10, -10)
    np.testing.assert_allclose(data.u[inner], slow[::factor][inner], atol=0.02)
    np.testing.assert_allclose(data.y[inner], data.u[inner], atol=0.01)
    assert "prepared: every" in repr(data)


def test_decimation_of_short_records_and_bad_factors() -> None:
    data = Dataset.from_arrays([noise(1), noise(7)], [noise(1), noise(7)])
    assert lengths(data.decimate(3)) == [1, 3]
    assert data.decimate(1) is data
    for factor in (0, 2.5, True):
        with pytest.raises(AdjoinError, match="the factor must be a whole number"):
            data.decimate(factor)  # type: ignore[arg-type]


def test_detrending_removes_slopes_and_keeps_means() -> None:
    time = np.arange(500.0)
    u, y = noise(500, 1), noise(500, 2)
    data = Dataset.from_arrays([u + 0.1 * time, u], [y + 7 - 0.2 * time, y], sampling_time=0.5)
    flat = data.detrend()
    for before, after in zip(data.outputs + data.inputs, flat.outputs + flat.inputs, strict=True):
        assert after.mean() == pytest.approx(before.mean())
        assert abs(np.polyfit(time, after.ravel(), 1)[0]) < 1e-12
    only = data.detrend("y")
    assert (only.u[0] == data.u[0]).all()
    assert only.prepared == ("linear trend of y removed from every record",)
    with pytest.raises(AdjoinError, match="no signal is called 'z'"):
        data.detrend("z")
