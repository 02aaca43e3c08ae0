"""A free-run chain is its packed arrays too, from before calibration until after the ladder froze.

And where a chain cannot be run, it says so.
"""

from __future__ import annotations

import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.calibration.test_abc_validity import mean_absolute_error
from tests.engines import abc_engine

from adjoin import AdjoinError, Dataset, Grammar
from adjoin.data.dataset import Record
from adjoin.data.names import SignalNames
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.engines.abc_chain import AbcChain
from adjoin.inference.engines.abc_common import common_tolerance
from adjoin.inference.ladder import Ladder
from adjoin.inference.prior import Prior
from adjoin.inference.traces import ChainTrace

ROOT = Path(__file__).parents[2]
IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
N_SAMPLES = 10_000 if IS_COMPILED else 200
FROZEN = N_SAMPLES // 2  # annealing takes half, in five stages
KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"rule": "paper"},
    "a distance of one's own": {"distance": mean_absolute_error},
}


def make_engine(**changes: Any) -> AbcEngine:
    """Two records, two inputs, fixed terms: nothing is left at its simplest."""
    rng = np.random.default_rng(12)
    inputs = [rng.standard_normal((n, 2)) for n in (50, 35)]
    outputs = [0.5 * np.roll(u[:, 0], 1) + 0.3 * u[:, 1] ** 2 for u in inputs]
    outputs = [y + 0.5 * rng.standard_normal(len(y)) for y in outputs]
    grammar = Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=2, max_degree=2)
    ladder = {"rungs": 3, "descent": 50, "swap_interval": 7, **changes.pop("ladder", {})}
    settings = {"samples": N_SAMPLES, "prior": Prior(expected_terms=4.0), **changes}
    return abc_engine(
        Dataset.from_arrays(inputs, outputs, names=("u", "v", "y")),
        grammar.with_initial("u(k-1)").alphabet,
        ladder=Ladder(**ladder),
        **settings,
    )


def small(**changes: Any) -> AbcEngine:
    """An engine of one input that is quick to calibrate."""
    rng = np.random.default_rng(3)
    u = rng.standard_normal(40)
    data = Dataset.from_arrays(u, 0.5 * np.roll(u, 1) + 0.5 * rng.standard_normal(40))
    settings: dict[str, Any] = {"samples": 60, "ladder": Ladder(rungs=2, descent=20), **changes}
    return abc_engine(data, Grammar.narx(max_lag=1, max_degree=2).alphabet, **settings)


def length(kind: str) -> int:
    """A distance in Python takes its time."""
    return 1000 if kind == "a distance of one's own" and IS_COMPILED else N_SAMPLES


def contents(*traces: ChainTrace) -> dict[str, object]:
    """What traces hold, end to end, structures by their keys rather than their numbers."""
    found: dict[str, object] = {
        "structures": [t.structures[i] for t in traces for i in t.structure],
        "move": traces[-1].move.tolist(),
        "trouble": traces[-1].trouble.tolist(),
    }
    for name in ("theta", "noise", "coefficient", "log_lik", "log_prior"):
        found[name] = np.concatenate([getattr(t, name) for t in traces]).tobytes()
    found["distance"] = np.concatenate([t.ladder.distance for t in traces]).tobytes()
    for name, value in traces[-1].ladder._asdict().items():
        if name not in ("distance", "saved"):
            found[f"ladder {name}"] = value if isinstance(value, str) else value.tolist()
    return found


def packed_bytes(packed: dict[str, np.ndarray]) -> dict[str, bytes]:
    """All of a chain."""
    return {name: values.tobytes() for name, values in packed.items()}


def whole(engine: AbcEngine, seed: int, n_samples: int = N_SAMPLES) -> AbcChain:
    chain = engine.start(seed)
    chain.advance(n_samples)
    return chain


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", [1, 13, 4097])
def test_blocks_of_any_size_give_the_same_chain(first: int, kind: str) -> None:
    n_samples = length(kind)
    engine = make_engine(samples=n_samples, **KINDS[kind])
    chain, done, size = engine.start(5), 0, first
    while done < n_samples:
        size = min(size, n_samples - done)
        chain.advance(size)
        done, size = done + size, size * 3 % 1009 + 1
    straight = whole(engine, 5, n_samples)
    assert chain.n_samples == n_samples
    assert packed_bytes(chain.pack()) == packed_bytes(straight.pack())
    trace = straight.finish()
    assert contents(chain.finish()) == contents(trace)
    assert len(trace.noise) == n_samples - engine.n_annealing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("thin", [1, 7])
def test_a_resumed_chain_continues(thin: int, kind: str) -> None:
    """Cut before calibration, in a stage, at the end of one, at freezing, and after it."""
    n_samples = length(kind)
    engine = make_engine(samples=n_samples, thin=thin, **KINDS[kind])
    frozen = engine.n_annealing
    cuts = (0, frozen // 7, frozen // 5, frozen * 2 // 3, frozen, frozen + frozen // 3, n_samples)
    chain = engine.start(9)
    for start, stop in pairwise((0, *cuts)):
        chain.advance(stop - start)
        assert chain.n_samples == stop
        chain = engine.resume(chain.pack())
        assert chain.fitting.fits.n_entries[0] == 0
        assert chain.n_samples == stop
    straight = whole(engine, 9, n_samples)
    assert packed_bytes(chain.pack()) == packed_bytes(straight.pack())
    assert contents(chain.finish()) == contents(straight.finish())


def test_forgetting_the_fits_changes_nothing() -> None:
    """With no more memory than the fit of the largest structure takes."""
    ladder = Ladder(rungs=2, guided=0.9)
    grown, tiny = (
        whole(small(samples=N_SAMPLES, ladder=ladder, table_bytes=n), 3) for n in (64 * 2**20, 1)
    )
    few, many = (int(chain.fitting.fits.n_made[0]) for chain in (grown, tiny))
    assert many > 2 * few or not IS_COMPILED
    assert packed_bytes(tiny.pack()) == packed_bytes(grown.pack())
    assert contents(tiny.finish()) == contents(grown.finish())


def test_packing_leaves_the_chain_alone_and_owns_its_arrays() -> None:
    engine = make_engine()
    chain = whole(engine, 1, FROZEN - 50)
    packed = chain.pack()
    before = packed_bytes(packed)
    chain.advance(100)
    for _ in range(2):
        other = engine.resume(packed)
        other.advance(100)
        assert packed_bytes(other.pack()) == packed_bytes(chain.pack())
    assert packed_bytes(packed) == before


_ELSEWHERE = """
import sys
import numpy as np
from tests.calibration.test_abc_chain import make_engine
with np.load(sys.argv[1]) as packed:
    chain = make_engine().resume(dict(packed))
chain.advance(int(sys.argv[3]))
np.savez(sys.argv[2], **chain.pack())
"""


@pytest.mark.parametrize("n_first", [FROZEN // 2 + 3, FROZEN + 3])
def test_another_process_continues_the_chain(n_first: int, tmp_path: Path) -> None:
    engine = make_engine()
    np.savez(tmp_path / "packed.npz", **whole(engine, 21, n_first).pack())
    arguments = (tmp_path / "packed.npz", tmp_path / "later.npz", N_SAMPLES - n_first)
    subprocess.run(
        [sys.executable, "-c", _ELSEWHERE, *map(str, arguments)],
        check=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with np.load(tmp_path / "later.npz") as found:
        assert packed_bytes(dict(found)) == packed_bytes(whole(engine, 21).pack())


def _annealed(engine: AbcEngine, n_chains: int = 4) -> list[dict[str, np.ndarray]]:
    return [whole(engine, seed, engine.n_apart).pack() for seed in range(n_chains)]


@pytest.mark.parametrize("kind", KINDS)
def test_chains_agree_on_the_tolerance_of_the_best_and_none_that_is_lost_has_a_say(
    kind: str,
) -> None:
    """By the best structure, whatever its tolerance; of quantiles the largest but for the lost."""
    engine = small(samples=200, **KINDS[kind])
    packed = _annealed(engine)
    own = [0.6, 0.5, 0.7, 40.0]
    for one, tolerance, score in zip(packed, own, (2.0, 3.0, 1.0, -50.0), strict=True):
        one["tolerances_tolerance"][0], one["champion_score"][0] = tolerance, score
    expected = 0.5 if kind == "default" else 0.7
    tolerance, reason = common_tolerance(engine, packed)
    assert tolerance == expected
    assert f"by chain {own.index(expected)}; all chains share it" in reason


def test_after_agreement_chains_are_within_it_or_say_why_they_are_not() -> None:
    engine = small(samples=200)
    packed = _annealed(engine)
    scores = [float(one["champion_score"][0]) for one in packed]
    best = scores.index(max(scores))
    ends = [engine.resume(one) for one in engine.agree(packed)]
    tolerance = float(packed[best]["tolerances_tolerance"][0])
    for chain in ends:
        assert chain.ladder.tolerances.tolerance[0] == tolerance
        assert (chain.ladder.tolerances.distance <= chain.ladder.tolerances.tolerance).all()
        assert len(chain.history) == 6
    # The chain that it is from goes on as if it were alone.
    straight = whole(engine, best, 200)
    ends[best].advance(200 - engine.n_apart)
    for name in ("theta", "noise"):
        assert (
            getattr(ends[best].finish(), name).tolist() == getattr(straight.finish(), name).tolist()
        )
    packed[0]["tolerances_tolerance"][0], packed[0]["champion_score"][0] = 1e-9, 1e9
    stranded = engine.resume([*engine.agree(packed)][1])
    stranded.advance(200 - engine.n_apart)
    assert not len(stranded.finish().structure)
    assert "it met nothing within the tolerance 1e-09 that all" in engine.excuse(stranded.finish())


def test_a_tolerance_that_is_given_or_kept_apart_needs_no_agreement() -> None:
    assert small().n_apart == small().n_annealing == 30
    for ladder in (Ladder(tolerance=3.0), Ladder(common=False)):
        assert small(ladder=ladder).n_apart == 0


def test_different_seeds_give_different_chains() -> None:
    engine = make_engine()
    first, second = (whole(engine, seed).finish() for seed in (1, 2))
    assert first.theta.tolist() != second.theta.tolist()


def test_nothing_is_recorded_while_the_ladder_anneals() -> None:
    chain = whole(make_engine(rule="paper"), 4, FROZEN)
    trace = chain.finish()
    assert len(trace.noise) == 0
    assert chain.is_frozen
    assert trace.ladder is not None
    assert (np.diff(trace.ladder.tolerance[:, 0]) <= 0.0).all()
    assert trace.ladder.tolerance[-1, 0] < trace.ladder.tolerance[0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_frozen_ladder_adapts_no_more(kind: str) -> None:
    n_samples = length(kind)
    chain = whole(make_engine(samples=n_samples, **KINDS[kind]), 6, n_samples // 2)
    width, tolerance = chain.ladder.walk.width, chain.ladder.tolerances.tolerance
    frozen = [width.tolist(), tolerance.tolist()]
    chain.advance(n_samples // 2)
    assert [width.tolist(), tolerance.tolist()] == frozen
    assert chain.ladder.rungs.counters.move[:, 0, 0].all()  # it did walk


def _fail(simulated: np.ndarray, measured: np.ndarray) -> float:
    raise ZeroDivisionError("nothing to divide by")


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "rule": ({"rule": "fast"}, "rule must be 'default' or 'paper', not 'fast'"),
    "distance": ({"distance": "rmse"}, "distance must be a function of simulated and measured"),
    "hyperprior": (
        {"prior": Prior(coefficient_shape=2.0, coefficient_scale=1.0)},
        "leave coefficient_shape and coefficient_scale of the Prior at None",
    ),
    "samples": (
        {"samples": 9},
        "9 samples are too few for 5 stages of annealing; draw at least 10",
    ),
    "thin": ({"thin": 31}, "thin=31 keeps none of the rest; draw more samples or thin less"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_engine_that_cannot_run_is_refused(name: str) -> None:
    changes, message = MISTAKES[name]
    with pytest.raises(AdjoinError, match=message):
        small(**changes)


FAILURES: dict[str, tuple[dict[str, Any], str]] = {
    "a distance that raises": (
        {"distance": _fail},
        "the distance function failed .*nothing to divide by.*return a number",
    ),
    "a distance that is text": ({"distance": lambda a, b: "near"}, "must take two arrays"),
    "a distance that is nothing": ({"distance": lambda a, b: None}, "must take two arrays"),
    "a distance that is an array": ({"distance": lambda a, b: a - b}, "must take two arrays"),
    "a distance of one argument": ({"distance": lambda a: 0.0}, "must take two arrays"),
    "a distance below zero": ({"distance": lambda a, b: -1.0}, "returned -1; a distance is 0"),
    "a distance that is never a number": (
        {"distance": lambda a, b: math.nan},
        "none of .* came nearer to the measured output than no model at all",
    ),
    "nothing better than no model": (
        {"distance": lambda a, b: float(np.abs(a).max())},
        "none of .* came nearer .* scaled .*; lower max_degree; or start with objective=.predict",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_chain_that_leads_nowhere_says_what_to_do(name: str) -> None:
    changes, message = FAILURES[name]
    chain = small(**changes).start(0)
    with pytest.raises(AdjoinError, match=message):
        chain.advance(60)


def test_a_tolerance_out_of_reach_leaves_no_record_and_the_reason() -> None:
    chain = small(ladder=Ladder(rungs=2, descent=20, tolerance=1e-6)).start(0)
    chain.advance(50)
    chain = chain.engine.resume(chain.pack())
    chain.advance(10)
    trace = chain.finish()
    assert not len(trace.structure)
    assert trace.n_samples == 60
    assert "tolerance 1e-06 cannot be met: the smallest distance found is" in trace.ladder.reason
    assert "Raise the tolerance" in trace.ladder.reason


def test_runs_that_all_diverge_are_reported() -> None:
    """A fixed term beyond what counts as finite, whatever its coefficient."""
    n = 30
    beyond = Record(np.full((n, 1), 1e149), np.sin(np.arange(n)))  # no data that users can pass
    data = Dataset((beyond,), SignalNames())
    grammar = Grammar.volterra(max_lag=1, max_degree=2).with_initial("u(k)^2")
    engine = abc_engine(
        data, grammar.alphabet, 60, ladder=Ladder(rungs=2, descent=20), rule="paper"
    )
    silent = np.errstate(all="ignore")  # uncompiled, NumPy scalars warn of infinities
    with silent, pytest.raises(AdjoinError, match="every free run ran away or went astray"):
        engine.start(0).advance(60)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rungs": 0}, "rungs must be a whole number from 1 on"),
        ({"swap_interval": 2.5}, "swap_interval must be a whole number from 1 on"),
        ({"stages": 0}, "stages must be"),
        ({"descent": True}, "descent must be"),
        ({"annealing": 1.0}, "annealing must be a number between 0 and 1, not 1.0"),
        ({"quantile": 0.0}, "quantile must be a number between 0 and 1"),
        ({"acceptance": math.nan}, "acceptance must be a number between 0 and 1"),
        ({"birth_sd": 0.0}, "birth_sd must be a number above 0"),
        ({"width": -1.0}, "width must be a number above 0"),
        ({"kappa": math.inf}, "kappa must be a number above 0"),
        ({"cold_margin": 1.0}, "cold_margin must be a number above 1"),
        ({"guided": 1.0}, "guided must be a probability from 0 to below 1"),
        ({"guided": "often"}, "guided must be a probability"),
        ({"tolerance": 0.0}, "tolerance must be positive"),
        ({"tolerance": math.nan}, "tolerance must be positive"),
        ({"tolerance": "1"}, "tolerance must be positive"),
        ({"common": 1}, "common must be True or False, not 1"),
        ({"steps": 3}, "the ladder has no setting 'steps'; it has rungs, swap_interval"),
    ],
)
def test_a_ladder_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Ladder.read(settings)


def test_a_ladder_is_read_from_what_a_user_gives() -> None:
    ladder = Ladder(rungs=3)
    assert Ladder.read(None) == Ladder()
    assert Ladder.read(ladder) is ladder
    assert Ladder.read({"rungs": 3}) == ladder
    assert Ladder(**ladder.settings) == ladder
    with pytest.raises(AdjoinError, match="ladder must be settings by name, not 12"):
        Ladder.read(12)  # type: ignore[arg-type]


def test_tolerances_are_even_in_the_logarithm_of_their_excess() -> None:
    spaced = Ladder(rungs=5).spaced(2.0, 3.0, 18.0)
    np.testing.assert_allclose(spaced - 2.0, [1.0, 2.0, 4.0, 8.0, 16.0])
    # Where no model at all is within the coldest, all rungs are alike.
    assert Ladder(rungs=3).spaced(2.0, 30.0, 18.0).tolist() == [30.0] * 3
    assert Ladder(rungs=3).spaced(2.0, math.inf, 18.0).tolist() == [math.inf] * 3
    assert Ladder(rungs=1).spaced(2.0, 3.0, 18.0).tolist() == [3.0]
