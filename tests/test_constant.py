"""A constant, from the data to the equation, its tree, its files and its code."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.systems import BEHIND, quick

from adjoin import Grammar, Identifier, Model, Prior, load

RNG = np.random.default_rng(5)
U = RNG.standard_normal(400)


def shifted(level: float = 2.0) -> np.ndarray:
    """A cubic system about a level, so that no centring makes it a shorter equation."""
    y = np.zeros(400)
    noise = 0.05 * RNG.standard_normal(400)
    for k in range(1, 400):
        y[k] = level + 0.5 * y[k - 1] + U[k - 1] - 0.2 * U[k - 1] ** 3 + noise[k]
    return y


Y = shifted()
TRUTH = "1 + u(k-1) + u(k-1)^3 + y(k-1)"


@pytest.mark.parametrize("objective", ["prediction", "abc"])
def test_it_is_found_and_goes_everywhere(objective: str, tmp_path: Path) -> None:
    fitted = quick(objective=objective, samples=4000, max_degree=3, center=False).fit(U, Y)
    posterior, model = fitted.posterior_, fitted.model_
    assert str(model.structure) == TRUTH
    assert model.theta[0] == pytest.approx(2.0, abs=0.1)
    assert "1" in posterior.terms["term"].tolist()
    assert posterior.grammar.derive(model.structure).sentence.startswith("θ + θ × q⁻¹ u")
    assert Model.parse(model.format(None)).coefficients == model.coefficients
    posterior.save(tmp_path / "run.nc")
    assert str(load(tmp_path / "run.nc").map_model) == str(model)
    space: dict = {}
    exec(model.python(), space)
    simulated = model.simulate(U, Y[:1])
    np.testing.assert_allclose(space["simulate"](U.tolist(), Y[:1].tolist()), simulated, rtol=1e-12)


@pytest.mark.filterwarnings(BEHIND)
@pytest.mark.parametrize("mode", ["joint", "residual"])
@pytest.mark.parametrize("objective", ["prediction", "abc"])
def test_a_grey_box_may_have_one(objective: str, mode: str) -> None:
    box = quick(initial="1 + u(k-1)", initial_mode=mode, objective=objective, samples=600)
    posterior = box.fit(U, Y).posterior_
    for structure in posterior.structures["structure"]:
        assert structure.startswith("1 + ")
    if mode == "residual":
        assert posterior.map_model.theta[0] == pytest.approx(posterior.white_box.theta[0])


def test_it_can_be_left_out_and_the_paper_has_none() -> None:
    for settings in ({"prior": "paper"}, {"prior": Prior(constant_odds=0.0)}):
        fitted = quick(samples=300, **settings).fit(U, Y)
        assert fitted.grammar_.alphabet.constant is None
    with_tree = Grammar.narx(max_lag=2, max_degree=2)
    fitted = Identifier(
        grammar=with_tree, prior=Prior(constant_odds=0.0), samples=300, seed=0, max_lag=2,
        max_degree=2, progress=False, center=False,
    ).fit(U, Y)  # fmt: skip
    assert "1" not in fitted.posterior_.terms["term"].tolist()


def test_its_odds_are_its_own() -> None:
    """With the likelihood off it is in as often as its odds say, whatever is expected of others."""
    for odds, expected_terms in ((1.0, 5.0), (0.25, 1.0)):
        prior = Prior(constant_odds=odds, expected_terms=expected_terms, noise_shape=2.0)
        off = quick(samples=20_000, thin=5, burn_in=0.0, likelihood_power=0.0, prior=prior)
        found = off.fit(U, Y).posterior_
        share = float(found.includes(()).mean())
        # 16,000 draws, of which one in eight or more is new: at most 0.012 of standard error.
        assert share == pytest.approx(odds / (1.0 + odds), abs=4.5 * 0.012)


@pytest.mark.parametrize("prior", [Prior(constant_odds=1e6), Prior(expected_terms=1e-3)])
def test_whatever_its_odds_other_terms_are_proposed(prior: Prior) -> None:
    found = quick(samples=6000, max_degree=3, center=False, prior=prior).fit(U, Y)
    assert str(found.model_.structure) == TRUTH
