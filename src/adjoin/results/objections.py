r"""What speaks against a run before its simulation does: data or draws that cannot say much.

Receives a `Collection`; gives `Objection`, which ``advice`` puts before everything else. The rules:

- *poor*: fewer fitted samples than five for each term of the equation and each lag of the window;
- *poor*: a learned coefficient that is the same in all draws, to twelve digits;
- *poor*: an output that is an input, now or up to ``max_lag`` samples ago, up to factor and offset;
- *caution*: an input that is another one in the same sense, so that nothing tells them apart;
- *caution*: noise below 1e-7 of the output's standard deviation, which is nearer to rounding than
  to any sensor.

One series is another one if their correlation is within 1e-12 of 1 or -1.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from adjoin.arrays import Float1D
from adjoin.blocks import moments
from adjoin.data.checking.finding import Finding
from adjoin.data.dataset import Dataset
from adjoin.grammar.equation import term_text
from adjoin.levels import CAUTION, POOR
from adjoin.results.collection import Collection
from adjoin.text import counted

PER_TERM = 5
"""Fitted samples that each term and each lag ask for."""
_SAME = 1e-12  # of a value, or of 1 for a correlation
_DRAWS = 100  # of a structure, below which draws that are alike may be chance
SILENT = 1e-7
"""Of the output's standard deviation: noise below is nearer to rounding than to any sensor."""


@dataclass(frozen=True)
class Objection:
    """A level, what is wrong in a few words, why, and what to do.

    One that is *poor* is said first in the verdict, and so is any other with ``is_said_first``.
    """

    level: str
    short: str
    reason: str
    advice: str
    is_said_first: bool = False


def objections(posterior: Collection) -> tuple[Objection, ...]:
    """All that speaks against a run, the worst first."""
    found = [
        *_on_copied_output(posterior),
        *_on_few_samples(posterior),
        *_on_stiff_coefficients(posterior),
        *_on_copied_inputs(posterior),
        *_on_silence(posterior),
    ]
    return tuple(sorted(found, key=lambda objection: objection.level != POOR))


def _on_few_samples(posterior: Collection) -> Iterator[Objection]:
    n_terms, n_rows = len(posterior.map_model.structure), posterior.n_rows
    needed = PER_TERM * (n_terms + posterior.max_lag)
    if n_rows < needed:
        yield Objection(
            POOR,
            "there are too few samples to say anything",
            f"{counted(n_rows, 'sample')} fitted; {counted(n_terms, 'term')} and a window of"
            f" {counted(posterior.max_lag, 'lag')} ask for {needed}, {PER_TERM} for each",
            "use longer records, or lower max_lag",
        )


def _on_stiff_coefficients(posterior: Collection) -> Iterator[Objection]:
    """Coefficients that no draw moved: a chain that is stuck, or noise that is lost in rounding."""
    draws, structure = posterior.draws, posterior.structure(0)
    chosen = np.flatnonzero(draws.structure == posterior.number_of(0))
    if len(chosen) < _DRAWS or not len(structure):
        return
    theta = draws.theta[draws.offset[chosen, None] + np.arange(len(structure))]
    is_stiff = np.ptp(theta, axis=0) <= _SAME * np.abs(theta).max(axis=0)
    pinned = posterior.run.problem.pinned.terms
    fixed = [term_text(term) for term, s in zip(structure, is_stiff, strict=True) if s]
    stiff = [text for text in fixed if text not in map(term_text, pinned)]
    if stiff:
        yield Objection(
            POOR,
            "its coefficients have no spread",
            f"the coefficient of {', '.join(stiff)} is the same in all {len(chosen):,} draws of the"
            " equation, so nothing says how sure it is",
            "draw more samples; if the data are free of noise, there is no uncertainty to learn",
        )


def copied_inputs(posterior: Collection) -> Iterator[str]:
    """The inputs that are the output, or an earlier input, up to a factor and an offset."""
    data = posterior.data_to_test
    for i, name in enumerate(data.names.inputs):
        others = (_inputs(data, j) for j in range(i))
        is_output = _copied(_inputs(data, i), data.outputs, posterior.max_lag) is not None
        if is_output or any(_copied(o, _inputs(data, i), posterior.max_lag) == 0 for o in others):
            yield name


def leaked(findings: Iterable[Finding]) -> Iterator[str]:
    """The inputs that a check of the data calls the output itself."""
    for finding in findings:
        if finding.name == "leak" and finding.evidence is not None:
            yield finding.evidence.signals[0]


def on_columns(posterior: Collection, findings: Iterable[Finding]) -> Iterator[Objection]:
    """Columns that are not what they are taken for, exactly (*poor*) or as it seems (*caution*).

    `findings` are those of a check of the fitted data. No error of any simulation shows these:
    what is a copy, or the cause taken for the effect, can be simulated as well as anything.
    """
    findings = list(findings)
    exact = list(_on_copied_output(posterior))
    yield from exact
    for finding in findings:
        reason = finding.words.rstrip(".")
        if finding.name == "leak" and not exact:
            yield Objection(POOR, "an input is the output itself", reason, finding.remedy, True)
        if finding.name == "swapped":
            short = "the columns seem to be swapped"
            yield Objection(CAUTION, short, reason, finding.remedy, True)


def _on_copied_output(posterior: Collection) -> Iterator[Objection]:
    data, output = posterior.data_to_test, posterior.data.names.output
    for i, name in enumerate(data.names.inputs):
        lag = _copied(_inputs(data, i), data.outputs, posterior.max_lag)
        if lag is None:
            continue
        others = [other for other in data.names.inputs if other != name]
        remedy = "check which columns are input and output"
        if others:
            remedy = f"leave '{name}' out (inputs {', '.join(others)}), or {remedy}"
        yield Objection(
            POOR,
            f"the output '{output}' is a copy of the input '{name}'",
            f"'{output}' is '{name}'{_ago(lag)}, up to a factor and an offset, in all samples:"
            " there is no system between them to discover",
            remedy,
        )


def _on_copied_inputs(posterior: Collection) -> Iterator[Objection]:
    data = posterior.data_to_test
    for (i, first), (j, second) in combinations(enumerate(data.names.inputs), 2):
        for a, b, early, late in ((i, j, first, second), (j, i, second, first)):
            lag = _copied(_inputs(data, a), _inputs(data, b), posterior.max_lag)
            if lag is not None:
                yield Objection(
                    CAUTION,
                    f"the input '{late}' is a copy of the input '{early}'",
                    f"the input '{late}' is '{early}'{_ago(lag)}, up to a factor and an offset:"
                    " nothing tells their terms apart",
                    f"leave '{late}' out",
                )
                break


def _on_silence(posterior: Collection) -> Iterator[Objection]:
    if not posterior.objective.has_likelihood or posterior.power == 0.0:
        return
    noise = float(posterior.draws.noise_sd.mean())
    size = moments(posterior.data.outputs)[1]
    if noise < SILENT * size:
        yield Objection(
            CAUTION,
            "the noise is below what can be told",
            f"the noise is below what can be told: {noise:.2g}, against a standard deviation of the"
            f" output of {size:.2g}; intervals are then those of rounding, not of a measurement",
            "if these are measured data, check that the output is no function of the inputs",
        )


def _inputs(data: Dataset, position: int) -> list[Float1D]:
    return [record[:, position] for record in data.inputs]


def _ago(lag: int) -> str:
    return f" {counted(lag, 'sample')} ago" if lag else ""


def _copied(source: Sequence[Float1D], target: Sequence[Float1D], max_lag: int) -> int | None:
    """The smallest lag at which the target is the source, up to factor and offset; None if none."""
    y = _unit(np.concatenate([record[max_lag:] for record in target]))
    if y is None:
        return None
    for lag in range(max_lag + 1):
        x = _unit(np.concatenate([r[max_lag - lag : len(r) - lag] for r in source]))
        if x is None:
            continue
        # 1 - |ρ| = ‖y ∓ x‖²/2, without the digits that a product of unit vectors loses.
        away = min(float((y - x) @ (y - x)), float((y + x) @ (y + x)))
        if away <= 2.0 * _SAME:
            return lag
    return None


def _unit(series: Float1D) -> Float1D | None:
    """Deviations from the mean, of length 1; None of a constant."""
    deviation = series - series.mean()
    length = float(np.linalg.norm(deviation))
    return None if np.ptp(series) == 0.0 or not length > 0.0 else deviation / length
