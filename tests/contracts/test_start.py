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


_COUNT = """
import numpy as np
import adjoin
from adjoin.engines.osa import OsaEngine
from adjoin.kernels import functions, gram, osa, prior, simulate
model = adjoin.Model.parse("y(k) = 0.5*u(k-1) + 0.1*abs(y(k-1))*e(k-1)")
for u in (np.ones(9), np.ones(9).reshape(-1, 1), [1] * 9, np.ones(18)[::2]):
    model.simulate(u)
    model.predict(u, np.ones(9))
    model.predict(u, np.ones(9), steps_ahead=3)
rng = np.random.default_rng(0)
u = rng.standard_normal((300, 2))
y = u[:, 0] + 0.1 * rng.standard_normal(300)
quick = dict(samples=300, chains=2, seed=0, max_lag=3, progress=False)
adjoin.Identifier(**quick).fit(u, y)
chain = OsaEngine(adjoin.Dataset.from_arrays(u[:, 0], y), adjoin.Grammar.narx().alphabet).start(0)
for _ in range(3):
    chain.advance(50)
    chain._make_room()
adjoin.Identifier(**quick, initial="u1(k)", likelihood_power=0.5).fit([u, u[:50]], [y, y[:50]])
adjoin.Prior().draw(adjoin.Grammar.narx())
adjoin.Prior().inclusion(adjoin.Structure.parse("u(k)").terms[0], adjoin.Grammar.narx().alphabet)
kernels = (simulate.run_recursion, simulate.predict_ahead, functions.fill_function)
kernels += (osa.run_osa, gram.rehash, prior.draw_terms, prior.term_priors)
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
