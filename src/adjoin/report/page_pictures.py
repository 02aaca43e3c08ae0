"""All pictures of a page, and which of them have something to say.

Receives an `Assessment`; gives markup by name, nothing where a picture would be empty: a fixed
structure has no masses, and one lag no choice of lags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.inference.objective import Tempered
from adjoin.posterior import Posterior
from adjoin.report.ladder_words import distance_unit
from adjoin.report.pictures import Picture, draw_both, without_collecting
from adjoin.report.plots import plot_correlation, plot_residuals, plot_trace
from adjoin.report.plots_coefficients import plot_coefficients
from adjoin.report.plots_free_run import plot_free_run
from adjoin.report.plots_ladder import plot_annealing, plot_rungs
from adjoin.report.plots_structure import (
    figure_map_trees,
    lag_probabilities,
    plot_inclusion,
    plot_lags,
    plot_prior_posterior,
    plot_structures,
)
from adjoin.report.plots_tried import plot_tried
from adjoin.report.series import unit_of
from adjoin.report.style import NARROW, WIDE, new_figure
from adjoin.report.svg import to_svg
from adjoin.results.assessment import Assessment, stretches
from adjoin.results.scoring import Part

_BESIDE = 6.3  # inches: the picture on the first screen, which leaves room beside it
_MOST_RECORDS = 3  # with pictures of their own
_MOST_TREE_TERMS = 8  # a derivation of more is no picture to look at
_MOST_DENSITIES = 12
_FEWEST_TRIED = 2
_SURE = 0.995  # of the draws have a term: it is in


def draw_all(found: Assessment[Posterior]) -> dict[str, Any]:
    """All pictures by name."""
    with without_collecting():
        return dict(_pictures(found))


def _pictures(found: Assessment[Posterior]) -> Iterator[tuple[str, Any]]:
    """Every picture by name, as markup; lists where there are several of a kind."""
    posterior, all_chains = found.posterior, found.all_chains
    part = found.parts[-1]
    yield from _first_look(part)
    yield "responses", list(_responses(part))
    yield "tried", _tried(found)
    yield from _of_structure(found)
    left = list(posterior.residuals())
    residuals = {
        "time": _clock_of_residuals(posterior.data, left),
        "output": posterior.data.names.output,
        "unit": unit_of(posterior.data, posterior.data.names.output),
        "of": posterior.objective.residual,
    }
    yield "residuals", draw_both("residuals", "Residuals", _of(plot_residuals, left, **residuals))
    yield "tests", draw_both("tests", "Correlation tests of the residuals", _tests(found))
    yield "traces", list(_traces(all_chains))
    if all_chains.objective.ladder is Tempered.TOLERANCE:
        yield "annealing", draw_both("annealing", "Annealing", _of(plot_annealing, all_chains))
        yield (
            "rungs",
            draw_both("rungs", "Acceptance and exchanges by rung", _of(plot_rungs, all_chains)),
        )
    yield "trees", _trees(found)


def _of_structure(found: Assessment[Posterior]) -> Iterator[tuple[str, Markup | str]]:
    """Pictures of what was open; of terms that were fixed there are coefficients only."""
    posterior = found.posterior
    is_open = not posterior.settings.keeps_terms
    n_structures = len(posterior.structures)
    labels = [found.mass_text(rank) for rank in range(min(10, n_structures))]
    is_varied = bool(posterior.terms["inclusion"].lt(_SURE).any())
    # One lag of each signal, or none, is no choice.
    n_lags = max(
        (int(np.isfinite(p).sum()) for p in lag_probabilities(posterior).values()), default=0
    )
    drawn: dict[str, tuple[bool, str, Picture]] = {
        "structures": (
            is_open and n_structures > 1,
            "Masses of structures",
            _of(plot_structures, posterior, masses=labels),
        ),
        "inclusion": (is_open and is_varied, "Inclusion of terms", _of(plot_inclusion, posterior)),
        "lags": (is_open and n_lags > 1, "Which lags are used", _of(plot_lags, posterior)),
        "size": (
            is_open,
            "Number of terms, prior and posterior",
            _of(plot_prior_posterior, posterior),
        ),
        "coefficients": (
            len(posterior.structure(0)) > 0,
            "Posterior of each coefficient",
            lambda width: (
                plot_coefficients(posterior, most=_MOST_DENSITIES, width=width).flat[0].figure
            ),
        ),
    }
    for name, (is_said, title, picture) in drawn.items():
        yield name, draw_both(name, title, picture) if is_said else ""


def _clock_of_residuals(data: Dataset, left: list[Float1D]) -> Any:
    """Seconds of every residual; of several records, end to end, seconds from one to the next."""
    if data.sampling_time is None or len(left) > 1:
        return data.sampling_time
    n = data.n_samples
    return data.sampling_time * np.arange(n - len(left[0]), n, dtype=float)


def _tried(found: Assessment[Posterior]) -> Markup | str:
    """Held-out error by number of terms, where more than one class of models was compared."""
    discovered = getattr(found, "discovered", None)
    if discovered is None or len(discovered.candidates) < _FEWEST_TRIED:
        return ""
    return draw_both("tried", "Held-out error by number of terms", _of(plot_tried, discovered))


def _traces(all_chains: Posterior) -> Iterator[Markup]:
    """By sample: the last is how large errors are, the noise or the distance of the free run."""
    last = (
        ("noise_sd", "Noise") if all_chains.objective.has_likelihood else ("distance", "Distance")
    )
    for name, what in (("n_terms", "Number of terms"), ("log_posterior", "Log posterior"), last):
        picture = partial(plot_trace, all_chains, name, unit=distance_unit(all_chains))
        yield draw_both(name, f"{what} by sample", _of(picture))


def _of(plot: Callable[..., Axes | Figure], *arguments: Any, **options: Any) -> Picture:
    return lambda width: plot(*arguments, width=width, **options)


def _first_look(part: Part) -> Iterator[tuple[str, Any]]:
    """The simulation on the first screen: where a typical record moves most, if it is long."""
    number, begin, end = list(stretches(part))[part.typical_record]
    title = "Measured and simulated"
    yield "look", _free_run(part, "look", title, number, begin, end, wide=_BESIDE)
    yield "looked_at", _looked_at(part, number, begin, end)


def _looked_at(part: Part, number: int, begin: int, end: int) -> str:
    """Which record and which samples, and why these."""
    n, length = part.data.n_records, len(part.data.records[number])
    said = ""
    if n > 1:
        place = "larger" if n == 2 else "middle"
        said = f", record {part.number(number)}, whose error is the {place} one of {n}"
    if end - begin < length:
        said += f", samples {begin:,} to {end:,} of {length:,}, where it moves most"
    return said


def _responses(part: Part) -> Iterator[dict[str, Any]]:
    """Of the first records the whole response with its error, and a closer look."""
    for number, begin, end in list(stretches(part))[:_MOST_RECORDS]:
        name, length = f"record {part.number(number)}", len(part.data.records[number])
        whole = _free_run(part, f"whole-{number}", f"Response of {name}", number, has_error=True)
        # The closer look at a typical record is on the first screen.
        is_closer = number != part.typical_record and end - begin < length
        title = f"Response of {name}, closer"
        close = _free_run(part, f"close-{number}", title, number, begin, end) if is_closer else ""
        yield {"record": part.number(number), "whole": whole, "close": close}


def _free_run(
    part: Part,
    name: str,
    title: str,
    record: int,
    first: int | None = None,
    last: int | None = None,
    has_error: bool = False,
    wide: float = WIDE,
) -> Markup:
    """The equation's simulation in the bands of the draws."""
    draw: Callable[..., Figure] = partial(plot_free_run, part.prediction, part.data)
    picture = partial(draw, simulation=part.model_run, record=record, first=first, last=last)
    return draw_both(name, title, _of(picture, has_error=has_error), wide)


def _tests(found: Assessment[Posterior]) -> Picture:
    def draw(width: float) -> Figure:
        tests = found.residual_tests
        n_columns = 1 if width <= NARROW else 2
        n_rows = -(-len(tests) // n_columns)
        figure = new_figure(width, 1.9 * n_rows)
        axes = figure.subplots(n_rows, n_columns, squeeze=False).ravel()
        for ax, test in zip(axes, tests, strict=False):
            plot_correlation(test, ax, width / n_columns)
        for ax in axes[len(tests) :]:
            ax.set_axis_off()
        return figure

    return draw


def _trees(found: Assessment[Posterior]) -> Markup | str:
    """The derivation of the equation, where it is small enough to look at."""
    structure = found.posterior.structure(0)
    is_grown = not found.posterior.settings.keeps_terms  # fixed terms are one tree that was given
    if not (is_grown and 0 < len(structure) <= _MOST_TREE_TERMS):
        return ""
    try:
        figure = figure_map_trees(found.posterior)
    except AdjoinError:  # the grammar has no tree for a term; the equation is there all the same
        return ""
    svg = Markup(to_svg(figure, "Derived tree and derivation of the equation", "trees"))
    width = Markup('<div style="min-width: {}em">').format(round(5 * figure.get_figwidth()))
    return Markup('<figure class="scroll">{}{}</div></figure>').format(width, svg)
