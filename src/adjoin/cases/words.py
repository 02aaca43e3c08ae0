"""What a case shows, in words: warnings, findings, and the command that makes it again.

Receives a `Study`; gives findings with a level, each made of the figures of this run. Those of one
case come from its `Case`, which takes the limits from here, so that words mean the same everywhere.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from adjoin.cases.case import case_of
from adjoin.cases.outcome import Study
from adjoin.cases.setups import ABC, OBJECTIVES, OSA, SIMULATION, Plan
from adjoin.cases.table_parts import duration
from adjoin.levels import CAUTION, GOOD
from adjoin.report.case_parts import Finding
from adjoin.report.sheet import NOTHING
from adjoin.text import percent

NEAR = 1.25
"""Times an error: up to this, as good as the same."""


def at_head(words: str) -> str:
    """Words at the head of a sentence."""
    return words[0].upper() + words[1:]


SENTENCE = {name: at_head(words) for name, words in OBJECTIVES.items()}
"""An objective at the head of a sentence."""

_ABOUT = {
    OSA: "OSA judges models one step ahead, from measured outputs.",
    SIMULATION: "Simulation judges them by the likelihood of their free run, with noise on the"
    " measured output; the paper does not have it.",
    ABC: "ABC judges them by how near their free run comes to the measured output: the paper's"
    " MPO.",
}

_FEW_MISSES = 0.05  # of 95 % intervals
_WHY_LADDER = (
    "By the paper's rule the tolerance of ABC ends where luck leaves it: some chains"
    " freeze at one so wide that models with too few terms are the likelier ones. The default"
    " rule sets it to what noise makes of a good model, and proposes coefficients from free-run"
    " fits."
)


def about_objectives(plan: Plan) -> str:
    """How models are judged by the objectives that are run."""
    return " ".join(_ABOUT[name] for name in plan.objectives)


def why_ladder(plan: Plan) -> tuple[str, ...]:
    """Why ABC by the paper's rule differs from ABC by the default one, if there are any."""
    return (_WHY_LADDER,) if ABC in plan.objectives else ()


def warnings_of(study: Study) -> list[str]:
    """What must not be overlooked."""
    plan, case = study.plan, case_of(study.plan)
    warnings = list(case.warnings(plan))
    if shortened := case.shortened(plan):
        warnings.append(f"A quick run, not the paper's: {'; '.join(shortened)}.")
    if not study.is_complete:
        n_all = len(case.all_setups(plan))
        warnings.append(f"It was stopped after {len(study.all_rows)} of {n_all} setups.")
    warnings += [f"{row.setup.label} could not be run: {row.error}" for row in study.failed]
    for row in study.all_rows:
        if 0 < row.n_chains < plan.n_chains:
            warnings.append(
                f"{row.setup.label}: only {row.n_chains} of {plan.n_chains} chains count; the"
                " notes in case.json say why the others were left out."
            )
        if row.diverged or row.pooled_diverged:
            warnings.append(
                f"{row.setup.label}: {percent(row.diverged)} of the selected chain's draws run away"
                f" on the test set ({percent(row.pooled_diverged)} of all chains'); FWD and bands"
                " are of the others."
            )
    return warnings


def findings(study: Study) -> list[Finding]:
    """Every finding that this run has the rows for."""
    return [*case_of(study.plan).findings(study), *_speed(study)]


def _speed(study: Study) -> Iterator[Finding]:
    case = case_of(study.plan)
    for objective, words in SENTENCE.items():
        pairs = [
            (row.seconds, hours)
            for row in study.usable(objective)
            if (hours := case.printed(row.setup).hours) is not None and row.seconds > 0.0
        ]
        if not pairs or study.plan.is_quick:
            continue
        times = float(np.median([3600.0 * hours / seconds for seconds, hours in pairs]))
        median = float(np.median([seconds for seconds, _ in pairs]))
        yield Finding(
            GOOD,
            f"{words}: {duration(median)} per chain, {_rough(times)} times as fast as in the paper",
            "median over the setups, one core each; the paper does not name its machine",
        )


def _rough(value: float) -> str:
    digits = 10 ** max(math.floor(math.log10(value)) - 1, 0) if value >= 1.0 else 1
    return f"{digits * round(value / digits):,}" if value >= 10.0 else f"{value:.1f}"


def level_of_intervals(n_holding: int, n_intervals: int) -> str:
    """Whether as many intervals of 95 % hold the truth as should."""
    return GOOD if n_holding >= (1.0 - _FEW_MISSES) * n_intervals else CAUTION


def span(values: Sequence[float], style: str = ".3f") -> str:
    """From the smallest to the largest: ``0.397 to 0.442``."""
    if not values:
        return NOTHING
    low, high = (format(value, style) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def command_of(plan: Plan, out: str = "") -> str:
    """The command that makes the study again."""
    parts = [f"adjoin case {plan.case}", f"--objective {','.join(plan.objectives)}"]
    parts.append(f"--lambda-t {','.join(map(_exact, plan.term_rates))}")
    parts.append(f"--chains {plan.n_chains}")
    parts += ["--quick"] * plan.is_quick
    parts += [f"--curve {plan.curve}"] * (plan.curve is not None)
    parts.append(f"--seed {plan.seed}")
    if plan.data is not None:
        parts.append(f"--data {shlex.quote(str(plan.data))}")
    return " ".join([*parts, *([f"--out {shlex.quote(out)}"] if out else [])])


def _exact(value: float) -> str:
    """As short as reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
