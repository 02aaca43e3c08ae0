"""Small runs to save, and what it means that two are the same."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Posterior, Prior
from adjoin.data.names import SignalNames
from adjoin.data.scaling import Scaling
from adjoin.exchange.run_file import read_run
from adjoin.inference.traces import LadderTrace


def load(path: Path) -> Posterior:
    return Posterior(*read_run(path))


def fitted() -> Posterior:
    """Two chains on one record, as a user would have them."""
    return quick().fit(*simulated()).posterior_


def rich() -> Posterior:
    """Two inputs, functions, fixed terms beyond the grammar's lags, two records, held-out data."""
    u, y = simulated("y(k) = 0.5*u1(k-1) + 0.4*abs(u2(k)) + 0.3*y(k-1)", n=300, n_inputs=2)
    data = Dataset.from_arrays(
        [u[:140], u[140:260]], [y[:140], y[140:260]], ["force", "e", "z"], 0.01, "Versuch Ω №3"
    )
    held_out = Dataset.from_arrays(u[260:], y[260:], data.names, 0.01, "der Rest")
    found = quick(functions="abs, sin", initial="force(k-4)^3 + z(k-1)").fit(data).posterior_
    return found.with_held_out(held_out)


def small(**changed: object) -> Posterior:
    """Chains 0 and 2 of an interrupted run, by hand, with fixed and function terms."""
    rng = np.random.default_rng(3)
    names = SignalNames(("u",), "y", "w")  # the noise of the data has another name
    data = Dataset.from_arrays(rng.standard_normal(12), rng.standard_normal(12), names, 0.5, "α")
    ready = Grammar.narx(functions="abs", constant=False, max_lag=2, max_degree=2)
    grammar = ready.with_initial("u(k-3)")
    chains = [
        [("u(k-3)", [1.0], 0.5), ("u(k-1) + u(k-3) + y(k-1)", [0.1, 0.2, 0.3], 0.25)],
        [("u(k-3) + y(k-1)", [0.7, -0.1], 0.5), ("u(k)*abs(u(k)) + u(k-3)", [0.4, 2.0], 2.0)] * 2,
    ]
    settings = {
        "settings": {"seed": 7, "prior": Prior()},
        "timing": {"total_s": 0.125},
    }
    scaling = Scaling(names, np.array([0.5, 20.0]), np.array([2.0, 3.0]))
    more = {"scaling": scaling, "chain_numbers": (0, 2), "held_out": data, "burn_in": 0.25}
    return by_hand(data, chains, grammar, **{**settings, **more, **changed})


def quick_free_run(**changed: Any) -> Posterior:
    """Two short free-run chains; `changed` are settings."""
    ladder = {"rungs": 3, "stages": 2, "descent": 50, **changed.pop("ladder", {})}
    settings = {"objective": "abc", "samples": 90, "ladder": ladder, **changed}
    return quick(**settings).fit(*simulated(n=60)).posterior_


@cache
def free_run() -> Posterior:
    """A free-run posterior, always the same one: how long it took is part of it."""
    return quick_free_run()


def assert_made_of_the_same(found: Posterior, expected: Posterior) -> None:
    """To the last bit in everything that the rest of it is computed from."""
    for mine, other in zip(found.traces, expected.traces, strict=True):
        for name, value in other._asdict().items():
            _assert_identical(getattr(mine, name), value)
    assert found.grammar == expected.grammar
    assert found.scaling.names == expected.scaling.names
    _assert_identical(found.scaling.offset, expected.scaling.offset)
    _assert_identical(found.scaling.scale, expected.scaling.scale)
    _assert_same_data(found.data, expected.data)
    _assert_same_data(found.held_out, expected.held_out)
    for name in ("settings", "timing", "chain_numbers"):
        _assert_identical(getattr(found, name), getattr(expected, name))


def assert_same(found: Posterior, expected: Posterior) -> None:
    """Made of the same, and equal in what it says."""
    assert_made_of_the_same(found, expected)
    assert found.structures.equals(expected.structures)
    assert found.terms.equals(expected.terms)
    assert found.noise.equals(expected.noise)
    assert found.map_model == expected.map_model
    assert found.diagnostics == expected.diagnostics
    record = expected.data.records[0]
    u, y_init = record.inputs, record.output[: expected.max_lag]
    u = u if expected.data.names.inputs else len(record)
    mine, other = (p.simulate(u, y_init, draws=5, seed=2) for p in (found, expected))
    _assert_identical(mine.mean, other.mean)


def _assert_identical(found: object, expected: object) -> None:
    assert type(found) is type(expected)
    if isinstance(expected, LadderTrace):
        for mine, other in zip(found, expected, strict=True):
            _assert_identical(mine, other)
        return
    if isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        assert found.tobytes() == expected.tobytes()
    else:
        assert found == expected


def _assert_same_data(found: Dataset | None, expected: Dataset | None) -> None:
    assert (found is None) == (expected is None)
    if expected is None:
        return
    assert found.names == expected.names
    assert (found.sampling_time, found.label) == (expected.sampling_time, expected.label)
    for mine, other in zip(found.records, expected.records, strict=True):
        _assert_identical(mine.inputs, other.inputs)
        _assert_identical(mine.output, other.output)
