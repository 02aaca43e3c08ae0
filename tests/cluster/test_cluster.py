"""Work on a Dask cluster: the same bits as here, whatever dies, and errors that say what is wrong.

One cluster of worker processes serves the whole module; only the loopback device, no dashboard.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import wait
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import killing
from tests.command import run
from tests.systems import BEHIND, quick, simulated

from adjoin import AdjoinError, discover, load
from adjoin.cluster import connection, worker
from adjoin.cluster.executor import ClusterExecutor, executor_of
from adjoin.inference import checkpoint, runner
from adjoin.inference.runner import Snapshot
from adjoin.inference.traces import to_arrays

distributed = pytest.importorskip(
    "distributed", reason="clusters need Dask: pip install 'adjoin[dask]'"
)

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not IS_COMPILED, reason="workers would run as plain Python"),
    # Dask leaves sockets to the garbage collector when it closes, and says so of busy machines.
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
U, Y = simulated(n=120)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes of one thread each."""
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, **where) as found:
        yield found


@pytest.fixture(scope="module")
def client(cluster: Any) -> Iterator[Any]:
    with distributed.Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def _short_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pieces, and a checkpoint after each."""
    monkeypatch.setattr(runner, "_FIRST_PIECE", 0.02)
    monkeypatch.setattr(runner, "_PIECE_SECONDS", 0.02)
    monkeypatch.setattr(checkpoint, "PAUSE", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 1e9)


SETTINGS: dict[str, dict[str, Any]] = {
    "prediction": {"samples": 30_000, "likelihood_power": "auto", "center": None},
    "simulation": {"objective": "simulation", "samples": 1000, "noise": "ar", "center": True},
    "abc": {"objective": "abc", "samples": 1500, "ladder": {"rungs": 4, "descent": 60}},
}


@pytest.mark.filterwarnings(BEHIND)
@pytest.mark.usefixtures("_short_pieces")
@pytest.mark.parametrize("name", SETTINGS)
def test_a_run_has_the_same_bits_on_workers_and_in_any_number_of_threads(
    name: str, cluster: Any, client: Any
) -> None:
    given = SETTINGS[name] | {"chains": 3}
    here = {n: killing.digest(quick(**given, n_jobs=n).fit(U, Y).posterior_) for n in (1, 2, 4)}
    two = quick(**given, scheduler=cluster.scheduler_address).fit(U, Y).posterior_
    assert {killing.digest(two), *here.values()} == {here[1]}
    cluster.scale(1)
    while len(client.nthreads()) != 1:
        time.sleep(0.05)
    one = quick(**given, scheduler=client).fit(U, Y).posterior_
    cluster.scale(2)
    client.wait_for_workers(2)
    assert killing.digest(one) == here[1]


def test_a_discovery_has_the_same_bits_on_workers(client: Any, tmp_path: Path) -> None:
    """Candidates, the second look and posteriors; a checkpoint of the cluster is one of threads."""
    here = killing.find(None)
    there = discover(killing.data(), **killing.FIND, scheduler=client, checkpoint=tmp_path / "it")
    assert killing.digest_of_discovery(there) == killing.digest_of_discovery(here)
    assert sum(one.cpu_s for one in there.candidates) > 0.0
    again = killing.find(tmp_path / "it")
    assert killing.digest_of_discovery(again) == killing.digest_of_discovery(here)


@pytest.mark.usefixtures("_short_pieces")
def test_a_worker_that_is_killed_takes_a_piece_with_it_and_no_bit(client: Any) -> None:
    """By SIGKILL, in the middle of a piece, once some pieces are there."""
    given = {"samples": 150_000, "chains": 2, "thin": 50}
    whole = quick(**given).fit(U, Y).posterior_
    pids = client.run(os.getpid)
    busy: list[str] = []

    def watch(snapshot: Snapshot) -> None:
        if not busy and snapshot.n_samples > 10_000:
            found = [where for where, keys in client.processing().items() if keys]
            if found:
                busy.append(found[0])
                os.kill(pids[found[0]], signal.SIGKILL)

    found = quick(**given, scheduler=client, progress=watch).fit(U, Y)
    assert busy
    assert found.is_complete_
    assert killing.digest(found.posterior_) == killing.digest(whole)
    client.wait_for_workers(2, timeout=60)
    assert pids[busy[0]] not in client.run(os.getpid).values()


@pytest.mark.usefixtures("_short_pieces")
def test_ctrl_c_gives_what_there_is_and_threads_go_on_from_it(client: Any, tmp_path: Path) -> None:
    given = {"samples": 100_000, "thin": 50, "checkpoint": tmp_path / "it"}
    pressed = threading.Event()

    def press(snapshot: Snapshot) -> None:
        if snapshot.n_samples > 5_000 and not pressed.is_set():
            pressed.set()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.warns(UserWarning, match="interrupted: the posterior is what there was"):
        stopped = quick(**given, scheduler=client, progress=press).fit(U, Y)
    assert not stopped.is_complete_
    first: list[int] = []
    threads = quick(**given, progress=lambda one: first.append(one.n_samples)).fit(U, Y)
    assert first[0] > 5_000  # it did not begin anew
    whole = quick(**given | {"checkpoint": None}).fit(U, Y).posterior_
    assert killing.digest(threads.posterior_) == killing.digest(whole)


def test_a_command_works_there_and_its_run_does_not_say_where(cluster: Any, tmp_path: Path) -> None:
    rig, out = tmp_path / "rig.csv", tmp_path / "rig.nc"
    np.savetxt(rig, np.column_stack([U, Y]), delimiter=",", header="u,y", comments="")
    small = ("--samples", "2000", "--chains", "2", "--max-lag", "2", "--max-degree", "2")
    there = ("--scheduler", cluster.scheduler_address, "--seed", "0", "--out", str(out))
    done = run("fit", str(rig), "--output", "y", *small, *there)
    assert done.returncode == 0, done.stderr
    found, here = load(out), quick().fit(U, Y).posterior_
    for one, other in zip(found.traces, here.traces, strict=True):
        left, right = to_arrays(one), to_arrays(other)
        assert {k: v.tobytes() for k, v in left.items()} == {
            k: v.tobytes() for k, v in right.items()
        }
    assert "scheduler" not in (found.settings.options or {})
    assert cluster.scheduler_address not in done.stdout


def test_a_function_of_the_users_own_script_goes_there(client: Any) -> None:
    """`__main__` of a worker is another program, and a lambda has no name."""
    offset = 7
    with executor_of(client) as executor:
        assert isinstance(executor, ClusterExecutor)
        shared = executor.share(np.arange(3.0))
        found = executor.submit(lambda values, more: values + more + offset, shared, more=1.0)
        assert found.result().tolist() == [8.0, 9.0, 10.0]
        assert list(executor.map(abs, [-1, 2])) == [1, 2]
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result()
        waiting = executor.submit(time.sleep, 0.1)
        assert not wait([waiting], timeout=60).not_done
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(abs, 1)


def test_other_versions_are_refused_before_and_during_a_run(
    client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = worker.facts() | {"numpy": "1.0", "sources of adjoin": "abc"}
    monkeypatch.setattr(connection, "facts", lambda: other)
    with pytest.raises(AdjoinError) as refused:
        quick(scheduler=client).fit(U, Y)
    assert "numpy is 1.0 here and " in str(refused.value)
    assert "sources of adjoin is abc here and " in str(refused.value)
    assert "start the workers in the environment" in str(refused.value)
    monkeypatch.undo()
    with executor_of(client) as executor:
        assert executor is not None
        monkeypatch.setattr(worker, "facts", lambda: other)  # as if a worker had come since
        with pytest.raises(AdjoinError, match=r"numpy is 1\.0 here"):
            executor.submit(abs, 1).result()


def _worker(address: str, *options: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    command += ["--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", *options]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL)


def test_who_is_not_there_or_has_no_adjoin_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(connection, "WAIT", "1s")
    with pytest.raises(AdjoinError, match="no Dask scheduler answers at 'tcp://127"):
        quick(scheduler="tcp://127.0.0.1:9").fit(U, Y)
    where = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(n_workers=0, threads_per_worker=1, **where) as empty:
        address = empty.scheduler_address
        with pytest.raises(AdjoinError, match="none came within 1 s; start workers"):
            quick(scheduler=address).fit(U, Y)
        told = " ".join(capsys.readouterr().err.split())
        assert "has no workers: waiting for up to 1 s" in told
        process = _worker(address, "--preload", "import sys; sys.modules['adjoin'] = None")
        try:
            with distributed.Client(address, set_as_default=False) as client:
                client.wait_for_workers(1, timeout=60)
            with pytest.raises(AdjoinError, match="has no adjoin that it could import"):
                quick(scheduler=address).fit(U, Y)
        finally:
            process.kill()
            process.wait()


def test_what_is_no_scheduler_and_a_missing_dask_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AdjoinError, match="scheduler must be the address of a Dask scheduler"):
        quick(scheduler=8786).fit(U, Y)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(AdjoinError, match=r"pip install 'adjoin\[dask\]'"):
        quick(scheduler="tcp://127.0.0.1:8786").fit(U, Y)
