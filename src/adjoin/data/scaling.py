"""Centred and scaled signals, in which models are fitted, and the way back.

Receives a `Dataset`; gives the same data in model units, and factors back to the user's.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from adjoin.arrays import Float1D
from adjoin.blocks import is_constant, moments
from adjoin.data.dataset import Dataset, Record, SignalTable, freeze
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Centred and scaled signals, and the way back to the user's units.

    .. math:: \tilde x_i = (x_i - o_i) / s_i

    with `offset` :math:`o` and `scale` :math:`s`, both ``(n_inputs + 1,)``: inputs in order, then
    the output, whose scale is also that of the noise.
    """

    names: SignalNames
    offset: Float1D
    scale: Float1D

    def __post_init__(self) -> None:
        freeze(self, "offset", "scale")

    @classmethod
    def identity(cls, names: SignalNames) -> Scaling:
        """Leave the signals as they are."""
        return cls(names, np.zeros(len(names.inputs) + 1), np.ones(len(names.inputs) + 1))

    @classmethod
    def from_dataset(cls, dataset: Dataset, center: bool, scale: bool) -> Scaling:
        """Take mean and standard deviation over all records together; a constant keeps scale 1."""
        plain, signals = cls.identity(dataset.names), dataset._signals()
        mean, deviation = np.array([moments(records) for _, records in signals]).T
        constant = [is_constant(records) for _, records in signals]  # it may round to 1e-17
        deviation = np.where(np.array(constant) | (deviation == 0.0), 1.0, deviation)
        return cls(
            dataset.names, mean if center else plain.offset, deviation if scale else plain.scale
        )

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the data set in scaled units."""
        self._require_signals(dataset)
        o, s = self.offset, self.scale
        records = [
            Record((record.inputs - o[:-1]) / s[:-1], (record.output - o[-1]) / s[-1])
            for record in dataset.records
        ]
        return replace(dataset, records=tuple(records), units=())  # they have none any more

    def lag_table(self, dataset: Dataset, max_lag: int) -> SignalTable:
        """All records end to end in scaled units; made in place, as they may be long."""
        self._require_signals(dataset)
        found = dataset.lag_table(max_lag)
        for row, offset, scale in zip(found.value, self.offset, self.scale, strict=True):
            np.subtract(row, offset, out=row)
            np.divide(row, scale, out=row)
        return found

    def _require_signals(self, dataset: Dataset) -> None:
        own, given = self.names.ordered[:-1], dataset.names.ordered[:-1]
        if own != given:
            raise AdjoinError(f"the scaling is of the signals {own}, but the data have {given}.")

    def coefficient_factor(self, exponents: Mapping[str, float]) -> float:
        r"""Return what turns a term's coefficient on scaled signals into the user's units.

        .. math:: \theta = \tilde\theta \; s_y / \prod_i s_i^{e_i}

        with `exponents` from signal name to :math:`e_i`, the term's total degree in that signal.
        """
        factor = self.noise_factor
        try:
            for name, exponent in exponents.items():
                i = min(self.names.position(name), len(self.names.inputs))
                factor /= float(self.scale[i]) ** exponent
        except (OverflowError, ZeroDivisionError):
            factor = math.inf
        if not 0.0 < factor < math.inf:
            raise AdjoinError(
                f"the coefficient of a term of degree {sum(exponents.values()):g} is beyond the"
                " range of numbers in the units of the data; use other units, or a lower degree."
            )
        return factor

    @property
    def noise_factor(self) -> float:
        """The scale :math:`s_y` of the output, which turns scaled noise into the user's units."""
        return float(self.scale[-1])

    @property
    def offsets(self) -> dict[str, float]:
        """Offset of every input and of the output, by name."""
        return dict(zip(self.names.ordered, self.offset.tolist(), strict=False))
