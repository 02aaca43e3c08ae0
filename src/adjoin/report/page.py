"""The report: one self-contained HTML page with everything a run found.

Receives an `Assessment`; gives the page as text. No script, no network: equations are MathML, and
pictures SVG, drawn for a wide and for a narrow screen, whose colours follow the reader's light or
dark setting. All text passes the template's escaping.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError
from adjoin.files import write_whole
from adjoin.grammar.equation import term_text
from adjoin.inference.objective import Tempered
from adjoin.modelling.mathml import equation_mathml, offsets_mathml, term_mathml
from adjoin.posterior import Posterior
from adjoin.report.colours import THEMES
from adjoin.report.findings import centring_in_words, noise_in_words, structure_difference
from adjoin.report.ladder_words import (
    distance_unit,
    ladder_reasons,
    ladder_rows,
)
from adjoin.report.pictures import Picture, draw_both, without_collecting
from adjoin.report.plots import (
    plot_correlation,
    plot_error,
    plot_residuals,
    plot_response,
    plot_trace,
)
from adjoin.report.plots_coefficients import plot_coefficients
from adjoin.report.plots_ladder import plot_annealing, plot_rungs
from adjoin.report.plots_structure import (
    figure_map_trees,
    plot_inclusion,
    plot_lags,
    plot_prior_posterior,
    plot_structures,
)
from adjoin.report.style import NARROW, new_figure
from adjoin.report.svg import to_svg
from adjoin.report.templates import templates
from adjoin.results.assessment import Assessment, assess, stretches
from adjoin.results.diagnose import TERM
from adjoin.results.scoring import Part
from adjoin.results.stage_words import in_words
from adjoin.text import halves, summed_up
from adjoin.version import __version__

_MOST_STRUCTURES = 12
_SMALLEST_INCLUSION = 0.01
_MOST_RECORDS = 3  # with pictures of their own
_MOST_TREE_TERMS = 8  # a derivation of more is no picture to look at
_MOST_DENSITIES = 12
_LONG = 30  # rows of a table that are shown at once


def write_report(
    posterior: Posterior,
    path: str | os.PathLike[str],
    test: Dataset | None = None,
    title: str = "",
    draws: int | None = None,
    source: str = "",
) -> None:
    """Write the page of a posterior, whole or not at all.

    Parameters
    ----------
    posterior : Posterior
    path : path
        Where to; such as ``report.html``.
    test : Dataset, optional
        Data to score on that neither fitting nor selecting has seen.
    title : str
        At its head; default: what the data are called.
    draws : int, optional
        How many models are run for the bands. Default: 200, fewer of very long records.
    source : str
        Where the run is kept, if it is, for the lines that make it again.
    """
    write_whole(path, make_page(assess(posterior, test, draws), title, source))


def make_page(found: Assessment[Posterior], title: str = "", source: str = "") -> str:
    """The whole page.

    Parameters
    ----------
    found : Assessment
    title : str
        At its head; default: what the data are called.
    source : str
        Where the run is kept, if it is, for the lines that make it again.
    """
    posterior, all_chains = found.posterior, found.all_chains
    model, label = posterior.map_model, all_chains.data.label
    names = all_chains.data.names
    template = templates().get_template("page.html.jinja")
    return template.render(
        title=title or label or f"{names.output} from {', '.join(names.inputs) or 'its own past'}",
        version=__version__,
        themes=THEMES,
        found=found,
        posterior=posterior,
        all_chains=all_chains,
        model=model,
        equation=equation_mathml(model),
        white_box=equation_mathml(all_chains.white_box)
        if all_chains.white_box is not None
        else None,
        offsets=offsets_mathml(model),
        centring=centring_in_words(posterior),
        stages=in_words(all_chains.settings),
        structures=_structures(found),
        terms=_terms(found),
        noise=noise_in_words(posterior),
        ladder=_ladder(found),
        diagnostics=found.diagnostics,
        convergence=_worst_first(found.diagnostics["convergence"]),
        pictures=_drawn(found),
        data=[_describe(part.name, part.data) for part in found.parts],
        settings=_flat({k: v for k, v in all_chains.settings.items() if k != "stages"}),
        source=source,
        halves=halves,
        python=_python(found, source or "run.nc"),
        long=_LONG,
    )


def _structures(found: Assessment[Posterior]) -> list[dict[str, Any]]:
    posterior = found.posterior
    frame = posterior.structures.head(_MOST_STRUCTURES)
    best = [term_text(term) for term in posterior.structure(0)]
    rows: list[dict[str, Any]] = []
    for rank, row in enumerate(frame.to_dict("records")):
        terms = [term_text(term) for term in posterior.structure(rank)]
        rows.append(
            {
                **{str(k): v for k, v in row.items()},
                "mass_text": found.mass_text(rank),
                "text": structure_difference(terms, best),
            }
        )
    return rows


def _terms(found: Assessment[Posterior]) -> list[dict[str, Any]]:
    posterior = found.posterior
    frame = posterior.terms[posterior.terms["inclusion"] >= _SMALLEST_INCLUSION]
    spelled = {term_text(posterior.encoding.term(key)): key for key in posterior.term_keys}
    moved = posterior.map_model.offsets
    rows = []
    for row in frame.to_dict("records"):
        term = posterior.encoding.term(spelled[row["term"]])
        numbers = summed_up(*(row[name] for name in ("mean", "sd", "q025", "q975")))
        shown = [text.replace("-", "−") for text in numbers]
        rows.append(
            {
                "math": Markup("<math>{}</math>").format(term_mathml(term, moved)),
                "inclusion": row["inclusion"],
                **dict(zip(("mean", "sd", "q025", "q975"), shown, strict=True)),
            }
        )
    return rows


def _ladder(found: Assessment[Posterior]) -> dict[str, Any] | None:
    """What the page says of the tolerance ladders; nothing of a one-step run."""
    objective = found.all_chains.objective
    if objective.ladder is not Tempered.TOLERANCE:
        return None
    ladders = found.diagnostics["ladder"]
    rows = ladder_rows(ladders)
    return {
        "rows": rows,
        "reasons": ladder_reasons(rows),
        "is_squared": objective.is_squared,
        "is_guided": any(row["guided"] is not None for row in rows),
        "n_stages": len(ladders[0]["stages"]) - 1,
    }


def _describe(name: str, data: Dataset) -> dict[str, Any]:
    """One part of the data: its size, and what each signal is like."""
    values = {
        signal: np.concatenate([record.inputs[:, i] for record in data.records])
        for i, signal in enumerate(data.names.inputs)
    }
    values[data.names.output] = np.concatenate([record.output for record in data.records])
    rows = [
        {
            "signal": signal,
            "role": "output" if signal == data.names.output else "input",
            "mean": float(x.mean()),
            "sd": float(x.std()),
            "min": float(x.min()),
            "max": float(x.max()),
        }
        for signal, x in values.items()
    ]
    return {
        "name": name,
        "label": data.label,
        "n_records": data.n_records,
        "n_samples": data.n_samples,
        "sampling_time": data.sampling_time,
        "signals": rows,
    }


def _flat(settings: Any, prefix: str = "") -> list[tuple[str, str]]:
    """Nested settings as rows of name and value."""
    rows: list[tuple[str, str]] = []
    for name, value in settings.items():
        if name == "call":
            continue
        if isinstance(value, dict):
            rows += _flat(value, f"{prefix}{name}.")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            if isinstance(value, bool):
                shown = "yes" if value else "no"
            elif isinstance(value, float):
                shown = f"{value:g}"
            rows.append((f"{prefix}{name}", "–" if shown in (None, "") else str(shown)))
    return rows


def _python(found: Assessment[Posterior], source: str) -> str:
    """The lines that make the run again, bit for bit, from its file."""
    call = found.all_chains.settings.call
    lines = [
        "import adjoin",
        "",
        f"run = adjoin.load({source!r})",
        f"again = adjoin.Identifier({call}).fit(run.data).posterior_",
    ]
    if found.is_selected:
        lines.append("again = again.with_held_out(run.held_out).selected  # the equation above")
    return "\n".join(lines) + "\n"


def _worst_first(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What every run has first; then the terms, those that the chains disagree on most first."""
    common = [row for row in rows if row["kind"] != TERM]
    terms = [row for row in rows if row["kind"] == TERM]
    return common + sorted(terms, key=lambda row: -(row["rhat"] or 0.0))


def _drawn(found: Assessment[Posterior]) -> dict[str, Any]:
    """All pictures by name."""
    with without_collecting():
        return dict(_pictures(found))


def _pictures(found: Assessment[Posterior]) -> Iterator[tuple[str, Any]]:
    """Every picture by name, as markup; lists where there are several of a kind."""
    posterior, all_chains = found.posterior, found.all_chains
    labels = [found.mass_text(rank) for rank in range(min(10, len(posterior.structures)))]
    yield (
        "structures",
        draw_both(
            "structures", "Masses of structures", _of(plot_structures, posterior, masses=labels)
        ),
    )
    yield "inclusion", draw_both("inclusion", "Inclusion of terms", _of(plot_inclusion, posterior))
    yield "lags", draw_both("lags", "Which lags are used", _of(plot_lags, posterior))
    yield (
        "size",
        draw_both(
            "size", "Number of terms, prior and posterior", _of(plot_prior_posterior, posterior)
        ),
    )
    yield (
        "coefficients",
        draw_both(
            "coefficients",
            "Posterior of each coefficient",
            lambda width: (
                plot_coefficients(posterior, most=_MOST_DENSITIES, width=width).flat[0].figure
            ),
        )
        if len(posterior.structure(0))
        else "",
    )
    yield "responses", list(_responses(found.parts[-1]))
    yield (
        "residuals",
        draw_both(
            "residuals",
            "Residuals",
            lambda width: plot_residuals(
                posterior.residuals(),
                output=posterior.data.names.output,
                of=posterior.objective.residual,
                width=width,
            ),
        ),
    )
    yield "tests", draw_both("tests", "Correlation tests of the residuals", _tests(found))
    yield "traces", list(_traces(all_chains))
    if all_chains.objective.ladder is Tempered.TOLERANCE:
        yield "annealing", draw_both("annealing", "Annealing", _of(plot_annealing, all_chains))
        yield (
            "rungs",
            draw_both("rungs", "Acceptance and exchanges by rung", _of(plot_rungs, all_chains)),
        )
    yield "trees", _trees(found)


def _traces(all_chains: Posterior) -> Iterator[Markup]:
    """By sample: the last is how large errors are, the noise or the distance of the free run."""
    last = (
        ("noise_sd", "Noise") if all_chains.objective.has_likelihood else ("distance", "Distance")
    )
    for name, what in (("n_terms", "Number of terms"), ("log_posterior", "Log posterior"), last):
        picture = partial(plot_trace, all_chains, name, unit=distance_unit(all_chains))
        yield draw_both(name, f"{what} by sample", _of(picture))


def _of(plot: Callable[..., Axes], *arguments: Any, **options: Any) -> Picture:
    return lambda width: plot(*arguments, width=width, **options)


def _responses(part: Part) -> Iterator[dict[str, Any]]:
    """For the first records the whole response, a closer look, and the error."""
    prediction, outputs = part.prediction, [record.output for record in part.data.records]
    name = part.data.names.output
    for number, begin, end in list(stretches(part))[:_MOST_RECORDS]:
        step = part.data.sampling_time
        time = None if step is None else step * np.arange(len(outputs[number]))
        common: dict[str, Any] = {"record": number, "output": name, "time": time}
        looks = {
            "whole": partial(plot_response, prediction, outputs, **common),
            "close": partial(plot_response, prediction, outputs, first=begin, last=end, **common),
            "error": partial(plot_error, prediction, outputs, **common),
        }
        titles = {"whole": "Response", "close": "Response, closer", "error": "Error"}
        yield {
            "record": number,
            **{
                look: draw_both(f"{look}-{number}", f"{titles[look]} of record {number}", _of(plot))
                for look, plot in looks.items()
            },
        }


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
    if not 0 < len(structure) <= _MOST_TREE_TERMS:
        return ""
    try:
        figure = figure_map_trees(found.posterior)
    except AdjoinError:  # the grammar has no tree for a term; the equation is there all the same
        return ""
    svg = Markup(to_svg(figure, "Derived tree and derivation of the equation", "trees"))
    width = Markup('<div style="min-width: {}em">').format(round(5 * figure.get_figwidth()))
    return Markup('<figure class="scroll">{}{}</div></figure>').format(width, svg)
