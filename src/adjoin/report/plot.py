"""`adjoin.plot`: what was measured and what a run or a model simulates, in one call.

Receives whatever a user holds; the drawing is in ``plots`` and ``plots_runs``. It is a function and
no method, because a `Posterior` is below the pictures in the order of the stages.
"""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.report.labels import label_axes
from adjoin.report.plots import Window, plot_error, plot_response
from adjoin.report.plots_runs import plot_simulations
from adjoin.report.style import WIDE, new_figure
from adjoin.results.scoring import ModelRun, Part, affordable_draws

_HEIGHT = 4.8  # inches
_HOLDERS = ("posterior_", "best", "posterior")
"""Where a fitted Identifier, a path of models and a discovery have what is drawn."""


def plot(
    subject: Any,
    data: Dataset | None = None,
    *,
    record: int = 0,
    first: int | None = None,
    last: int | None = None,
    width: float = WIDE,
) -> Figure:
    """Measured output and simulation (free run) with its 68 % and 95 % bands; the error below.

    Runs are seeded by the first measured samples. Axes are in seconds where the data know their
    sampling time.

    Parameters
    ----------
    subject : Posterior, fitted Identifier, Discovery, Model or ForwardPath
        A lone model has no bands; of a path the best model is shown. Of a posterior with held-out
        data it is the chain that they select.
    data : Dataset, optional
        What to simulate. Default: the data that were held out, else those that were fitted. Of a
        discovery it is what one fold held out, by the equation as it was fitted without it.
    record : int
        Which one, where there are several.
    first, last : int, optional
        The samples from `first` up to `last` only.
    width : float
        Of the figure in inches.

    Examples
    --------
    >>> import adjoin
    >>> train, _, test = adjoin.datasets.academic(seed=0)
    >>> model = adjoin.Model.parse("y(k) = 0.5*u(k-1) + 0.3*y(k-1)")
    >>> figure = adjoin.plot(model, test, first=0, last=200)
    >>> figure.savefig("simulation.png")  # doctest: +SKIP
    """
    held = next((name for name in _HOLDERS if hasattr(subject, name)), "")
    found = getattr(subject, held) if held else subject
    if not isinstance(found, Posterior | Model):
        raise AdjoinError(
            f"plot draws a Posterior, a fitted Identifier, a Discovery, a Model or a ForwardPath,"
            f" not {subject!r:.60}"
        )
    if data is None and isinstance(found, Posterior) and found.discovered is not None:
        found = Posterior(*found.discovered.trial)
    shown = _own_data(found) if data is None else data
    if not isinstance(shown, Dataset):
        raise AdjoinError(
            f"plot needs a Dataset to simulate, as adjoin.read_data or Dataset.from_arrays gives,"
            f" not {shown!r:.60}"
        )
    if not 0 <= record < shown.n_records:
        raise AdjoinError(f"there is no record {record}; there are {shown.n_records}")
    window: Window = {
        "record": record,
        "time": shown.sampling_time,
        "first": first,
        "last": last,
        "output": shown.names.output,
        "unit": shown.units[-1] if shown.units else "",
    }
    if isinstance(found, Model):
        run = ModelRun(found, shown, found.max_lag).model_run
        return plot_simulations({"simulation": run}, shown, width=width, **window)  # type: ignore[misc]
    return _with_bands(found, shown, window, width)


def _own_data(found: Posterior | Model) -> Dataset | None:
    """The data that come with it; a model that was typed or read has none."""
    if isinstance(found, Posterior):
        return found.data if found.held_out is None else found.held_out
    return None if found.fitted_to is None else found.fitted_to.data


def _with_bands(posterior: Posterior, data: Dataset, window: Window, width: float) -> Figure:
    posterior.require_signals(data, "given")
    chosen, n_draws = posterior.selected, affordable_draws(data.n_samples)
    prediction = Part("", data, chosen, posterior, n_draws).prediction
    figure = new_figure(width, _HEIGHT)
    upper, lower = figure.subplots(2, 1, height_ratios=(5, 3))
    plot_response(prediction, data, **{**window, "ax": upper})
    plot_error(prediction, data, **{**window, "ax": lower})
    label_axes(upper, "", upper.get_ylabel())
    upper.tick_params(labelbottom=False)
    if (legend := lower.get_legend()) is not None:
        legend.remove()  # the same bands; what the line is, its axis says
    return figure
