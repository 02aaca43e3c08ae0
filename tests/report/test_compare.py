"""`adjoin.compare`: runs as users have them, and their picture."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.results.runs import HELD_OUT, POOR, TEST, TRAIN, TRUE, lost, made
from tests.systems import by_hand

import adjoin
from adjoin import AdjoinError, Dataset, Grammar
from adjoin.report.plots_runs import plot_simulations

GOOD_RUN, POOR_RUN = made([[TRUE] * 4]), made([[POOR] * 4])


def write(path: Path, data: Dataset) -> Path:
    rows = np.column_stack([data.u, data.y])
    np.savetxt(path, rows, delimiter=",", header="u,y", comments="", fmt="%.17g")
    return path


def test_runs_are_posteriors_files_or_named(tmp_path: Path) -> None:
    GOOD_RUN.save(tmp_path / "good.nc")
    found = adjoin.compare([POOR_RUN, tmp_path / "good.nc"], TEST, draws=10)
    assert isinstance(found, adjoin.RunComparison)
    assert list(found.table["name"]) == ["good.nc", "run 1"]
    named = adjoin.compare({"linear": GOOD_RUN, "delay": str(tmp_path / "good.nc")}, draws=10)
    assert set(named.table["name"]) == {"linear", "delay"}


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    files = [tmp_path / folder / "rig.nc" for folder in "ab"]
    for file in files:
        file.parent.mkdir()
        GOOD_RUN.save(file)
    assert set(adjoin.compare(files, draws=10).table["name"]) == set(map(str, files))
    with pytest.raises(AdjoinError, match="given twice"):
        adjoin.compare([files[0], files[0]])


def test_test_data_are_a_data_set_or_files(tmp_path: Path) -> None:
    file, more = write(tmp_path / "test.csv", TEST), write(tmp_path / "more.csv", HELD_OUT)
    by_file = adjoin.compare([GOOD_RUN], file, draws=10)
    assert by_file.part_name == "test.csv"
    by_data = adjoin.compare([GOOD_RUN], TEST, draws=10)
    assert by_data.part_name == "test"
    assert by_file.runs[0].part.scores == by_data.runs[0].part.scores
    both = adjoin.compare([GOOD_RUN], [file, more], draws=10)
    assert both.part_name == "test.csv + more.csv"
    assert both.runs[0].data.n_records == 2


@pytest.mark.parametrize(
    ("runs", "complaint"),
    [
        (GOOD_RUN, "takes a list of runs"),
        ("rig.nc", "takes a list of runs"),
        ([], "no run to compare"),
        ([3], "is a Posterior"),
        (["nothing.nc"], "nothing.nc"),
    ],
)
def test_what_is_no_run_is_refused(runs: object, complaint: str) -> None:
    with pytest.raises(AdjoinError, match=complaint):
        adjoin.compare(runs)  # type: ignore[arg-type]


def test_an_error_says_of_which_run_it_is() -> None:
    other = Dataset.from_arrays(TEST.u, TEST.y, ["v", "y"])
    with pytest.raises(AdjoinError, match="good: the data need one column for each of u"):
        adjoin.compare({"good": GOOD_RUN}, other)


def test_the_picture_shows_measured_and_every_simulation_in_seconds() -> None:
    data = Dataset.from_arrays(TEST.u, TEST.y, ["u", "y"], 0.1)
    long = by_hand(TRAIN, [[TRUE] * 4], Grammar.narx(max_lag=7, max_degree=2))
    found = adjoin.compare({"good": GOOD_RUN, "poor": POOR_RUN, "long": long}, data, draws=10)
    upper, lower = found.plot().axes
    labels = upper.get_legend_handles_labels()[1]
    assert labels[0] == "measured"
    assert {label.split(",")[0] for label in labels[1:]} == {"good", "poor", "long"}
    assert all("fit" in label for label in labels[1:])
    assert upper.get_ylabel() == "y"
    assert lower.get_xlabel() == "time (s)"
    assert lower.get_xlim() == (0.0, pytest.approx(14.9))
    lines = {line.get_label().split(",")[0]: line for line in upper.lines}
    assert len({line.get_color() for line in upper.lines}) == 4
    good = np.asarray(lines["good"].get_ydata())
    np.testing.assert_array_equal(np.isnan(good), np.arange(150) < 5)  # seeded by samples 5 and 6
    assert found.plot(first=20, last=40).axes[0].get_xlim() == pytest.approx((2.0, 3.9))


def test_a_lost_run_and_runs_on_other_data_do_not_spoil_it() -> None:
    figure = adjoin.compare({"good": GOOD_RUN, "wild": lost()}, TEST, draws=10).plot()
    assert "wild, runs away" in figure.axes[0].get_legend_handles_labels()[1]
    assert np.ptp(figure.axes[0].get_ylim()) < 2.0 * np.ptp(TEST.y)
    assert np.ptp(figure.axes[1].get_ylim()) < np.ptp(TEST.y)
    apart = made([[POOR] * 4], HELD_OUT)
    figure = adjoin.compare({"good": GOOD_RUN, "apart": apart}, draws=10).plot()
    assert [text.get_text() for text in figure.texts] == ["not drawn: apart"]


def test_of_a_long_record_a_stretch_is_shown() -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal(2000)
    y = GOOD_RUN.map_model.simulate(u)
    y[1200:1250] += 5.0
    found = adjoin.compare([GOOD_RUN], Dataset.from_arrays(u, y), draws=10)
    low, high = found.plot().axes[0].get_xlim()
    assert low <= 1200.0
    assert high >= 1249.0
    assert high - low < 400.0
    with pytest.raises(AdjoinError, match="no record 1"):
        found.plot(record=1)


def test_series_that_do_not_fit_are_refused() -> None:
    with pytest.raises(AdjoinError, match="'a' has 3 samples, but 4 were measured"):
        plot_simulations({"a": np.zeros(3)}, np.zeros(4))
    with pytest.raises(AdjoinError, match="no samples from 3 up to 9"):
        plot_simulations({"a": np.zeros(4)}, np.zeros(4), first=3, last=9)


def test_a_notebook_shows_the_table_with_names_escaped() -> None:
    html = adjoin.compare({"<b>": GOOD_RUN}, draws=10)._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert "compared on the data" in html
