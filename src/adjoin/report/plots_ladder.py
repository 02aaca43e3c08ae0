"""Pictures of a tolerance ladder: how it was annealed, and how its rungs do once it is frozen.

Receives free-run posteriors; each function draws into the Axes it is given, or into a figure of its
own, and returns the Axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from adjoin.arrays import Float1D, Float2D
from adjoin.posterior import Posterior
from adjoin.report.colours import BLUE, COLOURS, MUTED, ORANGE
from adjoin.report.labels import add_legend, label_axes, room, say, with_unit
from adjoin.report.ladder_words import distance_unit, ladders_of, short
from adjoin.report.style import SMALL, WIDE, dress, new_axes, scale_by_powers, width_of

_ALIKE = 1.1  # tolerances of a rung in two chains, one as a multiple of the other
_DODGE = 0.18  # of a stage: how far the chains stand apart, so that equal values are all seen


def plot_annealing(posterior: Posterior, *, ax: Axes | None = None, width: float = WIDE) -> Axes:
    r"""The coldest tolerance and the smallest distance met, after every stage of annealing.

    .. math:: ε_0^{(s)} ≥ d_{min}^{(s)}, \quad s = 0 \text{ (calibration)}, 1, …, S

    Parameters
    ----------
    posterior : Posterior
        Of a run with ``objective="abc"``.
    ax : Axes, optional
    width : float
        Of the new figure in inches, where no `ax` is given.

    Raises
    ------
    AdjoinError
        If the run is not of that kind.
    """
    ladders = ladders_of(posterior)
    ax = dress(ax or new_axes(width, 2.6))
    stages = [ladder["stages"] for ladder in ladders]
    tolerance = _table([[stage["tolerance"] for stage in chain] for chain in stages])
    distance = _table([[stage["smallest_distance"] for stage in chain] for chain in stages])
    if not np.isfinite(tolerance).any():
        return say(ax, "the tolerance is infinite: nothing was annealed")
    for i, ladder in enumerate(ladders):
        shift = _DODGE * (i / max(len(ladders) - 1, 1) - 0.5)
        stage = np.arange(tolerance.shape[1]) + shift
        colour = COLOURS[i % len(COLOURS)]
        name = f"chain {ladder['chain']}" if len(ladders) <= len(COLOURS) else "_"
        ax.plot(stage, tolerance[i], "-o", color=colour, linewidth=1.3, markersize=3, label=name)
        ax.plot(stage, distance[i], ":", color=colour, linewidth=1.3)
    for look, name in (("-o", "tolerance"), (":", "smallest distance")):
        ax.plot([], [], look, color=MUTED, linewidth=1.3, markersize=3, label=name)
    n_stages = tolerance.shape[1] - 1
    every = math.ceil(n_stages / 10)
    shown = range(0, n_stages + 1, every)
    ax.set_xticks(shown, ["calibration" if s == 0 else str(s) for s in shown])
    ax.set_xlim(-0.5, n_stages + 0.3)
    scale_by_powers(ax)
    label_axes(ax, "stage of annealing", with_unit("distance", distance_unit(posterior)))
    add_legend(ax)
    return ax


def plot_rungs(posterior: Posterior, *, ax: Axes | None = None, width: float = WIDE) -> Axes:
    """How often each rung of the frozen ladder accepted, and exchanged with the next one.

    Lines are means over the chains, dots the chains; an exchange stands between its two rungs.
    Parameters and errors as for `plot_annealing`.
    """
    ladders = ladders_of(posterior)
    ax = dress(ax or new_axes(width, 2.6))
    rung = np.arange(len(ladders[0]["tolerance"]), dtype=float)
    for key, place, colour, name in (
        ("acceptance", rung, BLUE, "proposals accepted"),
        ("swap_rate", rung[:-1] + 0.5, ORANGE, "exchanges with the next rung"),
    ):
        share = 100.0 * _table([ladder[key] for ladder in ladders])
        if np.isfinite(share).any():
            _draw_shares(ax, place, share, colour, name)
    _name_rungs(ax, _table([ladder["tolerance"] for ladder in ladders]))
    ax.set_xlim(-0.5, len(rung) - 0.5)
    ax.set_ylim(bottom=0.0)
    beside = with_unit("rung, coldest first, and its tolerance", distance_unit(posterior))
    label_axes(ax, beside, "accepted (%)")
    add_legend(ax)
    return ax


def _table(rows: Sequence[Sequence[float | None]]) -> Float2D:
    """(n_chains, n) numbers, NaN for None."""
    return np.array(rows, dtype=float)


def _draw_shares(ax: Axes, place: Float1D, share: Float2D, colour: str, name: str) -> None:
    """The mean over the chains as a line, and every chain as faint dots."""
    if len(share) > 1:
        spots: dict[str, Any] = {"alpha": 0.35, "markersize": 3.2, "markeredgewidth": 0.0}
        ax.plot(np.tile(place, len(share)), share.ravel(), "o", color=colour, **spots)
    mean = np.ma.masked_invalid(share).mean(axis=0).filled(np.nan)
    look: dict[str, Any] = {"color": colour, "linewidth": 1.4, "markersize": 3.8, "label": name}
    ax.plot(place, mean, "-o", **look, clip_on=False)  # a dot at 0 is seen whole


def _name_rungs(ax: Axes, tolerance: Float2D) -> None:
    """Below each rung its number and tolerance, as many as fit beside each other."""
    labels = [f"{number}\n{_tolerance_text(column)}" for number, column in enumerate(tolerance.T)]
    longest = max(len(line) for label in labels for line in label.split("\n"))
    n_fitting = max(room(0.85 * width_of(ax), SMALL) // (longest + 1), 1)
    every = math.ceil(len(labels) / n_fitting)
    ax.set_xticks(range(0, len(labels), every), labels[::every], parse_math=False)


def _tolerance_text(values: Float1D) -> str:
    """The tolerance of a rung, in all chains alike or from one to another; None is infinite."""
    known = values[np.isfinite(values)]
    if len(known) < len(values):
        return "∞"
    if known.max() <= _ALIKE * known.min():
        return short(float(np.exp(np.log(known).mean())))
    return f"{short(float(known.min()))}–\n{short(float(known.max()))}"
