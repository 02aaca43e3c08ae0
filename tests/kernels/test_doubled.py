"""Arithmetic with twice the digits: held against fractions and 60 digits."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numba
import numpy as np
import pytest

from adjoin.kernels import doubled


@numba.njit
def _add(a, a_rest, b, b_rest):
    return doubled.add_doubled(a, a_rest, b, b_rest)


@numba.njit
def _multiply(a, a_rest, b, b_rest):
    return doubled.multiply_doubled(a, a_rest, b, b_rest)


@numba.njit
def _divide(a, a_rest, b, b_rest):
    return doubled.divide_doubled(a, a_rest, b, b_rest)


@numba.njit
def _add_exactly(a, b):
    return doubled.add_exactly(a, b)


@numba.njit
def _multiply_exactly(a, b):
    return doubled.multiply_exactly(a, b)


@numba.njit
def _root(a, a_rest):
    return doubled.root_doubled(a, a_rest)


@numba.njit
def _solve(matrix, rest, x, x_rest):
    is_regular = doubled.factorise_doubled(matrix, rest, x.shape[0])
    if is_regular:
        doubled.solve_transposed_doubled(matrix, rest, x.shape[0], x, x_rest)
    return is_regular


@numba.njit
def _sum(left, right, total, rest):
    doubled.add_products(left, right, left.shape[0], total, rest)


def _exact(pair: tuple[float, float]) -> Fraction:
    return Fraction(float(pair[0])) + Fraction(float(pair[1]))


def _pairs(n: int) -> list[tuple[float, float, float, float]]:
    rng = np.random.default_rng(0)
    values = rng.standard_normal((n, 4)) * 10.0 ** rng.integers(-20, 20, (n, 1))
    values[: n // 3, 2] = -values[: n // 3, 0]  # what cancels
    values[:, [1, 3]] = values[:, [0, 2]] * 2.0**-54 * rng.uniform(-1.0, 1.0, (n, 2))
    return [tuple(row) for row in values.tolist()]


def test_sums_and_products_of_doubles_are_exact() -> None:
    for a, _, b, _ in _pairs(300):
        assert _exact(_add_exactly(a, b)) == Fraction(a) + Fraction(b)
        assert _exact(_multiply_exactly(a, b)) == Fraction(a) * Fraction(b)


def test_doubled_numbers_have_31_digits() -> None:
    for a, a_rest, b, b_rest in _pairs(300):
        left, right = _exact((a, a_rest)), _exact((b, b_rest))
        size = abs(left) + abs(right)
        assert abs(_exact(_add(a, a_rest, b, b_rest)) - left - right) <= size * Fraction(2) ** -103
        product = _exact(_multiply(a, a_rest, b, b_rest))
        assert abs(product / (left * right) - 1) < Fraction(2) ** -101
        ratio = _exact(_divide(a, a_rest, b, b_rest))
        assert abs(ratio * right / left - 1) < Fraction(2) ** -100
        root = _exact(_root(abs(a), a_rest if a > 0.0 else -a_rest))
        assert abs(root**2 / abs(left) - 1) < Fraction(2) ** -100


def test_a_sum_of_products_that_cancel() -> None:
    rng = np.random.default_rng(1)
    left, total, rest = rng.standard_normal(50), np.zeros(50), np.zeros(50)
    right = rng.standard_normal(50)
    for sign in (1.0, -1.0 + 1e-15):
        _sum(left, sign * right, total, rest)
    for k in range(50):
        exact = sum(Fraction(left[k]) * Fraction(sign * right[k]) for sign in (1.0, -1.0 + 1e-15))
        size = abs(Fraction(left[k]) * Fraction(right[k]))
        assert abs(_exact((total[k], rest[k])) - exact) <= size * Fraction(2) ** -104


@pytest.mark.parametrize("n", [1, 2, 7])
def test_factor_and_solution_of_a_matrix_of_condition_1e24(n: int) -> None:
    """Columns that nearly repeat each other; a double has no digits for any of it."""
    rng = np.random.default_rng(n)
    with mpmath.workdps(60):
        base = rng.standard_normal(20)
        columns = [base + 1e-12 * rng.standard_normal(20) for _ in range(n)]
        exact = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                exact[i, j] = mpmath.fdot(columns[i].tolist(), columns[j].tolist())
        root = [mpmath.sqrt(exact[i, i]) for i in range(n)]
        for i in range(n):
            for j in range(n):
                exact[i, j] /= root[i] * root[j]
        right = mpmath.matrix(rng.standard_normal(n).tolist())
        matrix = np.array([[float(exact[i, j]) for j in range(n)] for i in range(n)])
        rest = np.array([[float(exact[i, j] - matrix[i, j]) for j in range(n)] for i in range(n)])
        x, x_rest = np.array([float(v) for v in right]), np.zeros(n)
        assert _solve(matrix, rest, x, x_rest)
        lower = mpmath.cholesky(exact)
        wanted = mpmath.lu_solve(lower, right)
        for i in range(n):
            assert matrix[i, i] == pytest.approx(float(lower[i, i]), rel=1e-5)
            assert x[i] == pytest.approx(float(wanted[i]), rel=1e-4)


def test_a_matrix_that_is_singular_to_the_last_digit_is_refused() -> None:
    ones = np.ones((2, 2))
    assert not _solve(ones, np.zeros((2, 2)), np.ones(2), np.zeros(2))
    nan = np.full((2, 2), np.nan)
    assert not _solve(nan, np.zeros((2, 2)), np.ones(2), np.zeros(2))
