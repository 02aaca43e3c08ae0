"""Case study 3: wave forces on a cylinder, where half of the physics is known.

Figures: Table ``cbt_nmse`` of the paper, of the Christchurch Bay Tower, whose record is not public.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from adjoin.cases.case import Case
from adjoin.cases.learning import Curve
from adjoin.cases.measure import DIVERGES
from adjoin.cases.outcome import Study, best_by_validation, coefficients_by_term
from adjoin.cases.published import N_CHAINS, Literature, Result, Scores
from adjoin.cases.setups import ABC, OBJECTIVES, OSA, SIMULATION, Plan, Size, Variant
from adjoin.cases.table_parts import (
    change_cell,
    digits_cell,
    holds_cell,
    posterior_cells,
    short_cell,
)
from adjoin.cases.waves_learning import (
    BLACK_BOX,
    GREY_BOX,
    METHODS,
    RESIDUAL,
    learning_findings,
    learning_section,
)
from adjoin.cases.words import NEAR, SENTENCE, level_of_intervals
from adjoin.datasets import Benchmark, wave_record, waves
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.report.case_parts import Finding, Section
from adjoin.report.sheet import Column, Sheet

WHITE_BOX = 19.463
"""NMSE of Morison's equation on the Christchurch Bay Tower."""

SCORES = {
    (ABC, 20.0, BLACK_BOX): Scores(16.730),
    (ABC, 20.0, RESIDUAL): Scores(14.600),
    (ABC, 20.0, GREY_BOX): Scores(13.730),
}
"""Table ``cbt_nmse``: the rest is in a figure only."""

RECORDS = (
    Result("Morison's equation (white box)", WHITE_BOX),
    Result("the paper, method 1 (black box), MPO", 16.730),
    Result("the paper, method 2 (residual), MPO", 14.600),
    Result("the paper, method 3 (grey-box TAG), MPO", 13.730),
    Result("polynomial NARMAX (Worden 2001)", 21.430),
    Result("GP-NARX (Worden 2018)", 19.520),
    Result("Morison's equation + GP-NARX (Pitchforth 2021)", 13.840),
)
"""Table ``cbt_nmse`` whole."""

_INITIAL_MODE = {BLACK_BOX: None, RESIDUAL: "residual", GREY_BOX: "joint"}
_CURVE_SIZES, _CURVE_RATE = (100, 200, 350, 600, 1000), 5.0  # training samples, λ_t
_FITS = {OSA: "One-step fits", SIMULATION: "Simulation fits", ABC: "ABC fits"}
_ENOUGH = 0.15  # relative: what a grey box has to gain on the white one
_GAIN = 0.05  # relative: below, two errors are as good as the same
_LIKE_THE_PAPER = 18.0, 21.0  # percent: NMSE of the white box on a sea that imitates the real one

SYNTHETIC = (
    "The sea is synthetic. The Christchurch Bay Tower record is not public; these data imitate its"
    " physics, so that figures of the paper stand beside ours for orientation only."
)
_WHY_METHODS = (
    "Method 1 knows nothing of the physics. Method 2 fits Morison's equation first and learns"
    " what it leaves. Method 3 keeps Morison's terms in every model and learns all coefficients"
    " together."
)
_WHY_SEA = (
    "On the real record the paper finds that models trained one step ahead lean on the last"
    " measured force, and that few of them beat the white box in a free run. In this sea, what"
    " Morison's equation lacks, the memory of the wake and the way from the meter to the axis, is"
    " a matter of past velocities, which a free run has too: there is less to lean on."
)
_WHY_CONSTANTS = (
    "With lagged velocities and forces beside them, Morison's two terms share the force with"
    " what is correlated with them: the two coefficients lose their meaning as drag and inertia."
)


class Waves(Case):
    """What is gained where physics and data work together; a synthetic sea or a user's record."""

    def make_benchmark(self, plan: Plan) -> Benchmark:
        """A sea of the plan's seed, or the user's record."""
        return waves(plan.seed) if plan.data is None else wave_record(plan.data)

    def title_of(self, plan: Plan) -> str:
        """A synthetic sea is called so."""
        return f"{self.title}, on a synthetic sea" if plan.data is None else self.title

    def unit_of(self, plan: Plan) -> str:
        """Of a user's own record it is not known."""
        return self.unit if plan.data is None else ""

    def warnings(self, plan: Plan) -> tuple[str, ...]:
        """A synthetic sea is no measurement."""
        return (SYNTHETIC,) if plan.data is None else ()

    def why(self, plan: Plan) -> tuple[str, ...]:
        """The methods, the sea, and what becomes of Morison's coefficients."""
        sea = (_WHY_SEA,) if plan.data is None else ()
        return (_WHY_METHODS, *sea, _WHY_CONSTANTS)

    def curve(self, plan: Plan) -> Curve | None:
        """The methods one step ahead, on synthetic seas; a user's record is one sea only."""
        if plan.data is not None or OSA not in plan.objectives:
            return None
        chosen = (variant for variant in self.variants if variant.objective == OSA)
        setups = tuple(variant.setup(_CURVE_RATE, self.size(OSA, False)) for variant in chosen)
        return Curve(setups, _CURVE_SIZES, n_chains=N_CHAINS, seconds=2.0)

    def findings(self, study: Study) -> Iterator[Finding]:
        """The white box; each method against it; what leans on what; what physics is worth."""
        yield from _white_box(study)
        yield from _methods(study)
        yield from _leaning(study)
        yield from _physics_gain(study)
        yield from learning_findings(study.curve)
        yield from _physical_constants(study)

    def sections(self, study: Study) -> list[Section]:
        """The learning curve; Morison's coefficients, alone and beside what was learned."""
        shown = [learning_section(study.curve)] if study.curve else []
        if study.white_box is not None:
            sheet = _constants_sheet(study)
            shown.append(Section("cd", sheet.title, (), [sheet]))
        return shown


def _white_box(study: Study) -> Iterator[Finding]:
    if study.white_box is None or study.white_box[1].nmse is None:
        return
    error = study.white_box[1].nmse
    low, high = _LIKE_THE_PAPER
    yield Finding(
        GOOD if study.plan.data is not None or low <= error <= high else CAUTION,
        f"White box: NMSE {error:.2f} %; in the paper {WHITE_BOX} %",
        "Morison's equation by least squares on the training part; the paper's is of the real"
        " record",
    )


def _methods(study: Study) -> Iterator[Finding]:
    """The methods with each objective, against the white box."""
    if study.white_box is None:
        return
    for objective, words in SENTENCE.items():
        rows = study.usable(objective)
        best = {
            number: row
            for number in METHODS
            if (row := best_by_validation(r for r in rows if r.setup.number == number)) is not None
        }
        if not best:
            continue
        changes = [study.relative_to_white_box(row) for row in best.values()]
        worst = max(math.inf if change is None else change for change in changes)
        said = [DIVERGES if change is None else change_cell(change) for change in changes]
        names = ", ".join(f"{number} ({METHODS[number]})" for number in best)
        rates = ", ".join(f"{row.setup.expected_terms:g}" for row in best.values())
        below = [(study.relative_to_white_box(row) or 0.0) < 0.0 for row in rows]
        yield Finding(
            GOOD if worst <= -_ENOUGH else CAUTION if worst <= 0.0 else POOR,
            f"{words}, error against the white box's: {', '.join(said)}",
            f"methods {names}; λ_t = {rates}, chosen by validation; {sum(below)} of {len(rows)}"
            " setups are below the white box",
        )


def _leaning(study: Study) -> Iterator[Finding]:
    """Whether grey boxes lean on measured outputs: their error one step ahead and in a free run."""
    for objective, words in _FITS.items():
        best = best_by_validation(
            row for row in study.usable(objective) if row.setup.number != BLACK_BOX
        )
        if best is None:
            continue
        ahead = best.one_step.nmse if best.one_step is not None else None
        free = best.score().nmse
        if free is None or ahead is None:
            yield Finding(POOR, f"{words}: the free run diverges", best.setup.label)
            continue
        is_leaning = free > NEAR * ahead
        yield Finding(
            CAUTION if is_leaning else GOOD,
            f"{words} {'lean' if is_leaning else 'do not lean'} on the measured force: NMSE"
            f" {ahead:.1f} % one step ahead, {free:.1f} % in a free run",
            f"{best.setup.label}, chosen by validation",
        )


def _physics_gain(study: Study) -> Iterator[Finding]:
    """Whether knowing the physics helps: the grey box against the black one, by validation."""
    usable = study.usable()
    grey = best_by_validation(row for row in usable if row.setup.number != BLACK_BOX)
    black = best_by_validation(row for row in usable if row.setup.number == BLACK_BOX)
    if grey is None or black is None:
        return
    errors = [row.score().nmse for row in (grey, black)]
    grey_error, black_error = (math.inf if error is None else error for error in errors)
    is_better = grey_error < (1.0 - _GAIN) * black_error
    said = [DIVERGES if error is None else f"{error:.2f} %" for error in errors]
    printed = [SCORES[ABC, 20.0, number].selected_map for number in (GREY_BOX, BLACK_BOX)]
    yield Finding(
        GOOD if is_better else CAUTION if grey_error < math.inf else POOR,
        f"The grey box {'beats' if is_better else 'is no better than'} the black box here:"
        f" {' against '.join(said)}",
        f"{grey.setup.label}, and {black.setup.label}, chosen by validation; in the paper,"
        f" on the real record, {' against '.join(f'{value:.2f}' for value in printed)} %",
    )


def _physical_constants(study: Study) -> Iterator[Finding]:
    """Whether what Method 3 learns of Morison's coefficients are the true ones."""
    learned = [
        parameter
        for row in study.rows
        if row.setup.number == GREY_BOX
        for parameter in row.parameters
        if parameter.term in study.benchmark.constants
    ]
    if learned:
        n_in = sum(parameter.is_inside is True for parameter in learned)
        off = [abs(p.mean / p.truth - 1.0) for p in learned if p.truth]
        yield Finding(
            level_of_intervals(n_in, len(learned)),
            f"Method 3: {n_in} of {len(learned)} intervals of 95 % hold the true Cd' or Cm'",
            f"their means are off by {100.0 * float(np.median(off)):.0f} % (median): beside lagged"
            " terms they are no measurement of drag and inertia",
        )


def _constants_sheet(study: Study) -> Sheet:
    assert study.white_box is not None
    alone = coefficients_by_term(study.white_box[0])
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
        for parameter in row.parameters:
            if row.setup.number != GREY_BOX or parameter.term not in alone:
                continue
            mean, _, interval = posterior_cells(parameter)
            off = None if parameter.truth is None else parameter.mean / parameter.truth - 1.0
            rows.append(
                [
                    OBJECTIVES[row.setup.objective],
                    short_cell(row.setup.expected_terms),
                    f"{names.get(parameter.term, '')} of {parameter.term}",
                    digits_cell(parameter.truth),
                    digits_cell(alone[parameter.term]),
                    mean,
                    interval,
                    change_cell(off),
                    holds_cell(parameter),
                ]
            )
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


def _variants() -> Iterator[Variant]:
    for number, name in METHODS.items():
        settings = {"number": number, "initial_mode": _INITIAL_MODE[number]}
        method = f"method {number}, {name}"
        yield Variant(f"{method}, OSA", OSA, (0.2, 0.2, 0.3), settings)
        yield Variant(f"{method}, simulation", SIMULATION, (8.0, 11.0, 22.0), settings)
        yield Variant(f"{method}, ABC", ABC, (5.5, 7.0, 14.0), settings)


CASE = Waves(
    name="waves",
    title="Case study 3: wave loading",
    variants=tuple(_variants()),
    sizes={OSA: Size(30_000, 10), SIMULATION: Size(10_000, 10), ABC: Size(60_000, 10)},
    quick_sizes={SIMULATION: Size(3_000, 10, 0.3), ABC: Size(15_000, 10, 1 / 4)},
    takes_data=True,
    n_draws=400,
    scoring_seconds=0.8,
    unit="kN/m",
    places=2,
    scores=SCORES,
    white_box_name="Morison",
    white_box_nmse=WHITE_BOX,
    literature=Literature(
        RECORDS,
        data="the real record",
        note="The others are of the real record, which is not public: theirs and ours are on"
        " different data, and cannot be ranked against each other.",
    ),
)
