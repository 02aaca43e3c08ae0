"""Free-run fits: the optimum that SciPy finds, whatever is remembered, and their ellipsoids."""

from __future__ import annotations

import math
import os
from itertools import permutations
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from scipy.optimize import least_squares
from tests.engines import abc_engine
from tests.naive.fits import HOPELESS, Fit, Fitting, FreeRuns
from tests.naive.prior import TermPrior

from adjoin import Dataset, Grammar, Model, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Term
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.workspace import make_chain, make_table, write_terms
from adjoin.inference.ladder import Ladder
from adjoin.inference.prior import Prior
from adjoin.inference.rows import Rows
from adjoin.kernels.ellipsoids import draw_inside, is_inside, log_volume
from adjoin.kernels.fit_table import add_fit, fitted_theta, look_up
from adjoin.kernels.fits import fit_structure
from adjoin.kernels.free_run import assemble, free_run_error
from adjoin.kernels.simulate import BLOCK
from adjoin.kernels.slopes import linearise
from adjoin.kernels.state import FITTED, GIVEN_UP, UNFITTABLE, Chain
from adjoin.kernels.tables import Entries, FitWork

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
COEFFICIENT = 1.0


@numba.njit
def _linearise(chain, data, run, linear):
    assemble(chain, data, run)
    return linearise(chain.n_terms[0], run, linear)


@numba.njit
def _run(chain, data, run):
    assemble(chain, data, run)
    return free_run_error(chain.n_terms[0], run, np.inf)[0]


@numba.njit
def _fit(chain, data, fitting, coefficient, level):
    """The entry of a structure, as the sampler gets it; its optimum goes to the chain."""
    entry = look_up(chain, fitting)
    if entry < 0:
        entry = add_fit(fitting, fit_structure(data, fitting, coefficient, level))
    if fitting.fits.entry.status[entry] == FITTED:
        fitted_theta(fitting, entry, chain.theta)
    return entry


@numba.njit
def _inside(chain, fitting, entry, theta, square, found):
    look_up(chain, fitting)
    for i in range(theta.shape[0]):
        found[i] = is_inside(fitting, entry, theta[i], square)


@numba.njit
def _volume(data, fitting, entry, square):
    return log_volume(fitting.fits, data, entry, square)


@numba.njit
def _draw(rng, chain, data, fitting, entry, square, theta):
    look_up(chain, fitting)
    for i in range(theta.shape[0]):
        draw_inside(rng, fitting, data, entry, square, theta[i])


class Bench(NamedTuple):
    """An engine's tables, and a chain to hold a structure."""

    engine: AbcEngine
    fitting: FitWork
    chain: Chain

    def write(self, terms: list[Term], theta: Any = ()) -> None:
        write_terms(self.chain, self.engine.encoding, terms)
        self.chain.theta[: len(terms)] = theta if len(theta) else math.nan

    def run(self, terms: list[Term], theta: Any) -> tuple[float, np.ndarray]:
        """The squared error, and the output where it is compared."""
        self.write(terms, theta)
        data = self.engine.regression
        with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn of infinities
            error = _run(self.chain, data, self.fitting.run)
        blocks = zip(data.start, data.stop, strict=True)
        predicted = self.fitting.run.data.predicted
        return error, np.concatenate([predicted[start:stop] for start, stop in blocks])

    def fit(self, terms: list[Term], level: float = math.inf) -> tuple[int, float, np.ndarray]:
        """The entry, its squared error, infinite if there is none, and the optimum."""
        self.write(terms)
        with np.errstate(all="ignore"):
            entry = _fit(self.chain, self.engine.regression, self.fitting, COEFFICIENT, level)
        theta = self.chain.theta[: len(terms)].copy()
        found = self.fitting.fits.entry
        error = float(found.error[entry]) if found.status[entry] == FITTED else math.inf
        return entry, error, theta

    def forget(self) -> None:
        self.fitting.table.size[:] = self.fitting.fits.n_entries[:] = 0
        self.fitting.fits.n_keys[:] = self.fitting.fits.n_values[:] = 0
        self.fitting.table.bucket[:] = self.fitting.fits.bucket[:] = -1


def _bench(
    data: Dataset, grammar: Grammar, scaling: Scaling | None = None, is_residual: bool = False
) -> Bench:
    engine = abc_engine(
        data,
        grammar.alphabet,
        10,
        ladder=Ladder(rungs=1),
        scaling=scaling,
        is_residual=is_residual,
    )
    chain = make_chain(engine.capacity, engine.encoding.max_degree)
    return Bench(engine, engine.start(0).fitting, chain)


def _terms(text: str, grammar: Grammar) -> list[Term]:
    return list(Structure.parse(text, grammar.alphabet.names))


FUNCTIONS = ("abs", "sin", "cos", "tanh", "exp", "sqrtabs")
GRAMMAR = Grammar.narx(inputs=("u", "v"), functions=FUNCTIONS, max_lag=3, max_degree=4)
TRUTH = "0.6*u(k-1) + 0.5*y(k-1) - 0.3*tanh(y(k-2)) + 0.2*v(k)*y(k-1) - 0.1*u(k)*v(k-1)"
LENGTHS = (2 * BLOCK + 40, 12, 90) if IS_COMPILED else (BLOCK + 20, 12, 30)


def _data(noise: float = 0.1, lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Dataset:
    """Free runs of the truth, and noise on what is measured."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, v = rng.standard_normal((2, n))
        y = np.zeros(n)
        for k in range(2, n):
            y[k] = 0.6 * u[k - 1] + 0.5 * y[k - 1] - 0.3 * math.tanh(y[k - 2])
            y[k] += 0.2 * v[k] * y[k - 1] - 0.1 * u[k] * v[k - 1]
        inputs.append(np.column_stack([u, v]))
        outputs.append(y + noise * rng.standard_normal(n))
    return Dataset.from_arrays(inputs, outputs, names=("u", "v", "y"))


MORE = " + 0.03*abs(y(k-1)) + 0.1*cos(y(k-3))*u(k) + 0.01*exp(u(k))*y(k-2)"
EQUATIONS = {
    "the truth": TRUTH,
    "more terms": TRUTH + MORE,
    # Above or below zero throughout: at zero the root has no slope.
    "output in functions": "0.5*abs(u(k-1)) + 0.5*sqrt(abs(y(k-2))) + 0.2*sin(y(k-1))"
    " + 0.02*exp(y(k-3))*abs(u(k))",
    "output below zero": "-0.5*abs(u(k-1)) - 0.5*sqrt(abs(y(k-2))) + 0.2*abs(y(k-1))*tanh(y(k-3))",
    "powers of the output": "0.4*u(k-1) + 0.3*y(k-1) - 0.05*y(k-2)^2*y(k-1)*u(k) - 0.01*y(k-1)^4"
    " + 0.1*v(k)^2*y(k-3)^2 + 0.1*y(k-1)*y(k-2)*y(k-3)",
    "a linear output": "0.4*u(k-1) + 0.3*y(k-1) - 0.5*y(k-3)",
}


def _known(fitting: FitWork, entry: int) -> tuple[bytes, ...]:
    """What an entry says, wherever it lies in the pools."""
    names = ("status", "error", "foreseen", "log_det", "score", "n_terms")
    return tuple(getattr(fitting.fits.entry, name)[entry].tobytes() for name in names)


def _outputs(bench: Bench) -> np.ndarray:
    data = bench.engine.regression
    blocks = zip(data.start, data.stop, strict=True)
    return np.concatenate([data.output[start:stop] for start, stop in blocks])


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("name", EQUATIONS)
def test_slopes_equal_finite_differences(name: str, is_scaled: bool) -> None:
    """In the program's order of terms; over blocks and records, functions of scaled signals."""
    data, model = _data(), Model.parse(f"y(k) = {EQUATIONS[name]}", inputs=("u", "v"))
    scaling = Scaling(data.names, np.array([0.1, 0.2, -0.1]), np.array([1.5, 0.7, 0.6]))
    bench = _bench(data, GRAMMAR, scaling if is_scaled else None)
    terms, theta, step = list(model.structure), np.array(model.theta), 1e-5
    slopes = np.empty((bench.engine.regression.n_rows, len(terms)))
    for j, unit in enumerate(np.eye(len(terms))):
        _, ahead = bench.run(terms, theta + step * unit)
        _, behind = bench.run(terms, theta - step * unit)
        slopes[:, j] = (ahead - behind) / (2.0 * step)
    _, predicted = bench.run(terms, theta)

    bench.write(terms, theta)
    n, run, linear = len(terms), bench.fitting.run, bench.fitting.linear
    assert _linearise(bench.chain, bench.engine.regression, run, linear)
    slopes = slopes[:, run.order[:n]]
    length, upper = np.linalg.norm(slopes, axis=0), np.triu_indices(n)
    unit = slopes / length
    found = linear.normal[:n, :n] / np.outer(length, length)
    np.testing.assert_allclose(found[upper], (unit.T @ unit)[upper], atol=1e-7)
    gradient = unit.T @ (_outputs(bench) - predicted)
    np.testing.assert_allclose(linear.gradient[:n] / length, gradient, atol=1e-6)


def test_slopes_of_a_run_that_diverges_are_refused() -> None:
    bench = _bench(_data(), GRAMMAR)
    bench.write(_terms("y(k-1)^2", GRAMMAR), [50.0])
    with np.errstate(all="ignore"):
        is_finite = _linearise(
            bench.chain, bench.engine.regression, bench.fitting.run, bench.fitting.linear
        )
    assert not is_finite


def _optimum(bench: Bench, terms: list[Term], start: np.ndarray) -> Any:
    """By SciPy, with slopes of its own."""
    output = _outputs(bench)

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
    data, terms = _data(noise), _terms(text, GRAMMAR)
    bench = _bench(data, GRAMMAR)
    _, error, theta = bench.fit(terms)
    known = {"0.6": "u(k-1)", "0.5": "y(k-1)", "0.2": "v(k)*y(k-1)"}
    given = {_terms(term, GRAMMAR)[0]: float(value) for value, term in known.items()}
    _assert_optimal(bench, terms, error, theta, np.array([given.get(t, 0.0) for t in terms]))


PINNED = {
    "of inputs, none fed back": ("u(k-1) + u(k)*v(k-1)", "v(k) + u(k-2) + tanh(v(k))"),
    "of inputs": ("u(k-1) + u(k)*v(k-1)", "y(k-1) + v(k)*y(k-1) + u(k-2)"),
    "of the output": ("y(k-1) + tanh(y(k-2))", "u(k-1) + u(k)*v(k-1) + v(k)"),
    "of the output, more fed back": ("tanh(y(k-2)) + v(k)*y(k-1)", "u(k-1) + y(k-1) + y(k-3)"),
    "none is free": ("y(k-1) + u(k-1)", ""),
}
"""Terms whose coefficients are given, and others."""


def _pinned_bench(
    pinned: str, free: str, scaling: Scaling | None = None
) -> tuple[Bench, list[Term], np.ndarray]:
    """The terms in no order, and which of them are free."""
    fixed, others = _terms(pinned, GRAMMAR), _terms(free, GRAMMAR) if free else []
    bench = _bench(_data(0.3), GRAMMAR.with_initial(pinned), scaling, is_residual=True)
    terms = [*others[:1], *fixed[::-1], *others[:0:-1]]
    return bench, terms, np.array([term not in fixed for term in terms])


@pytest.mark.parametrize("is_scaled", [False, True])
@pytest.mark.parametrize("name", PINNED)
def test_the_optimum_beside_pinned_terms_is_scipys_over_the_free_ones(
    name: str, is_scaled: bool
) -> None:
    data = _data(0.3)
    scaling = Scaling(data.names, np.array([0.1, 0.2, -0.1]), np.array([1.5, 0.7, 0.6]))
    bench, terms, is_free = _pinned_bench(*PINNED[name], scaling if is_scaled else None)
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
        measured = _outputs(bench)

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
    bench = _bench(_data(), GRAMMAR)
    terms, seen = _terms("u(k-1) + y(k-1) + tanh(y(k-2)) + v(k)*y(k-1)", GRAMMAR), set()
    for order in permutations(range(len(terms))):
        for is_new in (True, False):
            if is_new:
                bench.forget()
            entry, error, theta = bench.fit([terms[i] for i in order])
            assert entry == 0
            placed = np.empty(len(terms))
            placed[list(order)] = theta
            pool = bench.fitting.fits.value[: bench.fitting.fits.n_values[0]]
            seen.add((error, placed.tobytes(), pool.tobytes(), *_known(bench.fitting, 0)))
    assert len(seen) == 1


def test_a_fit_does_not_depend_on_what_the_tables_hold() -> None:
    """Tables so small that they forget again and again, and a large one that remembers all."""
    grammar = Grammar.narx(inputs=("u", "v"), functions=("tanh",), max_lag=2, max_degree=2)
    law, rng = TermPrior(grammar.alphabet, Prior()), np.random.default_rng(3)
    structures = [
        list(dict.fromkeys(law.decode(law.draw(rng)) for _ in range(rng.integers(1, 6))))
        for _ in range(60 if IS_COMPILED else 12)
    ]
    large = _bench(_data(), grammar)
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
            assert _known(large.fitting, entry) == _known(small.fitting, other)
        if repeat == 0:
            n_entries = large.fitting.fits.n_entries[0]
    assert large.fitting.fits.n_entries[0] == n_entries  # the second time everything was found
    assert n_forgotten > len(structures) / 4


def test_terms_of_inputs_alone_are_fitted_without_a_run() -> None:
    bench = _bench(_data(), GRAMMAR)
    terms = _terms("u(k-1) + u(k-2) + u(k)*v(k) + tanh(v(k))", GRAMMAR)
    bench.fitting.run.data.predicted[:] = math.nan
    _, error, theta = bench.fit(terms)
    assert np.isnan(bench.fitting.run.data.predicted).all()
    runs = FreeRuns(bench.engine.problem.data, TermPrior(GRAMMAR.alphabet, Prior()))
    encoded = [runs.law.encode(term) for term in terms]
    columns = Fitting(runs, COEFFICIENT).columns.matrix(encoded)
    expected, square, *_ = np.linalg.lstsq(columns, runs.measured)
    np.testing.assert_allclose(theta, expected, rtol=1e-6)
    assert error == pytest.approx(square[0], rel=1e-9)


def test_no_terms_are_the_measured_output_itself() -> None:
    bench = _bench(_data(), GRAMMAR)
    entry, error, _ = bench.fit([])
    assert error == pytest.approx(bench.engine.regression.target_norm**2, rel=1e-12)
    assert _volume(bench.engine.regression, bench.fitting, entry, 3.0) == 0.0
    found = np.zeros(1, dtype=np.bool_)
    _inside(bench.chain, bench.fitting, entry, np.zeros((1, 4)), 1e-300, found)
    assert found.all()


@pytest.mark.parametrize("text", ["u(k)^2 + abs(u(k))^2", "u(k)^2 + abs(u(k))^2 + y(k-1)"])
def test_terms_that_cannot_be_told_apart_have_no_fit(text: str) -> None:
    bench = _bench(_data(), GRAMMAR)
    entry, error, _ = bench.fit(_terms(text, GRAMMAR))
    assert error == math.inf
    assert bench.fitting.fits.entry.status[entry] == UNFITTABLE


def test_a_term_that_is_zero_everywhere_has_no_fit() -> None:
    records = [(record.inputs * [1.0, 0.0], record.output) for record in _data().records]
    data = Dataset.from_arrays(*map(list, zip(*records, strict=True)), names=("u", "v", "y"))
    for text in ("v(k)", "v(k)*y(k-1)", "u(k) + y(k-1) + v(k)*y(k-1)"):
        assert _bench(data, GRAMMAR).fit(_terms(text, GRAMMAR))[1] == math.inf


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
    bench, terms = _bench(data, grammar), _terms(text, grammar)
    rows = Rows.unscaled(data, 2)
    columns, output = rows.design(Structure(tuple(terms), data.names)), rows.fitted
    assert bench.run(terms, np.linalg.lstsq(columns, output)[0])[0] == math.inf
    _, error, theta = bench.fit(terms)
    assert error < 0.2 * bench.engine.regression.target_norm**2
    _assert_optimal(bench, terms, error, theta, 0.5 * theta)


def test_a_fit_far_beyond_the_level_is_given_up() -> None:
    """Linearised at the start, even its optimum is: a level above that is a fit, below it none."""
    bench, terms = _bench(_data(0.3), GRAMMAR), _terms("u(k-2) + y(k-1)", GRAMMAR)
    entry, error, _ = bench.fit(terms)
    foreseen = bench.fitting.fits.entry.foreseen[entry]
    assert 0.8 * error < foreseen < math.inf
    for factor, is_hopeless in ((1.001, False), (0.999, True)):
        bench.forget()
        entry, found, _ = bench.fit(terms, level=factor * foreseen / HOPELESS)
        assert found == (math.inf if is_hopeless else error)
        assert bench.fitting.fits.entry.status[entry] == (GIVEN_UP if is_hopeless else FITTED)
        assert 0.999 * foreseen / HOPELESS < bench.fitting.fits.entry.foreseen[entry] <= foreseen


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
        _inside(self.bench.chain, self.bench.fitting, self.entry, rows, square, found)
        return found


def _ellipsoid(text: str, pinned: str = "") -> Ellipsoid:
    grammar = GRAMMAR.with_initial(pinned) if pinned else GRAMMAR
    bench = _bench(_data(0.3), grammar, is_residual=bool(pinned))
    runs = FreeRuns(bench.engine.problem.data, TermPrior(grammar.alphabet, Prior()))
    head = f"{pinned} + " if pinned else ""
    terms = _terms(head + text, GRAMMAR)[::-1]
    for other in ("u(k)", TRUTH, "y(k-1) + y(k-3)"):
        bench.fit(list(dict.fromkeys(_terms(head + other, GRAMMAR))))
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
    volume = _volume(shape.bench.engine.regression, shape.bench.fitting, shape.entry, SQUARE)
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
    _draw(rng, shape.bench.chain, data, fitting, shape.entry, SQUARE, theta)
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
        _volume(shape.bench.engine.regression, shape.bench.fitting, shape.entry, SQUARE)
    )
    expected = volume / np.prod(2.0 * half)
    assert 0.02 < expected < 0.98
    assert abs(share - expected) < 4.8 * math.sqrt(expected * (1.0 - expected) / n_draws)


@pytest.mark.parametrize("pinned", ["u(k-1) + v(k)", "u(k-1) + y(k-1)"])
def test_pinned_terms_alone_have_no_volume_and_nothing_to_draw(pinned: str) -> None:
    grammar = GRAMMAR.with_initial(pinned)
    bench, terms = _bench(_data(0.3), grammar, is_residual=True), _terms(pinned, grammar)
    entry, error, theta = bench.fit(terms)
    assert error == pytest.approx(bench.run(terms, theta)[0], rel=1e-9)
    data, rng = bench.engine.regression, np.random.default_rng(0)
    before = rng.bit_generator.state
    assert _volume(data, bench.fitting, entry, SQUARE) == 0.0
    drawn = np.zeros((3, len(terms)))
    _draw(rng, bench.chain, data, bench.fitting, entry, SQUARE, drawn)
    assert (drawn == data.pinned_theta).all()
    assert rng.bit_generator.state == before


def test_a_white_box_whose_free_run_diverges_has_no_fit_of_its_own() -> None:
    """Whatever is halved: pinned coefficients stay as they are."""
    rng, n = np.random.default_rng(0), 400
    u, y = rng.standard_normal(n), np.zeros(n)
    for k in range(1, n):  # the input holds what would run away by itself
        u[k - 1] -= 0.5 * y[k - 1]
        y[k] = 1.2 * y[k - 1] + u[k - 1] + 0.1 * rng.standard_normal()
    grammar = Grammar.narx(max_lag=1, max_degree=2).with_initial("u(k-1) + y(k-1)")
    bench = _bench(Dataset.from_arrays(u, y), grammar, is_residual=True)
    for text in ("u(k-1) + y(k-1)", "u(k-1) + y(k-1) + u(k)"):
        assert bench.fit(_terms(text, grammar))[1] == math.inf
