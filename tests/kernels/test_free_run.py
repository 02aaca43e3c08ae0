"""Free runs of structures as the sampler makes them: the model's own, and no longer than needed."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import NamedTuple

import numba
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.engines import abc_engine

from adjoin import Dataset, DivergenceWarning, Grammar, Model, Structure
from adjoin.data.scaling import Scaling
from adjoin.grammar.terms import Term, exponents
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.workspace import write_terms
from adjoin.inference.ladder import Ladder
from adjoin.kernels.free_run import FIRST_BLOCK, assemble, feeds_back, free_run_error
from adjoin.kernels.simulate import BLOCK
from adjoin.kernels.tables import FitWork

HINGES = ("pos[0]", "pos[0.4]", "pos[-0.3]")
FUNCTIONS = ("abs", "sin", "cos", "tanh", "sign", "exp", "sqrtabs", *HINGES)
NARX = Grammar.narx(inputs=("u", "v"), functions=FUNCTIONS, max_lag=3, max_degree=4)
PLAIN = Grammar.narx(inputs=("u", "v"), max_lag=3, max_degree=4)
# Blocks of 16, 32, 64, 128, 128 samples: records end within them, and one is all of two samples.
LENGTHS = (5, 2 * BLOCK + 41, 30)


@numba.njit
def _run(chain, data, run, limit):
    assemble(chain, data, run)
    return free_run_error(chain.n_terms[0], run, limit)


@numba.njit
def _feeds_back(chain, data, run):
    assemble(chain, data, run)
    return feeds_back(run, chain.n_terms[0])


class Bench(NamedTuple):
    """An engine's tables, with a structure in their scratch."""

    engine: AbcEngine
    fitting: FitWork

    def write(self, terms: list[Term], theta: list[float]) -> None:
        write_terms(self.fitting.scratch, self.engine.encoding, terms)
        self.fitting.scratch.theta[: len(theta)] = theta

    def run(self, terms: list[Term], theta: list[float], limit: float = math.inf):
        """The squared error and the number of steps."""
        self.write(terms, theta)
        with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn of infinities
            return _run(self.fitting.scratch, self.engine.regression, self.fitting.run, limit)


def _bench(data: Dataset, grammar: Grammar, scaling: Scaling | None = None) -> Bench:
    engine = abc_engine(data, grammar.alphabet, 10, ladder=Ladder(rungs=1), scaling=scaling)
    return Bench(engine, engine.start(0).fitting)


def _data(lengths: tuple[int, ...] = LENGTHS, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    inputs = [0.5 * rng.standard_normal((n, 2)) + 0.1 for n in lengths]
    outputs = [0.7 * rng.standard_normal(n) - 0.2 for n in lengths]
    return Dataset.from_arrays(inputs, outputs, names=("u", "v", "y"))


DATA = _data()
SCALING = Scaling(DATA.names, np.array([0.2, -0.1, 0.3]), np.array([0.4, 2.5, 0.6]))
KINDS: dict[str, tuple[Grammar, Scaling | None]] = {
    "functions": (NARX, None),
    "functions, scaled": (NARX, SCALING),
    "no functions": (PLAIN, SCALING),
    "a linear output": (Grammar.arx(inputs=("u", "v"), max_lag=3), None),
}


@cache
def _kind(name: str) -> Bench:
    return _bench(DATA, *KINDS[name])


def _simulated(bench: Bench, terms: list[Term], theta: list[float]) -> np.ndarray:
    """The output by `Model.simulate` in the user's units and from the engine's seeds, NaN where
    it diverges; in the engine's units."""
    problem, data = bench.engine.problem, bench.engine.problem.data
    scaling = problem.rows.scaling
    structure, first = Structure(tuple(terms), data.names), problem.rows.max_lag
    given = dict(zip(terms, theta, strict=True))
    model = Model(
        structure,
        [given[term] * scaling.coefficient_factor(exponents(term)) for term in structure],
        offsets=dict(zip(data.names.ordered, scaling.offset, strict=False)),
        limits=problem.limits,
    )
    inputs = [record.inputs for record in data.records]
    seeds = [record.output[:first] for record in data.records]
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        simulated = np.concatenate(model.simulate(inputs, seeds))
    return (simulated - scaling.offset[-1]) / scaling.scale[-1]


def _squared_error(bench: Bench, simulated: np.ndarray) -> float:
    total = float(np.sum((bench.engine.regression.target - simulated) ** 2))
    return total if math.isfinite(total) else math.inf


Drawn = tuple[str, list[Term], list[float]]


@st.composite
def models(draw: st.DrawFn, scales: tuple[float, ...] = (0.02, 0.3, 3.0)) -> Drawn:
    """Distinct terms in any order: of inputs, of outputs, mixed; of degree one to four."""
    name = draw(st.sampled_from(list(KINDS)))
    encoding = _kind(name).engine.encoding
    atom = st.integers(0, len(encoding.atoms) - 1)
    term = st.lists(atom, min_size=1, max_size=encoding.max_degree).map(sorted).map(tuple)
    drawn = draw(st.lists(term, max_size=9, unique=True))
    terms = [tuple(encoding.atoms[i] for i in term) for term in drawn]
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return name, terms, (draw(st.sampled_from(scales)) * rng.standard_normal(len(terms))).tolist()


@given(models())
@settings(max_examples=150)
def test_the_run_is_that_of_the_model_to_the_last_bit(drawn: Drawn) -> None:
    """Terms in canonical order and signals as they are: however chaotic, the same additions."""
    name, terms, theta = drawn
    bench = _kind(name.removesuffix(", scaled"))
    assume(bench.engine.problem.scaling is None)
    terms = list(Structure(tuple(terms), DATA.names))
    simulated = _simulated(bench, terms, theta)
    error, n_steps = bench.run(terms, theta)
    assert error == pytest.approx(_squared_error(bench, simulated), rel=1e-12)
    if error < math.inf:
        assert bench.fitting.run.data.predicted.tolist() == simulated.tolist()
        assert n_steps == bench.engine.regression.n_rows
    is_fed_back = any(atom.signal == "y" for term in terms for atom in term)
    found = _feeds_back(bench.fitting.scratch, bench.engine.regression, bench.fitting.run)
    assert found == is_fed_back


@given(models(scales=(0.01, 0.05)))
@settings(max_examples=150)
def test_neither_the_order_of_terms_nor_units_change_a_run(drawn: Drawn) -> None:
    """Coefficients are small: what rounding does to them dies out."""
    name, terms, theta = drawn
    bench = _kind(name)
    simulated = _simulated(bench, terms, theta)
    error, _ = bench.run(terms, theta)
    assert error == pytest.approx(_squared_error(bench, simulated), rel=1e-9)
    np.testing.assert_allclose(bench.fitting.run.data.predicted, simulated, rtol=1e-7, atol=1e-9)


@given(models(), st.floats(0.0, 2.0))
@settings(max_examples=150)
def test_it_stops_if_and_only_if_the_sum_passes_the_limit(drawn: Drawn, share: float) -> None:
    name, terms, theta = drawn
    bench = _kind(name)
    full, n_full = bench.run(terms, theta)
    assume(full < math.inf)
    limit = share * full
    error, n_steps = bench.run(terms, theta, limit)
    assert error == (full if full <= limit else math.inf)
    assert n_steps <= n_full
    if error == math.inf and share < 0.01:
        assert n_steps < n_full
    # The limit itself is still allowed, and the number below it is not.
    assert bench.run(terms, theta, full) == (full, n_full)
    assert bench.run(terms, theta, math.nextafter(full, 0.0))[0] == math.inf
    assert bench.run(terms, theta)[0] == full  # whatever was left behind is not read


def test_a_run_that_is_stopped_is_stopped_after_the_block_that_passes_the_limit() -> None:
    """Blocks of 16, 32, 64, 128, 128 …; with no terms the residual is the output."""
    data = _data((500,), seed=1)
    bench = _bench(data, PLAIN)
    y = data.records[0].output[3:]
    total = np.cumsum(y**2)
    ends, width = [], FIRST_BLOCK
    while not ends or ends[-1] < len(y):
        ends.append(min((ends[-1] if ends else 0) + width, len(y)))
        width = min(2 * width, BLOCK)
    for k in range(0, len(y), 7):
        limit = 0.5 * (total[k] + (total[k - 1] if k else 0.0))  # sample k takes it past the limit
        error, n_steps = bench.run([], [], limit)
        assert error == math.inf
        assert n_steps == next(end for end in ends if end > k)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y(k-1)", 3.0),
        ("y(k-1)^2", 50.0),
        ("y(k-1)*y(k-2)*y(k-3)*u(k)", 1e5),
        ("exp(y(k-1))", 5.0),
        ("u(k)", 1e200),
        ("u(k)", math.nan),
        ("y(k-1)", math.inf),
    ],
)
def test_divergence_is_an_infinite_error(text: str, value: float) -> None:
    bench = _kind("functions")
    (term,) = Structure.parse(text, DATA.names).terms
    error, n_steps = bench.run([term], [value])
    assert error == math.inf
    assert n_steps <= bench.engine.regression.n_rows
    assert bench.run([term], [1e-3])[0] < math.inf  # nothing of it is left


@pytest.mark.parametrize("scaling", [None, SCALING])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_run_is_lost_beyond_ten_half_ranges_of_the_output(
    scaling: Scaling | None, sign: float
) -> None:
    """Of all records, in raw units: the run's farthest sample is just inside, and just outside."""
    signed = _data((60, 40), seed=2)
    inputs = [np.abs(record.inputs) for record in signed.records]
    data = Dataset.from_arrays(inputs, signed.outputs, names=("u", "v", "y"))
    offset, scale = (scaling.offset, scaling.scale) if scaling else (np.zeros(3), np.ones(3))
    y = np.concatenate(data.outputs)
    middle, half = (y.max() + y.min()) / 2.0, (y.max() - y.min()) / 2.0
    u = np.concatenate([record.inputs[3:, 0] for record in data.records])
    farthest = ((u - offset[0]) / scale[0]).max()
    bench = _bench(data, PLAIN, scaling)
    (term,) = Structure.parse("u(k)", data.names).terms
    for share, is_kept in ((0.9999, True), (1.0001, False)):
        wanted = (middle + sign * share * 10.0 * half - offset[-1]) / scale[-1]
        error, _ = bench.run([term], [wanted / farthest])
        assert (error < math.inf) == is_kept
