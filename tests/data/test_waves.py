"""The synthetic sea, its force on a cylinder, and the data set made of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.io

from adjoin import AdjoinError, Model, datasets, scores
from adjoin.data import waves

SEA, RIG = waves.Sea(), waves.Rig()
SEEDS = range(10)
N_STEPS, STEP = 4096, 0.15
FREQUENCY = np.arange(1, 401) / (N_STEPS * STEP)  # to four times that of the peak
AHEAD = int(np.flatnonzero(waves.DIRECTION == 0.0)[0])


def _regular(number: int, direction: int = AHEAD) -> np.ndarray:
    """The amplitudes of one wave of 1 m that passes the cylinder `number` times."""
    amplitude = np.zeros((number, len(waves.DIRECTION)), dtype=complex)
    amplitude[number - 1, direction] = 1.0
    return amplitude


def _one_sided(sea: waves.Sea) -> waves.Sea:
    return replace(sea, spreading=1e6)  # 5 degrees off, the share is below the smallest number


def _columns(data, n_lags: int = 0) -> np.ndarray:
    """Morison's two columns, and the past of both inputs."""
    u, udot = data.u.T
    past = [np.roll(x, lag) for lag in range(1, n_lags + 1) for x in (u, udot)]
    return np.column_stack([u * np.abs(u), udot, *past])


def _test_error(benchmark, n_lags: int = 0) -> float:
    train, _, test = benchmark
    scored = slice(benchmark.n_seed, None)
    fit = np.linalg.lstsq(_columns(train, n_lags)[scored], train.y[scored], rcond=None)[0]
    return scores.nmse(test.y[scored], (_columns(test, n_lags) @ fit)[scored])


# The sea.


def test_the_wavenumber_solves_the_dispersion_relation() -> None:
    omega = np.geomspace(1e-3, 50.0, 400)
    k = waves.wavenumber(omega, 9.0)
    np.testing.assert_allclose(waves.GRAVITY * k * np.tanh(9.0 * k), omega**2, rtol=1e-13)
    assert k[0] == pytest.approx(omega[0] / np.sqrt(waves.GRAVITY * 9.0), rel=1e-6)  # shallow
    assert k[-1] == pytest.approx(omega[-1] ** 2 / waves.GRAVITY, rel=1e-12)  # deep


def test_the_spectrum_has_the_height_and_the_peak_of_the_sea_state() -> None:
    frequency = np.arange(1, 40_001) * 1e-4
    density = waves.spectrum(frequency, SEA)
    assert frequency[density.argmax()] == pytest.approx(1.0 / SEA.period, abs=1e-4)
    # Its integral to f is H_s²/16 exp(-5/4 (f_p/f)^4); to 4 Hz all but 4e-6 of it.
    assert 4.0 * np.sqrt(density.sum() * 1e-4) == pytest.approx(SEA.height, rel=1e-5)
    below = frequency <= 1.0 / SEA.period
    assert density[below].sum() * 1e-4 == pytest.approx(9.0 / 16.0 * np.exp(-1.25), rel=2e-3)


def test_a_drawn_sea_has_the_energy_of_the_spectrum_and_its_spread() -> None:
    amplitude = waves.draw_sea(np.random.default_rng(0), FREQUENCY, SEA)
    energy = np.abs(amplitude) ** 2 / 2.0
    share = np.cos(waves.DIRECTION / 2.0) ** (2.0 * SEA.spreading)
    expected = np.outer(waves.spectrum(FREQUENCY, SEA) * FREQUENCY[0], share / share.sum())
    # |a|²/2 of a complex Gaussian amplitude is exponential: its deviation is its mean. So sums are
    # known to the root of the summed squares; four such are a false alarm in 2e4 (fixed seed).
    for weight in (np.ones_like(share), np.cos(waves.DIRECTION) ** 2, np.sin(waves.DIRECTION)):
        error = np.sum(weight * (energy - expected))
        assert abs(error) < 4.0 * np.sqrt(np.sum((weight * expected) ** 2))
    # The spectrum's tail beyond four times the peak is exp(-5/4^5) of it, half a percent.
    assert 4.0 * np.sqrt(expected.sum()) == pytest.approx(SEA.height, rel=5e-3)


def test_the_velocity_has_the_variance_that_the_sea_and_the_depth_give_it() -> None:
    amplitude = waves.draw_sea(np.random.default_rng(1), FREQUENCY, SEA)
    velocity, _ = waves.flow(amplitude, SEA, RIG.level, 0.0, N_STEPS, STEP)
    omega = 2.0 * np.pi * FREQUENCY
    k = waves.wavenumber(omega, SEA.depth)
    factor = omega * np.cosh(k * (SEA.depth + RIG.level)) / np.sinh(k * SEA.depth)
    share = np.cos(waves.DIRECTION / 2.0) ** (2.0 * SEA.spreading)
    share /= share.sum()
    for series, part in ((velocity.real, np.cos), (velocity.imag, np.sin)):
        mean_square = np.sum(share * part(waves.DIRECTION) ** 2)
        expected = waves.spectrum(FREQUENCY, SEA) * FREQUENCY[0] * factor**2 * mean_square
        deviation = np.sqrt(np.sum(expected**2))  # as above: four are a false alarm in 2e4
        assert abs(series.var() - expected.sum()) < 4.0 * deviation


@pytest.mark.parametrize("direction", [AHEAD, AHEAD + 6, AHEAD - 9])
def test_the_meter_sees_a_regular_wave_before_the_axis_does(direction: int) -> None:
    number = 100
    omega = 2.0 * np.pi * FREQUENCY[number - 1]
    k = float(waves.wavenumber(np.array([omega]), SEA.depth)[0])
    theta = waves.DIRECTION[direction]
    wave = _regular(number, direction)
    axis, rate = waves.flow(wave, SEA, RIG.level, 0.0, N_STEPS, STEP)
    meter, _ = waves.flow(wave, SEA, RIG.level, -RIG.offset, N_STEPS, STEP)
    time = STEP * np.arange(N_STEPS)
    lead = k * RIG.offset * np.cos(theta) / omega  # seconds; 0.16 for a wave straight ahead
    top = omega * np.cosh(k * (SEA.depth + RIG.level)) / np.sinh(k * SEA.depth)
    expected = top * np.exp(1j * theta) * np.cos(omega * time)
    np.testing.assert_allclose(axis, expected, atol=1e-12)
    ahead = top * np.exp(1j * theta) * np.cos(omega * (time + lead))
    np.testing.assert_allclose(meter, ahead, atol=1e-12)
    slope = -omega * top * np.exp(1j * theta) * np.sin(omega * time)
    np.testing.assert_allclose(rate, slope, atol=1e-12)


# The force.


def _random_flow(sea: waves.Sea) -> tuple[np.ndarray, np.ndarray]:
    amplitude = waves.draw_sea(np.random.default_rng(2), FREQUENCY, sea)
    return waves.flow(amplitude, sea, RIG.level, 0.0, N_STEPS, STEP)


def test_without_a_wake_and_cross_flow_the_force_is_morisons() -> None:
    velocity, rate = _random_flow(_one_sided(SEA))
    u, udot = velocity.real, rate.real
    morison = Model.parse("F(k) = 0.369*u(k)*abs(u(k)) + 0.37095926*udot(k)")
    still = replace(RIG, deficit=0.0, lift=0.0)
    simulated = morison.simulate(np.column_stack([u, udot]))
    np.testing.assert_allclose(
        waves.force(velocity, rate, STEP, 0.0, still), simulated, rtol=1e-7, atol=1e-9
    )
    # Each alone keeps it from being so: the wake; and shedding, where the flow is oblique.
    assert np.std(waves.force(velocity, rate, STEP, 0.0, RIG) - simulated) > 0.05
    shedding = replace(RIG, deficit=0.0)
    np.testing.assert_allclose(
        waves.force(velocity, rate, STEP, 0.0, shedding), simulated, rtol=1e-7, atol=1e-9
    )
    oblique = _random_flow(SEA)
    difference = [waves.force(*oblique, STEP, 0.0, rig) for rig in (shedding, still)]
    assert np.std(difference[0] - difference[1]) > 0.01
    drag = difference[1] - still.inertia_constant * oblique[1].real
    expected = still.drag_constant * np.abs(oblique[0]) * oblique[0].real
    np.testing.assert_allclose(drag, expected, atol=1e-12)  # the modulus is that of the vector


def test_the_wake_grows_with_the_way_and_outlives_a_reversal() -> None:
    velocity = np.full(200, 0.8 + 0.6j)  # 1 m/s
    way = 0.05 * np.arange(200)
    grown = RIG.deficit * velocity * (1.0 - np.exp(-way / (RIG.memory * RIG.diameter)))
    np.testing.assert_allclose(waves.wake(velocity, 0.05, RIG), grown, rtol=1e-12, atol=1e-15)
    twice = waves.wake(2.0 * velocity, 0.025, RIG)  # twice as fast is the same way in half the time
    np.testing.assert_allclose(twice, 2.0 * grown, rtol=1e-12, atol=1e-15)
    turned = waves.wake(np.concatenate([velocity, -velocity]), 0.05, RIG)
    assert turned[202].real > 0.0 > turned[-1].real


def test_shedding_has_the_strouhal_frequency() -> None:
    across = np.full(1000, 1j * 0.96)  # m/s: 0.4 Hz
    rig = replace(RIG, deficit=0.0)
    lift = waves.force(across, 0.0 * across, 0.05, 0.3, rig)
    spectrum = np.abs(np.fft.rfft(lift))
    assert spectrum.argmax() / (1000 * 0.05) == pytest.approx(0.4)
    assert lift.max() == pytest.approx(0.5 * 1.025 * 0.48 * 0.96**2, rel=0.01)
    along = waves.force(across / 1j, 0.0 * across, 0.05, 0.3, rig)
    np.testing.assert_allclose(along, rig.drag_constant * 0.96**2)


def test_the_steps_of_the_wake_are_small_enough(monkeypatch) -> None:
    quiet = replace(RIG, velocity_noise=0.0, force_noise=0.0)
    force = []
    for steps in (waves.STEPS, 2 * waves.STEPS):
        monkeypatch.setattr(waves, "STEPS", steps)
        force.append(waves.record(np.random.default_rng(0), 3000, rig=quiet)[2])
    assert np.std(force[0] - force[1]) < 0.03 * RIG.force_noise


# The record.


def test_a_record_is_what_an_experimenter_would_have() -> None:
    rig = replace(RIG, velocity_noise=0.0, force_noise=0.0, offset=0.0, deficit=0.0, lift=0.0)
    u, udot, force = waves.record(np.random.default_rng(0), 900, _one_sided(SEA), rig)
    assert u.shape == udot.shape == force.shape == (900,)
    central = (u[2:] - u[:-2]) / (2.0 * rig.sampling_time)
    np.testing.assert_allclose(udot[1:-1], central, atol=1e-12)
    # With meter and axis in one place the force less the drag is the inertia, of an acceleration
    # that central differences flatten by 1 - sin(ωΔt)/(ωΔt): 6 % at the peak, more above it.
    inertia = force - rig.drag_constant * u * np.abs(u)
    assert 1.0 < inertia.std() / (rig.inertia_constant * udot.std()) < 1.3
    assert np.corrcoef(inertia, udot)[0, 1] > 0.98


def test_sensor_noise_is_as_strong_as_it_says() -> None:
    quiet = replace(RIG, velocity_noise=0.0, force_noise=0.0)
    noisy, clean = (
        waves.record(np.random.default_rng(3), 3000, rig=rig)
        for rig in (replace(quiet, force_noise=0.5), quiet)
    )
    assert noisy[0].tolist() == clean[0].tolist()  # the noise of one sensor is not in the other
    # 3000 samples: the deviation is known to 1/sqrt(6000) = 1.3 %; four of them, false alarm 6e-5.
    assert np.std(noisy[2] - clean[2]) == pytest.approx(0.5, rel=0.052)


def test_the_steadiest_stretch_is_found() -> None:
    u = np.random.default_rng(4).normal(size=400) * (1.0 + np.sin(np.arange(400) / 30.0) ** 2)
    unlike = []
    for begin in range(400 - 150 + 1):
        thirds = [u[begin + 50 * i : begin + 50 * (i + 1)] for i in range(3)]
        ratios = [np.mean(third**2) / np.mean(u**2) for third in thirds]
        unlike.append(max(abs(np.log(ratio)) for ratio in ratios))
    assert waves.steadiest(u, 150) == np.argmin(unlike)
    assert waves.steadiest(u, 400) == 0  # no choice


# The data set.


def test_waves_are_a_function_of_the_seed() -> None:
    one, two, other = (datasets.waves(seed) for seed in (3, 3, 4))
    for part in range(3):
        parts = [list(benchmark)[part] for benchmark in (one, two, other)]
        assert parts[0].y.tolist() == parts[1].y.tolist() != parts[2].y.tolist()
        assert parts[0].u.tolist() == parts[1].u.tolist() != parts[2].u.tolist()


@pytest.mark.parametrize("seed", [-1, 1.5, None, "0", True])
def test_a_seed_that_is_none_is_refused(seed) -> None:
    with pytest.raises(AdjoinError, match="whole number from 0"):
        datasets.waves(seed)


def test_waves_say_that_they_are_synthetic_and_how_they_are_used() -> None:
    benchmark = datasets.waves(0)
    assert "synthetic" in benchmark.name
    assert "synthetic sea, not the Christchurch Bay Tower record" in benchmark.protocol
    assert "synthetic" in datasets.waves.__doc__
    for part in benchmark:
        assert part.label.startswith("synthetic waves")
        assert len(part) == 1000
        assert part.names.inputs == ("u", "udot")
        assert part.names.output == "F"
        assert part.sampling_time == 0.6
    assert benchmark.n_seed == 10
    assert benchmark.truth is None
    assert benchmark.noise_sd == RIG.force_noise


def test_waves_know_their_physics() -> None:
    benchmark = datasets.waves(0)
    structure = Model.parse(f"F(k) = {benchmark.initial}").structure
    assert str(structure).split(" + ") == list(benchmark.constants)
    drag, inertia = benchmark.constants.values()
    assert drag == pytest.approx(0.5 * 1.025 * 0.480 * 1.5)
    assert inertia == pytest.approx(np.pi / 4.0 * 1.025 * 0.480**2 * 2.0)
    others = datasets.academic(0)
    assert others.initial is None
    assert others.constants == {}


def test_consecutive_parts_follow_each_other() -> None:
    train, validation, test = datasets.waves(0)
    u, udot = np.concatenate([part.u for part in (train, validation, test)]).T
    np.testing.assert_allclose(udot[1:-1], (u[2:] - u[:-2]) / 1.2, atol=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_morison_leaves_about_as_much_as_on_the_real_record(seed: int) -> None:
    benchmark = datasets.waves(seed)
    white_box = _test_error(benchmark)
    assert 18.0 < white_box < 21.0
    # A part of it is memory: the past of the inputs, even as a linear sum, takes a sixth away.
    assert _test_error(benchmark, n_lags=4) < 0.85 * white_box


# A record of one's own.


@pytest.fixture
def series() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.normal(size=100) for name in ("velocity", "acceleration", "force")}


def _write(path: Path, series: dict[str, np.ndarray]) -> Path:
    table = np.column_stack(list(series.values()))
    np.savetxt(path, table, "%.17g", delimiter=",", header=",".join(series), comments="")
    return path


def test_a_record_of_ones_own_comes_back_in_thirds(tmp_path: Path, series) -> None:
    scipy.io.savemat(tmp_path / "bay.mat", series)
    for file in (_write(tmp_path / "bay.csv", series), tmp_path / "bay.mat"):
        benchmark = datasets.wave_record(file, sampling_time=0.1)
        assert [len(part) for part in benchmark] == [33, 33, 34]
        u = np.concatenate([part.u for part in benchmark])
        y = np.concatenate([part.y for part in benchmark])
        assert u.T.tolist() == [series["velocity"].tolist(), series["acceleration"].tolist()]
        assert y.tolist() == series["force"].tolist()
        assert benchmark.train.names.ordered[:3] == ("u", "udot", "F")
        assert benchmark.train.sampling_time == 0.1
        assert benchmark.initial == datasets.waves(0).initial
        assert benchmark.constants == {}
        assert "synthetic" not in benchmark.protocol + benchmark.name + benchmark.train.label


def test_columns_of_ones_own_record_may_have_any_name_and_order(tmp_path: Path, series) -> None:
    names = {"F (N/m)": "force", "t": "velocity", "a": "acceleration", "v": "velocity"}
    file = _write(tmp_path / "bay.csv", {new: series[old] for new, old in names.items()})
    benchmark = datasets.wave_record(file, "v", "a", "F (N/m)")
    assert benchmark.train.y.tolist() == series["force"][:33].tolist()
    assert benchmark.train.u[:, 1].tolist() == series["acceleration"][:33].tolist()


def test_records_that_cannot_be_used_are_refused(tmp_path: Path, series) -> None:
    file = _write(tmp_path / "bay.csv", series)
    with pytest.raises(AdjoinError, match="no column is called 'load'"):
        datasets.wave_record(file, force="load")
    with pytest.raises(AdjoinError, match="no column is called 'speed'"):
        datasets.wave_record(file, velocity="speed")
    with pytest.raises(AdjoinError, match="does not exist"):
        datasets.wave_record(tmp_path / "sea.csv")
    short = _write(tmp_path / "short.csv", {name: x[:59] for name, x in series.items()})
    with pytest.raises(AdjoinError, match=r"short\.csv: the record has 59 samples.* takes 60"):
        datasets.wave_record(short)
    enough = _write(tmp_path / "enough.csv", {name: x[:60] for name, x in series.items()})
    assert len(datasets.wave_record(enough).test) == 20
    wide = {**series, "velocity": np.column_stack([series["velocity"]] * 2)}
    scipy.io.savemat(tmp_path / "wide.mat", wide)
    with pytest.raises(AdjoinError, match=r"one column each, but 'velocity' and .* stand for 3"):
        datasets.wave_record(tmp_path / "wide.mat")
