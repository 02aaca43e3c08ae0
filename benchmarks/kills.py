"""Runs killed at random moments and resumed: whether they end with the same bits, many times over.

``python benchmarks/kills.py --kills 200`` does with every engine what the tests do 25 times, and
prints a line for each: how many were killed, how many of those had saved something, how many runs
ended, and whether all of them were the same as the one that nobody killed. Wanted: all of them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.killing import NAMES


def main() -> None:
    """Kill the runs that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--only", action="append", choices=NAMES)
    given = parser.parse_args()
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    for name in given.only or NAMES:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", "tests.killing", folder, str(given.kills), name]
            subprocess.run(command, check=True, cwd=Path(__file__).parents[1], env=environment)


if __name__ == "__main__":
    main()
