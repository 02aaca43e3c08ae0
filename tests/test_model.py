"""`Model` as a user meets it: running it on data, units, errors."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import structures

from adjoin import AdjoinError, Dataset, DivergenceWarning, Model
from adjoin.data.names import SignalNames
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import exponents

ACADEMIC = Model.parse("y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)")


def test_free_run_by_hand() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
    assert model.simulate([0, 1, 2, 3], y_init=[8]).tolist() == [8, 5, 4.5, 5.25]


def test_one_step_prediction_uses_the_measured_output() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
    assert model.predict([0, 1, 2, 3], [8, 2, 4, 6]).tolist() == [8, 5, 3, 5]


def test_two_steps_ahead_by_hand() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
    ahead = model.predict([0, 1, 2, 3], [8, 2, 4, 6], steps_ahead=2)
    # From y(0)=8: 5, then 4.5; from y(1)=2: 3, then 4.5.
    assert ahead.tolist() == [8, 5, 4.5, 4.5]


def test_the_residual_stands_for_past_noise() -> None:
    model = Model.parse("y(k) = u(k) + 0.5*e(k-1)")
    # e(0) is unknown, so 0; e(1) = 3 - 1 = 2, so the prediction of y(2) is 1 + 1.
    assert model.predict([1, 1, 1, 1], [0, 3, 2, 5]).tolist() == [0, 1, 2, 1]
    assert model.simulate([1, 1, 1], noise=[0, 2, 0]).tolist() == [0, 3, 2]


def test_a_perfect_model_predicts_its_own_simulation_at_any_horizon() -> None:
    rng = np.random.default_rng(1)
    u = rng.standard_normal(200)
    y = ACADEMIC.simulate(u, rng.standard_normal(5))
    for steps in (1, 2, 9, 500):
        np.testing.assert_array_equal(ACADEMIC.predict(u, y, steps_ahead=steps), y)


def test_without_initial_output_the_run_starts_at_rest() -> None:
    u = np.ones(20)
    assert ACADEMIC.simulate(u).tolist() == ACADEMIC.simulate(u, np.zeros(5)).tolist()
    around = Model.parse("y(k) = 0.5*y(k-1)", offsets={"y": 3.0})
    assert around.simulate(4).tolist() == [3.0] * 4


def test_more_seeding_samples_than_needed_are_copied_through() -> None:
    u, y = np.ones(30), np.arange(30.0)
    run = ACADEMIC.simulate(u, y[:12])
    assert run[:12].tolist() == y[:12].tolist()
    assert run[12] == 0.5 - 0.3 + 0.3 * 11


def test_frames_are_matched_by_column_name() -> None:
    model = Model.parse("F(k) = u(k) + 10*v(k)")
    frame = pd.DataFrame({"v": [1.0, 2.0], "time": [0.0, 0.1], "u": [3.0, 4.0]})
    assert model.simulate(frame).tolist() == [13.0, 24.0]


def test_several_records_come_back_as_a_list() -> None:
    runs = ACADEMIC.simulate([np.ones(10), np.zeros(8)], [np.zeros(5), np.zeros(5)])
    assert [len(run) for run in runs] == [10, 8]


def test_a_lost_sample_costs_nothing_more_where_nothing_is_fed_back() -> None:
    u = np.ones(300)
    u[[4, 200]] = 1e25
    y = np.ones(300)
    with pytest.warns(DivergenceWarning, match="sample 4;"):
        predicted = Model.parse("y(k) = u(k)^5 + 0.1*y(k-1)").predict(u, y)
    assert np.flatnonzero(np.isnan(predicted)).tolist() == [4, 200]
    assert predicted[5] == 1.1


def test_divergence_several_steps_ahead_is_marked_where_it_happens() -> None:
    model = Model.parse("y(k) = u(k)*y(k-1)^3")
    u, y = np.full(40, 0.1), np.full(40, 0.5)
    y[20] = 1e20
    with pytest.warns(DivergenceWarning, match="sample 23;"):
        predicted = model.predict(u, y, steps_ahead=3)
    assert np.flatnonzero(np.isnan(predicted)).tolist() == [23]


def test_residuals_lost_to_divergence_do_not_pass_for_zero() -> None:
    model = Model.parse("y(k) = e(k-1)^3 + 0.1*u(k)")
    y = np.array([0.0, 2.0] + [0.0] * 10)
    with pytest.warns(DivergenceWarning):
        one = model.predict(np.zeros(12), y)
    with pytest.warns(DivergenceWarning):
        two = model.predict(np.zeros(12), y, steps_ahead=2)
    lost = int(np.argmax(np.isnan(one)))
    assert lost > 2
    assert np.isnan(two[lost + 2 :]).all()


def test_a_run_may_pass_through_huge_values() -> None:
    assert Model.parse("y(k) = 10*y(k-1)").simulate(95, [1.0])[-1] == pytest.approx(1e94)
    with pytest.warns(DivergenceWarning, match="sample 10[01];"):
        Model.parse("y(k) = 10*y(k-1)").simulate(120, [1.0])


def test_the_sign_of_zero_is_zero() -> None:
    model = Model.parse("y(k) = sign(u(k)) + 10*sign(y(k-1))")
    assert model.simulate([0.0, 0.0, -2.0, 0.0], [0.0]).tolist() == [0.0, 0.0, -1.0, -10.0]


def test_several_records_with_offsets_and_seeds_to_the_last_bit() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)", offsets={"u": 0.3, "y": 0.1})
    u = [np.full(4, 0.7), np.full(3, 1.3)]
    runs = model.simulate(u, [[0.3], [0.7, 0.7]])
    assert runs[0][0] == 0.3
    assert runs[1][:2].tolist() == [0.7, 0.7]
    assert runs[0][1] == pytest.approx(0.1 + 0.5 * 0.2 + 0.4)
    assert runs[1][2] == pytest.approx(0.1 + 0.5 * 0.6 + 1.0)


def test_the_engines_entry_refuses_too_few_seeds() -> None:
    from adjoin.modelling.simulation import free_run, predict

    structure = Model.parse("y(k) = y(k-3) + u(k)").structure
    with pytest.raises(AdjoinError, match="record 1 has 6 samples and 1 seeds"):
        free_run(structure, [0.0, 1.0], [np.ones((6, 1))] * 2, [np.ones(3), np.ones(1)])
    with pytest.raises(AdjoinError, match="looks back 3"):
        predict(structure, [0.0, 1.0], [np.ones((2, 1))], [np.ones(2)])


def test_static_models_take_seeds_of_any_length() -> None:
    runs = Model.parse("y(k) = u(k)").simulate([np.ones(5), np.ones(6)], [[7.0], [7.0, 8.0]])
    assert [run.tolist() for run in runs] == [[7, 1, 1, 1, 1], [7, 8, 1, 1, 1, 1]]


def test_divergence_is_reported_and_marked() -> None:
    model = Model.parse("y(k) = 2*y(k-1)^3 + u(k)")
    with pytest.warns(DivergenceWarning, match=r"diverged at sample \d+ of record 1"):
        runs = model.simulate([np.zeros(60), np.ones(60)], [[0.1], [2.0]])
    assert np.isfinite(runs[0]).all()
    lost = int(np.argmax(np.isnan(runs[1])))
    assert 0 < lost < 20
    assert np.isfinite(runs[1][:lost]).all()
    assert np.isnan(runs[1][lost:]).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.simulate(np.ones(10), [1.0]), "looks back 5 samples, .* has 1"),
        (lambda m: m.simulate(np.ones(10), [1.0] * 4), "looks back 5 samples, .* has 4"),
        (lambda m: m.simulate([np.ones(9)] * 2, noise=[np.ones(9), np.ones(8)]), "one value per"),
        (lambda m: m.format(0), "digits must be at least 1"),
        (lambda m: m.simulate(np.ones(5)), "do not reach beyond the model's largest lag 5"),
        (lambda m: m.simulate(np.ones(9), np.ones(9)), r"nothing is left .* y\[:5\]"),
        (lambda m: m.simulate(np.ones((10, 2))), "1 input"),
        (lambda m: m.simulate([np.ones(9), np.ones(9)], [np.ones(5)]), "records"),
        (lambda m: m.simulate(np.ones(9), noise=np.ones(3)), "noise must have one value"),
        (lambda m: m.simulate([1, 2, np.nan, 3, 4, 5, 6]), "NaN"),
        (lambda m: m.predict(np.ones(10), np.ones(9)), "differ in length"),
        (lambda m: m.predict(np.ones(10), np.ones(10), steps_ahead=0), "whole number from 1"),
        (lambda m: m.predict(np.ones(10), np.ones(10), steps_ahead=1.5), "whole number from 1"),
    ],
)
def test_bad_calls_say_what_to_do(call, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        call(ACADEMIC)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"theta": (1.0,)}, "1 coefficients for 3 terms"),
        ({"theta": (1.0, np.inf, 0.0)}, "a coefficient must be a finite number, not inf"),
        ({"noise_sd": -1.0}, "noise_sd"),
        ({"offsets": {"w": 1.0}}, "an offset for 'w', but the signals are u, y"),
    ],
)
def test_a_model_is_checked_when_it_is_made(arguments, message: str) -> None:
    given_arguments = {"structure": ACADEMIC.structure, "theta": ACADEMIC.theta, **arguments}
    with pytest.raises(AdjoinError, match=message):
        Model(**given_arguments)


def test_printing() -> None:
    model = Model.parse("y(k) = 0.123456789*u(k)", noise_sd=0.1, offsets={"u": 2.0, "y": 1.5})
    assert model.equation == "y(k) = 0.123456789*u(k)"
    assert str(model) == "y(k) = 0.123456789*u(k)    (deviations: u from 2, y from 1.5)"
    assert model.coefficients == {"u(k)": 0.123456789}
    assert model.tree().sentence == "θ × u + ε"
    assert repr(model) == f"Model('{model}')"
    assert len({model, Model.parse(model.equation, noise_sd=0.1, offsets=model.offsets)}) == 1


@given(structures(SignalNames(("u", "v"), "y"), noise=False), st.integers(0, 500))
def test_scaling_gives_back_exactly_the_model_in_the_users_units(structure, seed: int) -> None:
    """One step of the scaled model, unscaled, is one step of the back-transformed model."""
    scales = {"", "abs", "sign", "sqrtabs"}
    terms = tuple(t for t in structure if all(atom.function in scales for atom in t))
    structure = type(structure)(terms, structure.names)
    rng = np.random.default_rng(seed)
    data = Dataset.from_arrays(
        3.0 + 2.0 * rng.standard_normal((40, 2)),
        -5.0 + 0.3 * rng.standard_normal(40),
        structure.names,
    )
    scaling = Scaling.from_dataset(data, center=True, scale=True)
    theta = rng.standard_normal(len(structure))
    scaled = scaling.apply(data)
    in_scaled = Model(structure, tuple(theta)).predict(scaled.u, scaled.y)
    back = [
        value * scaling.coefficient_factor(exponents(term))
        for term, value in zip(structure, theta, strict=True)
    ]
    model = Model(structure, tuple(back), offsets=scaling.offsets)
    expected = scaling.offset[-1] + scaling.scale[-1] * in_scaled
    np.testing.assert_allclose(model.predict(data.u, data.y), expected, rtol=1e-9, atol=1e-9)
    if not structure.functions:
        raw = model.expand()
        assert not raw.offsets
        np.testing.assert_allclose(raw.predict(data.u, data.y), expected, rtol=1e-6, atol=1e-6)


def test_expansion_by_hand() -> None:
    model = Model.parse("y(k) = 2*u(k)^2 + 3*y(k-1)", offsets={"u": 5.0, "y": 7.0})
    # 7 + 2(u-5)^2 + 3(y-7) = 36 - 20 u + 2 u^2 + 3 y
    assert model.expand().equation == "y(k) = 36.0 - 20*u(k) + 2*u(k)^2 + 3*y(k-1)"
    assert Model.parse(model.expand().equation) == model.expand()
    loud = Model.parse("y(k) = u(k)^32", noise_sd=0.5, offsets={"u": 1.0}).expand()
    assert loud.noise_sd == 0.5
    assert loud.theta[:3] == (1.0, -32.0, 496.0)


def test_a_function_of_a_centred_signal_does_not_expand() -> None:
    model = Model.parse("y(k) = abs(u(k))", offsets={"u": 1.0})
    with pytest.raises(AdjoinError, match="keep the model in deviations"):
        model.expand()


def test_signals_in_functions_that_do_not_scale_keep_their_unit() -> None:
    (term,) = Model.parse("y(k) = sin(u(k))*u(k)^2*abs(y(k-1))").structure
    assert exponents(term) == {"u": 2.0, "y": 1.0}
