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

from adjoin.data.dataset import Dataset
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.inference.objective import Residual
from adjoin.levels import CAUTION, GOOD, POOR
from adjoin.posterior import Posterior
from adjoin.results.prediction import Prediction
from adjoin.results.residual_tests import ResidualTest
from adjoin.scores import fit_index, nmse, rmse
from adjoin.text import counted, percent

DRAWS = 200
WHITE_BOX = "white box"
_SURE, _LIKELY = 0.9, 0.5  # masses
_CERTAIN, _OPEN = 0.99, 0.05  # inclusions
_LOW, _HIGH = 0.90, 0.99  # coverage of a 95 % band between which it means what it says
_HALF_MISSED, _PART_MISSED = 50.0, 10.0  # percent of the variance
_WORSE = 4.0  # times the error: a part on which the run fails though it does well elsewhere
_EXTRAPOLATION = 1.1  # times the range that was fitted
_ENOUGH_SAMPLES = 50  # below, neither coverage nor correlations say anything
_SLIGHT = 0.1  # a correlation that explains less than 1 % of a variance
_MANY_LOST = 0.05  # share of draws: beyond, the mean and the bands are those of a selection

_COLOURED = (
    "only the residual's own past explains it: the noise is not white, as with noise on the"
    " measured output; intervals are then too narrow, and likelihood_power='auto' widens them"
)
_COLOURED_FREE_RUN = (
    "only the residual's own past explains it: the measurement noise is coloured, as is noise that"
    " the system feeds back, or the model misses slow dynamics; intervals are then too narrow, and"
    " a larger ladder={'tolerance': …} widens them"
)


@dataclass(frozen=True)
class Answer:
    """A level (`good`, `caution` or `poor`), the answer in a few words, and why."""

    level: str
    short: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the data, and what was predicted there; lists are by record.

    ``scores`` has a row per predictor: `chains`, `predictor`, `rmse`, `nmse`, `fit`; the last is
    the white box, where there are fixed terms.
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
        frame, terms = self.posterior.structures, self.posterior.terms
        mass, n_others = float(frame["mass"].iloc[0]), len(frame) - 1
        inside = terms[terms["inclusion"] >= _OPEN]
        n_certain = sum(map(self._is_certain, inside["term"]))
        rest = f"; {counted(n_others, 'other')} {'has' if n_others == 1 else 'have'} the rest"
        whose = f"draws of chain {self.posterior.chain_numbers[0]}" if self.is_selected else "draws"
        reasons = [
            f"{percent(mass)} of the {whose} have its structure{rest if n_others else ''}",
            f"{counted(n_certain, 'term')} certain (in at least {percent(_CERTAIN, 0)} of the draws"
            f"{' of every chain' if self.every.n_chains > 1 else ''}), {len(inside) - n_certain}"
            " open",
        ]
        if self.every.diagnostics["verdict"]["level"] == POOR:
            return Answer(POOR, "Cannot be said: the chains did not converge", tuple(reasons))
        if mass >= _SURE:
            return Answer(GOOD, "As good as unique", tuple(reasons))
        if mass >= _LIKELY:
            return Answer(CAUTION, "Probably, but not surely", tuple(reasons))
        return Answer(CAUTION, "No: the data leave the structure open", tuple(reasons))

    def _is_certain(self, term: str) -> bool:
        """Whether every chain has the term in nearly all its draws."""
        chain, has_term = self.every.draws.chain, self.every.includes(term)
        return all(
            has_term[chain == number].mean() >= _CERTAIN for number in self.every.chain_numbers
        )

    @property
    def trusted(self) -> Answer:
        """Whether its free run can be trusted."""
        part = self.parts[-1]
        error, lost, coverage = part.scores[0]["rmse"], part.prediction.diverged, part.coverage
        where = "the data that were fitted" if part.name == "training" else f"the {part.name} data"
        if error is None:
            return Answer(POOR, "No: it diverges", (f"the free run on {where} diverges",))
        found = [(GOOD, "Yes")]
        if lost > _MANY_LOST:
            found.append((POOR, f"No: {'most' if lost > 0.5 else 'many'} draws diverge"))
        elif lost:
            found.append((CAUTION, "With care: some draws diverge"))
        quality = _on_quality(part, where)
        found.append((quality.level, quality.short))
        reasons = [*quality.reasons, *_on_white_box(part, found)]
        reasons += [*self._elsewhere(found), *self._beyond()]
        if part.name == "training":
            found.append((CAUTION, "Perhaps: it was not tried on other data"))
        reasons.append(f"the 95 % band holds {percent(coverage)} of the measured samples")
        n_scored = part.data.n_samples - sum(part.prediction.n_seed)
        if n_scored >= _ENOUGH_SAMPLES and not _LOW <= coverage <= _HIGH:
            side = "narrow" if coverage < _LOW else "wide"
            found.append((CAUTION, f"With care: its bands are too {side}"))
            reasons[-1] += f": too {side}"
        reasons.append(
            f"{percent(lost)} of {part.prediction.n_draws} draws diverged"
            if lost
            else "no draw diverged"
        )
        worst = next(level for level in (POOR, CAUTION, GOOD) if level in dict(found))
        return Answer(worst, next(s for level, s in found if level == worst), tuple(reasons))

    def _elsewhere(self, found: list[tuple[str, str]]) -> list[str]:
        """Where the free run is much worse than on the part that counts."""
        last, reasons = self.parts[-1].scores[0]["nmse"], []
        for part in self.parts[:-1]:
            share = part.scores[0]["nmse"]
            if share is None or (last is not None and share > max(_WORSE * last, _PART_MISSED)):
                how = "diverges" if share is None else f"misses {share:.3g} % of the variance"
                reasons.append(f"but on the {part.name} data it {how}: look at its picture there")
                found.append((CAUTION, f"With care: it fails on the {part.name} data"))
        return reasons

    def _beyond(self) -> list[str]:
        """Which inputs leave the range that was fitted."""
        data, fitted = self.parts[-1].data, self.every.data
        reasons = []
        for i, name in enumerate(fitted.names.inputs):
            known = np.concatenate([record.inputs[:, i] for record in fitted.records])
            given = np.concatenate([record.inputs[:, i] for record in data.records])
            reach = np.abs(known - known.mean()).max()
            times = float(np.abs(given - known.mean()).max() / reach) if reach > 0.0 else 1.0
            if times > _EXTRAPOLATION:
                reasons.append(f"there {name} goes {times:.1f} times as far as in what was fitted")
        return reasons

    @property
    def exhausted(self) -> Answer:
        """Whether something is left in the residuals."""
        failed = [test for test in self.residual_tests if not test.is_passed]
        n_tests, n_samples = len(self.residual_tests), self.residual_tests[0].n_samples
        if not failed and n_samples < _ENOUGH_SAMPLES:
            few = f"{n_samples} fitted samples are too few for correlation tests to see anything"
            return Answer(CAUTION, "Cannot be told: too few samples", (few,))
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
        is_free_run = self.posterior.objective.residual is Residual.FREE_RUN
        if all(test.name == "residual with itself" for test in failed):
            reasons.append(_COLOURED_FREE_RUN if is_free_run else _COLOURED)
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
    _require(every, Posterior, "a Posterior, as adjoin.load gives")
    if test is not None:
        _require(test, Dataset, "a Dataset, as adjoin.read_data gives")
    posterior = every.selected
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


def _require(value: object, kind: type, what: str) -> None:
    if not isinstance(value, kind):
        raise AdjoinError(f"a report needs {what}, not {value!r:.60}")


def _on_quality(part: Part, where: str) -> Answer:
    """How much of the output the free run explains."""
    share, fit = part.scores[0]["nmse"], part.scores[0]["fit"]
    if share is None or fit is None:
        reason = f"the output of {where} is constant, so there is nothing to explain"
        return Answer(CAUTION, "Cannot be told: the output stands still", (reason,))
    reason = f"its error is {share:.3g} % of the variance of {where} (fit index {fit:.1f} %)"
    if share >= 100.0:
        return Answer(POOR, "No: it is worse than the mean", (reason,))
    if share > _HALF_MISSED:
        return Answer(POOR, "No: it misses more than it explains", (reason,))
    if share > _PART_MISSED:
        return Answer(CAUTION, "With care: it misses a part", (reason,))
    return Answer(GOOD, "Yes", (reason,))


def _on_white_box(part: Part, found: list[tuple[str, str]]) -> list[str]:
    """Whether anything was gained over the fixed terms alone, where there are any."""
    known = part.scores[-1]
    if known["predictor"] != WHITE_BOX:
        return []
    share, alone = part.scores[0]["nmse"], known["nmse"]
    if alone is None or share is None:
        return ["the fixed terms alone diverge there"] if known["rmse"] is None else []
    if share >= alone:
        found.append((CAUTION, "With care: the fixed terms alone do no worse"))
    return [f"the fixed terms alone, by least squares, leave {alone:.3g} %"]


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
    if (known := every.white_box) is not None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            run = known.simulate(inputs, seeds)
        row = _scores(outputs, run, every.max_lag)
        scores.append({"chains": "fixed terms alone", "predictor": WHITE_BOX, **row})
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
