"""The compiled recursion equals the plain one to the last bit, on random models."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.naive import simulate as naive
from tests.strategies import structures

from adjoin import Model
from adjoin.data.names import SignalNames
from adjoin.grammar import Structure
from adjoin.kernels.simulate import BLOCK
from adjoin.modelling.simulation import WIDEST, Bounds, free_run, predict

NAMES = SignalNames(("u", "v"), "y")
LENGTHS = (2 * BLOCK + 37, 40)


@st.composite
def models(draw: st.DrawFn) -> tuple[Structure, np.ndarray]:
    structure = draw(structures(NAMES, max_terms=10))
    scale = draw(st.sampled_from([1.0, 1e-3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    return structure, scale * rng.standard_normal(len(structure))


def _records(seed: int) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
    rng = np.random.default_rng(seed)
    inputs = [0.5 * rng.standard_normal((n, 2)) for n in LENGTHS]
    outputs = [0.5 * rng.standard_normal(n) for n in LENGTHS]
    noise = [0.01 * rng.standard_normal(n) for n in LENGTHS]
    return inputs, outputs, noise


def _dictionary(record: np.ndarray) -> naive.Series:
    return {"u": record[:, 0].tolist(), "v": record[:, 1].tolist()}


def _agree(
    fast: np.ndarray, diverged: int | None, slow: list[float], bounds: Bounds = WIDEST
) -> None:
    stop = len(slow) if diverged is None else diverged
    assert fast[:stop].tolist() == slow[:stop]
    if diverged is not None:
        assert np.isnan(fast[stop:]).all()
        assert len(slow) == stop + 1
        assert not bounds[0] <= slow[stop] <= bounds[1]


BOUNDS = st.sampled_from([WIDEST, (-1.5, 4.0), (-1e-3, 1e-3), (-0.2, 1e100)])


@given(models(), st.integers(0, 1000), st.booleans(), BOUNDS)
@settings(max_examples=80)
def test_free_run_equals_the_plain_loop(
    model: tuple[Structure, np.ndarray], seed: int, with_noise: bool, bounds: Bounds
) -> None:
    structure, theta = model
    inputs, outputs, noise = _records(seed)
    seeds = [y[: structure.max_lag + extra] for y, extra in zip(outputs, (0, 3), strict=True)]
    with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn where kernels give infinities
        run = free_run(structure, theta, inputs, seeds, noise if with_noise else None, bounds)
    for i, record in enumerate(inputs):
        slow = naive.free_run(
            structure,
            theta.tolist(),
            _dictionary(record),
            seeds[i].tolist(),
            len(record),
            noise[i].tolist() if with_noise else None,
            bounds,
        )
        if any(atom.signal == "y" for term in structure for atom in term):
            _agree(run.series[i], run.diverged[i], slow, bounds)
        else:  # nothing is fed back, so that what is lost is lost alone
            assert run.diverged[i] == (len(slow) - 1 if len(slow) < len(record) else None)
            kept = run.series[i][len(seeds[i]) :]
            kept = kept[~np.isnan(kept)]
            assert ((kept >= bounds[0]) & (kept <= bounds[1])).all()


@given(models(), st.integers(0, 1000))
@settings(max_examples=40)
def test_one_step_prediction_equals_the_plain_loop(
    model: tuple[Structure, np.ndarray], seed: int
) -> None:
    structure, theta = model
    theta = 1e-2 * theta  # noise terms feed residuals back, which must not explode either
    inputs, outputs, _ = _records(seed)
    run = predict(structure, theta, inputs, outputs)
    for i, record in enumerate(inputs):
        slow, _ = naive.one_step(
            structure, theta.tolist(), _dictionary(record), outputs[i].tolist()
        )
        assert run.diverged[i] is None
        _agree(run.series[i], None, slow)


STEPS = st.sampled_from([2, 3, 7, BLOCK + 5])


@given(models(), st.integers(0, 1000), STEPS, st.booleans(), st.sampled_from([WIDEST, (-0.3, 0.2)]))
@settings(max_examples=30)
def test_prediction_several_steps_ahead_equals_the_plain_loop(
    model: tuple[Structure, np.ndarray], seed: int, steps: int, with_noise: bool, bounds: Bounds
) -> None:
    structure, theta = model
    theta = 1e-2 * theta
    inputs, outputs, noise = ([x[-150:] for x in series] for series in _records(seed))
    drawn = noise if with_noise else None
    run = predict(structure, theta, inputs, outputs, steps, drawn, bounds)
    for i, record in enumerate(inputs):
        slow = naive.steps_ahead(
            structure,
            theta.tolist(),
            _dictionary(record),
            outputs[i].tolist(),
            steps,
            noise[i].tolist() if with_noise else None,
            bounds,
        )
        np.testing.assert_array_equal(run.series[i], slow)
        lost = np.flatnonzero(np.isnan(slow))
        assert run.diverged[i] == (lost[0] if len(lost) else None)


def test_noise_on_a_one_step_prediction_is_added_and_not_fed_back() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) + u(k)")
    u, y, noise = np.random.default_rng(7).standard_normal((3, 20))
    noisy, plain = model.predict(u, y, noise=noise), model.predict(u, y)
    assert noisy[0] == y[0]
    np.testing.assert_allclose(noisy[1:], plain[1:] + noise[1:])


def test_a_horizon_beyond_the_record_is_the_free_run() -> None:
    model = Model.parse("y(k) = 0.5*y(k-1) - 0.1*y(k-2)^2*u(k)+ 0.3*u(k)")
    rng = np.random.default_rng(5)
    u, y = rng.standard_normal(700), rng.standard_normal(700)
    ahead = model.predict(u, y, steps_ahead=10_000)
    assert ahead.tolist() == model.simulate(u, y[:2]).tolist()


def test_records_do_not_see_each_other() -> None:
    model = Model.parse("y(k) = 0.5*y(k-3) + u(k-4)")
    rng = np.random.default_rng(6)
    u = [rng.standard_normal(n) for n in (30, 21, 300)]
    y = [rng.standard_normal(len(record)) for record in u]
    together = model.predict(u, y)
    apart = [model.predict(a, b) for a, b in zip(u, y, strict=True)]
    assert [x.tolist() for x in together] == [x.tolist() for x in apart]
