"""A study as a page and as files.

Receives a `Study`; gives the parts of its page, and the content of every file by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from adjoin.cases.case import case_of
from adjoin.cases.outcome import Row, Series, Study
from adjoin.cases.plain_values import (
    curve_records,
    describe,
    literature_records,
    parameter_records,
    score_records,
)
from adjoin.cases.setups import OBJECTIVES
from adjoin.cases.table_parts import duration
from adjoin.cases.tables import error_sheets, literature_sheet
from adjoin.cases.words import about_objectives, command_of, findings, warnings_of
from adjoin.errors import AdjoinError
from adjoin.files import opened, write_whole
from adjoin.report.case_markdown import make_case_markdown
from adjoin.report.case_page import make_case_page, to_png
from adjoin.report.case_parts import Card, CasePage, Drawing, Drawn, Section
from adjoin.report.plots import plot_response
from adjoin.report.plots_case import Bar, plot_against_signal, plot_bars

_N_CLOSE = 200  # samples of a closer look
_ABOUT_PREDICTIONS = (
    "Of each objective the setup with the smallest validation error, its selected chain. The band"
    " is three standard deviations of drawn models, each with noise of its own."
)


def study_page(study: Study, out: str = "") -> CasePage:
    """What the page of a study shows; `out` is the folder in the command that makes it again."""
    return CasePage(
        case_of(study.plan).title_of(study.plan),
        f"Data: {study.benchmark.train.label}; {study.benchmark.protocol}. Every figure of ours has"
        " the paper's beside it, where the paper prints one.",
        warnings_of(study),
        list(_cards(study)),
        findings(study),
        list(_sections(study)),
        command_of(study.plan, out),
    )


def _sections(study: Study) -> Iterator[Section]:
    case = case_of(study.plan)
    bars = [Drawing("bars", "Test error and model size", partial(_bars, study))]
    about = (about_objectives(study.plan),)
    yield Section("scores", "Errors", about, error_sheets(study), bars if study.usable() else ())
    responses = list(_responses(study))
    yield Section("predictions", "Predictions", (_ABOUT_PREDICTIONS,), (), responses)
    yield from case.sections(study)
    if (sheet := literature_sheet(study)) is not None:
        yield Section("what", sheet.title, (), [sheet])
    if reasons := case.why(study.plan):
        yield Section("why", "Why figures differ", reasons)


def _cards(study: Study) -> Iterator[Card]:
    case = case_of(study.plan)
    for objective in study.plan.objectives:
        best = study.best(objective)
        if best is not None:
            name = f"{case.measure.card}, {OBJECTIVES[objective]}"
            note = best.setup.label.replace(" = ", "\u00a0=\u00a0")  # stays on one line
            yield Card(name, case.measure.text(best.score()), note)
    if study.benchmark.truth is not None:
        rows = [row for row in study.rows if row.n_recovered is not None]
        n_recovered = sum(row.n_recovered or 0 for row in rows)
        n_chains = sum(row.n_chains for row in rows)
        yield Card("chains at the true equation", f"{n_recovered} of {n_chains}", "all setups")
    if study.white_box is not None and study.white_box[1].nmse is not None:
        printed = case.white_box_nmse
        note = "" if printed is None else f"the paper's record: {printed} %"
        yield Card("NMSE of the white box", f"{study.white_box[1].nmse:.2f} %", note)
    yield Card("in all", duration(study.seconds), f"{len(study.all_rows)} setups")


def _bars(study: Study, width: float) -> Drawn:
    case = case_of(study.plan)
    bars = [
        Bar(
            row.setup.method,
            row.setup.expected_terms,
            case.measure.of(row.score()),
            None if row.error else row.n_terms,
            case.measure.printed(case.printed(row.setup)),
        )
        for row in study.rows
    ]
    baseline = study.white_box[1].nmse if study.white_box is not None else None
    return plot_bars(bars, unit=case.measure.axis, baseline=baseline, width=width)


def _responses(study: Study) -> Iterator[Drawing]:
    for objective in study.plan.objectives:
        row = study.best(objective)
        if row is None or row.series is None:
            continue
        title = row.setup.label
        yield Drawing(f"response-{objective}", title, partial(_response, study, row))
        yield Drawing(
            f"residuals-{objective}", f"Residuals: {title}", partial(_residuals, study, row)
        )


def _close(series: Series) -> tuple[int, int]:
    """Where a closer look begins and ends: where the output moves most."""
    y = series.measured[series.n_seed :]
    n_shown = min(_N_CLOSE, len(y))
    size = np.convolve(np.abs(y - y.mean()), np.ones(n_shown), "valid")
    begin = series.n_seed + int(size.argmax())
    return begin, begin + n_shown


def _response(study: Study, row: Row, width: float) -> Drawn:
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
        unit=case_of(study.plan).unit_of(study.plan),
        width=width,
    )


def _residuals(study: Study, row: Row, width: float) -> Drawn:
    assert row.series is not None
    part = slice(row.series.n_seed, None)
    measured = row.series.measured[part]
    return plot_against_signal(
        measured,
        measured - row.series.model_run[part],
        time=study.benchmark.test.sampling_time,
        output=study.benchmark.test.names.output,
        unit=case_of(study.plan).unit_of(study.plan),
        width=width,
    )


def study_files(study: Study, out: str = "") -> dict[str, str | bytes]:
    """The content of every file by name; the page comes last."""
    page = study_page(study, out)
    tables: dict[str, list[dict[str, Any]]] = {
        "scores.csv": score_records(study, study.rows),
        "parameters.csv": parameter_records(study),
        "official.csv": score_records(study, study.official_rows),
        "literature.csv": literature_records(study),
        "learning.csv": curve_records(study),
    }
    files: dict[str, str | bytes] = {name: _csv(rows) for name, rows in tables.items() if rows}
    for section in page.sections:
        for drawing in section.drawings:
            files[f"{drawing.name}.png"] = to_png(drawing)
    files["index.md"] = make_case_markdown(page)
    files["case.json"] = json.dumps(describe(study), allow_nan=False, indent=1) + "\n"
    files["index.html"] = make_case_page(page)
    return files


def _csv(rows: list[dict[str, Any]]) -> str:
    import pandas as pd

    return pd.DataFrame(rows).to_csv(index=False, lineterminator="\n")


def read_study(folder: Path) -> dict[str, Any]:
    """The values of a study that was written: ``case.json``."""
    with opened(folder / "case.json") as stream:
        content = stream.read()
    try:
        found: dict[str, Any] = json.loads(content)
        _ = found["description"], found["is_complete"], found["failed"]
    except (ValueError, KeyError, TypeError):
        raise AdjoinError(
            f"'{folder / 'case.json'}' is damaged, or of another version of adjoin; pass --force to"
            " run the case anew"
        ) from None
    return found


def write_files(folder: Path, files: dict[str, str | bytes]) -> None:
    """Write files into a folder, which is made if need be; each whole or not at all."""
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise AdjoinError(f"cannot make the folder '{folder}': {error.strerror}") from None
    for name, content in files.items():
        write_whole(folder / name, content)
