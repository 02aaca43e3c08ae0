"""Shared fixtures, and what several workers need (``-n``).

Property tests draw the same examples every time: no seed is a date.
"""

from __future__ import annotations

import functools
import os
import re
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


@functools.cache
def scope_of(file: str) -> str | None:
    """What the tests of a file are handed out by, None one at a time: where some of them are slow.

    Others share fixtures and compiled functions, which are then made by one worker and not by each.
    """
    has_slow = re.search(r"mark\.slow|pytestmark", (ROOT / file).read_text(encoding="utf-8"))
    return SHARING.get(file, None if has_slow else file)


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
    """Hand out all tests that share something together, slow ones one at a time."""
    if config.getoption("dist") != "load":
        return None  # somebody wants it otherwise
    config.option.loadscopereorder = False  # but as they are collected, see below
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope_of(nodeid.partition("::")[0]) or nodeid

    return Scheduling(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Workers do what takes long first, so that none sits over it while the others are done."""

    def place(item: pytest.Item) -> int:
        is_shared = item.nodeid.partition("::")[0] in SHARING
        return 0 if is_shared else 1 if item.get_closest_marker("slow") else 2

    if hasattr(config, "workerinput"):
        items.sort(key=place)


@pytest.fixture(scope="session")
def silverbox_folder() -> Path:
    """The folder with SNLS80mV.csv: ADJOIN_DATA, or shared/data beside the project."""
    folder = Path(os.environ.get("ADJOIN_DATA") or ROOT.parent / "shared" / "data")
    if not (folder / "SNLS80mV.csv").is_file():
        pytest.skip("no Silverbox data: set ADJOIN_DATA to the folder with SNLS80mV.csv")
    return folder
