"""Simulated rigs are what they say they are, and planted defects do what they say they do."""

from __future__ import annotations

import time
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from adjoin import AdjoinError, Dataset, datasets, scores
from adjoin.data import defects
from adjoin.data.rigs import excitation
from adjoin.data.rigs.catalogue import CATALOGUE
from adjoin.data.rigs.rig import Encoder, Sensor
from adjoin.data.rigs.runge_kutta import integrate

N_PARTS = [1400, 600, 1000]
SAMPLED = ("volterra", "bilinear", "linear", "noise")
UNITS = {"N", "mm", "V", "rad/s", "W", "°C", "mm/s", "Pa", "l/min", "mA", "m/s²"}


@pytest.fixture(scope="module")
def rigs() -> dict[str, datasets.Benchmark]:
    return {name: datasets.rig(name) for name in datasets.RIGS}


# Integration and inputs.


def test_runge_and_kutta_are_of_fourth_order_on_a_known_solution() -> None:
    omega, zeta = 3.0, 0.1

    def rate(state, held):
        x, v = state
        return v, omega**2 * (held[0] - x) - 2.0 * zeta * omega * v

    time_ = 0.05 * np.arange(101)
    decay, ringing = zeta * omega, omega * np.sqrt(1.0 - zeta**2)
    swing = np.cos(ringing * time_) + decay / ringing * np.sin(ringing * time_)
    exact = 1.0 - np.exp(-decay * time_) * swing  # the answer to a unit step
    held = np.ones((101, 1))
    errors = [
        np.abs(integrate(rate, (0.0, 0.0), held, 0.05, finest)[:, 0] - exact).max()
        for finest in (0.05, 0.025, 0.0125)
    ]
    assert errors[0] < 1e-4
    for coarse, fine in pairwise(errors):
        assert 13.0 < coarse / fine < 19.0  # half the step, a sixteenth of the error


def test_inputs_are_held_and_a_state_is_that_before_its_input_acts() -> None:
    held = np.array([[1.0], [-2.0], [5.0]])
    found = integrate(lambda state, u: u, (0.5,), held, 0.1, 0.03)
    np.testing.assert_allclose(found[:, 0], [0.5, 0.6, 0.4], atol=1e-15)


def test_a_sample_has_no_more_steps_than_it_needs() -> None:
    calls = []
    integrate(lambda state, u: calls.append(1) or (0.0,), (0.0,), np.zeros((1, 1)), 0.01, 0.002)
    assert len(calls) == 4 * 5  # and no sixth step from rounding


def test_excitations_have_their_size_and_band() -> None:
    rng = np.random.default_rng(0)
    noise = excitation.filtered_noise(rng, 2000, 0.01, 3.0, 10.0)
    assert np.sqrt(np.mean(noise**2)) == pytest.approx(3.0)
    power = np.abs(np.fft.rfft(noise)) ** 2
    assert power[np.fft.rfftfreq(2000, 0.01) > 10.0].sum() < 1e-20 * power.sum()
    steps = excitation.multistep(rng, 2000, 0.01, (-1.0, 4.0), (0.1, 0.5))
    assert -1.0 <= steps.min() < 0.0 < 3.0 < steps.max() <= 4.0
    lengths = np.diff(np.flatnonzero(np.diff(steps)))
    assert 10 <= lengths.min() < lengths.max() <= 50
    value, slope = excitation.multisine(rng, 20_000, 0.001, 2.0, (0.5, 5.0))
    assert np.sqrt(np.mean(value**2)) == pytest.approx(2.0, rel=0.1)
    np.testing.assert_allclose(slope[1:-1], (value[2:] - value[:-2]) / 0.002, atol=0.02)


# Sensors.


def test_a_sensor_adds_what_it_says() -> None:
    rng, exact = np.random.default_rng(0), np.zeros(20_000)
    y = Sensor(noise=0.5, offset=3.0, memory=0.6).measure(rng, exact, 1.0)
    # 20,000 samples with a memory of 0.6 are as 5,000 (mean) and 9,400 (variance) without one:
    # 4 standard deviations are 0.028 and 1.5 %, each a false alarm in 16,000.
    assert y.mean() == pytest.approx(3.0, abs=0.028)
    assert y.std() == pytest.approx(0.5, rel=0.029)
    assert np.corrcoef(y[1:], y[:-1])[0, 1] == pytest.approx(0.6, abs=4 * 0.8 / np.sqrt(20_000))
    drifting = Sensor(noise=0.0, drift=2.0).measure(rng, exact, 1.0)
    np.testing.assert_allclose(drifting, 2.0 * np.arange(20_000) / 20_000)


def test_an_encoder_counts_lines() -> None:
    rng = np.random.default_rng(0)
    exact = 10.0 + 25.0 * rng.standard_normal(5000)  # five lines a sample: roundings independent
    encoder = Encoder(quantum=0.01)
    y = encoder.measure(rng, exact, 0.002)
    lines = y * 0.002 / 0.01
    np.testing.assert_allclose(lines, np.round(lines), atol=1e-9)
    assert abs(np.sum(y - exact)) * 0.002 < 0.01  # no line is lost on the way
    assert np.std(y - exact) == pytest.approx(encoder.noise_at(0.002), rel=0.1)


@pytest.mark.parametrize("name", datasets.RIGS)
def test_the_noise_is_as_strong_as_stated(name: str) -> None:
    rig = CATALOGUE[name]
    found = rig.record(np.random.default_rng(1), 2000)
    added = found.output - found.exact
    line = np.polyval(np.polyfit(np.arange(2000), added, 1), np.arange(2000))
    # 2,000 samples know a deviation to 1.6 %, with the memory of "noise" to 2 %; five of them.
    assert np.std(added - line) == pytest.approx(rig.noise_sd, rel=0.1)
    offset = getattr(rig.sensor, "offset", 0.0) + 0.5 * getattr(rig.sensor, "drift", 0.0)
    assert added.mean() == pytest.approx(offset, abs=0.2 * rig.noise_sd)
    assert datasets.rig(name).noise_sd == rig.noise_sd


# The benchmarks.


def test_there_are_twelve_rigs() -> None:
    assert len(datasets.RIGS) == len(set(datasets.RIGS)) == 12


@pytest.mark.parametrize("name", datasets.RIGS)
def test_a_rig_is_what_an_engineer_would_have(name: str, rigs) -> None:
    benchmark, rig = rigs[name], CATALOGUE[name]
    train, validation, test = benchmark
    assert benchmark.name == name
    assert [len(part) for part in benchmark] == N_PARTS
    assert "simulated" in benchmark.protocol
    for part in benchmark:
        assert part.n_records == 1
        assert (*part.names.inputs, part.names.output) == tuple(rig.units)
        assert part.sampling_time == rig.step
        assert np.isfinite(part.u).all()
        assert np.isfinite(part.y).all()
        part.require_variation()
    for signal, unit in rig.units.items():
        assert unit in UNITS
        assert f"{signal} in {unit}" in benchmark.protocol
    learned = np.concatenate([train.y, validation.y])
    is_inside = (test.y >= learned.min()) & (test.y <= learned.max())
    assert is_inside.mean() > 0.9
    assert benchmark.n_seed == 50


@pytest.mark.parametrize("name", datasets.RIGS)
def test_a_rig_is_a_function_of_its_seed(name: str, rigs) -> None:
    begin = time.process_time()
    same = datasets.rig(name, 0)
    assert time.process_time() - begin < 1.0  # 0.2 s on a quiet machine
    other = datasets.rig(name, 1)
    for part, again, another in zip(rigs[name], same, other, strict=True):
        assert part.y.tolist() == again.y.tolist() != another.y.tolist()
        assert part.u.tolist() == again.u.tolist()
        if name != "oscillator":
            assert part.u.tolist() != another.u.tolist()
    if name != "oscillator":
        assert same.train.u[:1000].tolist() != same.test.u.tolist()


def test_the_record_goes_on_from_training_to_validation(rigs) -> None:
    train, validation, _ = rigs["integrator"]
    moved = 20.0 * 0.02 * 10.4  # mm in a sample at the largest voltage
    assert abs(validation.y[0] - train.y[-1]) < moved + 6 * 0.3


@pytest.mark.parametrize("name", ["bilinear", "linear"])
def test_difference_equations_are_known(name: str, rigs) -> None:
    benchmark = rigs[name]
    test, n = benchmark.test, benchmark.n_seed
    run = benchmark.truth.simulate(test.u, test.y[:n])
    assert np.std((test.y - run)[2 * n :]) == pytest.approx(benchmark.noise_sd, rel=0.1)
    # The constants of the simulation are those of the equation: no less noise could be left.
    exact = CATALOGUE[name].record(np.random.default_rng(0), 500)
    run = benchmark.truth.simulate(exact.inputs, exact.exact[:2])
    np.testing.assert_allclose(run, exact.exact, rtol=1e-9)


def test_the_others_do_not_claim_a_truth(rigs) -> None:
    assert [name for name, rig in rigs.items() if rig.truth] == ["bilinear", "linear"]


# What is special about each.


def test_the_duffing_oscillator_is_oversampled_and_off(rigs) -> None:
    train = rigs["duffing"].train
    assert train.sampling_time == 0.002
    proper = datasets.rig("duffing", oversampling=1).train
    assert proper.sampling_time == 0.01
    near, far = (np.corrcoef(part.y[1:], part.y[:-1])[0, 1] for part in (train, proper))
    assert near > 0.99 > 0.9 > far
    assert proper.y.mean() == pytest.approx(2.5, abs=1.0)


def test_tanks_overflow(rigs) -> None:
    exact = CATALOGUE["tanks"].record(np.random.default_rng(0), 2000).exact
    assert exact.max() == 100.0
    assert 0.0 <= exact.min() < 20.0
    assert 0.02 < np.mean(exact > 99.9) < 0.5


def test_the_motor_stands_still_where_friction_holds_it(rigs) -> None:
    inputs, _, exact = CATALOGUE["motor"].record(np.random.default_rng(0), 20_000)
    holds = np.convolve(np.abs(inputs[:, 0]) < 1.2, np.ones(80))[:20_000] == 80
    assert holds.sum() > 10
    # 0.8 s at most 1.2 V, of which friction takes 1.6: it creeps by less than the slip of 1 rad/s,
    # where without friction it would run at up to 24.
    assert np.abs(exact[holds]).max() < 1.0
    quantum = 2.0 * np.pi / 1024 / 0.01
    lines = rigs["motor"].train.y / quantum
    np.testing.assert_allclose(lines, np.round(lines), atol=1e-6)


def test_the_valve_does_nothing_in_its_dead_zone() -> None:
    rig = CATALOGUE["valve"]
    inputs, _, exact = rig.record(np.random.default_rng(0), 4000)
    inside = (inputs[:, 0] > -0.7) & (inputs[:, 0] < 1.0)
    assert 0.1 < inside.mean() < 0.35
    long = np.convolve(inside, np.ones(30))[: len(inside)] == 30
    assert long.any()
    assert np.abs(exact[long]).max() < 0.05 * np.abs(exact).max()


def test_the_heater_answers_after_fifteen_samples(rigs) -> None:
    found = CATALOGUE["heater"].record(np.random.default_rng(0), 2000)
    gain = []
    for lag in range(1, 30):
        u = found.inputs[30 - lag : 2000 - lag, 0]
        columns = np.column_stack([found.exact[29:-1], found.exact[28:-2], u, np.ones(1970)])
        answer = found.exact[30:]
        gain.append(np.std(answer - columns @ np.linalg.lstsq(columns, answer)[0]))
    assert 1 + int(np.argmin(gain)) in (15, 16)  # 15 of the pipe, and 1 of the hold
    assert found.exact.min() > 21.5


def test_the_damper_has_hysteresis_and_a_field() -> None:
    inputs, _, force = CATALOGUE["damper"].record(np.random.default_rng(0), 4000)
    _, velocity, voltage = inputs.T
    straight = np.column_stack([inputs, velocity * voltage, np.ones(4000)])
    left = force - straight @ np.linalg.lstsq(straight, force)[0]
    assert 0.01 < np.var(left) / np.var(force) < 0.5
    strong, weak = voltage > 1.5, voltage < 0.5
    assert np.std(force[strong]) > 1.5 * np.std(force[weak])


def test_the_drive_integrates(rigs) -> None:
    found = CATALOGUE["integrator"].record(np.random.default_rng(0), 1000)
    x, u = found.exact, found.inputs[:, 0]
    columns = np.column_stack([x[1:-1], x[:-2], u[1:-1], u[:-2]])
    theta, *_ = np.linalg.lstsq(columns, x[2:])
    np.testing.assert_allclose(x[2:], columns @ theta, atol=1e-4)
    roots = np.roots([1.0, -theta[0], -theta[1]])
    assert roots.real.max() == pytest.approx(1.0, abs=1e-6)
    assert roots.real.min() == pytest.approx(np.exp(-0.4), abs=1e-4)


def test_the_oscillator_swings_by_itself(rigs) -> None:
    train = rigs["oscillator"].train
    assert train.names.inputs == ()
    assert np.abs(train.y).max() == pytest.approx(3.0, abs=0.15)


def test_noise_has_nothing_to_do_with_its_input(rigs) -> None:
    train = rigs["noise"].train
    u, y = train.u, train.y - train.y.mean()
    # The input is white to 0.8 of its band, so a correlation is about 1/sqrt(1400); of 20 the
    # largest is beyond 4 of them once in 800, doubled for the memory of the noise.
    for lag in range(20):
        assert abs(np.corrcoef(u[: 1400 - lag], y[lag:])[0, 1]) < 8.0 / np.sqrt(1400)
    assert scores.nmse(train.y[1:], train.y[:-1]) > 50.0


def test_a_rig_may_be_sampled_faster() -> None:
    slow, fast = (datasets.rig("heater", oversampling=times) for times in (1, 4))
    assert (slow.train.sampling_time, fast.train.sampling_time) == (2.0, 0.5)
    assert [len(part) for part in fast] == N_PARTS
    assert datasets.rig("motor", oversampling=2).noise_sd == 2.0 * datasets.rig("motor").noise_sd


@pytest.mark.parametrize("name", SAMPLED)
def test_difference_equations_have_one_sampling_time(name: str) -> None:
    assert datasets.rig(name, oversampling=1).name == name
    with pytest.raises(AdjoinError, match="has one sampling time only"):
        datasets.rig(name, oversampling=5)


def test_what_is_no_rig_is_refused() -> None:
    with pytest.raises(AdjoinError, match="no rig is called 'pendulum'; known are duffing, tanks"):
        datasets.rig("pendulum")
    with pytest.raises(AdjoinError, match="whole number from 0"):
        datasets.rig("tanks", -1)
    for times in (0, 1.5, True, "5"):
        with pytest.raises(AdjoinError, match="oversampling must be a whole number from 1"):
            datasets.rig("tanks", oversampling=times)


# The demonstration.


def test_the_demonstration_is_a_record_with_one_gap() -> None:
    frame, again = datasets.demo_rig(), datasets.demo_rig(0)
    pd.testing.assert_frame_equal(frame, again)
    assert not frame.equals(datasets.demo_rig(1))
    assert list(frame) == ["time [s]", "force [N]", "displacement [mm]"]
    assert len(frame) == 2500
    assert frame.index.tolist() == list(range(2500))
    steps = np.diff(frame["time [s]"])
    assert np.isclose(steps, 0.01).sum() == 2498
    assert steps.max() == pytest.approx(0.61)
    assert np.isfinite(frame.to_numpy()).all()
    assert frame["displacement [mm]"].mean() == pytest.approx(2.5, abs=1.0)
    assert abs(frame["force [N]"].mean()) < 2.0


# Defects.


@pytest.fixture
def clean(rigs) -> Dataset:
    return rigs["tanks"].train


@pytest.fixture
def frame(clean: Dataset) -> pd.DataFrame:
    return pd.DataFrame({"time [s]": 4.0 * np.arange(1400), "u": clean.u, "y": clean.y})


def test_a_gap_takes_rows_out(clean: Dataset, frame: pd.DataFrame) -> None:
    found = defects.gap(clean, 100, 60)
    assert len(found) == 1340
    assert found.y.tolist() == [*clean.y[:100], *clean.y[160:]]
    assert found.u.tolist() == [*clean.u[:100], *clean.u[160:]]
    assert (found.names, found.sampling_time) == (clean.names, clean.sampling_time)
    torn = defects.gap(frame)
    assert len(torn) == 1340
    steps = np.diff(torn["time [s]"])
    assert sorted(set(steps)) == [4.0, 61 * 4.0]
    for begin, length in ((0, 60), (1380, 60), (10, 0), (10, 2.5)):
        with pytest.raises(AdjoinError, match="is not inside the 1400"):
            defects.gap(clean, begin, length)


def test_an_offset_shifts_one_signal(clean: Dataset, frame: pd.DataFrame) -> None:
    found = defects.offset(clean, 2.0)
    np.testing.assert_allclose(found.y - clean.y, 2.0 * clean.y.std())
    assert found.u.tolist() == clean.u.tolist()
    moved = defects.offset(clean, 1.0, "pump_voltage")
    np.testing.assert_allclose(moved.u - clean.u, clean.u.std())
    assert moved.y.tolist() == clean.y.tolist()
    assert defects.offset(frame)["y"].mean() == pytest.approx(clean.y.mean() + 3 * clean.y.std())
    with pytest.raises(AdjoinError, match="no signal is called 'x'; known are pump_voltage, level"):
        defects.offset(clean, 1.0, "x")


def test_saturation_clips_the_output(clean: Dataset, frame: pd.DataFrame) -> None:
    for found in (defects.saturation(clean, 0.6).y, defects.saturation(frame, 0.6)["y"]):
        limit = np.quantile(clean.y, 0.6)
        assert found.max() == limit
        assert np.mean(found == limit) == pytest.approx(0.4, abs=0.01)
        assert found[clean.y < limit].tolist() == clean.y[clean.y < limit].tolist()
    with pytest.raises(AdjoinError, match="between 0 and 1"):
        defects.saturation(clean, 1.0)


def test_swapped_signals_keep_their_names(clean: Dataset, frame: pd.DataFrame, rigs) -> None:
    found = defects.swapped(clean)
    assert found.names == clean.names
    assert (found.u.tolist(), found.y.tolist()) == (clean.y.tolist(), clean.u.tolist())
    assert defects.swapped(frame)["u"].tolist() == clean.y.tolist()
    damper = rigs["damper"].train
    inputs = defects.swapped(damper, "displacement", "velocity").u
    assert inputs.tolist() == damper.u[:, [1, 0, 2]].tolist()
    with pytest.raises(AdjoinError, match="one signal only, 'voltage'"):
        defects.swapped(rigs["oscillator"].train)
    with pytest.raises(AdjoinError, match="no signal is called 'x'"):
        defects.swapped(clean, "x")


def test_a_leak_is_one_more_input(clean: Dataset, frame: pd.DataFrame, rigs) -> None:
    found = defects.leak(clean)
    assert found.names.ordered[:-1] == ("pump_voltage", "monitor", "level")
    assert found.u[:, 1].tolist() == found.y.tolist() == clean.y.tolist()
    assert list(defects.leak(frame, "copy")) == ["time [s]", "u", "copy", "y"]
    alone = defects.leak(rigs["oscillator"].train)
    assert alone.names.inputs == ("monitor",)
    with pytest.raises(AdjoinError, match="called 'level' already"):
        defects.leak(clean, "level")


def test_defects_are_planted_in_every_record(clean: Dataset) -> None:
    both = Dataset.join([clean[:500], clean[500:]])
    assert [len(y) for y in defects.gap(both, length=20).outputs] == [480, 880]
    limit = np.quantile(clean.y, 0.5)
    assert [y.max() for y in defects.saturation(both, 0.5).outputs] == [limit, limit]


def test_defects_need_named_columns() -> None:
    with pytest.raises(AdjoinError, match="in a Dataset or a frame"):
        defects.gap(np.zeros((100, 2)))
