"""Forward selection as a user calls it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.naive.gains import orthogonal_least_squares

import adjoin
from adjoin import AdjoinError, Dataset, Grammar, Model, forward_selection
from adjoin.data.scaling import Scaling
from adjoin.grammar import Structure
from adjoin.inference import forward
from adjoin.inference.forward import forward_path
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem

TRUTH = "u(k-1) + u(k-5)^3 + y(k-1)"
QUICK: dict[str, Any] = {"max_lag": 2, "max_degree": 2, "max_terms": 5}


def _rig(n: int = 300, seed: int = 0, noise: float = 0.05) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(n)
    model = Model.parse("y(k) = 0.5*u(k-1) + 0.6*y(k-1) - 0.2*y(k-2)*u(k) + 0.3")
    return u, model.simulate(u) + noise * rng.standard_normal(n)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("objective", ["simulation", "prediction"])
def test_the_academic_system_is_found_in_two_steps(seed: int, objective: str) -> None:
    train, validation, _ = adjoin.datasets.academic(seed)
    path = forward_selection(train, objective=objective, held_out=validation, max_terms=8)
    assert str(path[2].structure) == TRUTH
    truth = Model.parse(adjoin.datasets.ACADEMIC_EQUATION)
    np.testing.assert_allclose(path[2].theta, truth.theta, atol=0.02)
    assert path.added[0] == "y(k-1)"
    assert list(path.free_run) == sorted(path.free_run, reverse=True) or objective == "prediction"
    alone = forward_selection(train, objective=objective, max_terms=8)
    assert str(alone.best.structure) == TRUTH  # by the criterion
    assert all(map(math.isnan, alone.held_out))


@pytest.mark.parametrize("seed", range(3))
def test_a_second_order_system_is_found_though_another_term_promises_more(seed: int) -> None:
    truth = Model.parse("y(k) = 0.3*u(k-1)^3 + 1.2*y(k-1) - 0.5*y(k-2)")
    rng = np.random.default_rng(seed)
    u = rng.standard_normal(1000)
    clean = truth.simulate(u)
    y = clean + 0.1 * clean.std() * rng.standard_normal(1000)
    path = forward_selection(u, y, max_lag=5)
    assert path.best.structure == truth.structure
    np.testing.assert_allclose(path.best.theta, truth.theta, atol=0.02)


def test_a_start_without_a_drive_does_not_mislead() -> None:
    """Far from zero, y(k-1) alone holds what it began with: its coefficient is 1."""
    rng = np.random.default_rng(0)
    u = rng.standard_normal(1500)
    model = Model.parse("y(k) = 0.6*y(k-1) + u(k-1) + 0.2*u(k-1)*u(k-2) + 20")
    y = model.simulate(u, [50.0, 50.0]) + 0.1 * rng.standard_normal(1500)
    path = forward_selection(u, y, max_lag=3, max_degree=3, max_terms=10)
    assert path[0].theta == pytest.approx([1.0], abs=0.01)
    assert path.free_run[-1] < 1.5 * 100.0 * 0.1**2 / y.var()  # of noise alone, and some


def test_models_are_at_once_of_use_and_their_errors_are_those_of_their_own_runs() -> None:
    u, y = _rig()
    train, held_out = Dataset.from_arrays(u, y).split(0.7)
    path = forward_selection(train, held_out=held_out, **QUICK)
    assert len(path) == len(path.models) == len(path.table) == 5
    assert list(path.table["n_terms"]) == [1, 2, 3, 4, 5]
    for i, model in enumerate(path):
        run = model.simulate(train.u, train.y[:2])
        assert path.free_run[i] == pytest.approx(adjoin.scores.nmse(train.y[2:], run[2:]))
        ahead = model.predict(train.u, train.y)
        assert path.one_step[i] == pytest.approx(adjoin.scores.nmse(train.y[2:], ahead[2:]))
        run = model.simulate(held_out.u, held_out.y[:2])
        assert path.held_out[i] == pytest.approx(adjoin.scores.nmse(held_out.y[2:], run[2:]))
    assert path.best is path.models[int(np.argmin(path.held_out))]
    assert path.best.noise_sd == pytest.approx(0.05, rel=0.2)
    assert "best" in repr(path)


def test_every_form_of_data_gives_the_same() -> None:
    u, y = _rig()
    wanted = forward_selection(u, y, **QUICK)
    frame = pd.DataFrame({"u": u, "y": y})
    for given in (
        (Dataset.from_arrays(u, y),),
        (frame[["u"]], frame["y"]),
        ([u], [y]),
        (u.tolist(), y.tolist()),
    ):
        assert forward_selection(*given, **QUICK).models == wanted.models


def test_units_do_not_matter() -> None:
    u, y = _rig()
    plain = forward_selection(u, y, **QUICK)
    other = forward_selection(1e3 * u, 1e-2 * y, **QUICK)
    assert plain.added == other.added
    np.testing.assert_allclose(plain.free_run, other.free_run, rtol=1e-6)


def test_records_are_not_mixed() -> None:
    """Two records in any order give the same; joined to one they do not."""
    (u1, y1), (u2, y2) = _rig(200, seed=1), _rig(150, seed=2)
    y2 = y2 + 0.1 * np.cos(np.arange(150))  # the second does not begin where the first ends
    one = forward_selection([u1, u2], [y1, y2], **QUICK)
    two = forward_selection([u2, u1], [y2, y1], **QUICK)
    assert one.added == two.added
    np.testing.assert_allclose(one.best.theta, two.best.theta, rtol=1e-3)
    runs = one.best.simulate([u1, u2], [y1[:2], y2[:2]])
    wanted = adjoin.scores.nmse([y1[2:], y2[2:]], [run[2:] for run in runs])
    assert one.free_run[one.n_best] == pytest.approx(wanted)


def test_inputs_functions_fixed_terms_and_both_modes() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((400, 2)), columns=["u", "v"])
    truth = Model.parse("y(k) = 0.5*u(k-1) + 0.4*y(k-1) + 0.6*abs(v(k))", inputs=("u", "v"))
    y = truth.simulate(frame) + 0.02 * rng.standard_normal(400)
    path = forward_selection(frame, y, functions={"v": "abs"}, **QUICK)
    assert set(path[2].structure) == set(truth.structure)
    joint = forward_selection(frame, y, functions="abs", initial="v(k)*u(k-2)", **QUICK)
    assert all("u(k-2)*v(k)" in str(model.structure) for model in joint)
    fixed = {"functions": "abs", "initial": "u(k-1)", "initial_mode": "residual"}
    held = forward_selection(frame, y, **fixed, **QUICK)
    known = {model.theta[model.structure.terms.index(truth.structure.terms[0])] for model in held}
    assert len(known) == 1
    bent = forward_selection(frame, y, functions="hinge", **QUICK)
    assert bent.free_run[-1] < bent.free_run[0]


def test_an_alphabet_without_feedback_begins_with_nothing() -> None:
    u, _ = _rig()
    y = np.zeros(300)
    y[2:] = u[1:-1] + 0.5 * u[:-2] ** 2 + 300.0  # no run of nothing is near it
    grammar = Grammar.volterra(max_lag=3, max_degree=2)
    path = forward_selection(u[5:], y[5:], grammar=grammar, max_terms=5)
    assert not len(path[0].structure)
    assert path.added[0] == "0"
    assert str(path[3].structure) == "1 + u(k-1) + u(k-2)^2"
    assert path.free_run[3] < 1e-6
    assert len(path) == 4  # nothing is left to gain


def test_one_step_ahead_it_is_orthogonal_least_squares() -> None:
    u, y = _rig()
    data = Dataset.from_arrays(u, y)
    problem = Problem(data, Grammar.narx(max_lag=3, max_degree=2).alphabet)
    steps = forward_path(problem, Prior(), 10, "prediction")
    every = [
        problem.encoding.term(int(key)) for key in forward.Selection(problem, Prior()).terms.key
    ]
    columns = np.column_stack([problem.rows.design(Structure((t,), data.names)) for t in every])
    keys = [problem.encoding.key(term) for term in every]
    first = keys.index(steps[0].keys[0])
    order, errors = orthogonal_least_squares(columns, problem.rows.fitted, [first], 10)
    assert [keys[j] for j in order] == list(steps[-1].keys)
    np.testing.assert_allclose([step.error for step in steps], errors, rtol=1e-9)


def test_large_alphabets_are_looked_at_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of the record and draws of terms, the same for the same seed."""
    train, _, _ = adjoin.datasets.academic(0)
    problem = Problem(
        train, Grammar.narx(max_degree=3).alphabet, Scaling.from_dataset(train, False, True)
    )
    monkeypatch.setattr(forward, "MOST_WORK", 1.5e7)
    monkeypatch.setattr(forward, "_FEWEST_ROWS", 600)
    selection = forward.Selection(problem, Prior(), 6)
    assert selection.windows.row.shape[1] < selection.whole.row.shape[1]
    assert selection.windows.is_fresh.sum() == 1
    path = forward_path(problem, Prior(), 6)
    found = problem.encoding.structure(path[2].keys)
    assert str(found) == TRUTH
    assert [one.keys for one in forward_path(problem, Prior(), 6)] == [one.keys for one in path]
    monkeypatch.setattr(forward, "MOST_WORK", 3e6)
    selection = forward.Selection(problem, Prior(), 6)
    step = path[1]
    assert np.count_nonzero(selection.gains(step)) <= selection.n_whole
    assert np.count_nonzero(selection.last) <= selection.n_windows < len(selection.terms.key)
    again = selection.last.copy()
    selection.gains(step)
    kept = np.flatnonzero(again >= np.sort(again)[-selection.n_windows // 4])
    assert (selection.last[kept] > 0.0).all()  # the best are looked at again


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"objective": "abc"}, "objective='abc' is unknown"),
    ({"max_terms": 0}, "max_terms must be a whole number"),
    ({"max_terms": 1, "initial": "u(k)"}, "more than max_terms=1"),
    ({"initial_mode": "none"}, "initial_mode='none' is unknown"),
    ({"initial_mode": "residual"}, "needs terms to fit first"),
    ({"runaway": 0.5}, "runaway must be a number above 1"),
    ({"center": None}, "center must be True or False"),
    ({"max_lag": 400}, "too few samples"),
    ({"held_out": 3}, "held_out must be a Dataset"),
    ({"grammar": "narx"}, "grammar must be an adjoin.Grammar"),
    ({"seed": -1}, "seed must be"),
]


@pytest.mark.parametrize(("given", "words"), MISTAKES, ids=lambda v: str(v)[:30])
def test_what_means_nothing_is_refused(given: dict[str, Any], words: str) -> None:
    u, y = _rig(100)
    with pytest.raises(AdjoinError, match=words):
        forward_selection(u, y, **given)


def test_data_that_mean_nothing_are_refused() -> None:
    u, y = _rig(100)
    with pytest.raises(AdjoinError, match="there is no output"):
        forward_selection(u)
    with pytest.raises(AdjoinError, match="holds its output already"):
        forward_selection(Dataset.from_arrays(u, y), y)
    with pytest.raises(AdjoinError, match="constant signals"):
        forward_selection(u, np.ones(100))
    with pytest.raises(AdjoinError, match=r"not finite|NaN|missing"):
        forward_selection(u, np.where(np.arange(100) == 7, np.nan, y))
    grammar = Grammar.narx(inputs=("v",))
    with pytest.raises(AdjoinError, match="the grammar is of the signals"):
        forward_selection(Dataset.from_arrays(u, y), grammar=grammar)


def test_past_noise_is_selected_by_what_predictions_leave() -> None:
    rng = np.random.default_rng(0)
    truth = Model.parse("y(k) = 0.5*y(k-1) + 0.8*u(k-2) + 0.5*u(k-1)*e(k-1) + 0.6*e(k-1)")
    u = rng.standard_normal(1000)
    y = truth.simulate(u, noise=0.3 * rng.standard_normal(1000))
    settings = {"objective": "prediction", "max_lag": 2, "max_degree": 2, "max_terms": 6}
    path = forward_selection(u, y, past_noise=True, **settings)
    assert path.best.structure == truth.structure
    np.testing.assert_allclose(path.best.theta, truth.theta, atol=0.05)
    assert path.best.noise_sd == pytest.approx(0.3, rel=0.05)
    for model, nmse in zip(path, path.one_step, strict=True):
        assert nmse == pytest.approx(adjoin.scores.nmse(y[2:], model.predict(u, y)[2:]))
    # The first has no past noise yet, and is the one that is found without.
    without = forward_selection(u, y, **settings)[0]
    assert path[0].coefficients == pytest.approx(without.coefficients, rel=1e-9)
    grammar = Grammar.narx(noise=True, max_lag=2, max_degree=2)
    same = forward_selection(u, y, grammar=grammar, **settings | {"max_degree": 3})
    assert same.models == path.models
    with pytest.raises(AdjoinError, match="past noise is what one-step predictions leave"):
        forward_selection(u, y, past_noise=True)
    with pytest.raises(AdjoinError, match="past_noise must be True or False, not None"):
        forward_selection(u, y, past_noise=None, **settings)
