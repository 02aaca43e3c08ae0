"""The log posterior of every draw, written out again from residuals and priors."""

from __future__ import annotations

from math import log, pi

import numpy as np
import pytest
from tests.naive.prior import TermPrior
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Model, Posterior, Prior
from adjoin.results.draws import Draws, log_density

U, Y = simulated("y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)", n=120, noise=0.5)
HYPER = {"coefficient_shape": 3.0, "coefficient_scale": 2.0}
LOUD = {"noise_shape": 2.0, "noise_scale": 0.3}  # so that the noise prior matters


def recomputed(posterior: Posterior) -> np.ndarray:
    """w log N(residuals; 0, σ²) + Σ log λ_t p(t) + log N(θ; 0, σ_θ²) + log IG(σ²) + log IG(σ_θ²).

    In model units; the residuals come from `Model.predict` in the user's, over the output's scale.
    """
    prior, scaling = posterior.settings.prior, posterior.scaling
    by_enumeration = TermPrior(posterior.grammar.alphabet, prior)
    known = set(by_enumeration.terms)
    records, lag = posterior.data.records, posterior.max_lag
    inputs, outputs = [r.inputs for r in records], [r.output for r in records]
    scaled = np.concatenate([(y - scaling.offset[-1]) / scaling.scale[-1] for y in outputs])
    if prior.noise_scale is None:
        fitted = [(y[lag:] - scaling.offset[-1]) / scaling.scale[-1] for y in outputs]
        beta = 0.5 * 2.0**-80 * np.sum(np.concatenate(fitted) ** 2)
    else:
        beta = prior.noise_scale * (np.var(scaled) if prior.units == "standard" else 1.0)
    found = []
    draws, catalogue = posterior.draws, posterior._catalogue[0]
    for i in range(len(draws)):
        structure = posterior.encoding.structure(catalogue[draws.structure[i]])
        theta = draws.theta[draws.offset[i] : draws.offset[i + 1]]
        model = Model(structure, tuple(theta), None, scaling.offsets)
        predicted = model.predict(inputs, outputs)
        residual = np.concatenate(
            [(y - p)[lag:] / scaling.scale[-1] for y, p in zip(outputs, predicted, strict=True)]
        )
        noise, spread = draws.noise[i], draws.coefficient[i]
        total = -0.5 * posterior.power * np.sum(log(2 * pi * noise) + residual**2 / noise)
        for term, value in zip(structure, theta, strict=True):
            if term not in posterior.grammar.alphabet.fixed.terms:
                key = by_enumeration.encode(term)
                assert key in known
                total += log(by_enumeration.odds(key))
            units = [scaling.scale[posterior.encoding.names.position(a.signal)] for a in term]
            own = value * np.prod(units) / scaling.scale[-1]
            total += -0.5 * (log(2 * pi * spread) + own**2 / spread)
        total += -(prior.noise_shape + 1) * log(noise) - beta / noise
        if prior.coefficient_shape is not None:
            total += -(prior.coefficient_shape + 1) * log(spread) - prior.coefficient_scale / spread
        found.append(total)
    return np.array(found)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"center": True, "prior": Prior(**LOUD)},
        {"prior": Prior(**LOUD, **HYPER)},
        {"likelihood_power": 0.3, "prior": Prior(**LOUD)},
        {"likelihood_power": 0.0, "prior": Prior(noise_shape=3.0, noise_scale=1.0)},
        {"prior": "paper"},
        {"scale": False, "prior": Prior(**LOUD)},
        {"scale": False, "center": False},
        {"initial": "u(k-1) + y(k-2)"},
    ],
    ids=["default", "centred", "hyperprior", "power", "prior", "paper", "raw", "plain", "fixed"],
)
def test_the_log_posterior_is_its_formula_up_to_one_constant(settings: dict) -> None:
    parts = [slice(0, 50), slice(50, 120)]
    u, y = [20.0 * U[part] + 3.0 for part in parts], [0.1 * Y[part] + 2.0 for part in parts]
    posterior = quick(samples=600, thin=3, **settings).fit(u, y).posterior_
    expected = recomputed(posterior)
    assert len({len(posterior.structure(i)) for i in range(min(9, len(posterior.structures)))}) > 1
    assert np.ptp(expected) > 1.0
    difference = posterior.log_posterior - expected
    np.testing.assert_allclose(difference, difference[0], rtol=0, atol=1e-8 * np.ptp(expected))


def test_the_density_by_hand() -> None:
    draws = Draws(
        chain=np.zeros(2, dtype=int),
        structure=np.array([0, 1]),
        theta=np.array([3.0, 4.0, 1.0]),
        term=np.array([0, 1, 0]),
        offset=np.array([0, 2, 3]),
        noise_sd=np.array([1.0, 2.0]),
        noise=np.array([1.0, 4.0]),
        coefficient=np.array([2.0, 1.0]),
        log_lik=np.array([-7.0, -5.0]),
        log_prior=np.array([-0.5, -0.25]),
        rho=np.empty((2, 0)),
    )
    assert draws.size.tolist() == [2, 1]
    assert draws.owner.tolist() == [0, 0, 1]
    prior = Prior(noise_shape=3.0, noise_scale=0.5, **HYPER)
    found = log_density(draws, np.array([1.0, 2.0, 3.0]), prior, 0.5, 5.0)
    first = -3.5 - 0.5 - 0.5 * (2 * log(4 * pi) + 5 / 2) - 5.0 - (4 * log(2) + 2.0 / 2)
    second = -2.5 - 0.25 - 0.5 * (log(2 * pi) + 9.0) - 4 * log(4) - 5.0 / 4 - 2.0
    assert found.tolist() == pytest.approx([first, second])


def test_a_draw_without_terms_has_a_density() -> None:
    """Also the last one, whose coefficients nothing follows."""
    data = Dataset.from_arrays(U, Y)
    chain = [("u(k)", [2.0], 1.0), ("0", [], 1.0), ("0", [], 0.5)]
    posterior = by_hand(data, [chain], Grammar.narx(max_lag=1, max_degree=1))
    found = posterior.log_posterior
    assert found[0] - found[1] == pytest.approx(-0.5 * (log(2 * pi) + 4.0))
    assert len(found) == 3
    assert np.isfinite(found).all()
