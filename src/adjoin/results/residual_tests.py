r"""Correlation tests: whether residuals still hold something that a model could explain.

Receives residuals, output and inputs, record by record; gives one `ResidualTest` each. For two
centred series a and b

.. math:: φ_{ab}(τ) = \frac{\sum_k a(k)\, b(k-τ)}{\sqrt{\sum_k a(k)^2 \sum_k b(k)^2}}

is zero but for chance at every lag τ ≥ 0 if the residual ε is white noise that no past value
explains. The linear tests are :math:`φ_{εε}` and :math:`φ_{εu}`; the nonlinear ones
:math:`φ_{ε(εu)}, φ_{εu²}, φ_{ε²u²}` (Billings and Voon, 1986) and :math:`φ_{(yε)ε²}, φ_{(yε)u²}`
(Billings and Zhu, 1994), which see what is left of even powers and of products.

Noise with a memory correlates by chance with any signal that has one, further than 1/√N. So where
the residual's own past explains it, z of every other test is that of the two series after both went
through the autoregression that makes the first of them white (Box and Jenkins' prewhitening).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np

from adjoin.arrays import Float1D, Int1D
from adjoin.checks import require_count
from adjoin.inference.autocorrelation import autocorrelation

MAX_LAG = 25
FALSE_ALARMS = 0.01
"""How often any test fails although nothing is left, over all lags of all tests together."""

SLIGHT = 0.1
"""A correlation below explains less than 1 % of a variance."""

_INSIDE = 1.96  # standard errors: the 95 % band that the field draws
_ROUNDING = 1e-14  # of a series' size: what is left of a constant after its mean is taken off
_NOTHING = 1e-8  # of the output's size: residuals below are what a perfect fit leaves, not data

Records = Sequence[Float1D]


@dataclass(frozen=True, eq=False)
class ResidualTest:
    r"""One correlation function, held against chance.

    Parameters
    ----------
    name, symbol : str
        What is correlated with what, in words and as mathtext.
    lag : (n_lags,) int
        The lags τ.
    correlation : (n_lags,) float
        φ(τ).
    z : (n_lags,) float
        φ(τ) over its standard error, the larger of 1/√N, which is that of independent series, and
        :math:`\sqrt{\sum a^2 b^2 / (\sum a^2 \sum b^2)}`, which is right where the size of one
        goes with that of the other too. The second alone would cry wolf: squares are skewed, and
        where the large ones happen to be missing from a sum, it is negative and its error small.
        Where residuals have a memory, of the series made white; see the top of this module.
    n_samples : int
        N.
    n_compared, n_tests : int
        The lags of all tests made together, and the tests, for which is made allowance.
    is_of_own_past : bool
        Whether noise that is not white has it too: the residual's correlation with itself, and,
        where that is there, the one of the squares of both.
    signal : str
        The input, where it is the residual's correlation with one or with its square: what is left
        then is no noise, but what a model could explain.
    is_of_square : bool
        Whether it is the square.
    """

    name: str
    symbol: str
    lag: Int1D
    correlation: Float1D
    z: Float1D
    n_samples: int
    n_compared: int
    n_tests: int
    is_of_own_past: bool = False
    signal: str = ""
    is_of_square: bool = False

    @property
    def is_of_input(self) -> bool:
        """Whether it is of the residual with an input or its square."""
        return bool(self.signal)

    @property
    def band(self) -> float:
        """The 95 % band 1.96/√N: of a hundred lags about five are outside it by chance."""
        return _INSIDE / math.sqrt(self.n_samples)

    @property
    def limit(self) -> float:
        """How large |z| may get: beyond it at any lag of any test in one run of two hundred."""
        return NormalDist().inv_cdf(1.0 - 0.5 * FALSE_ALARMS / (2.0 * self.n_compared))

    @property
    def n_outside(self) -> int:
        """How many lags have |z| > 1.96: those outside the 95 % band of their own error."""
        return int(np.count_nonzero(np.abs(self.z) > _INSIDE))

    @property
    def most_outside(self) -> int:
        """How many lags chance may bring outside: more come to any test in one run of 200.

        By chance one lag of twenty is outside, so the number of such lags is binomial.
        """
        n, tail = len(self.lag), 0.0
        for m in range(n, 0, -1):
            tail += math.comb(n, m) * 0.05**m * 0.95 ** (n - m)
            if tail >= 0.5 * FALSE_ALARMS / self.n_tests:
                return m
        return 0

    @property
    def is_crowded(self) -> bool:
        """Whether more lags are outside than chance brings."""
        return self.n_outside > self.most_outside

    @property
    def is_significant(self) -> np.ndarray:
        """(n_lags,) which lags chance does not explain: the large ones, or many small ones."""
        return np.abs(self.z) > (_INSIDE if self.is_crowded else self.limit)

    @property
    def is_passed(self) -> bool:
        """Whether chance explains all lags."""
        return not self.is_significant.any()

    @property
    def largest(self) -> tuple[float, int]:
        """The largest correlation that chance does not explain, and its lag; 0 at the first."""
        at = int((np.abs(self.correlation) * self.is_significant).argmax())
        return float(self.correlation[at] * self.is_significant[at]), int(self.lag[at])

    @property
    def summary(self) -> dict[str, object]:
        """As plain values: what it says, and the two counts that it fails or passes by.

        `largest` is the correlation at the `lag` that is the most significant by its own error, `z`
        that in its own errors, and `limit` what z may be; `n_outside` of `n_lags` have |z| > 1.96,
        and `most_outside` may. `band` is the field's, for errors that are all alike.
        """
        worst = int(np.abs(self.z).argmax())
        return {
            "test": self.name,
            "is_passed": self.is_passed,
            "largest": float(self.correlation[worst]),
            "lag": int(self.lag[worst]),
            "z": float(self.z[worst]),
            "limit": self.limit,
            "n_outside": self.n_outside,
            "most_outside": self.most_outside,
            "n_lags": len(self.lag),
            "band": self.band,
        }


def residual_tests(
    residuals: Records, outputs: Records, inputs: Mapping[str, Records], max_lag: int = MAX_LAG
) -> list[ResidualTest]:
    """All tests, linear ones first; those with an input once for each.

    Parameters
    ----------
    residuals, outputs : one (n,) array per record
        Equally long.
    inputs : mapping of str to one (n,) array per record
        By signal name.
    max_lag : int
        The largest lag; less where records are short.
    """
    require_count("max_lag", max_lag)
    longest = max(map(len, residuals))
    max_lag = max(1, min(max_lag, longest // 4))
    error = _centred(residuals, _NOTHING * _size(outputs))
    squared = _centred([e**2 for e in error])
    product = _centred([y * e for y, e in zip(outputs, error, strict=True)])
    late = range(1, max_lag + 1)
    from_now = range(max_lag + 1)
    itself = _correlate("residual with itself", r"\varepsilon\,\varepsilon", error, error, late)
    n_tests = 2 + 5 * len(inputs)
    n_compared = 2 * len(late) + len(inputs) * (len(late) + 4 * len(from_now))
    tests = [replace(itself, n_compared=n_compared, n_tests=n_tests, is_of_own_past=True)]
    order = 0 if tests[0].is_passed else max_lag  # of what makes residuals white

    def add(name: str, symbol: str, a: Records, b: Records, lags: range, signal: str = "") -> None:
        test = _correlate(name, symbol, a, b, lags, order)
        tests.append(replace(test, n_compared=n_compared, n_tests=n_tests, signal=signal))

    centred = {name: _centred(records) for name, records in inputs.items()}
    of = {name: f" {name}" if len(centred) > 1 else "" for name in centred}
    for name, u in centred.items():
        words = f"residual with input{of[name]}"
        add(words, r"\varepsilon\,u", error, u, from_now, name)
    for name, u in centred.items():
        both = _centred([e * x for e, x in zip(error, u, strict=True)])
        square = _centred([x**2 for x in u])
        words, symbol = f"residual with residual × input{of[name]}", r"\varepsilon\,(\varepsilon u)"
        add(words, symbol, error, both, late)
        words = f"residual with input{of[name]}²"
        add(words, r"\varepsilon\,u^2", error, square, from_now, name)
        tests[-1] = replace(tests[-1], is_of_square=True)
        add(f"residual² with input{of[name]}²", r"\varepsilon^2 u^2", squared, square, from_now)
        words = f"output × residual with input{of[name]}²"
        add(words, r"(y\varepsilon)\,u^2", product, square, from_now)
    words, symbol = "output × residual with residual²", r"(y\varepsilon)\,\varepsilon^2"
    add(words, symbol, product, squared, late)
    # The output has the noise in it, so with noise that has a memory this is no other test.
    tests[-1] = replace(tests[-1], is_of_own_past=order > 0)
    return tests


def _size(records: Records) -> float:
    return max(float(np.abs(record).max(initial=0.0)) for record in records)


def _centred(records: Records, nothing: float = 0.0) -> list[Float1D]:
    """Deviations from the mean of all records; zero where none is above `nothing` or rounding."""
    mean = np.concatenate(list(records)).mean()
    deviation = [np.asarray(record - mean, dtype=np.float64) for record in records]
    if _size(deviation) <= max(nothing, _ROUNDING * _size(records)):
        return [np.zeros_like(record) for record in deviation]
    return deviation


def _correlate(
    name: str, symbol: str, a: Records, b: Records, lags: range, order: int = 0
) -> ResidualTest:
    """φ_ab at these lags; z after both are filtered by an autoregression of a of some order."""
    correlation, z = _at_lags(a, b, lags)
    if order:
        coefficients = _autoregression(a, order)
        _, z = _at_lags(_filtered(a, coefficients), _filtered(b, coefficients), lags)
    n_samples = sum(map(len, a))
    symbol = rf"$\phi_{{{symbol}}}$"
    return ResidualTest(name, symbol, np.array(lags), correlation, z, n_samples, len(lags), 1)


def _at_lags(a: Records, b: Records, lags: range) -> tuple[Float1D, Float1D]:
    """φ_ab and z at these lags, records pooled and never reaching across each other."""
    scale = math.sqrt(sum(float(x @ x) for x in a) * sum(float(x @ x) for x in b))
    n_samples = sum(map(len, a))
    correlation, z = np.zeros(len(lags)), np.zeros(len(lags))
    for i, lag in enumerate(lags):
        pairs = [x[lag:] * y[: len(y) - lag] for x, y in zip(a, b, strict=True) if len(x) > lag]
        terms = np.concatenate([*pairs, np.empty(0)])
        if scale > 0.0:  # a series that stands still correlates with nothing
            error = max(1.0 / math.sqrt(n_samples), math.sqrt(float(terms @ terms)) / scale)
            correlation[i] = terms.sum() / scale
            z[i] = correlation[i] / error
    return correlation, z


def _autoregression(records: Records, order: int) -> Float1D:
    r"""The coefficients of :math:`x(k) = \sum_j c_j x(k-j) + ε(k)`, by Yule and Walker.

    Their biased correlations make a matrix that is positive definite, and a stable recursion.
    """
    from scipy.linalg import solve_toeplitz

    correlation = autocorrelation(records)
    correlation = np.append(correlation, np.zeros(max(0, order + 1 - len(correlation))))
    found: Float1D = solve_toeplitz(correlation[:order], correlation[1 : order + 1])
    return found


def _filtered(records: Records, coefficients: Float1D) -> list[Float1D]:
    """What the autoregression leaves of each record, the samples before its first taken as 0."""
    weights = np.append(1.0, -coefficients)
    return [np.convolve(record, weights)[: len(record)] for record in records]
