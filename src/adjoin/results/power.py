r"""How much evidence autocorrelated samples are: the power w that the likelihood deserves.

Receives a `Collection` and its residual tests; gives a `Dependence`, of which ``pilot`` makes w and
the assessment its words, so that both say the same of the same residuals.

The coefficients are linear in the output, :math:`\hatθ_j = \sum_k a_j(k) y(k)` with the rows
:math:`a_j` of :math:`(Φ^TΦ)^{-1}Φ^T`. Noise that is stationary and independent of the regressors
gives such a sum the variance

.. math:: σ² \sum_k a_j(k)² \; τ_j, \qquad τ_j = 1 + 2 \sum_{i>0} ρ_ε(i)\, ρ_j(i)

with the autocorrelations :math:`ρ_ε` of the residuals and :math:`ρ_j` (about zero) of :math:`a_j`;
the posterior takes :math:`τ_j = 1`. So :math:`w = 1/\max_j τ_j` is the largest power with which no
coefficient's interval is too narrow. The residuals' own time, :math:`1 + 2\sum ρ_ε`, is that of a
constant: a regressor that changes as fast as the noise does, or faster, averages it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.grammar import Structure, Term
from adjoin.grammar.equation import term_text
from adjoin.inference.autocorrelation import (
    autocorrelation,
    integrated_time,
    sum_of_correlations,
    window,
)
from adjoin.inference.problem import Problem
from adjoin.results.collection import Collection
from adjoin.results.residual_tests import ResidualTest

ENOUGH_SAMPLES = 50
"""Below, correlations say nothing."""
_MOSTLY = 2.0  # times the variance: what the inputs explain then outweighs the noise
_PER_COLUMN = 10  # samples, below which a regression explains by chance
_FEW_WORTH = 30  # independent samples: below, a model has taken part of the noise for its own
_NOTHING = 1.1  # times the variance: below, a twentieth of an interval's width
REMEDY = (
    "draw more samples, allow a larger max_lag or max_degree, or set likelihood_power to a number"
)


class Dependence(NamedTuple):
    """How far residuals are from independent, and what that does to the coefficients.

    ``itself`` : the test of the residual's own past.
    ``left`` : the failed test of largest correlation with an input; None where all pass.
    ``time`` : the largest τ_j, at least 1; of the residual itself where there is no coefficient.
    ``term`` : whose coefficient that is; empty where there is none.
    ``n_worth`` : how many independent samples the residuals themselves are worth.
    ``time_without`` : the same, were it not for what `_unexplained` takes off: then the model is
    not there yet, and the residuals are not noise.
    """

    itself: ResidualTest
    left: ResidualTest | None
    time: float
    term: str
    n_worth: float
    time_without: float

    @property
    def is_explicable(self) -> bool:
        """Whether most of the autocorrelation is what a model could still explain."""
        return self.time > _MOSTLY * self.time_without

    @property
    def is_coloured(self) -> bool:
        """Whether the residual's own past explains it."""
        return not self.itself.is_passed

    @property
    def is_judged(self) -> bool:
        """Whether there are samples enough to say any of it."""
        return self.itself.n_samples >= ENOUGH_SAMPLES

    @property
    def still(self) -> str:
        """What still explains the residuals, in words."""
        if self.left is None:
            return "the past of the signals still"
        size, lag = self.left.largest
        return f"the input still (correlation {size:+.2f} of {self.left.name} at lag {lag})"

    @property
    def own(self) -> str:
        """The residual's largest correlation with its past, in words."""
        size, lag = self.itself.largest
        return f"{size:+.2f} at lag {lag}"


class PowerEstimate(NamedTuple):
    """The power w, how it came about in words, and whether its estimate was refused."""

    power: float
    note: str
    is_refused: bool = False


def dependence(posterior: Collection, tests: Sequence[ResidualTest] | None = None) -> Dependence:
    """Of the MAP model's residuals on the fitted data."""
    if tests is None:
        tests = posterior.residual_tests()
    itself = next(test for test in tests if test.is_of_own_past)
    failed = [test for test in tests if test.is_of_input and not test.is_passed]
    left = max(failed, key=lambda test: abs(test.largest[0]), default=None)
    residuals, data = posterior.residuals_to_test, posterior.data_to_test
    problem = posterior.run.problem
    if data is not posterior.data:
        problem = replace(problem, data=data, scaling=problem.rows.scaling)
    weights = dict(_weights(problem, posterior.map_model.structure))
    time, term = _longest(residuals, weights)
    without = time
    if not itself.is_passed:
        without, _ = _longest(_unexplained(problem, residuals, failed), weights)
    n_worth = itself.n_samples / integrated_time(residuals)
    return Dependence(itself, left, time, term, n_worth, without)


def _longest(residuals: Sequence[Float1D], weights: Mapping[str, Float1D]) -> tuple[float, str]:
    """The largest τ_j, and the term it is of; without terms, as if there were a constant."""
    n_samples, own = sum(map(len, residuals)), autocorrelation(residuals)
    # Products may be small and yet last as long as the noise does.
    end = window(own)
    times = {
        term: sum_of_correlations(own * weight[: len(own)], n_samples, end)
        for term, weight in weights.items()
    }
    if not times:
        return sum_of_correlations(own, n_samples), ""
    term = max(times, key=times.__getitem__)
    return times[term], term


def _unexplained(
    problem: Problem, residuals: Sequence[Float1D], failed: Sequence[ResidualTest]
) -> list[Float1D]:
    """Residuals less their regression on what could still explain them.

    That is the inputs and their squares at the lags that tests found, and every lagged signal of
    the model class, with its square where samples abound; nothing where there are fewer than ten
    samples to a column.
    """
    first, names = problem.rows.max_lag, problem.data.names.inputs
    joined = np.concatenate(list(residuals))
    atoms = [atom for atom in problem.encoding.atoms if not atom.function]
    plain: list[Term] = [(atom,) for atom in atoms]
    if problem.alphabet.max_degree > 1 and 4 * _PER_COLUMN * len(atoms) < len(joined):
        plain += [(atom, atom) for atom in atoms]
    columns = [problem.rows.design(Structure((term,), problem.data.names))[:, 0] for term in plain]
    for test in failed:
        position = names.index(test.signal)
        series = [record[first:, position] for record in problem.data.inputs]
        mean = np.concatenate(series).mean()
        power = 2 if test.is_of_square else 1
        for lag in test.lag[test.is_significant]:
            moved = [np.append(np.zeros(lag), (x - mean) ** power)[: len(x)] for x in series]
            columns.append(np.concatenate(moved))
    # Where a record begins, what is so many samples ago was not measured.
    skip = max((int(lag) for test in failed for lag in test.lag[test.is_significant]), default=0)
    is_known = np.concatenate([np.arange(len(record)) >= skip for record in residuals])
    if _PER_COLUMN * (len(columns) + 1) > is_known.sum():
        return list(residuals)
    design = np.column_stack([np.ones_like(joined), *columns])
    length = np.linalg.norm(design, axis=0)
    design /= np.where(length > 0.0, length, 1.0)
    theta = _regress(design[is_known], joined[is_known])
    cuts = np.cumsum([len(record) for record in residuals])[:-1]
    left = [record[skip:] for record in np.split(joined - design @ theta, cuts)]
    return [record for record in left if len(record)]


def _regress(columns: Float2D, output: Float1D) -> Float1D:
    """Least squares, by the triangle of a QR: of long records half the time of an SVD."""
    n_columns = columns.shape[1]
    triangle = np.asarray(np.linalg.qr(np.column_stack([columns, output]), mode="r"))
    smallest = float(np.finfo(np.float64).eps) * max(columns.shape)  # as lstsq has it of them all
    found = np.linalg.lstsq(triangle[:, :n_columns], triangle[:, n_columns], rcond=smallest)
    return np.asarray(found[0])


def _weights(problem: Problem, structure: Structure) -> Iterator[tuple[str, Float1D]]:
    """Of each learned term of the MAP model, the autocorrelation of a_j about zero.

    Past noise is a guess there, as columns have it.
    """
    learned = [i for i, term in enumerate(structure) if term not in problem.pinned.terms]
    columns = problem.rows.design(structure)[:, learned]
    length = np.linalg.norm(columns, axis=0)
    length[length == 0.0] = 1.0
    row = np.linalg.pinv(columns / length)
    cuts = np.cumsum([stop - first for first, stop in problem.rows.stretches])[:-1]
    for i, weight in zip(learned, row, strict=True):
        yield term_text(structure.terms[i]), autocorrelation(np.split(weight, cuts), False)


def estimate_power(found: Dependence, n_samples: int) -> PowerEstimate:
    """The power from the residuals of a first run of so many samples a chain.

    1 where the residuals look independent, by the same test that a report shows; refused, and 1,
    where most of their autocorrelation is what a model could still explain: that is not noise.
    """
    run = f"a first run of {n_samples:,} samples"
    if not found.is_judged:
        few = f"{found.itself.n_samples} fitted samples are too few to see autocorrelation in"
        return PowerEstimate(1.0, few)
    if not found.is_coloured:
        return PowerEstimate(1.0, f"the residuals of {run} look independent")
    power = 1.0 / found.time
    if found.is_explicable:
        note = (
            f"estimate refused: after {run} {found.still} explains the residuals, so most of their"
            f" autocorrelation ({found.own}) is not that of noise; the whole likelihood counts"
            f" instead, and intervals may be too narrow (as they are, they would have given"
            f" {power:.2g}, and without what is explained {1.0 / found.time_without:.2g})"
        )
        return PowerEstimate(1.0, note, is_refused=True)
    coloured = f"the residuals of {run} are autocorrelated ({found.own})"
    if found.time <= _NOTHING:
        return PowerEstimate(1.0, f"{coloured}, but {no_narrower(found)}")
    whose = f", for the coefficient of {found.term}" if found.term else ""
    note = f"{coloured}: {found.time:.3g} samples are worth one independent one{whose}"
    if found.n_worth < _FEW_WORTH:
        note += (
            f"; a mean of so slow noise is worth {found.n_worth:.0f} samples only, too few to see"
            " it whole, so take this power as an upper limit"
        )
    return PowerEstimate(power, note)


def no_narrower(found: Dependence) -> str:
    """Why autocorrelated residuals take nothing from the likelihood."""
    if found.itself.largest[0] > 0.0:
        return "the regressors average that out: it makes no coefficient less sure"
    return (
        "negative correlations cancel in sums and make no coefficient less sure; nor are they more"
        " evidence than independent samples, so the power is never above 1"
    )


def on_intervals(found: Dependence, power: float, is_estimated: bool) -> str:
    """What coloured noise does to the intervals of a run with this power, and what widens them."""
    excess = found.time * power
    if excess <= _NOTHING:
        if power == 1.0:
            return no_narrower(found)
        return f"the likelihood counts to the power {power:.3g}, which allows for it"
    narrow = f"intervals are then too narrow, by a factor of up to {np.sqrt(excess):.2g}"
    remedy = (
        f"likelihood_power={1.0 / found.time:.2g}" if is_estimated else "likelihood_power='auto'"
    )
    return f"{narrow}, and {remedy} widens them"
