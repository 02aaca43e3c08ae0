"""Free-run fits: the optimum that SciPy finds, whatever is remembered, and their ellipsoids."""

from __future__ import annotations

import math
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.kernels.fit_bench import (
    COEFFICIENT,
    GRAMMAR,
    IS_COMPILED,
    MORE,
    PINNED,
    TRUTH,
    Bench,
    known_of,
    make_bench,
    make_pinned_bench,
    outputs_of,
    rig_data,
    tell_inside,
    terms_of,
    volume_of,
)
from tests.naive.fits import HOPELESS, Fitting, FreeRuns
from tests.naive.prior import TermPrior

from adjoin import Dataset, Grammar, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Atom, Term
from adjoin.inference.engines.workspace import make_table
from adjoin.inference.prior import Prior
from adjoin.inference.rows import Rows
from adjoin.kernels.state import FITTED, GIVEN_UP, UNFITTABLE
from adjoin.kernels.tables import Entries


def _optimum(bench: Bench, terms: list[Term], start: np.ndarray) -> Any:
    """By SciPy, with slopes of its own."""
    output = outputs_of(bench)

    def residual(theta: np.ndarray) -> np.ndarray:
        error, predicted = bench.run(terms, theta)
        return predicted - output if error < math.inf else np.full(len(output), 1e3)

    return least_squares(residual, start, jac="3-point", x_scale="jac", xtol=1e-12, ftol=1e-12)


def _assert_optimal(bench: Bench, terms: list[Term], error: float, theta: np.ndarray, start: Any):
    """As near as matters to what SciPy finds from another start: 0.03 of the noise variance, or
    a sixth of a standard error."""
    best = _optimum(bench, terms, start)
    assert error == pytest.approx(bench.run(terms, theta)[0], rel=1e-9)
    variance = error / bench.engine.regression.n_rows
    assert abs(error - 2.0 * best.cost) < 0.03 * variance
    assert np.sum((best.jac @ (theta - best.x)) ** 2) < 0.03 * variance


@pytest.mark.parametrize("text", [TRUTH, TRUTH + MORE, "u(k-1) + y(k-1) + v(k)*y(k-1)"])
@pytest.mark.parametrize("noise", [0.02, 0.3])
def test_the_optimum_is_that_of_scipy(text: str, noise: float) -> None:
    data, terms = rig_data(noise), terms_of(text, GRAMMAR)
    bench = make_bench(data, GRAMMAR)
    _, error, theta = bench.fit(terms)
    known = {"0.6": "u(k-1)", "0.5": "y(k-1)", "0.2": "v(k)*y(k-1)"}
    given = {terms_of(term, GRAMMAR)[0]: float(value) for value, term in known.items()}
    _assert_optimal(bench, terms, error, theta, np.array([given.get(t, 0.0) for t in terms]))


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("name", PINNED)
def test_the_optimum_beside_pinned_terms_is_scipys_over_the_free_ones(
    name: str, is_scaled: bool
) -> None:
    data = rig_data(0.3)
    scaling = Scaling(data.names, np.array([0.1, 0.2, -0.1]), np.array([1.5, 0.7, 0.6]))
    bench, terms, is_free = make_pinned_bench(*PINNED[name], scaling if is_scaled else None)
    _, error, theta = bench.fit(terms)
    encoding, regression = bench.engine.encoding, bench.engine.regression
    pinned = dict(zip(regression.pinned_key.tolist(), regression.pinned_theta, strict=True))
    held = [term for term, free in zip(terms, is_free, strict=True) if not free]
    assert theta[~is_free].tolist() == [pinned[encoding.key(term)] for term in held]
    # What is held is ordinary least squares of these terms alone.
    rows = bench.engine.problem.rows
    columns, output = rows.design(Structure(tuple(held), data.names)), rows.fitted
    order = [held.index(term) for term in Structure(tuple(held), data.names)]
    wanted = np.linalg.lstsq(columns, output)[0]
    np.testing.assert_allclose(theta[~is_free][order], wanted, rtol=1e-9)

    assert error == pytest.approx(bench.run(terms, theta)[0], rel=1e-9)
    if is_free.any():
        measured = outputs_of(bench)

        def residual(free: np.ndarray) -> np.ndarray:
            moved = theta.copy()
            moved[is_free] = free
            found, predicted = bench.run(terms, moved)
            return predicted - measured if found < math.inf else np.full(len(measured), 1e3)

        options = {"jac": "3-point", "x_scale": "jac", "xtol": 1e-12, "ftol": 1e-12}
        best = least_squares(residual, 0.5 * theta[is_free], **options)
        variance = error / regression.n_rows
        assert abs(error - 2.0 * best.cost) < 0.03 * variance
        assert np.sum((best.jac @ (theta[is_free] - best.x)) ** 2) < 0.03 * variance


def test_a_fit_does_not_depend_on_the_order_of_terms() -> None:
    bench = make_bench(rig_data(), GRAMMAR)
    terms, seen = terms_of("u(k-1) + y(k-1) + tanh(y(k-2)) + v(k)*y(k-1)", GRAMMAR), set()
    for order in permutations(range(len(terms))):
        for is_new in (True, False):
            if is_new:
                bench.forget()
            entry, error, theta = bench.fit([terms[i] for i in order])
            assert entry == 0
            placed = np.empty(len(terms))
            placed[list(order)] = theta
            pool = bench.fitting.fits.value[: bench.fitting.fits.n_values[0]]
            seen.add((error, placed.tobytes(), pool.tobytes(), *known_of(bench.fitting, 0)))
    assert len(seen) == 1


def test_a_fit_does_not_depend_on_what_the_tables_hold() -> None:
    """Tables so small that they forget again and again, and a large one that remembers all."""
    grammar = Grammar.narx(inputs=("u", "v"), functions=("tanh",), max_lag=2, max_degree=2)
    law, rng = TermPrior(grammar.alphabet, Prior()), np.random.default_rng(3)
    structures = [
        list(dict.fromkeys(law.decode(law.draw(rng)) for _ in range(rng.integers(1, 6))))
        for _ in range(60 if IS_COMPILED else 12)
    ]
    large = make_bench(rig_data(), grammar)
    # After each, what its keys begin with: in few buckets it is looked for where the whole is.
    beginnings = [sorted(terms, key=large.engine.encoding.key)[:-1] for terms in structures]
    structures = [terms for pair in zip(structures, beginnings, strict=True) for terms in pair]
    fitting = large.fitting._replace(
        table=make_table(7, grammar.alphabet.max_degree),
        fits=large.fitting.fits._replace(
            bucket=np.full(4, -1, dtype=np.int64),
            key=np.zeros(24, dtype=np.int64),
            value=np.zeros(60),
            entry=Entries(*(values[:3].copy() for values in large.fitting.fits.entry)),
            **{
                name: np.zeros(1, dtype=np.int64)
                for name in ("n_entries", "n_keys", "n_values", "n_made")
            },
        ),
    )
    small = large._replace(fitting=fitting)
    n_forgotten = 0
    for repeat in range(2):
        for terms in structures:
            before = small.fitting.fits.n_entries[0]
            entry, error, theta = large.fit(terms)
            other, other_error, other_theta = small.fit(terms[::-1])
            n_forgotten += small.fitting.fits.n_entries[0] < before
            assert error == other_error
            if error < math.inf:
                assert theta.tolist() == other_theta[::-1].tolist()
            assert known_of(large.fitting, entry) == known_of(small.fitting, other)
        if repeat == 0:
            n_entries = large.fitting.fits.n_entries[0]
    assert large.fitting.fits.n_entries[0] == n_entries  # the second time everything was found
    assert n_forgotten > len(structures) / 4


def test_terms_of_inputs_alone_are_fitted_one_step_ahead_and_run_once_to_see_that_they_stay() -> (
    None
):
    bench = make_bench(rig_data(), GRAMMAR)
    terms = terms_of("u(k-1) + u(k-2) + u(k)*v(k) + tanh(v(k))", GRAMMAR)
    bench.fitting.run.data.predicted[:] = math.nan
    _, error, theta = bench.fit(terms)
    predicted = bench.fitting.run.data.predicted
    runs = FreeRuns(bench.engine.problem.data, TermPrior(GRAMMAR.alphabet, Prior()))
    encoded = [runs.law.encode(term) for term in terms]
    columns = Fitting(runs, COEFFICIENT).columns.matrix(encoded)
    expected, square, *_ = np.linalg.lstsq(columns, runs.measured)
    np.testing.assert_allclose(theta, expected, rtol=1e-6)
    assert error == pytest.approx(square[0], rel=1e-9)
    np.testing.assert_allclose(predicted[~np.isnan(predicted)], columns @ expected, rtol=1e-6)


def test_a_fit_whose_run_leaves_the_range_of_the_output_is_none() -> None:
    """One sample of u is -5, where the others are ±0.05: θ = 1000/(50 + 25), and ŷ = -67 there."""
    rng = np.random.default_rng(3)
    y = np.where(rng.random(20_000) < 0.5, -1.0, 1.0)
    u = np.column_stack([0.05 * y, rng.standard_normal(len(y))])
    terms = terms_of("u(k)", GRAMMAR)
    for value, is_fitted in ((-0.5, True), (-5.0, False)):
        u[len(y) // 2, 0] = value
        data = Dataset.from_arrays(u, y, names=("u", "v", "y"))
        assert (make_bench(data, GRAMMAR).fit(terms)[1] < math.inf) == is_fitted


def test_no_terms_are_the_measured_output_itself() -> None:
    bench = make_bench(rig_data(), GRAMMAR)
    entry, error, _ = bench.fit([])
    assert error == pytest.approx(bench.engine.regression.target_norm**2, rel=1e-12)
    assert volume_of(bench.engine.regression, bench.fitting, entry, 3.0) == 0.0
    found = np.zeros(1, dtype=np.bool_)
    tell_inside(bench.chain, bench.fitting, entry, np.zeros((1, 4)), 1e-300, found)
    assert found.all()


@pytest.mark.parametrize("others", [(), ((Atom("y", 1),),)])
def test_terms_that_cannot_be_told_apart_have_no_fit(others: tuple[Term, ...]) -> None:
    bench = make_bench(rig_data(), GRAMMAR)
    square = (Atom("u", 0),) * 2
    entry, error, _ = bench.fit([square, (Atom("u", 0, "abs"),) * 2, *others])
    assert error == math.inf
    assert bench.fitting.fits.entry.status[entry] == UNFITTABLE


def test_a_term_that_is_zero_everywhere_has_no_fit() -> None:
    records = [(record.inputs * [1.0, 0.0], record.output) for record in rig_data().records]
    data = Dataset.from_arrays(*map(list, zip(*records, strict=True)), names=("u", "v", "y"))
    for text in ("v(k)", "v(k)*y(k-1)", "u(k) + y(k-1) + v(k)*y(k-1)"):
        assert make_bench(data, GRAMMAR).fit(terms_of(text, GRAMMAR))[1] == math.inf


@pytest.mark.parametrize("text", ["u(k-1) + u(k)^2 + y(k-1)^2", "u(k-1) + u(k)^2 + y(k-1)^3"])
@pytest.mark.parametrize("seed", [0, 5])
def test_a_start_that_diverges_is_damped_and_still_fitted(text: str, seed: int) -> None:
    """The output has a mean: one step ahead a power must carry it, on which free runs explode."""
    rng, n = np.random.default_rng(seed), 120
    u, y = rng.standard_normal(n), np.zeros(n)
    for k in range(1, n):
        y[k] = 0.3 + 0.5 * y[k - 1] + u[k - 1] + 0.5 * u[k] ** 2
    data = Dataset.from_arrays(u, y + 0.3 * rng.standard_normal(n))
    grammar = Grammar.narx(max_lag=2, max_degree=3)
    bench, terms = make_bench(data, grammar), terms_of(text, grammar)
    rows = Rows.unscaled(data, 2)
    columns, output = rows.design(Structure(tuple(terms), data.names)), rows.fitted
    assert bench.run(terms, np.linalg.lstsq(columns, output)[0])[0] == math.inf
    _, error, theta = bench.fit(terms)
    assert error < 0.2 * bench.engine.regression.target_norm**2
    _assert_optimal(bench, terms, error, theta, 0.5 * theta)


def test_a_fit_far_beyond_the_level_is_given_up() -> None:
    """Linearised at the start, even its optimum is: a level above that is a fit, below it none."""
    bench, terms = make_bench(rig_data(0.3), GRAMMAR), terms_of("u(k-2) + y(k-1)", GRAMMAR)
    entry, error, _ = bench.fit(terms)
    foreseen = bench.fitting.fits.entry.foreseen[entry]
    assert 0.8 * error < foreseen < math.inf
    for factor, is_hopeless in ((1.001, False), (0.999, True)):
        bench.forget()
        entry, found, _ = bench.fit(terms, level=factor * foreseen / HOPELESS)
        assert found == (math.inf if is_hopeless else error)
        assert bench.fitting.fits.entry.status[entry] == (GIVEN_UP if is_hopeless else FITTED)
        assert 0.999 * foreseen / HOPELESS < bench.fitting.fits.entry.foreseen[entry] <= foreseen


def test_a_white_box_whose_free_run_diverges_has_no_fit_of_its_own() -> None:
    """Whatever is halved: pinned coefficients stay as they are."""
    rng, n = np.random.default_rng(0), 400
    u, y = rng.standard_normal(n), np.zeros(n)
    for k in range(1, n):  # the input holds what would run away by itself
        u[k - 1] -= 0.5 * y[k - 1]
        y[k] = 1.2 * y[k - 1] + u[k - 1] + 0.1 * rng.standard_normal()
    grammar = Grammar.narx(max_lag=1, max_degree=2).with_initial("u(k-1) + y(k-1)")
    bench = make_bench(Dataset.from_arrays(u, y), grammar, is_residual=True)
    for text in ("u(k-1) + y(k-1)", "u(k-1) + y(k-1) + u(k)"):
        assert bench.fit(terms_of(text, grammar))[1] == math.inf
