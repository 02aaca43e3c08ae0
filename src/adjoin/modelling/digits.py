"""How many digits an equation is printed with, so that what is read back still runs as the model.

Receives a `Model` that knows what it was fitted to; gives `Digits`, by which every equation for
people is printed. Files do not ask: they carry every number in full.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.blocks import mean_square, moments
from adjoin.data.dataset import Dataset

if TYPE_CHECKING:
    from adjoin.model import Model

ENOUGH: Literal["enough"] = "enough"
"""In the place of a number of digits: as many as the model's free run needs."""

SHARE = 0.01
"""How far the run of what is printed may be from the model's, in standard deviations of noise."""

_FEWEST, _MOST = 4, 15  # with 17 digits every number reads back as itself; 16 save nobody anything
_WITHOUT_NOISE = 1e-6  # of the output's standard deviation, where the noise is unknown or zero


@dataclass(frozen=True, eq=False)
class FittedTo:
    """The data a model was fitted to; the first `n_seed` samples of each record seed its runs."""

    data: Dataset
    n_seed: int


class Digits(NamedTuple):
    """Significant digits of what is printed; None: every number reads back as itself.

    Parameters
    ----------
    coefficients, offsets : int or None
        How many each of them needs.
    remark : str
        Said with the equation where it was fitted and cannot be printed shorter.
    """

    coefficients: int | None = None
    offsets: int | None = None
    remark: str = ""


def enough_digits(model: Model) -> Digits:
    r"""The fewest digits, from 4 on, with which a model survives printing.

    .. math:: \sqrt{\tfrac1n \sum_k \left(\hat y_{\text{printed}}(k) - \hat y(k)\right)^2} ≤ 0.01\,σ

    over the n samples that were fitted, ŷ the free run there. This is the norm of σ itself, so what
    printing does is invisible beside the noise. Where the free run of the model is lost, ŷ is
    predicted one step ahead; where σ is unknown or zero, the bound is 1e-6 of the output's standard
    deviation.

    Offsets come first, with half of that room. The coefficients are then judged both with the
    offsets as they are printed and with those of the model. Every number of digits is tried by a
    run: no bound on how rounding grows is as short, and none knows of chaos.

    A model that was not fitted has all digits.
    """
    if model.fitted_to is None:
        return Digits()
    trial = _Trial(model, model.fitted_to)
    if not trial.is_finite:
        return Digits(remark="needs all digits: none of its runs on the training data is finite")
    tried = range(_FEWEST, _MOST + 1)
    offsets = None
    if model.offsets:
        offsets = next((d for d in tried if trial.change(None, d) <= 0.5 * trial.room), None)
    coefficients = next((d for d in tried if trial.holds(d, offsets)), None)
    is_short = coefficients is not None and (offsets is not None or not model.offsets)
    return Digits(coefficients, offsets, "" if is_short else trial.remark)


def rounded_text(value: float, digits: int | None) -> str:
    """A number as equations print it: ``0.5004``, or what reads back exactly."""
    return repr(float(value)).removesuffix(".0") if digits is None else f"{value:.{digits}g}"


class _Trial:
    """A model's run on what it was fitted to, to hold rounded ones against."""

    def __init__(self, model: Model, fitted: FittedTo) -> None:
        self.model, self.fitted = model, fitted
        self.is_free = True
        self.run = self._run(model)
        if not self._is_finite:
            self.is_free = False
            self.run = self._run(model)
        self.is_finite = self._is_finite
        self.room = self._room()

    @property
    def _is_finite(self) -> bool:
        return all(bool(np.isfinite(record).all()) for record in self.run)

    def _room(self) -> float:
        if self.model.noise_sd:
            return SHARE * self.model.noise_sd
        return _WITHOUT_NOISE * moments(self._scored(self.fitted.data.outputs))[1]

    def _run(self, model: Model) -> list[Float1D]:
        data, n_seed = self.fitted.data, self.fitted.n_seed
        if self.is_free:
            seeds = [output[:n_seed] for output in data.outputs]
            return self._scored(model.free_response(data.inputs, seeds).series)
        return self._scored(model.predicted_response(data.inputs, data.outputs).series)

    def _scored(self, series: Sequence[Float1D]) -> list[Float1D]:
        return [record[self.fitted.n_seed :] for record in series]

    def holds(self, coefficients: int, offsets: int | None) -> bool:
        """Whether so many digits are enough, whichever offsets they are read back with."""
        return all(self.change(coefficients, d) <= self.room for d in {offsets, None})

    def change(self, coefficients: int | None, offsets: int | None) -> float:
        """What rounding does to the run, root mean square; infinite where it is lost."""
        theta = [_rounded(value, coefficients) for value in self.model.theta]
        moved = {name: _rounded(value, offsets) for name, value in self.model.offsets.items()}
        if not all(map(math.isfinite, (*theta, *moved.values()))):
            return math.inf  # the largest of all numbers, rounded up
        run = self._run(replace(self.model, theta=tuple(theta), offsets=moved))
        change = math.sqrt(mean_square(run, self.run))
        return change if math.isfinite(change) else math.inf

    @property
    def remark(self) -> str:
        what = "free run" if self.is_free else "one-step prediction"
        bound = "1 % of the noise" if self.model.noise_sd else "a millionth of the output's spread"
        return (
            f"needs all digits: with {_MOST}, its {what} on the training data changes by more than"
            f" {bound}"
        )


def _rounded(value: float, digits: int | None) -> float:
    return float(rounded_text(value, digits))
