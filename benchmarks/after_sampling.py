"""What is worked out after the last sample, and how often: from the end of sampling to the page.

``python benchmarks/after_sampling.py`` runs ``adjoin fit --report`` on the academic case with 1,000
samples, in this process, with and without ``--validation``, and counts

- gate passes: calls of `Columns.matrix`, which checks the columns of one record, and with it of the
  column check itself and of `tabulate`, which takes apart what a user passed. Without
  ``--validation`` an earlier version made 618, three for every model that was run;
- scalings of the data (`Scaling.lag_table`), posteriors and engines built, modes of structures;
- CPU seconds from the return of `run_chains` to the finished page. The command is run once before,
  so that nothing is compiled or imported in that time.

``--before PATH`` does the same with the source tree in PATH and prints both. Wanted: at most 10
gate passes, one scaling, one engine.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

COMMAND = "fit rig.csv --inputs force --output velocity --samples 1000 --seed 0 --report page.html"
COMMANDS = {
    "validated": f"{COMMAND} --out run.nc --validation 0.3",
    "plain": f"{COMMAND} --out run.nc",
}

COUNTED = {
    "gate passes (records)": ("data.columns:Columns.matrix", "columns:Columns.matrix"),
    "  of columns": ("data.columns:_check", "columns:_check"),
    "  of what was passed": ("data.columns:tabulate", "columns:tabulate"),
    "scalings of data": ("data.scaling:Scaling.lag_table", "signals:Scaling.apply"),
    "posteriors built": ("posterior:Posterior.__init__",),
    "engines built": (
        "inference.engines.prediction:PredictionEngine.__init__",
        "engines.osa:OsaEngine.__init__",
    ),
    "modes found": ("results.collection:Collection._mode_of", "mode:mode_of"),
}
"""What is counted, and where it is: here, and in the tree before."""

SECONDS = "CPU s to the page"


def main() -> None:
    """Count, here or in both trees, and print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--before", metavar="PATH", help="a source tree to compare with")
    parser.add_argument("--json", action="store_true", help="print counts of this tree only")
    options = parser.parse_args()
    if options.json:
        print(json.dumps({name: measure(command) for name, command in COMMANDS.items()}))
        return
    here = Path(__file__).parents[1]
    trees = {"now": here} | ({"before": Path(options.before)} if options.before else {})
    tables = {name: _in_tree(path) for name, path in reversed(trees.items())}
    columns = [(command, tree) for command in COMMANDS for tree in tables]
    print(f"{'':24}" + "".join(f"{f'{command}, {tree}':>20}" for command, tree in columns))
    for row in (*COUNTED, SECONDS):
        values = [tables[tree][command][row] for command, tree in columns]
        print(f"{row:24}" + "".join(f"{value:20,}" for value in values))


def _in_tree(path: Path) -> dict[str, dict[str, Any]]:
    """The counts of the tree in `path`, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(path.resolve() / "src")}
    command = [sys.executable, __file__, "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    counts: dict[str, dict[str, Any]] = json.loads(done.stdout)
    return counts


def measure(command: str) -> dict[str, float]:
    """The counts of one command, run in a folder of its own."""
    from adjoin import datasets

    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        train = datasets.academic(seed=0).train
        rows = np.column_stack([train.u, train.y])
        np.savetxt("rig.csv", rows, delimiter=",", header="force,velocity", comments="")
        _run(command)
        count: Counter[str] = Counter({name: 0 for name in COUNTED})
        clock: dict[str, float] = {}
        with contextlib.ExitStack() as patches:
            for name, places in COUNTED.items():
                patches.enter_context(_wrapped(places, _counting(name, count)))
            places = ("inference.runner:run_chains", "runner:run_chains")
            patches.enter_context(_wrapped(places, _noting("sampled", clock)))
            patches.enter_context(_wrapped(("files:write_whole",), _noting("written", clock)))
            _run(command)
        return {**count, SECONDS: round(clock["written"] - clock["sampled"], 2)}


def _run(command: str) -> None:
    """Run ``adjoin`` with these arguments; its words are not the point."""
    from adjoin.cli import main as adjoin

    before, sys.argv = sys.argv, ["adjoin", *command.split()]
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            adjoin()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.argv = before


Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


def _counting(name: str, count: Counter[str]) -> Wrapper:
    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            count[name] += 1
            return function(*arguments, **options)

        return counted

    return wrap


def _noting(name: str, clock: dict[str, float]) -> Wrapper:
    """Note the CPU time of this process at the last return; the page is the last file written."""

    def wrap(function: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*arguments: Any, **options: Any) -> Any:
            result = function(*arguments, **options)
            clock[name] = time.process_time()
            return result

        return noted

    return wrap


@contextlib.contextmanager
def _wrapped(places: tuple[str, ...], wrap: Wrapper) -> Any:
    """Replace the first of these that exists, wherever in the package it was imported to."""
    owner, attribute, original = _find(places)
    replaced = wrap(original)
    holders = [owner]
    if not isinstance(owner, type):
        modules = [m for name, m in sys.modules.items() if name.startswith("adjoin.")]
        holders = [m for m in modules if getattr(m, attribute, None) is original]
    for holder in holders:
        setattr(holder, attribute, replaced)
    try:
        yield
    finally:
        for holder in holders:
            setattr(holder, attribute, original)


def _find(places: tuple[str, ...]) -> tuple[Any, str, Any]:
    """Who holds it, under which name, and what it is."""
    for place in places:
        module, _, path = place.partition(":")
        try:
            owner: Any = importlib.import_module(f"adjoin.{module}")
        except ModuleNotFoundError:
            continue
        *classes, attribute = path.split(".")
        for name in classes:
            owner = getattr(owner, name)
        return owner, attribute, getattr(owner, attribute)
    raise LookupError(f"neither of {places} is there")


if __name__ == "__main__":
    main()
