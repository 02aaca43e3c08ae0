"""The tables of a case, the paper's figures beside ours.

Receives a `Study`; gives `Sheet`s for the terminal and the page. The same values for programs are
in `records`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from adjoin.cases import published
from adjoin.cases.published import Result, Scores
from adjoin.cases.setups import ACADEMIC, OBJECTIVES, SILVERBOX, WAVES, Setup
from adjoin.cases.study import Parameter, Row, Score, Study
from adjoin.report.sheet import NOTHING, Column, Sheet, number
from adjoin.text import percent, rounded

PREDICTORS = ("selected map", "selected fwd", "pooled map", "pooled fwd")
TABLE_RATE = 5.0
"""λ_t of the paper's table of parameters."""

_HEAD = (Column("method", is_text=True), Column("λ_t"))
_PAPER = {"is_theirs": True}
_PLACES = {ACADEMIC: 3, SILVERBOX: 4, WAVES: 2}


def printed(study: Study, setup: Setup) -> Scores:
    """The row of the paper with the same objective and λ_t, whatever the prior."""
    key = setup.objective, setup.expected_terms
    if study.plan.case == ACADEMIC:
        return published.ACADEMIC.get(key, Scores())
    if study.plan.case == SILVERBOX:
        return published.SILVERBOX.get(key, Scores())
    return published.WAVES.get((setup.number, *key), Scores())


def sheets(study: Study) -> list[Sheet]:
    """Every table of the case, in order."""
    found = [*error_sheets(study), *parameter_sheets(study)]
    if study.official_rows:
        found.append(official_sheet(study))
    if others := records_sheet(study):
        found.append(others)
    return found


def error_sheets(study: Study) -> list[Sheet]:
    """The tables with a row for every setup."""
    millivolts = [_in_millivolts(study)] if study.plan.case == SILVERBOX else []
    return [_scores(study), *millivolts, _facts(study)]


def _scores(study: Study) -> Sheet:
    """NMSE of MAP and FWD, selected and pooled; the paper's beside each where it has them."""
    places = _PLACES[study.plan.case]
    theirs = [printed(study, row.setup) for row in study.rows]
    columns = list(_HEAD)
    has_theirs: list[bool] = []
    for predictor in PREDICTORS:
        chains, kind = predictor.split()
        name = predictor.replace(" ", "_")
        is_known = any(getattr(scores, name) is not None for scores in theirs)
        # The white box has a figure of the paper too, in the first of these columns.
        has_theirs.append(is_known or (study.white_box is not None and not has_theirs))
        columns.append(Column(kind.upper(), chains))
        if has_theirs[-1]:
            columns.append(Column("paper", chains, **_PAPER))
    rows = [list(_white_box_cells(study, len(columns)))] if study.white_box else []
    for row, scores in zip(study.rows, theirs, strict=True):
        cells = [*_head(row)]
        for predictor, is_there in zip(PREDICTORS, has_theirs, strict=True):
            cells.append(_error(row, row.score(predictor), places))
            if is_there:
                cells.append(number(getattr(scores, predictor.replace(" ", "_")), places))
        rows.append(cells)
    test = next(iter(study.benchmark.tests))
    where = "the full arrow" if test == "arrow full" else "the test set"
    note = (
        f"Free-run NMSE in percent of the variance of {where}. Selected: the chain with the"
        " smallest validation error; pooled: all chains. MAP: the most frequent structure; FWD: the"
        " mean of drawn models with noise."
    )
    return Sheet("Test errors", note, columns, rows)


def _white_box_cells(study: Study, n: int) -> Iterator[str]:
    assert study.white_box is not None
    yield from ("white box, least squares", NOTHING, number(study.white_box[1].nmse, 2))
    yield number(published.WHITE_BOX, 2)
    yield from [NOTHING] * (n - 4)


def _in_millivolts(study: Study) -> Sheet:
    """The errors that others report of the Silverbox."""
    unit = "full arrow (mV)"
    columns = [*_HEAD, *(Column(name, unit) for name in ("MAP", "FWD", "pooled FWD"))]
    columns += [Column("paper", unit, **_PAPER), Column("MAP", "no extrapolation (mV)")]
    columns.append(Column("power"))
    rows = []
    for row in study.rows:
        cells = [*_head(row)]
        for predictor in ("selected map", "selected fwd", "pooled fwd"):
            cells.append(_millivolts(row, row.score(predictor)))
        cells.append(number(printed(study, row.setup).rmse_mv, 3))
        other = row.score(test="arrow no-extrapolation") if row.scores else row.score()
        cells.append(_millivolts(row, other))
        cells.append(NOTHING if row.error or row.setup.objective != "osa" else f"{row.power:.2g}")
        rows.append(cells)
    note = (
        "Free-run RMSE of the selected chain, if not pooled, on the full arrow (the paper's: MAP)"
        " and on its first 32,000 samples, which do not extrapolate. Power: of the likelihood."
    )
    return Sheet("In millivolts", note, columns, rows)


def _facts(study: Study) -> Sheet:
    """Truth, size, coverage and time."""
    case = study.plan.case
    columns = list(_HEAD)
    if case == ACADEMIC:
        columns += [Column("chains", "truth"), Column("paper", "truth", **_PAPER)]
        columns += [Column("mass", "truth"), Column("paper", "truth", **_PAPER)]
    if case == WAVES:
        columns += [Column("to white box")]
    columns.append(Column("terms", "size"))
    if case == SILVERBOX:
        columns.append(Column("paper", "size", **_PAPER))
    columns += [Column("95 %", "in band"), Column("3 σ", "in band")]
    columns.append(Column("ours", "time"))
    if case != WAVES:
        columns.append(Column("paper", "time", **_PAPER))
    rows = [list(_fact_cells(study, row)) for row in study.rows]
    note = (
        "Terms: median over the chains of each one's median. In band: share of the test set"
        " in the 95 % band, and within three standard deviations, of the selected chain's draws."
        " Time: of one core for a chain."
    )
    if case == ACADEMIC:
        note = (
            "Truth: chains whose most frequent structure is the true one, and its mean mass over"
            f" the chains. {note}"
        )
    if case == WAVES:
        note = f"To white box: its error as a part of Morison's, less 1. {note}"
    title = {
        ACADEMIC: "Truth, size, bands and time",
        SILVERBOX: "Size, bands and time",
        WAVES: "Against the white box; size, bands and time",
    }[case]
    return Sheet(title, note, columns, rows)


def _fact_cells(study: Study, row: Row) -> Iterator[str]:
    case, theirs = study.plan.case, printed(study, row.setup)
    yield from _head(row)
    if case == ACADEMIC:
        yield NOTHING if row.n_recovered is None else f"{row.n_recovered}/{row.n_chains}"
        known = theirs.n_recovered
        yield NOTHING if known is None else f"{known}/{published.N_CHAINS}"
        yield from (number(row.mass, 3), number(theirs.mass, 3))
    if case == WAVES:
        yield _change(relative_to_white_box(study, row))
    yield NOTHING if math.isnan(row.n_terms) else f"{row.n_terms:g}"
    if case == SILVERBOX:
        yield NOTHING if theirs.n_terms is None else f"{theirs.n_terms:g}"
    for share in (row.coverage, row.coverage_3_sigma):
        yield NOTHING if math.isnan(share) else percent(share)
    yield duration(row.seconds)
    if case != WAVES:
        yield NOTHING if theirs.hours is None else f"{theirs.hours:.2f} h"


def relative_to_white_box(study: Study, row: Row) -> float | None:
    """NMSE over that of the white box, less 1; negative is better."""
    own = row.score().nmse
    if study.white_box is None or own is None or study.white_box[1].nmse is None:
        return None
    return own / study.white_box[1].nmse - 1.0


def _change(share: float | None) -> str:
    return NOTHING if share is None else f"{100.0 * share:+.0f} %".replace("-", "−")


def parameter_sheets(study: Study) -> list[Sheet]:
    """Coefficients with their intervals, beside the truth or the paper's."""
    if study.plan.case == ACADEMIC:
        return [_academic_parameters(study)]
    if study.plan.case == WAVES:
        return [_wave_parameters(study)] if study.white_box is not None else []
    best = study.best()
    return [] if best is None else [_coefficients(best)]


def table_rate(study: Study) -> float:
    """λ_t of the table of parameters: the paper's, or the first there is."""
    rates = study.plan.term_rates
    return TABLE_RATE if TABLE_RATE in rates else rates[0]


def _academic_parameters(study: Study) -> Sheet:
    rate = table_rate(study)
    columns = [
        Column("method", is_text=True),
        Column("term", is_text=True),
        Column("true"),
        Column("mean", "ours"),
        Column("95 % interval", "ours"),
        Column("holds", "ours"),
        Column("mean", "paper", **_PAPER),
        Column("95 % interval", "paper", **_PAPER),
    ]
    rows = []
    for row in study.rows:
        if row.setup.expected_terms != rate:
            continue
        for found in row.parameters:
            theirs = published.ACADEMIC_PARAMETERS.get((row.setup.objective, found.term))
            if rate != TABLE_RATE:
                theirs = None
            cells = [row.setup.method, _symbol(found.term), number(found.truth, 4)]
            cells += [number(found.mean, 4), _interval(found.low, found.high), _holds(found)]
            cells.append(number(theirs.mean if theirs else None, 4))
            cells.append(_interval(theirs.low, theirs.high) if theirs else NOTHING)
            rows.append(cells)
    note = (
        f"Selected chain, λ_t = {rate:g}, given the true structure where it was visited; whether"
        " the interval holds the truth. σ of a"
        " one-step fit is that of its residuals, which hold the measurement noise twice (ε(k)"
        " − 0.3 ε(k−1): 1.044 times its σ); of a free run it is implied by the tolerance and has"
        " no interval. The paper's data were other draws, with σ = 0.1561."
    )
    return Sheet("Parameters", note, columns, rows)


def _wave_parameters(study: Study) -> Sheet:
    assert study.white_box is not None
    white = study.white_box[0]
    alone = dict(zip(str(white.structure).split(" + "), white.theta, strict=True))
    names = dict(zip(alone, ("Cd'", "Cm'"), strict=False))
    columns = [
        Column("objective", is_text=True),
        Column("λ_t"),
        Column("term", is_text=True),
        Column("true"),
        Column("white box"),
        Column("mean", "posterior"),
        Column("95 % interval", "posterior"),
        Column("off by", "posterior"),
        Column("holds", "posterior"),
    ]
    rows = []
    for row in study.rows:
        for found in row.parameters:
            if row.setup.initial_mode != "joint" or found.term not in alone:
                continue
            numbers = rounded([found.mean, found.low, found.high], found.sd)
            mean, low, high = (text.replace("-", "−") for text in numbers)
            name = f"{names.get(found.term, '')} of {found.term}"
            cells = [
                OBJECTIVES[row.setup.objective],
                _head(row)[1],
                name,
                _digits(found.truth),
                _digits(alone[found.term]),
            ]
            cells += [mean, f"[{low}, {high}]"]
            off = None if found.truth is None else found.mean / found.truth - 1.0
            cells += [_change(off), _holds(found)]
            rows.append(cells)
    note = (
        "Method 3, selected chain: the coefficients of Morison's terms, learned together with the"
        " rest. Lagged terms carry part of the same force: these are the best coefficients beside"
        " those terms, not measurements of Cd' and Cm'."
    )
    if study.benchmark.constants:
        note += (
            " Off by: how far the mean is from the truth, which was the coefficient at the axis of"
            " the cylinder, while the meter is before it."
        )
    return Sheet("Cd' and Cm'", note, columns, rows)


def _coefficients(row: Row) -> Sheet:
    columns = [Column("term", is_text=True), Column("mean"), Column("sd"), Column("95 % interval")]
    rows = []
    for found in row.parameters:
        name, is_known = _symbol(found.term), math.isfinite(found.low)
        if not is_known:
            rows.append([name, _digits(found.mean), NOTHING, NOTHING])
            continue
        numbers = rounded([found.mean, found.sd, found.low, found.high], found.sd)
        mean, sd, low, high = (text.replace("-", "−") for text in numbers)
        rows.append([name, mean, sd, f"[{low}, {high}]"])
    note = f"{row.setup.label}: the setup with the smallest validation error; selected chain, MAP."
    return Sheet("Parameters", note, columns, rows)


def official_sheet(study: Study) -> Sheet:
    """The official split of the Silverbox, all three of its numbers, and those of others."""
    assert study.official is not None
    tests = list(study.official.tests)
    titles = {"arrow full": "full arrow", "arrow no-extrapolation": "no extrapolation"}
    columns = [*_HEAD, *(Column(titles.get(name, name), "RMSE (mV)") for name in tests)]
    columns += [Column("power"), Column("terms"), Column("time")]
    rows = []
    for row in study.official_rows:
        cells = [*_head(row)]
        for name in tests:
            cells.append(_millivolts(row, row.score(test=name) if row.scores else row.score()))
        cells.append(NOTHING if row.error else f"{row.power:.2g}")
        cells.append(NOTHING if row.error else f"{row.n_terms:g}")
        rows.append([*cells, duration(row.seconds)])
    for result in published.SILVERBOX_OFFICIAL:
        values = (result.value, result.no_extrapolation, result.multisine)
        rows.append([result.method, NOTHING, *(number(v, 3) for v in values), *[NOTHING] * 3])
    protocol = study.official.protocol[0].upper() + study.official.protocol[1:]
    note = (
        f"{protocol}. The training means are taken off and put back. Selected chain, MAP, free run."
        " Not comparable with the other tables."
    )
    return Sheet("Official split", note, columns, rows)


def results(study: Study) -> list[tuple[str, str, Result]]:
    """What others reached, and we, chosen by validation: whose it is, of which data, its result."""
    case = study.plan.case
    if case == ACADEMIC:
        return []
    theirs = published.SILVERBOX_RECORDS if case == SILVERBOX else published.WAVES_RECORDS
    where = "the real record" if case == WAVES else "as published"
    found = [("theirs", where, result) for result in theirs]
    where = "the paper's split" if case == SILVERBOX else study.benchmark.train.label
    for objective in study.plan.objectives:
        if (own := study.best(objective)) is None:
            continue
        for predictor in ("selected map", "selected fwd"):
            score = own.score(predictor)
            error = score.nmse
            if case == SILVERBOX:
                error = None if score.rmse is None else 1e3 * score.rmse
            label = f"adjoin: {own.setup.label}, {predictor.split()[1].upper()}"
            found.append(("ours", where, Result(label, math.inf if error is None else error)))
    return found


def records_sheet(study: Study) -> Sheet | None:
    """Other methods beside ours."""
    found = results(study)
    if not found:
        return None
    is_silverbox = study.plan.case == SILVERBOX
    if is_silverbox:  # on the same data, so that they have an order
        found = sorted(found, key=lambda item: item[2].value)
    unit = "RMSE, full arrow (mV)" if is_silverbox else "NMSE (%)"
    columns = [Column("method", is_text=True), Column("data", is_text=True), Column(unit)]
    rows = [
        [result.method, where, number(result.value, 3) if result.value < math.inf else "diverges"]
        for _, where, result in found
    ]
    note = "Of ours, for each objective the setup that validation alone chooses."
    if not is_silverbox:
        note += (
            " The others are of the real record, which is not public: theirs and ours are on"
            " different data, and cannot be ranked against each other."
        )
    return Sheet("What others reached", note, columns, rows)


def _head(row: Row) -> tuple[str, str]:
    return row.setup.method, f"{row.setup.expected_terms:g}"


def _error(row: Row, score: Score, places: int) -> str:
    if row.error:
        return "failed"
    return "diverges" if score.nmse is None else number(score.nmse, places)


def _millivolts(row: Row, score: Score) -> str:
    if row.error:
        return "failed"
    return "diverges" if score.rmse is None else number(1e3 * score.rmse, 3)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if math.isnan(seconds):
        return NOTHING
    if seconds < 100.0:
        return f"{seconds:.2g} s" if seconds < 10.0 else f"{seconds:.0f} s"
    return f"{seconds / 60.0:.1f} min" if seconds < 6000.0 else f"{seconds / 3600.0:.2f} h"


def _interval(low: float | None, high: float | None) -> str:
    if low is None or high is None or math.isnan(low):
        return NOTHING
    return f"[{low:+.4f}, {high:+.4f}]".replace("-", "−")


def _holds(found: Parameter) -> str:
    if found.is_inside is None:
        return NOTHING
    return "yes" if found.is_inside else "no"


def _digits(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.4g}".replace("-", "−")


def _symbol(term: str) -> str:
    return "σ" if term == "noise" else term
