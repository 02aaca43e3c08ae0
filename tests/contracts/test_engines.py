"""Every engine through one contract: pieces, packing, other processes, any executor; bit for bit.

The toy engine is here with the others: one module, and the one line that `_with_toy` adds.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adjoin
from adjoin import Dataset, Grammar, Identifier, Prior
from adjoin.inference.engine import Chain, Engine
from adjoin.inference.engines import ENGINES, find_engine
from adjoin.inference.engines.free_run_work import forget_all
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.problem import Problem
from adjoin.inference.runner import run_chains
from adjoin.inference.search import Search
from adjoin.inference.traces import ChainTrace, from_arrays, join, to_arrays

ROOT = Path(__file__).parents[2]
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
TOY = "tests.toy_engine:ToyEngine"
OWN: dict[str, dict[str, Any]] = {
    "prediction": {"power": 0.5},
    "abc": {"ladder": Ladder(rungs=3, descent=50, stages=3)},
    "simulation": {
        "power": 0.5,
        "search": Search(candidates=8, moves=2, rungs=3, hottest=0.2, interval=4, screenings=3),
    },
    "toy": {"rule": "paper"},
}
OWN["prediction, searching"] = OWN["prediction"] | {
    "search": Search(candidates=20, moves=3, interval=7, rungs=3, hottest=0.1, flips=6),
    "known": ((1, 2), (2, 3, 4), (5,), (1, 6, 7)),
}
"""Fewer candidates than terms: what the pool is, burn-in decides, in which rungs move as well."""
PAST_NOISE = "prediction, past noise"
OWN[PAST_NOISE] = OWN["simulation"]
N_SAMPLES = {
    "prediction": 3000,
    "prediction, searching": 1500,
    "abc": 400,
    "simulation": 1200,
    PAST_NOISE: 1200,
    "toy": 150,
}
NAMES = sorted(OWN)


def engine_of(name: str) -> str:
    """The engine's own name; what follows a comma is how it is set up here."""
    return name.partition(",")[0]


@pytest.fixture(autouse=True)
def _with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENGINES, "toy", TOY)


def make_engine(name: str, thin: int = 3) -> Engine:
    """Two records, two inputs, a function and a fixed term: nothing is left at its simplest."""
    rng = np.random.default_rng(12)
    inputs = [rng.standard_normal((n, 2)) for n in (60, 45)]
    outputs = [0.5 * np.roll(u[:, 0], 1) + 0.3 * u[:, 1] ** 2 for u in inputs]
    outputs = [y + 0.4 * rng.standard_normal(len(y)) for y in outputs]
    data = Dataset.from_arrays(inputs, outputs, names=("u", "v", "y"))
    has_noise = name == PAST_NOISE
    grammar = Grammar.narx(
        inputs=("u", "v"),
        functions=("abs", "pos[0.3]"),
        max_lag=2,
        max_degree=2,
        noise=has_noise,
    )
    return find_engine(engine_of(name), has_noise)(
        problem=Problem(data, grammar.with_initial("u(k-1)").alphabet),
        prior=Prior(expected_terms=4.0),
        moves=Moves(),
        samples=N_SAMPLES[name],
        thin=thin,
        table_bytes=2**20,
        **OWN[name],
    )


def assert_same(one: ChainTrace, other: ChainTrace) -> None:
    """To the last bit."""
    left, right = to_arrays(one), to_arrays(other)
    assert left.keys() == right.keys()
    for name, values in left.items():
        assert values.dtype == right[name].dtype, name
        assert values.tobytes() == right[name].tobytes(), name


def whole(name: str, seed: int = 5) -> ChainTrace:
    chain = make_engine(name).start(seed)
    chain.advance(N_SAMPLES[name])
    return chain.finish()


def test_every_engine_is_taken_through_this() -> None:
    assert set(ENGINES) == set(map(engine_of, NAMES))


@pytest.mark.parametrize("name", NAMES)
def test_a_chain_records_what_it_draws(name: str) -> None:
    trace = whole(name)
    assert trace.n_samples == N_SAMPLES[name]
    assert 0 < len(trace.structure) <= N_SAMPLES[name] // 3
    assert len(trace.structures) > 2
    other = whole(name, seed=6)
    assert other.theta.tobytes() != trace.theta.tobytes()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("first", [1, 13, 250])
def test_pieces_of_any_size_give_the_same_chain(name: str, first: int) -> None:
    chain, size = make_engine(name).start(5), first
    while chain.n_samples < N_SAMPLES[name]:
        chain.advance(min(size, N_SAMPLES[name] - chain.n_samples))
        size = size * 3 % 1009 + 1
    assert_same(chain.finish(), whole(name))


@pytest.mark.parametrize("name", NAMES)
def test_finishing_is_looking_on(name: str) -> None:
    chain = make_engine(name).start(5)
    chain.finish()
    chain.advance(N_SAMPLES[name] // 2)
    half = chain.finish()
    assert_same(chain.finish(), half)
    chain.advance(N_SAMPLES[name] - N_SAMPLES[name] // 2)
    assert_same(chain.finish(), whole(name))


def _resumed(engine: Engine, chain: Chain) -> Chain:
    packed = chain.pack()
    assert all(isinstance(values, np.ndarray) for values in packed.values())
    before = {name: values.copy() for name, values in packed.items()}
    other = engine.resume(packed)
    assert (other.n_samples, other.n_terms) == (chain.n_samples, chain.n_terms)
    assert other.is_prepared == chain.is_prepared
    assert_same(other.finish(), chain.finish())
    chain.advance(2)  # whoever goes on with the first does not disturb the second
    assert all((packed[name] == before[name]).all() for name in packed)
    return other


@pytest.mark.parametrize("name", NAMES)
def test_a_chain_that_is_packed_continues_and_keeps_its_trace(name: str) -> None:
    """Packed again and again, before and between all pieces of preparation and of sampling."""
    engine = make_engine(name)
    chain = _resumed(engine, engine.start(5))
    n_rounds = 0
    while not chain.is_prepared:
        chain.prepare()
        chain, n_rounds = _resumed(engine, chain), n_rounds + 1
    assert chain.n_samples == 0
    assert n_rounds == {"abc": 5, "toy": 3}.get(engine_of(name), 0)
    size = N_SAMPLES[name] // 7
    while chain.n_samples < N_SAMPLES[name]:
        chain.advance(min(size, N_SAMPLES[name] - chain.n_samples))
        chain = _resumed(engine, chain)
    assert_same(chain.finish(), whole(name))


def test_a_searching_chain_is_packed_before_at_and_after_every_choice_of_its_pool() -> None:
    """Pool, rungs and counters go on bit for bit; after the burn-in nothing is chosen again."""
    name = "prediction, searching"
    engine = make_engine(name)
    times = engine.adaptations
    assert len(times) == 6
    assert 0 < times[-1] <= N_SAMPLES[name] // 2
    straight = engine.start(5)
    straight.advance(N_SAMPLES[name])
    assert len(straight.informed.pool.key) == 20 < len(engine.listing.key)
    assert straight.n_adapted == len(times)
    chain, pools = engine.start(5), []
    for stop in sorted({max(time + by, 0) for time in times for by in (-1, 0, 1, 3)}):
        chain.advance(stop - chain.n_samples)
        pools.append((chain.n_samples, chain.informed.pool.key.tolist()))
        chain = _resumed(engine, chain)
    chain.advance(N_SAMPLES[name] - chain.n_samples)
    found, wanted = chain.pack(), straight.pack()
    assert found.keys() == wanted.keys()
    for entry, values in wanted.items():
        assert values.tobytes() == found[entry].tobytes(), entry
    assert len({tuple(pool) for _, pool in pools}) > 3
    assert not np.array_equal(wanted["power"], engine.start(5).ladder.power)
    last = [pool for n, pool in pools if n > times[-1]]
    assert last[0] == straight.informed.pool.key.tolist()


@pytest.mark.parametrize("name", ["simulation", PAST_NOISE])
def test_a_chain_by_free_runs_is_packed_before_at_and_after_every_adaptation(name: str) -> None:
    """Rungs, references and counters go on bit for bit; after the burn-in nothing changes."""
    engine, seed = make_engine(name), np.random.SeedSequence(5, spawn_key=(2,))  # from nothing
    times = engine.adaptations
    assert times == (150, 300, 600)
    straight = engine.start(seed)
    straight.advance(N_SAMPLES[name])
    chain, frozen = engine.start(seed), []
    for stop in sorted({time + by for time in times for by in (-1, 0, 1, 3)}):
        chain.advance(stop - chain.n_samples)
        chain = _resumed(engine, chain)
        frozen.append(chain.pack())
    chain.advance(N_SAMPLES[name] - chain.n_samples)
    found, wanted = chain.pack(), straight.pack()
    assert found.keys() == wanted.keys()
    for entry, values in wanted.items():
        assert values.tobytes() == found[entry].tobytes(), entry
    first, last = engine.start(seed).pack(), frozen[-1]
    for entry in ("power", "references_key", "references_theta", "references_n_terms"):
        assert last[entry].tobytes() == wanted[entry].tobytes(), entry
        assert first[entry].tobytes() != wanted[entry].tobytes(), entry


@pytest.mark.parametrize("name", ["simulation", PAST_NOISE])
@pytest.mark.parametrize("table_bytes", [1, 2**14, 2**24])
def test_a_chain_by_free_runs_does_not_depend_on_its_table(name: str, table_bytes: int) -> None:
    """Room for little more than one structure, for some, and for all."""
    engine = replace(make_engine(name), table_bytes=table_bytes)
    chain = engine.start(5)
    for _ in range(4):
        chain.advance(N_SAMPLES[name] // 4)
        forget_all(chain.fitting.fits)
    assert_same(chain.finish(), whole(name))


_ELSEWHERE = """
import sys
import numpy as np
from adjoin.inference.engines import ENGINES
from adjoin.inference.traces import to_arrays
from tests.contracts.test_engines import N_SAMPLES, TOY, make_engine
ENGINES["toy"] = TOY
name = sys.argv[1]
with np.load(sys.argv[2]) as packed:
    chain = make_engine(name).resume(dict(packed))
chain.advance(N_SAMPLES[name] - chain.n_samples)
np.savez(sys.argv[3], **to_arrays(chain.finish()))
"""


@pytest.mark.parametrize("name", NAMES)
def test_another_process_continues_the_chain(name: str, tmp_path: Path) -> None:
    chain = make_engine(name).start(5)
    chain.advance(N_SAMPLES[name] // 2 + 3)
    np.savez(tmp_path / "packed.npz", **chain.pack())
    arguments = (name, str(tmp_path / "packed.npz"), str(tmp_path / "trace.npz"))
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, *arguments],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with np.load(tmp_path / "trace.npz") as found:
        assert_same(from_arrays(dict(found)), whole(name))


class AtOnce(Executor):
    """Does everything when it is asked to, in the caller's own thread."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", ["at once", "threads", "processes"])
def test_any_executor_gives_the_same_chains(name: str, kind: str) -> None:
    engine, seed = make_engine(name), np.random.SeedSequence(3)
    n_samples = N_SAMPLES[name]
    expected = run_chains(engine, 2, n_samples, np.random.SeedSequence(3), n_jobs=1)
    executors: dict[str, Callable[[], Executor]] = {
        "at once": AtOnce,
        "threads": lambda: ThreadPoolExecutor(2),
        "processes": lambda: ProcessPoolExecutor(2, get_context("spawn")),
    }
    with executors[kind]() as executor:
        found = run_chains(engine, 2, n_samples, seed, executor=executor)
    assert found.is_complete
    assert list(found.traces) == [0, 1]
    for number in (0, 1):
        assert_same(found.traces[number], expected.traces[number])


@pytest.mark.parametrize("name", NAMES)
def test_a_trace_comes_back_from_its_arrays_and_is_the_sum_of_its_pieces(name: str) -> None:
    trace = whole(name)
    assert_same(from_arrays(to_arrays(trace)), trace)
    cut = len(trace.structure) // 2
    assert_same(join(_piece(trace, 0, cut), _piece(trace, cut, None)), trace)


def _piece(trace: ChainTrace, first: int, last: int | None) -> ChainTrace:
    """Some records of a trace, with the structures that occur there."""
    numbers = list(dict.fromkeys(trace.structure[first:last].tolist()))
    records = {n: getattr(trace, n)[first:last] for n in ("noise", "coefficient", "log_lik")}
    offset = trace.offset[first : None if last is None else last + 1]
    ladder = trace.ladder and trace.ladder._replace(distance=trace.ladder.distance[first:last])
    return trace._replace(
        structures=[trace.structures[i] for i in numbers],
        structure=np.array([numbers.index(i) for i in trace.structure[first:last]]),
        theta=trace.theta[offset[0] : offset[-1]],
        offset=offset - offset[0],
        log_prior=trace.log_prior[first:last],
        ladder=ladder,
        **records,
    )


@pytest.mark.parametrize("name", NAMES)
def test_an_engine_says_what_it_is_in_plain_values(name: str) -> None:
    engine = make_engine(name)
    plain = json.loads(json.dumps(engine.own_settings.plain))
    assert engine.read_own_settings(plain) == engine.own_settings
    assert engine.read_objective(plain) == engine.objective
    assert engine.name == engine.objective.name == engine_of(name)
    with pytest.raises(adjoin.AdjoinError, match="colour"):
        engine.read_own_settings({"colour": "red"})


@pytest.mark.skipif(not IS_COMPILED, reason="a fit takes long as plain Python")
@pytest.mark.parametrize("name", sorted({*map(engine_of, NAMES)}))
def test_an_identifier_finds_the_engine_and_a_posterior_is_all_it_should_be(
    name: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    u = rng.standard_normal(200)
    data = Dataset.from_arrays(u[1:], u[:-1] + 0.1 * rng.standard_normal(199))
    more = {"rule": "paper"} if name == "toy" else {}
    quick = {"samples": 300, "chains": 2, "max_lag": 2, "max_degree": 1, "seed": 0, "thin": 1}
    identifier = Identifier(name, **quick, **more, progress=False).fit(data[:150])
    posterior = identifier.posterior_
    assert "u(k-1)" in str(posterior.structure(0))
    assert posterior.settings["objective"] == name
    posterior.save(tmp_path / "run.nc")
    again = adjoin.load(tmp_path / "run.nc")
    assert again.settings == posterior.settings
    assert again.objective == posterior.objective
    assert again.map_model == posterior.map_model
    assert again.diagnostics == posterior.diagnostics
    assert posterior.simulate(data.u[150:], draws=5).mean.shape == (49,)
    assert identifier.score(data[150:]) > 50.0
    adjoin.write_report(posterior, tmp_path / "page.html", test=data[150:], draws=5)
    if name == "toy":
        assert posterior.diagnostics["toy"] == {"0": 300, "1": 300}
        assert "600 samples of a toy" in posterior.diagnostics["verdict"]["reasons"]


def test_arguments_of_another_engine_are_refused() -> None:
    u = np.random.default_rng(0).standard_normal(50)
    with pytest.raises(adjoin.AdjoinError, match="ladder is for objective='abc'"):
        Identifier("toy", ladder={"rungs": 2}).fit(u, u)
    with pytest.raises(adjoin.AdjoinError, match="noise is for objective='simulation'"):
        Identifier("abc", noise="ar").fit(u, u)
    with pytest.raises(adjoin.AdjoinError, match="ladder is for objective='abc'"):
        Identifier("output-error", ladder={"rungs": 2}).fit(u, u)
    with pytest.raises(adjoin.AdjoinError, match="flips are for objective='prediction'"):
        Identifier("simulation", search={"flips": 10}).fit(u, u)
    with pytest.raises(
        adjoin.AdjoinError, match="'x' is unknown; use 'prediction' or 'simulation'"
    ):
        Identifier("x").fit(u, u)
