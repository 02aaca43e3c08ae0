"""An ensemble in C: each run is its model's, the bands are those of a posterior's simulation."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.export.models import draw_model, draw_record
from tests.export.test_c_code import SANITIZED, STRICTER
from tests.systems import by_hand, simulated

from adjoin import AdjoinError, Dataset, Grammar, Model, Posterior
from adjoin.errors import DivergenceWarning
from adjoin.export.c_ensemble import c_ensemble
from adjoin.export.compiling import find_compiler
from adjoin.export.driver import Trial, run_trials
from adjoin.export.ensemble import Ensemble
from adjoin.inference.objective import SIMULATION
from adjoin.results.ensembles import draw_ensemble
from adjoin.results.prediction import BANDS

needs_compiler = pytest.mark.skipif(find_compiler() is None, reason="there is no C compiler")


def in_python(ensemble: Ensemble, u: np.ndarray, y_init: np.ndarray) -> np.ndarray:
    """Mean, spreads, bands and number of lost runs at every sample; a run stays lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        runs = np.array([np.asarray(m.simulate(u, y_init)) for m in ensemble.models])
    spread = np.array(ensemble.spread)
    rows = []
    for run in runs.T:
        is_kept = np.isfinite(run)
        kept, s = run[is_kept], spread[is_kept]
        ordered = np.sort(kept + s * ensemble.score[is_kept])
        rank = np.clip(np.array(ensemble.quantiles) * (len(kept) + 1) - 1, 0, len(kept) - 1)
        bands = np.interp(rank, np.arange(len(kept)), ordered)
        sd = np.sqrt(kept.var() + np.mean(s**2))
        rows.append([kept.mean(), sd, kept.std(), *bands, len(run) - len(kept)])
    return np.array(rows)


def run_c(ensemble: Ensemble, u, y, n_seed: int, flags=STRICTER, single=False) -> np.ndarray:
    code = c_ensemble(ensemble, "many", single)
    return run_trials([Trial(code, np.column_stack([u, y]), n_seed, single=single)], flags)[0]


def make_ensemble(n: int, seed: int) -> tuple[Ensemble, np.ndarray, np.ndarray]:
    """Models of several structures with the same signals and offsets, and a record."""
    rng = np.random.default_rng(seed)
    base = draw_model(rng, 12)
    while len(base.names.inputs) < 2:
        base = draw_model(rng, 12)
    models = []
    for i in range(n):
        model = base
        while i % 3 and (model.names != base.names or model is base):
            model = draw_model(rng, 12)
        theta = tuple(t * float(rng.normal(1.0, 0.02)) for t in model.theta)
        models.append(replace(model, theta=theta, offsets=base.offsets))
    spread = tuple(rng.uniform(0.05, 0.2, n).tolist())
    drawn = draw_record(base, rng, 600)
    return Ensemble(tuple(models), spread, BANDS, ""), drawn.u, drawn.y


@needs_compiler
@pytest.mark.parametrize("flags", [STRICTER, SANITIZED], ids=["strict", "sanitized"])
def test_every_step_is_what_python_makes_of_the_runs(flags: tuple[str, ...]) -> None:
    ensemble, u, y = make_ensemble(9, 3)
    assert len(ensemble.groups) > 3
    lag = max(model.max_lag for model in ensemble.models)
    found = run_c(ensemble, u, y, lag, flags)[lag:]
    reference = in_python(ensemble, u, y[:lag])[lag:]
    np.testing.assert_allclose(found, reference, rtol=1e-9, atol=1e-12)


@needs_compiler
def test_runs_that_are_lost_are_left_out_and_counted() -> None:
    u, y = simulated(n=300)
    models = [Model.parse(f"y(k) = 0.5*u(k-1) + {a}*y(k-1)") for a in (0.5, 0.6, 1.05, 0.7, 1.3)]
    models.append(Model.parse("y(k) = exp(u(k))^2 + 0*y(k-1)"))
    models.append(Model.parse("y(k) = 20*u(k)^3"))  # it does not feed back: it comes back
    models = [replace(model, limits=(-6.0, 6.0)) for model in models]
    models = [replace(m, structure=m.structure) for m in models]
    ensemble = Ensemble(tuple(models), (0.1,) * 7, BANDS, "")
    found = run_c(ensemble, u, y, 1)[1:]
    n_lost = found[:, -1]
    np.testing.assert_allclose(found, in_python(ensemble, u, y[:1])[1:], rtol=1e-9, atol=1e-12)
    assert n_lost.max() >= 3
    assert n_lost.min() < n_lost.max()


@needs_compiler
def test_without_a_run_left_there_is_no_number() -> None:
    models = [Model.parse(f"y(k) = {a}*y(k-1) + u(k)") for a in (3.0, 4.0)]
    ensemble = Ensemble(tuple(models), (0.1, 0.1), BANDS, "")
    found = run_c(ensemble, np.ones(400), np.ones(400), 1)
    assert np.isnan(found[-1, :-1]).all()
    assert found[-1, -1] == 2


@needs_compiler
def test_single_precision_of_an_ensemble() -> None:
    ensemble, u, y = make_ensemble(6, 4)
    lag = max(model.max_lag for model in ensemble.models)
    found = run_c(ensemble, u, y, lag, (*STRICTER, "-Wdouble-promotion"), single=True)[lag:]
    reference = in_python(ensemble, u, y[:lag])[lag:]
    np.testing.assert_allclose(found, reference, rtol=1e-3, atol=1e-3)


def posterior_of(n_draws: int, noise: float, **changed: object) -> tuple[Posterior, Dataset]:
    """A posterior of coefficients that differ, for a system that feeds its noise back or not."""
    rng = np.random.default_rng(0)
    u, y = simulated("y(k) = 0.5*u(k-1) + 0.8*y(k-1)", n=1500, noise=noise)
    data = Dataset.from_arrays(u, y, ["u", "y"], 0.1)
    draws = [
        ("u(k-1) + y(k-1)", [0.5 + 0.02 * rng.normal(), 0.8 + 0.01 * rng.normal()], noise**2)
        for _ in range(n_draws)
    ]
    grammar = Grammar.narx(inputs=["u"], output="y", max_lag=2, max_degree=1)
    return by_hand(data, [draws], grammar, **changed), data


@needs_compiler
@pytest.mark.parametrize("is_fed_back", [True, False], ids=["fed back", "on top"])
def test_the_bands_are_those_of_a_simulation_of_the_posterior(is_fed_back: bool) -> None:
    settings = {} if is_fed_back else {"settings": {"objective": SIMULATION}}
    posterior, data = posterior_of(400, 0.2, **settings)
    assert posterior.objective.is_fed_back == is_fed_back
    code = posterior.c(draws=200, seed=1, name="many")
    rows = np.column_stack([data.u, data.y])
    n_seed = posterior.max_lag
    (found,) = run_trials([Trial(code, rows, n_seed)], STRICTER)
    reference = posterior.simulate(data, draws=1000, seed=2)
    part = slice(n_seed + 40, None)  # where noise has built up
    size = float(np.mean(reference.sd[part]))
    # Noise of 1000 runs gives the reference quantiles a standard error of 0.08 sd at the ends; of
    # 1460 samples the mean of differences is far below that, and their root mean square near it.
    difference = found[part, 0] - reference.mean[part]
    assert np.sqrt(np.mean(difference**2)) < 0.08 * size
    assert np.mean(found[part, 1]) == pytest.approx(size, rel=0.05)
    for i, q in enumerate(BANDS):
        gap = found[part, 3 + i] - reference.bands[q][part]
        assert abs(np.mean(gap)) < 0.1 * size, q
    inside = (found[part, 3] <= data.y[part]) & (data.y[part] <= found[part, 7])
    assert inside.mean() == pytest.approx(reference.coverage(data.y), abs=0.02)


def test_what_noise_adds_is_measured_where_it_is_fed_back() -> None:
    fed_back, _ = posterior_of(50, 0.2)
    on_top, _ = posterior_of(50, 0.2, settings={"objective": SIMULATION})
    # y = 0.8 y + e: noise grows by 1/sqrt(1 - 0.64).
    assert np.mean(draw_ensemble(fed_back, 50).spread) == pytest.approx(0.2 / 0.6, rel=0.1)
    assert np.mean(draw_ensemble(on_top, 50).spread) == pytest.approx(0.2)
    assert "fed back at every step" in draw_ensemble(fed_back, 50).noise_words
    assert "on top of a run" in draw_ensemble(on_top, 50).noise_words


def test_the_same_seed_makes_the_same_code_and_costs_are_said() -> None:
    posterior, _ = posterior_of(60, 0.2)
    code = posterior.c(draws=50, seed=3)
    assert str(code) == str(posterior.c(draws=50, seed=3))
    assert str(code) != str(posterior.c(draws=50, seed=4))
    assert code.outputs[:3] == ("y", "y_sd", "y_model_sd")
    words = " ".join(code.header.replace("\n *", " ").split())
    assert "at most 1225 comparisons and moves to sort them" in words
    assert f"A state has {code.n_state_bytes} bytes" in words
    assert code.n_state_bytes < 1024


@pytest.mark.parametrize("n", [1, 1001])
def test_too_few_or_too_many_draws_are_refused(n: int) -> None:
    model = Model.parse("y(k) = u(k)")
    with pytest.raises(AdjoinError, match="from 2 to 1000 draws"):
        Ensemble((model,) * n, (0.0,) * n, BANDS, "")
