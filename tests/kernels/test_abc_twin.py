"""The compiled ladder equals the plain one draw for draw, from the same seed and the same state."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.kernels.ladder_cases import (
    CASES,
    IS_COMPILED,
    advance,
    lower,
    make_chain_of,
    make_twin,
    samples_of,
)
from tests.naive.abc import Twin
from tests.naive.fits import HOPELESS

from adjoin.inference.engines.abc import AbcChain
from adjoin.inference.engines.abc_chain import state_arrays
from adjoin.inference.engines.workspace import as_rung
from adjoin.kernels import abc, state
from adjoin.kernels.ladders import Runs
from adjoin.kernels.state import ANNEAL, DESCEND, POLISH, PROPOSE, RECORD


def _assert_same_state(chain: AbcChain, twin: Twin, rtol: float = 1e-8) -> None:
    """Every rung, and all that is counted."""
    ladder, digits = chain.ladder, chain.engine.encoding.digits
    rungs, tolerances, counters = ladder.rungs, ladder.tolerances, ladder.rungs.counters
    for c, rung in enumerate(twin.rungs):
        n = int(rungs.state.n_terms[c, 0])
        assert [digits(key) for key in rungs.state.key[c, :n].tolist()] == rung.terms
        np.testing.assert_allclose(rungs.state.theta[c, :n], rung.theta, rtol=rtol, atol=1e-12)
        assert tolerances.distance[c] == pytest.approx(rung.distance, rel=rtol)
        assert rungs.error[c] == pytest.approx(rung.distance * twin.unit, rel=rtol)
        assert tolerances.tolerance[c] == pytest.approx(rung.tolerance, rel=rtol)
        assert ladder.walk.width[c] == pytest.approx(rung.width, rel=1e-12)
        assert ladder.walk.n_steps[c] == rung.n_steps
        assert counters.move[c].tolist() == list(twin.counts[c].values())
    assert counters.guided.tolist() == twin.guides
    assert counters.swap.tolist() == twin.swaps
    saved, n_rows = counters.saved, chain.engine.target.n_rows
    assert saved[: state.COMPLETE + 1].tolist() == list(twin.saved.values())
    assert saved[state.STEPS] <= saved[state.SIMULATIONS] * n_rows
    assert chain.fitting.fits.n_made[0] == len(twin.fits)
    assert saved[state.FITS] == twin.n_asked
    assert ladder.best.distance[0] == pytest.approx(twin.smallest, rel=rtol)
    assert tolerances.n_cold[0] == len(twin.cold)
    np.testing.assert_allclose(tolerances.cold[: len(twin.cold)], twin.cold, rtol=rtol)
    assert not chain.buffer.trouble.any()
    pinned = chain.engine.regression.pinned_theta.tolist()
    assert len(pinned) == len(twin.pinned)
    for theta in rungs.state.theta:  # to the last bit
        assert theta[: len(pinned)].tolist() == pinned


@pytest.mark.parametrize("case", CASES)
def test_the_compiled_ladder_equals_the_plain_one(case: str) -> None:
    given = CASES[case]
    n_samples = given.n_samples if IS_COMPILED else given.n_samples // 5
    twin = make_twin(given)
    chain, rng = make_chain_of(given, twin, 17), np.random.Generator(np.random.PCG64(17))
    assert list(twin.run(rng, n_samples, "anneal")) == []
    assert advance(chain, n_samples, ANNEAL) == n_samples
    _assert_same_state(chain, twin)
    lower(given, twin, chain)
    plain = list(twin.run(rng, n_samples, "record"))
    assert advance(chain, n_samples, RECORD) == n_samples
    _assert_same_state(chain, twin)
    fast = samples_of(chain)
    assert [sample.terms for sample in fast] == [sample.terms for sample in plain]
    for name in ("theta", "noise", "log_prior", "distance"):
        left = np.hstack([getattr(sample, name) for sample in fast])
        right = np.hstack([getattr(sample, name) for sample in plain])
        np.testing.assert_allclose(left, right, rtol=1e-8, atol=1e-12, err_msg=name)
    assert chain.rng.random() == rng.random()  # as many numbers were drawn
    if twin.guided:
        assert chain.ladder.champion.score[0] == pytest.approx(twin.score, rel=1e-9)
        assert chain.ladder.champion.error[0] == pytest.approx(twin.champion.error, rel=1e-8)
        functions = {f for key in twin.fits for term in key for f in _functions(twin, term)}
        assert functions >= {(f, "y") for f in given.functions}
    if given.lowered is not None:  # the level alone forbids what the tolerance allows
        cold = twin.rungs[0].tolerance * twin.unit
        fits = twin.fits.values()
        assert any(fit.error < cold and fit.foreseen > HOPELESS * twin.level for fit in fits)
    elif IS_COMPILED:  # the comparison is worth something
        assert len({sample.terms for sample in plain}) > 4


def _functions(twin: Twin, term: tuple[int, ...]) -> set[tuple[str, str]]:
    return {(atom.function, atom.signal) for atom in twin.law.decode(term)}


@pytest.mark.parametrize(
    "case",
    [
        "guided, four rungs",
        "fixed terms",
        "two inputs, functions",
        "residual, guided",
        "residual, an output lag, guided",
        "residual, from the pinned terms alone",
    ],
)
def test_calibration_equals_the_plain_one(case: str) -> None:
    """Greedy steps without guidance, then every rung to its structure's own optimum."""
    given = CASES[case]
    n_samples = 60 if IS_COMPILED else 40
    twin = make_twin(given)
    twin.level = math.inf
    chain, rng = make_chain_of(given, twin, 5), np.random.Generator(np.random.PCG64(5))
    before = [rung.distance for rung in twin.rungs]
    for _ in range(2):
        guided, twin.guided = twin.guided, 0.0
        twin.descend(rng, n_samples)
        assert advance(chain, n_samples, DESCEND, guided=0.0) == n_samples
        _assert_same_state(chain, twin)
        twin.guided = guided
        twin.polish()
        advance(chain, 1, POLISH)
        _assert_same_state(chain, twin)
    assert all(rung.distance < old for rung, old in zip(twin.rungs, before, strict=True))
    champion, ladder = twin.champion, chain.ladder
    kept = ladder.champion.state
    keys = kept.key[: kept.n_terms[0]].tolist()
    found = dict(zip(map(chain.engine.encoding.digits, keys), kept.theta, strict=False))
    terms = [*twin.pinned, *champion.terms]
    wanted = dict(zip(terms, champion.in_order(champion.theta, terms), strict=True))
    assert found == pytest.approx(wanted, rel=1e-7)
    assert ladder.champion.score[0] == pytest.approx(twin.score, rel=1e-9)
    assert ladder.champion.error[0] == pytest.approx(champion.error, rel=1e-8)
    best = int(np.argmin(ladder.tolerances.distance))  # every rung only came nearer
    assert ladder.best.distance[0] == ladder.tolerances.distance[best]
    kept, nearest = ladder.best.state, as_rung(ladder.rungs.state, best)
    n = int(kept.n_terms[0])
    assert kept.key[:n].tolist() == nearest.key[:n].tolist()
    assert kept.theta[:n].tolist() == nearest.theta[:n].tolist()


def _assert_same_ladders(left: AbcChain, right: AbcChain) -> None:
    """To the last bit, all that a chain goes on from and all that it reports."""
    for c, n in enumerate(left.ladder.rungs.state.n_terms[:, 0]):
        for name in ("atom", "degree", "key", "theta"):
            values = [getattr(chain.ladder.rungs.state, name)[c, :n] for chain in (left, right)]
            assert values[0].tolist() == values[1].tolist(), name
    one, other = state_arrays(left), state_arrays(right)
    for name in (
        *("tolerances_tolerance", "walk_width", "walk_n_steps"),
        *(f"rungs_counters_{part}" for part in ("move", "guided", "swap")),
        *("rungs_state_n_terms", "rungs_state_n_drawn"),
        *("champion_score", "champion_error", "best_error"),
    ):
        assert one[name].tolist() == other[name].tolist(), name
    assert left.rng.bit_generator.state == right.rng.bit_generator.state


@pytest.mark.parametrize("mode", [ANNEAL, RECORD])
@pytest.mark.parametrize(
    "case",
    [
        "paper's rule, four rungs",
        "guided, four rungs",
        "several records, thinned",
        "residual, an output lag, guided",
    ],
)
def test_distances_computed_outside_give_the_same_chain(case: str, mode: int) -> None:
    """The normalised mean squared error in percent, by NumPy on the runs that are handed out."""
    given, n_samples = CASES[case], 300 if IS_COMPILED else 30
    twin = make_twin(given)
    inside, outside = make_chain_of(given, twin, 3), make_chain_of(given, twin, 3)
    advance(inside, n_samples, mode)
    engine, n_rungs = outside.engine, len(given.tolerance)
    output = engine.regression.output
    blocks = zip(engine.regression.start, engine.regression.stop, strict=True)
    fitted = np.concatenate([np.arange(start, stop) for start, stop in blocks])
    series, error = np.full((n_rungs, len(output)), np.nan), np.full(n_rungs, np.nan)
    outside.ladder = outside.ladder._replace(runs=Runs(series, error))
    rules = engine.rules
    n_runs = 0
    for _ in range(n_samples):
        with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn of infinities
            abc.run_abc(
                outside.rng,
                rules,
                engine.regression,
                outside.ladder,
                outside.fitting,
                outside.buffer,
                PROPOSE,
                1,
            )
        is_run = np.isfinite(error)
        n_runs += is_run.sum()
        square = (series[:, fitted] - output[fitted]) ** 2
        np.testing.assert_allclose(error[is_run], square[is_run].sum(axis=1), rtol=1e-10)
        distance = np.where(is_run, 100 * square.mean(axis=1) / np.var(output[fitted]), np.inf)
        abc.decide_all(rules, outside.ladder, outside.buffer, distance, mode)
    assert n_runs > n_samples / 3
    _assert_same_ladders(inside, outside)
    one, other = outside.ladder, inside.ladder
    np.testing.assert_allclose(one.tolerances.distance, other.tolerances.distance, rtol=1e-10)
    np.testing.assert_allclose(one.rungs.error, other.rungs.error, rtol=1e-10)
    left, right = samples_of(inside), samples_of(outside)
    assert [s[:4] for s in left] == [s[:4] for s in right]
    np.testing.assert_allclose([s.distance for s in left], [s.distance for s in right], rtol=1e-10)


@pytest.mark.parametrize(
    "case",
    [
        "guided, four rungs",
        "two inputs, functions",
        "a level that is lowered",
        "residual, an output lag, guided",
    ],
)
def test_a_chain_is_the_same_however_it_is_cut_and_whatever_it_has_forgotten(case: str) -> None:
    given, n_samples = CASES[case], 1000 if IS_COMPILED else 30
    twin = make_twin(given)
    whole, cut = make_chain_of(given, twin, 8), make_chain_of(given, twin, 8)
    for mode in (ANNEAL, RECORD):
        advance(whole, n_samples, mode)
        done = 0
        while done < n_samples:
            n = min(7, n_samples - done)
            advance(cut, n, mode)
            done += n
            cut.fitting.table.size[:] = cut.fitting.fits.n_entries[:] = 0
            cut.fitting.fits.n_keys[:] = cut.fitting.fits.n_values[:] = 0
            cut.fitting.table.bucket[:] = cut.fitting.fits.bucket[:] = -1
        lower(given, whole, cut)
    _assert_same_ladders(whole, cut)
    one, other = whole.ladder, cut.ladder
    assert one.tolerances.distance.tolist() == other.tolerances.distance.tolist()
    assert samples_of(whole) == samples_of(cut)
    assert other.rungs.counters.saved[state.FITS] == one.rungs.counters.saved[state.FITS]
    assert cut.fitting.fits.n_made[0] > whole.fitting.fits.n_made[0]


@pytest.mark.parametrize("case", ["guided, four rungs", "residual, an output lag, guided"])
def test_the_best_structure_is_noted_whether_its_fit_was_made_or_found(case: str) -> None:
    """And its score does not depend on the order of terms in which the fit was asked for."""
    given = CASES[case]
    chain = make_chain_of(given, make_twin(given), 2)
    advance(chain, 100 if IS_COMPILED else 20, ANNEAL)
    ladder, state = chain.ladder, as_rung(chain.ladder.rungs.state, 0)
    found, n_fixed = [], chain.engine.rules.moves.n_fixed
    for is_forgotten, is_turned in ((False, False), (True, False), (True, True), (False, True)):
        if is_forgotten:
            chain.fitting.fits.n_entries[:] = chain.fitting.fits.n_keys[:] = 0
            chain.fitting.fits.n_values[:], chain.fitting.fits.bucket[:] = 0, -1
        for values in (state.atom, state.degree, state.key, state.theta) if is_turned else ():
            free = slice(n_fixed, state.n_terms[0])
            values[free] = values[free][::-1].copy()
        ladder.champion.score[0], ladder.champion.error[0] = -math.inf, math.inf
        for c in range(1, len(given.tolerance)):
            other = as_rung(ladder.rungs.state, c)
            for one, values in zip(other, state, strict=True):
                one[:] = values
        advance(chain, 1, POLISH)
        found.append((ladder.champion.score[0], ladder.champion.error[0]))
    assert math.isfinite(found[0][0])
    assert len(set(found)) == 1
