"""Slopes of runs, free or with past noise, equal finite differences."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.fit_bench import (
    EQUATIONS,
    GRAMMAR,
    PAST_NOISE,
    PAST_NOISE_EQUATIONS,
    linearise_chain,
    make_bench,
    outputs_of,
    rig_data,
    terms_of,
)

from adjoin import Model
from adjoin.data.scaling import Scaling


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("name", [*EQUATIONS, *PAST_NOISE_EQUATIONS])
def test_slopes_equal_finite_differences(name: str, is_scaled: bool) -> None:
    """In the program's order of terms; over blocks and records, functions of scaled signals."""
    equation = (EQUATIONS | PAST_NOISE_EQUATIONS)[name]
    data, model = rig_data(), Model.parse(f"y(k) = {equation}", inputs=("u", "v"))
    scaling = Scaling(data.names, np.array([0.1, 0.2, -0.1]), np.array([1.5, 0.7, 0.6]))
    grammar = PAST_NOISE if model.structure.has_noise else GRAMMAR
    bench = make_bench(data, grammar, scaling if is_scaled else None)
    terms, names = list(model.structure), model.names
    # Coefficients and steps are as large as they would be with noise in the output's unit.
    n_noise = np.array([sum(atom.signal == names.noise for atom in term) for term in terms])
    factor = bench.engine.problem.rows.noise_unit**n_noise
    theta, step = np.array(model.theta) * factor, 1e-5 * factor
    slopes = np.empty((bench.engine.regression.n_rows, len(terms)))
    for j, moved in enumerate(np.diag(step)):
        _, ahead = bench.run(terms, theta + moved)
        _, behind = bench.run(terms, theta - moved)
        slopes[:, j] = (ahead - behind) / (2.0 * step[j])
    _, predicted = bench.run(terms, theta)

    bench.write(terms, theta)
    n, run, linear = len(terms), bench.fitting.run, bench.fitting.linear
    assert linearise_chain(bench.chain, bench.engine.regression, run, linear)
    slopes = slopes[:, run.order[:n]]
    length, upper = np.linalg.norm(slopes, axis=0), np.triu_indices(n)
    unit = slopes / length
    found = linear.normal[:n, :n] / np.outer(length, length)
    np.testing.assert_allclose(found[upper], (unit.T @ unit)[upper], atol=1e-7)
    gradient = unit.T @ (outputs_of(bench) - predicted)
    np.testing.assert_allclose(linear.gradient[:n] / length, gradient, atol=1e-6)


def test_slopes_of_a_run_that_diverges_are_refused() -> None:
    bench = make_bench(rig_data(), GRAMMAR)
    bench.write(terms_of("y(k-1)^2", GRAMMAR), [50.0])
    with np.errstate(all="ignore"):
        is_finite = linearise_chain(
            bench.chain, bench.engine.regression, bench.fitting.run, bench.fitting.linear
        )
    assert not is_finite
