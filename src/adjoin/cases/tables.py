"""The tables that every case has, the paper's figures beside ours.

Receives a `Study`; gives `Sheet`s for the terminal and the page; what only one case shows comes
from its `Case`. The same values for programs are in `records`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from adjoin.cases.case import case_of
from adjoin.cases.measure import DIVERGES
from adjoin.cases.outcome import Row, Study
from adjoin.cases.published import N_CHAINS, Result
from adjoin.cases.scoring import PREDICTORS
from adjoin.cases.table_parts import (
    HEAD,
    change_cell,
    count_cell,
    duration,
    error_cell,
    head_cells,
    hours_cell,
    paper_column,
    share_cell,
    short_cell,
)
from adjoin.report.sheet import NOTHING, Column, Sheet, number


def sheets(study: Study) -> list[Sheet]:
    """Every table of the case, in order."""
    shown = error_sheets(study)
    for section in case_of(study.plan).sections(study):
        shown += section.sheets
    literature = literature_sheet(study)
    return shown if literature is None else [*shown, literature]


def error_sheets(study: Study) -> list[Sheet]:
    """The tables with a row for every setup."""
    return [_scores(study), *case_of(study.plan).error_sheets(study), _facts(study)]


def _scores(study: Study) -> Sheet:
    """NMSE of MAP and FWD, selected and pooled; the paper's beside each where it has them."""
    case = case_of(study.plan)
    has_white_box = study.white_box is not None
    columns = list(HEAD)
    has_paper = {}
    for name, (chains, kind) in PREDICTORS.items():
        has_paper[name] = any(
            getattr(case.printed(row.setup), name) is not None for row in study.rows
        )
        if name == "selected_map" and has_white_box and case.white_box_nmse is not None:
            has_paper[name] = True  # there the white box has a figure of the paper too
        columns.append(Column(kind, chains))
        if has_paper[name]:
            columns.append(paper_column(chains))
    rows = []
    if study.white_box is not None:
        cells = ["white box, least squares", NOTHING, number(study.white_box[1].nmse, 2)]
        if has_paper["selected_map"]:
            cells.append(number(case.white_box_nmse, 2))
        rows.append(cells + [NOTHING] * (len(columns) - len(cells)))
    for row in study.rows:
        cells = [*head_cells(row)]
        for name in PREDICTORS:
            cells.append(error_cell(row, row.score(name).nmse, case.places))
            if has_paper[name]:
                cells.append(number(getattr(case.printed(row.setup), name), case.places))
        rows.append(cells)
    note = (
        f"Free-run NMSE in percent of the variance of {case.test_name}. Selected: the chain with"
        " the smallest validation error; pooled: all chains. MAP: the most frequent structure; FWD:"
        " the mean of drawn models with noise."
    )
    return Sheet("Test errors", note, columns, rows)


class _Fact(NamedTuple):
    """A column, and what stands in it."""

    column: Column
    cell: Callable[[Row], str]


def _facts(study: Study) -> Sheet:
    """Truth, white box, size, coverage and time; each where there is something to say."""
    title = "size, bands and time"
    note = (
        "Terms: median over the chains of each one's median. In band: share of the test set"
        " in the 95 % band, and within three standard deviations, of the selected chain's draws."
        " Time: of one core for a chain."
    )
    if study.white_box is not None:
        title = f"against the white box; {title}"
        whose = case_of(study.plan).white_box_name
        note = f"To white box: its error as a part of {whose}'s, less 1. {note}"
    if study.benchmark.truth is not None:
        title = f"truth, {title}"
        note = (
            "Truth: chains whose most frequent structure is the true one, and its mean mass over"
            f" the chains. {note}"
        )
    facts = list(_fact_columns(study))
    columns = [*HEAD, *(fact.column for fact in facts)]
    rows = [[*head_cells(row), *(fact.cell(row) for fact in facts)] for row in study.rows]
    return Sheet(title[0].upper() + title[1:], note, columns, rows)


def _fact_columns(study: Study) -> Iterator[_Fact]:
    case = case_of(study.plan)

    def paper(group: str, name: str, text: Callable[[Any], str]) -> Iterator[_Fact]:
        if case.prints(name):
            yield _Fact(
                paper_column(group), lambda row: text(getattr(case.printed(row.setup), name))
            )

    if study.benchmark.truth is not None:
        yield _Fact(
            Column("chains", "truth"), lambda row: count_cell(row.n_recovered, row.n_chains)
        )
        yield from paper("truth", "n_recovered", lambda n: count_cell(n, N_CHAINS))
        yield _Fact(Column("mass", "truth"), lambda row: number(row.mass, 3))
        yield from paper("truth", "mass", lambda mass: number(mass, 3))
    if study.white_box is not None:
        yield _Fact(
            Column("to white box"), lambda row: change_cell(study.relative_to_white_box(row))
        )
    yield _Fact(Column("terms", "size"), lambda row: short_cell(row.n_terms))
    yield from paper("size", "n_terms", short_cell)
    yield _Fact(Column("95 %", "in band"), lambda row: share_cell(row.coverage))
    yield _Fact(Column("3 σ", "in band"), lambda row: share_cell(row.coverage_3_sigma))
    yield _Fact(Column("ours", "time"), lambda row: duration(row.seconds))
    yield from paper("time", "hours", hours_cell)


class Reached(NamedTuple):
    """What someone reached on a case, and on which data; infinite if it diverges."""

    is_ours: bool
    data: str
    result: Result


def reached(study: Study) -> list[Reached]:
    """What others reached, and what we did with the setups that validation chooses."""
    case = case_of(study.plan)
    literature = case.literature
    if literature is None:
        return []
    everyone = [Reached(False, literature.data, result) for result in literature.results]
    our_data = literature.our_data or study.benchmark.train.label
    for objective in study.plan.objectives:
        if (best := study.best(objective)) is None:
            continue
        for name in ("selected_map", "selected_fwd"):
            error = case.measure.of(best.score(name))
            result = Result(
                f"adjoin: {best.setup.label}, {PREDICTORS[name][1]}",
                math.inf if error is None else error,
            )
            everyone.append(Reached(True, our_data, result))
    return everyone


def literature_sheet(study: Study) -> Sheet | None:
    """Other methods beside ours."""
    case = case_of(study.plan)
    if case.literature is None:
        return None
    everyone = reached(study)
    if case.literature.is_ranked:
        everyone.sort(key=lambda item: item.result.value)
    columns = [Column("method", is_text=True), Column("data", is_text=True)]
    columns.append(Column(case.measure.column))
    rows = [
        [result.method, data, number(result.value, 3) if result.value < math.inf else DIVERGES]
        for _, data, result in everyone
    ]
    note = "Of ours, for each objective the setup that validation alone chooses."
    return Sheet("What others reached", f"{note} {case.literature.note}".rstrip(), columns, rows)
