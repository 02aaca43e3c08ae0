"""Noise far below what inner products in doubles resolve, and terms that nearly repeat each other.

The oracle has 60 digits: `tests/naive/exact_evidence.py`.
"""

from __future__ import annotations

import math
import os

import numba
import numpy as np
import pytest
from tests.engines import prediction_engine
from tests.naive.exact_evidence import ExactTwin, log_evidence, squared_error

from adjoin import Dataset, Grammar, Structure
from adjoin.data.scaling import Scaling
from adjoin.inference import problem
from adjoin.inference.engines import workspace
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.problem import Problem
from adjoin.kernels import evidence
from adjoin.kernels.products import place_term, take_slot

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"


@numba.njit
def _gather(table, data, atom, degree, key, work):
    for i in range(degree.shape[0]):
        slot = take_slot(table, data, atom[i], degree[i], key[i], work.column)
        place_term(table, data, slot, work.current, i, i, work)


@numba.njit
def _evaluate(work, n, noise, data):
    return evidence.evaluate(work.current, n, noise, 1.0, 1.0, data.target_norm)


@numba.njit
def _evaluate_present(chain, data, table, work):
    return evidence.evaluate_present(chain, 1.0, data, table, work)


@numba.njit
def _errors(work, chain, data, table):
    plain = evidence.squared_error(work.current, chain, data.target_norm, work)
    clear = evidence.squared_error_clearly(work.current, chain, data.target_norm, work)
    doubled = evidence.squared_error_doubled(work.current, chain, data, table, work)
    return plain, clear, doubled


def drive(noise: float, n: int = 25_000) -> Dataset:
    """A double integrator with friction at 1 kHz, under a slowly varying torque.

    `noise` is the equation's, of the output's standard deviation without it.
    """
    rng = np.random.default_rng(0)
    torque, disturbance = np.zeros(n), rng.standard_normal(n)
    for k, step in enumerate(rng.standard_normal(n - 1), 1):
        torque[k] = 0.995 * torque[k - 1] + 0.1 * step

    def position(sd: float) -> np.ndarray:
        y = np.zeros(n)
        for k in range(2, n):
            y[k] = 1.999 * y[k - 1] - 0.9990005 * y[k - 2] + 1e-6 * torque[k - 1]
            y[k] += sd * disturbance[k]
        return y

    return Dataset.from_arrays(torque, position(noise * position(0.0).std()), ("u", "y"))


def _set_up(problem: Problem, text: str):
    """Table, scratch and chain of a structure, and its columns."""
    structure = Structure.parse(text, problem.data.names)
    n, most = len(structure), problem.encoding.max_degree
    chain, table = workspace.make_chain(n, most), workspace.make_table(n + 1, most)
    workspace.write_terms(chain, problem.encoding, structure.terms)
    work = workspace.make_work(problem.capacity, most)
    _gather(table, problem.regression, chain.atom, chain.degree, chain.key, work)
    return chain, table, work, problem.rows.design(structure)


TRUTH = "u(k-1) + y(k-1) + y(k-2)"
OTHERS = [
    "y(k-1) + y(k-2)",
    "u(k-1) + u(k-2) + y(k-1) + y(k-2)",
    "u(k-1) + y(k-1) + y(k-2) + y(k-3)",
    "u(k-1) + y(k-1)^2 + y(k-1) + y(k-2)",
    "u(k-1) + y(k-1) + y(k-3)",
    "u(k-1) + y(k-1) + y(k-2) + y(k-3) + y(k-4)",
]


@pytest.mark.skipif(not IS_COMPILED, reason="takes long")
def test_evidences_of_an_oversampled_drive_are_right_to_the_last_digit() -> None:
    """In doubles they are off by hundreds of nats, or there is none."""
    data = drive(1e-7)
    drive_problem = Problem(
        data,
        Grammar.narx(max_lag=4, max_degree=2).alphabet,
        Scaling.from_dataset(data, False, True),
    )
    regression, output = drive_problem.regression, drive_problem.rows.fitted
    noise = 1e-14 * float(np.mean(output**2))
    exact, found, plain = {}, {}, {}
    for text in [TRUTH, *OTHERS]:
        chain, table, work, columns = _set_up(drive_problem, text)
        n = columns.shape[1]
        plain[text] = _evaluate(work, n, noise, regression)
        chain.noise[0] = noise
        found[text] = _evaluate_present(chain, regression, table, work)
        exact[text] = log_evidence(columns, output, noise, 1.0, 1.0)
        theta = np.linalg.lstsq(columns, output)[0]
        chain.theta[:] = theta
        in_doubles, clear, error = _errors(work, chain, regression, table)
        assert error == pytest.approx(squared_error(columns, output, theta), rel=1e-9)
        if text == TRUTH:
            assert abs(in_doubles / error - 1.0) > 1e-4
            assert math.isnan(clear)
            assert 0.8 < error / len(output) / noise < 1.25
    for text in OTHERS:
        wanted = exact[text] - exact[TRUTH]
        assert found[text] - found[TRUTH] == pytest.approx(wanted, abs=1e-6)
        error = abs(plain[text] - plain[TRUTH] - wanted)
        assert math.isnan(error) or error > 10.0


def _sharp(noise: float, kind: str) -> Dataset:
    """Short records of a smooth output, or of inputs that nearly repeat each other."""
    rng = np.random.default_rng(3)
    inputs, outputs = [], []
    for n in (50, 30):
        u, y = rng.standard_normal((n, 2)), np.zeros(n)
        if kind == "duplicates":
            u[:, 1] = u[:, 0] + 1e-9 * u[:, 1]
        pole = 0.98 if kind == "smooth" else 0.2
        for k in range(2, n):
            y[k] = 2 * pole * y[k - 1] - pole**2 * y[k - 2] + 0.05 * u[k - 1, 0] ** 2
            y[k] += noise * rng.standard_normal()
        inputs.append(u)
        outputs.append(y)
    return Dataset.from_arrays(inputs, outputs, names=("u", "v", "y"))


@pytest.mark.parametrize("kind", ["smooth", "duplicates"])
@pytest.mark.parametrize("noise", [1e-9, 1e-6])
@pytest.mark.parametrize("power", [1.0, 0.4])
def test_the_compiled_chain_equals_one_with_60_digits(
    kind: str, noise: float, power: float
) -> None:
    grammar = Grammar.narx(inputs=("u", "v"), constant=False, max_lag=2, max_degree=2)
    n_samples = 700 if IS_COMPILED else 100
    data, prior = _sharp(noise, kind), Prior(expected_terms=40.0)
    engine = prediction_engine(data, grammar.alphabet, prior, Moves(), power)
    chain, twin = engine.start(2), ExactTwin(data, grammar.alphabet, prior, Moves(), power)
    chain.advance(n_samples)
    trace, plain = chain.finish(), list(twin.run(2, n_samples))
    names = [tuple(engine.encoding.digits(key) for key in keys) for keys in trace.structures]
    assert [names[i] for i in trace.structure] == [sample.terms for sample in plain]
    # To the five digits from which on twice the digits are used.
    theta = [value for sample in plain for value in sample.theta]
    np.testing.assert_allclose(trace.theta, theta, rtol=1e-5, atol=1e-10)
    for name in ("noise", "log_lik"):
        expected = [getattr(sample, name) for sample in plain]
        np.testing.assert_allclose(getattr(trace, name), expected, rtol=1e-5, err_msg=name)
    assert not trace.trouble.any()
    if IS_COMPILED:
        assert chain._table.rest.is_begun.any()  # twice the digits were asked for
        assert len(names) >= 7  # the comparison is worth something


def test_what_the_table_forgets_changes_no_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remainders are functions of terms and data, and move with the table as it grows."""
    monkeypatch.setattr(problem, "MAX_TERMS", 40)
    grammar = Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=4)
    n, traces, sizes = 8000 if IS_COMPILED else 200, [], []
    for table_bytes, piece in ((0, n), (2**27, n), (2**27, 97)):
        prior = Prior(expected_terms=8.0, lag_decay=0.9, degree_rate=2.0, power_weight=0.1)
        engine = prediction_engine(
            _sharp(1e-8, "smooth"), grammar.alphabet, prior, table_bytes=table_bytes
        )
        chain, done = engine.start(1), 0
        while done < n:
            chain.advance(min(piece, n - done))
            done += piece
        sizes.append(len(chain._table.key))
        assert chain.table_size <= max(table_bytes, 16 * (2 * engine.problem.capacity + 2) ** 2)
        traces.append(chain.finish())
    for other in traces[1:]:
        assert other.structures == traces[0].structures
        for name in ("structure", "theta", "noise", "log_lik", "move"):
            assert getattr(other, name).tobytes() == getattr(traces[0], name).tobytes(), name
    if IS_COMPILED:
        assert math.sqrt(traces[0].noise[-1]) < 1e-6
        assert sizes[0] < 100 < 256 < sizes[1]  # one forgot, the other grew


def test_inputs_that_nearly_repeat_each_other_are_kept_apart_whatever_the_noise() -> None:
    """Which of the two is in is undecided; neither their shares nor the noise depend on digits."""
    shares, ratios = [], []
    for noise in (1e-2, 1e-6):
        rng = np.random.default_rng(1)
        n = 300
        u, y = np.repeat(rng.standard_normal((n, 1)), 2, axis=1), np.zeros(n)
        u[:, 1] += 1e-9 * rng.standard_normal(n)
        for k, e in enumerate(noise * rng.standard_normal(n - 1), 1):
            y[k] = 0.5 * u[k - 1, 0] + 0.3 * y[k - 1] + e
        data = Dataset.from_arrays(u, y, ("u", "v", "y"))
        grammar = Grammar.arx(inputs=("u", "v"), max_lag=1)
        chain = prediction_engine(data, grammar.alphabet, Prior(noise_scale=1e-20)).start(0)
        chain.advance(40_000 if IS_COMPILED else 300)
        trace = chain.finish()
        assert not trace.trouble.any()
        columns = np.column_stack([u[:-1, 0], y[:-1]])
        left = y[1:] - columns @ np.linalg.lstsq(columns, y[1:])[0]
        kept = slice(len(trace.noise) // 4, None)
        ratios.append(np.mean(trace.noise[kept]) / (left @ left / (len(left) - 4.0)))
        sizes = np.array([len(keys) for keys in trace.structures])[trace.structure[kept]]
        shares.append(np.mean(sizes == 3))
    if IS_COMPILED:
        # σ² is IG with a relative spread of √(2/n): 5 standard errors of 30,000 draws
        assert ratios == pytest.approx([1.0, 1.0], abs=5 * math.sqrt(2 / 300 / 30_000) + 1e-3)
        assert shares[0] == pytest.approx(shares[1], abs=0.03)
        assert shares[0] > 0.05
