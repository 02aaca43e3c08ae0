"""First-order gains: those of the plain formulas, of finite differences, and of refitting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.kernels.fit_bench import (
    EQUATIONS,
    GRAMMAR,
    IS_COMPILED,
    PAST_NOISE,
    PAST_NOISE_EQUATIONS,
    PINNED,
    TRUTH,
    make_bench,
    outputs_of,
    rig_data,
    terms_of,
)
from tests.naive.fits import FreeRuns
from tests.naive.gains import first_order_gain, gain_beside
from tests.naive.past_noise import Predictions
from tests.naive.prior import TermPrior

from adjoin import Dataset, Grammar, Model, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Term
from adjoin.inference.forward import PREDICTION, SIMULATION, Selection, Step
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.kernels.gains import TOGETHER

SMALL = Grammar.narx(inputs=("u", "v"), functions=("tanh", "pos[0.3]"), max_lag=3, max_degree=2)
N_COMPARED = 2 * TOGETHER + 7 if IS_COMPILED else 5


def _selection(problem: Problem, objective: str = SIMULATION) -> Selection:
    return Selection(problem, Prior(), 20, objective, seed=0)


def _step(problem: Problem, terms: list[Term], theta: np.ndarray) -> Step:
    return Step(tuple(map(problem.encoding.key, terms)), np.asarray(theta), 1.0, math.nan)


def _candidates(selection: Selection, terms: list[Term], n: int) -> np.ndarray:
    """Places of some terms that are not in the model, the constant among them."""
    known = [selection.encoding.key(term) for term in terms]
    others = np.flatnonzero(~np.isin(selection.terms.key, known))[1:]
    drawn = np.random.default_rng(0).choice(others, n, replace=False)
    return np.sort(np.append(0, drawn))


@pytest.mark.parametrize("name", [*EQUATIONS, *PAST_NOISE_EQUATIONS])
def test_gains_are_those_of_the_formulas(name: str) -> None:
    """Over blocks and records of several lengths, with functions and products of all signals."""
    equation = (EQUATIONS | PAST_NOISE_EQUATIONS)[name]
    data, model = rig_data(), Model.parse(f"y(k) = {equation}", inputs=("u", "v"))
    terms, theta = list(model.structure), list(model.theta)
    has_noise = model.structure.has_noise
    # So that all atoms have numbers.
    grammar = (PAST_NOISE if has_noise else SMALL).with_initial(model.structure)
    objective = PREDICTION if has_noise else SIMULATION
    selection = _selection(Problem(data, grammar.alphabet), objective)
    places = _candidates(selection, terms, N_COMPARED)
    gains = selection.gains(_step(selection.problem, terms, np.array(theta)))[places]
    law = TermPrior(grammar.alphabet, Prior())
    runs = (Predictions if has_noise else FreeRuns)(data, law)
    own = [law.encode(term) for term in terms]
    keys = selection.terms.key[places]
    wanted = [
        first_order_gain(runs, own, theta, law.encode(selection.encoding.term(int(key))))
        for key in keys
    ]
    np.testing.assert_allclose(gains, wanted, rtol=1e-6, atol=1e-9 * max(wanted))
    assert selection.gains(_step(selection.problem, terms, np.array(theta)))[places] == (
        pytest.approx(gains, abs=0.0)
    )


@pytest.mark.parametrize("is_centred", [False, True])
def test_gains_are_those_of_finite_differences_of_the_models_own_runs(is_centred: bool) -> None:
    data = rig_data()
    scaling = Scaling.from_dataset(data, is_centred, scale=True)
    problem = Problem(data, SMALL.alphabet, scaling)
    terms = list(Structure.parse("u(k-1) + y(k-1) + v(k)*y(k-2)", data.names))
    theta, n_seed = np.array([0.5, 0.4, 0.1]), SMALL.max_lag
    measured = np.concatenate([y[n_seed:] for y in data.outputs])

    def run(more: Term, value: float, changed: int = -1) -> np.ndarray:
        by_term = dict(zip(terms, theta, strict=True))
        if changed >= 0:
            by_term[terms[changed]] += value
        else:
            by_term[more] = value
        structure = Structure(tuple(by_term), data.names)
        values = np.array([by_term[term] for term in structure])
        model = Model(structure, values * problem.rows.factors(structure), None, scaling.offsets)
        seeds = [y[:n_seed] for y in data.outputs]
        return np.concatenate([y[n_seed:] for y in model.simulate(data.inputs, seeds)])

    def slope(more: Term, changed: int = -1) -> np.ndarray:
        return (run(more, 1e-5, changed) - run(more, -1e-5, changed)) / 2e-5

    selection = _selection(problem)
    places = _candidates(selection, terms, 12)
    gains = selection.gains(_step(problem, terms, theta))[places]
    keys = [selection.encoding.term(int(key)) for key in selection.terms.key[places]]
    own = np.column_stack([slope(keys[0], i) for i in range(len(terms))])
    left = measured - run(keys[0], 0.0)
    wanted = [gain_beside(own, slope(term), left) / scaling.noise_factor**2 for term in keys]
    np.testing.assert_allclose(gains, wanted, rtol=1e-4, atol=1e-6 * max(wanted))


@pytest.mark.parametrize("name", ["of inputs", "of the output"])
def test_pinned_terms_run_but_do_not_move(name: str) -> None:
    pinned, free = (terms_of(text, GRAMMAR) for text in PINNED[name])
    data, grammar = rig_data(0.3), SMALL.with_initial(PINNED[name][0])
    problem = Problem(data, grammar.alphabet, is_residual=True)
    fixed, theta = list(problem.pinned), [*problem.pinned_theta, *([0.1] * len(free))]
    assert set(fixed) == set(pinned)
    selection = _selection(problem)
    places = _candidates(selection, [*fixed, *free], 6)
    gains = selection.gains(_step(problem, [*fixed, *free], np.array(theta)))[places]
    law = TermPrior(grammar.alphabet, Prior())
    own = [law.encode(term) for term in (*fixed, *free)]
    candidates = [
        law.encode(selection.encoding.term(int(key))) for key in selection.terms.key[places]
    ]
    runs = FreeRuns(data, law)
    wanted = [first_order_gain(runs, own, theta, one, len(fixed)) for one in candidates]
    np.testing.assert_allclose(gains, wanted, rtol=1e-6, atol=1e-9 * max(wanted))


def test_one_step_ahead_the_gain_is_what_least_squares_gains() -> None:
    data = rig_data()
    selection = _selection(Problem(data, SMALL.alphabet), PREDICTION)
    terms = list(Structure.parse("u(k-1) + y(k-1)", data.names))
    keys = tuple(map(selection.encoding.key, terms))
    error, theta = selection.fit(keys, np.zeros(2))
    gains = selection.gains(Step(keys, theta, error, math.nan))
    for place in _candidates(selection, terms, 12):
        more = (*keys, int(selection.terms.key[place]))
        found, _ = selection.fit(more, np.zeros(3))
        assert gains[place] == pytest.approx(error - found, rel=1e-7, abs=1e-9 * error)


def test_a_small_gain_is_what_refitting_gains() -> None:
    """Where a term with a coefficient of a hundredth is missing."""
    rng = np.random.default_rng(1)
    model = Model.parse("y(k) = 0.5*u(k-1) + 0.4*y(k-1) + 0.01*u(k-2)*y(k-2)")
    u = rng.standard_normal(600)
    data = Dataset.from_arrays(u, model.simulate(u) + 0.01 * rng.standard_normal(600))
    problem = Problem(data, Grammar.narx(max_lag=3, max_degree=2).alphabet)
    selection = _selection(problem)
    keys = tuple(map(selection.encoding.key, Structure.parse("u(k-1) + y(k-1)", data.names)))
    error, theta = selection.fit(keys, np.zeros(2))
    gains = selection.gains(Step(keys, theta, error, math.nan))
    first = int(np.argmax(gains))
    key = int(selection.terms.key[first])
    assert str(selection.encoding.structure((key,))) == "u(k-2)*y(k-2)"
    found, _ = selection.fit((*keys, key), np.append(theta, 0.0))
    assert gains[first] == pytest.approx(error - found, rel=0.02)


def test_a_refit_is_scipys_optimum_and_no_worse_than_its_start() -> None:
    data = rig_data(0.3)
    bench = make_bench(data, GRAMMAR)
    selection = _selection(Problem(data, SMALL.alphabet))
    model = Model.parse(f"y(k) = {TRUTH}", inputs=("u", "v"))
    terms = list(model.structure)
    keys = tuple(map(selection.encoding.key, terms))
    start = np.array(model.theta)
    error, theta = selection.fit(keys, start)

    def residual(values: np.ndarray) -> np.ndarray:
        found, predicted = bench.run(terms, values)
        return predicted - outputs_of(bench) if found < math.inf else np.full(len(predicted), 1e3)

    assert error == pytest.approx(float(np.sum(residual(theta) ** 2)), rel=1e-9)
    assert error <= float(np.sum(residual(start) ** 2))
    best = least_squares(residual, start, jac="3-point", x_scale="jac", xtol=1e-12, ftol=1e-12)
    assert abs(error - 2.0 * best.cost) < 0.03 * error / len(best.fun)


def test_what_the_model_has_and_what_is_nothing_gain_nothing() -> None:
    """A copy of an input, and a product that is zero throughout."""
    rng = np.random.default_rng(2)
    u = rng.standard_normal(200)
    rest = np.where(np.arange(200) % 2, u, 0.0)
    other = np.where(np.arange(200) % 2, 0.0, u)
    y = np.zeros(200)
    y[1:] = u[:-1] + 0.1 * rng.standard_normal(199)
    data = Dataset.from_arrays(np.column_stack([u, u, rest, other]), y)
    problem = Problem(data, Grammar.narx(data.names.inputs, max_lag=1, max_degree=2).alphabet)
    selection = _selection(problem)
    keys = tuple(map(selection.encoding.key, Structure.parse("u1(k-1)", data.names)))
    error, theta = selection.fit(keys, np.zeros(1))
    gains = selection.gains(Step(keys, theta, error, math.nan))
    by_term = {
        str(selection.encoding.structure((int(key),))): gain
        for key, gain in zip(selection.terms.key, gains, strict=True)
    }
    assert by_term["u2(k-1)"] == by_term["u3(k)*u4(k)"] == 0.0
    assert by_term["u3(k-1)"] > 0.0
