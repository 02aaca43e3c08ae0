r"""Which candidate is best, how sure that is, and which simpler one is as good.

Receives the held-out errors of all paths; gives `Candidate`, best first. Errors are paired: two
candidates are compared stretch by stretch of the same held-out data, so that what is hard for both
does not count. With :math:`d_b` the differences of their mean squared errors in B stretches,

.. math:: \bar d = \tfrac1B \sum_b d_b, \qquad s = \sqrt{\tfrac{1}{B(B-1)} \sum_b (d_b - \bar d)^2}

is by how much one is worse and the standard error of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.discovery.scan import Path
from adjoin.discovery.settings import Setting
from adjoin.results.discovered import ALIKE

_OF_ONE_SETTING = 3  # candidates among the best: neighbours in one path fail together
_SURE = 2.0  # standard errors by which a model must beat the mean of the output


@dataclass(frozen=True, eq=False)
class Candidate:
    """One size of one setting, with its held-out error.

    Parameters
    ----------
    setting : Setting
    n_terms : int
    error : (n_folds, N_BLOCKS) array
        Mean squared errors of free runs.
    nmse, sd : float
        Their mean, and its standard error, in percent of the output's variance.
    n_lost : int
        In how many folds the run was lost.
    cpu_s : float
        What all folds took of a core; they run side by side, so that sums exceed the clock.
    is_checked : bool
        Whether its terms, grown on all data, were held against every fold again; then the error
        is the larger of both.
    """

    setting: Setting
    n_terms: int
    error: np.ndarray
    nmse: float
    sd: float
    n_lost: int
    cpu_s: float
    is_checked: bool = False

    @classmethod
    def of(
        cls, setting: Setting, n_terms: int, error: np.ndarray, variance: float, cpu_s: float
    ) -> Candidate:
        """A candidate with what its errors amount to."""
        is_kept = np.isfinite(error).all(axis=1)
        share = 100.0 * error[is_kept] / variance
        mean = float(share.mean()) if is_kept.all() else math.inf
        sd = float(share.std(ddof=1) / math.sqrt(share.size)) if share.size > 1 else math.inf
        return cls(setting, n_terms, error, mean, sd, int((~is_kept).sum()), cpu_s)

    def with_error(self, error: np.ndarray, n_terms: int, variance: float) -> Candidate:
        """The same with the larger errors of a second look, and its size on all data."""
        found = Candidate.of(self.setting, n_terms, error, variance, self.cpu_s)
        return replace(found, is_checked=True)

    @property
    def words(self) -> str:
        """For a table."""
        return f"{self.setting.words}, {self.n_terms} terms"

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        nmse, sd = (value if math.isfinite(value) else None for value in (self.nmse, self.sd))
        return {
            "words": self.setting.words,
            "settings": self.setting.plain,
            "n_terms": self.n_terms,
            "validation": {"nmse": nmse, "sd": sd, "n_lost": self.n_lost},
            "cpu_s": self.cpu_s,
            "is_checked": self.is_checked,
        }


def rank(paths: Sequence[Path], variance: float) -> list[Candidate]:
    """All candidates, best first; runs that were lost somewhere come last."""
    found = [
        Candidate.of(path.setting, size, error, variance, path.cpu_s)
        for path in paths
        for size, error in zip(path.n_terms, path.error, strict=True)
    ]
    return sorted(found, key=order)


def order(one: Candidate) -> tuple[int, float, int]:
    """What a ranking goes by: runs that were lost, then the error, then the size."""
    return one.n_lost, one.nmse, one.n_terms


def best_few(ranked: Sequence[Candidate], most: int) -> list[Candidate]:
    """The best that stayed in all folds, not too many of them of one setting."""
    kept: list[Candidate] = []
    for one in ranked:
        n_alike = sum(other.setting == one.setting for other in kept)
        if math.isfinite(one.nmse) and n_alike < _OF_ONE_SETTING:
            kept.append(one)
    return kept[:most]


def choose(ranked: Sequence[Candidate]) -> Candidate:
    """The one with the fewest terms of those that are as good as the best.

    As good is: worse by no more than the standard error of the difference, and within `ALIKE`.
    """
    best = ranked[0]
    alike = [one for one in ranked if one is best or is_alike(one, best)]
    return min(alike, key=lambda one: (one.n_terms, one.nmse))


def is_alike(one: Candidate, best: Candidate) -> bool:
    """Whether a candidate is as good as the best one."""
    if not (math.isfinite(one.nmse) and math.isfinite(best.nmse)):
        return False
    gap, spread = paired(one.error, best.error)
    return one.nmse <= ALIKE * best.nmse and gap <= spread


def paired(one: np.ndarray, other: np.ndarray) -> tuple[float, float]:
    """By how much one is worse on the same stretches, and the standard error of that."""
    gap: Float1D = (one - other).ravel()
    return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(gap.size))


def beats(one: Candidate, baseline: np.ndarray) -> bool:
    """Whether a candidate is surely better than the errors of something simple."""
    if not math.isfinite(one.nmse):
        return False
    gap, spread = paired(one.error, baseline)
    return gap < -_SURE * spread
