"""A chain is its packed arrays: cut, stored, moved to another process, it continues bit for bit."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.engines import prediction_engine

from adjoin import Dataset, Grammar
from adjoin.inference.engines.prediction import PredictionChain, PredictionEngine
from adjoin.inference.prior import Prior
from adjoin.inference.traces import ChainTrace

ROOT = Path(__file__).parents[2]
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
N_SAMPLES = 30_000 if IS_COMPILED else 400


def make_engine(thin: int = 1) -> PredictionEngine:
    """Two records, two inputs, fixed terms, a hyperprior: nothing is left at its simplest."""
    rng = np.random.default_rng(12)
    inputs = [rng.standard_normal((n, 2)) for n in (50, 35)]
    outputs = [0.5 * np.roll(u[:, 0], 1) + 0.3 * u[:, 1] ** 2 for u in inputs]
    outputs = [y + rng.standard_normal(len(y)) for y in outputs]
    grammar = Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=3, max_degree=3)
    return prediction_engine(
        Dataset.from_arrays(inputs, outputs, names=("u", "v", "y")),
        grammar.with_initial("u(k-1)").alphabet,
        Prior(coefficient_shape=2.0, coefficient_scale=1.0, expected_terms=8.0),
        thin=thin,
    )


def rows(*traces: ChainTrace) -> dict[str, bytes]:
    """What traces hold, end to end, structures by their keys rather than their numbers."""
    structures = [str([t.structures[i] for i in t.structure]) for t in traces]
    found = {"structures": "".join(structures).replace("][", ", ").encode()}
    for name in ("theta", "noise", "coefficient", "log_lik", "log_prior"):
        found[name] = np.concatenate([getattr(t, name) for t in traces]).tobytes()
    found["move"] = traces[-1].move.tobytes()
    found["trouble"] = traces[-1].trouble.tobytes()
    return found


def same_state(left: PredictionChain, right: PredictionChain) -> bool:
    one, other = left.pack(), right.pack()
    n = left.n_terms
    assert one.keys() == other.keys()
    return all(
        one[name].tobytes() == other[name].tobytes()
        if name not in ("degree", "key", "theta")  # beyond the terms there are they are leftovers
        else one[name][:n].tobytes() == other[name][:n].tobytes()
        for name in one
    )


@pytest.fixture(scope="module")
def whole() -> tuple[PredictionChain, ChainTrace]:
    chain = make_engine().start(5)
    chain.advance(N_SAMPLES)
    return chain, chain.finish()


@pytest.mark.parametrize("first", [1, 13, 4096, 4097])
def test_blocks_of_any_size_give_the_same_chain(
    first: int, whole: tuple[PredictionChain, ChainTrace]
) -> None:
    chain, done, size = make_engine().start(5), 0, first
    while done < N_SAMPLES:
        size = min(size, N_SAMPLES - done)
        chain.advance(size)
        done, size = done + size, size * 3 % 1009 + 1
    assert chain.n_samples == N_SAMPLES
    assert rows(chain.finish()) == rows(whole[1])
    assert same_state(chain, whole[0])


@pytest.mark.parametrize("thin", [1, 7])
def test_a_resumed_chain_continues(thin: int) -> None:
    """Cut in three, not at a multiple of the thinning; each part starts with an empty table."""
    engine = make_engine(thin)
    straight = engine.start(9)
    straight.advance(N_SAMPLES)
    parts, chain = [], engine.start(9)
    for size in (N_SAMPLES // 3 + 1, N_SAMPLES // 5, 0):
        size = size or N_SAMPLES - N_SAMPLES // 3 - 1 - N_SAMPLES // 5  # noqa: PLW2901
        chain.advance(size)
        packed = chain.pack()
        assert all(isinstance(value, np.ndarray) for value in packed.values())
        parts.append(chain.finish())
        assert chain._table.size[0] > 0
        chain = engine.resume(packed)
        assert chain._table.size[0] == 0
        assert chain.n_samples == 0
    assert rows(*parts) == rows(straight.finish())
    assert same_state(chain, straight)


def test_packing_leaves_the_chain_alone_and_owns_its_arrays() -> None:
    chain = make_engine().start(1)
    chain.advance(50)
    packed = chain.pack()
    before = {name: value.copy() for name, value in packed.items()}
    chain.advance(50)
    twice = [make_engine().resume(packed) for _ in range(2)]
    for other in twice:
        other.advance(50)
        assert same_state(other, chain)
    assert all((packed[name] == before[name]).all() for name in packed)


_ELSEWHERE = """
import sys
import numpy as np
from tests.calibration.test_chain_is_a_value import make_engine
with np.load(sys.argv[1]) as packed:
    chain = make_engine().resume(dict(packed))
chain.advance(int(sys.argv[3]))
trace = chain.finish()
np.savez(
    sys.argv[2],
    **{f"packed_{name}": value for name, value in chain.pack().items()},
    **{name: getattr(trace, name) for name in ("structure", "theta", "noise", "coefficient")},
    **{f"keys_{i}": keys for i, keys in enumerate(trace.structures)},
)
"""


def test_another_process_continues_the_chain(tmp_path: Path) -> None:
    straight, chain = (make_engine().start(21) for _ in range(2))
    n_first = N_SAMPLES // 2 + 3
    straight.advance(N_SAMPLES)
    chain.advance(n_first)
    np.savez(tmp_path / "packed.npz", **chain.pack())
    arguments = (tmp_path / "packed.npz", tmp_path / "trace.npz", N_SAMPLES - n_first)
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, *map(str, arguments)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    whole, first = straight.finish(), chain.finish()
    with np.load(tmp_path / "trace.npz") as found:
        for name in ("theta", "noise", "coefficient"):
            both = np.concatenate([getattr(first, name), found[name]])
            assert both.tobytes() == getattr(whole, name).tobytes(), name
        later = [tuple(found[f"keys_{i}"].tolist()) for i in found["structure"]]
        earlier = [first.structures[i] for i in first.structure]
        assert earlier + later == [whole.structures[i] for i in whole.structure]
        for name, value in straight.pack().items():
            n = straight.n_terms if name in ("degree", "key", "theta") else None
            assert value[:n].tobytes() == found[f"packed_{name}"][:n].tobytes(), name


def test_different_seeds_give_different_chains() -> None:
    first, second = (make_engine().start(seed) for seed in (1, np.random.SeedSequence(2)))
    for chain in (first, second):
        chain.advance(100)
    assert first.finish().noise.tolist() != second.finish().noise.tolist()


@pytest.mark.parametrize("n_samples", [0, 40, 4096 * 50 + 5])
def test_a_trace_may_end_between_two_records(n_samples: int) -> None:
    """Nothing recorded at all, or nothing since the buffer was last full."""
    grammar = Grammar.arx(max_lag=1)
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.standard_normal(20), rng.standard_normal(20))
    chain = prediction_engine(data, grammar.alphabet, thin=50).start(0)
    chain.advance(n_samples if IS_COMPILED else min(n_samples, 40))
    trace = chain.finish()
    assert len(trace.noise) == trace.n_samples // 50
