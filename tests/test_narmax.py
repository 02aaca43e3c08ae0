"""Models with past noise (NARMAX), from the fit to the page, as a user meets them."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.engines import prediction_engine
from tests.naive import simulate

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Posterior, Structure
from adjoin.exchange.arviz_data import to_arviz
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.innovations import InnovationsEngine
from adjoin.inference.engines.simulation import SimulationEngine
from adjoin.inference.problem import Problem
from adjoin.report import findings
from adjoin.results.assessment import assess

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="a fit takes long as plain Python"
)

LINEAR = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.3*u(k-1)^2 + 0.6*e(k-1)")
PRODUCT = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.3*u(k-1)^2 + 0.5*u(k-1)*e(k-1)")
NOISE_SD = 0.3
SMALL: dict[str, Any] = {"max_lag": 2, "max_degree": 2, "center": False, "progress": False}


def drawn(model: Model, n: int = 600, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    return u, model.simulate(u, noise=NOISE_SD * rng.standard_normal(n))


def quick(**settings: Any) -> Identifier:
    return Identifier(**{"samples": 3000, "chains": 2, "seed": 0, **SMALL, **settings})


@pytest.fixture(scope="module")
def data() -> Dataset:
    (u, y), (v, z) = drawn(LINEAR, 400, seed=1), drawn(LINEAR, 250, seed=2)
    return Dataset.from_arrays([u, v], [y, z])


@pytest.fixture(scope="module")
def posterior(data: Dataset) -> Posterior:
    return quick(past_noise=True).fit(data).posterior_


@pytest.mark.parametrize("truth", [LINEAR, PRODUCT], ids=["linear", "product"])
def test_the_structure_is_found_with_its_past_noise(truth: Model) -> None:
    found = quick(past_noise=True).fit(*drawn(truth, 1000)).posterior_
    assert found.structure(0) == truth.structure
    np.testing.assert_allclose(found.map_model.theta, truth.theta, atol=0.06)
    assert found.map_model.noise_sd == pytest.approx(NOISE_SD, rel=0.1)


def test_a_switch_a_grammar_and_units_say_the_same(data: Dataset, posterior: Posterior) -> None:
    grammar = Grammar.narx(noise=True, max_lag=2, max_degree=2)
    assert posterior.grammar == grammar
    same = quick(grammar=grammar).fit(data).posterior_
    assert same.structures.equals(posterior.structures)
    other = Dataset.from_arrays([1e3 * u for u in data.u], [1e-2 * y for y in data.y])
    scaled = quick(past_noise=True).fit(other).posterior_
    assert scaled.structure(0) == posterior.structure(0)
    theta = posterior.map_model.coefficients
    for term, value in scaled.map_model.coefficients.items():
        n_u = term.count("u(") + term.count(")^2") * ("u(" in term)
        factor = 1e-2 * 1e-3**n_u * 1e2 ** (term.count("y(") + term.count("e("))
        assert value == pytest.approx(theta[term] * factor, rel=0.01)


def test_a_saved_run_is_the_same(posterior: Posterior, data: Dataset, tmp_path: Path) -> None:
    posterior.save(tmp_path / "run.nc")
    again = adjoin.load(tmp_path / "run.nc")
    assert again.settings == posterior.settings
    assert again.objective == posterior.objective
    assert again.run.engine is posterior.run.engine
    assert again.map_model == posterior.map_model
    assert again.diagnostics == posterior.diagnostics
    u, y = data.u[1], data.y[1]
    np.testing.assert_array_equal(again.predict(u, y).mean, posterior.predict(u, y).mean)


@pytest.mark.parametrize("steps", [1, 3])
def test_predictions_use_past_noise(posterior: Posterior, steps: int) -> None:
    """Those of the MAP model by hand; and as good as the noise allows."""
    u, y = drawn(LINEAR, 500, seed=9)
    model = posterior.map_model
    wanted = simulate.steps_ahead(
        model.structure, model.theta, {"u": u.tolist()}, y.tolist(), steps
    )
    np.testing.assert_allclose(model.predict(u, y, steps_ahead=steps), wanted, rtol=1e-9)
    mean = posterior.predict(u, y, steps_ahead=steps, draws=200, seed=0).mean
    left = np.std((y - mean)[2:])
    # One step ahead the noise itself is left; three steps ahead, what of it was fed back, too.
    impulse = LINEAR.simulate(np.zeros(6), noise=np.eye(6)[2])[2 : 2 + steps]
    assert left == pytest.approx(NOISE_SD * np.linalg.norm(impulse), rel=0.1)


def test_a_free_run_of_the_map_model_has_no_noise(posterior: Posterior) -> None:
    """Terms that are proportional to it are then nothing."""
    u, y = drawn(LINEAR, 300, seed=9)
    model = posterior.map_model
    kept = [(t, v) for t, v in zip(model.structure, model.theta, strict=True) if not _is_noise(t)]
    silent = Model(
        Structure(tuple(term for term, _ in kept), model.names), tuple(value for _, value in kept)
    )
    np.testing.assert_allclose(model.simulate(u, y[:2]), silent.simulate(u, y[:2]), rtol=1e-12)


def _is_noise(term: Any) -> bool:
    return any(atom.signal == "e" for atom in term)


def test_bands_of_free_runs_and_predictions_hold_fresh_data(posterior: Posterior) -> None:
    """Noise is drawn, and its past with it: 95 % bands hold 95 % of what is measured.

    Of 3,000 samples whose errors are correlated over a few: a standard error of about 0.007.
    Without past noise the band of the free run would be narrower by 29 %, and hold 84 %.
    """
    u, y = drawn(LINEAR, 3000, seed=10)
    for found in (
        posterior.simulate(u, y[:2], draws=400, seed=0),
        posterior.predict(u, y, steps_ahead=4, draws=400, seed=0),
        posterior.predict(u, y, draws=400, seed=0),
    ):
        inside = (found.bands[0.025] <= y) & (y <= found.bands[0.975])
        assert np.mean(inside[2:]) == pytest.approx(0.95, abs=0.025)


def test_pointwise_log_likelihoods_add_up_to_the_chains_own(posterior: Posterior) -> None:
    log_lik = np.concatenate(
        [trace.log_lik[-len(trace.log_lik) // 2 :] for trace in posterior.traces]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = to_arviz(posterior)
    pointwise = np.asarray(next(iter(exported.log_likelihood.data_vars.values())))
    total = pointwise.sum(axis=-1).ravel()
    # In the user's units the density of every sample is less by the log of the output's scale.
    shift = pointwise.shape[-1] * np.log(posterior.scaling.noise_factor)
    np.testing.assert_allclose(total, log_lik[-len(total) :] - shift, rtol=1e-8)


def test_what_has_no_past_noise_refuses_it_and_says_who_has(data: Dataset) -> None:
    for objective in ("simulation", "abc", "output-error"):
        with pytest.raises(AdjoinError, match="use objective='prediction', models without"):
            quick(objective=objective, past_noise=True).fit(data)
    with pytest.raises(AdjoinError, match="without past noise; here, say how many"):
        quick(past_noise=True, samples="auto").fit(data)
    with pytest.raises(AdjoinError, match="the grammar says whether there is past noise"):
        quick(past_noise=True, grammar=Grammar.narx()).fit(data)
    with pytest.raises(AdjoinError, match="past_noise must be True or False, not 'e'"):
        quick(past_noise="e").fit(data)
    with pytest.raises(AdjoinError, match=r"flips are for .* without past noise"):
        quick(past_noise=True, search={"flips": 10}).fit(data)
    with pytest.raises(AdjoinError, match="noise is for objective='simulation'"):
        quick(past_noise=True, noise="ar").fit(data)
    narmax = Grammar.narx(noise=True, max_lag=2, max_degree=2)
    with pytest.raises(AdjoinError, match=r"nothing is conjugate here; .*engines\.innovations"):
        prediction_engine(data, narmax.alphabet)
    for engine, alphabet, message in (
        (SimulationEngine, narmax.alphabet, "a free run has no past noise"),
        (AbcEngine, narmax.alphabet, "a free run has no past noise"),
        (InnovationsEngine, Grammar.narx(max_lag=2).alphabet, "predictions need past noise"),
    ):
        with pytest.raises(AdjoinError, match=message):
            engine(problem=Problem(data, alphabet), samples=10)
    with pytest.raises(AdjoinError, match="have no fit of their own; use initial_mode='joint'"):
        quick(initial="e(k-1)", initial_mode="residual").fit(data)


def test_fixed_terms_may_have_past_noise(data: Dataset) -> None:
    """Then the others need none."""
    found = quick(initial="e(k-1)").fit(data).posterior_
    assert found.structure(0) == LINEAR.structure
    assert not any("e(" in s.replace("e(k-1)", "") for s in found.structures["structure"])
    with pytest.raises(AdjoinError, match="no tree for 'e'"):
        Grammar.narx().derive(Structure.parse("e(k-1)"))


def test_the_power_of_the_likelihood_is_found(data: Dataset) -> None:
    """What is left is white; without past noise it is not, and 1 would be too sure."""
    heard = quick(past_noise=True, likelihood_power="auto").fit(data).posterior_.settings
    assert heard.likelihood_power == 1.0
    assert "look independent" in heard.power_note
    halved = quick(past_noise=True, likelihood_power=0.5).fit(data).posterior_
    assert halved.settings.likelihood_power == 0.5


def test_the_prior_alone(data: Dataset) -> None:
    found = quick(past_noise=True, likelihood_power=0.0).fit(data).posterior_
    assert any("e(" in text for text in found.structures["structure"])


def test_its_code_simulates_with_noise(posterior: Posterior) -> None:
    u, _ = drawn(LINEAR, 50, seed=3)
    space: dict[str, Any] = {}
    model = posterior.map_model
    exec(model.python(), space)
    found = space["simulate"](u.tolist(), [0.0, 0.0])
    np.testing.assert_allclose(found, model.simulate(u, [0.0, 0.0]), rtol=1e-12)


def test_the_page_and_the_findings(posterior: Posterior, tmp_path: Path) -> None:
    u, y = drawn(LINEAR, 300, seed=9)
    test = Dataset.from_arrays(u, y)
    path = tmp_path / "page.html"
    adjoin.write_report(posterior, path, test=test, draws=20)
    assert "e(k-1)" in path.read_text(encoding="utf-8")
    facts = json.loads(json.dumps(findings.describe(assess(posterior, test, draws=20))))
    assert "e(k-1)" in facts["equation"]
    assert facts["settings"]["objective"] == "prediction"
    assert facts["settings"]["grammar"] == "narmax"
    assert {one["start"] for one in facts["diagnostics"]["starts"]} == {
        "one-step selection",
        "nothing",
    }


def test_a_short_record_and_one_without_inputs() -> None:
    rng = np.random.default_rng(0)
    e = rng.standard_normal(200)
    y = e + 0.8 * np.append(0.0, e[:-1])
    found = quick(past_noise=True, max_degree=1).fit(None, y).posterior_
    assert str(found.structure(0)) == "e(k-1)"
    tiny = quick(past_noise=True, samples=200).fit(rng.standard_normal(12), y[:12])
    assert np.isfinite(tiny.posterior_.map_model.theta).all()


def test_a_grammar_of_past_noise_alone_and_an_output_with_a_mean() -> None:
    """Nothing is left to decide on centring by."""
    text = """
name         ma
start        expr0
nonterminals expr0 expr1 op par
terminals    u y ε + θ × q⁻¹
inputs       u
output       y
max_lag      1
max_degree   1
tree η1 = expr0(ε)
tree α1 = expr0(par(θ) op(×) expr1(op(q⁻¹) ε) op(+) expr0*)
tree α2 = expr0(par(θ) op(+) expr0*)
"""
    e = np.random.default_rng(0).standard_normal(300)
    y = 3.0 + e + 0.7 * np.append(0.0, e[:-1])
    found = Identifier(grammar=Grammar.from_text(text), samples=1000, chains=2, seed=0)
    assert str(found.fit(e, y).posterior_.structure(0)) == "1 + e(k-1)"


def test_memory_that_is_not_there_is_not_found() -> None:
    white = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.3*u(k-1)^2")
    found = quick(past_noise=True).fit(*drawn(white, 1000)).posterior_
    assert found.structure(0) == white.structure
