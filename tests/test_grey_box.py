"""Grey boxes as a user meets them: fixed terms fitted first and kept, or learned with the rest."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.systems import BEHIND, by_hand, quick, simulated

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Posterior, Prior, Structure
from adjoin.results.draws import log_density

pytestmark = pytest.mark.filterwarnings(BEHIND)
OSA = {"samples": 2000}
ABC = {"objective": "abc", "samples": 1200, "thin": 1, "ladder": {"rungs": 4, "descent": 100}}
BOTH = {"osa": OSA, "abc": ABC}
DRAG = "u(k)*abs(u(k)) + u(k-1)"


def wave(n: int = 400, noise: float = 0.05, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A force that the drag law explains for the most part, and a memory that it does not."""
    rng = np.random.default_rng(seed)
    u, force = rng.standard_normal(n), np.zeros(n)
    for k in range(1, n):
        force[k] = 2.0 * u[k] * abs(u[k]) + 0.7 * u[k - 1] + 0.4 * force[k - 1] - 0.3 * u[k] ** 2
    return u, force + noise * rng.standard_normal(n)


def grey(objective: str = "osa", **changed: Any) -> Identifier:
    settings = {"initial": DRAG, "initial_mode": "residual", "progress": False}
    return quick(**{**settings, **BOTH[objective], **changed})


@pytest.fixture(scope="module", params=BOTH)
def posterior(request: pytest.FixtureRequest) -> Posterior:
    return grey(request.param).fit(*wave()).posterior_


def ordinary(
    u: list[np.ndarray], y: list[np.ndarray], functions: list[Any], max_lag: int
) -> np.ndarray:
    """Least squares of columns f(u, y, k) over the samples after the lag window."""
    rows, target = [], []
    for one, other in zip(u, y, strict=True):
        for k in range(max_lag, len(other)):
            rows.append([function(one, other, k) for function in functions])
            target.append(other[k])
    return np.linalg.lstsq(np.array(rows), np.array(target))[0]


def drag_law(u: list[np.ndarray], y: list[np.ndarray], max_lag: int) -> np.ndarray:
    return ordinary(u, y, [lambda u, y, k: u[k] * abs(u[k]), lambda u, y, k: u[k - 1]], max_lag)


# What is kept


def test_the_white_box_is_in_every_draw_and_model_bit_for_bit(posterior: Posterior) -> None:
    white = posterior.white_box
    assert white is not None
    assert posterior.settings.is_residual
    assert str(white.structure) == DRAG
    terms = posterior.terms.set_index("term")
    for term, theta in white.coefficients.items():
        number = [str(posterior.encoding.structure((key,))) for key in posterior.term_keys]
        drawn = posterior.draws.theta[posterior.draws.term == number.index(term)]
        assert len(drawn) == len(posterior)
        assert (drawn == theta).all()
        assert terms.loc[term, "inclusion"] == 1.0
        assert terms.loc[term, "sd"] < 1e-12  # that of equal numbers, summed
        assert terms.loc[term, "q025"] == terms.loc[term, "q975"] == theta
        for rank in range(min(3, len(posterior.structures))):
            assert posterior.model(rank).coefficients[term] == theta


@pytest.mark.parametrize("objective", BOTH)
def test_what_the_white_box_leaves_is_found(objective: str) -> None:
    """With an input of no colour what is left is at right angles to it, but for 1/√n.

    That share the white box has taken or left out for good, and small terms make up for it.
    """
    equation = "y(k) = 2*u(k)*abs(u(k)) + 0.5*u(k)*u(k-1) + 0.7*u(k-1) - 0.3*u(k-2)^2"
    truth = Model.parse(equation)
    rng = np.random.default_rng(4)
    u = rng.standard_normal(400)
    y = truth.simulate(u) + 0.05 * rng.standard_normal(400)
    samples = {"osa": 20_000, "abc": 1200}[objective]
    found = grey(objective, samples=samples).fit(u, y).posterior_
    coefficients = found.map_model.coefficients
    assert set(coefficients) >= set(truth.coefficients)
    for term, theta in coefficients.items():
        assert theta == pytest.approx(truth.coefficients.get(term, 0.0), abs=0.1)
    assert found.white_box is not None
    errors = [np.std(y - each.simulate(u, y[:2])) for each in (found.white_box, found.map_model)]
    assert errors[1] < 0.25 * errors[0]


@pytest.mark.parametrize("objective", BOTH)
def test_learned_together_nothing_is_kept(objective: str) -> None:
    """And the estimates are those of the system, which a white box fitted alone does not give."""
    u, y = wave()
    posterior = grey(objective, initial_mode="joint").fit(u, y).posterior_
    assert not posterior.settings.is_residual
    terms, white = posterior.terms.set_index("term"), posterior.white_box
    assert white is not None  # to compare with
    for term, theta in zip(white.structure, (2.0, 0.7), strict=True):
        row = terms.loc[str(Structure((term,), white.structure.names))]
        assert row["sd"] > 1e-4
        assert row["mean"] == pytest.approx(theta, abs=0.05)
    assert abs(white.theta[1] - 0.7) > 0.05


def test_without_fixed_terms_there_is_no_white_box() -> None:
    posterior = quick().fit(*simulated()).posterior_
    assert posterior.white_box is None
    assert not posterior.settings.is_residual


def test_the_tolerance_counts_the_coefficients_that_were_learned() -> None:
    """The margin is that of the p terms that are free beside a white box; see `Ladder.margin`."""
    posterior = grey("abc").fit(*wave()).posterior_
    (record,), model = posterior.data.records, posterior.map_model
    run = model.simulate(record.inputs, record.output[:2])
    nearest = 100.0 * np.mean((record.output - run)[2:] ** 2) / np.var(record.output[2:])
    n_free = len(model.structure) - 2
    ladder = posterior.diagnostics["ladder"][0]
    assert f"of {n_free} terms" in ladder["reason"]
    square = stats.chi2.ppf(0.95, 1) / stats.beta.ppf(0.95, 0.5, (n_free + 1) / 2)
    margin = square / (posterior.n_rows - n_free)
    assert ladder["tolerance"][0] == pytest.approx(nearest * (1.0 + margin), rel=1e-6)


# Which coefficients the white box has


@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize("scale", [False, True])
def test_the_white_box_is_ordinary_least_squares_in_the_users_units(
    objective: str, scale: bool
) -> None:
    u, y = wave()
    u, y = 30.0 * u, 1e-3 * y
    found = grey(objective, scale=scale, samples=200).fit(u, y).posterior_
    assert found.white_box is not None
    wanted = drag_law([u], [y], 2)
    assert found.white_box.theta == pytest.approx(wanted, rel=1e-9)
    row = u[2:] * np.abs(u[2:]) * wanted[0] + u[1:-1] * wanted[1]
    error = y[2:] - row
    assert found.white_box.noise_sd == pytest.approx(math.sqrt(error @ error / 396), rel=1e-9)
    assert [found.map_model.coefficients[t] for t in found.white_box.coefficients] == list(
        found.white_box.theta
    )


@pytest.mark.parametrize("objective", BOTH)
def test_the_white_box_is_fitted_to_all_records_after_their_lag_window(objective: str) -> None:
    parts = [wave(200, seed=1), wave(9, seed=2), wave(150, seed=3)]
    u, y = map(list, zip(*parts, strict=True))
    for k in range(2):
        y[1][k] = 1e4  # seeds the lags, and is not fitted
    found = grey(objective, initial="u(k)*abs(u(k)) + u(k-1)", samples=200, max_lag=2)
    white = found.fit(u, y).posterior_.white_box
    assert white is not None
    assert white.theta == pytest.approx(drag_law(u, y, 2), rel=1e-9)


def test_a_centred_white_box_is_one_of_deviations() -> None:
    u, y = wave()
    u, y = u + 50.0, y + 300.0
    found = grey(initial="u(k) + u(k-1)", center=True, samples=200).fit(u, y).posterior_
    functions = [lambda u, y, k: u[k], lambda u, y, k: u[k - 1]]
    wanted = ordinary([u - u.mean()], [y - y.mean()], functions, 2)
    white = found.white_box
    assert white is not None
    assert white.theta == pytest.approx(wanted, rel=1e-9)
    expected = y.mean() + wanted[0] * (u[2:] - u.mean()) + wanted[1] * (u[1:-1] - u.mean())
    np.testing.assert_allclose(white.predict(u, y)[2:], expected, rtol=1e-9)
    assert found.map_model.coefficients["u(k)"] == white.coefficients["u(k)"]


def test_a_fixed_term_may_read_what_the_grammar_has_not() -> None:
    u, y = wave()
    found = grey(initial="tanh(u(k-4))*u(k)^3 + u(k)", samples=200).fit(u, y).posterior_
    functions = [lambda u, y, k: u[k], lambda u, y, k: u[k] ** 3 * math.tanh(u[k - 4])]
    assert found.max_lag == 4
    assert found.white_box is not None
    named = found.white_box.coefficients
    wanted = ordinary([u], [y], functions, 4)
    assert list(named) == ["u(k)", "u(k)^3*tanh(u(k-4))"]
    assert list(named.values()) == pytest.approx(wanted, rel=1e-9)


# What comes of it


def test_saved_and_loaded_it_is_the_same(posterior: Posterior, tmp_path: Path) -> None:
    posterior.save(tmp_path / "run.nc")
    again = adjoin.load(tmp_path / "run.nc")
    assert again.settings.is_residual
    assert again.settings["initial_mode"] == "residual"
    assert again.white_box == posterior.white_box
    assert again.map_model == posterior.map_model
    last = len(posterior.structures) - 1
    assert again.model(last) == posterior.model(last)
    np.testing.assert_array_equal(again.log_posterior, posterior.log_posterior)
    assert again.chain(1).map_model == posterior.chain(1).map_model
    assert again.chain(1).settings.is_residual


def test_the_verdict_and_the_tables_cope_with_coefficients_without_spread(
    posterior: Posterior,
) -> None:
    """Warnings are errors here: dividing by that spread would be one."""
    diagnostics = posterior.diagnostics
    assert diagnostics["verdict"]["level"] in ("good", "caution", "poor")
    assert math.isfinite(float(posterior.log_posterior.std()))
    assert len(posterior.coefficients(0)) == len(posterior.structure(0))
    u, y = wave(seed=5)
    band = posterior.simulate(u, y[:2], seed=0)
    assert np.isfinite(band.mean).all()


def test_residuals_of_a_free_run_are_of_all_terms_together() -> None:
    u, y = wave()
    posterior = grey("abc").fit(u, y).posterior_
    error = y[2:] - posterior.map_model.simulate(u, y[:2])[2:]
    np.testing.assert_allclose(posterior.residuals()[0], error)


def test_the_mode_beside_a_white_box_is_that_of_ridge_regression() -> None:
    """One step ahead: θ = (Φ'Φ + σ²/σ_θ²)⁻¹Φ'(y - F)."""
    found = grey(scale=False).fit(*wave()).posterior_
    model, data, names = found.map_model, found.data.records[0], found.data.names
    chosen = found.draws.structure == found.number_of(0)
    ridge = found.draws.noise[chosen].mean() / found.prior.coefficient_sd**2
    known = found.white_box
    assert known is not None
    free = [t for t in model.structure if t not in known.structure.terms]
    columns = np.column_stack(
        [Model(Structure((t,), names), (1.0,), 0.0).predict(data.inputs, data.output) for t in free]
    )[2:]
    left = (data.output - known.predict(data.inputs, data.output))[2:]
    theta = np.linalg.solve(columns.T @ columns + ridge * np.eye(len(free)), columns.T @ left)
    named = dict(zip(model.structure.terms, model.theta, strict=True))
    assert [named[t] for t in free] == pytest.approx(theta, rel=1e-8)


def test_the_log_density_counts_no_coefficient_that_was_not_drawn() -> None:
    """With a hyperprior it would not be a constant."""
    prior = Prior(coefficient_shape=2.0, coefficient_scale=0.5)
    found = grey(prior=prior).fit(*wave()).posterior_
    draws, fixed = found.draws, set(found.grammar.alphabet.fixed.terms)
    spread, scale = draws.coefficient, found._factor
    terms = [found.encoding.term(key) for key in found.term_keys]
    is_free = np.array([term not in fixed for term in terms])[draws.term]
    squares = np.bincount(draws.owner, np.where(is_free, draws.theta / scale[draws.term], 0.0) ** 2)
    n_free = draws.size - len(fixed)
    beta = found.run.problem.noise_scale(found.prior)
    everything = log_density(draws, np.zeros(len(draws.theta)), found.prior, found.power, beta)
    wanted = everything + 0.5 * draws.size * np.log(2.0 * np.pi * spread)
    wanted -= 0.5 * (n_free * np.log(2.0 * np.pi * spread) + squares / spread)
    gap = found.log_posterior - wanted
    assert np.ptp(spread) > 0.1
    np.testing.assert_allclose(gap, gap[0], atol=1e-8)


def test_a_power_of_the_likelihood_is_estimated_beside_a_white_box() -> None:
    """Residuals with a memory, from a sensor that drifts, count for less than their number."""
    rng, drift = np.random.default_rng(7), np.zeros(800)
    u = rng.standard_normal(800)
    for k in range(1, 800):
        drift[k] = 0.95 * drift[k - 1] + 0.1 * rng.standard_normal()
    grammar = Grammar.volterra(max_lag=2, max_degree=2)
    settings = {"grammar": grammar, "likelihood_power": "auto", "samples": 500}
    found = grey(**settings).fit(u, 2.0 * u * np.abs(u) + u**2 + drift).posterior_
    assert 0.01 < found.power < 0.3
    assert found.white_box is not None
    term = "u(k)*abs(u(k))"
    assert found.map_model.coefficients[term] == found.white_box.coefficients[term]
    white = grey(**settings).fit(u, 2.0 * u * np.abs(u) + 0.1 * rng.standard_normal(800))
    assert white.posterior_.power > 0.6


def test_chains_do_not_depend_on_workers_or_memory() -> None:
    for objective in BOTH:
        runs = [
            grey(objective, samples=600, n_jobs=n, memory_mb=m).fit(*wave()).posterior_.draws
            for n, m in ((1, 512), (2, 1))
        ]
        assert runs[0].theta.tobytes() == runs[1].theta.tobytes()


# Fixed terms that read the output


@pytest.mark.parametrize("objective", BOTH)
def test_a_white_box_may_have_a_memory(objective: str) -> None:
    """One step ahead y(k-1) takes more than its due; further terms mend what they can."""
    u, y = simulated("y(k) = 0.8*u(k-1) + 0.5*y(k-1)", n=300, noise=0.05)
    found = grey(objective, initial="y(k-1)").fit(u, y).posterior_
    white = found.white_box
    assert white is not None
    assert white.theta == pytest.approx(ordinary([u], [y], [lambda u, y, k: y[k - 1]], 2), rel=1e-9)
    model = found.map_model
    assert model.coefficients["y(k-1)"] == white.theta[0]
    assert model.coefficients["u(k-1)"] == pytest.approx(0.8, abs=0.05)
    errors = [np.std(y[2:] - each.simulate(u, y[:2])[2:]) for each in (white, model)]
    assert errors[1] < 0.35 * errors[0]


def _held(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """A system that would run away by itself, and an input that holds it."""
    rng = np.random.default_rng(0)
    u, y = rng.standard_normal(n), np.zeros(n)
    for k in range(1, n):
        u[k - 1] -= 0.5 * y[k - 1]
        y[k] = 1.2 * y[k - 1] + u[k - 1] + 0.1 * rng.standard_normal()
    return u, y


def test_a_white_box_that_runs_away_is_no_trouble_one_step_ahead() -> None:
    found = grey(initial="u(k-1) + y(k-1)").fit(*_held())
    assert found.model_.theta == pytest.approx((1.0, 1.2), abs=0.05)
    assert np.std(found.posterior_.residuals()[0]) == pytest.approx(0.1, rel=0.2)


@pytest.mark.parametrize("initial", ["u(k-1) + y(k-1)", "u(k-1) + y(k-1) + y(k-1)^3"])
def test_a_white_box_that_runs_away_is_mended_or_refused_in_free_runs(initial: str) -> None:
    """To 1e20 times the output or to infinity: no tolerance is made of that."""
    u, y = _held()
    try:
        found = grey("abc", initial=initial).fit(u, y).posterior_
    except AdjoinError as error:
        assert "came nearer to the measured output" in str(error)  # noqa: PT017
        return
    assert max(ladder["tolerance"][0] for ladder in found.diagnostics["ladder"]) < 100.0
    run = found.map_model.simulate(u, y[:2])
    assert np.std(y[2:] - run[2:]) < np.std(y)


def test_further_terms_can_hold_a_white_box_that_explodes() -> None:
    """The square of an output that starts high explodes, and is held by terms that are free."""
    rng, n = np.random.default_rng(2), 300
    u, y = rng.uniform(0.5, 1.5, n), np.full(n, 9.0)
    for k in range(1, n):
        y[k] = 0.5 * y[k - 1] + u[k - 1]
    y += 0.05 * rng.standard_normal(n)
    found = grey("abc", initial="y(k-1)^2").fit(u, y).posterior_
    white, model = found.white_box, found.map_model
    assert white is not None
    with pytest.warns(adjoin.DivergenceWarning):
        exploding = white.simulate(u, y[:2])
    assert not np.isfinite(exploding).all()
    assert model.coefficients["y(k-1)^2"] == white.coefficients["y(k-1)^2"]
    assert np.std(y[2:] - model.simulate(u, y[:2])[2:]) < 0.5 * np.std(y[2:])


@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize("equation", ["y(k) = 0.5*u(k-1)", "y(k) = 0.5*u(k-1) + 0.3*y(k-1)"])
def test_a_white_box_that_is_right_without_noise_is_left_alone(
    objective: str, equation: str
) -> None:
    u, y = simulated(equation, n=200, noise=0.0)
    truth = Model.parse(equation)
    found = grey(objective, initial=str(truth.structure), samples=600).fit(u, y)
    white = found.posterior_.white_box
    assert white is not None
    assert white.theta == pytest.approx(truth.theta, rel=1e-9)
    np.testing.assert_allclose(found.model_.simulate(u, y[:2]), y, atol=1e-6)


# Mistakes


def test_there_must_be_something_to_fit_first() -> None:
    with pytest.raises(AdjoinError, match=r"residual' needs terms to fit first; pass initial"):
        quick(initial_mode="residual").fit(*simulated())


@pytest.mark.parametrize("objective", BOTH)
@pytest.mark.parametrize(
    ("initial", "message"),
    [
        ("1 + sin(u(k))^2 + cos(u(k))^2", r"the fixed terms '.*sin.*' cannot be told apart"),
        ("u(k) + w(k)", r"the fixed term 'w\(k\)' is zero or not finite on these data"),
        ("w(k)*y(k-1) + u(k)", r"the fixed term 'w\(k\)\*y\(k-1\)' is zero or not finite"),
    ],
)
def test_fixed_terms_that_data_cannot_tell_are_refused(
    objective: str, initial: str, message: str
) -> None:
    u, y = wave(100)
    w = np.zeros(100)
    w[1] = 1.0  # it varies, but not where it is fitted
    data = Dataset.from_arrays(np.column_stack([u, w]), y, names=("u", "w", "y"))
    with pytest.raises(AdjoinError, match=message):
        grey(objective, initial=initial, max_lag=3).fit(data)


@pytest.mark.parametrize("level", [400.0, 1e4])
def test_a_fixed_term_that_overflows_is_refused(level: float) -> None:
    """Itself, or its square."""
    u, y = wave(100)
    with pytest.raises(AdjoinError, match=r"'exp\(u\(k\)\)' is zero or not finite"):
        grey(initial="exp(u(k))").fit(level * (u > 0.0) + u, y)


# Functions are the sampler's too


@pytest.mark.parametrize("objective", BOTH)
def test_a_drag_law_is_found_without_being_fixed(objective: str) -> None:
    """Two inputs, and abs as a function that the sampler may put around a signal."""
    rng, n = np.random.default_rng(3), 400
    u = rng.standard_normal((n, 2))
    y = 1.5 * u[:, 0] * np.abs(u[:, 0]) + 0.05 * rng.standard_normal(n)
    y[1:] += 0.8 * u[:-1, 1]
    settings = {**BOTH[objective], "functions": "abs", "progress": False}
    if objective == "osa":
        settings["samples"] = 20_000
    found = quick(**settings).fit(u, y)
    assert str(found.model_.structure) == "u1(k)*abs(u1(k)) + u2(k-1)"
    assert found.model_.theta == pytest.approx((1.5, 0.8), abs=0.03)


def test_a_mode_by_hand_keeps_what_was_fitted_first() -> None:
    """A posterior knows by its settings alone."""
    u, y = wave(60)
    grammar = Grammar.narx(max_lag=1, max_degree=2).with_initial("u(k-1)")
    records = [("u(k-1) + y(k-1)", (0.1, 0.2), 0.5)] * 2
    data = Dataset.from_arrays(u, y)
    kept = by_hand(data, [records], grammar, settings={"initial_mode": "residual"})
    learned = by_hand(data, [records], grammar, settings={"initial_mode": "joint"})
    white = kept.white_box
    assert white is not None
    assert kept.map_model.coefficients["u(k-1)"] == white.theta[0]
    assert learned.map_model.coefficients["u(k-1)"] != pytest.approx(white.theta[0], rel=1e-3)
