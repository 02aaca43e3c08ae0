"""What a start of the program may load, and that the second start compiles nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("numba", "matplotlib", "scipy", "pandas", "sympy", "arviz", "sklearn", "dask")


def _modules_after(code: str) -> set[str]:
    script = f"import sys\n{code}\nprint('\\n'.join(sys.modules), file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.split(".")[0] for name in done.stderr.splitlines()}


def _command(*arguments: str) -> str:
    return (
        f"sys.argv = ['adjoin', *{arguments!r}]\nfrom adjoin.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n    pass"
    )


@pytest.mark.parametrize(
    ("code", "unwanted"),
    [
        ("import adjoin", (*HEAVY, "numpy", "rich", "typer")),
        (_command("--help"), (*HEAVY, "numpy")),
        (_command("grammar", "show"), HEAVY),
        (_command("grammar", "parse", "y(k) = u(k)"), HEAVY),
    ],
)
def test_nothing_heavy_is_imported_before_it_is_needed(code: str, unwanted) -> None:
    assert not _modules_after(code) & set(unwanted)


def test_the_public_names_are_there() -> None:
    import adjoin

    for name in adjoin.__all__:
        assert getattr(adjoin, name) is not None
    assert set(adjoin.__all__) <= set(dir(adjoin))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = adjoin.nothing


_COUNT = """
import numpy as np
import adjoin
from adjoin.kernels import functions, simulate
model = adjoin.Model.parse("y(k) = 0.5*u(k-1) + 0.1*abs(y(k-1))*e(k-1)")
for u in (np.ones(9), np.ones(9).reshape(-1, 1), [1] * 9, np.ones(18)[::2]):
    model.simulate(u)
    model.predict(u, np.ones(9))
    model.predict(u, np.ones(9), steps_ahead=3)
kernels = (simulate.run_recursion, simulate.predict_ahead, functions.fill_function)
hits = sum(sum(k.stats.cache_hits.values()) for k in kernels)
misses = sum(sum(k.stats.cache_misses.values()) for k in kernels)
print(hits, misses, *(len(k.signatures) for k in kernels))
"""


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled without the JIT"
)
def test_a_second_process_compiles_nothing_and_each_kernel_has_one_signature(
    tmp_path: Path,
) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    counts = []
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-c", _COUNT],
            capture_output=True,
            text=True,
            check=True,
            env=environment,
        )
        counts.append([int(number) for number in done.stdout.split()])
    (_, first_misses, *signatures), (second_hits, second_misses, *_) = counts
    assert first_misses > 0
    assert (second_hits, second_misses) == (3, 0)
    assert signatures == [1, 1, 1]


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled without the JIT"
)
def test_a_machine_without_a_home_to_write_to_still_runs(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("a file cannot hold a cache folder")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(blocked), "TMPDIR": str(tmp_path)}
    code = (
        "import adjoin, sys; from adjoin.kernels import _jit;"
        "adjoin.Model.parse('y(k) = u(k)').simulate([1.0]); print(_jit.CACHE_DIR)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert done.stdout.startswith(str(tmp_path))
