"""What tables of cases are made of: heads, texts of cells, and the table of coefficients.

Receives values of a `Row`; gives texts, a dash where there is no number.
"""

from __future__ import annotations

import math

from adjoin.cases.measure import DIVERGES
from adjoin.cases.outcome import Parameter, Row
from adjoin.report.sheet import NOTHING, Column, Sheet, number
from adjoin.text import UNKNOWN, percent, summed_up

HEAD = (Column("method", is_text=True), Column("λ_t"))


def head_cells(row: Row) -> tuple[str, str]:
    """The method and λ_t, under `HEAD`."""
    return row.setup.method, f"{row.setup.expected_terms:g}"


def paper_column(group: str) -> Column:
    """A column for the paper's figures."""
    return Column("paper", group, is_theirs=True)


def error_cell(row: Row, error: float | None, places: int) -> str:
    """An error of a row, or why there is none."""
    if row.error:
        return "failed"
    return DIVERGES if error is None else number(error, places)


def count_cell(n: int | None, n_all: int) -> str:
    """So many of so many: ``3/4``."""
    return NOTHING if n is None else f"{n}/{n_all}"


def change_cell(share: float | None) -> str:
    """A relative change in percent, with its sign."""
    return NOTHING if share is None else f"{100.0 * share:+.0f} %".replace("-", "−")


def digits_cell(value: float | None) -> str:
    """A number to four digits."""
    return NOTHING if value is None else f"{value:.4g}".replace("-", "−")


def short_cell(value: float | None) -> str:
    """A number as short as it can be."""
    return NOTHING if value is None or math.isnan(value) else f"{value:g}"


def share_cell(share: float) -> str:
    """A share in percent."""
    return NOTHING if math.isnan(share) else percent(share)


def hours_cell(hours: float | None) -> str:
    """A time of the paper's."""
    return NOTHING if hours is None else f"{hours:.2f} h"


def interval_cell(low: float | None, high: float | None) -> str:
    """An interval to four decimals."""
    if low is None or high is None or math.isnan(low):
        return NOTHING
    return f"[{low:+.4f}, {high:+.4f}]".replace("-", "−")


def holds_cell(parameter: Parameter) -> str:
    """Whether the interval holds the truth."""
    return {None: NOTHING, True: "yes", False: "no"}[parameter.is_inside]


def term_cell(parameter: Parameter) -> str:
    """The term, or the sign of the noise's standard deviation."""
    return "σ" if parameter.is_noise else parameter.term


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if math.isnan(seconds):
        return NOTHING
    if seconds < 100.0:
        return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.2f} h"


def posterior_cells(parameter: Parameter) -> tuple[str, str, str]:
    """Mean, standard deviation and 95 % interval, as many digits as the spread warrants."""
    numbers = summed_up(parameter.mean, parameter.sd, parameter.low, parameter.high)
    mean, sd, low, high = (text.replace("-", "−") for text in numbers)
    return mean, sd, NOTHING if sd == UNKNOWN else f"[{low}, {high}]"


def coefficient_sheet(row: Row) -> Sheet:
    """The coefficients of one setup, with their intervals."""
    columns = [Column("term", is_text=True), Column("mean"), Column("sd"), Column("95 % interval")]
    rows = []
    for parameter in row.parameters:
        cells = digits_cell(parameter.mean), NOTHING, NOTHING
        if math.isfinite(parameter.low):
            cells = posterior_cells(parameter)
        rows.append([term_cell(parameter), *cells])
    note = f"{row.setup.label}: the setup with the smallest validation error; selected chain, MAP."
    return Sheet("Parameters", note, columns, rows)
