"""Plots: what is drawn is what was found, nothing crashes or warns, and SVG is safe in a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from tests.systems import by_hand, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Posterior, Structure
from adjoin.report import style
from adjoin.report.plots import (
    plot_correlation,
    plot_error,
    plot_residuals,
    plot_response,
    plot_trace,
)
from adjoin.report.plots_coefficients import plot_coefficient_intervals, plot_coefficients
from adjoin.report.plots_structure import (
    figure_map_trees,
    lag_probabilities,
    plot_inclusion,
    plot_lags,
    plot_prior_posterior,
    plot_structures,
)
from adjoin.report.series import envelope
from adjoin.results.prediction import Prediction

GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
DATA = Dataset.from_arrays(*simulated(n=60))
OF_POSTERIOR: dict[str, Callable[..., Axes]] = {
    "structures": plot_structures,
    "inclusion": plot_inclusion,
    "lags": plot_lags,
    "intervals": plot_coefficient_intervals,
    "prior": plot_prior_posterior,
    "trace": plot_trace,
    "log posterior": lambda p, **options: plot_trace(p, "log_posterior", **options),
    "noise": lambda p, **options: plot_trace(p, "noise_sd", **options),
    "coefficients": lambda p, **options: plot_coefficients(p, **options).ravel()[0],
}


@pytest.fixture(scope="module")
def found() -> Posterior:
    return quick().fit(*simulated()).posterior_


def _posterior(*chains: list[tuple[str, list[float], float]], **changed: Any) -> Posterior:
    return by_hand(DATA, chains, GRAMMAR, **changed)


def _prediction(n: int = 40, **changed: Any) -> Prediction:
    mean = np.sin(np.arange(n) / 5.0)
    bands = {q: mean + q - 0.5 for q in (0.025, 0.16, 0.5, 0.84, 0.975)}
    settings = {"mean": mean, "sd": np.full(n, 0.2), "bands": bands}
    return Prediction(**{**settings, "diverged": 0.0, "n_draws": 9, "n_seed": (0,), **changed})


def _line(ax: Axes, label: str) -> np.ndarray:
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def _band(ax: Axes, label: str) -> np.ndarray:
    (band,) = [band for band in ax.collections if band.get_label() == label]
    return band.get_paths()[0].vertices


def _texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts]


def _rows(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_yticklabels()]


def _svg(ax: Axes) -> str:
    return style.to_svg(ax.get_figure())


# Thinning


@given(
    arrays(float, st.integers(1, 400), elements=st.floats(-1e6, 1e6) | st.just(np.nan)),
    st.integers(1, 50),
)
def test_thinning_keeps_extremes_and_gaps(x: np.ndarray, n_columns: int) -> None:
    keep = envelope(x, n_columns)
    assert len(keep) <= 2 * n_columns + 2
    assert (np.diff(keep) > 0).all()
    assert {keep[0], keep[-1]} == {0, len(x) - 1}
    for column in np.split(np.arange(len(x)), np.linspace(0, len(x), n_columns + 1).astype(int)):
        inside = np.intersect1d(column, keep)
        if len(column) and not np.isnan(x[column]).all():
            assert np.nanmin(x[inside]) == np.nanmin(x[column])
            assert np.nanmax(x[inside]) == np.nanmax(x[column])
        elif len(column):
            assert len(inside)
            assert np.isnan(x[inside]).all()


def test_a_short_series_is_not_thinned() -> None:
    assert envelope(np.zeros(22), 10).tolist() == list(range(22))


def test_a_long_response_is_a_small_picture_with_every_peak() -> None:
    rng = np.random.default_rng(0)
    mean = rng.standard_normal(40_000)
    mean[17_171] = 9.0
    low, high = mean - 1.0, mean + 1.0
    high[17_180] = 12.0
    prediction = _prediction(mean=mean, sd=mean, bands={0.025: low, 0.975: high})
    ax = plot_response(prediction, mean + 0.1)
    assert [17_171, 9.0] in _line(ax, "mean of 9 draws").tolist()
    assert [17_180, 12.0] in _band(ax, "95 % of draws").tolist()
    assert len(_svg(ax)) < 200_000


# Responses and residuals


def test_a_response_is_the_prediction() -> None:
    prediction, measured = _prediction(), np.linspace(-1.0, 1.0, 40)
    ax = plot_response(prediction, measured, model_run=measured + 0.1, output="F", unit="kN")
    assert np.array_equal(_line(ax, "measured")[:, 1], measured)
    assert np.array_equal(_line(ax, "MAP model")[:, 1], measured + 0.1)
    assert np.array_equal(_line(ax, "mean of 9 draws")[:, 1], prediction.mean)
    for label, low, high in (("95 % of draws", 0.025, 0.975), ("68 % of draws", 0.16, 0.84)):
        drawn = {tuple(point) for point in _band(ax, label)}
        assert drawn >= set(enumerate(prediction.bands[low].tolist()))
        assert drawn >= set(enumerate(prediction.bands[high].tolist()))
    assert ax.get_ylabel() == "F (kN)"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        *("measured", "MAP model", "mean of 9 draws", "68 % of draws", "95 % of draws"),
    ]


def test_an_error_is_measured_minus_mean_inside_the_shifted_bands() -> None:
    prediction, measured = _prediction(), np.linspace(-1.0, 1.0, 40)
    ax = plot_error(prediction, measured)
    assert np.array_equal(_line(ax, "measured − mean")[:, 1], measured - prediction.mean)
    heights = _band(ax, "95 % of draws")[:, 1]
    assert heights.min() == pytest.approx(-0.475)
    assert heights.max() == pytest.approx(0.475)


def test_three_standard_deviations_around_the_mean() -> None:
    prediction = _prediction()
    drawn = _band(plot_response(prediction, bands="sigma"), "mean ± 3 standard deviations")
    assert {tuple(p) for p in drawn} >= set(enumerate(prediction.mean + 0.6000000000000001))


def test_a_window_of_one_record_with_its_own_time() -> None:
    mean = [np.zeros(30), np.arange(40.0)]
    bands = {q: [m + q - 0.5 for m in mean] for q in (0.025, 0.975)}
    prediction = _prediction(mean=mean, sd=mean, bands=bands)
    options = {"record": 1, "first": 10, "last": 20}
    ax = plot_response(prediction, [np.ones(30), 10.0 + np.ones(40)], time=0.5, **options)
    assert np.array_equal(
        _line(ax, "mean of 9 draws"), np.c_[np.arange(5.0, 10.0, 0.5), np.arange(10.0, 20.0)]
    )
    assert ax.get_xlabel() == "time (s)"
    own = 7.0 + np.arange(40.0)
    for choice, clock in (("quantiles", [np.arange(30.0), own]), ("sigma", own)):
        ax = plot_response(prediction, time=clock, bands=choice, **options)
        assert _line(ax, "mean of 9 draws")[0].tolist() == [17.0, 10.0]


def test_a_data_set_brings_its_output() -> None:
    ax = plot_response(_prediction(60), DATA)
    assert np.array_equal(_line(ax, "measured")[:, 1], DATA.y)


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
        plot_response(_prediction(), **options)


def test_an_error_without_measurements_is_refused() -> None:
    with pytest.raises(AdjoinError, match="needs the measured output"):
        plot_error(_prediction(), None)


def test_diverged_draws_are_said_and_do_not_spoil_the_scale() -> None:
    prediction = _prediction(diverged=0.25)
    away = prediction.bands[0.975].copy()
    away[30:35], away[35:] = 1e99, np.nan
    prediction.mean[35:] = np.nan
    prediction = replace(prediction, bands={**prediction.bands, 0.975: away})
    for measured in (np.sin(np.arange(40) / 5.0), None):
        ax = plot_response(prediction, measured)
        assert max(map(abs, ax.get_ylim())) < 10.0
        assert "reaches beyond the picture" in _texts(ax)
        assert "mean of 9 draws, 25% diverged" in [line.get_label() for line in ax.lines]
        _svg(ax)
    _svg(plot_error(prediction, np.sin(np.arange(40) / 5.0)))


def test_a_wrong_prediction_is_shown_whole() -> None:
    ax = plot_response(_prediction(), 8.0 + np.sin(np.arange(40) / 5.0))
    low, high = ax.get_ylim()
    assert low < -1.475
    assert high > 9.0
    assert "reaches beyond the picture" not in _texts(ax)


@pytest.mark.parametrize("value", [0.0, 3.0, np.nan])
@pytest.mark.parametrize("n", [1, 40])
def test_constant_and_lost_series_are_drawn(value: float, n: int) -> None:
    series = np.full(n, value)
    prediction = _prediction(mean=series, sd=0.0 * series, bands={0.025: series, 0.975: series})
    upper, middle, lower = Figure(figsize=(5.0, 8.0)).subplots(3)
    for measured in (np.ones(n), series):
        plot_response(prediction, measured, ax=upper)
        plot_error(prediction, measured, ax=middle)
    _svg(plot_residuals(series, ax=lower))


def test_residuals_of_several_records_stand_one_after_another() -> None:
    ax = plot_residuals([np.zeros(5), np.ones(3)], unit="m")
    assert _line(ax, "residual")[:, 1].tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    spread = 1.96 * np.std([0, 0, 0, 0, 0, 1, 1, 1])
    assert _line(ax, "±1.96 standard deviations")[:, 1].tolist() == [spread, spread]
    assert [5.0, 5.0] in [list(line.get_xdata()) for line in ax.lines]
    assert ax.get_ylabel() == "residual of y (m)"


def _correlation(is_passed: bool) -> SimpleNamespace:
    return SimpleNamespace(
        name="residual with itself",
        symbol=r"$\phi_{\varepsilon\varepsilon}$",
        lag=np.arange(6),
        correlation=np.array([1.0, 0.05, -0.3, 0.0, 0.02, 0.01]),
        band=0.1,
        is_passed=is_passed,
    )


def test_a_correlation_has_its_band_and_is_not_dwarfed_by_lag_0() -> None:
    ax = plot_correlation(_correlation(False))
    points = {tuple(p): line.get_color() for line in ax.lines for p in line.get_xydata()}
    assert points[2.0, -0.3] == style.ORANGE
    assert points[1.0, 0.05] == style.BLUE
    assert 0.3 < ax.get_ylim()[1] < 0.5
    assert "1 at lag 0" in " ".join(_texts(ax))
    assert [patch.get_y() for patch in ax.patches] == [-0.1]
    assert "$" not in "".join(
        ElementTree.fromstring(_svg(ax)).itertext()
    )  # the symbol is a formula


def test_what_chance_explains_is_not_marked() -> None:
    ax = plot_correlation(_correlation(True))
    assert style.ORANGE not in {line.get_color() for line in ax.lines if len(line.get_xdata())}


# Structures, terms, lags


def test_bars_are_masses_and_the_rest_is_summed() -> None:
    a, b, c = ("u(k)", [1.0], 1.0), ("y(k-1)", [1.0], 1.0), ("y(k-2)", [1.0], 1.0)
    posterior = _posterior([a, a, a, b], [a, b, c, ("0", [], 1.0)])
    ax = plot_structures(posterior, most=2)
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25, 0.25]
    marks = _line(ax, "each chain alone")[:, 0]
    assert marks.tolist() == [0.75, 0.25, 0.25, 0.25, 0.0, 0.5]
    assert _texts(ax) == ["1.  u(k)", "0.500", "2.  y(k-1)", "0.250", "2 more", "0.250"]


def test_long_structures_are_told_by_their_difference() -> None:
    names = [f"{a}*{b}" for a, b in combinations(["u(k)", "u(k-1)", "u(k-2)", "y(k-1)"], 2)]
    whole = " + ".join(names)
    less, other = " + ".join(names[1:]), " + ".join([*names[:-3], "y(k-2)"])
    records = [(t, [1.0] * (1 + t.count("+")), 1.0) for t in (whole, whole, less, other)]
    ax = plot_structures(_posterior(records), width=style.NARROW)
    first, second, third = _texts(ax)[::2]
    assert re.fullmatch(r"1\.  6 terms: u\(k\).*…", first)
    assert second == "2.  5 terms: 1st - u(k)*u(k-1)"
    assert third == "3.  4 terms: 1st, 1 added, 3 left out"


def test_inclusion_beside_its_prior(found: Posterior) -> None:
    ax = plot_inclusion(found, most=3)
    frame = found.terms.head(3)
    assert _rows(ax) == frame["term"].tolist()
    assert [bar.get_width() for bar in ax.patches] == frame["inclusion"].tolist()
    alphabet = found.grammar.alphabet
    prior = [
        found.settings.prior.inclusion(Structure.parse(text, alphabet.names).terms[0], alphabet)
        for text in frame["term"]
    ]
    assert _line(ax, "prior")[:, 0].tolist() == prior
    assert f"3 of {len(found.terms)} terms" in ax.get_xlabel().replace("\n", " ")


def test_fixed_terms_are_marked_and_have_no_prior() -> None:
    posterior = quick(initial="u(k-1)", chains=1, samples=500).fit(*simulated()).posterior_
    ax = plot_inclusion(posterior)
    row = _rows(ax).index("u(k-1)")
    grey = [bar for bar in ax.patches if to_hex(bar.get_facecolor()) == style.MUTED]
    assert [bar.get_y() + bar.get_height() / 2 for bar in grey] == pytest.approx([row])
    assert row not in _line(ax, "prior")[:, 1]


def test_a_lag_counts_once_however_many_terms_have_it() -> None:
    both = ("u(k-1) + u(k-1)*y(k-1)", [1.0, 1.0], 1.0)
    posterior = _posterior([both, both, ("y(k-1)", [1.0], 1.0), ("0", [], 1.0)])
    share = lag_probabilities(posterior)
    assert share["u"].tolist() == [0.0, 0.5, 0.0]
    assert np.isnan(share["y"][0])
    assert share["y"][1:].tolist() == [0.75, 0.0]
    ax = plot_lags(posterior)
    assert _rows(ax) == ["u", "y"]
    assert sorted(_texts(ax)) == [".50", ".75"]
    shown = [patch.get_alpha() for patch in ax.patches if patch.get_alpha()]
    assert sorted(shown) == [0.5, 0.75]


def test_functions_have_rows_of_their_own() -> None:
    grammar = Grammar.narx(functions="abs", max_lag=1, max_degree=2)
    posterior = by_hand(DATA, [[("abs(u(k))", [1.0], 1.0)]], grammar)
    share = lag_probabilities(posterior)
    assert list(share) == ["u", "abs(u)", "y", "abs(y)"]
    assert share["abs(u)"].tolist() == [1.0, 0.0]
    assert share["u"].tolist() == [0.0, 0.0]


def test_number_of_terms_before_and_after() -> None:
    records = [("u(k)", [1.0], 1.0)] * 3 + [("0", [], 1.0)]
    posterior = _posterior(records)
    ax = plot_prior_posterior(posterior)
    stairs = {patch.get_label(): patch.get_data().values for patch in ax.patches}
    assert stairs["posterior"][:2].tolist() == [0.25, 0.75]
    assert stairs["prior"].sum() == pytest.approx(1.0)
    # The empty structure has probability Π (1 - p(t in)); 5,000 draws, false alarm 1e-5.
    terms = {
        term
        for n in (1, 2)
        for atoms in combinations(sorted(GRAMMAR.alphabet.atoms * n), n)
        for term in Structure((atoms,), GRAMMAR.alphabet.names)
    }
    assert len(terms) == GRAMMAR.alphabet.n_terms
    empty = np.prod(
        [1.0 - posterior.settings.prior.inclusion(term, GRAMMAR.alphabet) for term in terms]
    )
    assert abs(stairs["prior"][0] - empty) < 4.42 * np.sqrt(empty * (1.0 - empty) / 5000)


def test_trees_of_the_most_frequent_structure(found: Posterior) -> None:
    figure = figure_map_trees(found)
    words = {text.get_text() for text in figure.axes[0].texts}
    assert {"u", "y", "×"} <= words


# Coefficients and traces


def test_coefficients_of_each_chain_and_their_interval() -> None:
    rng = np.random.default_rng(0)
    chains = [
        [("u(k) + y(k-1)", [centre + 0.1 * rng.standard_normal(), 5.0], 1.0) for _ in range(200)]
        for centre in (0.0, 1.0)
    ]
    posterior = _posterior(*chains)
    spread, constant = plot_coefficients(posterior).ravel()
    assert (spread.get_title("left"), constant.get_title("left")) == ("u(k)", "y(k-1)")
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in spread.lines[:2]]
    assert peaks == pytest.approx([0.0, 1.0], abs=0.1)
    area = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in spread.lines[:2]]
    assert area == pytest.approx([1.0, 1.0], abs=0.02)
    row = posterior.coefficients().iloc[0]
    assert spread.lines[2].get_xdata().tolist() == [row["q025"], row["q975"]]
    assert spread.lines[3].get_xdata().tolist() == [row["mean"]]


def test_coefficients_of_a_chosen_structure_in_given_axes() -> None:
    posterior = _posterior([("u(k)", [1.0], 1.0), ("u(k)", [1.0], 1.0), ("y(k-1)", [2.0], 1.0)])
    axes = Figure().subplots(1, 2)
    drawn = plot_coefficients(posterior, "y(k-1)", axes=axes)
    assert drawn.tolist() == axes.tolist()
    assert drawn[0].get_title("left") == "y(k-1)"
    assert not drawn[1].axison
    with pytest.raises(AdjoinError, match="2 coefficients need as many Axes, not 1"):
        plot_coefficients(_posterior([("u(k) + u(k-1)", [1.0, 1.0], 1.0)]), axes=axes[:1])


def test_intervals_are_divided_by_the_mean_only_where_scales_differ() -> None:
    ax = plot_coefficient_intervals(_posterior([("u(k) + y(k-1)", [2.0, -3.0], 1.0)]))
    assert _line(ax, "in more than half of the draws")[:, 0].tolist() == [2.0, -3.0]
    assert ax.get_xlabel().startswith("coefficient, 95")
    ax = plot_coefficient_intervals(_posterior([("u(k) + y(k-1)", [2.0, -3e-4], 1.0)]))
    assert _line(ax, "in more than half of the draws")[:, 0].tolist() == [1.0, -1.0]
    assert "divided by its |mean|" in ax.get_xlabel()
    assert _texts(ax) == ["2", "-0.0003"]


def test_a_trace_begins_before_the_end_of_burn_in(found: Posterior) -> None:
    for quantity, values in (
        ("n_terms", [np.diff(trace.offset) for trace in found.traces]),
        ("noise_sd", [np.sqrt(t.noise) * found.scaling.noise_factor for t in found.traces]),
    ):
        ax = plot_trace(found, quantity, unit="m")
        for number, value in enumerate(values):
            drawn = _line(ax, f"chain {number}")
            assert len(value) == 400
            assert np.array_equal(drawn[:, 1], value)
            assert np.array_equal(drawn[:, 0], 5.0 * np.arange(1, 401))
        (burn_in,) = ax.patches
        assert (burn_in.get_x(), burn_in.get_width()) == (0.0, 1000.0)
        assert ax.get_ylabel().endswith("(m)") == (quantity == "noise_sd")


def test_the_trace_of_the_log_posterior_ends_in_the_kept_draws(found: Posterior) -> None:
    ax = plot_trace(found, "log_posterior")
    drawn = [_line(ax, f"chain {n}")[:, 1] for n in found.chain_numbers]
    assert np.array_equal(np.concatenate([d[-200:] for d in drawn]), found.log_posterior)
    with pytest.raises(AdjoinError, match=r"no trace of 'beta'; there are n_terms, log_post"):
        plot_trace(found, "beta")
    with pytest.raises(AdjoinError, match="only a run with objective='abc' has distances"):
        plot_trace(found, "distance")


# Every plot


@pytest.mark.parametrize("name", [*OF_POSTERIOR])
def test_a_plot_draws_into_the_axes_it_is_given(name: str, found: Posterior) -> None:
    axes = Figure(figsize=(9.0, 6.0)).subplots(1, 4)
    if name == "coefficients":
        assert plot_coefficients(found, axes=axes).tolist() == axes.tolist()
    else:
        assert OF_POSTERIOR[name](found, ax=axes[1]) is axes[1]
    for draw in (plot_response, plot_error):
        assert draw(_prediction(), np.zeros(40), ax=axes[2]) is axes[2]
    assert plot_residuals(np.zeros(9), ax=axes[3]) is axes[3]
    assert plot_correlation(_correlation(True), ax=axes[3]) is axes[3]


def _odd_posteriors() -> dict[str, Posterior]:
    atoms = [f"u(k-{i})" if i else "u(k)" for i in range(30)] + [f"y(k-{i})" for i in range(1, 31)]
    rng = np.random.default_rng(0)
    u, y = simulated(n_inputs=2, equation="y(k) = 0.5*u1(k-1) + 0.2*u2(k) + 0.6*y(k-1)")
    large = Grammar.narx(max_lag=30, max_degree=2)
    records = [(" + ".join(atoms), rng.standard_normal(60).tolist(), 1.0) for _ in range(20)]
    return {
        "one draw": _posterior([("u(k)", [0.5], 1.0)]),
        "empty": _posterior([("0", [], 1.0)]),
        "empty and not": _posterior([("0", [], 1.0)] * 3, [("u(k)", [0.0], 1.0)] * 3),
        "60 terms": by_hand(DATA, [records, records], large),
        "many chains": _posterior(*[[("u(k)", [0.5], 1.0)] * 5] * 12),
        "prior": quick(likelihood_power=0.0).fit(*simulated()).posterior_,
        "records": quick(functions="abs").fit([u, u[:50]], [y, y[:50]]).posterior_,
    }


@pytest.fixture(scope="module")
def odd() -> dict[str, Posterior]:
    return _odd_posteriors()


@pytest.mark.parametrize("name", [*OF_POSTERIOR])
@pytest.mark.parametrize("width", [style.WIDE, style.NARROW])
def test_odd_posteriors_are_drawn_whole(
    name: str, width: float, odd: dict[str, Posterior], found: Posterior
) -> None:
    every = {**odd, "one chain": found.chain(1), "usual": found}
    narrow_only = () if width == style.NARROW else ("empty and not", "prior", "one chain", "usual")
    for case in every.keys() - narrow_only:
        posterior = every[case]
        figure = OF_POSTERIOR[name](posterior, width=width).get_figure()
        assert figure.get_figwidth() == width
        figure.draw_without_rendering()
        box = figure.get_tightbbox()  # of everything that is drawn, in inches
        assert min(box.x0, box.y0) > -0.02, case
        assert box.x1 < width + 0.02, case
        assert box.y1 < figure.get_figheight() + 0.02, case


def test_tiny_values_have_their_power_of_ten_in_the_label() -> None:
    ax = plot_residuals(np.array([-2e-5, 4e-5]), unit="V")
    assert ax.get_ylabel() == "residual of y (1e-5 V)"
    ax.get_figure().draw_without_rendering()
    assert ax.yaxis.get_offset_text().get_text() == ""
    assert "4" in _rows(ax)


# SVG


NASTY = "<script>alert(1)</script> & \"$x_{$ ' #0072b2 url(#a) \x00\x1b 温度"


@pytest.fixture(scope="module")
def pictures(found: Posterior) -> dict[str, str]:
    drawn = {name: draw(found).get_figure() for name, draw in OF_POSTERIOR.items()}
    drawn["response"] = plot_response(
        _prediction(), np.zeros(40), model_run=np.ones(40), output=NASTY, unit=NASTY
    ).get_figure()
    drawn["correlation"] = plot_correlation(_correlation(False)).get_figure()
    return {
        name: style.to_svg(figure, NASTY, f"plot-{i}")
        for i, (name, figure) in enumerate(drawn.items())
    }


def test_svg_parses_and_its_ids_are_unique_in_a_page(pictures: dict[str, str]) -> None:
    ids: Counter[str] = Counter()
    for text in pictures.values():
        root = ElementTree.fromstring(text)
        own = [element.get("id") for element in root.iter() if element.get("id")]
        ids.update(own)
        values = [f"{k}={v}" for element in root.iter() for k, v in element.attrib.items()]
        targets = re.findall(r"(?:url\(|href=)#([^)\n]+)", "\n".join(values))
        assert targets
        assert set(targets) <= set(own)
        assert (root.get("role"), root.get("width")) == ("img", "100%")
        assert "height" not in root.attrib
        assert root[0].tag.endswith("title")
        assert root.get("aria-labelledby") == root[0].get("id")
        assert not re.search("<style|<metadata|<!DOCTYPE|<[?]xml", text)
    assert max(ids.values()) == 1


def test_svg_has_variables_instead_of_colours(pictures: dict[str, str]) -> None:
    for name, text in pictures.items():
        for element in ElementTree.fromstring(text).iter():
            for value in element.attrib.values():
                assert not re.search("#[0-9a-fA-F]{6}(?![-_0-9a-zA-Z])", value), (name, value)
    used = set(re.findall(r"var\((--[\w-]+)\)", pictures["structures"]))
    assert {"--ink", "--faint", "--muted", "--colour-1"} <= used <= set(style.THEMES["dark"])


def test_what_users_write_is_text_in_svg(pictures: dict[str, str]) -> None:
    root = ElementTree.fromstring(pictures["response"])
    assert not [element for element in root.iter() if "script" in element.tag]
    assert root[0].text == style.plain(NASTY)
    written = " ".join(root.itertext())
    assert written.count("<script>alert(1)</script>") == 3  # title, output, unit
    for part in ("$x_{$", "#0072b2", "url(#a)", "温度"):
        assert written.count(part) == 3
    assert "\x1b" not in written


def test_svg_is_the_same_every_time(found: Posterior) -> None:
    for name in ("structures", "coefficients", "trace"):
        first, second = (_svg(OF_POSTERIOR[name](found)) for _ in range(2))
        assert first == second, name


def test_a_prefix_is_an_id() -> None:
    with pytest.raises(AdjoinError, match="a prefix is letters"):
        style.to_svg(Figure(), prefix='a"b')


def test_colours_are_told_apart_by_their_text() -> None:
    palette = [style.INK, style.MUTED, style.FAINT, style.PAPER, *style.COLOURS]
    assert len(set(palette)) == len(palette) == len(style.CSS_VARIABLES)
    assert set(style.CSS_VARIABLES) == set(palette)
    assert all(colour == to_hex(colour) for colour in palette)  # as matplotlib writes them


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_told_from_their_paper(theme: str) -> None:
    """WCAG asks for a contrast of 4.5 for text and of 3 for lines and bars."""
    paper = _luminance(style.THEMES[theme]["--paper"])
    for variable in style.CSS_VARIABLES.values():
        own = _luminance(style.THEMES[theme][variable])
        contrast = (max(own, paper) + 0.05) / (min(own, paper) + 0.05)
        if variable in ("--ink", "--muted"):
            assert contrast >= 4.5, variable
        elif variable.startswith("--colour"):
            assert contrast >= 3.0, variable


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
