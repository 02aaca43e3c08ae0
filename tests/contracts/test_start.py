"""What a start of the program may load, and that the second start compiles nothing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from adjoin.kernels import _jit

ROOT = Path(__file__).parents[2]
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
        ("import adjoin\nadjoin.Identifier", tuple(set(HEAVY) - {"numba", "scipy"})),
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


def _count_compilations(cache: Path) -> list[int]:
    """Hits and misses of the cache over all kernels, then the signatures of each."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.every_kernel"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
    )
    return [int(number) for number in done.stdout.split()]


@pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="nothing is compiled without the JIT"
)
def test_a_second_process_compiles_nothing_and_each_kernel_has_one_signature(
    tmp_path: Path,
) -> None:
    """What other processes compiled is taken over, but for one kernel, which the first misses."""
    if _jit.CACHE_DIR is not None:
        cache = tmp_path / Path(_jit.CACHE_DIR).name
        # Half-written files of other processes have names of their own.
        shutil.copytree(_jit.CACHE_DIR, cache, ignore=shutil.ignore_patterns("*.tmp.*"))
        for index in cache.rglob("hashing.rehash-*.nbi"):
            index.unlink()
    _, first_misses, *signatures = _count_compilations(tmp_path)
    second_hits, second_misses, *_ = _count_compilations(tmp_path)
    assert first_misses > 0
    assert second_misses == 0
    assert second_hits == len(signatures)
    assert set(signatures) == {1}


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
