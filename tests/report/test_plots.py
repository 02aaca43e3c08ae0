"""Plots over time: what is drawn is what was predicted, recorded and left."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.drawn import (
    DATA,
    band_of,
    correlation,
    line_of,
    made_up,
    rows_of,
    svg_of,
    texts_of,
)

from adjoin import AdjoinError, Posterior
from adjoin.report import colours
from adjoin.report.plots import (
    plot_correlation,
    plot_error,
    plot_residuals,
    plot_response,
    plot_trace,
)


def test_a_long_response_is_a_small_picture_with_every_peak() -> None:
    rng = np.random.default_rng(0)
    mean = rng.standard_normal(40_000)
    mean[17_171] = 9.0
    low, high = mean - 1.0, mean + 1.0
    high[17_180] = 12.0
    prediction = made_up(mean=mean, sd=mean, bands={0.025: low, 0.975: high})
    ax = plot_response(prediction, mean + 0.1)
    assert [17_171, 9.0] in line_of(ax, "mean of 9 draws").tolist()
    assert [17_180, 12.0] in band_of(ax, "95 % of draws").tolist()
    assert len(svg_of(ax)) < 200_000


def test_a_response_is_the_prediction() -> None:
    prediction, measured = made_up(), np.linspace(-1.0, 1.0, 40)
    ax = plot_response(prediction, measured, model_run=measured + 0.1, output="F", unit="kN")
    assert np.array_equal(line_of(ax, "measured")[:, 1], measured)
    assert np.array_equal(line_of(ax, "MAP model")[:, 1], measured + 0.1)
    assert np.array_equal(line_of(ax, "mean of 9 draws")[:, 1], prediction.mean)
    for label, low, high in (("95 % of draws", 0.025, 0.975), ("68 % of draws", 0.16, 0.84)):
        drawn = {tuple(point) for point in band_of(ax, label)}
        assert drawn >= set(enumerate(prediction.bands[low].tolist()))
        assert drawn >= set(enumerate(prediction.bands[high].tolist()))
    assert ax.get_ylabel() == "F (kN)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("measured", "MAP model", "mean of 9 draws", "68 % of draws", "95 % of draws"),
    ]


def test_an_error_is_measured_minus_mean_inside_the_shifted_bands() -> None:
    prediction, measured = made_up(), np.linspace(-1.0, 1.0, 40)
    ax = plot_error(prediction, measured)
    assert np.array_equal(line_of(ax, "measured − mean")[:, 1], measured - prediction.mean)
    heights = band_of(ax, "95 % of draws")[:, 1]
    assert heights.min() == pytest.approx(-0.475)
    assert heights.max() == pytest.approx(0.475)


def test_three_standard_deviations_around_the_mean() -> None:
    prediction = made_up()
    drawn = band_of(plot_response(prediction, bands="sigma"), "mean ± 3 standard deviations")
    assert {tuple(p) for p in drawn} >= set(enumerate(prediction.mean + 0.6000000000000001))


def test_a_window_of_one_record_with_its_own_time() -> None:
    mean = [np.zeros(30), np.arange(40.0)]
    bands = {q: [m + q - 0.5 for m in mean] for q in (0.025, 0.975)}
    stayed = {"n_lost": (0, 0), "n_stayed": (9, 9), "first_lost": (None, None)}
    prediction = made_up(mean=mean, sd=mean, bands=bands, **stayed)
    options = {"record": 1, "first": 10, "last": 20}
    ax = plot_response(prediction, [np.ones(30), 10.0 + np.ones(40)], time=0.5, **options)
    assert np.array_equal(
        line_of(ax, "mean of 9 draws"), np.c_[np.arange(5.0, 10.0, 0.5), np.arange(10.0, 20.0)]
    )
    assert ax.get_xlabel() == "time (s)"
    own = 7.0 + np.arange(40.0)
    for choice, clock in (("quantiles", [np.arange(30.0), own]), ("sigma", own)):
        ax = plot_response(prediction, time=clock, bands=choice, **options)
        assert line_of(ax, "mean of 9 draws")[0].tolist() == [17.0, 10.0]


def test_a_data_set_brings_its_output() -> None:
    ax = plot_response(made_up(60), DATA)
    assert np.array_equal(line_of(ax, "measured")[:, 1], DATA.y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"record": 1}, "no record 1 of the prediction; there are 1"),
        ({"first": 30, "last": 50}, "no samples from 30 up to 50; there are 40"),
        ({"bands": "iqr"}, "'quantiles' or 'sigma', not 'iqr'"),
        ({"measured": np.zeros(41)}, "40 samples, but the measured output has 41"),
        ({"time": np.zeros(41)}, "40 samples, but 41 times"),
        ({"measured": np.zeros((40, 2))}, "must be a series of numbers, not of shape"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        plot_response(made_up(), **options)


def test_an_error_without_measurements_is_refused() -> None:
    with pytest.raises(AdjoinError, match="needs the measured output"):
        plot_error(made_up(), None)


def test_diverged_draws_are_said_and_do_not_spoil_the_scale() -> None:
    prediction = made_up(diverged=2 / 9, n_lost=(2,), n_stayed=(7,), first_lost=(30,))
    away = prediction.bands[0.975].copy()
    away[30:35], away[35:] = 1e99, np.nan
    prediction.mean[35:] = np.nan
    prediction = replace(prediction, bands={**prediction.bands, 0.975: away})
    for measured in (np.sin(np.arange(40) / 5.0), None):
        ax = plot_response(prediction, measured)
        assert max(map(abs, ax.get_ylim())) < 10.0
        assert "reaches beyond the picture" in texts_of(ax)
        assert "mean of 7 of 9 draws; 2 ran away, the first at sample 30" in [
            line.get_label() for line in ax.lines
        ]
        svg_of(ax)
    svg_of(plot_error(prediction, np.sin(np.arange(40) / 5.0)))


def test_a_wrong_prediction_is_shown_whole() -> None:
    ax = plot_response(made_up(), 8.0 + np.sin(np.arange(40) / 5.0))
    low, high = ax.get_ylim()
    assert low < -1.475
    assert high > 9.0
    assert "reaches beyond the picture" not in texts_of(ax)


@pytest.mark.parametrize("value", [0.0, 3.0, np.nan])
@pytest.mark.parametrize("n", [1, 40])
def test_constant_and_lost_series_are_drawn(value: float, n: int) -> None:
    series = np.full(n, value)
    prediction = made_up(mean=series, sd=0.0 * series, bands={0.025: series, 0.975: series})
    upper, middle, lower = Figure(figsize=(5.0, 8.0)).subplots(3)
    for measured in (np.ones(n), series):
        plot_response(prediction, measured, ax=upper)
        plot_error(prediction, measured, ax=middle)
    svg_of(plot_residuals(series, ax=lower))


def test_residuals_of_several_records_stand_one_after_another() -> None:
    ax = plot_residuals([np.zeros(5), np.ones(3)], unit="m")
    assert line_of(ax, "residual")[:, 1].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    spread = 1.96 * np.std([0, 0, 0, 0, 0, 1, 1, 1])
    assert line_of(ax, "±1.96 standard deviations")[:, 1].tolist() == [spread, spread]
    assert [5.0, 5.0] in [list(line.get_xdata()) for line in ax.lines]
    assert ax.get_ylabel() == "residual of y (m)"


def test_a_correlation_has_its_band_and_is_not_dwarfed_by_lag_0() -> None:
    ax = plot_correlation(correlation(False))
    points = {tuple(p): line.get_color() for line in ax.lines for p in line.get_xydata()}
    assert points[2.0, -0.3] == colours.ORANGE
    assert points[1.0, 0.05] == colours.BLUE
    assert 0.3 < ax.get_ylim()[1] < 0.5
    assert "1 at lag 0" in " ".join(texts_of(ax))
    assert [patch.get_y() for patch in ax.patches] == [-0.1]
    assert "$" not in "".join(
        ElementTree.fromstring(svg_of(ax)).itertext()
    )  # the symbol is a formula


def test_what_chance_explains_is_not_marked() -> None:
    ax = plot_correlation(correlation(True))
    assert colours.ORANGE not in {line.get_color() for line in ax.lines if len(line.get_xdata())}


def test_a_trace_begins_before_the_end_of_burn_in(found: Posterior) -> None:
    for quantity, values in (
        ("n_terms", [np.diff(trace.offset) for trace in found.traces]),
        ("noise_sd", [np.sqrt(t.noise) * found.scaling.noise_factor for t in found.traces]),
    ):
        ax = plot_trace(found, quantity, unit="m")
        for number, value in enumerate(values):
            drawn = line_of(ax, f"chain {number}")
            assert len(value) == 400
            assert np.array_equal(drawn[:, 1], value)
            assert np.array_equal(drawn[:, 0], 5.0 * np.arange(1, 401))
        (burn_in,) = ax.patches
        assert (burn_in.get_x(), burn_in.get_width()) == (0.0, 1000.0)
        assert ax.get_ylabel().endswith("(m)") == (quantity == "noise_sd")


def test_the_trace_of_the_log_posterior_ends_in_the_kept_draws(found: Posterior) -> None:
    ax = plot_trace(found, "log_posterior")
    drawn = [line_of(ax, f"chain {n}")[:, 1] for n in found.chain_numbers]
    assert np.array_equal(np.concatenate([d[-200:] for d in drawn]), found.log_posterior)
    with pytest.raises(AdjoinError, match=r"no trace of 'beta'; there are n_terms, log_post"):
        plot_trace(found, "beta")
    with pytest.raises(AdjoinError, match="only a run with objective='abc' has distances"):
        plot_trace(found, "distance")


def test_tiny_values_have_their_power_of_ten_in_the_label() -> None:
    ax = plot_residuals(np.array([-2e-5, 4e-5]), unit="V")
    assert ax.get_ylabel() == "residual of y (1e-5 V)"
    ax.get_figure().draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""
    assert "4" in rows_of(ax)
