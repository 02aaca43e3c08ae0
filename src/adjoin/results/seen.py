"""What was seen of a run, as plain facts: what ``steps`` decides by.

Receives what an assessment has worked out, and looks at the data themselves where the simulation
falls short; gives `Seen`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.data.check import DataCheck, check_data
from adjoin.inference.objective import PREDICTION, Noise, Residual
from adjoin.levels import POOR
from adjoin.results.answers import beyond_range
from adjoin.results.collection import Collection
from adjoin.results.leftover import Leftover, find_leftover
from adjoin.results.objections import PER_TERM, copied_inputs, leaked
from adjoin.results.residual_tests import ResidualTest
from adjoin.results.scoring import Part
from adjoin.results.vetoes import NOTHING, left_of_inputs, left_of_own_past

_KNOTS = (0.1, 0.25, 0.5, 0.75, 0.9)  # quantiles of an input
_BENT, _BENT_Z = 0.1, 3.0
"""Of the simulation's error: what a hinge predicts beyond an input and its square, and its z. Of
ten fits of simulated rigs, a valve with a dead zone and tanks that overflow have 0.22 to 0.31; all
others have less than their straight part."""
_OFF = 0.5  # standard deviations of the output: a mean so far from zero is an offset
_NUMBER = re.compile(r"(?:--decimate |max_lag=)(\d+)")


@dataclass(frozen=True)
class Seen:
    """What was seen of a run.

    Parameters
    ----------
    missed, one_step : float or None
        Percent of the variance that the simulation and the prediction miss on the data that count;
        None: it ran away, or the output stands still.
    is_still : bool
        Whether the output there stands still.
    lost : float
        The share of draws whose simulation ran away.
    is_tried : bool
        Whether those data were kept from the fit.
    is_one_step : bool
        Whether models were judged by predictions one step ahead.
    is_white : bool
        Whether they were judged by a simulation with white noise on top.
    is_coloured : bool
        Whether nothing but its own past explains the residual.
    bent : str
        The input that the simulation's error follows only beyond some value, as behind a dead zone
        or a saturation; empty if there is none.
    left : Leftover or None
        What the inputs still explain of it.
    max_lag, max_degree : int
    functions : tuple of str
    has_constant : bool
        Whether there may be a constant, or signals are taken from their means.
    offset : str
        The signal whose mean is far from zero; empty if none is.
    decimate : int
        Every so-manieth sample would do.
    far : int
        A window that reaches as far back as the data do; 0 where the present one does.
    beyond : tuple of str
        Inputs that leave the range that was fitted, and how far.
    is_noise : bool
        Whether nothing was found and nothing at hand predicts the output.
    is_missed : bool
        Whether nothing was found though an input or its own past predicts the output, and a longer
        search could find it.
    is_swapped : bool
        Whether the input follows the output.
    copies : tuple of str
        Inputs that are the output, or another input.
    inputs, output : names
    is_short : bool
        Whether there are too few samples for so many lags and terms.
    chains_differ : bool
        Whether the chains do not agree.
    is_discovered : bool
        Whether many models were compared.
    is_sampled : bool
        Whether terms came and went in the draws, so that chains can differ in them.
    switched : tuple of str
        Inputs that take two values only.
    effort : str
        That of the comparison, if there was one.
    """

    missed: float | None = 1.0
    one_step: float | None = 1.0
    is_still: bool = False
    lost: float = 0.0
    is_tried: bool = True
    is_one_step: bool = True
    is_white: bool = False
    is_coloured: bool = False
    bent: str = ""
    left: Leftover | None = None
    max_lag: int = 10
    max_degree: int = 4
    functions: tuple[str, ...] = ()
    has_constant: bool = True
    offset: str = ""
    decimate: int = 1
    far: int = 0
    beyond: tuple[str, ...] = ()
    is_noise: bool = False
    is_missed: bool = False
    is_swapped: bool = False
    copies: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ("u",)
    output: str = "y"
    is_short: bool = False
    chains_differ: bool = False
    is_discovered: bool = False
    is_sampled: bool = False
    switched: tuple[str, ...] = ()
    effort: str = ""


def look(
    parts: Sequence[Part],
    posterior: Collection,
    all_chains: Collection,
    tests: Sequence[ResidualTest],
    chains: Mapping[str, Any],
    checked: DataCheck | None = None,
) -> Seen:
    """Gather the facts: of the last part, which counts, of the residuals, the chains and the data.

    `chains` is the verdict of ``diagnose`` on them; `checked` is what `check_data` finds in the
    fitted data, if it was asked before.
    """
    part, settings, data = parts[-1], all_chains.settings, all_chains.data
    scores, objective = part.scores, all_chains.objective
    discovered = all_chains.discovered
    left = left_of_inputs(posterior) if all_chains.power > 0.0 else None
    checked = check_data(data) if checked is None else checked
    window, found = posterior.max_lag, _of_data(checked)
    reach = found.get("delay", 0)
    if left is not None and left.lag > window:
        reach = max(reach, left.lag + max(2, left.lag // 4))
    is_nothing = (scores.one_step.nmse or 0.0) >= NOTHING
    is_predictable = is_nothing and (left or left_of_own_past(posterior)) is not None
    is_auto = settings.is_auto or all_chains.run.problem.has_noise
    failed = [test for test in tests if not test.is_passed]
    n_needed = PER_TERM * (len(posterior.map_model.structure) + window)
    return Seen(
        missed=scores.free_run.nmse,
        one_step=scores.one_step.nmse,
        is_still=scores.free_run.nmse is None and scores.free_run.rmse is not None,
        lost=scores.diverged,
        is_tried=not part.is_fitted,
        is_one_step=objective.residual is Residual.ONE_STEP,
        is_white=objective.has_likelihood and objective.noise is Noise.ON_TOP,
        is_coloured=bool(failed) and all(test.is_of_own_past for test in failed),
        bent=_bent(posterior) if all_chains.power > 0.0 else "",
        left=left,
        max_lag=window,
        max_degree=settings.max_degree,
        functions=settings.functions,
        has_constant=_has_constant(all_chains),
        offset=_offset(all_chains),
        decimate=found.get("oversampling", 1),
        far=reach if reach > window else 0,
        beyond=tuple(beyond_range(part.data.inputs, data)),
        is_noise=is_nothing and not is_predictable and reach <= window,
        is_missed=is_nothing and is_predictable and objective == PREDICTION and not is_auto,
        is_swapped="swapped" in found,
        copies=tuple(dict.fromkeys([*copied_inputs(all_chains), *leaked(checked.findings)])),
        inputs=data.names.inputs,
        output=data.names.output,
        is_short=posterior.n_rows < n_needed,
        chains_differ=chains["agreement"] == POOR,
        is_discovered=discovered is not None,
        is_sampled=not settings.keeps_terms,
        switched=tuple(
            finding.evidence.signals[0]
            for finding in checked.findings
            if finding.name == "two-levels" and finding.evidence is not None
        ),
        effort="" if discovered is None else str(discovered.settings.get("effort", "")),
    )


def _of_data(checked: DataCheck) -> dict[str, int]:
    """What a check of the fitted data finds, by name, with the number in its remedy."""
    found = {}
    for finding in checked.findings:
        number = _NUMBER.search(finding.remedy)
        found[finding.name] = int(number[1]) if number else 0
    return found


def _bent(posterior: Collection) -> str:
    """The input of which a hinge predicts the simulation's error, and it and its square do not."""
    data, first = posterior.data, posterior.max_lag
    runs = posterior.free_run(data)
    errors = [y[first:] - run[first:] for y, run in zip(data.outputs, runs, strict=True)]
    if not np.isfinite(np.concatenate(errors)).all():
        return ""
    inputs = {n: [r[:, i] for r in data.inputs] for i, n in enumerate(data.names.inputs)}
    hinges = {
        f"{name} {share}": [np.maximum(record - knot, 0.0) for record in records]
        for name, records in inputs.items()
        for share, knot in zip(_KNOTS, np.quantile(np.concatenate(records), _KNOTS), strict=True)
    }
    straight = find_leftover(errors, inputs, first, range(2 * first + 1))
    found = find_leftover(errors, hinges, first, range(first + 1), powers=(1,))
    if found is None or straight is None or found.share < _BENT + max(straight.share, 0.0):
        return ""
    return found.signal.rpartition(" ")[0] if abs(found.z) >= _BENT_Z else ""


def _has_constant(posterior: Collection) -> bool:
    """Whether models may have a constant, or are of deviations from means."""
    alphabet = posterior.run.problem.alphabet
    may_have = alphabet.constant is not None and posterior.prior.constant_odds > 0.0
    return may_have or () in alphabet.fixed.terms or posterior.settings.center


def _offset(posterior: Collection) -> str:
    """The signal with the mean that is farthest from zero, where that is far."""
    data = posterior.data
    series = {data.names.output: data.outputs}
    series |= {n: [r[:, i] for r in data.inputs] for i, n in enumerate(data.names.inputs)}
    pooled = {name: np.concatenate(records) for name, records in series.items()}
    sizes = {n: abs(float(x.mean())) / float(x.std()) for n, x in pooled.items() if np.ptp(x) > 0.0}
    name = max(sizes, key=lambda name: sizes[name], default="")
    return name if name and sizes[name] > _OFF else ""
