"""`Identifier(objective="abc")` as a user meets it: what it finds, says, and refuses."""

from __future__ import annotations

import math
import warnings
from pathlib import Path

import numpy as np
import pytest
from tests.systems import BEHIND

import adjoin
from adjoin import AdjoinError, Identifier, Ladder, Model, scores
from adjoin.arrays import Float1D
from adjoin.inference.objective import ABC
from adjoin.posterior import Posterior

SMALL = {
    "objective": "abc",
    "max_lag": 3,
    "max_degree": 2,
    "samples": 1500,
    "thin": 1,
    "chains": 2,
    "seed": 0,
    "progress": False,
    "ladder": {"rungs": 4, "descent": 100},
}


def noisy(
    equation: str, n: int = 300, noise: float = 0.05, seed: int = 0
) -> tuple[Float1D, Float1D]:
    """Input and output of a system whose sensor adds noise of a share of the output's spread."""
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    y = Model.parse(equation).simulate(u)
    return u, y + noise * y.std() * rng.standard_normal(n)


@pytest.fixture(scope="module")
def data() -> tuple[Float1D, Float1D]:
    return noisy("y(k) = 0.8*u(k-1) + 0.5*y(k-1)")


@pytest.fixture(scope="module")
def posterior(data: tuple[Float1D, Float1D]) -> Posterior:
    return Identifier(**SMALL).fit(*data).posterior_


@pytest.mark.slow
def test_free_runs_find_a_system_behind_sensor_noise_that_one_step_fits_miss() -> None:
    truth = Model.parse("y(k) = 0.3*u(k-1)^3 + 1.2*y(k-1) - 0.5*y(k-2)")
    settings = {"max_lag": 5, "max_degree": 3, "seed": 0, "progress": False}
    for seed in range(2):
        u, y = noisy(truth.equation, 1000, 0.1, seed)
        free = Identifier(objective="abc", samples=20_000, **settings).fit(u, y)
        ahead = Identifier(**settings).fit(u, y)
        assert free.model_.structure == truth.structure
        assert free.posterior_.structures["mass"].iloc[0] > 0.9
        assert free.model_.theta == pytest.approx(truth.theta, rel=0.02)
        assert ahead.model_.structure != truth.structure


def test_the_small_system_is_found(posterior: Posterior) -> None:
    assert str(posterior.structure(0)) == "u(k-1) + y(k-1)"
    assert posterior.map_model.theta == pytest.approx((0.8, 0.5), abs=0.02)
    assert posterior.objective == ABC
    assert len(posterior) == 2 * 375  # half anneals, half of the rest is burn-in


def test_every_draw_is_within_the_tolerance_that_its_free_run_really_has(
    posterior: Posterior, data: tuple[Float1D, Float1D]
) -> None:
    u, y = data
    for number in posterior.chain_numbers:
        chain = posterior.chain(number)
        tolerance = chain.diagnostics["ladder"][0]["tolerance"][0]
        assert chain.distance.max() <= tolerance
        for i in (0, 100, 300):
            model = next(chain._models([i]))
            run = model.simulate(u, y[:3])
            assert scores.nmse(y[3:], run[3:]) == pytest.approx(chain.distance[i], rel=1e-9)


def test_the_noise_is_what_the_tolerance_implies_in_the_users_units(
    posterior: Posterior, data: tuple[Float1D, Float1D]
) -> None:
    y = data[1][3:]
    for number in posterior.chain_numbers:
        chain = posterior.chain(number)
        tolerance = chain.diagnostics["ladder"][0]["tolerance"][0]
        expected = y.std() * math.sqrt(tolerance / 100.0)
        assert chain.draws.noise_sd == pytest.approx(expected, rel=1e-9)
        assert chain.map_model.noise_sd == pytest.approx(expected, rel=1e-9)


def test_units_change_the_coefficients_and_nothing_else(data: tuple[Float1D, Float1D]) -> None:
    """Powers of two do not even round."""
    u, y = data
    plain = Identifier(**SMALL).fit(u, y).posterior_
    other = Identifier(**SMALL).fit(2.0**-10 * u, 2.0**13 * y).posterior_
    assert plain.structures.equals(other.structures)
    assert plain.map_model.theta[0] * 2.0**23 == pytest.approx(other.map_model.theta[0], rel=1e-12)
    np.testing.assert_array_equal(plain.distance, other.distance)


def test_the_map_model_is_nearer_than_every_draw_of_its_structure(
    posterior: Posterior, data: tuple[Float1D, Float1D]
) -> None:
    u, y = data
    run = posterior.map_model.simulate(u, y[:3])
    chosen = posterior.draws.structure == posterior.number_of(0)
    assert scores.nmse(y[3:], run[3:]) <= posterior.distance[chosen].min()


def test_residuals_are_those_of_the_free_run(
    posterior: Posterior, data: tuple[Float1D, Float1D]
) -> None:
    u, y = data
    (residual,) = posterior.residuals()
    assert residual == pytest.approx(y[3:] - posterior.map_model.simulate(u, y[:3])[3:], abs=1e-12)
    assert all(test.is_passed for test in posterior.residual_tests())


def test_the_answer_does_not_depend_on_the_number_of_threads_or_on_memory(
    posterior: Posterior, data: tuple[Float1D, Float1D]
) -> None:
    again = Identifier(**SMALL, n_jobs=1, memory_mb=1).fit(*data).posterior_
    for one, other in zip(posterior.traces, again.traces, strict=True):
        np.testing.assert_array_equal(one.theta, other.theta)
        assert one.structures == other.structures


def test_an_own_distance_that_is_the_nmse_gives_the_same_draws(
    data: tuple[Float1D, Float1D],
) -> None:
    settings = SMALL | {"rule": "paper", "samples": 3000, "chains": 1}
    # Calibration polishes by least squares where it knows that the distance is a squared error.
    settings["ladder"] = {"rungs": 3, "descent": 50, "tolerance": 60.0}
    built_in = Identifier(**settings).fit(*data).posterior_
    own = Identifier(**settings, distance=lambda run, y: scores.nmse(y, run)).fit(*data).posterior_
    assert own.distance.max() <= 60.0
    assert own.settings["distance"] == "my_distance"
    means = [p.draws.size.mean() for p in (built_in, own)]
    assert means[0] == pytest.approx(means[1], abs=1.5)


@pytest.mark.parametrize("distance", [adjoin.distances.Spectrum(), adjoin.distances.Histogram()])
def test_features_can_be_matched_instead_of_samples(
    data: tuple[Float1D, Float1D], distance: object
) -> None:
    settings = SMALL | {"samples": 400, "distance": distance}
    found = Identifier(**settings).fit(*data)
    posterior = found.posterior_
    u, y = data
    nearest = next(posterior._models([int(posterior.distance.argmin())]))
    run = nearest.simulate(u, y[:3])
    assert distance(run[3:], y[3:]) == pytest.approx(posterior.distance.min(), rel=1e-9)
    assert repr(distance) in posterior.settings["distance"]
    error = math.sqrt(np.mean((y[3:] - run[3:]) ** 2))
    assert posterior.draws.noise_sd[posterior.distance.argmin()] == pytest.approx(error, rel=1e-9)


def test_several_records_inputs_functions_and_fixed_terms() -> None:
    rng = np.random.default_rng(1)
    flow = rng.standard_normal((400, 2))
    force = 2.0 * flow[:, 0] * np.abs(flow[:, 0]) + 0.5 * flow[:, 1]
    force[1:] += 0.4 * flow[:-1, 1]
    force += 0.05 * rng.standard_normal(400)
    settings = SMALL | {"max_lag": 2, "initial": "u1(k)*abs(u1(k)) + u2(k)"}
    found = Identifier(**settings).fit([flow[:250], flow[250:]], [force[:250], force[250:]])
    assert str(found.model_.structure) == "u1(k)*abs(u1(k)) + u2(k) + u2(k-1)"
    assert found.model_.theta == pytest.approx((2.0, 0.5, 0.4), abs=0.05)
    for text in found.posterior_.structures["structure"]:
        assert "u1(k)*abs(u1(k))" in text


def test_diagnostics_explain_the_ladder(posterior: Posterior) -> None:
    ladders = posterior.diagnostics["ladder"]
    assert [ladder["chain"] for ladder in ladders] == [0, 1]
    for ladder in ladders:
        assert len(ladder["tolerance"]) == len(ladder["acceptance"]) == len(ladder["width"]) == 4
        assert ladder["tolerance"] == sorted(ladder["tolerance"])
        assert len(ladder["swap_rate"]) == 3
        assert len(ladder["stages"]) == 6  # calibration and five stages
        assert "best structure fitted" in ladder["reason"]
    assert any(
        "annealing ended" in reason for reason in posterior.diagnostics["verdict"]["reasons"]
    )
    assert posterior.settings["rule"] == "default"
    assert posterior.settings["ladder"]["rungs"] == 4


def test_all_chains_sample_one_posterior_or_each_its_own_as_printed(
    data: tuple[Float1D, Float1D], posterior: Posterior
) -> None:
    def ends(**changed: object) -> tuple[set[float], list[str]]:
        settings = SMALL | {"samples": 300, "chains": 4} | changed
        with warnings.catch_warnings():
            warnings.filterwarnings(*BEHIND.split(":", 1))
            found = Identifier(**settings).fit(*data).posterior_
        ladders = found.diagnostics["ladder"]
        assert found.distance.max() <= max(ladder["tolerance"][0] for ladder in ladders)
        return {x["tolerance"][0] for x in ladders}, [x["reason"] for x in ladders]

    short = {"rungs": 3, "descent": 20}
    for rule in ("default", "paper"):
        tolerance, reasons = ends(rule=rule, ladder=short)
        assert len(tolerance) == len(set(reasons)) == 1
        assert reasons[0].endswith("; all chains share it")
        apart, reasons = ends(rule=rule, ladder=short | {"common": False})
        assert len(apart) > 1 or rule == "default"  # by which all of these end at the same
        assert tolerance <= apart  # it is that of one of them
        assert not any("share" in reason for reason in reasons)
    (noise,) = set(posterior.draws.noise_sd)  # which is why the noise is one number too
    assert posterior.noise["mean"] == pytest.approx(noise)


def test_chains_that_cannot_meet_a_tolerance_are_left_out_with_a_warning(
    data: tuple[Float1D, Float1D], posterior: Posterior
) -> None:
    """Just above the smallest distance of all, which one of these short chains does not reach."""
    settings = SMALL | {"rule": "paper", "samples": 60, "chains": 6}
    short = {"rungs": 2, "descent": 5, "common": False}
    alone = Identifier(**settings | {"ladder": short}).fit(*data).posterior_
    floors = sorted(trace.ladder.floor[-1] for trace in alone.traces)
    asked = 0.5 * (floors[0] + floors[-1])
    settings["ladder"] = {"rungs": 2, "descent": 5, "tolerance": asked}
    with pytest.warns(UserWarning, match="is left out: the tolerance .* cannot be met"):
        found = Identifier(**settings).fit(*data).posterior_
    assert 0 < found.n_chains < 6
    assert found.distance.max() <= asked


@pytest.mark.filterwarnings(BEHIND)
def test_a_distance_without_a_value_at_rest_still_has_a_ladder(
    data: tuple[Float1D, Float1D],
) -> None:
    def unlike(run: Float1D, y: Float1D) -> float:
        with np.errstate(invalid="ignore", divide="ignore"):
            return 100.0 * (1.0 - np.corrcoef(run, y)[0, 1])

    settings = SMALL | {"samples": 400, "distance": unlike}
    for ladder in Identifier(**settings).fit(*data).posterior_.diagnostics["ladder"]:
        assert ladder["tolerance"][-1] > 10.0 * ladder["tolerance"][0]


def test_bands_hold_as_many_samples_as_they_say(posterior: Posterior) -> None:
    """The noise is the sensor's: on top of the run. 2,000 samples; false alarm 6e-5."""
    u, y = noisy("y(k) = 0.8*u(k-1) + 0.5*y(k-1)", 2000, seed=9)
    prediction = posterior.simulate(u, y[:3], draws=300)
    for low, high, share in ((0.025, 0.975, 0.95), (0.16, 0.84, 0.68)):
        slack = 4.0 * math.sqrt(share * (1.0 - share) / 2000) + 0.02  # and that of the proxy
        assert abs(prediction.coverage(y, low, high) - share) < slack


def test_a_function_called_nmse_is_not_taken_for_the_built_in_one(
    data: tuple[Float1D, Float1D],
) -> None:
    def nmse(run: Float1D, y: Float1D) -> float:
        return float(np.abs(run - y).max())

    found = Identifier(**SMALL | {"samples": 100, "distance": nmse}).fit(*data).posterior_
    assert found.settings["distance"] == "my_nmse"
    assert found.settings["rule"] == "paper"


@pytest.mark.filterwarnings(BEHIND)
def test_numbers_of_any_kind_make_a_ladder_that_can_be_saved(
    data: tuple[Float1D, Float1D], tmp_path: Path
) -> None:
    ladder = {"rungs": np.int64(2), "descent": np.int32(20), "kappa": np.float32(2.0)}
    found = Identifier(**SMALL | {"samples": 100, "ladder": ladder}).fit(*data).posterior_
    found.save(tmp_path / "run.nc")
    assert adjoin.load(tmp_path / "run.nc").settings["ladder"]["kappa"] == 2.0


def test_a_tolerance_can_be_asked_for(data: tuple[Float1D, Float1D]) -> None:
    settings = SMALL | {"samples": 400, "ladder": Ladder(rungs=3, descent=100, tolerance=3.0)}
    found = Identifier(**settings).fit(*data).posterior_
    assert {ladder["tolerance"][0] for ladder in found.diagnostics["ladder"]} == {3.0}
    assert found.distance.max() > 1.0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"ladder": {"tolerance": 1e-6}}, "cannot be met: the smallest distance found"),
        ({"rule": "loose"}, "rule must be 'default' or 'paper'"),
        ({"likelihood_power": 0.5}, "no likelihood to be raised"),
        ({"likelihood_power": "auto"}, "no likelihood to be raised"),
        ({"samples": 4, "thin": 1}, "too few for 5 stages"),
        ({"samples": 20, "thin": 15}, "keeps none of the rest"),
        ({"ladder": {"rung": 3}}, "no setting 'rung'; it has rungs"),
        ({"ladder": {"rungs": 0}}, "rungs must be a whole number"),
        ({"ladder": {"quantile": 1.5}}, "quantile must be a number between 0 and 1"),
        ({"ladder": 3}, "settings by name"),
        ({"distance": "nmse"}, "function of simulated and measured"),
        ({"distance": lambda run: 1.0}, "the distance function failed"),
        (
            {"prior": adjoin.Prior(coefficient_shape=2.0, coefficient_scale=1.0)},
            "no hyperprior of coefficients",
        ),
        ({"objective": "osa"}, "ladder is for objective='abc'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(
    data: tuple[Float1D, Float1D], change: dict[str, object], says: str
) -> None:
    settings = SMALL | {"samples": 400} | change
    with pytest.raises(AdjoinError, match=says):
        Identifier(**settings).fit(*data)


def test_a_distance_that_is_never_finite_is_an_error_and_not_an_endless_run(
    data: tuple[Float1D, Float1D],
) -> None:
    settings = SMALL | {"samples": 400, "distance": lambda run, y: math.nan}
    with pytest.raises(AdjoinError, match="came nearer to the measured output"):
        Identifier(**settings).fit(*data)


def test_a_negative_distance_is_refused(data: tuple[Float1D, Float1D]) -> None:
    settings = SMALL | {"samples": 400, "distance": lambda run, y: -1.0}
    with pytest.raises(AdjoinError, match="a distance is 0 where both series are alike"):
        Identifier(**settings).fit(*data)


def test_an_infinite_tolerance_is_the_prior_and_still_a_posterior(
    data: tuple[Float1D, Float1D],
) -> None:
    settings = SMALL | {"samples": 400, "ladder": {"rungs": 2, "tolerance": math.inf}}
    found = Identifier(**settings).fit(*data).posterior_
    assert np.isfinite(found.distance).all()
    assert found.distance.max() > 100.0
    assert np.isfinite(found.draws.noise_sd).all()
    assert any("prior" in reason for reason in found.diagnostics["verdict"]["reasons"])


def test_data_without_noise_are_fitted_to_rounding_and_can_be_saved(tmp_path: Path) -> None:
    u = np.random.default_rng(0).integers(-5, 6, 200).astype(float)
    y = np.concatenate([[0.0], 0.5 * u[:-1]])
    posterior = Identifier(**SMALL | {"samples": 400}).fit(u, y).posterior_
    assert posterior.map_model.coefficients == pytest.approx({"u(k-1)": 0.5})
    posterior.save(tmp_path / "exact.nc")
    assert adjoin.load(tmp_path / "exact.nc").structures.equals(posterior.structures)


def test_the_call_that_makes_a_run_again_has_its_ladder_and_distance(
    data: tuple[Float1D, Float1D],
) -> None:
    ladder = Ladder(rungs=3, descent=20)
    spectrum = adjoin.distances.Spectrum(bands=5)
    settings = SMALL | {"samples": 100, "chains": 1, "ladder": ladder, "distance": spectrum}
    call = Identifier(**settings).fit(*data).posterior_.settings["call"]
    assert "ladder={'rungs': 3, 'descent': 20}" in call
    assert "distance=adjoin.distances.Spectrum(bands=5)" in call
    assert "objective='abc'" in call


@pytest.mark.filterwarnings(BEHIND)
def test_an_output_far_from_zero_is_found_where_fits_guide_and_else_asked_to_be_centred(
    data: tuple[Float1D, Float1D],
) -> None:
    """No model at all is 40 away from a range of 3: farther than a run that is lost."""
    u, y = data
    found = Identifier(**SMALL, center=False).fit(u, y + 40.0)
    run = found.simulate(u, y[:3] + 40.0)
    assert np.sqrt(np.mean((run - y - 40.0) ** 2)) < 0.1
    own = SMALL | {"samples": 100, "distance": adjoin.distances.Histogram(), "chains": 1}
    with pytest.raises(AdjoinError, match=r"ran away or went astray.*\(center=True\)"):
        Identifier(**own, center=False).fit(u, y + 40.0)


def test_whatever_is_recorded_stays_in_range_even_by_a_distance_that_does_not_see_it(
    data: tuple[Float1D, Float1D],
) -> None:
    """A histogram knows bins, not how far away a sample is."""
    u, y = data
    settings = SMALL | {"samples": 400, "distance": adjoin.distances.Histogram(), "runaway": 2.0}
    posterior = Identifier(**settings).fit(u, y).posterior_
    lower, upper = posterior.map_model.limits
    assert upper - lower == pytest.approx(2.0 * np.ptp(y))
    for model in posterior._models(range(0, len(posterior), 10)):
        run = Model(model.structure, model.theta).simulate(u, y[:3])
        assert lower <= run.min() <= run.max() <= upper
