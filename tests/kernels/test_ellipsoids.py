"""Ellipsoids of fits: what is inside, draws, and volumes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numba
import numpy as np
import pytest
from tests.kernels.fit_bench import (
    COEFFICIENT,
    GRAMMAR,
    IS_COMPILED,
    TRUTH,
    Bench,
    make_bench,
    rig_data,
    tell_inside,
    terms_of,
    volume_of,
)
from tests.naive.fits import Fit, Fitting, FreeRuns
from tests.naive.prior import TermPrior

from adjoin.grammar.terms import Term
from adjoin.inference.prior import Prior
from adjoin.kernels.ellipsoids import draw_inside
from adjoin.kernels.fit_table import look_up


@numba.njit
def draw_theta(rng, chain, data, fitting, entry, square, theta):
    look_up(chain, fitting)
    for i in range(theta.shape[0]):
        draw_inside(rng, fitting, data, entry, square, theta[i])


class Ellipsoid(NamedTuple):
    """A fit in a table that holds others too, terms in no order, and the plain one."""

    bench: Bench
    entry: int
    terms: list[Term]
    theta: np.ndarray
    plain: Fit
    encoded: list[tuple[int, ...]]

    @property
    def n_free(self) -> int:
        return len(self.plain.terms)

    @property
    def place(self) -> list[int]:
        """Where the free terms are, in the order of the plain fit."""
        return [self.encoded.index(term) for term in self.plain.terms]

    def moved(self, delta: np.ndarray) -> np.ndarray:
        """Rows of coefficients, so much beside the optimum in the plain order of free terms."""
        theta = np.tile(self.theta, (len(delta), 1))
        theta[:, self.place] += delta
        return theta

    def white(self, theta: np.ndarray) -> np.ndarray:
        """J(θ - θ̂) of rows of coefficients, turned so that it has one entry per free term."""
        return (theta[:, self.place] - self.plain.theta) @ self.plain.factor.T

    def inside(self, theta: np.ndarray, square: float) -> np.ndarray:
        found = np.zeros(len(theta), dtype=np.bool_)
        rows = np.ascontiguousarray(theta)
        self.bench.write(self.terms)
        tell_inside(self.bench.chain, self.bench.fitting, self.entry, rows, square, found)
        return found


def _ellipsoid(text: str, pinned: str = "") -> Ellipsoid:
    grammar = GRAMMAR.with_initial(pinned) if pinned else GRAMMAR
    bench = make_bench(rig_data(0.3), grammar, is_residual=bool(pinned))
    runs = FreeRuns(bench.engine.problem.data, TermPrior(grammar.alphabet, Prior()))
    head = f"{pinned} + " if pinned else ""
    terms = terms_of(head + text, GRAMMAR)[::-1]
    for other in ("u(k)", TRUTH, "y(k-1) + y(k-3)"):
        bench.fit(list(dict.fromkeys(terms_of(head + other, GRAMMAR))))
    entry, _, theta = bench.fit(terms)
    encoded = [runs.law.encode(term) for term in terms]
    plain = Fitting(runs, COEFFICIENT, bool(pinned)).fit(encoded, math.inf)
    return Ellipsoid(bench, entry, terms, theta, plain, encoded)


SHAPES = {
    "1": ("u(k-1)",),
    "3": ("u(k-1) + y(k-1) + v(k)*y(k-1)",),
    "4": ("u(k-1) + v(k) + u(k-1)*v(k) + u(k)*v(k)",),
    "5": (TRUTH,),
    "2 beside pinned inputs": ("v(k) + u(k-1)*v(k)", "u(k-1) + u(k)*v(k)"),
    "1 beside a pinned output": ("u(k-1)", "y(k-1)"),
    "3 beside pinned outputs": ("u(k-1) + y(k-3) + u(k)*v(k-1)", "tanh(y(k-2)) + v(k)*y(k-1)"),
}


"""How many coefficients are free, and of which terms; pinned ones."""


SQUARE = 0.37


@pytest.mark.parametrize("name", SHAPES)
def test_the_ellipsoid_is_that_of_the_plain_fit(name: str) -> None:
    shape = _ellipsoid(*SHAPES[name])
    n = shape.n_free
    assert name.startswith(str(n))
    np.testing.assert_allclose(shape.theta[shape.place], shape.plain.theta, rtol=1e-8)
    volume = volume_of(shape.bench.engine.regression, shape.bench.fitting, shape.entry, SQUARE)
    assert volume == pytest.approx(shape.plain.log_volume(SQUARE), abs=1e-8)
    # Just inside and just outside, in every direction.
    direction = np.random.default_rng(n).standard_normal((200, n))
    length = np.linalg.norm(shape.white(shape.moved(direction)), axis=1, keepdims=True)
    edge = direction * math.sqrt(SQUARE) / length
    assert shape.inside(shape.moved((1.0 - 1e-7) * edge), SQUARE).all()
    assert not shape.inside(shape.moved((1.0 + 1e-7) * edge), SQUARE).any()
    assert shape.inside(shape.theta[None], 0.0).all()
    assert not shape.inside(np.full((1, len(shape.terms)), math.nan), SQUARE).any()


@pytest.mark.parametrize("name", SHAPES)
def test_draws_are_uniform_on_the_ellipsoid(name: str) -> None:
    """Moments of the unit ball: E w = 0, E ww' = I/(n + 2), and the n-th power of the radius.

    At most 22 z-scores in each of 7 shapes, two-sided beyond 4.8: false alarms 3e-4 in all.
    """
    shape, n_draws = _ellipsoid(*SHAPES[name]), 20_000 if IS_COMPILED else 2000
    n = shape.n_free
    theta = np.zeros((n_draws, len(shape.terms)))
    shape.bench.write(shape.terms)
    fitting, rng = shape.bench.fitting, np.random.default_rng(n)
    data = shape.bench.engine.regression
    draw_theta(rng, shape.bench.chain, data, fitting, shape.entry, SQUARE, theta)
    assert shape.inside(theta, (1.0 + 1e-9) * SQUARE).all()
    is_pinned = np.ones(len(shape.terms), dtype=bool)
    is_pinned[shape.place] = False
    assert (theta[:, is_pinned] == shape.theta[is_pinned]).all()  # to the last bit
    ball = shape.white(theta) / math.sqrt(SQUARE)
    second, fourth = 1.0 / (n + 2), 1.0 / ((n + 2) * (n + 4))
    z = [*ball.mean(axis=0) / math.sqrt(second / n_draws)]
    product = ball.T @ ball / n_draws
    for i in range(n):
        z.append((product[i, i] - second) / math.sqrt((3 * fourth - second**2) / n_draws))
        z += [product[i, j] / math.sqrt(fourth / n_draws) for j in range(i)]
    radius = np.linalg.norm(ball, axis=1) ** n  # uniform on (0, 1)
    z.append((radius.mean() - 1 / 2) / math.sqrt(1 / 12 / n_draws))
    z.append((np.mean(radius**2) - 1 / 3) / math.sqrt(4 / 45 / n_draws))
    assert len(z) <= 22
    assert np.abs(z).max() < 4.8


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "5"])
def test_the_volume_is_the_share_of_a_box(name: str) -> None:
    """By Monte Carlo; six binomial z-scores beyond 4.8: false alarms 1e-5."""
    shape, n_draws = _ellipsoid(*SHAPES[name]), 40_000 if IS_COMPILED else 2000
    n = shape.n_free
    covariance = np.linalg.inv(shape.plain.factor.T @ shape.plain.factor)
    half = np.sqrt(1.3 * SQUARE * np.diag(covariance))  # a little larger than need be
    uniform = np.random.default_rng(n).uniform(-1.0, 1.0, (n_draws, n))
    share = shape.inside(shape.moved(uniform * half), SQUARE).mean()
    volume = math.exp(
        volume_of(shape.bench.engine.regression, shape.bench.fitting, shape.entry, SQUARE)
    )
    expected = volume / np.prod(2.0 * half)
    assert 0.02 < expected < 0.98
    assert abs(share - expected) < 4.8 * math.sqrt(expected * (1.0 - expected) / n_draws)


@pytest.mark.parametrize("pinned", ["u(k-1) + v(k)", "u(k-1) + y(k-1)"])
def test_pinned_terms_alone_have_no_volume_and_nothing_to_draw(pinned: str) -> None:
    grammar = GRAMMAR.with_initial(pinned)
    bench, terms = make_bench(rig_data(0.3), grammar, is_residual=True), terms_of(pinned, grammar)
    entry, error, theta = bench.fit(terms)
    assert error == pytest.approx(bench.run(terms, theta)[0], rel=1e-9)
    data, rng = bench.engine.regression, np.random.default_rng(0)
    before = rng.bit_generator.state
    assert volume_of(data, bench.fitting, entry, SQUARE) == 0.0
    drawn = np.zeros((3, len(terms)))
    draw_theta(rng, bench.chain, data, bench.fitting, entry, SQUARE, drawn)
    assert (drawn == data.pinned_theta).all()
    assert rng.bit_generator.state == before
