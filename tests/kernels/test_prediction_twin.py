"""The compiled chain equals the plain one draw for draw, from the same seed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.engines import prediction_engine
from tests.naive.prediction import Sample, Twin

from adjoin import Dataset, Grammar
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.engines.prediction_chain import PredictionChain
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.traces import ChainTrace

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

# Every probability differs from its inverse's: a ratio that drops or swaps one goes astray.
UNEVEN = Moves(
    stay=0.05,
    add_term=0.21,
    remove_term=0.10,
    add_factor=0.14,
    remove_factor=0.07,
    add_lag=0.09,
    remove_lag=0.15,
    swap_input=0.06,
    swap_output=0.13,
)
HYPER = Prior(coefficient_shape=1.5, coefficient_scale=0.2, noise_shape=0.7)
LOOSE = Prior(
    expected_terms=8.0,
    degree_rate=1.3,
    lag_decay=0.9,
    power_weight=0.3,
    power_rate=1.1,
    coefficient_sd=0.4,
    noise_shape=2.0,
    noise_scale=0.5,
    units="raw",
)
ABSENT = "u(k-6)*abs(v(k))^3*y(k-5) + sin(y(k-2))"
"""Lags, functions and a degree beyond those of the alphabet."""


def noisy_records(n_inputs: int = 1, lengths: tuple[int, ...] = (60,), seed: int = 0) -> Dataset:
    """Short noisy records, on which chains move freely; the output has a mean and a scale."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, y = rng.standard_normal((n, n_inputs)), np.zeros(n)
        noise = rng.standard_normal(n)
        for k in range(2, n):
            y[k] = 0.4 * y[k - 1] + 0.5 * u[k - 1, 0] * u[k, -1] - 0.3 * u[k - 2, -1] ** 2
            y[k] += 0.7 * noise[k]
        inputs.append(u)
        outputs.append(1.5 * y + 0.2)
    names = (*("u", "v", "w")[:n_inputs], "y")
    return Dataset.from_arrays(inputs, outputs, names=names)


SISO = Grammar.narx(max_lag=2, max_degree=3)
TWO = Grammar.narx(inputs=("u", "v"), functions=("abs", "tanh"), max_lag=2, max_degree=2)
# Signals differ in their hinges: some swaps lead to an atom that there is, and some do not.
BENT = Grammar.narx(
    inputs=("u", "v"),
    functions={"u": "pos[0.4]", "v": "pos[0.4], abs", "y": "pos[0.4], pos[-0.5]"},
    max_lag=2,
    max_degree=2,
)
CASES: dict[str, tuple[Dataset, Grammar, dict[str, Any], int]] = {
    "siso": (noisy_records(), SISO, {}, 2000),
    "siso, loose prior": (noisy_records(seed=1), SISO, {"prior": LOOSE}, 1500),
    "two inputs, functions": (noisy_records(2), TWO, {"prior": LOOSE, "moves": UNEVEN}, 1000),
    "two inputs, hinges": (
        noisy_records(2, seed=17),
        BENT,
        {"prior": LOOSE, "moves": UNEVEN},
        1000,
    ),
    "three inputs": (
        noisy_records(3),
        Grammar.narx(inputs=("u", "v", "w"), max_lag=1, max_degree=3),
        {"moves": UNEVEN},
        1000,
    ),
    "fixed terms": (
        noisy_records(seed=2),
        SISO.with_initial("u(k-1) + u(k)*y(k-1)"),
        {"moves": UNEVEN},
        1500,
    ),
    "fixed terms beyond the alphabet": (
        noisy_records(2, seed=3),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=2).with_initial(ABSENT),
        {"moves": UNEVEN},
        1200,
    ),
    "several records": (noisy_records(lengths=(40, 7, 25), seed=4), SISO, {}, 1500),
    "power": (noisy_records(seed=5), SISO, {"power": 0.3}, 1500),
    "power, fixed terms, hyperprior": (
        noisy_records(2, lengths=(30, 30), seed=6),
        TWO.with_initial("u(k)*abs(u(k)) + v(k)"),
        {"power": 1.7, "prior": HYPER, "moves": UNEVEN},
        800,
    ),
    "hyperprior": (noisy_records(seed=7), SISO, {"prior": HYPER}, 1500),
    "moves": (noisy_records(seed=8), SISO, {"moves": UNEVEN}, 2000),
    "powers only": (noisy_records(seed=9), SISO, {"prior": Prior(power_weight=1.0)}, 800),
    "products only": (noisy_records(seed=9), SISO, {"prior": Prior(power_weight=0.0)}, 800),
    "inputs alone": (
        noisy_records(2, seed=10),
        Grammar.volterra(inputs=("u", "v"), max_lag=2),
        {},
        600,
    ),
    "degree one": (noisy_records(seed=11), Grammar.arx(max_lag=4), {"moves": UNEVEN}, 800),
    # Not the default noise shape: its draws without data overflow, and the bounds clip them.
    "residual": (
        noisy_records(seed=12),
        SISO.with_initial("u(k-1)*u(k) + u(k-2)^2"),
        {"is_residual": True, "moves": UNEVEN},
        1500,
    ),
    "residual, an output lag": (
        noisy_records(seed=13),
        SISO.with_initial("y(k-1) + u(k-1)"),
        {"is_residual": True, "moves": UNEVEN},
        1500,
    ),
    "residual, fixed terms beyond the alphabet, several records": (
        noisy_records(2, lengths=(40, 9, 30), seed=14),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=2).with_initial(ABSENT + " + v(k)"),
        {"is_residual": True, "moves": UNEVEN},
        1000,
    ),
    "residual, power, hyperprior": (
        noisy_records(2, lengths=(30, 30), seed=15),
        TWO.with_initial("u(k)*abs(u(k)) + y(k-1)"),
        {"is_residual": True, "power": 0.6, "prior": HYPER, "moves": UNEVEN},
        800,
    ),
    "residual, likelihood off": (
        noisy_records(seed=16),
        SISO.with_initial("y(k-1) + u(k-1)"),
        {"is_residual": True, "power": 0.0, "prior": HYPER, "moves": UNEVEN},
        1500,
    ),
    "likelihood off": (
        noisy_records(),
        SISO,
        {"power": 0.0, "prior": HYPER, "moves": UNEVEN},
        1500,
    ),
}


def _decoded(trace: ChainTrace, engine: PredictionEngine) -> list[tuple[tuple[int, ...], ...]]:
    return [tuple(engine.encoding.digits(key) for key in keys) for keys in trace.structures]


def assert_same_chain(chain: PredictionChain, plain: list[Sample], twin: Twin) -> None:
    """Structures, coefficients, variances and counts of two chains, to rounding."""
    trace, engine, n_samples = chain.finish(), chain.engine, len(plain)
    names = _decoded(trace, engine)
    assert [names[i] for i in trace.structure] == [sample.terms for sample in plain]
    assert len(names) > n_samples / 40  # the comparison is worth something
    theta = [value for sample in plain for value in sample.theta]
    np.testing.assert_allclose(trace.theta, theta, rtol=1e-8, atol=1e-12)
    for name in ("noise", "coefficient", "log_lik", "log_prior"):
        expected = [getattr(sample, name) for sample in plain]
        np.testing.assert_allclose(getattr(trace, name), expected, rtol=1e-8, err_msg=name)
    assert trace.move.tolist() == list(twin.counts.values())
    assert not trace.trouble.any()
    assert trace.offset.tolist() == [0, *np.cumsum([len(sample.terms) for sample in plain])]


@pytest.mark.parametrize("case", CASES)
def test_the_compiled_chain_equals_the_plain_one(case: str) -> None:
    data, grammar, options, n_samples = CASES[case]
    n_samples = n_samples if IS_COMPILED else n_samples // 4
    options = {"prior": Prior(), "moves": Moves(), **options}
    twin = Twin(data, grammar.alphabet, **options)
    engine = prediction_engine(data, grammar.alphabet, **options)
    chain = engine.start(17)
    chain.advance(n_samples)
    assert_same_chain(chain, list(twin.run(17, n_samples)), twin)


@pytest.mark.parametrize("case", [case for case in CASES if case.startswith("residual")])
def test_pinned_coefficients_are_the_same_bits_in_every_draw(case: str) -> None:
    data, grammar, options, _ = CASES[case]
    engine = prediction_engine(data, grammar.alphabet, **options)
    chain = engine.start(1)
    chain.advance(300 if IS_COMPILED else 50)
    trace, regression = chain.finish(), engine.regression
    pinned = dict(zip(regression.pinned_key.tolist(), regression.pinned_theta, strict=True))
    assert len(pinned) == len(grammar.alphabet.fixed)
    theta = np.split(trace.theta, trace.offset[1:-1])
    for number, values in zip(trace.structure, theta, strict=True):
        found = dict(zip(trace.structures[number], values, strict=True))
        assert {key: found[key] for key in pinned} == pinned
        assert len(found) == len(values)


def test_every_which_sample_is_recorded() -> None:
    every = prediction_engine(noisy_records(), SISO.alphabet).start(3)
    thinned = prediction_engine(noisy_records(), SISO.alphabet, thin=7).start(3)
    for chain in (every, thinned):
        chain.advance(210)
    whole, part = every.finish(), thinned.finish()
    assert part.noise.tolist() == whole.noise[6::7].tolist()
    assert part.n_samples == 210
    names, wanted = _decoded(part, thinned.engine), _decoded(whole, every.engine)
    assert [names[i] for i in part.structure] == [wanted[i] for i in whole.structure[6::7]]
    theta = np.split(whole.theta, whole.offset[1:-1])[6::7]
    assert part.theta.tolist() == np.concatenate(theta).tolist()
    assert part.move.tolist() == whole.move.tolist()
