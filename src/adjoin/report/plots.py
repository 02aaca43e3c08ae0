"""Pictures over time: responses and errors in their bands, residuals, traces of the chains.

Receives predictions, residuals and posteriors; each function draws into the Axes it is given, or
into a figure of its own, and returns the Axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypedDict, Unpack

import numpy as np
from matplotlib.axes import Axes

from adjoin.arrays import Float1D
from adjoin.errors import AdjoinError
from adjoin.inference.objective import Residual
from adjoin.inference.traces import ChainTrace
from adjoin.posterior import Posterior
from adjoin.report.colours import BLUE, COLOURS, FAINT, INK, MUTED, ORANGE
from adjoin.report.labels import (
    LABELLED,
    add_legend,
    add_title,
    fold_exponent,
    label_axes,
    shorten_middle,
    title_room,
    unit_beside,
    with_unit,
    write,
)
from adjoin.report.series import clock_of, envelope, extremes, one_record, records_of, set_range
from adjoin.report.style import (
    WIDE,
    columns_of,
    count_by_whole_numbers,
    dress,
    new_axes,
    scale_by_powers,
)
from adjoin.results.prediction import Prediction
from adjoin.results.residual_tests import ResidualTest

_REACH = 2.0  # a picture shows so many ranges of the measured output above and below it
_FAR = 10.0  # times the smallest distance
_RAGGED = 6  # characters that lines lose at their ends, as they break between parts of names
_TRACES = {
    "n_terms": "number of terms",
    "log_posterior": "log posterior density",
    "noise_sd": "standard deviation of noise",
    "distance": "distance of the free run",
}


class Window(TypedDict, total=False):
    """What of a prediction is shown, and where: the options of `plot_response`."""

    record: int
    time: Any
    first: int | None
    last: int | None
    simulation: Any
    model_run: Any
    output: str
    unit: str
    bands: str
    ax: Axes | None
    width: float


@dataclass(frozen=True)
class _View:
    """One record, one window of time, cut out of everything, and the Axes that shows it."""

    ax: Axes
    output: str
    unit: str
    time: Float1D
    time_label: str
    mean: Float1D
    bands: tuple[tuple[str, Float1D, Float1D], ...]  # widest first
    measured: Float1D | None
    model_run: Float1D | None
    mean_label: str
    mean_name: str

    def label(self, name: str) -> None:
        """Label both axes, when everything is drawn."""
        unit = unit_beside(name, self.unit)
        label_axes(self.ax, self.time_label, with_unit(name, fold_exponent(self.ax), unit))


def plot_response(prediction: Prediction, measured: Any = None, **options: Unpack[Window]) -> Axes:
    r"""The measured output, and what the draws of a posterior predict.

    .. math:: [q_{0.025}, q_{0.975}] \text{ and } [q_{0.16}, q_{0.84}], \quad\text{or}\quad
        \bar y ± 3 s

    Parameters
    ----------
    prediction : Prediction
    measured : (n,) array, list of them, or Dataset, optional
    record : int
        Which one, where there are several; default 0.
    time : (n,) array, list of them, or float, optional
        Seconds, or seconds between two samples; default: the number of the sample.
    first, last : int, optional
        The samples from `first` up to `last` only.
    simulation : (n,) array or list of them, optional
        The run of one equation, shown in the place of the mean of the draws.
    model_run : (n,) array or list of them, optional
        One more series to show: the run of the MAP model.
    output, unit : str
        What the output is called; default ``"y"``, without a unit.
    bands : {"quantiles", "sigma"}
        The quantiles of the prediction in pairs, or three standard deviations.
    ax : Axes, optional
    width : float
        Of the new figure in inches, where no `ax` is given.
    """
    view = _look(prediction, measured, **options)
    lines = [(view.mean, view.mean_label, ORANGE, "-", 2.4)]
    if view.measured is not None:  # thin and above, so that both are seen
        lines.append((view.measured, "measured", INK, "-", 0.9))
    if view.model_run is not None:
        lines.append((view.model_run, "MAP model", BLUE, "--", 0.9))
    _draw(view, lines, view.bands, view.mean if view.measured is None else view.measured)
    view.label(view.output)
    return view.ax


def plot_error(prediction: Prediction, measured: Any, **options: Unpack[Window]) -> Axes:
    r"""The measured output minus the mean of the draws, inside the bands minus the mean.

    .. math:: y - \bar y \in [q_{0.025} - \bar y,\; q_{0.975} - \bar y]

    Parameters as for `plot_response`; with `model_run`, also the error of the MAP model.
    """
    view = _look(prediction, measured, **options)
    if view.measured is None:
        raise AdjoinError("an error needs the measured output")
    # Far beyond the measured range one picture shows nothing else; where it is cut, it says so.
    reach = _REACH * max(float(np.ptp(view.measured)), np.finfo(float).tiny)
    error = np.clip(view.measured - view.mean, -reach, reach)
    lines = [(error, f"measured − {view.mean_name}", INK, "-", 0.8)]
    if view.model_run is not None:
        lines.append((view.measured - view.model_run, "measured − MAP model", BLUE, "-", 0.8))
    shifted = tuple((name, low - view.mean, high - view.mean) for name, low, high in view.bands)
    _draw(view, lines, shifted, error)
    view.ax.axhline(0.0, color=FAINT, linewidth=0.8, zorder=1)
    view.label(f"error of {view.output}")
    return view.ax


def _look(
    prediction: Prediction,
    measured: Any,
    *,
    record: int = 0,
    time: Any = None,
    first: int | None = None,
    last: int | None = None,
    simulation: Any = None,
    model_run: Any = None,
    output: str = "y",
    unit: str = "",
    bands: str = "quantiles",
    ax: Axes | None = None,
    width: float = WIDE,
) -> _View:
    """Cut everything to one window of one record, and check that it fits together."""
    mean = one_record(prediction.mean, record, "the prediction")
    n = len(mean)
    start, stop = 0 if first is None else first, n if last is None else last
    if not 0 <= start < stop <= n:
        raise AdjoinError(f"there are no samples from {start} up to {stop}; there are {n}")
    part = slice(start, stop)

    def cut(series: Any, what: str) -> Float1D:
        found = one_record(series, record, what)
        if len(found) != n:
            raise AdjoinError(f"the prediction has {n} samples, but {what} has {len(found)}")
        return found[part]

    if bands == "quantiles":
        low = sorted(q for q in prediction.bands if q < 0.5)
        pairs = [(q, p) for q in low for p in prediction.bands if abs(p + q - 1.0) < 1e-9]
        edge = {q: cut(series, "a band") for q, series in prediction.bands.items()}
        found = [(f"{100.0 * (p - q):.3g} % of draws", edge[q], edge[p]) for q, p in pairs]
    elif bands == "sigma":
        sd = 3.0 * cut(prediction.sd, "the standard deviation")
        found = [("mean ± 3 standard deviations", mean[part] - sd, mean[part] + sd)]
    else:
        raise AdjoinError(f"bands must be 'quantiles' or 'sigma', not {bands!r}")
    is_mean = simulation is None
    clock, time_label = clock_of(time, n, record)
    return _View(
        dress(ax or new_axes(width, 2.9)),
        output,
        unit,
        clock[part],
        time_label,
        mean[part] if is_mean else cut(simulation, "the simulation"),
        tuple(found),
        None if measured is None else cut(measured, "the measured output"),
        None if model_run is None else cut(model_run, "the model's run"),
        prediction.in_words(record) if is_mean else "simulation",
        "mean" if is_mean else "simulation",
    )


def _draw(
    view: _View,
    lines: Sequence[tuple[Float1D, str, str, str, float]],
    bands: Sequence[tuple[str, Float1D, Float1D]],
    anchor: Float1D,
) -> None:
    """Bands, and lines above them, thinned to what can be seen."""
    ax = view.ax
    low, high = shown_limits([line[0] for line in lines], [band[1:] for band in bands], anchor)
    columns = columns_of(ax)
    for i, (name, *edges) in enumerate(bands):
        below, above = (np.clip(edge, low, high) for edge in edges)
        keep = extremes(below, above, columns)
        time = view.time[keep]
        ax.fill_between(
            time,
            below[keep],
            above[keep],
            color=ORANGE,
            alpha=min(0.18 + 0.14 * i, 1.0),
            linewidth=0,
            label=name,
        )
    for values, name, colour, style, thickness in lines:
        series = np.clip(values, low, high)
        keep = envelope(series, columns)
        time = view.time[keep]
        ax.plot(time, series[keep], style, color=colour, linewidth=thickness, label=name)
    set_range(ax, view.time)
    if np.isfinite([low, high]).all():
        span = (high - low) / 100.0
        ax.set_ylim(low + span, high - span)  # what is cut off leaves the picture
        place = {"transform": ax.transAxes, "ha": "right", "va": "top"}
        write(ax, 0.995, 0.98, "reaches beyond the picture", **place)
    named = {name: thickness for _, name, *_, thickness in lines}
    add_legend(ax, [*sorted(named, key=named.__getitem__), *(name for name, *_ in bands[::-1])])


def shown_limits(
    lines: Sequence[Float1D], bands: Sequence[Sequence[Float1D]], anchor: Float1D
) -> tuple[float, float]:
    """Where to cut off: nowhere, unless something runs far away from what was measured."""
    firm = _known(anchor)
    if not len(firm):
        return -np.inf, np.inf
    gaps = [_known(above - below) for below, above in bands]
    # The median of a band is its width where few samples have run away.
    spans = [float(np.ptp(firm)), *(float(np.median(gap)) for gap in gaps if len(gap))]
    span = max(*spans, 1e-3 * float(np.abs(firm).max())) or 1.0
    # A line that is wrong throughout belongs into the picture; one that runs away at its end not.
    usual = [np.quantile(_known(line), [0.1, 0.9]) for line in lines if len(_known(line))]
    near = np.clip(np.concatenate([firm, *usual]), firm.min() - 9 * span, firm.max() + 9 * span)
    low, high = float(near.min()) - _REACH * span, float(near.max()) + _REACH * span
    values = np.concatenate([*lines, *(edge for edges in bands for edge in edges)])
    is_wild = bool(np.any(values < low) or np.any(values > high))  # NaN is neither
    return (low, high) if is_wild else (-np.inf, np.inf)


def _known(series: Float1D) -> Float1D:
    return series[np.isfinite(series)]


def plot_residuals(
    residual: Any,
    *,
    time: Any = None,
    output: str = "y",
    unit: str = "",
    of: Residual = Residual.ONE_STEP,
    ax: Axes | None = None,
    width: float = WIDE,
) -> Axes:
    r"""Residuals, with :math:`±1.96` of their standard deviation.

    Parameters
    ----------
    residual : (n,) array or list of them
        Several records are drawn one after another, with a line between them.
    time : (n,) array or float, optional
        As for `plot_response`, of all records end to end.
    output, unit : str
        What the output is called.
    of : Residual
        What they are residuals of: predictions one step ahead, or a free run.
    ax, width
        As for `plot_response`.
    """
    records = records_of(residual, "the residual")
    ax = dress(ax or new_axes(width, 2.4))
    series = np.concatenate(records)
    clock, time_label = clock_of(time, len(series))
    keep = envelope(series, columns_of(ax))
    ax.plot(clock[keep], series[keep], color=BLUE, linewidth=0.7, label="residual")
    known = _known(series)
    spread = 1.96 * float(known.std()) if len(known) else 0.0
    for side, name in ((-spread, "_"), (spread, "±1.96 standard deviations")):
        ax.axhline(side, color=ORANGE, linewidth=0.9, linestyle="--", label=name)
    for start in np.cumsum([len(record) for record in records])[:-1]:
        ax.axvline(clock[start], color=MUTED, linewidth=0.8, linestyle=":")
    set_range(ax, clock)
    name = f"{'free-run ' if of is Residual.FREE_RUN else ''}residual of {output}"
    label_axes(ax, time_label, with_unit(name, fold_exponent(ax), unit_beside(output, unit)))
    add_legend(ax)
    return ax


def plot_correlation(test: ResidualTest, ax: Axes | None = None, width: float = WIDE) -> Axes:
    r"""One correlation of the residuals by lag, and :math:`±1.96/\sqrt N` around zero.

    Correlations that chance does not explain, by their own standard errors, are orange. At lag 0 a
    residual correlates with itself by 1, which says nothing: the picture is cut there, and says so.

    Parameters
    ----------
    test : ResidualTest
    ax, width
        As for `plot_response`.
    """
    ax = dress(ax or new_axes(width, 2.3))
    lag, value, band = np.asarray(test.lag), np.asarray(test.correlation, dtype=float), test.band
    is_own = (lag == 0) & (value > 1.0 - 1e-9)
    others = np.abs(value[~is_own & np.isfinite(value)])
    top = 1.2 * max(float(others.max(initial=0.0)), 1.6 * band)
    ax.axhspan(-band, band, color=BLUE, alpha=0.15, linewidth=0)
    ax.axhline(0.0, color=FAINT, linewidth=0.8)
    is_odd = np.asarray(test.is_significant, dtype=bool) & ~is_own
    for chosen, colour in ((~is_odd, BLUE), (is_odd, ORANGE)):
        ax.vlines(lag[chosen], 0.0, np.clip(value[chosen], -top, top), color=colour, linewidth=1.1)
        shown = chosen & ~is_own
        ax.plot(lag[shown], value[shown], "o", color=colour, markersize=2.6)
    ax.set_ylim(-top, top)
    if is_own.any():
        write(ax, 0.0, 0.97 * top, "  1 at lag 0", va="top")
    verdict = "chance" if test.is_passed else "more than chance"
    add_title(
        ax, f"{_short_name(test, title_room(ax, beside=LABELLED))}: {verdict}", beside=LABELLED
    )
    label_axes(ax, "lag")
    ax.set_ylabel(test.symbol, parse_math=True)
    count_by_whole_numbers(ax.xaxis)
    return ax


def _short_name(test: ResidualTest, n: int) -> str:
    """What is correlated with what; a long signal is cut so that a title has two lines or so."""
    if len(test.name) <= n:
        return test.name
    beside = len(test.name) - len(test.signal) + len(": more than chance")
    fits = max(2 * n - _RAGGED - beside, n // 2)
    return (
        test.name.replace(test.signal, shorten_middle(test.signal, fits))
        if test.signal
        else test.name
    )


def plot_trace(
    posterior: Posterior,
    quantity: str = "n_terms",
    *,
    unit: str = "",
    ax: Axes | None = None,
    width: float = WIDE,
) -> Axes:
    """What every chain recorded, sample by sample; annealing and burn-in are shaded.

    Of a free-run chain nothing is recorded before its ladder is frozen.

    Parameters
    ----------
    posterior : Posterior
    quantity : {"n_terms", "log_posterior", "noise_sd", "distance"}
        A distance only free-run chains have; their tolerances are dashed.
    unit : str
        Of the noise or the distance.
    ax, width
        As for `plot_response`.
    """
    if quantity not in _TRACES:
        raise AdjoinError(f"there is no trace of {quantity!r}; there are {', '.join(_TRACES)}")
    whole = posterior.whole
    values = _recorded(whole, quantity)
    ax = dress(ax or new_axes(width, 2.4))
    kept, ends = [], []
    for i, (number, trace) in enumerate(zip(whole.chain_numbers, whole.traces, strict=True)):
        value = values[whole.draws.chain == number]
        start = _n_annealed(trace)
        step = (trace.n_samples - start) / len(value)
        sample = start + step * np.arange(1, len(value) + 1)
        burnt = len(value) - int(np.sum(posterior.draws.chain == number))
        kept.append(value[burnt:])
        ends.append((start, start + step * burnt, float(sample[-1])))
        keep = envelope(value, columns_of(ax))
        colour = COLOURS[i % len(COLOURS)]
        ax.plot(
            sample[keep],
            value[keep],
            color=colour,
            linewidth=0.9,
            alpha=0.85,
            marker="o" if len(value) == 1 else None,
            label=f"chain {number}" if posterior.n_chains <= len(COLOURS) else "_",
        )
        if quantity == "distance" and trace.ladder is not None:
            tolerance = trace.ladder.tolerance[-1, :1]
            kept.append(tolerance)
            line = np.repeat(tolerance, 2)
            ax.plot([start, sample[-1]], line, "--", color=colour, linewidth=0.9, label="_")
    n_annealed, end_of_burn_in, last = np.max(ends, axis=0).tolist()
    if end_of_burn_in:
        parts = {"annealing": n_annealed, "burn-in": end_of_burn_in - n_annealed}
        name = " and ".join(part for part, length in parts.items() if length)
        ax.axvspan(0.0, end_of_burn_in, color=FAINT, alpha=0.3, linewidth=0, label=name)
    ax.set_xlim(0.0, 1.01 * last)
    if quantity == "distance":
        ax.plot([], [], "--", color=MUTED, linewidth=0.9, label="tolerance")
    firm = _known(np.concatenate(kept))
    if quantity == "distance" and firm.max(initial=0.0) > _FAR * firm.min(initial=np.inf) > 0.0:
        scale_by_powers(ax)  # chains that ended far apart are all seen
    elif len(firm):
        _focus(ax, firm, _known(values), 1.0 if quantity == "n_terms" else 0.0)
    if quantity == "n_terms":
        count_by_whole_numbers(ax.yaxis)
    unit = unit if quantity in ("noise_sd", "distance") else ""
    label_axes(ax, "sample", with_unit(_TRACES[quantity], fold_exponent(ax), unit))
    add_legend(ax)
    return ax


def _recorded(whole: Posterior, quantity: str) -> Float1D:
    """(n_draws,) one of the quantities that have a trace."""
    if quantity == "n_terms":
        return whole.draws.size.astype(float)
    if quantity == "noise_sd":
        return whole.draws.noise_sd
    return whole.log_posterior if quantity == "log_posterior" else whole.distance


def _n_annealed(trace: ChainTrace) -> int:
    """How many samples a chain drew before its first record: those that annealed, if it did."""
    if trace.ladder is None:
        return 0
    return trace.n_samples - int(trace.ladder.move[0, :, 0].sum())


def _focus(ax: Axes, kept: Float1D, recorded: Float1D, least: float) -> None:
    """Show the kept samples well: where the chains came from may lie far outside."""
    low, high = float(kept.min()), float(kept.max())
    span = max(high - low, least) or 0.1 * abs(high) or 1.0
    bottom = max(float(recorded.min()), low - 1.5 * span)
    top = min(float(recorded.max()), high + 1.5 * span)
    margin = (0.08 if top > bottom else 1.1) * span
    ax.set_ylim(bottom - margin, top + margin)
