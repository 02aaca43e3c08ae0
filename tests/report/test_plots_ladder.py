"""Pictures of a free-run run: true samples, the ladder while it anneals, and its rungs after."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tests.report.pages import run

from adjoin import AdjoinError, Posterior
from adjoin.inference.objective import Residual
from adjoin.report.colours import COLOURS
from adjoin.report.plots import plot_residuals, plot_trace
from adjoin.report.plots_ladder import plot_annealing, plot_rungs
from adjoin.report.style import NARROW, WIDE

PLOTS: dict[str, Callable[..., Axes]] = {
    "annealing": plot_annealing,
    "rungs": plot_rungs,
    "distance": lambda posterior, **options: plot_trace(posterior, "distance", **options),
}


@pytest.fixture(scope="module")
def found() -> Posterior:
    return run("free run")


def _changed(posterior: Posterior, *chains: dict[str, Any]) -> Posterior:
    """The posterior with other values in the ladder of each chain."""
    traces = zip(posterior.traces, chains, strict=True)
    changed = [t._replace(ladder=t.ladder._replace(**values)) for t, values in traces]
    return replace(posterior, traces=tuple(changed))


def _line(ax: Axes, label: str) -> np.ndarray:
    (line,) = [line for line in ax.lines if line.get_label() == label]
    return line.get_xydata()


def _legend(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def _ticks(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_xticklabels()]


# Traces


@pytest.mark.parametrize("quantity", ["n_terms", "log_posterior", "distance"])
def test_records_of_a_free_run_begin_where_annealing_ends(quantity: str, found: Posterior) -> None:
    ax = plot_trace(found, quantity)
    whole = found.whole
    expected = {
        "n_terms": np.diff(whole.draws.offset),
        "log_posterior": whole.log_posterior,
        "distance": whole.distance,
    }[quantity]
    for number in (0, 1):
        drawn = _line(ax, f"chain {number}")
        assert np.array_equal(drawn[:, 0], 300.0 + 5.0 * np.arange(1, 61))
        assert np.array_equal(drawn[:, 1], expected[whole.draws.chain == number])
    (shade,) = ax.patches
    assert (shade.get_x(), shade.get_width()) == (0.0, 450.0)
    assert shade.get_label() == "annealing and burn-in"
    assert ax.get_xlim() == (0.0, 606.0)


def test_without_burn_in_annealing_alone_is_shaded(found: Posterior) -> None:
    (shade,) = plot_trace(found.whole).patches
    assert (shade.get_width(), shade.get_label()) == (300.0, "annealing")
    (shade,) = plot_trace(run("lone")).patches
    assert shade.get_label() == "burn-in"


def test_a_chain_that_was_stopped_early_still_begins_where_it_froze(found: Posterior) -> None:
    first, second = found.traces
    n = 31  # records, of 155 samples after 300
    move = second.ladder.move * 0
    move[0, 0, 0] = 155
    stopped = second._replace(
        structure=second.structure[:n],
        offset=second.offset[: n + 1],
        theta=second.theta[: second.offset[n]],
        n_samples=455,
        ladder=second.ladder._replace(move=move, distance=second.ladder.distance[:n]),
        **{
            name: getattr(second, name)[:n]
            for name in ("noise", "coefficient", "log_lik", "log_prior")
        },
    )
    ax = plot_trace(replace(found, traces=(first, stopped)), "distance")
    assert _line(ax, "chain 1")[[0, -1], 0].tolist() == [305.0, 455.0]


def test_distances_lie_below_their_tolerance(found: Posterior) -> None:
    ax = plot_trace(found, "distance", unit="% of variance")
    dashed = [line for line in ax.lines if line.get_linestyle() == "--" and len(line.get_xdata())]
    for line, trace, colour in zip(dashed, found.traces, COLOURS, strict=False):
        assert line.get_color() == colour
        assert line.get_ydata().tolist() == [trace.ladder.tolerance[-1, 0]] * 2
        assert line.get_xdata().tolist() == [300.0, 600.0]
        assert trace.ladder.distance.max() <= trace.ladder.tolerance[-1, 0] < ax.get_ylim()[1]
    assert len(dashed) == 2
    assert " ".join(ax.get_ylabel().split()) == "distance of the free run (% of variance)"
    assert "tolerance" in _legend(ax)
    assert ax.get_yscale() == "linear"


def test_chains_that_ended_far_apart_share_a_scale_of_powers(found: Posterior) -> None:
    first, second = (trace.ladder for trace in found.traces)
    far = {"distance": 30.0 * second.distance, "tolerance": 30.0 * second.tolerance}
    ax = plot_trace(_changed(found, first._asdict(), far), "distance")
    assert ax.get_yscale() == "log"
    low, high = ax.get_ylim()
    assert low < first.distance.min()
    assert far["tolerance"][-1, 0] < high
    ax.get_figure().draw_without_rendering()
    assert {"10", "20", "50"} <= {label.get_text() for label in ax.get_yticklabels()}


def test_residuals_say_that_they_are_of_a_free_run() -> None:
    assert plot_residuals(np.ones(9), of=Residual.FREE_RUN).get_ylabel() == "free-run residual of y"
    assert plot_residuals(np.ones(9)).get_ylabel() == "residual of y"


# The ladder


def test_annealing_is_the_coldest_tolerance_and_the_smallest_distance(found: Posterior) -> None:
    ax = plot_annealing(found)
    dotted = [line for line in ax.lines if line.get_linestyle() == ":" and len(line.get_xdata())]
    assert len(dotted) == 2
    for number, trace in enumerate(found.traces):
        drawn = _line(ax, f"chain {number}")
        assert np.array_equal(drawn[:, 1], trace.ladder.tolerance[:, 0])
        assert np.round(drawn[:, 0]).tolist() == [0, 1, 2, 3, 4, 5]
        assert np.array_equal(dotted[number].get_ydata(), trace.ladder.floor)
        assert dotted[number].get_color() == COLOURS[number]
    assert ax.get_yscale() == "log"
    assert _ticks(ax) == ["calibration", "1", "2", "3", "4", "5"]
    assert _legend(ax) == ["chain 0", "chain 1", "tolerance", "smallest distance"]
    assert ax.get_ylabel() == "distance (% of variance)"


def test_rungs_have_the_mean_of_the_chains_and_each_chain(found: Posterior) -> None:
    ladders = found.diagnostics["ladder"]
    ax = plot_rungs(found)
    for label, key, place in (
        ("proposals accepted", "acceptance", [0.0, 1.0, 2.0, 3.0]),
        ("exchanges with the next rung", "swap_rate", [0.5, 1.5, 2.5]),
    ):
        share = 100.0 * np.array([ladder[key] for ladder in ladders])
        mean = _line(ax, label)
        assert mean[:, 0].tolist() == place
        assert mean[:, 1] == pytest.approx(share.mean(axis=0))
        faint = [line.get_ydata() for line in ax.lines if line.get_alpha()]
        assert any(np.array_equal(values, share.ravel()) for values in faint)
    tolerance = np.array([ladder["tolerance"] for ladder in ladders])
    assert (np.ptp(tolerance, axis=0) < 0.1 * tolerance.min(axis=0)).all()
    middle = np.sqrt(np.prod(tolerance, axis=0))
    assert _ticks(ax) == [f"{rung}\n{value:.3g}" for rung, value in enumerate(middle)]
    assert ax.get_xlabel() == "rung, coldest first, and its tolerance (% of variance)"


def test_a_rung_whose_tolerance_differs_has_a_range(found: Posterior) -> None:
    first, second = (trace.ladder for trace in found.traces)
    apart = _changed(found, first._asdict(), {"tolerance": 2.0 * second.tolerance})
    low, high = first.tolerance[-1, 0], 2.0 * second.tolerance[-1, 0]
    assert _ticks(plot_rungs(apart))[0] == f"0\n{low:.3g}–\n{high:.3g}"


def test_a_rate_that_nobody_tried_is_a_gap_and_no_warning(found: Posterior) -> None:
    swap = np.zeros((4, 2), dtype=np.int64)
    move = found.traces[0].ladder.move.copy()
    move[3] = 0
    ax = plot_rungs(_changed(found, *[{"swap": swap, "move": move}] * 2))
    assert _legend(ax) == ["proposals accepted"]
    assert np.isnan(_line(ax, "proposals accepted")[:, 1]).tolist() == [False, False, False, True]


def test_a_distance_of_one_s_own_has_no_unit() -> None:
    assert plot_annealing(run("own distance")).get_ylabel() == "distance"
    assert plot_rungs(run("own distance")).get_xlabel() == "rung, coldest first, and its tolerance"


def test_an_infinite_tolerance_is_said(found: Posterior) -> None:
    endless = {"tolerance": np.full((6, 4), np.inf)}
    posterior = _changed(found, endless, endless)
    (text,) = plot_annealing(posterior).texts
    assert "infinite" in text.get_text()
    assert _ticks(plot_rungs(posterior)) == ["0\n∞", "1\n∞", "2\n∞", "3\n∞"]
    lost = {**endless, "distance": np.full(60, np.inf)}
    for odd in (posterior, _changed(found, lost, lost)):
        plot_trace(odd, "distance").get_figure().draw_without_rendering()


@pytest.mark.parametrize("plot", [plot_annealing, plot_rungs])
def test_a_one_step_run_has_no_ladder(plot: Callable[..., Axes]) -> None:
    with pytest.raises(AdjoinError, match="only a run with objective='abc' has a tolerance ladder"):
        plot(run("lone"))


def _odd(found: Posterior) -> dict[str, Posterior]:
    ladder = found.traces[0].ladder
    many = 60
    tall = {
        "tolerance": np.geomspace(1e-9, 12345.0, many)[None] * np.ones((25, 1)),
        "floor": np.zeros(25),  # a model without any error has no place on a scale of powers
        "width": np.ones(many),
        "move": np.ones((many, 9, 3), dtype=np.int64),
        "guided": np.ones((many, 2), dtype=np.int64),
        "swap": np.ones((many, 2), dtype=np.int64),
    }
    one = {name: getattr(ladder, name)[:1] for name in ("width", "move", "guided", "swap")} | {
        "tolerance": ladder.tolerance[:, :1]
    }
    return {
        "usual": found,
        "own distance": run("own distance"),
        "one chain": found.chain(1),
        "60 rungs": _changed(found, tall, tall),
        "one rung": _changed(found, one, one),
        "many chains": replace(found, traces=found.traces * 6, chain_numbers=tuple(range(12))),
    }


@pytest.mark.parametrize("name", [*PLOTS])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_odd_ladders_are_drawn_whole(name: str, width: float, found: Posterior) -> None:
    for case, posterior in _odd(found).items():
        figure = PLOTS[name](posterior, width=width).get_figure()
        assert figure.get_figwidth() == width
        figure.draw_without_rendering()
        box = figure.get_tightbbox()  # of everything that is drawn, in inches
        assert min(box.x0, box.y0) > -0.02, case
        assert box.x1 < width + 0.02, case
        assert box.y1 < figure.get_figheight() + 0.02, case
        if name == "rungs":
            _require_apart(figure.axes[0], case)


def _require_apart(ax: Axes, case: str) -> None:
    """No two names of rungs overlap."""
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    for left, right in pairwise(boxes):
        assert left.x1 < right.x0, case


@pytest.mark.parametrize("name", [*PLOTS])
def test_a_plot_draws_into_the_axes_it_is_given(name: str, found: Posterior) -> None:
    axes = Figure(figsize=(9.0, 3.0)).subplots(1, 2)
    assert PLOTS[name](found, ax=axes[1]) is axes[1]
