"""Shared fixtures, and what several workers need (``-n``).

Property tests draw the same examples every time: no seed is a date.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "adjoin",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("adjoin")

# Started in the background of a script, Python takes over that Ctrl-C is ignored; tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).parents[1]

SHARING = {
    "tests/cli/test_run.py": "a saved run",
    "tests/report/test_browser.py": "pages",
    "tests/report/test_findings.py": "pages",
    "tests/report/test_page.py": "pages",
    "tests/report/test_plots_ladder.py": "pages",
}
"""Files whose tests share what takes long to make, by its name: one worker runs them all."""


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before there are workers, compile: each of them would compile the same at the same time."""
    if not session.config.getoption("numprocesses", None):
        return  # a serial run, or a worker
    # Workers inherit it. Two processes with a pool of OpenBLAS threads each, one per core, spin.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if os.environ.get("NUMBA_DISABLE_JIT", "0") == "0":
        # What goes wrong here goes wrong in the tests too, which say it better.
        command = [sys.executable, "-m", "tests.every_kernel"]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=False, cwd=ROOT)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out one test at a time, or all that share something; the latter go first."""
    if config.getoption("dist") != "load":
        return None  # somebody wants it otherwise
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return SHARING.get(nodeid.partition("::")[0], nodeid)

    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers do the long tests first, so that none sits over one while the others are done."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def silverbox_folder() -> Path:
    """The folder with SNLS80mV.csv: ADJOIN_DATA, or shared/data beside the project."""
    folder = Path(os.environ.get("ADJOIN_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "SNLS80mV.csv").is_file():
        pytest.skip("no Silverbox data: set ADJOIN_DATA to the folder with SNLS80mV.csv")
    return folder
