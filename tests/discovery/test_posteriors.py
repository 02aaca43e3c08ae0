"""Which settings get a posterior of structures, and what its held-out error is of."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.systems import quick, simulated

from adjoin import Dataset, Model, scores
from adjoin.discovery.posteriors import N_DRAWS, block_errors, choose_settings, n_simulated
from adjoin.discovery.ranking import Candidate
from adjoin.discovery.settings import EFFORTS, Setting
from adjoin.discovery.work import Work

NORMAL, THOROUGH = EFFORTS["normal"], EFFORTS["thorough"]


def candidate(objective: str, lag: int, nmse: float, n_lost: int = 0) -> Candidate:
    error = np.full((2, 5), np.nan)
    return Candidate(Setting(objective, lag, 2, False, 20), 5, error, nmse, 0.1, nmse, n_lost, 1.0)


RANKED = [
    candidate("simulation", 3, 1.0),
    candidate("simulation", 3, 1.1),
    candidate("linear", 40, 1.2),
    candidate("prediction", 5, 1.9),
    candidate("simulation", 5, 1.95),
    candidate("prediction", 2, 2.1),
]


def test_the_best_setting_of_each_objective_gets_posteriors() -> None:
    found = choose_settings(RANKED, NORMAL, 1_000)
    assert [(one.sampled, one.max_lag) for one in found] == [("white", 3), ("ar", 3), ("auto", 5)]


def test_more_effort_looks_at_more_settings_but_not_at_those_far_from_the_best() -> None:
    found = choose_settings(RANKED, THOROUGH, 1_000)
    lags = [(one.sampled, one.max_lag) for one in found]
    assert lags == [("white", 3), ("ar", 3), ("white", 5), ("ar", 5), ("auto", 5)]


def test_settings_whose_runs_were_lost_are_not_taken() -> None:
    lost = [replace(one, n_lost=1) for one in RANKED if one.setting.objective == "prediction"]
    found = choose_settings([RANKED[0], *lost], THOROUGH, 1_000)
    assert {one.objective for one in found} == {"simulation"}


def test_long_records_get_shorter_chains_and_very_long_ones_none_by_simulation() -> None:
    assert n_simulated(NORMAL, 1_000) == 2 * n_simulated(NORMAL, 2_000)
    assert n_simulated(NORMAL, 3_001) == 0
    assert n_simulated(THOROUGH, 10) == n_simulated(THOROUGH, 100)
    assert {one.sampled for one in choose_settings(RANKED, NORMAL, 50_000)} == {"auto"}


def test_the_held_out_error_is_that_of_the_mean_of_the_draws() -> None:
    u, y = simulated(n=300)
    posterior = quick().fit(u[:200], y[:200]).posterior_
    held_out = Dataset.from_arrays(u[200:], y[200:])
    models = posterior.draw_models(N_DRAWS, seed=0)
    runs = [model.simulate(held_out.u, held_out.y[:20]) for model in models]
    mean = np.mean(runs, axis=0)  # without noise of its own, which would be its error's floor
    expected = ((held_out.y - mean)[20:] ** 2).reshape(5, 16).mean(axis=1)
    assert block_errors(posterior, held_out, 20) == pytest.approx(expected)


def test_a_posterior_whose_draws_run_away_is_lost() -> None:
    u, y = simulated(n=300)
    posterior = quick().fit(u[:200], y[:200]).posterior_
    held_out = Dataset.from_arrays(50.0 * u[200:], y[200:])  # far beyond what was fitted
    assert np.isinf(block_errors(posterior, held_out, 20)).all()


def test_coefficients_of_given_terms_are_those_that_were_compared() -> None:
    # The frequency of an oscillation in noise as large: its free runs have an optimum wherever they
    # beat with the measured output, and from nothing chains find one that explains nothing.
    truth = Model.parse(f"y(k) = {2.0 * math.cos(0.15):.10f}*y(k-1) - y(k-2)")
    clean = np.cos(0.15 * np.arange(3000) + 0.3)
    noise = np.random.default_rng(1).standard_normal(3000)
    noise[:2] = 0.0
    data = Dataset.from_arrays(None, clean + noise)
    work = Work(data, NORMAL, (), None, 0, 2, None)
    chosen = Candidate.of(Setting("simulation", 2, 1, False, 20), 2, np.ones((2, 5)), 1.0, 0.0)
    found = work._sampled(chosen, truth, data, None).map_model
    missed, compared = (scores.nmse(data.y[2:], one.simulate(data)[2:]) for one in (found, truth))
    assert compared < 70.0
    assert missed < 1.01 * compared
