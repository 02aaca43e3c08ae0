"""What a run is worth: scores, coverage, residual tests, and plain answers to three questions.

Receives a `Posterior`; gives an `Assessment`, which the report page and its JSON show. Is this
equation the only one? Can its free run be trusted? Is something left in the residuals? (Whether the
chains agree is `Posterior.diagnostics`.)
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from adjoin.columns import counted
from adjoin.diagnose import CAUTION, GOOD, POOR
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.posterior import Posterior
from adjoin.prediction import Prediction
from adjoin.residual_tests import ResidualTest
from adjoin.rounding import percent
from adjoin.scores import fit_index, nmse, rmse
from adjoin.signals import Dataset

DRAWS = 200
_SURE, _LIKELY = 0.9, 0.5  # masses
_CERTAIN, _OPEN = 0.99, 0.05  # inclusions
_LOW, _HIGH = 0.90, 0.99  # coverage of a 95 % band between which it means what it says
_USEFUL = 50.0  # percent of the standard deviation; below, a free run explains less than it misses
_SLIGHT = 0.1  # a correlation that explains less than 1 % of a variance
_MANY_LOST = 0.05  # share of draws: beyond, the mean and the bands are those of a selection


@dataclass(frozen=True)
class Answer:
    """A level (`good`, `caution` or `poor`), the answer in a few words, and why."""

    level: str
    short: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the data, and what was predicted there; lists are by record.

    ``scores`` has a row per predictor: `chains`, `predictor`, `rmse`, `nmse`, `fit`.
    """

    name: str
    data: Dataset
    prediction: Prediction
    model_run: list[np.ndarray]
    coverage: float
    scores: tuple[dict[str, Any], ...]


@dataclass(frozen=True, eq=False)
class Assessment:
    """A run with all that the report says of it.

    Parameters
    ----------
    posterior : Posterior
        What is reported: the chain that validation selected, or all of them.
    every : Posterior
        All chains.
    parts : tuple of Part
        The data it was held against; the last one is what counts.
    residual_tests : tuple of ResidualTest
        Of the fitted data.
    """

    posterior: Posterior
    every: Posterior
    parts: tuple[Part, ...]
    residual_tests: tuple[ResidualTest, ...]

    @property
    def is_selected(self) -> bool:
        """Whether validation data chose one chain."""
        return self.posterior is not self.every

    @property
    def unique(self) -> Answer:
        """Whether this equation is the only one."""
        frame, terms = self.posterior.structures, self.posterior.terms["inclusion"]
        mass, n_others = float(frame["mass"].iloc[0]), len(frame) - 1
        certain, is_open = (terms >= _CERTAIN).sum(), ((terms >= _OPEN) & (terms < _CERTAIN)).sum()
        rest = f"; {counted(n_others, 'other')} {'has' if n_others == 1 else 'have'} the rest"
        reasons = [
            f"its structure has {percent(mass)} of the posterior mass{rest if n_others else ''}",
            f"{counted(int(certain), 'term')} certain (inclusion of at least"
            f" {percent(_CERTAIN, 0)}), {is_open} open ({percent(_OPEN, 0)} to"
            f" {percent(_CERTAIN, 0)})",
        ]
        if mass >= _SURE:
            return Answer(GOOD, "As good as unique", tuple(reasons))
        if mass >= _LIKELY:
            return Answer(CAUTION, "Probably, but not surely", tuple(reasons))
        return Answer(CAUTION, "No: the data leave the structure open", tuple(reasons))

    @property
    def trusted(self) -> Answer:
        """Whether its free run can be trusted."""
        part = self.parts[-1]
        error, fit = part.scores[0]["rmse"], part.scores[0]["fit"]
        lost, coverage = part.prediction.diverged, part.coverage
        where = "data that were fitted" if part.name == "training" else f"the {part.name} data"
        if error is None:
            return Answer(POOR, "No: it diverges", (f"the free run on {where} diverges",))
        found = [(GOOD, "Yes")]
        if lost > _MANY_LOST:
            found.append((POOR, f"No: {'most' if lost > 0.5 else 'many'} draws diverge"))
        elif lost:
            found.append((CAUTION, "With care: some draws diverge"))
        if fit is None:
            found.append((CAUTION, "Cannot be told: the output stands still"))
            reasons = [f"the output of {where} is constant, so there is nothing to explain"]
        else:
            reasons = [f"it explains {fit:.1f} % of {where} (fit index)"]
            if fit < _USEFUL:
                found.append((POOR, "No: it misses more than it explains"))
        reasons.append(f"the 95 % band holds {percent(coverage)} of the measured samples")
        if not _LOW <= coverage <= _HIGH:
            side = "narrow" if coverage < _LOW else "wide"
            found.append((CAUTION, f"With care: its bands are too {side}"))
            reasons[-1] += f": too {side}"
        if part.name == "training":
            found.append((CAUTION, "Perhaps: it was not tried on other data"))
        reasons.append(
            f"{percent(lost)} of {part.prediction.n_draws} draws diverged"
            if lost
            else "no draw diverged"
        )
        worst = next(level for level in (POOR, CAUTION, GOOD) if level in dict(found))
        return Answer(worst, next(s for level, s in found if level == worst), tuple(reasons))

    @property
    def exhausted(self) -> Answer:
        """Whether something is left in the residuals."""
        failed = [test for test in self.residual_tests if not test.is_passed]
        n_tests = len(self.residual_tests)
        if not failed:
            reason = f"all {n_tests} correlation tests pass: what is left looks like white noise"
            return Answer(GOOD, "Nothing that the tests see", (reason,))
        sizes = [np.abs(test.correlation) * test.is_significant for test in failed]
        size, worst = max(zip(sizes, failed, strict=True), key=lambda pair: float(pair[0].max()))
        at = int(size.argmax())
        reasons = [
            f"{len(failed)} of {n_tests} correlation tests fail; the largest correlation is"
            f" {worst.correlation[at]:+.2f}, of {worst.name} at lag {worst.lag[at]}"
        ]
        if all(test.name == "residual with itself" for test in failed):
            reasons.append(
                "only the residual's own past explains it: the noise is not white, as with noise on"
                " the measured output; intervals are then too narrow, and likelihood_power='auto'"
                " widens them"
            )
        else:
            reasons.append("a larger max_lag or max_degree, another input or a function may help")
        return Answer(CAUTION, "Slightly" if size[at] < _SLIGHT else "Yes", tuple(reasons))

    def describe(self) -> dict[str, Any]:
        """The scores, coverage and tests as plain values."""
        return {
            "scores": {part.name: list(part.scores) for part in self.parts},
            "coverage_95": {part.name: part.coverage for part in self.parts},
            "diverged": {part.name: part.prediction.diverged for part in self.parts},
            "residual_tests": [test.summary for test in self.residual_tests],
            "answers": {
                name: {"level": a.level, "answer": a.short, "reasons": list(a.reasons)}
                for name, a in (
                    ("unique", self.unique),
                    ("trusted", self.trusted),
                    ("left_in_residuals", self.exhausted),
                )
            },
        }


def assess(every: Posterior, test: Dataset | None = None, draws: int = DRAWS) -> Assessment:
    """Score a posterior on what it was fitted to, what was held out, and test data.

    Where data were held out, they select the chain that is reported.

    Parameters
    ----------
    every : Posterior
        All chains.
    test : Dataset, optional
        Data that neither fitting nor selecting has seen.
    draws : int
        How many models are run for the bands.
    """
    posterior = every
    if every.held_out is not None and every.n_chains > 1:
        posterior = every.select_chain(every.held_out, every.held_out)
    parts = [("training", every.data)]
    parts += [("validation", every.held_out)] if every.held_out is not None else []
    parts += [("test", test)] if test is not None else []
    for name, data in parts:
        if data.names.ordered[:-1] != every.data.names.ordered[:-1]:
            raise AdjoinError(
                f"the {name} data have the signals {', '.join(data.names.ordered[:-1])}, but the"
                f" run is of {', '.join(every.data.names.ordered[:-1])}"
            )
        data.require_window(every.max_lag)
    return Assessment(
        posterior,
        every,
        tuple(_assess_part(posterior, every, name, data, draws) for name, data in parts),
        tuple(posterior.residual_tests()),
    )


def _assess_part(
    posterior: Posterior, every: Posterior, name: str, data: Dataset, draws: int
) -> Part:
    inputs = [record.inputs for record in data.records]
    outputs = [record.output for record in data.records]
    seeds = [y[: every.max_lag] for y in outputs]
    pooled = "all chains" if every.n_chains > 1 else "the chain"
    whose = pooled if posterior is every else f"chain {posterior.chain_numbers[0]}, selected"
    scores, first = [], None
    for who, of in ((whose, posterior), (pooled, every)):
        if first is not None and of is posterior:
            break
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)  # a missing score says it
            run = of.map_model.simulate(inputs, seeds)
        prediction = of.simulate(inputs, seeds, draws=draws)
        for predictor, series in (("MAP", run), ("FWD mean", prediction.mean)):
            row = _scores(outputs, series, every.max_lag)
            scores.append({"chains": who, "predictor": predictor, **row})
        first = first or (prediction, run)
    assert first is not None
    return Part(name, data, *first, first[0].coverage(outputs), tuple(scores))


def _scores(
    measured: list[np.ndarray], series: list[np.ndarray], n_seed: int
) -> dict[str, float | None]:
    pair = [y[n_seed:] for y in measured], [y[n_seed:] for y in series]
    if np.ptp(np.concatenate(pair[0])) == 0.0:  # no normalised score of a constant
        return {"rmse": _finite(rmse(*pair)), "nmse": None, "fit": None}
    found = {"rmse": rmse(*pair), "nmse": nmse(*pair), "fit": fit_index(*pair)}
    return {name: _finite(value) for name, value in found.items()}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def stretches(part: Part) -> Iterator[tuple[int, int, int]]:
    """For every record its number, and where a closer look begins and ends: where it moves most."""
    for number, record in enumerate(part.data.records):
        n_shown = min(len(record), max(150, min(400, len(record) // 20)))
        size = np.convolve(np.abs(record.output - record.output.mean()), np.ones(n_shown), "valid")
        begin = int(size.argmax())
        yield number, begin, begin + n_shown
