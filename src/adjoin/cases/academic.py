"""Case study 1: the academic system, simulated, so that the true equation is known.

Figures: Tables ``cs1`` and ``cs1params`` of the paper, of other draws of the same system.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from adjoin.cases.case import Case
from adjoin.cases.outcome import NOISE, Study, coefficients_by_term
from adjoin.cases.published import N_CHAINS, Estimate, Scores
from adjoin.cases.setups import ABC, OSA, SIMULATION, Plan, Size, Variant
from adjoin.cases.table_parts import holds_cell, interval_cell, term_cell
from adjoin.cases.words import NEAR, at_head, level_of_intervals, why_ladder
from adjoin.datasets import Benchmark, academic
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.report.case_parts import Drawing, Drawn, Finding, Section
from adjoin.report.sheet import NOTHING, Column, Sheet, number

SCORES = {
    (OSA, 1.0, 0): Scores(1.154, 1.166, 1.154, 1.160, 0.04, 3, 0.747),
    (OSA, 5.0, 0): Scores(1.154, 1.166, 1.154, 1.165, 0.03, 4, 0.987),
    (OSA, 20.0, 0): Scores(1.155, 1.168, 1.155, 1.174, 0.05, 3, 0.678),
    (ABC, 1.0, 0): Scores(3.218, 2.667, 4.046, 2.165, 0.64, 0, 0.000),
    (ABC, 5.0, 0): Scores(1.154, 1.164, 3.173, 1.748, 0.71, 1, 0.254),
    (ABC, 20.0, 0): Scores(1.159, 1.171, 1.156, 1.445, 0.83, 1, 0.228),
}
"""Table ``cs1``."""

TABLE_RATE = 5.0
"""λ_t of Table ``cs1params``."""

PARAMETERS = {
    (OSA, TABLE_RATE, "u(k-1)"): Estimate(0.5024, 0.4847, 0.5196),
    (OSA, TABLE_RATE, "u(k-5)^3"): Estimate(-0.3011, -0.3062, -0.2958),
    (OSA, TABLE_RATE, "y(k-1)"): Estimate(0.2961, 0.2827, 0.3088),
    (OSA, TABLE_RATE, NOISE): Estimate(0.1752, 0.1682, 0.1829),
    (ABC, TABLE_RATE, "u(k-1)"): Estimate(0.5070, 0.4776, 0.5333),
    (ABC, TABLE_RATE, "u(k-5)^3"): Estimate(-0.3023, -0.3111, -0.2930),
    (ABC, TABLE_RATE, "y(k-1)"): Estimate(0.2924, 0.2699, 0.3151),
    (ABC, TABLE_RATE, NOISE): Estimate(0.1663),
}
"""Table ``cs1params``; the noise is σ_ε, of their data 0.1561."""

_PAPER: dict[str, Any] = {"prior": "paper"}
_MOST = 11.0 / 12.0  # of the chains: as many as have to find the truth
_WHY = (
    "The paper's noise prior has β = 1.0 in the unit of the data, which counts as a sum of"
    " squares of 2 and widens σ; the default prior is weak relative to the output's variance."
)


class Academic(Case):
    """Whether the true equation is found, and whether intervals hold its coefficients."""

    def make_benchmark(self, plan: Plan) -> Benchmark:
        """Data of the plan's seed."""
        return academic(plan.seed)

    def why(self, plan: Plan) -> tuple[str, ...]:
        """The noise prior, and the tolerance of ABC."""
        return (_WHY, *why_ladder(plan))

    def findings(self, study: Study) -> Iterator[Finding]:
        """The truth, method by method; the intervals; the error against what noise makes."""
        yield from _truth_found(study)
        yield from _intervals(study)
        yield from _error_against_noise(study)

    def sections(self, study: Study) -> list[Section]:
        """The coefficients of every method beside the true and the paper's."""
        sheet = _parameter_sheet(study)
        title = "Coefficients with 95 % intervals"
        drawing = Drawing("intervals", title, lambda width: _draw_intervals(study, width))
        return [Section("parameters", sheet.title, (), [sheet], [drawing])]


def _truth_found(study: Study) -> Iterator[Finding]:
    for method, rows in study.by_method().items():
        n_found = sum(row.n_recovered or 0 for row in rows)
        n_chains = sum(row.n_chains for row in rows)
        printed = [CASE.printed(row.setup).n_recovered for row in rows]
        known = [n for n in printed if n is not None]
        paper = f"; the paper: {sum(known)} of {N_CHAINS * len(known)}" if known else ""
        share = n_found / n_chains
        masses = ", ".join(f"{row.mass:.3f}" for row in rows)
        rates = ", ".join(f"{row.setup.expected_terms:g}" for row in rows)
        yield Finding(
            GOOD if share >= _MOST else CAUTION if share >= 0.5 else POOR,
            f"{at_head(method)}: the true equation in {n_found} of {n_chains} chains{paper}",
            f"mean mass of the true structure {masses} for λ_t = {rates}",
        )


def _intervals(study: Study) -> Iterator[Finding]:
    """Whether coefficients' intervals hold the truth, where the truth's structure was visited."""
    for method, rows in study.by_method().items():
        is_inside = [
            parameter.is_inside
            for row in rows
            if row.is_given_truth
            for parameter in row.parameters
            if not parameter.is_noise and parameter.is_inside is not None
        ]
        if is_inside:
            # The rows share their data, so that one coefficient off is off in all of them.
            n_in, n_all = sum(is_inside), len(is_inside)
            yield Finding(
                level_of_intervals(n_in, n_all),
                f"{at_head(method)}: {n_in} of {n_all} intervals of 95 % hold the true coefficient",
            )


def _error_against_noise(study: Study) -> Iterator[Finding]:
    """The NMSE of the selected model, and that of the true system itself, in percent."""
    noise_sd, best = study.benchmark.noise_sd, study.best()
    if noise_sd is None or best is None:
        return
    floor = 100.0 * noise_sd**2 / float(np.var(study.benchmark.test.y))
    error = best.score().nmse
    printed = min(scores.selected_map for scores in SCORES.values() if scores.selected_map)
    reason = (
        f"{best.setup.label}, which validation chose; the paper's best is {printed:.3f} %, on other"
        " draws of the same system"
    )
    if error is None:
        yield Finding(POOR, "The free run diverges on the test set", reason)
        return
    yield Finding(
        GOOD if error < NEAR * floor else CAUTION,
        f"Test NMSE {error:.3f} %; the noise alone makes {floor:.3f} %",
        reason,
    )


def _shown_rate(study: Study) -> float:
    """λ_t of the table of parameters: the paper's, or the first there is."""
    rates = study.plan.term_rates
    return TABLE_RATE if TABLE_RATE in rates else rates[0]


def _parameter_sheet(study: Study) -> Sheet:
    rate = _shown_rate(study)
    columns = [
        Column("method", is_text=True),
        Column("term", is_text=True),
        Column("true"),
        Column("mean", "ours"),
        Column("95 % interval", "ours"),
        Column("holds", "ours"),
        Column("mean", "paper", is_theirs=True),
        Column("95 % interval", "paper", is_theirs=True),
    ]
    rows = []
    for row in study.rows:
        if row.setup.expected_terms != rate:
            continue
        for parameter in row.parameters:
            printed = PARAMETERS.get((row.setup.objective, rate, parameter.term))
            rows.append(
                [
                    row.setup.method,
                    term_cell(parameter),
                    number(parameter.truth, 4),
                    number(parameter.mean, 4),
                    interval_cell(parameter.low, parameter.high),
                    holds_cell(parameter),
                    number(printed.mean if printed else None, 4),
                    interval_cell(printed.low, printed.high) if printed else NOTHING,
                ]
            )
    note = (
        f"Selected chain, λ_t = {rate:g}, given the true structure where it was visited; whether"
        " the interval holds the truth. σ of a"
        " one-step fit is that of its residuals, which hold the measurement noise twice (ε(k)"
        " − 0.3 ε(k−1): 1.044 times its σ); of a simulation fit it is that of the measurement"
        " noise; of ABC it is implied by the tolerance and has no interval. The paper's data were"
        " other draws, with σ = 0.1561."
    )
    return Sheet("Parameters", note, columns, rows)


def _draw_intervals(study: Study, width: float) -> Drawn:
    """For every true term its intervals by method, and the paper's."""
    from adjoin.report.plots_case import Interval, plot_intervals

    truth = study.benchmark.truth
    assert truth is not None
    rows = [row for row in study.usable() if row.setup.expected_terms == _shown_rate(study)]
    panels = []
    for term, value in coefficients_by_term(truth).items():
        intervals = [
            Interval(row.setup.method, parameter.mean, parameter.low, parameter.high)
            for row in rows
            for parameter in row.parameters
            if parameter.term == term
        ]
        for objective, name in ((OSA, "the paper, OSA"), (ABC, "the paper, MPO")):
            printed = PARAMETERS[objective, TABLE_RATE, term]
            if objective in study.plan.objectives:
                intervals.append(Interval(name, printed.mean, printed.low, printed.high, True))
        panels.append((term, value, intervals))
    return plot_intervals(panels, width=width)


CASE = Academic(
    name="academic",
    title="Case study 1: the academic system",
    variants=(
        Variant("OSA, paper's prior", OSA, (0.1, 0.1, 0.1), _PAPER),
        Variant("OSA, default prior", OSA, (0.1, 0.1, 0.1)),
        Variant("simulation", SIMULATION, (2.0, 2.0, 3.0)),
        Variant("ABC, paper's rule", ABC, (2.0, 2.5, 3.4), {**_PAPER, "rule": "paper"}),
        Variant("ABC, default rule", ABC, (2.8, 3.4, 6.5)),
    ),
    sizes={OSA: Size(30_000, 10), SIMULATION: Size(10_000, 10), ABC: Size(60_000, 10)},
    quick_sizes={ABC: Size(20_000, 10, 1 / 3)},
    scoring_seconds=0.3,
    scores=SCORES,
    parameters=PARAMETERS,
)
