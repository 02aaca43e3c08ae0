"""Which folds tell between finished equations, and what their median is worth."""

from __future__ import annotations

import numpy as np

from adjoin import Model
from adjoin.discovery.second_look import Look, larger, telling
from adjoin.results.average import Average


def _looks(*lost: tuple[int, ...]) -> list[Look]:
    """Errors of 1 in four folds of two blocks, but for the folds that each equation loses."""
    found = []
    for folds in lost:
        errors = np.ones((4, 2))
        errors[list(folds)] = np.inf
        found.append(Look(errors, 1.0))
    return found


def test_a_fold_that_most_equations_lose_does_not_tell() -> None:
    looks = _looks((3,), (3,), (0, 3), ())
    assert telling(looks).tolist() == [True, True, True, False]
    assert telling(_looks((3,), (3,), (), ())).all()  # half of them: the others are better


def test_the_larger_error_counts_where_a_fold_tells() -> None:
    grown = np.full((4, 2), 2.0)
    again = np.array([[1.0, 3.0], [np.inf, np.inf], [3.0, 3.0], [np.inf, np.inf]])
    found = larger(grown, again, np.array([True, True, True, False]))
    assert found.tolist() == [[2.0, 3.0], [np.inf, np.inf], [3.0, 3.0], [2.0, 2.0]]


def test_one_model_that_drifts_does_not_pull_the_average_along() -> None:
    texts = ("0.5*u(k-1) + 0.4*y(k-1)", "0.5*u(k-1) + 0.41*y(k-1)", "0.5*u(k-1) + 0.999*y(k-1)")
    models = tuple(Model.parse(f"y(k) = {text}") for text in texts)
    u = np.ones(500)
    runs = [model.simulate(u) for model in models]
    assert abs(runs[2][-1]) > 100.0
    assert np.array_equal(Average(models).simulate(u), runs[1])
