"""The table of inner products: right entries, bounded memory, and no numbers that are none."""

from __future__ import annotations

import os
from itertools import pairwise
from typing import Any

import numba
import numpy as np
import pytest
from tests.engines import prediction_engine
from tests.naive.prediction import Columns
from tests.naive.prior import TermPrior

from adjoin import AdjoinError, Dataset, Grammar
from adjoin.grammar.encoding import Encoding
from adjoin.inference import problem
from adjoin.inference.engines import workspace
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.inference.traces import ChainTrace
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import ROWS, fill_column, place_term, take_slot
from adjoin.kernels.tables import ProductTable

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
LENGTHS = (2 * ROWS + 9, 30, 11, ROWS + 5) if IS_COMPILED else (45, 30, 11)


@numba.njit
def _gather(table, data, atom, degree, key, work):
    """Enter terms one by one, as the sampler does."""
    for i in range(degree.shape[0]):
        slot = take_slot(table, data, atom[i], degree[i], key[i], work.column)
        place_term(table, data, slot, work.current, i, i, work)


@numba.njit
def _column(data, atom, degree, block, column):
    fill_column(data, atom, degree, block, column)


def _records(lengths: tuple[int, ...], n_inputs: int = 1, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    inputs = [rng.standard_normal((n, n_inputs)) + 0.3 for n in lengths]
    outputs = [rng.standard_normal(n) - 0.1 for n in lengths]
    return Dataset.from_arrays(inputs, outputs, names=(*("u", "v")[:n_inputs], "y"))


def _assert_finite(trace: ChainTrace) -> None:
    for name in ("theta", "noise", "coefficient", "log_lik", "log_prior"):
        assert np.isfinite(getattr(trace, name)).all(), name


def _same(left: ChainTrace, right: ChainTrace) -> None:
    for name, value in left._asdict().items():
        other = getattr(right, name)
        if isinstance(value, np.ndarray):
            assert value.tobytes() == other.tobytes(), name
        else:
            assert value == other, name


def test_entries_equal_numpy() -> None:
    grammar = Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=4, max_degree=5)
    data = _records(LENGTHS, n_inputs=2)
    law, encoding = TermPrior(grammar.alphabet, Prior()), Encoding(grammar.alphabet)
    columns, rng = Columns(data, law), np.random.default_rng(1)
    terms = list({law.draw(rng) for _ in range(30)})
    terms += [tuple(sorted(rng.choice(law.derivable, size=d).tolist())) for d in (1, 2, 3, 4, 5, 5)]
    terms = list(dict.fromkeys(terms))
    regression, n = Problem(data, grammar.alphabet).regression, len(terms)
    table, work = workspace.make_table(n + 1, 5), workspace.make_work(n, 5)
    atom = np.full((n, 5), -1, dtype=np.int64)
    for row, term in zip(atom, terms, strict=True):
        row[: len(term)] = term
    degree = np.array([len(term) for term in terms], dtype=np.int64)
    key = np.array([encoding.key(law.decode(term)) for term in terms], dtype=np.int64)
    for _ in range(2):  # the second time everything is found
        _gather(table, regression, atom, degree, key, work)
        assert table.size[0] == n

    matrix, output = columns.matrix(terms), columns.output
    norm = np.sqrt((matrix**2).sum(axis=0))
    np.testing.assert_allclose(table.norm[:n], norm, rtol=1e-12)
    np.testing.assert_allclose(
        table.target[:n], matrix.T @ output / norm / np.linalg.norm(output), atol=1e-12
    )
    correlation = matrix.T @ matrix / np.outer(norm, norm)
    np.testing.assert_allclose(table.correlation[:n, :n], correlation, atol=1e-12)
    upper = np.triu_indices(n)
    assert work.current.correlation[:n, :n][upper].tolist() == (
        table.correlation[:n, :n][upper].tolist()
    )
    assert regression.n_rows == len(output)
    assert regression.target_norm == pytest.approx(np.linalg.norm(output), rel=1e-14)


@pytest.mark.parametrize("degree", range(6))
def test_columns_of_any_degree(degree: int) -> None:
    grammar = Grammar.narx(inputs=("u", "v"), max_lag=3, max_degree=5)
    data = _records(LENGTHS, n_inputs=2, seed=degree)
    encoding = Encoding(grammar.alphabet)
    regression, column = Problem(data, grammar.alphabet).regression, np.full(ROWS, np.nan)
    columns = Columns(data, TermPrior(grammar.alphabet, Prior()))
    term = tuple(sorted(np.random.default_rng(degree).choice(len(encoding.atoms), degree).tolist()))
    atom, parts = np.array([*term, *[-1] * (5 - degree)], dtype=np.int64), []
    for block, (start, stop) in enumerate(zip(regression.start, regression.stop, strict=True)):
        _column(regression, atom, degree, block, column)
        parts.append(column[: stop - start].copy())
    expected = columns.term(term) if term else np.ones(len(columns.output))
    np.testing.assert_allclose(np.concatenate(parts), expected, rtol=1e-14)


def test_blocks_cover_each_record_once_beyond_its_first_window() -> None:
    grammar, data = Grammar.narx(max_lag=5, max_degree=1), _records((ROWS + 5, 7, 2 * ROWS + 5 + 1))
    regression = Problem(data, grammar.alphabet).regression
    covered = [
        k
        for start, stop in zip(regression.start, regression.stop, strict=True)
        for k in range(start, stop)
    ]
    edges = np.cumsum([0, *map(len, data.records)])
    wanted = [k for a, b in pairwise(edges) for k in range(a + 5, b)]
    assert covered == wanted
    assert (regression.stop - regression.start).max() <= ROWS


WIDE = Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=5, max_degree=4)
RESTLESS = Prior(expected_terms=12.0, lag_decay=0.95, degree_rate=1.0, noise_scale=1.0)


@pytest.mark.parametrize("hyper", [False, True])
def test_a_small_table_gives_the_same_chain(hyper: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Terms come and go: the small table forgets many times, the large one grows."""
    monkeypatch.setattr(problem, "MAX_TERMS", 40)
    more = {"coefficient_shape": 2.0, "coefficient_scale": 0.5} if hyper else {}
    prior = Prior(**{**RESTLESS.settings, **more})
    n_samples = 40_000 if IS_COMPILED else 1200
    data, traces, sizes = _records((60, 40), n_inputs=2), [], []
    for table_bytes in (0, 8 * 200**2, 2**27):
        engine = prediction_engine(data, WIDE.alphabet, prior, table_bytes=table_bytes)
        chain, largest = engine.start(4), 0
        smallest_table = 8 * (2 * engine.problem.capacity + 2) ** 2
        done = 0
        while done < n_samples:
            chain.advance(min(997, n_samples - done))
            done += 997
            assert chain.table_size <= max(table_bytes, smallest_table)
            known = chain._table.key[: chain._table.size[0]]
            assert len(np.unique(known)) == len(known)  # found again, not entered twice
            largest = max(largest, chain.table_size)
        sizes.append(largest)
        traces.append(chain.finish())
    _same(traces[0], traces[1])
    _same(traces[0], traces[2])
    seen = {key for keys in traces[0].structures for key in keys}
    assert sizes[0] < sizes[1] <= sizes[2]
    if IS_COMPILED:
        assert len(seen) > 500  # far more terms than the small table holds
        assert sizes[2] > 8 * 1000**2


def test_a_crowded_structure_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(problem, "MAX_TERMS", 3)
    chain = prediction_engine(_records((50,), 2), WIDE.alphabet, RESTLESS).start(0)
    chain.advance(3000 if IS_COMPILED else 300)
    trace = chain.finish()
    assert trace.trouble[2] > 0
    assert max(map(len, trace.structures)) == 3
    _assert_finite(trace)


def _run(data: Dataset, grammar: Grammar, seed: int = 0, n: int = 4000, **options: Any):
    n = n if IS_COMPILED else n // 20
    with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn where kernels give infinities
        chain = prediction_engine(data, grammar.alphabet, **options).start(seed)
        chain.advance(n)
    trace = chain.finish()
    _assert_finite(trace)
    assert (trace.noise > 0.0).all()
    return trace


CUBIC = Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=3)


@pytest.mark.parametrize("exponent", [-24, -12, 0, 12, 24])
@pytest.mark.parametrize("target_exponent", [-24, 0, 24])
def test_any_units_give_finite_draws(exponent: int, target_exponent: int) -> None:
    """Columns as large and small as signals may be make them; the prior follows or not."""
    rng = np.random.default_rng(2)
    u, y = rng.standard_normal((80, 2)), rng.standard_normal(80)
    u[:, 0] *= 10.0**exponent
    data = Dataset.from_arrays(
        u, (y + rng.standard_normal(80)) * 10.0**target_exponent, ("u", "v", "y")
    )
    for units in ("standard", "raw"):
        for seed in range(3):
            trace = _run(data, CUBIC, seed, prior=Prior(units=units))
            if exponent == target_exponent == 0:
                assert not trace.trouble.any()


def test_a_chain_starts_from_every_seed() -> None:
    """exp(u) of a raw signal overflows; a grammar that can say so must still be sampled."""
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(1e3 * rng.standard_normal(40), rng.standard_normal(40))
    grammar = Grammar.narx(functions="exp", max_lag=1, max_degree=3)
    for seed in range(40):
        _run(data, grammar, seed, n=100)


def test_a_fixed_term_in_huge_units_does_not_freeze_the_chain() -> None:
    rng = np.random.default_rng(0)
    u, y = 1e24 * rng.standard_normal(40), 1e-24 * rng.standard_normal(40)
    grammar = Grammar.narx(max_lag=1, max_degree=1).with_initial("u(k)")
    trace = _run(Dataset.from_arrays(u, y), grammar)
    assert trace.move[1:, 2].sum() > 0


def test_units_do_not_change_the_law() -> None:
    """With units in powers of two, θ in units too, a linear chain is the same to rounding."""
    rng = np.random.default_rng(3)
    u, y = rng.standard_normal(60), rng.standard_normal(60)
    scale = 2.0**80
    grammar = Grammar.fir(max_lag=4, constant=False)
    plain = _run(Dataset.from_arrays(u, y), grammar, prior=Prior(coefficient_sd=1.0))
    small = _run(Dataset.from_arrays(u / scale, y), grammar, prior=Prior(coefficient_sd=scale))
    assert small.structures == plain.structures
    assert small.structure.tolist() == plain.structure.tolist()
    np.testing.assert_allclose(small.theta / scale, plain.theta, rtol=1e-9)
    np.testing.assert_allclose(small.noise, plain.noise, rtol=1e-9)


@pytest.mark.parametrize("is_fixed", [False, True])
def test_a_column_of_zeros_is_a_term_that_the_data_say_nothing_about(is_fixed: bool) -> None:
    rng = np.random.default_rng(4)
    u = np.column_stack([np.zeros(70), rng.standard_normal(70)])
    y = u[:, 1] + 0.5 * rng.standard_normal(70)
    grammar = CUBIC.with_initial("u(k) + v(k)") if is_fixed else CUBIC
    trace = _run(Dataset.from_arrays(u, y, ("u", "v", "y")), grammar, moves=Moves())
    assert not trace.trouble.any()
    for y in (np.zeros(70), np.full(70, 3.0)):
        _run(Dataset.from_arrays(u, y, ("u", "v", "y")), grammar)


@pytest.mark.skipif(not IS_COMPILED, reason="plain Python divides by no zero")
@pytest.mark.parametrize("power", [0.0, 1e-12])
def test_noise_draws_that_overflow_are_held_within_bounds(power: float) -> None:
    """Hardly any data and a flat prior: nearly every gamma draw is 0."""
    trace = _run(_records((30,)), Grammar.narx(max_lag=1), power=power)
    assert trace.noise.max() == 1e290


# Noise far below what the digits of the columns resolve: terms that equal each other are singular.
SHARP = Prior(noise_shape=5.0, noise_scale=1e-24, coefficient_sd=10.0, units="raw")


def _twins(kind: str) -> Dataset:
    rng = np.random.default_rng(5)
    u = rng.standard_normal((90, 2))
    if kind == "signs":  # u³ = u, and u² is constant
        u = np.sign(u)
    elif kind == "equal inputs":
        u[:, 1] = u[:, 0]
    else:
        u[:, 1] = -3.0 * u[:, 0]
    y = 0.8 * u[:, 0] + 0.3 * np.roll(u[:, 1], 1)
    return Dataset.from_arrays(u, y, ("u", "v", "y"))


@pytest.mark.parametrize("kind", ["signs", "equal inputs", "proportional inputs"])
def test_collinear_terms_are_refused_and_counted(kind: str) -> None:
    trace = _run(_twins(kind), CUBIC, prior=SHARP, n=8000)
    assert trace.trouble[0] > 0
    assert trace.move[1:, 2].sum() > 0
    # With noise the prior on coefficients keeps the same terms apart, and nothing is refused.
    trace = _run(_twins(kind), CUBIC, n=8000)
    assert not trace.trouble.any()


@pytest.mark.parametrize("kind", ["signs", "equal inputs"])
def test_collinear_fixed_terms(kind: str) -> None:
    """Harmless under noise; where no digits are left, an error that says what to look at."""
    same = {"signs": "u(k) + u(k)^3", "equal inputs": "u(k) + v(k)"}[kind]
    grammar = CUBIC.with_initial(same)
    _run(_twins(kind), grammar)
    # Harmless too where a double has no digits left, since then twice as many are used.
    _run(_twins(kind), grammar, prior=Prior(coefficient_sd=1e12, units="raw"))
    huge = Prior(coefficient_sd=1e20, units="raw")
    with pytest.raises(AdjoinError, match="cannot be told apart"):
        _run(_twins(kind), grammar, prior=huge)


def test_noise_draws_that_leave_no_digits_are_refused_and_counted() -> None:
    """Equal fixed terms are singular below σ² = 6e-4, where a third of the draws would fall."""
    rng = np.random.default_rng(6)
    u = np.repeat(rng.standard_normal((60, 1)), 2, axis=1)
    data = Dataset.from_arrays(u, u[:, 0] + 0.03 * rng.standard_normal(60), ("u", "v", "y"))
    prior = Prior(noise_shape=0.5, noise_scale=1e-4, coefficient_sd=1e13, units="raw")
    grammar = Grammar.fir(inputs=("u", "v"), max_lag=0).with_initial("u(k) + v(k)")
    trace = _run(data, grammar, prior=prior, power=0.02, n=20_000)
    assert 0.1 < trace.trouble[1] / trace.n_samples < 0.9
    assert trace.noise.min() > 3e-4
    assert len(np.unique(trace.noise)) == trace.n_samples - trace.trouble[1]


def test_every_term_of_a_full_table_is_found_again() -> None:
    grammar, data = Grammar.narx(max_lag=3, max_degree=3), _records((40,))
    encoding = Encoding(grammar.alphabet)
    law = TermPrior(grammar.alphabet, Prior())
    terms, regression = law.terms, Problem(data, grammar.alphabet).regression
    n = len(terms)
    table, work = workspace.make_table(n + 1, 3), workspace.make_work(n, 3)
    atom = np.array([[*term, *[-1] * (3 - len(term))] for term in terms], dtype=np.int64)
    degree = np.array([len(term) for term in terms], dtype=np.int64)
    key = np.array([encoding.key(law.decode(term)) for term in terms], dtype=np.int64)
    _gather(table, regression, atom, degree, key, work)
    assert _slots(table, regression, atom, degree, key, work) == list(range(n))
    assert table.size[0] == n


def _slots(
    table: ProductTable,
    data: Regression,
    atom: np.ndarray,
    degree: np.ndarray,
    key: np.ndarray,
    work: Any,
) -> list[int]:
    _gather(table, data, atom, degree, key, work)
    return work.current.slot[: len(key)].tolist()
