"""A study as a page and as files.

Receives a `Study`; gives the parts of its page, and the content of every file by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.cases import published
from adjoin.cases.records import describe, literature_records, parameter_records, score_records
from adjoin.cases.setups import ABC, ACADEMIC, OBJECTIVES, SILVERBOX, WAVES
from adjoin.cases.study import Row, Series, Study
from adjoin.cases.tables import duration, error_sheets, printed, sheets, table_rate
from adjoin.cases.words import command_of, findings, title_of, warnings_of, why
from adjoin.errors import AdjoinError
from adjoin.files import write_whole
from adjoin.report.case_markdown import make_case_markdown
from adjoin.report.case_page import Card, CasePage, Drawing, Section, make_case_page, to_png
from adjoin.report.plots import plot_response
from adjoin.report.plots_case import Bar, Interval, plot_against_signal, plot_bars, plot_intervals

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_UNITS = {SILVERBOX: "V", WAVES: "kN/m"}
_N_CLOSE = 200  # samples of a closer look


def study_page(study: Study, out: str = "") -> CasePage:
    """What the page of a study shows; `out` is the folder in the command that makes it again."""
    errors = error_sheets(study)
    drawings = dict(_drawings(study))
    sections = [
        Section("scores", "Errors", (), errors, drawings.get("bars", ())),
        Section("predictions", "Predictions", _about_predictions(study), (), drawings["response"]),
    ]
    for sheet in sheets(study)[len(errors) :]:
        name = sheet.title.split()[0].lower().strip("'")
        pictures = drawings.get("intervals", ()) if sheet.title == "Parameters" else ()
        sections.append(Section(name, sheet.title, (), [sheet], pictures))
    sections.append(Section("why", "Why figures differ", why(study.plan)))
    return CasePage(
        title_of(study.plan),
        f"Data: {study.benchmark.train.label}; {study.benchmark.protocol}. Every figure of ours has"
        " the paper's beside it, where the paper prints one.",
        warnings_of(study),
        list(_cards(study)),
        findings(study),
        sections,
        command_of(study.plan, out),
    )


def _about_predictions(study: Study) -> tuple[str, ...]:
    return (
        "Of each objective the setup with the smallest validation error, its selected chain. The"
        " band is three standard deviations of drawn models, each with noise of its own.",
    )


def _cards(study: Study) -> Iterator[Card]:
    case = study.plan.case
    for objective in study.plan.objectives:
        best = study.best(objective)
        if best is None:
            continue
        score, words = best.score(), OBJECTIVES[objective]
        note = best.setup.label
        if case == SILVERBOX:
            value = "diverges" if score.rmse is None else f"{1e3 * score.rmse:.3f} mV"
            yield Card(f"full arrow, {words}", value, note)
        else:
            value = "diverges" if score.nmse is None else f"{score.nmse:.3g} %"
            yield Card(f"test NMSE, {words}", value, note)
    if case == ACADEMIC:
        rows = [row for row in study.rows if row.n_recovered is not None]
        n_found = sum(row.n_recovered or 0 for row in rows)
        n_chains = sum(row.n_chains for row in rows)
        yield Card("chains at the true equation", f"{n_found} of {n_chains}", "all setups")
    if study.white_box is not None and study.white_box[1].nmse is not None:
        note = f"the paper's record: {published.WHITE_BOX} %"
        yield Card("NMSE of the white box", f"{study.white_box[1].nmse:.2f} %", note)
    yield Card("in all", duration(study.seconds), f"{len(study.every_row)} setups")


def _drawings(study: Study) -> Iterator[tuple[str, list[Drawing]]]:
    yield "response", list(_responses(study))
    usable = [row for row in study.rows if not row.error]
    if usable:
        yield "bars", [Drawing("bars", "Test error and model size", partial(_bars, study))]
    if study.plan.case == ACADEMIC and (panels := list(_panels(study))):
        title = "Coefficients with 95 % intervals"
        yield "intervals", [Drawing("intervals", title, lambda w: plot_intervals(panels, width=w))]


def _bars(study: Study, width: float) -> Figure:
    is_silverbox = study.plan.case == SILVERBOX
    bars = []
    for row in study.rows:
        score, theirs = row.score(), printed(study, row.setup)
        error = score.nmse
        known = theirs.selected_map
        if is_silverbox:
            error = None if score.rmse is None else 1e3 * score.rmse
            known = theirs.rmse_mv
        n_terms = None if row.error else row.n_terms
        bars.append(Bar(row.setup.method, row.setup.expected_terms, error, n_terms, known))
    unit = "RMSE on the full arrow (mV)" if is_silverbox else "NMSE on the test set (%)"
    white = study.white_box[1].nmse if study.white_box is not None else None
    return plot_bars(bars, unit=unit, baseline=white, width=width)


def _responses(study: Study) -> Iterator[Drawing]:
    for objective in study.plan.objectives:
        row = study.best(objective)
        if row is None or row.series is None:
            continue
        title = f"{row.setup.label}"
        yield Drawing(f"response-{objective}", title, partial(_response, study, row))
        yield Drawing(
            f"residuals-{objective}", f"Residuals: {title}", partial(_residuals, study, row)
        )


def _unit(study: Study) -> str:
    """Of the output; of a user's own record it is not known."""
    is_own = study.plan.case == WAVES and study.plan.data is not None
    return "" if is_own else _UNITS.get(study.plan.case, "")


def _close(series: Series) -> tuple[int, int]:
    """Where a closer look begins and ends: where the output moves most."""
    y = series.measured[series.n_seed :]
    n_shown = min(_N_CLOSE, len(y))
    size = np.convolve(np.abs(y - y.mean()), np.ones(n_shown), "valid")
    begin = series.n_seed + int(size.argmax())
    return begin, begin + n_shown


def _response(study: Study, row: Row, width: float) -> Axes:
    assert row.series is not None
    first, last = _close(row.series)
    return plot_response(
        row.series.prediction,
        row.series.measured,
        model_run=row.series.model_run,
        first=first,
        last=last,
        bands="sigma",
        time=study.benchmark.test.sampling_time,
        output=study.benchmark.test.names.output,
        unit=_unit(study),
        width=width,
    )


def _residuals(study: Study, row: Row, width: float) -> Figure:
    assert row.series is not None
    part = slice(row.series.n_seed, None)
    measured = row.series.measured[part]
    return plot_against_signal(
        measured,
        measured - row.series.model_run[part],
        time=study.benchmark.test.sampling_time,
        output=study.benchmark.test.names.output,
        unit=_unit(study),
        width=width,
    )


def _panels(study: Study) -> Iterator[tuple[str, float | None, list[Interval]]]:
    """For every true term its intervals by method, and the paper's."""
    rate = table_rate(study)
    rows = [row for row in study.rows if row.setup.expected_terms == rate and not row.error]
    truth = study.benchmark.truth
    assert truth is not None
    for term, value in zip(str(truth.structure).split(" + "), truth.theta, strict=True):
        intervals = [
            Interval(row.setup.method, found.mean, found.low, found.high)
            for row in rows
            for found in row.parameters
            if found.term == term
        ]
        for objective, name in (("osa", "the paper, OSA"), (ABC, "the paper, MPO")):
            theirs = published.ACADEMIC_PARAMETERS[objective, term]
            if objective in study.plan.objectives:
                intervals.append(Interval(name, theirs.mean, theirs.low, theirs.high, True))
        yield term, value, intervals


def study_files(study: Study, out: str = "") -> dict[str, str | bytes]:
    """The content of every file by name; the page comes last."""
    page = study_page(study, out)
    tables: dict[str, list[dict[str, Any]]] = {
        "scores.csv": score_records(study, study.rows),
        "parameters.csv": parameter_records(study),
        "official.csv": score_records(study, study.official_rows),
        "literature.csv": literature_records(study),
    }
    found: dict[str, str | bytes] = {name: _csv(rows) for name, rows in tables.items() if rows}
    for section in page.sections:
        for drawing in section.drawings:
            found[f"{drawing.name}.png"] = to_png(drawing)
    found["index.md"] = make_case_markdown(page)
    found["case.json"] = json.dumps(describe(study), allow_nan=False, indent=1) + "\n"
    found["index.html"] = make_case_page(page)
    return found


def _csv(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")


def write_files(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files into a folder, which is made if need be; each whole or not at all."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise AdjoinError(f"cannot make the folder '{folder}': {error.strerror}") from None
    for name, content in files.items():
        write_whole(folder / name, content)
