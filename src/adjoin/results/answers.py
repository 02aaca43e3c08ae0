"""Plain answers to three questions about a run, each with its reasons.

Is this equation the only one? Can its simulation be trusted? Is something left in the residuals?
(Whether the chains agree is ``diagnose``.) Receives what an `Assessment` has worked out; gives
`Answer`, which pages, terminals and JSON show, and ``advice`` puts together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float2D
from adjoin.data.dataset import Dataset
from adjoin.inference.objective import Objective, Residual
from adjoin.levels import CAUTION, GOOD, POOR, worst
from adjoin.results.collection import CERTAIN, Collection
from adjoin.results.masses import is_settled, mass_percent
from adjoin.results.power import ENOUGH_SAMPLES, Dependence, on_intervals
from adjoin.results.residual_tests import SLIGHT, ResidualTest
from adjoin.results.scoring import Part
from adjoin.text import counted, percent

_SURE, _LIKELY = 0.9, 0.5  # masses
_OPEN = 0.05  # inclusion
_LOW, _HIGH = 0.90, 0.99  # coverage of a 95 % band between which it means what it says
_HALF_MISSED, _PART_MISSED = 50.0, 10.0  # percent of the variance
_WORSE = 4.0  # times the error: a part on which the run fails though it does well elsewhere
_EXTRAPOLATION = 1.1  # times the range that was fitted
_MANY_LOST = 0.05  # share of draws: beyond, the mean and the bands are those of a selection

YES, PERHAPS, WITH_CARE, NO = "Yes", "Perhaps", "With care", "No"
CANNOT_BE_TOLD = "Cannot be told"

_OF_FREE_RUN = {
    YES: (GOOD, "holds"),
    PERHAPS: (CAUTION, "may hold"),
    WITH_CARE: (CAUTION, "is to be used with care"),
    CANNOT_BE_TOLD: (CAUTION, "cannot be judged"),
    NO: (POOR, "cannot be trusted"),
}
"""What each word means for a simulation: how bad it is, and how a sentence says it."""

_MORE_TERMS = "a larger max_lag or max_degree, another input or a function may help"


@dataclass(frozen=True)
class Answer:
    """A level (`good`, `caution` or `poor`), the answer in a few words, and why.

    ``sentence`` is the same answer for somebody who has not read the question.
    """

    level: str
    short: str
    reasons: tuple[str, ...]
    sentence: str = ""

    @property
    def cause(self) -> str:
        """What decided, without the answer itself."""
        return self.short.partition(": ")[2] or self.short

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"level": self.level, "answer": self.short, "reasons": list(self.reasons)}


class Observation(NamedTuple):
    """What one thing that was looked at says of the simulation, and why."""

    word: str
    cause: str = ""
    reason: str = ""

    @property
    def level(self) -> str:
        """How bad it is."""
        return _OF_FREE_RUN[self.word][0]

    @property
    def short(self) -> str:
        """The answer, if this decides."""
        return f"{self.word}: {self.cause}" if self.cause else self.word

    def sentence(self, where: str) -> str:
        """The same without the question."""
        verb = _OF_FREE_RUN[self.word][1]
        return f"the simulation {verb}{f': {self.cause}' if self.cause else where}"


def answer_unique(
    posterior: Collection, all_chains: Collection, agreement: str, against: str = ""
) -> Answer:
    """Whether this equation is the only one.

    `agreement` is the level at which the chains agree; `against` is why it is no answer at all.
    """
    structures = posterior.structures["mass"]
    mass, n_others = float(structures.iloc[0]), len(structures) - 1
    masses = all_chains.masses(posterior)
    is_agreed = is_settled(masses, agreement)
    n_certain, n_open = _count_terms(posterior, all_chains)
    rest = f"; {counted(n_others, 'other')} {'has' if n_others == 1 else 'have'} the rest"
    is_selected = posterior is not all_chains
    whose = f"draws of chain {posterior.chain_numbers[0]}" if is_selected else "draws"
    if not is_agreed:
        whose, rest = "draws, chain by chain,", ""
    reasons = (
        f"{mass_percent(mass, masses, agreement)} of the {whose} have its structure"
        f"{rest if n_others else ''}",
        f"{counted(n_certain, 'term')} certain (in at least {percent(CERTAIN, 0)} of the draws"
        f"{' of every chain' if all_chains.n_chains > 1 else ''}), {n_open} open",
    )
    if agreement == POOR:
        return Answer(POOR, "Cannot be said: the chains did not converge", reasons)
    if against:
        return Answer(POOR, f"Cannot be said: {against}", reasons)
    if not is_agreed:
        return Answer(CAUTION, "Not settled: the chains differ in how often they have it", reasons)
    if mass >= _SURE:
        return Answer(GOOD, "As good as unique", reasons)
    if mass >= _LIKELY:
        return Answer(CAUTION, "Probably, but not surely", reasons)
    return Answer(CAUTION, "No: the data leave the structure open", reasons)


def answer_fixed(posterior: Collection) -> Answer:
    """The same where no term could come or go."""
    n_terms = len(posterior.structure(0))
    reason = f"its {counted(n_terms, 'term')} were fixed, and none was tried beside them"
    return Answer(CAUTION, "Not asked: the terms were fixed", (reason,))


def _count_terms(posterior: Collection, all_chains: Collection) -> tuple[int, int]:
    """Of the terms that are not rare, how many every chain is sure of, and how many are open."""
    shares = zip(posterior.term_keys, posterior.inclusion, strict=True)
    kept = {key for key, share in shares if share >= _OPEN}
    by_chain = zip(all_chains.term_keys, all_chains.inclusion_by_chain, strict=True)
    n_certain = sum(key in kept and bool((shares >= CERTAIN).all()) for key, shares in by_chain)
    return n_certain, len(kept) - n_certain


def answer_trusted(parts: Sequence[Part], fitted: Dataset) -> Answer:
    """Whether the simulation can be trusted: on the last part, which counts, and on the others."""
    part = parts[-1]
    beyond = [
        Observation(YES, reason=f"there {said}") for said in beyond_range(part.data.inputs, fitted)
    ]
    if part.scores.free_run.rmse is None:
        reason = f"the simulation of {part.words} runs away: it leaves the range that was fitted"
        seen = [Observation(NO, "it runs away", reason)]
        shown = [*seen, *beyond]
    else:
        lost = _on_lost_draws(part)
        others = [
            _on_quality(part),
            *_on_white_box(part),
            *_on_other_parts(parts),
            *beyond,
            *_on_trial(part),
            *_on_bands(part),
        ]
        seen, shown = [lost, *others], [*others, lost]
    level = worst(observation.level for observation in seen)
    decisive = next(observation for observation in seen if observation.level == level)
    return Answer(
        level,
        decisive.short,
        tuple(observation.reason for observation in shown if observation.reason),
        decisive.sentence(f" on {part.words}"),
    )


def _on_lost_draws(part: Part) -> Observation:
    lost, n_draws = part.scores.diverged, part.prediction.n_draws
    if not lost:
        return Observation(YES, reason="no draw ran away")
    reason = f"{percent(lost)} of {n_draws} draws ran away; mean and bands are of the others"
    if part.scores.coverage is None:
        reason = f"all {n_draws} draws ran away, so that there is neither mean nor band"
    if lost <= _MANY_LOST:
        return Observation(WITH_CARE, "some draws run away", reason)
    cause = f"{'most' if lost > 0.5 else 'many'} draws run away"
    return Observation(NO, cause, reason)


def _on_quality(part: Part) -> Observation:
    """How much of the output the simulation explains."""
    _, share, fit = part.scores.free_run
    if share is None or fit is None:
        reason = f"the output of {part.words} is constant, so there is nothing to explain"
        return Observation(CANNOT_BE_TOLD, "the output stands still", reason)
    reason = f"its error is {share:.3g} % of the variance of {part.words} (fit index {fit:.1f} %)"
    if share <= _PART_MISSED:
        return Observation(YES, reason=reason)
    if share >= 100.0:
        return Observation(NO, "it is worse than the mean", reason)
    if share > _HALF_MISSED:
        return Observation(NO, "it misses more than it explains", reason)
    return Observation(WITH_CARE, "it misses a part", reason)


def _on_white_box(part: Part) -> Iterator[Observation]:
    """Whether anything was gained over the fixed terms alone, where there are any."""
    if part.white_box is None:
        return
    share, alone = part.scores.free_run.nmse, part.white_box.free_run.nmse
    if part.white_box.free_run.rmse is None:
        yield Observation(YES, reason="the fixed terms alone run away there")
    elif alone is not None and share is not None:
        reason = f"the fixed terms alone, by least squares, leave {alone:.3g} %"
        if share < alone:
            yield Observation(YES, reason=reason)
        else:
            yield Observation(WITH_CARE, "the fixed terms alone do no worse", reason)


def _on_other_parts(parts: Sequence[Part]) -> Iterator[Observation]:
    """Where the simulation is much worse than on the part that counts."""
    last = parts[-1].scores.free_run.nmse
    for part in parts[:-1]:
        error, share, _ = part.scores.free_run
        if error is None:
            how = "runs away"
        elif share is None or last is None or share <= max(_WORSE * last, _PART_MISSED):
            continue
        else:
            how = f"misses {share:.3g} % of the variance"
        reason = f"but on {part.words} it {how}: look at its picture there"
        yield Observation(WITH_CARE, f"it fails on {part.words}", reason)


def beyond_range(inputs: Sequence[Float2D], fitted: Dataset) -> Iterator[str]:
    """Which inputs leave the range that was fitted, and by how much."""
    for i, name in enumerate(fitted.names.inputs):
        known = np.concatenate([record[:, i] for record in fitted.inputs])
        given = np.concatenate([record[:, i] for record in inputs])
        reach = np.abs(known - known.mean()).max()
        times = float(np.abs(given - known.mean()).max() / reach) if reach > 0.0 else 1.0
        if times > _EXTRAPOLATION:
            yield f"{name} goes {times:.1f} times as far as in what was fitted"


def _on_trial(part: Part) -> Iterator[Observation]:
    """Whether it was tried on anything but what it was made for."""
    if part.is_fitted:
        yield Observation(PERHAPS, "it was not tried on other data")


def _on_bands(part: Part) -> Iterator[Observation]:
    """Whether the 95 % band holds what it says, where there is one."""
    coverage = part.scores.coverage
    if coverage is None:  # every draw ran away
        return
    reason = f"the 95 % band holds {percent(coverage)} of the measured samples"
    if part.n_scored < ENOUGH_SAMPLES or _LOW <= coverage <= _HIGH:
        yield Observation(YES, reason=reason)
        return
    side = "narrow" if coverage < _LOW else "wide"
    said = f"{reason}: too {side}; go by its error there, and not by the band"
    yield Observation(WITH_CARE, f"its bands are too {side}", said)


def _widening(objective: Objective) -> str:
    if objective.has_likelihood:
        return "likelihood_power='auto'"
    return "a larger ladder={'tolerance': …}"


def answer_exhausted(
    tests: Sequence[ResidualTest],
    objective: Objective,
    found: Dependence | None = None,
    power: float = 1.0,
    is_estimated: bool = False,
) -> Answer:
    """Whether something is left in the residuals.

    Parameters
    ----------
    tests : sequence of ResidualTest
    objective : Objective
    found : Dependence, optional
        What the residuals' autocorrelation does to the coefficients, where there is a likelihood.
    power, is_estimated : float, bool
        The power of the likelihood, and whether it was estimated.
    """
    failed = [test for test in tests if not test.is_passed]
    n_samples = tests[0].n_samples
    if not failed and n_samples < ENOUGH_SAMPLES:
        few = f"{n_samples} fitted samples are too few for correlation tests to see anything"
        return Answer(CAUTION, f"{CANNOT_BE_TOLD}: too few samples", (few,))
    if not failed:
        reason = f"all {len(tests)} correlation tests pass: what is left looks like white noise"
        return Answer(GOOD, "Nothing that the tests see", (reason,))
    sizes = [np.abs(test.correlation) * test.is_significant for test in failed]
    size, largest = max(zip(sizes, failed, strict=True), key=lambda pair: float(pair[0].max()))
    at = int(size.argmax())
    reason = (
        f"{len(failed)} of {len(tests)} correlation tests fail; the largest correlation is"
        f" {largest.correlation[at]:+.2f}, of {largest.name} at lag {largest.lag[at]}"
    )
    more = _on_larger(tests, float(size[at]))
    short = "Slightly" if size[at] < SLIGHT else "Yes"
    if all(test.is_of_own_past for test in failed):
        consequence = f"intervals are then too narrow, and {_widening(objective)} widens them"
        if found is not None:
            consequence = on_intervals(found, power, is_estimated)
        coloured = f"{_on_coloured_noise(objective)}; {consequence}"
        return Answer(CAUTION, short, (reason, coloured, *more))
    return Answer(CAUTION, short, (reason, _MORE_TERMS, *more))


def _on_larger(tests: Sequence[ResidualTest], size: float) -> tuple[str, ...]:
    """Why the picture shows correlations larger than the one that is named, where it does."""
    by_chance = np.concatenate(
        [np.abs(test.correlation)[~test.is_significant & (test.lag != 0)] for test in tests]
    )
    n_larger = int(np.count_nonzero(by_chance > size))
    if not n_larger:
        return ()
    are = "is" if n_larger == 1 else "are"
    return (
        f"{counted(n_larger, 'larger correlation')} {are} not more than chance brings between"
        " series that have a memory, or of which few samples are large",
    )


def _on_coloured_noise(objective: Objective) -> str:
    cause = (
        "the noise is not white, as with noise on the measured output, or with data that were"
        " differenced or oversampled"
    )
    if objective.residual is Residual.FREE_RUN:
        cause = (
            "the measurement noise is coloured, as is noise that the system feeds back, or the"
            " model misses slow dynamics"
        )
    return f"only the residual's own past explains it: {cause}"
