"""Units and offsets: the answer is the same in any, and comes back in the user's own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.systems import LINEAR, quick, simulated

from adjoin import Grammar, Model, Prior, Structure

TRUTH = Model.parse(LINEAR).structure
U, Y = simulated()
Z = 4.5  # two-sided; false alarm 7e-6 a comparison


@pytest.mark.parametrize("exact", [True, False], ids=["powers of two", "powers of ten"])
def test_units_do_not_matter(exact: bool) -> None:
    """The same chain; powers of two do not even round."""
    equation = "y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)"
    u, y = simulated(equation, noise=0.3)
    a, b = (2.0**-10, 2.0**13) if exact else (1e-3, 1e4)
    one, two = quick().fit(u, y), quick().fit(a * u, b * y)
    left, right = one.posterior_, two.posterior_
    np.testing.assert_array_equal(left.draws.structure, right.draws.structure)
    assert left.structures.equals(right.structures)
    for term, value in one.model_.coefficients.items():
        factor = b / (a ** term.count("u") * b ** term.count("y"))
        assert two.model_.coefficients[term] == pytest.approx(factor * value, rel=1e-9)
    rtol = 0.0 if exact else 1e-6
    np.testing.assert_allclose(right.draws.noise_sd, b * left.draws.noise_sd, rtol=rtol)
    assert two.score(a * u, b * y) == pytest.approx(one.score(u, y), rel=1e-9)
    assert right.power == left.power


def test_unscaled_the_noise_prior_still_follows_the_output() -> None:
    """In a linear model a common factor of input and output changes no coefficient."""
    settings = {"grammar": Grammar.arx(max_lag=2), "max_degree": 1, "scale": False}
    one, two = quick(**settings).fit(U, Y), quick(**settings).fit(2.0**-9 * U, 2.0**-9 * Y)
    left, right = one.posterior_.draws, two.posterior_.draws
    np.testing.assert_array_equal(left.theta, right.theta)
    np.testing.assert_array_equal(left.noise_sd, 2.0**9 * right.noise_sd)


def test_offsets_are_taken_off_and_predictions_are_raw() -> None:
    plain, shifted = quick().fit(U, Y), quick().fit(U + 50.0, Y - 300.0)
    model = shifted.model_
    assert model.offsets == pytest.approx({"u": 50 + U.mean(), "y": Y.mean() - 300}, rel=1e-12)
    assert shifted.posterior_.structure() == plain.posterior_.structure() == TRUTH
    assert shifted.posterior_.settings["center"]
    predicted = shifted.predict(U + 50.0, Y - 300.0)
    assert abs(np.std(predicted[2:] - (Y - 300)[2:]) - 0.1) < Z * 0.1 / np.sqrt(2 * 398)
    assert predicted[:1].tolist() == (Y - 300.0)[:1].tolist()
    assert shifted.score(U + 50, Y - 300) == pytest.approx(plain.score(U, Y), abs=0.5)
    band = shifted.posterior_.simulate(U + 50, (Y - 300)[:2], draws=20)
    assert abs(band.mean[2:].mean() + 300) < 1.0


def test_all_signals_are_centred_or_none() -> None:
    assert quick(samples=50, center=False).fit(U + 1.0, Y).model_.offsets == {}
    assert set(quick(samples=50, center=True).fit(U, Y).model_.offsets) == {"u", "y"}
    assert set(quick(samples=50).fit(U + 9.0, Y).model_.offsets) == {"u", "y"}


def test_an_output_with_a_mean_of_its_own_is_not_shifted_away_from_the_truth() -> None:
    """Even powers give the output a mean; about it, the truth is a longer equation."""
    truth = Structure.parse("u(k-1) + u(k-2)^2 + y(k-1)")
    rng = np.random.default_rng(8)
    u, noise = rng.standard_normal((2, 600))
    y = np.zeros(600)
    for k in range(2, 600):
        y[k] = 0.5 * y[k - 1] + u[k - 1] - 0.4 * u[k - 2] ** 2 + 0.1 * noise[k]
    assert abs(y.mean()) > 0.5 * y.std()
    assert quick(max_lag=3).fit(u, y).posterior_.structure() == truth


def test_numbers_in_front_of_fixed_terms_are_not_used_and_said_so() -> None:
    with pytest.warns(UserWarning, match=r"the numbers in '0\.5\*u\(k\)' are not used"):
        fitted = quick(initial="0.5*u(k)").fit(U, Y)
    assert fitted.posterior_.settings["initial"] == "u(k)"


@pytest.mark.parametrize(
    ("settings", "is_centered", "is_scaled"),
    [
        ({}, True, True),
        ({"center": False}, False, True),
        ({"scale": False}, True, False),
        ({"center": False, "scale": False}, False, False),
        ({"prior": "paper"}, False, False),
        ({"prior": Prior.paper()}, False, False),
        ({"prior": "paper", "center": True, "scale": True}, True, True),
        ({"initial": "u(k)"}, False, True),
        ({"initial": "u(k)", "scale": False}, False, False),
        ({"functions": "abs"}, False, True),
        ({"functions": "sign, sqrtabs"}, False, True),
        ({"functions": "sin"}, False, True),
        ({"functions": "sin", "center": True}, True, True),
        ({"initial": "tanh(u(k))", "center": True}, True, True),
    ],
)
def test_where_signals_are_centred_and_scaled(settings, is_centered, is_scaled) -> None:
    u, y = 3.0 * U + 20.0, 0.1 * Y - 7.0
    scaling = quick(samples=50, **settings).fit(u, y).scaling_
    expected = [u.mean(), y.mean()] if is_centered else [0.0, 0.0]
    np.testing.assert_allclose(scaling.offset, expected)
    np.testing.assert_allclose(scaling.scale, [u.std(), y.std()] if is_scaled else [1.0, 1.0])


def test_a_grey_box_finds_its_coefficients_in_any_unit() -> None:
    """A prior of 1 in raw units would shrink a drag coefficient of 1e4 to nothing."""
    rng = np.random.default_rng(5)
    u, noise = rng.standard_normal((2, 400))
    for drag in (1.0, 1e4):
        force = drag * (u * np.abs(u) + 0.5 * np.roll(u, 1) + 0.2 * noise)
        fitted = quick(initial="u(k)*abs(u(k))").fit(u, force)
        theta = fitted.model_.coefficients
        # The standard errors are 0.2 / sqrt(400 * E[u^4]) = 0.006 and 0.01: five of them.
        assert theta["u(k)*abs(u(k))"] / drag == pytest.approx(1.0, abs=0.03)
        assert theta["u(k-1)"] / drag == pytest.approx(0.5, abs=0.05)


def test_inside_a_function_that_does_not_scale_a_signal_keeps_its_unit() -> None:
    rng = np.random.default_rng(6)
    angle, noise = 3.0 * rng.standard_normal(500), rng.standard_normal(500)
    torque = 100.0 * np.sin(angle) + 5.0 * noise
    fitted = quick(functions="sin", max_degree=2).fit(angle, torque)
    assert str(fitted.posterior_.structure()) == "sin(u(k))"
    # Standard error 5 / sqrt(500 / 2) = 0.32.
    assert fitted.model_.theta[0] == pytest.approx(100.0, abs=1.6)
    simulated = fitted.simulate(angle)
    assert np.std(torque - simulated) == pytest.approx(5.0, rel=0.16)  # five of 1/sqrt(2 * 500)


def test_a_first_term_that_is_not_finite_is_left_out() -> None:
    rng = np.random.default_rng(7)
    u = 400.0 * rng.standard_normal(200)
    y = u + rng.standard_normal(200)
    for seed in range(6):
        found = quick(functions="exp", seed=seed).fit(u, y)
        assert np.isfinite(found.model_.theta).all()


def test_the_paper_prior_depends_on_units() -> None:
    """Its noise scale β = 1 is in the user's units: small signals drown in it."""
    assert str(quick(prior="paper").fit(1e-3 * U, 1e-3 * Y).posterior_.structure()) != str(TRUTH)
    assert quick(prior="paper").fit(U, Y).posterior_.structure() == TRUTH
