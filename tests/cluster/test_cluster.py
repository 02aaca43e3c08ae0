"""Work on a Dask cluster: the same bits as here, whatever dies, and errors that say what is wrong.

One cluster of worker processes serves the whole module; only the loopback device, no dashboard.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests import killing
from tests.systems import BEHIND, quick, simulated

from adjoin.inference import checkpoint, runner

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
    with distributed.LocalCluster(2, threads_per_worker=1, processes=True, **where) as found:
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
