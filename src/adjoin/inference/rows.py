"""The samples that are fitted, in model units, and columns of single structures on them.

Receives a `Dataset`, a lag window and a `Scaling`; gives columns to whoever fits or explains one
structure: the known physics alone, the mode of a posterior, an export.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import is_long, moments, pieces
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
        return self.scaling.lag_table(self.data, self.max_lag)

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
        if is_long(len(self.output)):
            return moments([self.output])[1] ** 2 or 1.0
        return float(np.var(self.output)) or 1.0

    @property
    def stretches(self) -> list[tuple[int, int]]:
        """From where to where each record is fitted."""
        ends = zip(self.table.first, self.table.start[1:], strict=True)
        return [(int(first), int(stop)) for first, stop in ends]

    @cached_property
    def fitted(self) -> Float1D:
        """(n_rows,) the output where it is fitted."""
        return np.concatenate(self.fitted_records)

    @property
    def fitted_records(self) -> list[Float1D]:
        """The same record by record, as views."""
        return [self.output[first:stop] for first, stop in self.stretches]

    @property
    def n_rows(self) -> int:
        """How many samples are fitted."""
        return sum(stop - first for first, stop in self.stretches)

    @property
    def blocks(self) -> Iterator[tuple[int, int]]:
        """The stretches a block of rows at a time."""
        return (block for stretch in self.stretches for block in pieces(*stretch))

    def reduced(self, structure: Structure) -> tuple[Float2D, Float1D]:
        r"""Columns Φ of a structure and the fitted output y, as far as least squares can tell.

        .. math:: ‖y - Φθ‖ = ‖r - Rθ‖ \quad \text{for all } θ

        They are Φ and y, and of long records R and r, the triangle of their QR, made a block of
        rows at a time: with the digits of the columns, and with no column as long as a record.
        """
        if not is_long(self.n_rows):
            return self.design(structure), self.fitted
        triangle = np.empty((0, len(structure) + 1))
        for block in self.blocks:
            rows = np.column_stack([self.design(structure, [block]), self.output[slice(*block)]])
            triangle = np.asarray(np.linalg.qr(np.vstack([triangle, rows]), mode="r"))
        return triangle[:, :-1], triangle[:, -1]

    def explained(self, structure: Structure, theta: Float1D) -> Iterator[tuple[slice, Float1D]]:
        """Φθ where it is fitted: which samples, and of these; of long records in blocks."""
        if is_long(self.n_rows):
            for first, stop in self.blocks:
                yield slice(first, stop), self.design(structure, [(first, stop)]) @ theta
            return
        edges = np.cumsum([0, *(stop - first for first, stop in self.stretches)])
        whole = self.design(structure) @ theta
        for (first, stop), (begin, end) in zip(self.stretches, pairwise(edges), strict=True):
            yield slice(first, stop), whole[begin:end]

    def design(
        self, structure: Structure, stretches: list[tuple[int, int]] | None = None
    ) -> Float2D:
        """The columns of a structure where it is fitted, ``(n_rows, n_terms)``.

        All of them, or those of the samples in some `stretches`.
        """
        stretches = self.stretches if stretches is None else stretches
        columns = np.ones((len(structure), sum(stop - first for first, stop in stretches)))
        seen: dict[Atom, Float1D] = {}
        for i, term in enumerate(structure):
            for atom in term:
                if atom not in seen:
                    seen[atom] = self._column(atom, stretches)
                columns[i] *= seen[atom]
        return columns.T

    def _column(self, atom: Atom, stretches: list[tuple[int, int]]) -> Float1D:
        parts = [slice(a - atom.lag, b - atom.lag) for a, b in stretches]
        return np.concatenate([self.series(atom.signal, atom.function, part) for part in parts])

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

    def series(self, signal: str, function: str = "", part: slice = slice(None)) -> Float1D:
        """(n_samples,) a function of a signal in model units, or `part`; of the noise, a guess."""
        signals = self.data.names.ordered[:-1]
        if signal not in signals:
            return self.past_noise[part] / self.noise_unit
        place = signals.index(signal)
        return apply_to_scaled(function, self.table.value[place, part], self.scaling.scale[place])

    def is_finite(self, term: Term) -> bool:
        """Whether a term's column, and its square, are finite on these data."""
        structure = Structure((term,), self.data.names)
        parts = [[block] for block in self.blocks] if is_long(self.n_rows) else [self.stretches]
        square = 0.0
        with np.errstate(over="ignore"):
            for part in parts:
                column = self.design(structure, part)
                square += float((column.T @ column)[0, 0])
        return bool(np.isfinite(square))

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
        columns, output = self.reduced(structure)
        theta = least_squares(structure, columns, output)
        left, n_free = output - columns @ theta, max(self.n_rows - len(structure), 1)
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
