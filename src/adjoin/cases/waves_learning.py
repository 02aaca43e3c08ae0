"""The learning curve of the waves: where knowing the physics pays, and where data catch up.

Receives the points of `learning`; gives words, a table and a picture for the page.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from adjoin.cases.learning import WHITE_BOX, Level, Point, levels, n_better
from adjoin.cases.measure import DIVERGES
from adjoin.cases.table_parts import count_cell
from adjoin.levels import CAUTION, GOOD
from adjoin.report.case_parts import Drawing, Drawn, Finding, Section
from adjoin.report.sheet import Column, Sheet

BLACK_BOX, RESIDUAL, GREY_BOX = 1, 2, 3
METHODS = {BLACK_BOX: "black box", RESIDUAL: "residual", GREY_BOX: "grey-box TAG"}
"""The paper's methods by number."""

_NAMES = {WHITE_BOX: "white box"} | {n: f"{name} ({n})" for n, name in METHODS.items()}
_MOST = 0.8  # of the seas: as many have to agree; by luck alone 8 of 10 do so in one of 18 cases
_TITLE = "Learning curve"


def learning_findings(points: Sequence[Point]) -> Iterator[Finding]:
    """From how many samples on data beat the physics, and up to how many physics helps them."""
    if not points:
        return
    level_of = {(level.n_train, level.number): level for level in levels(points)}
    sizes = list(dict.fromkeys(n_train for n_train, _ in level_of))
    n_seas = level_of[sizes[0], BLACK_BOX].n_seeds
    gains = {n: n_better(points, n, GREY_BOX, BLACK_BOX) for n in sizes}
    paying = [n for n in sizes if gains[n] >= _MOST * n_seas]
    counts = "; ".join(f"{_errors(level_of, n)} with {n:,} samples" for n in (sizes[0], sizes[-1]))
    won = ", ".join(str(gains[n]) for n in sizes)
    reason = (
        f"method 3 against method 1 on the test set, median of {n_seas} seas: {counts}; method 3"
        f" errs less in {won} of {n_seas} seas with {_listed(sizes)} samples"
    )
    if paying:
        later = [n for n in sizes if n > paying[-1]]
        until = f"; from {later[0]:,} on the black box has caught up" if later else ""
        said = f"Knowing the physics pays with {_listed(paying)} samples{until}"
        yield Finding(GOOD, said, reason)
    else:
        yield Finding(CAUTION, f"Knowing the physics pays at no size from {sizes[0]:,} on", reason)
    ahead = [n for n in sizes if n_better(points, n, BLACK_BOX, WHITE_BOX) >= _MOST * n_seas]
    if ahead:
        since = (
            "at every size tried" if ahead == sizes else f"from {ahead[0]:,} training samples on"
        )
        yield Finding(
            GOOD,
            f"Data alone beat Morison's equation {since}",
            f"method 1 errs less than the white box in"
            f" {n_better(points, ahead[0], BLACK_BOX, WHITE_BOX)} of {n_seas} seas with"
            f" {ahead[0]:,} samples",
        )


def _errors(level_of: dict[tuple[int, int], Level], n_train: int) -> str:
    grey, black = (level_of[n_train, number].median for number in (GREY_BOX, BLACK_BOX))
    return f"{_said(grey)} against {_said(black)} %"


def _said(error: float) -> str:
    return f"{error:.1f}" if math.isfinite(error) else DIVERGES


def _listed(sizes: Sequence[int]) -> str:
    """``100, 200 and 350``."""
    *first, last = (f"{size:,}" for size in sizes)
    return f"{', '.join(first)} and {last}" if first else last


def learning_section(points: Sequence[Point]) -> Section:
    """The picture and the table."""
    sheet = _sheet(points)
    drawing = Drawing("learning", "Error by training samples", lambda width: _draw(points, width))
    return Section("learning", sheet.title, (), [sheet], [drawing])


def _sheet(points: Sequence[Point]) -> Sheet:
    level_of = {(level.n_train, level.number): level for level in levels(points)}
    sizes = list(dict.fromkeys(n_train for n_train, _ in level_of))
    n_seas = level_of[sizes[0], WHITE_BOX].n_seeds
    columns = [Column("samples")]
    columns += [Column(name, "free-run NMSE (%)") for name in _NAMES.values()]
    pairs = {"3 beats 1": (GREY_BOX, BLACK_BOX), "1 beats white": (BLACK_BOX, WHITE_BOX)}
    columns += [Column(name, "seas") for name in pairs]
    rows = []
    for n in sizes:
        cells = [f"{n:,}", *(_cell(level_of[n, number]) for number in _NAMES)]
        cells += [count_cell(n_better(points, n, *pair), n_seas) for pair in pairs.values()]
        rows.append(cells)
    note = (
        f"Median over {n_seas} synthetic seas, and quartiles: the MAP model's free run on the 1,000"
        " test samples of each sea, fitted one step ahead to its first training samples, λ_t = 5."
        " Nothing is chosen by validation. Seas: in how many the one method errs less than the"
        " other. Every value, one step ahead as well, is in learning.csv."
    )
    return Sheet(_TITLE, note, columns, rows)


def _cell(level: Level) -> str:
    diverged = f", {level.n_diverged} diverge" if level.n_diverged else ""
    return f"{_said(level.median)} [{_said(level.low)}, {_said(level.high)}]{diverged}"


def _draw(points: Sequence[Point], width: float) -> Drawn:
    from adjoin.report.plots_learning import LearningLine, plot_learning

    lines = []
    for number, name in _NAMES.items():
        found = [level for level in levels(points) if level.number == number]
        lines.append(
            LearningLine(
                name,
                [level.n_train for level in found],
                [level.median for level in found],
                [level.low for level in found],
                [level.high for level in found],
                is_baseline=number == WHITE_BOX,
            )
        )
    return plot_learning(lines, unit="free-run NMSE (%)", width=width)
