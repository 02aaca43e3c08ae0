"""Free runs that begin anew: every stretch is seeded by what was measured before it."""

from __future__ import annotations

import numpy as np
import pytest

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Prior, load
from adjoin.inference.engines.simulation_setup import SimulationSetup, Start
from adjoin.inference.forward import refit_structure
from adjoin.inference.problem import Problem

RNG = np.random.default_rng(5)
U = RNG.standard_normal(200)
TRUTH = Model.parse("y(k) = 0.8*u(k-1) + 1.1*y(k-1) - 0.4*y(k-2)")
Y = TRUTH.simulate(U) + 0.05 * RNG.standard_normal(200)
QUICK = {"objective": "simulation", "max_lag": 2, "max_degree": 1, "samples": 400, "chains": 2}


@pytest.mark.parametrize(
    ("n", "length", "lengths"),
    [(100, 20, [20] * 4 + [18]), (27, 20, [25]), (34, 20, [20, 12]), (10, 20, [8])],
)
def test_windows_hold_every_sample_once_after_its_seeds(n: int, length: int, lengths) -> None:
    data = Dataset.from_arrays(np.arange(n) / 8.0, np.arange(n))
    cut = data.windows(length, n_seed=2)
    assert [len(record) - 2 for record in cut.records] == lengths
    assert np.concatenate([y[2:] for y in cut.outputs]).tolist() == list(range(2, n))
    assert all((np.diff(y) == 1).all() for y in cut.outputs)
    assert np.array_equal(np.concatenate(cut.outputs), 8.0 * np.vstack(cut.inputs)[:, 0])


def test_records_never_share_a_window() -> None:
    data = Dataset.from_arrays([U[:90], U[90:]], [Y[:90], Y[90:]])
    cut = data.windows(40, 3)
    assert [len(record) - 3 for record in cut.records] == [40, 47, 40, 40, 27]


def test_the_error_is_that_of_runs_from_measured_outputs() -> None:
    problem = Problem(Dataset.from_arrays(U, Y), Grammar.arx(max_lag=2).alphabet)
    keys = tuple(problem.encoding.key(term) for term in TRUTH.structure)
    error, theta = refit_structure(problem.restarted(20), Prior(), keys, np.array(TRUTH.theta))
    model, total = Model(TRUTH.structure, tuple(theta)), 0.0
    for begin in range(0, 198, 20):
        part = slice(begin, None if begin >= 180 else begin + 22)
        run = model.simulate(U[part], Y[part][:2])
        total += float(((Y[part] - run)[2:] ** 2).sum())
        if part.stop is None:
            break
    assert error == pytest.approx(total, rel=1e-10)


def test_a_horizon_beyond_the_record_changes_nothing() -> None:
    plain, far = (
        Identifier(**QUICK, seed=1, center=False, horizon=h).fit(U, Y).posterior_.draws
        for h in (None, 1000)
    )
    assert np.array_equal(plain.theta, far.theta)
    assert np.array_equal(plain.noise_sd, far.noise_sd)


def test_it_is_part_of_the_run(tmp_path) -> None:
    fitted = Identifier(**QUICK, seed=1, horizon=25).fit(U, Y).posterior_
    assert fitted.settings["horizon"] == 25
    assert "horizon=25" in fitted.settings.call
    fitted.save(tmp_path / "run.adjoin")
    again = load(tmp_path / "run.adjoin")
    assert again.settings["horizon"] == 25
    assert again.map_model == fitted.map_model
    assert set(fitted.map_model.coefficients) == {"u(k-1)", "y(k-1)", "y(k-2)"}


def test_what_is_no_horizon_is_refused() -> None:
    for wrong in (0, 4, 2.5, "long"):
        with pytest.raises(AdjoinError, match="horizon must be a whole number of samples from 5"):
            Identifier(**QUICK, horizon=wrong).fit(U, Y)
    with pytest.raises(AdjoinError, match="horizon is for objective='simulation'"):
        Identifier(horizon=50).fit(U, Y)


def test_coefficients_whose_run_is_lost_are_led_by_short_runs() -> None:
    """The start of a chain has the terms it was given, at coefficients whose run stays."""
    problem = Problem(Dataset.from_arrays(U, Y), Grammar.arx(max_lag=2).alphabet)
    setup = SimulationSetup(problem)
    keys = tuple(problem.encoding.key(term) for term in TRUTH.structure)
    wild = Start(keys, np.array([5.0, 2.5, -0.2]))
    led = setup._led(wild)
    assert led is not None
    error, _ = refit_structure(problem, Prior(), keys, led.theta)
    assert error < 2.0 * 198 * 0.05**2
    assert setup._led(None) is None
