"""Plots of coefficients: densities of each chain, intervals of all."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure
from tests.report.drawn import (
    hand_made,
    line_of,
    texts_of,
)

from adjoin import AdjoinError
from adjoin.report.plots_coefficients import plot_coefficient_intervals, plot_coefficients


def test_coefficients_of_each_chain_and_their_interval() -> None:
    rng = np.random.default_rng(0)
    chains = [
        [("u(k) + y(k-1)", [centre + 0.1 * rng.standard_normal(), 5.0], 1.0) for _ in range(200)]
        for centre in (0.0, 1.0)
    ]
    posterior = hand_made(*chains)
    spread, constant = plot_coefficients(posterior).ravel()
    assert (spread.get_title("left"), constant.get_title("left")) == ("u(k)", "y(k-1)")
    peaks = [line.get_xdata()[line.get_ydata().argmax()] for line in spread.lines[:2]]
    assert peaks == pytest.approx([0.0, 1.0], abs=0.1)
    area = [np.trapezoid(line.get_ydata(), line.get_xdata()) for line in spread.lines[:2]]
    assert area == pytest.approx([1.0, 1.0], abs=0.02)
    row = posterior.coefficients().iloc[0]
    assert spread.lines[2].get_xdata().tolist() == [row["q025"], row["q975"]]
    assert spread.lines[3].get_xdata().tolist() == [row["mean"]]
    assert texts_of(spread) == []
    assert texts_of(constant) == ["one value in all draws"]


def test_coefficients_of_a_chosen_structure_in_given_axes() -> None:
    posterior = hand_made([("u(k)", [1.0], 1.0), ("u(k)", [1.0], 1.0), ("y(k-1)", [2.0], 1.0)])
    axes = Figure().subplots(1, 2)
    drawn = plot_coefficients(posterior, "y(k-1)", axes=axes)
    assert drawn.tolist() == axes.tolist()
    assert drawn[0].get_title("left") == "y(k-1)"
    assert not drawn[1].axison
    assert texts_of(drawn[0]) == ["one draw only"]
    with pytest.raises(AdjoinError, match="2 coefficients need as many Axes, not 1"):
        plot_coefficients(hand_made([("u(k) + u(k-1)", [1.0, 1.0], 1.0)]), axes=axes[:1])


def test_intervals_are_divided_by_the_mean_only_where_scales_differ() -> None:
    ax = plot_coefficient_intervals(hand_made([("u(k) + y(k-1)", [2.0, -3.0], 1.0)]))
    assert line_of(ax, "in more than half of the draws")[:, 0].tolist() == [2.0, -3.0]
    assert ax.get_xlabel().startswith("coefficient, 95")
    ax = plot_coefficient_intervals(hand_made([("u(k) + y(k-1)", [2.0, -3e-4], 1.0)]))
    assert line_of(ax, "in more than half of the draws")[:, 0].tolist() == [1.0, -1.0]
    assert "divided by its |mean|" in ax.get_xlabel()
    assert texts_of(ax) == ["2 (one value)", "-0.0003 (one value)"]
