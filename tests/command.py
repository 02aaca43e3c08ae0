"""The command line as a user starts it: in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run ``adjoin`` with some arguments, on a terminal of 100 columns."""
    return subprocess.run(
        [sys.executable, "-m", "adjoin.cli", *arguments],
        capture_output=True,
        check=False,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        timeout=300,
        env={**os.environ, "COLUMNS": "100", "PYTHONUTF8": "1"},
    )
