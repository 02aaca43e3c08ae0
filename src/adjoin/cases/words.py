"""What a case shows, in words: what is reproduced, what differs from the paper, and why.

Receives a `Study`; gives findings with a level, each made of the figures of this run.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from adjoin.cases import published
from adjoin.cases.setups import ABC, ACADEMIC, OSA, SILVERBOX, WAVES, Plan
from adjoin.cases.study import Row, Study
from adjoin.cases.tables import duration, printed, relative_to_white_box
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.report.case_page import Finding
from adjoin.text import percent

_MOST = 11.0 / 12.0  # of the chains: as many as have to find the truth
_NEAR = 1.25  # times the paper's error: as good as the same
_FEW_MISSES = 0.05  # of 95 % intervals
_ENOUGH = 0.15  # relative: what a grey box has to gain on the white one
_GAIN = 0.05  # relative: below, two errors are as good as the same
_RECORD = 0.26  # mV: the best published model of the Silverbox

_TITLES = {
    ACADEMIC: "Case study 1: the academic system",
    SILVERBOX: "Case study 2: the Silverbox",
    WAVES: "Case study 3: wave loading",
}
SYNTHETIC = (
    "The sea is synthetic. The Christchurch Bay Tower record is not public; these data imitate its"
    " physics, so that figures of the paper stand beside ours for orientation only."
)
_WHY_ACADEMIC = (
    "The paper's noise prior has β = 1.0 in the unit of the data, which counts as a sum of"
    " squares of 2 and widens σ; the default prior is weak relative to the output's variance."
)
_WHY_LADDER = (
    "By the paper's rule the tolerance of a free run ends where luck leaves it: some chains"
    " freeze at one so wide that models with too few terms are the likelier ones. The default"
    " rule sets it to what noise makes of a good model, and proposes coefficients from free-run"
    " fits."
)
_WHY_SILVERBOX = (
    "The printed noise prior, β = 1.0 in volts squared, forces σ to about 5 mV, where a good"
    " free run is off by 0.2 mV, and stops at a few terms. The paper does not say its units. With"
    " β = 1e-2 number of terms and error come into the neighbourhood of what it reports; the"
    " default prior, weak relative to the output's variance, allows more terms from as many"
    " samples.",
    "The training signal reaches 216 mV and the arrow 301 mV: the error on the full arrow is"
    " decided by extrapolation, that on its first 32,000 samples is not. Validation, on the"
    " multisine, does not see it.",
    "Residuals of a real rig are not independent. Likelihood power auto counts them for what"
    " they are worth.",
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


def why(plan: Plan) -> tuple[str, ...]:
    """Why figures differ from the paper's, as far as a plan can show it."""
    ladder = (_WHY_LADDER,) if ABC in plan.objectives else ()
    if plan.case == ACADEMIC:
        return (_WHY_ACADEMIC, *ladder)
    if plan.case == SILVERBOX:
        return (*_WHY_SILVERBOX, *ladder)
    sea = (_WHY_SEA,) if plan.data is None else ()
    return (_WHY_METHODS, *sea, _WHY_CONSTANTS)


def title_of(plan: Plan) -> str:
    """What the case is called; a synthetic sea is called so."""
    is_synthetic = plan.case == WAVES and plan.data is None
    return f"{_TITLES[plan.case]}{', on a synthetic sea' if is_synthetic else ''}"


def warnings_of(study: Study) -> list[str]:
    """What must not be overlooked."""
    plan = study.plan
    found = []
    if plan.case == WAVES and plan.data is None:
        found.append(SYNTHETIC)
    if plan.shortened:
        found.append(f"A quick run, not the paper's: {'; '.join(plan.shortened)}.")
    if not study.is_complete:
        n_all = len(plan.setups) + len(plan.official_setups)
        found.append(f"It was stopped after {len(study.every_row)} of {n_all} setups.")
    found += [f"{row.setup.label} could not be run: {row.error}" for row in study.failed]
    for row in study.every_row:
        if row.diverged or row.pooled_diverged:
            found.append(
                f"{row.setup.label}: {percent(row.diverged)} of the selected chain's draws diverge"
                f" on the test set ({percent(row.pooled_diverged)} of all chains'); FWD and bands"
                " are of the others."
            )
    return found


def findings(study: Study) -> list[Finding]:
    """Every finding that this run has the rows for."""
    own = {ACADEMIC: _academic, SILVERBOX: _silverbox, WAVES: _waves}[study.plan.case]
    return [*own(study), *_speed(study)]


def _rows(study: Study, objective: str, method: str = "") -> list[Row]:
    return [
        row
        for row in study.rows
        if not row.error and row.setup.objective == objective and method in row.setup.method
    ]


def _academic(study: Study) -> Iterator[Finding]:
    for objective, methods in (
        (OSA, ("OSA, paper's prior", "OSA, default prior")),
        (ABC, ("free run, paper's rule", "free run, default rule")),
    ):
        for method in methods:
            rows = _rows(study, objective, method)
            if not rows:
                continue
            n_found = sum(row.n_recovered or 0 for row in rows)
            n_chains = sum(row.n_chains for row in rows)
            theirs = [printed(study, row.setup).n_recovered for row in rows]
            known = [n for n in theirs if n is not None]
            paper = (
                f"; the paper: {sum(known)} of {published.N_CHAINS * len(known)}" if known else ""
            )
            share = n_found / n_chains
            level = GOOD if share >= _MOST else CAUTION if share >= 0.5 else POOR
            masses = ", ".join(f"{row.mass:.3f}" for row in rows)
            rates = ", ".join(f"{row.setup.expected_terms:g}" for row in rows)
            yield Finding(
                level,
                f"{method}: the true equation in {n_found} of {n_chains} chains{paper}",
                f"mean mass of the true structure {masses} for λ_t = {rates}",
            )
    yield from _intervals(study)
    floor = _noise_floor(study)
    if floor is not None and (best := study.best()) is not None:
        error = best.score().nmse
        level = GOOD if error is not None and error < _NEAR * floor else CAUTION
        yield Finding(
            POOR if error is None else level,
            f"Test NMSE {error:.3f} %; the noise alone makes {floor:.3f} %"
            if error is not None
            else "The free run diverges on the test set",
            f"{best.setup.label}, which validation chose; the paper's best is 1.154 %, on other"
            " draws of the same system",
        )


def _noise_floor(study: Study) -> float | None:
    """The NMSE of the true system itself, in percent."""
    sd = study.benchmark.noise_sd
    if sd is None:
        return None
    y = study.benchmark.test.y
    return 100.0 * sd**2 / float(np.var(y))


def _intervals(study: Study) -> Iterator[Finding]:
    """Whether coefficients' intervals hold the truth, where the truth's structure was visited."""
    for method in dict.fromkeys(row.setup.method for row in study.rows):
        inside = [
            found.is_inside
            for row in study.rows
            if row.setup.method == method and row.is_given_truth
            for found in row.parameters
            if found.term != "noise" and found.is_inside is not None
        ]
        if not inside:
            continue
        n_in, n_all = sum(inside), len(inside)
        # The rows share their data, so that one coefficient off is off in all of them.
        level = GOOD if n_in >= (1.0 - _FEW_MISSES) * n_all else CAUTION
        yield Finding(
            level, f"{method}: {n_in} of {n_all} intervals of 95 % hold the true coefficient"
        )


def _silverbox(study: Study) -> Iterator[Finding]:
    for method, words in (
        ("OSA, paper's prior", "Paper's prior as printed, in volts"),
        ("OSA, paper's with β", "Paper's prior with β = 1e-2"),
        ("OSA, default prior", "Default prior"),
    ):
        if rows := _rows(study, OSA, method):
            printed_rows = [printed(study, row.setup) for row in rows]
            known = [scores.rmse_mv for scores in printed_rows if scores.rmse_mv is not None]
            sizes = [scores.n_terms for scores in printed_rows if scores.n_terms is not None]
            own, n_astray = _errors(rows), sum(row.score().rmse is None for row in rows)
            is_near = not known or (own and float(np.median(own)) <= _NEAR * max(known))
            astray = f"; {n_astray} of {len(rows)} diverge" if n_astray else ""
            terms = _span([row.n_terms for row in rows], "g")
            yield Finding(
                POOR if n_astray else GOOD if is_near else CAUTION,
                f"{words}: {_span(own)} mV, {terms} terms{astray}",
                f"the paper: {_span(known)} mV, {_span(sizes, 'g')} terms" if known else "",
            )
    for objective in (OSA, ABC):
        best = study.best(objective)
        if best is None:
            continue
        error = best.score().rmse
        theirs = min(
            scores.rmse_mv or math.inf
            for (name, _), scores in published.SILVERBOX.items()
            if name == objective
        )
        said = "diverges" if error is None else f"{1e3 * error:.3f} mV"
        yield Finding(
            POOR if error is None else GOOD if 1e3 * error <= theirs else CAUTION,
            f"{'One step ahead' if objective == OSA else 'Free run'}, chosen by validation:"
            f" {said} on the full arrow; the paper's best is {theirs:.3f}",
            f"{best.setup.label}; the best published model has {_RECORD} mV",
        )
    yield from _official(study)


def _official(study: Study) -> Iterator[Finding]:
    """All three numbers of the official split, held against the GP-NARX that has all three."""
    usable = [row for row in study.official_rows if not row.error]
    if not usable:
        return
    best = min(usable, key=lambda row: row.validation)
    errors = [best.score(test=name).rmse for name in best.scores or {}]
    theirs = published.SILVERBOX_OFFICIAL[0]
    limits = (theirs.value, theirs.no_extrapolation, theirs.multisine)
    level = GOOD
    for error, limit in zip(errors, limits, strict=True):
        if error is None:
            level = POOR
        elif limit is not None and 1e3 * error > limit and level == GOOD:
            level = CAUTION
    said = ["diverges" if error is None else f"{1e3 * error:.3f}" for error in errors]
    yield Finding(
        level,
        f"Official split: {' / '.join(said)} mV",
        f"full arrow / no extrapolation / multisine; {best.setup.label}, chosen by validation."
        f" {theirs.method}: {' / '.join(f'{limit:.3f}' for limit in limits)}",
    )


def _waves(study: Study) -> Iterator[Finding]:
    if study.white_box is not None and study.white_box[1].nmse is not None:
        error = study.white_box[1].nmse
        yield Finding(
            GOOD if study.plan.data is not None or 18.0 <= error <= 21.0 else CAUTION,
            f"White box: NMSE {error:.2f} %; in the paper {published.WHITE_BOX} %",
            "Morison's equation by least squares on the training part; the paper's is of the real"
            " record",
        )
    for objective, words in ((OSA, "one step ahead"), (ABC, "free run")):
        for number, name in ((1, "black box"), (2, "residual"), (3, "grey-box TAG")):
            rows = [row for row in _rows(study, objective) if row.setup.number == number]
            changes = [relative_to_white_box(study, row) for row in rows]
            known = [change for change in changes if change is not None]
            if not rows:
                continue
            chosen = min(rows, key=lambda row: row.validation)
            change = relative_to_white_box(study, chosen)
            level = POOR if change is None or change > 0.0 else CAUTION
            if change is not None and change <= -_ENOUGH:
                level = GOOD
            side = "below" if change is not None and change < 0.0 else "above"
            said = "it diverges"
            if change is not None:
                said = f"error {100.0 * abs(change):.0f} % {side} the white box's"
            n_below = sum(value < 0.0 for value in known)
            yield Finding(
                level,
                f"Method {number} ({name}), {words}: {said}",
                f"λ_t = {chosen.setup.expected_terms:g}, chosen by validation; {n_below} of"
                f" {len(rows)} values of λ_t are below the white box",
            )

    yield from _leaning(study)
    yield from _physics_gain(study)
    yield from _physical_constants(study)


def _leaning(study: Study) -> Iterator[Finding]:
    """Whether grey boxes lean on measured outputs: their error one step ahead and in a free run."""
    for objective, words in ((OSA, "One-step fits"), (ABC, "Free-run fits")):
        rows = [row for row in _rows(study, objective) if row.setup.number > 1]
        if not rows:
            continue
        chosen = min(rows, key=lambda row: row.validation)
        ahead = chosen.one_step.nmse if chosen.one_step is not None else None
        free = chosen.score().nmse
        if free is None or ahead is None:
            yield Finding(POOR, f"{words}: the free run diverges", chosen.setup.label)
            continue
        is_leaning = free > _NEAR * ahead
        yield Finding(
            CAUTION if is_leaning else GOOD,
            f"{words} {'lean' if is_leaning else 'do not lean'} on the measured force: NMSE"
            f" {ahead:.1f} % one step ahead, {free:.1f} % in a free run",
            f"{chosen.setup.label}, chosen by validation",
        )


def _physics_gain(study: Study) -> Iterator[Finding]:
    """Whether knowing the physics helps: the grey box against the black one, by validation."""
    usable = [row for row in study.rows if not row.error]
    black = [row for row in usable if row.setup.number == 1]
    grey = [row for row in usable if row.setup.number > 1]
    if not (black and grey):
        return
    chosen = [min(rows, key=lambda row: row.validation) for rows in (grey, black)]
    errors = [row.score().nmse for row in chosen]
    own, other = (math.inf if error is None else error for error in errors)
    is_better = own < (1.0 - _GAIN) * other
    said = ["diverges" if error is None else f"{error:.2f} %" for error in errors]
    yield Finding(
        GOOD if is_better else CAUTION if own < math.inf else POOR,
        f"The grey box {'beats' if is_better else 'is no better than'} the black box here:"
        f" {' against '.join(said)}",
        f"{chosen[0].setup.label}, and {chosen[1].setup.label}, chosen by validation; in the paper,"
        " on the real record, 13.73 against 16.73 %",
    )


def _physical_constants(study: Study) -> Iterator[Finding]:
    """Whether what Method 3 learns of Morison's coefficients are the true ones."""
    found = [
        parameter
        for row in study.rows
        if row.setup.initial_mode == "joint"
        for parameter in row.parameters
        if parameter.term in study.benchmark.constants
    ]
    if found:
        n_in = sum(parameter.is_inside is True for parameter in found)
        off = [abs(p.mean / p.truth - 1.0) for p in found if p.truth]
        yield Finding(
            GOOD if n_in >= (1.0 - _FEW_MISSES) * len(found) else CAUTION,
            f"Method 3: {n_in} of {len(found)} intervals of 95 % hold the true Cd' or Cm'",
            f"their means are off by {100.0 * float(np.median(off)):.0f} % (median): beside lagged"
            " terms they are no measurement of drag and inertia",
        )


def _speed(study: Study) -> Iterator[Finding]:
    for objective, words in ((OSA, "One step ahead"), (ABC, "Free run")):
        rows = _rows(study, objective)
        pairs = [
            (row.seconds, hours)
            for row in rows
            if (hours := printed(study, row.setup).hours) is not None and row.seconds > 0.0
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


def _errors(rows: Sequence[Row]) -> list[float]:
    return [1e3 * error for row in rows if (error := row.score().rmse) is not None]


def _span(values: Sequence[float], style: str = ".3f") -> str:
    if not values:
        return "–"
    low, high = (format(value, style) for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def command_of(plan: Plan, out: str = "") -> str:
    """The command that makes the study again."""
    parts = [f"adjoin case {plan.case}", f"--objective {','.join(plan.objectives)}"]
    parts.append(f"--lambda-t {','.join(map(_exact, plan.term_rates))}")
    parts.append(f"--chains {plan.n_chains}")
    parts += ["--quick"] * plan.is_quick
    parts.append(f"--seed {plan.seed}")
    if plan.data is not None:
        parts.append(f"--data {shlex.quote(str(plan.data))}")
    return " ".join([*parts, *([f"--out {shlex.quote(out)}"] if out else [])])


def _exact(value: float) -> str:
    """As short as reads back as the same number."""
    short = f"{value:g}"
    return short if float(short) == value else repr(value)
