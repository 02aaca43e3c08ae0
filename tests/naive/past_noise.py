"""Past noise by its formulas, row by row: a first guess, and predictions that feed it back."""

from __future__ import annotations

import numpy as np
from tests.naive import simulate
from tests.naive.fits import FreeRuns
from tests.naive.prior import Term

from adjoin import Dataset, Structure


def guess(data: Dataset, max_lag: int) -> list[list[float]]:
    """What y(k) = c + Σ a_l y(k-l) + Σ b_il u_i(k-l) leaves in every record, 0 before it fits.

    As many lags as 10 or twice the window, and no more than leave ten rows to a column.
    """
    lengths, n_inputs = [len(record.output) for record in data.records], len(data.names.inputs)
    for lags in range(max(10, 2 * max_lag), 0, -1):
        n_columns = 1 + lags + n_inputs * (lags + 1)
        if sum(max(n - max(lags, max_lag), 0) for n in lengths) >= 10 * n_columns:
            break
    rows, wanted, places = [], [], []
    for number, record in enumerate(data.records):
        for k in range(max(lags, max_lag), len(record.output)):
            past = [record.output[k - lag] for lag in range(1, lags + 1)]
            past += [u[k - lag] for u in record.inputs.T for lag in range(lags + 1)]
            rows.append([1.0, *past])
            wanted.append(record.output[k])
            places.append((number, k))
    found = [[0.0] * len(record.output) for record in data.records]
    theta = np.linalg.lstsq(np.array(rows), np.array(wanted))[0]
    for row, value, (number, k) in zip(rows, wanted, places, strict=True):
        found[number][k] = float(value - np.dot(row, theta))
    return found


class Predictions(FreeRuns):
    """One-step predictions of any terms, whose past noise is what they have left themselves.

    e(k) = y(k) - f(k), none before the first fitted sample; ∂f(k)/∂θ = φ(k) - Σ ∂f/∂e · ∂f/∂θ.
    """

    sign = -1.0

    @property
    def fed_back(self) -> str:
        return self.names.noise

    def _run(self, terms: tuple[Term, ...], theta: tuple[float, ...]) -> list[list[float]] | None:
        """The predictions of every record; None if one is out of bounds."""
        pairs = sorted(zip(terms, theta, strict=True))
        structure = Structure(tuple(self.law.decode(term) for term in terms), self.names)
        values, found = [value for _, value in pairs], []
        for number, record in enumerate(self.data.records):
            output = record.output.tolist()
            predicted, noise = output[: self.first], [0.0] * self.first
            series = {**self.inputs[number], self.names.output: output, self.names.noise: noise}
            for k in range(self.first, len(output)):
                value = simulate.evaluate(structure, values, series, k, self.names.noise)
                if not self.bounds[0] <= value <= self.bounds[1]:
                    return None
                predicted.append(value)
                noise.append(output[k] - value)
            found.append(predicted)
        return found

    def _series(self, number: int, run: list[float]) -> simulate.Series:
        output = self.data.records[number].output
        noise = [0.0] * self.first + [y - f for y, f in zip(output, run, strict=True)][self.first :]
        return {
            **self.inputs[number],
            self.names.output: output.tolist(),
            self.names.noise: noise,
        }
