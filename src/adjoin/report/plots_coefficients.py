"""Pictures of coefficients: their densities given a structure, and all their intervals.

Receives posteriors; each function draws into the Axes it is given, or into a figure of its own, and
returns the Axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from adjoin.arrays import Float1D
from adjoin.checks import require_count
from adjoin.errors import AdjoinError
from adjoin.grammar import Structure
from adjoin.posterior import Posterior
from adjoin.report.colours import BLUE, COLOURS, INK, MUTED
from adjoin.report.labels import (
    add_legend,
    add_title,
    label_axes,
    say,
    shorten_middle,
    title_room,
    write,
)
from adjoin.report.plots_structure import ROW, leading_terms, list_terms, of_how_many
from adjoin.report.style import SMALL, WIDE, dress, new_axes, new_figure

_ORDERS = 30.0  # coefficients this many times apart cannot share an axis
_ONE_VALUE = " (one value)"  # beside a mean whose spread is not known
_MOST_VALUES = 2000  # more draws do not change what a density looks like


def plot_coefficients(
    posterior: Posterior,
    structure: int | str | Structure = 0,
    most: int = 20,
    axes: Any = None,
    width: float = WIDE,
) -> np.ndarray:
    """The posterior of each coefficient given a structure: all chains filled, each chain a line.

    The bar below is the 95 % interval, the dot the mean. A coefficient that has one value in all
    draws has neither density nor interval, and its picture says so.

    Parameters
    ----------
    posterior : Posterior
    structure : int, str or Structure
        As for `Posterior.coefficients`.
    most : int
        The first so many terms, in canonical order.
    axes : array of Axes, optional
        One for each coefficient shown; further ones are switched off.
    width : float
        Of the new figure in inches, where no `axes` are given.

    Returns
    -------
    array of Axes, as given
    """
    require_count("most", most)
    frame = posterior.coefficients(structure)
    n_shown = min(most, len(frame))
    if axes is None:
        n_columns = min(max(int(width / 1.75), 1), max(n_shown, 1))
        n_rows = -(-max(n_shown, 1) // n_columns)
        figure = new_figure(width, 1.25 * n_rows + 0.5)
        axes = figure.subplots(n_rows, n_columns, squeeze=False)
        _name_chains(figure, posterior)
        if n_shown < len(frame):
            note = f"the first {n_shown} of {len(frame)} terms"
            figure.supxlabel(note, fontsize=SMALL, color=MUTED)
    grid: np.ndarray = np.asarray(axes)
    places = list(grid.ravel())
    if len(places) < n_shown:
        raise AdjoinError(f"{n_shown} coefficients need as many Axes, not {len(places)}")
    draws = posterior.draws
    chosen = np.flatnonzero(draws.structure == posterior.number_of(structure))
    theta = draws.theta[draws.offset[chosen][:, None] + np.arange(len(frame))]
    for place in places[n_shown:]:
        place.set_axis_off()
    if not n_shown:
        say(places[0], "no term, so no coefficient")
    for i, place in enumerate(places[:n_shown]):
        by_chain = [theta[draws.chain[chosen] == n, i] for n in posterior.chain_numbers]
        _plot_coefficient(dress(place, ""), frame.iloc[i], by_chain)
    return grid


def _name_chains(figure: Figure, posterior: Posterior) -> None:
    """A legend of the lines, where there are lines and colours enough."""
    if 1 < posterior.n_chains <= len(COLOURS):
        figure.legend(
            [Line2D([], [], color=c, linewidth=1.2) for c in COLOURS[: posterior.n_chains]],
            [f"chain {number}" for number in posterior.chain_numbers],
            loc="outside upper left",
            ncols=max(int(figure.get_figwidth() / 0.9), 1),
            frameon=False,
            fontsize=SMALL,
            labelcolor=INK,
            handlelength=1.6,
        )


def _plot_coefficient(ax: Axes, summary: Any, by_chain: list[Float1D]) -> None:
    pooled = np.concatenate(by_chain)
    low, high = float(pooled.min()), float(pooled.max())
    top = 1.0
    if high - low > 1e-12 * max(abs(low), abs(high)):
        margin = 0.1 * (high - low)
        grid = np.linspace(low - margin, high + margin, 120)
        curve = _density(pooled, grid)
        ax.fill_between(grid, curve, color=BLUE, alpha=0.2, linewidth=0)
        top = float(curve.max())
        for i, values in enumerate(by_chain):
            if len(by_chain) > 1 and len(values) > 1 and np.ptp(values) > 0.0:
                curve = _density(values, grid)
                top = max(top, float(curve.max()))
                ax.plot(grid, curve, color=COLOURS[i % len(COLOURS)], linewidth=0.8, alpha=0.8)
        ax.set_xlim(grid[0], grid[-1])
    else:
        text = "one draw only" if len(pooled) == 1 else "one value\nin all draws"
        write(ax, 0.5, 0.6, text, transform=ax.transAxes, ha="center", va="center")
    ax.plot([summary["q025"], summary["q975"]], [-0.1 * top] * 2, color=BLUE, linewidth=2.0)
    ax.plot(summary["mean"], -0.1 * top, "o", color=INK, markersize=3.5)
    ax.set_ylim(-0.22 * top, 1.05 * top)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.locator_params(axis="x", nbins=2)
    ax.tick_params(axis="x", labelsize=SMALL - 1.0)
    add_title(ax, shorten_middle(summary["term"], title_room(ax, SMALL)), SMALL)


def _density(values: Float1D, grid: Float1D) -> Float1D:
    r"""Kernel density of a sample with Silverman's width.

    .. math:: f(x) = \frac1{nh} \sum_i φ\left(\frac{x - x_i}{h}\right), \quad
        h = 0.9 \min(s, \mathrm{iqr}/1.34)\, n^{-1/5}
    """
    values = values[:: -(-len(values) // _MOST_VALUES)]
    low, high = np.quantile(values, [0.25, 0.75])
    spread = [float(np.std(values)), float(high - low) / 1.34]
    # Never narrower than the grid can show, as it is where nearly all draws are equal.
    narrowest = float(grid[1] - grid[0])
    bandwidth = max(0.9 * min(spread) * len(values) ** -0.2, narrowest)
    scaled = (grid[:, None] - values[None, :]) / bandwidth
    found: Float1D = np.exp(-0.5 * scaled**2).mean(axis=1) / (bandwidth * np.sqrt(2.0 * np.pi))
    return found


def plot_coefficient_intervals(
    posterior: Posterior, most: int = 25, ax: Axes | None = None, width: float = WIDE
) -> Axes:
    r"""Mean and 95 % interval of each coefficient wherever its term is in, the mean in numbers.

    Where coefficients are orders of magnitude apart, each is divided by its own mean,
    :math:`θ / |\bar θ|`, and the axis says so.

    Parameters as for `plot_structures`; terms beyond `most` are left out, and after five of them
    those below 1 %.
    """
    frame = leading_terms(posterior, most)
    ax = dress(ax or new_axes(width, 0.9 + ROW * max(len(frame), 2)), "x")
    if frame.empty:
        return say(ax, "no term was ever in the model")
    mean, low, high = (frame[name].to_numpy() for name in ("mean", "q025", "q975"))
    size = np.abs(mean)
    is_relative = bool(size.max() > _ORDERS * size.min())
    unit = np.where(size > 0.0, size, 1.0) if is_relative else np.ones(len(frame))
    row = np.arange(len(frame))
    is_usual = frame["inclusion"].to_numpy() > 0.5
    for chosen, face, name in (
        (is_usual, BLUE, "in more than half of the draws"),
        (~is_usual, "none", "in fewer"),
    ):
        if chosen.any():
            ax.hlines(row[chosen], (low / unit)[chosen], (high / unit)[chosen], color=BLUE)
            ax.plot(
                (mean / unit)[chosen],
                row[chosen],
                "o",
                color=BLUE,
                markerfacecolor=face,
                markersize=4.5,
                label=name,
            )
    ax.axvline(0.0, color=MUTED, linewidth=0.8)
    if is_relative:
        edge = float(np.clip(np.abs([low / unit, high / unit]).max(), 1.2, 4.0))
        ax.set_xlim(-1.05 * edge, 1.05 * edge)  # wider intervals run out of the picture: not known
    known = [f"{value:.3g}" + _ONE_VALUE * int(low[i] == high[i]) for i, value in enumerate(mean)]
    list_terms(ax, frame["term"], known)
    what = "coefficient divided by its |mean|" if is_relative else "coefficient"
    label_axes(ax, f"{what}, 95\u00a0%\u00a0interval" + of_how_many(posterior, len(frame)))
    add_legend(ax, share=0.5)
    return ax
