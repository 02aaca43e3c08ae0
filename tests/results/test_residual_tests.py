"""Residual tests: their formula, how often they cry wolf, and what they see."""

from __future__ import annotations

import json
from math import sqrt

import numpy as np
import pytest
from tests.systems import quick, simulated

from adjoin import AdjoinError, Dataset, Model
from adjoin.inference.rows import Rows
from adjoin.results.residual_tests import FALSE_ALARMS, ResidualTest, residual_tests

Z = 3.3  # one-sided; false alarm 5e-4 a comparison
BILINEAR = "y(k) = 0.5*u(k-1) + 0.3*u(k-1)*y(k-1) - 0.2*y(k-2)"
CUBIC = "y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)"
MAX_LAG = 5

ITSELF = "residual with itself"
INPUT = "residual with input"
TIMES_INPUT = "residual with residual × input"
INPUT_SQUARED = "residual with input²"
SQUARES = "residual² with input²"
OUTPUT_INPUT = "output × residual with input²"
OUTPUT_SQUARED = "output × residual with residual²"


def fitted(
    truth: str,
    terms: str | None = None,
    n: int = 1000,
    seed: int = 0,
    noise: float = 0.3,
    **options,
) -> list[ResidualTest]:
    """Tests of least squares residuals of a structure on data of a system (by default, its own)."""
    rng = np.random.default_rng(seed)
    u = rng.uniform(-sqrt(3), sqrt(3), n) if options.get("bounded") else rng.standard_normal(n)
    disturbance = noise * rng.standard_normal(n)
    colour = options.get("colour", 0.0)
    for k in range(1, n):
        disturbance[k] += colour * disturbance[k - 1]
    y = Model.parse(truth, inputs="u").simulate(u, noise=disturbance)
    data = Dataset.from_arrays(u, y)
    structure = Model.parse(terms or truth, inputs="u").structure
    rows = Rows.unscaled(data, MAX_LAG)
    columns, output = rows.design(structure), rows.fitted
    theta = np.linalg.lstsq(columns, output, rcond=None)[0]
    return residual_tests([output - columns @ theta], [y[MAX_LAG:]], {"u": [u[MAX_LAG:]]})


def failed(tests: list[ResidualTest]) -> set[str]:
    return {test.name for test in tests if not test.is_passed}


def by_name(tests: list[ResidualTest]) -> dict[str, ResidualTest]:
    return {test.name: test for test in tests}


# The formula


def plain(a: list[np.ndarray], b: list[np.ndarray], lag: int) -> tuple[float, float]:
    """φ(τ) and z(τ) by their formulas, one product at a time."""
    total = squares = 0.0
    for x, w in zip(a, b, strict=True):
        for k in range(lag, len(x)):
            total += x[k] * w[k - lag]
            squares += (x[k] * w[k - lag]) ** 2
    n = sum(map(len, a))
    size = sum(v * v for x in a for v in x) * sum(v * v for x in b for v in x)
    return total / sqrt(size), total / max(sqrt(squares), sqrt(size / n))


def test_every_test_is_its_formula_and_never_reaches_across_records() -> None:
    rng = np.random.default_rng(3)
    lengths = (40, 3, 23)
    error, y, u = ([rng.gamma(2.0, size=n) for n in lengths] for _ in range(3))

    def centred(series: list[np.ndarray]) -> list[np.ndarray]:
        mean = sum(v for x in series for v in x) / sum(lengths)
        return [x - mean for x in series]

    def times(a: list[np.ndarray], b: list[np.ndarray]) -> list[np.ndarray]:
        return [x * w for x, w in zip(a, b, strict=True)]

    e, v = centred(error), centred(u)
    expected = {
        ITSELF: (e, e, 1),
        INPUT: (e, v, 0),
        TIMES_INPUT: (e, centred(times(e, v)), 1),
        INPUT_SQUARED: (e, centred(times(v, v)), 0),
        SQUARES: (centred(times(e, e)), centred(times(v, v)), 0),
        OUTPUT_INPUT: (centred(times(y, e)), centred(times(v, v)), 0),
        OUTPUT_SQUARED: (centred(times(y, e)), centred(times(e, e)), 1),
    }
    tests = residual_tests(error, y, {"u": u}, max_lag=9)
    assert [test.name for test in tests] == list(expected)
    for test in tests:
        a, b, first = expected[test.name]
        assert test.lag.tolist() == list(range(first, 10))
        for lag, correlation, z in zip(test.lag, test.correlation, test.z, strict=True):
            assert (correlation, z) == pytest.approx(plain(a, b, lag), abs=1e-12)
        assert test.n_samples == sum(lengths)
        assert test.n_compared == 9 + 10 + 9 + 3 * 10 + 9
        assert test.band == pytest.approx(1.96 / sqrt(66))


def test_a_correlation_across_records_would_be_seen() -> None:
    """The next record begins with what the last one ended with; nothing correlates inside."""
    a, b = np.array([1.0, 0, 0, 0, 0, -1.0]), np.array([-1.0, 0, 0, 0, 0, 1.0])
    silent = [np.zeros(6)] * 2
    (test, *_) = residual_tests([a, b], silent, {}, max_lag=1)
    assert test.correlation.tolist() == [0.0]


def test_which_lags_count_is_what_chance_leaves() -> None:
    def made(z: list[float], n_compared: int) -> ResidualTest:
        size = len(z)
        return ResidualTest(
            "x", "$x$", np.arange(size), np.array(z) / 50, np.array(z), 2500, n_compared, 1
        )

    alone = made([1.97, -2.9, 0.0], 1)  # two-sided 0.5 %: 2.807
    assert alone.limit == pytest.approx(2.8070, abs=1e-4)
    assert alone.is_significant.tolist() == [False, True, False]
    assert not alone.is_passed
    assert made([1.97, -2.9, 0.0], 10).is_passed  # 0.05 %: 3.481
    assert made([0.0], 10).limit == pytest.approx(3.4808, abs=1e-4)
    assert alone.summary == {
        "test": "x",
        "is_passed": False,
        "largest": -2.9 / 50,
        "lag": 1,
        "z": -2.9,
        "limit": alone.limit,
        "n_outside": 2,
        "most_outside": 2,  # of three: all three come by chance in 0.01 %, two in 0.7 %
        "n_lags": 3,
        "band": 1.96 / 50,
    }
    json.dumps(alone.summary, allow_nan=False)


def test_a_row_of_the_table_says_why_it_fails_or_passes() -> None:
    """One test fails by a z inside the field's band, one passes with all lags outside of it."""
    z = np.array([5.0] + [0.5] * 24)

    def row(z: np.ndarray, correlation: float) -> dict:
        value = np.full(25, correlation)
        summary = ResidualTest("x", "$x$", np.arange(25), value, z, 10_000, 175, 7).summary
        is_beyond = abs(summary["z"]) > summary["limit"]
        is_crowded = summary["n_outside"] > summary["most_outside"]
        assert summary["is_passed"] == (not (is_beyond or is_crowded))
        return summary

    assert not row(z, 0.004)["is_passed"]
    assert row(0.3 * z, 0.022)["is_passed"]
    assert row(0.3 * z, 0.022)["n_outside"] == 0
    crowd = row(np.array([2.0] * 9 + [0.0] * 16), 0.022)
    assert (crowd["is_passed"], crowd["n_outside"], crowd["most_outside"]) == (False, 9, 6)


def test_many_lags_that_are_large_are_as_telling_as_one_that_is_huge() -> None:
    """Of 25 lags, 5 outside 1.96 come by chance in 0.7 % of all tests, 6 in 0.1 %."""

    def made(n_outside: int, n_tests: int) -> ResidualTest:
        z = np.array([2.0] * n_outside + [0.0] * (25 - n_outside))
        return ResidualTest("x", "$x$", np.arange(25), z / 50, z, 2500, 25 * n_tests, n_tests)

    assert made(5, 1).is_passed
    assert made(5, 1).is_significant.sum() == 0
    assert not made(6, 1).is_passed
    assert made(6, 1).is_significant.tolist() == [True] * 6 + [False] * 19
    assert made(6, 7).is_passed
    assert not made(8, 7).is_passed


# How often they cry wolf


@pytest.mark.slow
@pytest.mark.parametrize("equation", [BILINEAR, CUBIC], ids=["bilinear", "cubic"])
@pytest.mark.parametrize("n", [300, 1000])
def test_true_models_seldom_fail(equation: str, n: int) -> None:
    """At most 1 % of true models fail any test; one-sided bound, false alarm 5e-4 each of four.

    Products with squares are skewed: with the error √Σa²b² alone it would be 2 to 3 % at n = 1000.
    """
    n_sets = 400
    n_failed = sum(bool(failed(fitted(equation, n=n, seed=seed))) for seed in range(n_sets))
    bound = n_sets * FALSE_ALARMS + Z * sqrt(n_sets * FALSE_ALARMS * (1 - FALSE_ALARMS))
    assert n_failed <= bound


def test_skewed_products_do_not_cry_wolf() -> None:
    """Squares of white noise against squares of white noise, where the plain error is too small.

    Where no large square meets another, the sum is negative and the plain error smaller than 1/√N.
    The worst of 600 sets: beyond the limit by that error, within it by ours.
    """
    worst_plain = worst = 0.0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        error, u, y = (rng.standard_normal(400) for _ in range(3))
        test = by_name(residual_tests([error], [y], {"u": [u]}))[SQUARES]
        a, b = (x - x.mean() for x in ((error - error.mean()) ** 2, (u - u.mean()) ** 2))
        for lag, z in zip(test.lag, test.z, strict=True):
            terms = a[lag:] * b[: len(b) - lag]
            worst_plain = max(worst_plain, abs(terms.sum()) / sqrt(terms @ terms) / test.limit)
            worst = max(worst, abs(z) / test.limit)
    assert worst_plain > 1.0 > worst


def test_the_error_is_larger_where_sizes_go_together() -> None:
    """Large where its own past is large, but of random sign: a fixed band would cry wolf."""
    rng = np.random.default_rng(0)
    n = 4000
    size = np.repeat(np.exp(1.5 * rng.standard_normal(n // 40)), 40)
    error = size * rng.standard_normal(n)
    test = by_name(residual_tests([error], [np.zeros(n)], {}))[ITSELF]
    assert np.abs(test.correlation * sqrt(n)).max() > test.limit
    assert test.is_passed


# What they see


def test_a_missing_linear_term_is_seen_by_the_linear_tests() -> None:
    found = failed(fitted("y(k) = 0.5*u(k-1) + 0.4*u(k-2)", "y(k) = u(k-1)"))
    assert INPUT in found
    tests = by_name(fitted("y(k) = 0.5*u(k-1) + 0.4*u(k-2)", "y(k) = u(k-1)"))
    assert tests[INPUT].summary["lag"] == 2
    assert tests[INPUT].summary["largest"] == pytest.approx(0.8, abs=0.05)  # 0.4/√(0.4² + 0.3²)


def test_a_missing_lag_of_the_output_is_seen() -> None:
    found = failed(fitted("y(k) = 0.5*u(k-1) + 0.6*y(k-1)", "y(k) = u(k-1)"))
    assert {ITSELF, INPUT} <= found


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_missing_square_is_seen_by_the_nonlinear_tests_only(seed: int) -> None:
    """The input is symmetric, so u² correlates with no past u; the noise is as large as it."""
    found = failed(
        fitted("y(k) = 0.5*u(k-1) + 0.3*u(k-1)^2", "y(k) = u(k-1)", seed=seed, bounded=True)
    )
    assert INPUT_SQUARED in found
    assert not found & {ITSELF, INPUT}


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_missing_product_is_seen_by_the_nonlinear_tests_only(seed: int) -> None:
    """u(k-1)·y(k-2) is white, as its input is, and correlates with no single past value.

    Its size goes with u² and with itself times the output, which the squares see.
    """
    found = failed(
        fitted(
            "y(k) = 0.5*u(k-1) + 0.3*y(k-1) + 0.5*u(k-1)*y(k-2)",
            "y(k) = u(k-1) + y(k-1)",
            seed=seed,
            bounded=True,
            n=2000,
        )
    )
    assert found & {SQUARES, OUTPUT_INPUT}
    assert not found & {ITSELF, INPUT}


def test_coloured_noise_is_seen_by_the_residuals_own_past() -> None:
    found = failed(fitted("y(k) = 0.5*u(k-1)", colour=0.5))
    assert found == {ITSELF}


# Odd data


def test_several_inputs_are_told_apart_by_name() -> None:
    rng = np.random.default_rng(0)
    wind, wave, error = (rng.standard_normal(500) for _ in range(3))
    left = error + 0.5 * np.roll(wave, 2)
    tests = residual_tests([left], [error], {"wind": [wind], "wave": [wave]})
    assert len(tests) == 1 + 2 + 2 * 4 + 1
    assert tests[0].n_compared == sum(len(test.lag) for test in tests)
    assert [test.name for test in tests[1:3]] == [f"{INPUT} wind", f"{INPUT} wave"]
    assert f"{INPUT} wave" in failed(tests)
    assert "residual² with input wind²" in by_name(tests)
    assert not any("wind" in name for name in failed(tests))


def test_without_inputs_there_are_two_tests() -> None:
    rng = np.random.default_rng(1)
    tests = residual_tests([rng.standard_normal(200)], [rng.standard_normal(200)], {})
    assert [test.name for test in tests] == [ITSELF, OUTPUT_SQUARED]
    y = Model.parse("y(k) = 0.7*y(k-1)").simulate(200, noise=rng.standard_normal(200))
    posterior = quick().fit(None, y).posterior_
    assert [test.name for test in posterior.residual_tests()] == [ITSELF, OUTPUT_SQUARED]


@pytest.mark.parametrize("level", [0.0, 0.1, 273.15])
def test_what_stands_still_correlates_with_nothing(level: float) -> None:
    rng = np.random.default_rng(0)
    error = rng.standard_normal(1000)
    still = np.full(1000, level)
    tests = by_name(residual_tests([error], [still + error], {"u": [still]}))
    for name in (INPUT, TIMES_INPUT, INPUT_SQUARED, SQUARES, OUTPUT_INPUT):
        assert not tests[name].z.any()
        assert tests[name].is_passed
    assert tests[ITSELF].z.any()


def test_an_input_of_two_levels_has_a_square_that_stands_still() -> None:
    rng = np.random.default_rng(0)
    u = 0.3 * np.repeat([1.0, -1.0], 300)
    rng.shuffle(u)
    tests = by_name(residual_tests([rng.standard_normal(600)], [u], {"u": [u]}))
    assert not tests[SQUARES].correlation.any()
    assert tests[INPUT].correlation.any()


def test_nothing_is_left_where_the_residuals_are_zero_or_rounding() -> None:
    u, y = simulated(n=300)
    rounding = 1e-15 * np.sin(np.arange(300))  # as correlated as can be
    for residual in (np.zeros(300), np.full(300, 0.1), rounding, 1e-10 * u):
        tests = residual_tests([residual], [y], {"u": [u]})
        assert all(test.is_passed and not test.correlation.any() for test in tests)
    assert not all(test.is_passed for test in residual_tests([1e-6 * u], [y], {"u": [u]}))


def test_data_without_noise_pass() -> None:
    """What is left then is the pull of the prior on the coefficients, far below the output."""
    posterior = quick().fit(*simulated(noise=0.0)).posterior_
    assert all(test.is_passed for test in posterior.residual_tests())


@pytest.mark.parametrize(("n", "largest"), [(2, 1), (7, 1), (8, 2), (99, 24), (100, 25), (500, 25)])
def test_lags_go_no_further_than_a_quarter_of_the_longest_record(n: int, largest: int) -> None:
    rng = np.random.default_rng(n)
    records = [rng.standard_normal(n), rng.standard_normal(1)]
    tests = residual_tests(records, records, {"u": records})
    assert {test.lag[-1] for test in tests} == {largest}
    assert all(np.isfinite(test.z).all() for test in tests)
    assert all(np.abs(test.correlation).max() < 1.0 + 1e-12 for test in tests)


@pytest.mark.parametrize("max_lag", [0, -1, 2.5, True])
def test_a_largest_lag_that_is_none_is_refused(max_lag) -> None:
    with pytest.raises(AdjoinError, match="max_lag must be a whole number from 1 on"):
        residual_tests([np.ones(9)], [np.ones(9)], {}, max_lag)


def test_the_posterior_tests_its_map_model() -> None:
    posterior = quick().fit(*simulated(n=300)).posterior_
    (record,) = posterior.data.records
    expected = residual_tests(
        posterior.residuals(), [record.output[2:]], {"u": [record.inputs[2:, 0]]}, 7
    )
    for test, other in zip(posterior.residual_tests(7), expected, strict=True):
        assert test.name == other.name
        np.testing.assert_array_equal(test.z, other.z)
    assert posterior.residual_tests()[0].lag[-1] == 25
