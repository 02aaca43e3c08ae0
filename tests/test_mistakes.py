"""Wrong settings, data and calls are refused, and the refusal names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.systems import LINEAR, quick, simulated

from adjoin import AdjoinError, Dataset, Grammar, Identifier, Model, Prior

TRUTH = Model.parse(LINEAR).structure
U, Y = simulated()
Z = 4.5  # two-sided; false alarm 7e-6 a comparison


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"objective": "output-error", "noise": "pink"},
            "noise must be one of 'white', 'ar', 'ar2', not 'pink'",
        ),
        ({"objective": "least squares"}, "objective='least squares' is unknown; use 'prediction'"),
        ({"initial_mode": "residual"}, "initial_mode='residual' needs terms to fit first"),
        ({"initial_mode": 3}, "initial_mode=3 is unknown"),
        ({"checkpoint": 3}, "checkpoint must be a folder or None, not 3"),
        ({"samples": 0}, "samples must be a whole number from 1 on, not 0"),
        ({"samples": 1e4}, "samples must be a whole number"),
        ({"samples": True}, "samples must be a whole number"),
        ({"thin": 0}, "thin must be"),
        ({"samples": 10, "thin": 11}, "thin=11 keeps none of 10 samples"),
        ({"chains": 0}, "chains must be"),
        ({"chains": "4"}, "chains must be a whole number from 1 on, not '4'"),
        ({"memory_mb": 0}, "memory_mb must be"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"n_jobs": -2}, "n_jobs must be"),
        ({"burn_in": 1}, "burn_in must be a share from 0 to below 1, not 1"),
        ({"burn_in": -0.1}, "burn_in must be"),
        ({"burn_in": "half"}, "burn_in must be"),
        ({"likelihood_power": 2}, "likelihood_power must be 'auto' or from 0 to 1, not 2"),
        ({"likelihood_power": "x"}, "likelihood_power must be 'auto' or from 0 to 1, not 'x'"),
        ({"likelihood_power": float("nan")}, "likelihood_power"),
        ({"seed": -1}, "seed must be a whole number from 0 on, or None, not -1"),
        ({"seed": 1.5}, "seed must be .*, not 1.5"),
        ({"seed": True}, "seed must be"),
        ({"center": "no"}, "center must be True, False or None, not 'no'"),
        ({"scale": 2}, "scale must be True, False or None, not 2"),
        ({"progress": "bar"}, "progress must be True, False or None, not 'bar'"),
        ({"expected_terms": 0}, "expected_terms must be a positive number, not 0"),
        ({"expected_terms": "5"}, "expected_terms"),
        ({"prior": "vague"}, "prior must be 'default', 'paper' or an adjoin.Prior, not 'vague'"),
        ({"prior": Prior(expected_terms=3), "expected_terms": 4}, "expected_terms=4, .* has 3"),
        ({"moves": {"stay": 0.5}}, "moves add up to 0.5"),
        ({"max_lag": 0}, "max_lag"),
        ({"max_lag": 2.5}, "max_lag must be a whole number"),
        ({"max_degree": 0}, "max_degree must be a whole number"),
        ({"functions": "log"}, "unknown function 'log'"),
        ({"max_lag": 300, "max_degree": 9}, "lower max_degree or max_lag"),
        ({"max_lag": 399}, "max_lag=399 needs at least 401"),
        ({"max_lag": 10**9}, "max_lag=1000000000 needs at least"),  # without an atom for each
        ({"grammar": "narx"}, "grammar must be an adjoin.Grammar, not 'narx'"),
        ({"initial": "w(k)"}, "no signal is called 'w'; known are u, y"),
        ({"initial": "y(k)"}, "smallest lag of 'y' is 1"),
        ({"initial": "u(k) +"}, "cannot read the equation at column 7"),
        ({"initial": 5}, "initial must be"),
        ({"initial": "e(k-1)", "initial_mode": "residual"}, "have no fit of their own"),
    ],
)
def test_a_wrong_setting_is_named(settings, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        quick(**settings).fit(U, Y)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"grammar": Grammar.narx(max_lag=5), "max_lag": 3}, "max_lag=3, but the grammar has 5"),
        ({"grammar": Grammar.arx(), "max_degree": 3}, "max_degree=3, but the grammar has 1"),
        ({"grammar": Grammar.arx(), "functions": "abs"}, "the grammar has its own functions"),
        ({"grammar": Grammar.narmax(), "objective": "abc"}, "past noise is what one-step"),
        ({"grammar": Grammar.keith()}, "declares no output"),
        ({"grammar": Grammar.narx(("u", "v"))}, "2 inputs"),
    ],
)
def test_a_grammar_that_does_not_fit_is_refused(settings, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Identifier(samples=100, seed=0, **settings).fit(U, Y)


def test_a_grammar_and_equal_bounds_may_be_given_together() -> None:
    grammar = Grammar.arx(max_lag=2)
    assert quick(grammar=grammar, max_lag=2, max_degree=4).fit(U, Y).posterior_.max_lag == 2
    assert quick(grammar=grammar, max_lag=2, max_degree=1).fit(U, Y).posterior_.max_lag == 2


def test_a_grammar_of_other_signals_is_refused() -> None:
    with pytest.raises(AdjoinError, match="of the signals a, b, but the data have u, y"):
        quick(grammar=Grammar.narx("a", "b", max_lag=2, max_degree=2)).fit(
            Dataset.from_arrays(U, Y)
        )


def with_value(series: np.ndarray, value: float) -> np.ndarray:
    changed = series.copy()
    changed[7] = value
    return changed


@pytest.mark.parametrize(
    ("u", "y", "message"),
    [
        (U, None, r"no output; call fit\(u, y\), or fit\(dataset\)"),
        (Dataset.from_arrays(U, Y), Y, "a Dataset holds its output already"),
        (U, Y[:-1], "400 samples, but the output has 399"),
        (U[:3], Y[:3], "too few samples: 3, but max_lag=2 needs at least 4"),
        ([U, U[:3]], [Y, Y[:3]], "too few samples in record 1: 3"),
        ([U, U], Y, "2 records, but the output has 1"),
        (U, np.full(400, 3.0), r"constant signals: 'y' \(always 3\)"),
        (np.zeros(400), Y, "constant signals: 'u'"),
        (with_value(U, np.nan), Y, "input 'u' has 1 NaN value, first at sample 7"),
        (U, with_value(Y, np.inf), "output 'y' has 1 infinite value"),
        (U, ["a"] * 400, "not numbers"),
        (U[:, None, None], Y, "3 dimensions"),
        (np.column_stack([U, U])[:, :, None], Y, "3 dimensions"),
        ([[a, b] for a, b in zip(U, Y, strict=True)], Y, "column_stack"),
        (None, None, "no output"),
    ],
)
def test_wrong_data_are_refused(u: Any, y: Any, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        quick().fit(u, y)


@pytest.mark.parametrize("method", ["predict", "simulate", "score"])
def test_before_fit_there_is_nothing_to_run(method: str) -> None:
    with pytest.raises(AdjoinError, match=r"learned nothing yet; call fit\(u, y\) first"):
        getattr(Identifier(), method)(U, Y)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: m.score(U), "pass u and y, or a Dataset"),
        (lambda m: m.predict(U), "pass u and y, or a Dataset"),
        (lambda m: m.score(U, Y[:-1]), r"differ in length: \[400\] and \[399\]"),
        (lambda m: m.score(U[:2], Y[:2]), "2 samples leaves nothing to score"),
        (lambda m: m.score(None, Y), "input is None"),
        (lambda m: m.simulate(U, Y), "nothing is left to simulate"),
        (lambda m: m.predict(U, Y, steps_ahead=0), "steps_ahead"),
        (lambda m: m.score(U, np.ones(400)), "constant"),
    ],
)
def test_wrong_calls_after_fit_say_what_to_do(call, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        call(quick(samples=100).fit(U, Y))


def test_the_score_by_hand() -> None:
    model = quick(max_lag=4).fit(U, Y)
    run = model.simulate(U, Y[:4])
    error = np.sqrt(np.mean((run - Y)[4:] ** 2))
    assert model.score(U, Y) == pytest.approx(100 * (1 - error / np.std(Y[4:])), rel=1e-12)
