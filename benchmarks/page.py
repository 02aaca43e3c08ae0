"""CPU seconds from the end of sampling to the finished report page, on the academic case.

``python benchmarks/page.py`` prints what assessing the run and drawing its page cost: for the first
page of a process, as ``adjoin fit --report`` makes it, with all that is then loaded, and for one
more page. ``--before PATH`` measures another source tree in turn with this one, and prints the
ratio. Every repetition is a process of its own; the least of them counts, because whatever else
the machine does only ever adds.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
COLUMNS = ("first page", "one more")


def measure() -> dict[str, Any]:
    """Assessing and drawing of two pages in this process, and how many pictures they have."""
    import adjoin

    data = adjoin.datasets.academic(seed=0).train
    posterior = adjoin.Identifier(seed=0).fit(data).posterior_
    found: dict[str, Any] = {"assessing": [], "drawing": []}
    for _ in COLUMNS:
        fresh = replace(posterior)  # nothing that another page has worked out
        start = time.process_time()
        try:
            from adjoin.results.assessment import assess
        except ImportError:  # before the folders
            from adjoin.report.assessment import assess
        assessment = assess(fresh)
        middle = time.process_time()
        from adjoin.report.page import make_page

        page = make_page(assessment)
        found["assessing"].append(middle - start)
        found["drawing"].append(time.process_time() - middle)
        found["figures"] = page.count("<svg")
    return found


def _elsewhere(tree: Path) -> dict[str, Any]:
    """`measure` in a process that imports adjoin from that tree."""
    command = [sys.executable, __file__, "--once"]
    path = {**os.environ, "PYTHONPATH": str(tree / "src")}
    done = subprocess.run(command, env=path, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{tree}:\n{done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _least(runs: list[dict[str, Any]]) -> dict[str, list[float]]:
    """The smallest seconds of each part and column, and of their sum."""
    sums = [list(map(sum, zip(run["assessing"], run["drawing"], strict=True))) for run in runs]
    table = {name: [run[name] for run in runs] for name in ("assessing", "drawing")}
    table["in all"] = sums
    return {
        name: [min(column) for column in zip(*rows, strict=True)] for name, rows in table.items()
    }


def main() -> None:
    """Measure this tree, and another one in turn with it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--before", type=Path, help="another source tree to compare with")
    parser.add_argument("--repeat", type=int, default=3, help="processes for each tree")
    parser.add_argument("--once", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.once:
        print(json.dumps(measure()))
        return
    trees = {"now": HERE} | ({"before": options.before.resolve()} if options.before else {})
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in trees}
    for _ in range(options.repeat):
        for name, tree in trees.items():
            runs[name].append(_elsewhere(tree))
    least = {name: _least(found) for name, found in runs.items()}
    print(f"CPU seconds, least of {options.repeat}{'':>9}" + "".join(f"{c:>12}" for c in COLUMNS))
    for name, found in least.items():
        print(f"{name}: {trees[name]}, {runs[name][0]['figures']} figures")
        for part, seconds in found.items():
            print(f"  {part:<30}" + "".join(f"{s:12.2f}" for s in seconds))
    if "before" in least:
        pairs = zip(least["now"]["in all"], least["before"]["in all"], strict=True)
        print(f"{'now / before':<32}" + "".join(f"{now / before:12.2f}" for now, before in pairs))


if __name__ == "__main__":
    main()
