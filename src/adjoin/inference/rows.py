"""The samples that are fitted, in model units, and columns of single structures on them.

Receives a `Dataset`, a lag window and a `Scaling`; gives columns to whoever fits or explains one
structure: the known physics alone, the mode of a posterior, an export.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.dataset import Dataset, SignalTable
from adjoin.data.scaling import Scaling
from adjoin.errors import AdjoinError
from adjoin.grammar.equation import term_text
from adjoin.grammar.functions import find_function
from adjoin.grammar.terms import Atom, Structure, Term, exponents
from adjoin.inference.past_noise import guess_noise
from adjoin.kernels.functions import fill_function
from adjoin.model import Model
from adjoin.modelling.digits import FittedTo


@dataclass(frozen=True, eq=False)
class Rows:
    """What a one-step-ahead regression has as its rows.

    Parameters
    ----------
    data : Dataset
        In the user's units.
    max_lag : int
        How many samples at the start of each record seed the regressors and are not fitted.
    scaling : Scaling
        From the user's units to those of the models.
    """

    data: Dataset
    max_lag: int
    scaling: Scaling

    @classmethod
    def unscaled(cls, data: Dataset, max_lag: int) -> Rows:
        """In the user's own units."""
        return cls(data, max_lag, Scaling.identity(data.names))

    @cached_property
    def table(self) -> SignalTable:
        """All records end to end in model units."""
        return self.scaling.apply(self.data).lag_table(self.max_lag)

    @property
    def output(self) -> Float1D:
        """(n_samples,) the measured output, all records end to end."""
        row: Float1D = self.table.value[len(self.data.names.inputs)]
        return row

    @cached_property
    def output_variance(self) -> float:
        """Variance of the output in model units, by which a prior knows its scale; 1 if constant.

        Over all samples, as `Scaling` takes it; a score is normalised by that of what it scores.
        """
        return float(np.var(self.output)) or 1.0

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """From where to where each record is fitted."""
        ends = zip(self.table.first, self.table.start[1:], strict=True)
        return [(int(first), int(stop)) for first, stop in ends]

    @cached_property
    def fitted(self) -> Float1D:
        """(n_rows,) the output where it is fitted."""
        return np.concatenate([self.output[first:stop] for first, stop in self.stretches])

    def design(self, structure: Structure) -> Float2D:
        """The columns of a structure where it is fitted, ``(n_rows, n_terms)``."""
        stretches = self.stretches
        columns = np.ones((len(structure), sum(stop - first for first, stop in stretches)))
        seen: dict[Atom, Float1D] = {}
        for i, term in enumerate(structure):
            for atom in term:
                if atom not in seen:
                    seen[atom] = self._column(atom, stretches)
                columns[i] *= seen[atom]
        return columns.T

    def _column(self, atom: Atom, stretches: list[tuple[int, int]]) -> Float1D:
        row = self.series(atom.signal, atom.function)
        return np.concatenate([row[a - atom.lag : b - atom.lag] for a, b in stretches])

    @cached_property
    def past_noise(self) -> Float1D:
        """(n_samples,) a guess of the noise in the output's unit, for what begins with one."""
        return guess_noise(self.table, self.max_lag)

    @cached_property
    def noise_unit(self) -> float:
        """What past noise is measured in, in the output's unit: its own size, by the guess.

        So products with noise are in standard units as those of signals are; 1 where signals are
        in their own units.
        """
        is_standard = self.scaling.scale[-1] != 1.0
        size = float(np.sqrt(np.mean(self.past_noise**2)))
        return size if is_standard and size > 0.0 else 1.0

    def series(self, signal: str, function: str = "") -> Float1D:
        """(n_samples,) a function of a signal in model units; of the noise, a guess."""
        signals = self.data.names.ordered[:-1]
        if signal not in signals:
            return self.past_noise / self.noise_unit
        place = signals.index(signal)
        return apply_to_scaled(function, self.table.value[place], self.scaling.scale[place])

    def is_finite(self, term: Term) -> bool:
        """Whether a term's column, and its square, are finite on these data."""
        with np.errstate(over="ignore"):
            columns = self.design(Structure((term,), self.data.names))
            return bool(np.isfinite(columns.T @ columns).all())

    def factors(self, structure: Structure) -> Float1D:
        """What turns each term's coefficient from model units into the user's."""
        return np.array([self.factor(term) for term in structure])

    def factor(self, term: Term) -> float:
        """The same of one term."""
        degrees = exponents(term)
        n_noise = degrees.get(self.data.names.noise, 0.0)
        unit = self.noise_unit**n_noise if n_noise else 1.0
        return self.scaling.coefficient_factor(degrees) / unit

    def white_box(self, structure: Structure) -> Model:
        """A structure alone, fitted by `least_squares`."""
        columns = self.design(structure)
        theta = least_squares(structure, columns, self.fitted)
        left, n_free = self.fitted - columns @ theta, max(len(columns) - len(structure), 1)
        noise_sd = float(np.sqrt(left @ left / n_free)) * self.scaling.noise_factor
        values = tuple(theta * self.factors(structure))
        fitted_to = FittedTo(self.data, self.max_lag)
        return Model(structure, values, noise_sd, self.scaling.offsets, fitted_to=fitted_to)


def apply_to_scaled(function: str, series: Float1D, scale: float) -> Float1D:
    """A function of a scaled signal; one that does not scale gets the signal in its own unit.

    A knot is in the signal's unit, and is scaled as the signal is.
    """
    found = find_function(function)
    factor, shift = found.argument(scale)
    value = np.empty_like(series)
    fill_function(found.code, np.ascontiguousarray(series * factor - shift), value)
    return value


def least_squares(structure: Structure, columns: Float2D, output: Float1D) -> Float1D:
    """The coefficients of a structure with these columns by ordinary least squares.

    Raises where they are not determined: the terms are a user's, who should hear of it.
    """
    with np.errstate(over="ignore"):  # what overflows is refused
        length = np.linalg.norm(columns, axis=0)
    if not (np.isfinite(length).all() and length.all()):
        bad = structure.terms[int(np.argmax(~np.isfinite(length) | (length == 0.0)))]
        raise AdjoinError(
            f"the fixed term '{term_text(bad)}' is zero or not finite on these data; leave it out,"
            " or check the units of its signals"
        )
    theta, _, rank, _ = np.linalg.lstsq(columns / length, output)
    if rank < len(structure):
        raise AdjoinError(
            f"the fixed terms '{structure}' cannot be told apart on these data; leave one out"
        )
    return np.asarray(theta / length)


def conditional_mode(
    columns: Float2D, output: Float1D, noise: float, coefficient: float, power: float
) -> Float1D:
    r"""The coefficients that maximise their full conditional.

    .. math:: \hat θ = \arg\min \frac{w}{σ²}‖y - Φθ‖² + \frac{1}{σ_θ²}‖θ‖²

    By QR of the columns, of unit length, above the ridge: with the digits of the columns, of which
    normal equations lose half. `noise` and `coefficient` are the variances σ² and σ_θ², `power` is
    w.
    """
    n = columns.shape[1]
    if not n or not power > 0.0:
        return np.zeros(n)
    length = np.linalg.norm(columns, axis=0)
    length[length == 0.0] = 1.0
    ridge = np.sqrt(noise / (coefficient * power)) / length
    basis, factor = np.linalg.qr(np.vstack([columns / length, np.diag(ridge)]))
    right = np.append(output, np.zeros(n))
    return np.asarray(_solve(factor, basis.T @ right) / length)


def _solve(normal: Float2D, right: Float1D) -> Float1D:
    """Solve with a matrix that should be regular; by least squares if rounding says it is not."""
    try:
        return np.asarray(np.linalg.solve(normal, right))
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(normal, right)[0])
