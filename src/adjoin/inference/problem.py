"""Data and model class as the samplers see them, laid out once; all engines share it.

Receives a `Dataset`, an `Alphabet` and a `Scaling`; gives the kernels a `Regression`, on which both
one-step predictions and free runs are made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import pieces, sum_of_squares
from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.alphabet import Alphabet
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import term_text
from adjoin.grammar.terms import Atom, Structure
from adjoin.inference.prior import STANDARD, Prior
from adjoin.inference.rows import Rows, least_squares
from adjoin.inference.settings import RUNAWAY
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS
from adjoin.kernels.simulate import LIMIT
from adjoin.model import Model

MAX_TERMS = 256
"""More terms than any posterior here has had; the chain counts when it is turned away by it."""

_NOISE_LIMIT = 2.0**-40
"""Of the output's root mean square: noise below this cannot be told from rounding."""


def limits_of(data: Dataset, runaway: float = RUNAWAY) -> tuple[float, float] | None:
    r"""Between which values a free run of what was fitted to these data stays, or is lost.

    .. math:: m \pm f h, \quad m = \tfrac12(y_{max} + y_{min}), \quad
        h = \tfrac12(y_{max} - y_{min})

    with the largest and the smallest measured output of all records, and f = `runaway`. None where
    f is infinite or the output constant: there is no range to leave.
    """
    low = min(float(y.min()) for y in data.outputs)
    high = max(float(y.max()) for y in data.outputs)
    middle, reach = 0.5 * high + 0.5 * low, runaway * (0.5 * high - 0.5 * low)
    return (middle - reach, middle + reach) if 0.0 < reach < math.inf else None


@dataclass(frozen=True, eq=False)
class Problem:
    """Data, model class and units; read-only, and the same for every chain.

    Parameters
    ----------
    data : Dataset
        In the user's units.
    alphabet : Alphabet
        What structures are made of; its fixed terms are in all of them.
    scaling : Scaling, optional
        From the user's units to those of the models; default: none.
    is_residual : bool
        Whether fixed terms keep the coefficients of their own least-squares fit, so that the others
        explain what these leave.
    runaway : float
        A free run is lost once it is so many times as far from the middle of the measured output's
        range as its ends are; infinite: once it is beyond all numbers.
    """

    data: Dataset
    alphabet: Alphabet
    scaling: Scaling | None = None
    is_residual: bool = False
    runaway: float = RUNAWAY

    def __post_init__(self) -> None:
        if self.is_residual and self.alphabet.fixed.has_noise:
            raise AdjoinError(
                f"fixed terms with past noise ('{self.data.names.noise}') have no fit of their own;"
                " use initial_mode='joint'"
            )

    @cached_property
    def encoding(self) -> Encoding:
        """Numbers for atoms and terms."""
        return Encoding(self.alphabet)

    @cached_property
    def rows(self) -> Rows:
        """The samples that are fitted, in model units."""
        scaling = self.scaling or Scaling.identity(self.data.names)
        return Rows(self.data, self.alphabet.max_lag, scaling)

    @property
    def has_noise(self) -> bool:
        """Whether structures may have past noise, which nobody measures."""
        return self.alphabet.has_noise

    @property
    def capacity(self) -> int:
        """How many terms a structure may have."""
        return min(self.alphabet.n_terms, MAX_TERMS) + len(self.alphabet.fixed)

    @property
    def output_variance(self) -> float:
        """Variance of the output in model units; see `Rows.output_variance`."""
        return self.rows.output_variance

    def noise_scale(self, prior: Prior) -> float:
        r"""β of the noise prior IG(α, β) in model units.

        .. math:: β = \tfrac{n}{2}\, ε\, \frac{1}{n} \sum_k y(k)², \qquad ε = 2^{-80}

        unless the prior has one, with y the output as it was measured, centred or not: that is what
        was rounded. The noise then never comes out below :math:`2^{-40}` of the output's root mean
        square, whatever n is. That is 2⁸ below the step of a 32-bit sensor, so
        that no sensor's noise is near it, and 2¹³ above the last digit of a double: what products
        of rounded signals with coefficients of a thousand leave of noise-free data, so that nobody
        models rounding. A number in the prior is a multiple of the output's variance in standard
        units, and as it is in raw units.
        """
        if prior.noise_scale is None:
            scaling = self.rows.scaling
            mean = float(scaling.offset[-1] / scaling.scale[-1])
            square = sum_of_squares(self.rows.fitted_records, mean)
            return 0.5 * _NOISE_LIMIT**2 * (square or self.rows.n_rows)
        return float(prior.noise_scale) * (self.output_variance if prior.units == STANDARD else 1.0)

    def noise_limit(self, prior: Prior, power: float) -> float:
        r"""The standard deviation of the noise if nothing were left to explain, in model units.

        .. math:: \sqrt{β / (α + w n / 2)}

        Found noise near this is the prior's word, not that of the data.
        """
        shape = prior.noise_shape + 0.5 * power * self.rows.n_rows
        return math.sqrt(self.noise_scale(prior) / shape)

    @property
    def pinned(self) -> Structure:
        """The terms whose coefficients are not learned."""
        return self.alphabet.fixed if self.is_residual else Structure((), self.data.names)

    @cached_property
    def pinned_theta(self) -> Float1D:
        """Their coefficients in model units, by least squares."""
        if not len(self.pinned):
            return np.empty(0)
        return least_squares(self.pinned, *self.rows.reduced(self.pinned))

    @cached_property
    def alike(self) -> tuple[str, ...]:
        """What functions of a signal are on these data, where they are the signal or a number."""
        found = []
        for choice in self.alphabet.choices:
            if not choice.function:
                continue
            plain = self.rows.series(choice.signal)
            value = self.rows.series(choice.signal, choice.function)
            text, of = (
                term_text((Atom(choice.signal, choice.min_lag, name),))
                for name in (choice.function, "")
            )
            if np.ptp(value) == 0.0:
                found.append(f"{text} is always {value[0]:g}")
            elif np.array_equal(value, plain):
                found.append(f"{text} is always {of}")
            elif np.array_equal(value, -plain):
                found.append(f"{text} is always -{of}")
        return tuple(found)

    @cached_property
    def limits(self) -> tuple[float, float] | None:
        """Where a free run is lost, in the user's units; see `limits_of`."""
        return limits_of(self.data, self.runaway)

    @cached_property
    def bounds(self) -> tuple[float, float]:
        """The same in model units, for the kernels."""
        if self.limits is None:
            return -LIMIT, LIMIT
        scaling = self.rows.scaling
        lower, upper = (
            float((limit - scaling.offset[-1]) / scaling.scale[-1]) for limit in self.limits
        )
        return max(lower, -LIMIT), min(upper, LIMIT)

    @cached_property
    def regression(self) -> Regression:
        """The regression of the output on terms, for the kernels."""
        return self._lay_out(is_off=False)

    @cached_property
    def without_data(self) -> Regression:
        """The same without rows: the prior alone."""
        return self._lay_out(is_off=True)

    def restarted(self, horizon: int | None) -> Problem:
        """The same rows, with free runs that begin anew from the measured output now and then.

        After `horizon` samples, as if each stretch were a record of its own (`Dataset.windows`);
        None: never.
        """
        if horizon is None:
            return self
        data = self.data.windows(horizon, self.alphabet.max_lag)
        return replace(self, data=data, scaling=self.rows.scaling)

    def white_box(self, structure: Structure) -> Model:
        """A structure alone, by least squares; its free run is lost where all others are."""
        return replace(self.rows.white_box(structure), limits=self.limits)

    def _lay_out(self, is_off: bool) -> Regression:
        encoding, names, rows = self.encoding, self.encoding.names, self.rows
        read = sorted({(names.position(atom.signal), atom.function) for atom in encoding.atoms})
        output = rows.output
        edges = [np.append(np.arange(first, stop, ROWS), stop) for first, stop in rows.stretches]
        start = np.concatenate([np.empty(0, dtype=np.int64), *(edge[:-1] for edge in edges)])
        stop = np.concatenate([np.empty(0, dtype=np.int64), *(edge[1:] for edge in edges)])
        is_there = slice(0, 0 if is_off else None)
        target = output
        if len(self.pinned):
            target = output.copy()
            for part, pinned in rows.explained(self.pinned, self.pinned_theta):
                target[part] -= pinned
        fitted = [] if is_off else rows.stretches
        return Regression(
            series=self._series(read),
            row=np.array(
                [read.index((names.position(a.signal), a.function)) for a in encoding.atoms],
                dtype=np.int64,
            ),
            lag=np.array([atom.lag for atom in encoding.atoms], dtype=np.int64),
            output=output,
            target=target,
            start=start[is_there],
            stop=stop[is_there],
            output_norm=_norm(output, fitted),
            target_norm=_norm(target, fitted),
            n_rows=sum(b - a for a, b in fitted),
            pinned_key=np.array([encoding.key(term) for term in self.pinned], dtype=np.int64),
            pinned_theta=self.pinned_theta.copy(),
        )

    def _series(self, read: list[tuple[int, str]]) -> Float2D:
        """A row for each signal and function that is read: those of the table, where it has all."""
        table, names = self.rows.table.value, self.encoding.names
        if read == [(i, "") for i in range(len(table))]:
            return table
        series = np.empty((max(len(read), 1), table.shape[1]))
        for row, (signal, function) in zip(series, read, strict=False):
            for a, b in pieces(0, len(row)):
                row[a:b] = self.rows.series(names.ordered[signal], function, slice(a, b))
        return series


def _norm(series: Float1D, stretches: list[tuple[int, int]]) -> float:
    """The length of a series where it is fitted."""
    return math.sqrt(sum_of_squares([series[:0], *(series[a:b] for a, b in stretches)]))
