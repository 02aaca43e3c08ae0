"""Running chains: seeds, workers, progress, errors, Ctrl-C. The chains here only count."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import SimpleNamespace

import numpy as np
import pytest

from adjoin.inference import runner
from adjoin.inference.runner import Snapshot, run_chains, warm_up
from adjoin.inference.traces import ChainTrace
from adjoin.threads import n_workers

ENDLESS = 10**30  # samples; blocks at most double at 0.05 s each, so this takes five seconds


@dataclass
class Engine:
    """Chains that remember their seed and how they were advanced."""

    seconds: float = 0.0
    fail_at: int | None = None
    meeting: threading.Barrier | None = None
    n_apart: int = 0
    chains: list[Chain] = field(default_factory=list)

    def warm_up(self) -> None:
        self.start(0).advance(1)

    def start(self, seed: np.random.SeedSequence | int) -> Chain:
        chain = Chain(self, np.random.default_rng(seed).random())
        self.chains.append(chain)
        return chain


@dataclass
class Chain:
    engine: Engine
    value: float
    n_samples: int = 0
    n_terms: int = 3
    acceptance: float = 0.25
    blocks: list[int] = field(default_factory=list)
    thread: str = ""
    is_prepared: bool = True

    def advance(self, n_samples: int) -> None:
        self.thread = threading.current_thread().name
        time.sleep(self.engine.seconds)
        if self.engine.meeting is not None:
            self.engine.meeting.wait()
        self.n_samples += n_samples
        self.blocks.append(n_samples)
        if self.engine.fail_at is not None and self.n_samples >= self.engine.fail_at:
            raise ArithmeticError("the chain broke")

    def finish(self) -> ChainTrace:
        n = min(self.n_samples, 5)  # records; time passes, memory does not
        return ChainTrace(
            [()],
            np.zeros(n, dtype=np.int64),
            np.empty(0),
            np.zeros(n + 1, dtype=np.int64),
            np.full(n, self.value),
            *(np.zeros(n) for _ in range(3)),
            np.zeros((9, 3), dtype=np.int64),
            np.zeros(3, dtype=np.int64),
            self.n_samples,
        )


@pytest.fixture
def _stopped_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """No block takes any time, however busy the machine."""
    monkeypatch.setattr(runner, "time", SimpleNamespace(perf_counter=lambda: 0.0))


def seed_of(number: int = 0) -> np.random.SeedSequence:
    return np.random.SeedSequence(number)


def test_every_chain_runs_to_its_end() -> None:
    engine = Engine()
    run = run_chains(engine, 3, 12_345, seed_of())
    assert run.is_complete
    assert [trace.n_samples for trace in run.traces.values()] == [12_345] * 3
    assert all(sum(chain.blocks) == 12_345 for chain in engine.chains)
    assert run.seconds > 0


def test_each_chain_has_a_seed_of_its_own_whatever_the_workers() -> None:
    def values(n_jobs: int | None, n_chains: int = 4, seed: int = 7) -> list[float]:
        run = run_chains(Engine(), n_chains, 10, seed_of(seed), n_jobs)
        return [trace.noise[0] for trace in run.traces.values()]

    assert len(set(values(1))) == 4
    assert values(1) == values(4) == values(None) == values(-1)
    assert values(2, n_chains=2) == values(2)[:2]
    assert values(1, seed=8) != values(1)


@pytest.mark.usefixtures("_stopped_clock")
def test_blocks_that_take_no_time_grow_by_four() -> None:
    engine = Engine()
    run_chains(engine, 1, 50_000, seed_of())
    (chain,) = engine.chains
    assert chain.blocks[:3] == [200, 800, 3200]


def test_blocks_shrink_until_they_take_a_tenth_of_a_second() -> None:
    engine = Engine(seconds=0.2)
    run_chains(engine, 1, 250, seed_of())
    assert engine.chains[0].blocks[0] == 200
    assert max(engine.chains[0].blocks[1:]) <= 100


def test_the_number_of_workers() -> None:
    assert n_workers(3, 2) == 2
    assert n_workers(2, 3) == 2
    assert n_workers(None, 1) == n_workers(-1, 1) == 1
    assert n_workers(None, 10_000) == n_workers(-1, 10_000) >= 1


def test_chains_run_at_the_same_time() -> None:
    """Each waits for all the others: were one missing, the barrier would break."""
    engine = Engine(meeting=threading.Barrier(4, timeout=60))
    run_chains(engine, 4, 100, seed_of(), n_jobs=4)
    assert len({chain.thread for chain in engine.chains}) == 4


@pytest.mark.usefixtures("_stopped_clock")
def test_the_observer_sees_every_chain_to_its_end() -> None:
    seen: list[Snapshot] = []
    run_chains(Engine(), 3, 1500, seed_of(), 2, seen.append)
    for chain in range(3):
        counts = [s.n_samples for s in seen if s.chain == chain]
        assert counts == [200, 1000, 1500]
    assert {(s.n_terms, s.acceptance) for s in seen} == {(3, 0.25)}


@dataclass
class Meeting(Engine):
    """Chains that agree on the largest value after ten samples; packed, they are two numbers."""

    n_apart: int = 10
    met: list[list[int]] = field(default_factory=list)

    def start(self, seed: np.random.SeedSequence | int) -> Chain:
        return _packable(super().start(seed))

    def resume(self, packed: dict[str, np.ndarray]) -> Chain:
        chain = _packable(Chain(self, float(packed["value"]), int(packed["n_samples"])))
        self.chains.append(chain)
        return chain

    def agree(self, packed: list[dict[str, np.ndarray]]) -> Iterator[dict[str, np.ndarray]]:
        self.met.append([int(one["n_samples"]) for one in packed])
        largest = max(one["value"] for one in packed)
        yield from (one | {"value": largest} for one in packed)


def _packable(chain: Chain) -> Chain:
    values = ("value", "n_samples")
    chain.pack = lambda: {name: np.array(getattr(chain, name)) for name in values}  # type: ignore[attr-defined]
    return chain


@pytest.mark.parametrize("n_jobs", [1, 3])
def test_chains_wait_for_each_other_to_agree(n_jobs: int) -> None:
    engine = Meeting()
    run = run_chains(engine, 3, 25, seed_of(), n_jobs)
    alone = [run_chains(Engine(), 3, 25, seed_of()).traces[i].noise[0] for i in range(3)]
    assert engine.met == [[10, 10, 10]]
    assert [trace.n_samples for trace in run.traces.values()] == [25] * 3
    assert [trace.noise[0] for trace in run.traces.values()] == [max(alone)] * 3


def test_a_chain_that_is_alone_or_never_gets_there_has_nobody_to_agree_with() -> None:
    for n_chains, n_samples in ((1, 25), (3, 10)):
        engine = Meeting()
        run = run_chains(engine, n_chains, n_samples, seed_of())
        assert engine.met == []
        assert len(run.traces) == n_chains


def test_interrupted_before_they_agree_chains_have_nothing_to_give() -> None:
    interrupt = once()
    engine = Meeting(seconds=0.05, n_apart=ENDLESS // 2)
    with pytest.raises(KeyboardInterrupt):
        run_chains(engine, 2, ENDLESS, seed_of(), 2, lambda _: interrupt())
    assert engine.met == []


def test_warming_up_is_timed_and_runs_no_chain_of_the_run() -> None:
    engine = Engine(seconds=0.05)
    assert warm_up(engine) >= 0.05
    assert engine.chains[0].blocks == [1]


def test_an_error_in_a_chain_ends_the_run() -> None:
    engine = Engine(seconds=0.05, fail_at=200)
    with pytest.raises(ArithmeticError, match="the chain broke"):
        run_chains(engine, 4, ENDLESS, seed_of(), n_jobs=2)
    assert all(chain.n_samples < ENDLESS for chain in engine.chains)


def test_an_error_in_the_observer_ends_the_run_and_is_reported() -> None:
    def observe(snapshot: Snapshot) -> None:
        if snapshot.chain == 1:
            raise ZeroDivisionError("my own fault")

    with pytest.raises(ZeroDivisionError, match="my own fault"):
        run_chains(Engine(seconds=0.05), 4, ENDLESS, seed_of(), 2, observe)


def test_an_interrupted_run_gives_what_there_is() -> None:
    """Two workers for four chains: the last two have not begun."""
    interrupt = once()

    def observe(snapshot: Snapshot) -> None:
        if snapshot.chain == 1 and snapshot.n_samples > 1000:
            interrupt()

    run = run_chains(Engine(seconds=0.05), 4, ENDLESS, seed_of(), 2, observe)
    assert not run.is_complete
    counts = [trace.n_samples for trace in run.traces.values()]
    assert min(counts[:2]) >= 200
    assert counts[2:] == [0, 0]
    assert not [thread for thread in threading.enumerate() if "adjoin" in thread.name]


def test_interrupted_while_chains_are_started_it_stops_too() -> None:
    class Seed(np.random.SeedSequence):
        def spawn(self, n_children: int) -> list[np.random.SeedSequence]:
            return each(super().spawn(n_children))  # type: ignore[return-value]

    def each(children: list[np.random.SeedSequence]):
        yield children[0]
        while not any(chain.n_samples for chain in engine.chains):
            time.sleep(0.01)
        _thread.interrupt_main()
        yield from children[1:]

    engine = Engine(seconds=0.05)
    run = run_chains(engine, 4, ENDLESS, Seed(0), 4)
    assert not run.is_complete
    assert run.traces[0].n_samples > 0


def test_interrupted_before_anything_is_recorded_there_is_nothing_to_give() -> None:
    class Silent(Engine):
        def start(self, seed: np.random.SeedSequence | int) -> Chain:
            chain = super().start(seed)
            chain.finish = Chain(self, 0.0).finish  # type: ignore[method-assign]
            return chain

    interrupt = once()
    with pytest.raises(KeyboardInterrupt):
        run_chains(Silent(seconds=0.05), 2, ENDLESS, seed_of(), 1, lambda _: interrupt())


def once() -> Callable[[], None]:
    """What a user's single Ctrl-C does, however often it is called."""
    is_done = threading.Event()

    def interrupt() -> None:
        if not is_done.is_set():
            is_done.set()
            _thread.interrupt_main()

    return interrupt
