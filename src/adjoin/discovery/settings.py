"""The candidates: which models are grown, and in which units.

Receives what a user allows and how far back the linear scan looked; gives `Setting`, one for each
path of models that is grown and compared.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from math import comb
from typing import Any, NamedTuple

from adjoin.errors import AdjoinError
from adjoin.inference.forward import PREDICTION, SIMULATION

LAGS, DEGREES = (2, 3, 5, 10), (1, 2, 3)
MOST_TERMS = 60_000  # of an alphabet: beyond, a path sees too small a part of it to be compared


class Effort(NamedTuple):
    """How much is tried.

    Folds; terms of the largest model, and how many paths that are best there grow twice as long;
    lags; samples of coefficients and noise for given terms; and how many settings of each objective
    get a posterior of structures, of how many free runs of a thousand samples each at most.
    """

    n_folds: int
    max_terms: int
    n_longer: int
    lags: tuple[int, ...]
    samples: int
    n_sampled: int
    runs: int


EFFORTS = {
    "quick": Effort(2, 16, 1, (2, 5, 10), 2_000, 1, 200),
    "normal": Effort(4, 30, 2, LAGS, 5_000, 1, 600),
    "thorough": Effort(6, 45, 4, (2, 3, 4, 6, 8, 10, 15), 20_000, 2, 6_000),
}
LINEAR = "linear"
"""What a table calls linear models of all lags, fitted one step ahead."""
WHITE, COLOURED, POWERED = "white", "ar", "auto"
"""Posteriors of structures: by simulation with white or coloured noise, or by prediction with the
power of the likelihood that the residuals' autocorrelation asks for."""
_SAMPLED = {
    WHITE: "posterior by simulation, white noise",
    COLOURED: "posterior by simulation, coloured noise",
    POWERED: "posterior by prediction",
}


@dataclass(frozen=True)
class Setting:
    """One way to models: what their error is of, their lags and degree, and their units.

    `objective` is that of forward selection, or `LINEAR`: all lags up to growing orders. `sampled`
    is empty for a path of growing models; else a posterior of structures, and which.
    """

    objective: str
    max_lag: int
    max_degree: int
    center: bool
    max_terms: int
    sampled: str = ""

    @property
    def words(self) -> str:
        """For a table."""
        if self.objective == LINEAR:
            return f"all linear terms up to lag {self.max_lag}"
        units = "deviations from means" if self.center else "raw signals"
        way = _SAMPLED.get(self.sampled, self.objective)
        return f"{way}, lag {self.max_lag}, degree {self.max_degree}, {units}"

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return asdict(self)


def read_effort(name: Any) -> Effort:
    """An effort by its name."""
    if name not in EFFORTS:
        raise AdjoinError(f"effort={name!r} is unknown; use {', '.join(map(repr, EFFORTS))}")
    return EFFORTS[name]


def make_settings(
    effort: Effort,
    n_inputs: int,
    n_functions: int,
    far_lags: tuple[int, ...],
    max_lag: int | None,
    max_degree: int | None,
    may_center: bool,
) -> tuple[Setting, ...]:
    """All candidates, the smallest model classes first.

    `far_lags` are what the linear scan asks for beyond the usual ones; `max_lag` and `max_degree`
    bound everything where a user gave them. Known terms and functions are of the signals as they
    are, so that these are not centred.
    """
    lags = sorted({*effort.lags, *far_lags})
    if max_lag is not None:
        lags = sorted({*(lag for lag in lags if lag < max_lag), max_lag})
    degrees = [degree for degree in DEGREES if max_degree is None or degree <= max_degree]
    if max_degree is not None and max_degree > DEGREES[-1]:
        degrees.append(max_degree)
    centres = (False, True) if may_center else (False,)
    found = []
    for degree, lag, center in product(degrees, lags, centres):
        if degree == 1 and center:
            continue  # a linear model with a constant is the same in both
        if _n_terms(lag, degree, n_inputs, n_functions) > MOST_TERMS:
            continue
        # Linear models have small coefficients at many lags; each is cheap.
        most = 2 * effort.max_terms if degree == 1 else effort.max_terms
        found += [Setting(name, lag, degree, center, most) for name in (SIMULATION, PREDICTION)]
    return tuple(found)


def _n_terms(lag: int, degree: int, n_inputs: int, n_functions: int) -> int:
    """How many terms a polynomial of so many lags and factors has."""
    n_atoms = (1 + n_functions) * (n_inputs * (lag + 1) + lag)
    return comb(n_atoms + degree, degree)
