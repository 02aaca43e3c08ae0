r"""Whether masses and intervals hold what they say, on systems drawn from the prior that fits them.

Structures and coefficients are drawn from the prior, their free runs measured with noise of one
standard deviation, and fitted with that prior. Masses are right if as many leading structures are
the truth as their masses add up to,

.. math:: z = (n - \sum_i m_i) / \sqrt{\sum_i m_i (1 - m_i)}

and intervals if 95 % of the true coefficients lie in theirs, given that the structure is found.
Beside the free-run engine stands the same posterior by a Gaussian likelihood, which is exact here;
and what a tolerance makes of that without any chain: the mass m_T of a structure with squared error
S_T and p terms becomes, with V_p the volume of the unit ball,

.. math:: m_T\, \frac{V_p\, (ε - S_T)_+^{p/2}}{(2π σ²)^{p/2}\, e^{-S_T/2σ²}}

``python benchmarks/abc_calibration.py [number of systems] [settings of the ladder as JSON]``
"""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from adjoin import Dataset, Grammar, Identifier, Ladder, Model
from adjoin.errors import DivergenceWarning
from adjoin.inference.prior import Prior
from adjoin.posterior import Posterior

N_ROWS, NOISE_SD, SEED = 200, 0.3, 2025
GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
PRIOR = Prior(expected_terms=3.0, coefficient_sd=0.5, units="raw")
QUICK: dict[str, Any] = {
    "grammar": GRAMMAR,
    "prior": PRIOR,
    "center": False,
    "scale": False,
    "progress": False,
    "n_jobs": 1,
}
FREE_RUN = {"objective": "abc", "samples": 20_000}
EXACT = {"objective": "simulation", "samples": 3_000}
LARGEST = 20.0
"""Of an output: a system that goes farther is on its way out, and is drawn again."""
MOST = 50
"""Structures of a posterior that are weighed."""


class Judged(NamedTuple):
    """The leading mass, whether it is the truth's, and then which true coefficients are inside."""

    mass: float
    is_right: bool
    inside: tuple[bool, ...] = ()


def systems(n: int) -> Iterator[tuple[Model, Dataset]]:
    """Models of the prior with terms, and their measured free runs."""
    rng, n_found, lag = np.random.default_rng(SEED), 0, GRAMMAR.alphabet.max_lag
    for model in PRIOR.draw(GRAMMAR, n=20 * n, seed=SEED):
        u, noise = rng.standard_normal(N_ROWS), NOISE_SD * rng.standard_normal(N_ROWS)
        noise[:lag] = 0.0  # as these seed the free run, noise and all
        if not len(model.structure):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergenceWarning)
            clean = model.simulate(u, np.zeros(lag))
        if np.abs(clean).max() < LARGEST:  # nor is NaN
            yield model, Dataset.from_arrays(u, clean + noise)
            n_found += 1
        if n_found == n:
            return


def fit(data: Dataset, number: int, settings: Mapping[str, Any]) -> Posterior:
    """The posterior of one system; what its chains do is not what is looked at."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Identifier(**QUICK, **settings, seed=number).fit(data).posterior_


def judge(model: Model, found: Posterior) -> Judged:
    """By the masses and intervals that were drawn."""
    mass = float(found.structures["mass"].iloc[0])
    if found.structure(0) != model.structure:
        return Judged(mass, False)
    frame = found.coefficients(0)
    true = np.array([model.coefficients[term] for term in frame["term"]])
    return Judged(mass, True, tuple((frame["q025"] <= true) & (true <= frame["q975"])))


def weigh(model: Model, found: Posterior, ladder: Ladder) -> Judged:
    """By the masses that a tolerance gives the structures of a posterior by likelihood."""
    (record,), lag, rows = found.data.records, found.max_lag, []
    for rank in range(min(MOST, len(found.structures))):
        best = found.model(rank)
        left = (record.output - best.simulate(record.inputs, record.output[:lag]))[lag:]
        rows.append((left @ left, len(best.structure), found.structures["mass"].iloc[rank]))
    error, p, mass = np.array(rows).T
    n = len(record.output) - lag
    tolerance = error[0] * (1.0 + ladder.margin(int(p[0]), n))
    variance, excess = error[0] / (n - p[0]), np.maximum(tolerance - error, 1e-300)
    weight = np.log(mass) + 0.5 * p * np.log(0.5 * excess / variance) - gammaln(p / 2 + 1)
    weight = np.where(error < tolerance, weight + 0.5 * error / variance, -np.inf)
    share = np.exp(weight - weight.max())
    leading = int(share.argmax())
    is_right = found.structure(leading) == model.structure
    return Judged(float(share[leading] / share.sum()), is_right)


def say(name: str, rows: list[Judged]) -> None:
    """One line of the table."""
    mass, n_right = np.array([row.mass for row in rows]), sum(row.is_right for row in rows)
    z = (n_right - mass.sum()) / math.sqrt((mass * (1.0 - mass)).sum())
    inside = [value for row in rows for value in row.inside]
    held = f"{sum(inside)} of {len(inside)}, {np.mean(inside):.3f}" if inside else "–"
    print(f"{name:<28}{n_right:>6} of {len(rows)}{mass.sum():>9.1f}{z:>7.1f}   {held}", flush=True)


def main() -> None:
    """One line for each way to fit."""
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 240
    ladder = json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}
    print(f"systems of {N_ROWS} samples, noise {NOISE_SD}, ladder {ladder}")
    print(f"{'':<28}{'right':>9}{'claimed':>10}{'z':>7}   in 95 % intervals")
    known = list(enumerate(systems(n)))
    free = FREE_RUN | {"ladder": ladder}
    say("abc", [judge(model, fit(data, i, free)) for i, (model, data) in known])
    exact = [(model, fit(data, i, EXACT)) for i, (model, data) in known]
    say("simulation", [judge(*pair) for pair in exact])
    say("simulation, by a tolerance", [weigh(*pair, Ladder(**ladder)) for pair in exact])


if __name__ == "__main__":
    main()
