r"""Weights of members by held-out data: how much each chain, or run, counts in an average.

Receives what members predict of records that none of them was fitted to; gives a `Stacking`, by
whose weights ``collection`` draws models. The weights are those of Yao, Vehtari, Simpson and Gelman
(2018; 2022 for chains that do not mix): of all mixtures of the members' predictions, the one that
makes the held-out records most likely,

.. math:: \max_{w ∈ Δ} \; κ \sum_b \log \sum_c w_c\, p_{cb} + \frac{a}{C} \sum_c \log w_c

over blocks b of samples and C members c. With the mean :math:`m_c(k)` of the free runs of a
member's draws, each with its noise,

.. math::
    p_{cb} = q_{cb} \Big[ \prod_{k ∈ b} N\big(y(k) \mid m_c(k),\, δ^2\big) \Big]^{1/τ}
             + (1 - q_{cb})\, f_b

**The power.** Errors of a free run last: of n samples with the integrated time τ, a mean knows as
much as of n/τ independent ones. The product takes them as independent, so it counts to the power
1/τ. One τ serves all members, or the one whose errors are the slowest would be judged the most
mildly: that of the errors of the member with the least root mean square.

**The blocks** are 2τ long, so that one says little of the next; no more than 2,000 in all, and at
least 8 where there are as many samples, shorter then, and worth :math:`κ = \min(1, n / 2τB)` of a
block each. No block reaches across records.

**The width** δ is common to all members, and where the maximum is the largest on a grid about the
least root mean square error, from 1/64 to 2 of it. So members are compared by their errors and not
by what they claim: the draws of a chain know its noise and the spread of its coefficients, but not
that its equation may be wrong, and the spread of a free run with noise fed back is often far from
its error. DECISIONS.md has what the draws' own spread would do.

**Draws that ran away**, a share :math:`1 - q_{cb}`, predict nothing. Each block has a density for
them that is finite whatever happens: :math:`f_b` is a thousandth of that of the worst member with a
draw that stayed. A member that lost all its draws everywhere has the weight 0.

**The prior** of the weights is a Dirichlet's, as strong as a = 1 further block of which the members
share equally, so that a few blocks, or members that hardly differ, give no vertex.

Approximated are: the predictive density of a member by one Gaussian of common width about its mean;
the dependence within a block by one power; and that between blocks by their length.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.errors import AdjoinError
from adjoin.inference.autocorrelation import integrated_time
from adjoin.results.prediction import Prediction, require_more

DRAWS = 100
"""How many models of each member are run."""

_TIMES = 2.0  # integrated times a block is long
_FEWEST, _MOST = 8, 2000  # blocks
_PRIOR = 1.0  # blocks that the prior is worth
_LOG_FLOOR = -math.log(1000.0)  # what a lost draw has less than the worst that stayed
_WIDTHS = 2.0 ** np.arange(-6.0, 1.1, 0.5)  # δ by the least root mean square error
_MOST_STEPS, _CLOSE = 2000, 1e-7


class Member(Protocol):
    """What can be stacked: whatever draws models and runs them, such as a `Collection`."""

    def simulate_records(
        self,
        inputs: Sequence[Float2D],
        seeds: Sequence[Float1D] | None,
        draws: int = ...,
        seed: int | None = ...,
    ) -> Prediction:
        """Free runs of so many draws, one array of each per record."""
        ...


class Block(NamedTuple):
    """Samples of one record, from `begin` to before `end`, that are judged together."""

    record: int
    begin: int
    end: int


@dataclass(frozen=True, eq=False)
class Stacking:
    """Weights, and what they come from.

    Parameters
    ----------
    weight : (n_members,) array
        The share of each member in the average; they sum to 1.
    log_score : (n_members, n_blocks) array
        The log density of each block by each member; finite.
    blocks : tuple of Block
        What was judged; seeding samples belong to none.
    time : float
        The integrated time τ of the errors, in samples.
    width : float
        The common width δ, in the unit of the output.
    """

    weight: Float1D
    log_score: Float2D
    blocks: tuple[Block, ...]
    time: float
    width: float


def stack_members(
    members: Sequence[Member],
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    n_seed: int,
    draws: int = DRAWS,
    seed: int | None = 0,
) -> Stacking:
    """Run the draws of every member freely over held-out records, and weigh the members.

    Parameters
    ----------
    members : sequence of Member
        Chains, or runs of any kind, of the same signals.
    inputs, outputs : sequence of array
        One of each per record.
    n_seed : int
        How many measured samples seed the run of each record and are not judged: the largest lag
        window of all members.
    draws : int
        How many models of each member are run.
    seed : int or None
        Of the draws and their noise.
    """
    require_more(outputs, n_seed, "weigh by")
    seeds = [record[:n_seed] for record in outputs]
    runs = [member.simulate_records(inputs, seeds, draws, seed) for member in members]
    return stack_predictions(runs, outputs, n_seed)


def stack_predictions(
    predictions: Sequence[Prediction], outputs: Sequence[Float1D], n_seed: int
) -> Stacking:
    """Weigh members by what they predicted of measured records; series are lists, by record."""
    if not predictions:
        raise AdjoinError("there is nothing to stack; pass at least one member")
    errors = [
        [(y - mean)[n_seed:] for y, mean in zip(outputs, prediction.mean, strict=True)]
        for prediction in predictions
    ]
    time, least = _best_errors(errors, outputs, n_seed)
    blocks = _cut([len(y) - n_seed for y in outputs], n_seed, time)
    stayed, squares = _stayed(predictions, blocks), _squares(errors, blocks, n_seed)
    is_able = stayed.any(axis=1)
    n_members, length = len(predictions), np.array([block.end - block.begin for block in blocks])
    if not is_able.any():
        equal, nothing = np.full(n_members, 1.0 / n_members), np.zeros((n_members, len(blocks)))
        return Stacking(equal, nothing, blocks, time, least)
    n_apart = min(len(blocks), length.sum() / (_TIMES * time))
    prior = _PRIOR * len(blocks) / n_apart
    best, weight, found = -math.inf, np.zeros(n_members), None
    part = np.full(int(is_able.sum()), 1.0 / is_able.sum())
    for width in least * _WIDTHS:
        variance = float(width) ** 2
        density = -0.5 * (length * math.log(2.0 * math.pi * variance) + squares / variance)
        log_score = _with_lost(density / time, stayed)
        part, value = _maximise(log_score[is_able], prior, part)
        if value > best:
            best, found = value, (log_score, float(width))
            weight[is_able] = part
    if found is None:
        raise AdjoinError("the held-out output is too large or too small to weigh by; rescale it")
    return Stacking(weight, found[0], blocks, time, found[1])


def _best_errors(
    errors: Sequence[Sequence[Float1D]], outputs: Sequence[Float1D], n_seed: int
) -> tuple[float, float]:
    """τ of the errors that are smallest, and their root mean square.

    A record in which all draws were lost has no errors: the member with the fewest such samples
    counts as the best. Where there are no errors at all, or none but zeros, the size of the output
    stands in for them, or a trillionth of it.
    """
    size = max(float(np.abs(y[n_seed:]).max()) for y in outputs) or 1.0
    found: list[tuple[int, float, int, list[Float1D]]] = []
    for records in errors:
        stayed = [error for error in records if np.isfinite(error).all()]
        if stayed:
            joined = np.concatenate(stayed)
            found.append((-len(joined), math.sqrt(float(np.mean(joined**2))), len(found), stayed))
    if not found:
        return 1.0, size
    lost, least, _, stayed = min(found)
    return min(integrated_time(stayed), -lost), max(least, 1e-12 * size)


def _cut(lengths: Sequence[int], n_seed: int, time: float) -> tuple[Block, ...]:
    """Blocks of nearly equal length in each record; see the module for how long."""
    total = sum(lengths)
    length = max(math.ceil(_TIMES * time), math.ceil(total / _MOST))
    length = min(length, max(1, total // _FEWEST))
    blocks = []
    for record, n in enumerate(lengths):
        edges = np.linspace(0, n, max(1, n // length) + 1).round().astype(int) + n_seed
        blocks += [Block(record, int(a), int(b)) for a, b in pairwise(edges)]
    return tuple(blocks)


def _stayed(predictions: Sequence[Prediction], blocks: Sequence[Block]) -> Float2D:
    """(n_members, n_blocks) the share of draws that stayed."""
    record = [block.record for block in blocks]
    return np.array([np.array(p.n_stayed)[record] / p.n_draws for p in predictions])


def _squares(errors: Sequence[Sequence[Float1D]], blocks: Sequence[Block], n_seed: int) -> Float2D:
    """(n_members, n_blocks) sums of squared errors; NaN where all draws were lost."""
    found = np.empty((len(errors), len(blocks)))
    for row, records in zip(found, errors, strict=True):
        for i, (record, begin, end) in enumerate(blocks):
            error = records[record][begin - n_seed : end - n_seed]
            row[i] = error @ error
    return found


def _with_lost(density: Float2D, stayed: Float2D) -> Float2D:
    """Log scores of blocks, draws that ran away included; see the module."""
    is_there = stayed > 0.0
    worst = np.where(is_there, density, np.inf).min(axis=0)
    floor = np.where(np.isfinite(worst), worst, 0.0) + _LOG_FLOOR
    with np.errstate(divide="ignore"):
        kept, lost = np.log(stayed), np.log1p(-stayed)
    return np.asarray(np.logaddexp(np.where(is_there, kept + density, -np.inf), lost + floor))


def _maximise(log_score: Float2D, prior: float, start: Float1D) -> tuple[Float1D, float]:
    r"""The weights, and the maximum, by the fixed point of expectation and maximisation.

    .. math:: w_c ← \frac{\sum_b r_{cb} + a / C}{B + a}, \qquad r_{cb} ∝ w_c\, p_{cb}

    It climbs at every step, and there is one maximum only, as the sum is strictly concave.
    `prior` is a/κ.
    """
    n_members, n_blocks = log_score.shape
    top = log_score.max(axis=0)
    density, weight = np.exp(log_score - top), start
    for _ in range(_MOST_STEPS):
        mixture = weight @ density
        before = weight
        total = before * (density @ (1.0 / mixture))
        weight = (total + prior / n_members) / (n_blocks + prior)
        if np.abs(weight - before).max() < _CLOSE:
            break
    weight = weight / weight.sum()
    value = np.log(weight @ density).sum() + top.sum()
    return weight, float(value + prior / n_members * np.log(weight).sum())
