r"""Which candidate is best, how sure that is, and which simpler one is as good.

Receives the held-out errors of all paths; gives `Candidate`, best first. With :math:`e_{fb}` the
mean squared error in stretch b of fold f, of F folds, and :math:`e_f` its mean over the stretches,

.. math:: E = \Bigl(\prod_f e_f\Bigr)^{1/F}

is what is compared, the *typical* error: a fold that is hard for all, such as one that holds out
the end of a range, would decide alone in a mean. Errors are paired: two candidates are compared
stretch by stretch of the same held-out data, so that what is hard for both does not count. With
:math:`d_{fb} = (e_{fb} - e'_{fb}) / e'_f` in B stretches of all folds,

.. math:: \bar d = \tfrac1B \sum d_{fb}, \quad s = \sqrt{\tfrac1{B(B-1)} \sum (d_{fb} - \bar d)^2}

is by which share one is worse than the other and the standard error of that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from adjoin.arrays import Float1D
from adjoin.discovery.scan import Path
from adjoin.discovery.settings import LINEAR, Setting
from adjoin.results.discovered import ALIKE

NEAR = 2.0
"""Times the held-out error of the best: beyond, a candidate is neither averaged nor grown on."""
_NEARLY = 0.9  # of the longest model of a path: its best may be still to come
_OF_ONE_SETTING = 3  # candidates among the best: neighbours in one path fail together
_TINY = 1e-300  # instead of no error at all
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
        What is compared: the typical error, and its standard error, in percent of the output's
        variance.
    mean_nmse : float
        The mean over folds, what is to be expected of data like those that were held out.
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
    mean_nmse: float
    n_lost: int
    cpu_s: float
    is_checked: bool = False

    @classmethod
    def of(
        cls, setting: Setting, n_terms: int, error: np.ndarray, variance: float, cpu_s: float
    ) -> Candidate:
        """A candidate with what its errors amount to."""
        share = 100.0 * error / variance
        is_kept = np.isfinite(share).all(axis=1)
        nmse, sd = _typical(share) if is_kept.all() else (math.inf, math.inf)
        mean = float(share.mean()) if is_kept.all() else math.inf
        return cls(setting, n_terms, error, nmse, sd, mean, int((~is_kept).sum()), cpu_s)

    def with_error(
        self, error: np.ndarray, fitted_error: float, n_terms: int, variance: float
    ) -> Candidate:
        """The same with the larger errors of a second look, and its size on all data.

        Where it misses more of the data that it is fitted to, that is what counts.
        """
        found = Candidate.of(self.setting, n_terms, error, variance, self.cpu_s)
        fitted = 100.0 * fitted_error / variance
        if not math.isfinite(fitted):
            fitted = math.inf
        return replace(
            found,
            nmse=max(found.nmse, fitted),
            mean_nmse=max(found.mean_nmse, fitted),
            is_checked=True,
        )

    @property
    def words(self) -> str:
        """For a table."""
        return f"{self.setting.words}, {self.n_terms} terms"

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        nmse, sd, mean = (
            value if math.isfinite(value) else None
            for value in (self.nmse, self.sd, self.mean_nmse)
        )
        return {
            "words": self.setting.words,
            "settings": self.setting.plain,
            "n_terms": self.n_terms,
            "validation": {"nmse": nmse, "sd": sd, "mean_nmse": mean, "n_lost": self.n_lost},
            "cpu_s": self.cpu_s,
            "is_checked": self.is_checked,
        }


def _typical(share: np.ndarray) -> tuple[float, float]:
    """The geometric mean over folds, and its standard error; of one fold, over its stretches."""
    values = share.mean(axis=1) if len(share) > 1 else share.ravel()
    logarithm = np.log(np.maximum(values, _TINY))
    nmse = float(np.exp(np.log(np.maximum(share.mean(axis=1), _TINY)).mean()))
    if len(values) < 2:
        return nmse, math.inf
    return nmse, nmse * float(logarithm.std(ddof=1)) / math.sqrt(len(values))


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


def still_growing(ranked: Sequence[Candidate], most: int) -> list[Setting]:
    """Settings whose best model is nearly the largest of its path, the best first, at most so many.

    They are among those that would be averaged with the best; a path that ends with linear models
    of all lags has no longer one.
    """
    best: dict[Setting, Candidate] = {}
    for one in ranked:
        if one.setting.objective != LINEAR:
            best.setdefault(one.setting, one)
    limit = NEAR * ranked[0].nmse
    return [
        setting
        for setting, one in best.items()
        if not one.n_lost and one.nmse <= limit and one.n_terms > _NEARLY * setting.max_terms
    ][:most]


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
    """By which share one is worse on the same stretches, and the standard error of that."""
    unit = np.maximum(other.mean(axis=1, keepdims=True), _TINY)
    gap: Float1D = ((one - other) / unit).ravel()
    return float(gap.mean()), float(gap.std(ddof=1) / math.sqrt(gap.size))


def beats(one: Candidate, baseline: np.ndarray) -> bool:
    """Whether a candidate is surely better than the errors of something simple."""
    if not math.isfinite(one.nmse):
        return False
    gap, spread = paired(one.error, baseline)
    return gap < -_SURE * spread
