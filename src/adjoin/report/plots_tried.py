"""The picture of what was compared: held-out error by number of terms, one dot for each class.

Receives what a discovery left; draws into the Axes it is given, or into a figure of its own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from adjoin.report.colours import BLUE, COLOURS, MUTED, ORANGE
from adjoin.report.labels import add_legend, label_axes, say
from adjoin.report.style import WIDE, count_by_whole_numbers, dress, new_axes, scale_by_powers
from adjoin.results.discovered import Discovered

_LOOKS = {"simulation": (BLUE, "o"), "prediction": (COLOURS[2], "s"), "linear": (COLOURS[3], "^")}
_NAMES = {
    "simulation": "fitted by simulation",
    "prediction": "fitted by prediction one step ahead",
    "linear": "all linear terms",
}
_OTHER = (COLOURS[4], "D")
_MEAN = 100.0  # percent of the variance: what the mean of the output misses
_MANY_TERMS = 12.0  # times the fewest, from which on terms are shown on a scale of powers
_TICKS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 70, 100, 150, 200, 300, 500, 1000)


def plot_tried(discovered: Discovered, *, ax: Axes | None = None, width: float = WIDE) -> Axes:
    r"""What the best size of every class of models misses of held-out data, by number of terms.

    .. math:: 100\, \overline{(y - \hat y)^2} / \sigma_y^2 \;\pm\; s

    Classes that ran away on some held-out data have no error; they are counted below.

    Parameters
    ----------
    discovered : Discovered
    ax : Axes, optional
    width : float
        Of the new figure in inches, where no `ax` is given.
    """
    ax = dress(ax or new_axes(width, 2.9))
    rows = [row for row in discovered.candidates if row["validation"]["nmse"] is not None]
    rows = [row for row in rows if np.isfinite(row["validation"]["nmse"])]
    if not rows:
        return say(ax, "every class of models ran away on held-out data")
    kinds = [str(row["settings"].get("objective", "")) for row in rows]
    for kind in dict.fromkeys(kinds):
        own = [row for row, its in zip(rows, kinds, strict=True) if its == kind]
        colour, marker = _LOOKS.get(kind, _OTHER)
        _draw(ax, own, colour, marker, _NAMES.get(kind, kind))
    for row in rows:
        if row["chosen"]:
            place = row["n_terms"], row["validation"]["nmse"]
            look: dict[str, Any] = {"markersize": 13, "markerfacecolor": "none"}
            ax.plot(*place, "o", color=ORANGE, markeredgewidth=2.0, label="chosen", **look)
    ax.set_yscale("linear")
    errors = [row["validation"]["nmse"] for row in rows]
    ax.set_ylim(0.7 * max(min(errors), 1e-6), 1.4 * max(errors))
    scale_by_powers(ax)
    if max(errors) > 0.5 * _MEAN:
        ax.axhline(
            _MEAN, color=MUTED, linewidth=0.9, linestyle="--", label="the mean of the output"
        )
    _count_terms(ax, [row["n_terms"] for row in rows])
    n_away = len(discovered.candidates) - len(rows)
    away = f" ({n_away} class{'' if n_away == 1 else 'es'} ran away)" if n_away else ""
    label_axes(ax, f"number of terms{away}", "held-out error (% of variance)")
    add_legend(ax, ["chosen"])
    return ax


def _draw(ax: Axes, rows: list[Any], colour: str, marker: str, name: str) -> None:
    """Dots with their standard errors."""
    n_terms = np.array([row["n_terms"] for row in rows], dtype=float)
    error = np.array([row["validation"]["nmse"] for row in rows], dtype=float)
    sd = np.array([row["validation"]["sd"] or 0.0 for row in rows], dtype=float)
    sd = np.where(np.isfinite(sd), sd, 0.0)
    low = np.maximum(error - sd, 1e-3 * error)  # a scale of powers has no zero
    ax.vlines(n_terms, low, error + sd, color=colour, linewidth=0.9, alpha=0.7)
    ax.plot(n_terms, error, marker, color=colour, markersize=4.5, alpha=0.85, label=name)


def _count_terms(ax: Axes, n_terms: list[int]) -> None:
    """Whole numbers of terms; where some models are far larger, by powers."""
    fewest, most = max(min(n_terms), 1), max(n_terms)
    if most < _MANY_TERMS * fewest or min(n_terms) < 1:
        ax.set_xlim(min(n_terms) - 0.7, most + 0.7)
        count_by_whole_numbers(ax.xaxis)
        return
    ax.set_xscale("log")
    ax.set_xlim(0.85 * fewest, 1.15 * most)
    ax.xaxis.set_major_locator(FixedLocator([n for n in _TICKS if fewest <= n <= most]))
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
