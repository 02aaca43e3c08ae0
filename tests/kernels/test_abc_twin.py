"""The compiled ladder equals the plain one draw for draw, from the same seed and the same state."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numpy as np
import pytest
from tests.engines import abc_engine
from tests.naive.abc import Sample, Twin
from tests.naive.fits import HOPELESS

from adjoin import Dataset, Grammar, Structure
from adjoin.inference.engines.abc import AbcChain
from adjoin.inference.engines.abc_chain import state_arrays
from adjoin.inference.engines.workspace import as_rung, write_terms
from adjoin.inference.ladder import Ladder
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.kernels import abc, state
from adjoin.kernels.ladders import Runs
from adjoin.kernels.state import ANNEAL, DESCEND, POLISH, PROPOSE, RECORD

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"

# Every probability differs from its inverse's: a ratio that drops or swaps one goes astray.
UNEVEN = Moves(
    stay=0.15,
    add_term=0.19,
    remove_term=0.09,
    add_factor=0.12,
    remove_factor=0.07,
    add_lag=0.08,
    remove_lag=0.13,
    swap_input=0.05,
    swap_output=0.12,
)
SMALL = Prior(expected_terms=6.0, degree_rate=1.2, lag_decay=0.9, coefficient_sd=0.5)


def _data(n_inputs: int = 1, lengths: tuple[int, ...] = (45,), seed: int = 0) -> Dataset:
    """Short noisy records; the output has a mean and a scale."""
    rng = np.random.default_rng(seed)
    inputs, outputs = [], []
    for n in lengths:
        u, y = rng.standard_normal((n, n_inputs)), np.zeros(n)
        noise = rng.standard_normal(n)
        for k in range(2, n):
            y[k] = 0.5 * y[k - 1] + 0.5 * u[k - 1, 0] - 0.2 * u[k - 2, -1] ** 2
            y[k] += 0.1 * u[k, -1] * y[k - 2] + 0.2 * noise[k]
        inputs.append(u)
        outputs.append(1.5 * y)
    return Dataset.from_arrays(inputs, outputs, names=(*("u", "v")[:n_inputs], "y"))


def _hard_data() -> Dataset:
    """One step ahead its structure seems to explode, so that fits begin far from the optimum."""
    rng, n = np.random.default_rng(1), 45
    u, y = rng.uniform(-1.0, 1.0, n), np.zeros(n)
    for k in range(1, n):
        y[k] = 0.5 * y[k - 1] + 0.3 * y[k - 1] ** 3 + u[k - 1]
    return Dataset.from_arrays(u, y + 0.03 * rng.standard_normal(n))


SISO = Grammar.narx(max_lag=2, max_degree=2)
CUBIC = Grammar.narx(max_lag=2, max_degree=3)
TWO = Grammar.narx(inputs=("u", "v"), functions=("abs", "tanh"), max_lag=2, max_degree=2)
PINNED = SISO.with_initial("u(k-1) + u(k-2)^2")
LADDER = (1.3, 1.8, 3.0, 8.0)


class Case(NamedTuple):
    """A system, where the chain starts on it, and how it is sampled.

    ``tolerance`` : of each rung, as multiples of the distance of the start. ``level`` : the rung up
    to which proposals may be guided; ``lowered`` : that after annealing, where it differs.
    ``functions`` : those of the output that must have been met. ``is_residual`` : whether fixed
    terms are pinned; then the start is of the others.
    """

    data: Dataset
    grammar: Grammar = SISO
    start: str = "u(k-1) + y(k-1)"
    theta: tuple[float, ...] = (0.7, 0.5)
    tolerance: tuple[float, ...] = LADDER
    level: int = 1
    lowered: int | None = None
    guided: float = 0.5
    swap_interval: int = 3
    thin: int = 1
    prior: Prior = SMALL
    moves: Moves = UNEVEN
    n_samples: int = 150
    functions: tuple[str, ...] = ()
    is_residual: bool = False


CASES = {
    "paper's rule, one rung": Case(_data(), tolerance=(1.6,), level=0, guided=0.0, n_samples=800),
    "paper's rule, four rungs": Case(_data(seed=1), CUBIC, guided=0.0, n_samples=300),
    "guided, one rung": Case(_data(seed=2), tolerance=(1.4,), level=0, n_samples=400),
    "guided, four rungs": Case(_data(seed=3), level=2),
    "guided, degree three": Case(_data(seed=4), CUBIC, tolerance=(1.3, 2.5)),
    "guided, nothing is guided above the first rung": Case(_data(seed=5), level=0),
    "default prior and moves": Case(_data(seed=6), CUBIC, prior=Prior(), moves=Moves()),
    "two inputs, functions": Case(
        _data(2, seed=7), TWO, tolerance=(1.3, 3.0), functions=("abs", "tanh")
    ),
    "two inputs, paper's rule": Case(_data(2, seed=8), TWO, guided=0.0),
    "fixed terms": Case(
        _data(seed=9),
        CUBIC.with_initial("u(k-1) + u(k)*y(k-1)"),
        "u(k-1) + u(k)*y(k-1) + y(k-1)",
        (0.7, 0.05, 0.5),
    ),
    "fixed terms beyond the alphabet": Case(
        _data(2, seed=10),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=1).with_initial(
            "tanh(u(k-3))*y(k-1)*v(k)"
        ),
        "tanh(u(k-3))*y(k-1)*v(k) + u(k-1) + y(k-1)",
        (0.05, 0.7, 0.5),
    ),
    "several records, thinned": Case(
        _data(lengths=(30, 5, 20), seed=11), tolerance=(1.3, 2.0, 4.0), thin=4
    ),
    "inputs alone": Case(
        _data(2, seed=12),
        Grammar.volterra(inputs=("u", "v"), max_lag=2),
        "u(k-1)",
        (0.7,),
    ),
    "a level that is lowered": Case(
        _hard_data(),
        CUBIC,
        "u(k-1) + y(k-1) + y(k-1)^3",
        (1.0, 0.5, 0.3),
        tolerance=(1.5, 10.0),
        lowered=0,
    ),
    "residual, paper's rule": Case(
        _data(seed=14), PINNED, "y(k-1)", (0.4,), guided=0.0, n_samples=300, is_residual=True
    ),
    "residual, guided": Case(_data(seed=15), PINNED, "y(k-1)", (0.4,), is_residual=True),
    "residual, an output lag, paper's rule": Case(
        _data(seed=16),
        SISO.with_initial("u(k-2) + y(k-1)"),
        "u(k-1)",
        (0.7,),
        guided=0.0,
        n_samples=300,
        is_residual=True,
    ),
    "residual, an output lag, guided": Case(
        _data(seed=17),
        CUBIC.with_initial("u(k)*y(k-1) + u(k-2) + y(k-1)"),
        "u(k-1)",
        (0.7,),
        level=2,
        n_samples=100,
        is_residual=True,
    ),
    "residual, from the pinned terms alone": Case(
        _data(seed=18),
        SISO.with_initial("u(k-2)^2 + y(k-1)"),
        "0",
        (),
        tolerance=(1.05, 1.2, 2.0),
        is_residual=True,
    ),
    "residual, inputs alone": Case(
        _data(2, seed=19),
        Grammar.volterra(inputs=("u", "v"), max_lag=2).with_initial("v(k-1) + u(k-1)*v(k)"),
        "0",
        (),
        tolerance=(1.05, 1.2, 2.0),
        is_residual=True,
    ),
    "residual, beyond the alphabet, several records": Case(
        _data(2, lengths=(30, 8, 20), seed=20),
        Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=2).with_initial(
            "tanh(u(k-3))*y(k-1)*v(k) + abs(y(k-2))"
        ),
        tolerance=(1.3, 2.5),
        is_residual=True,
    ),
    "residual, a start that is damped": Case(
        _hard_data(),
        CUBIC.with_initial("u(k-1) + y(k-1)"),
        "y(k-1)^3",
        (0.05,),
        tolerance=(1.5, 10.0),
        is_residual=True,
    ),
    "from no terms": Case(_data(seed=13), start="0", theta=(), tolerance=(1.05, 1.2, 2.0)),
}


def _twin(case: Case) -> Twin:
    """The plain ladder, every rung at the start."""
    twin = Twin(
        case.data,
        case.grammar.alphabet,
        case.prior,
        case.moves,
        guided=case.guided,
        swap_interval=case.swap_interval,
        thin=case.thin,
        is_residual=case.is_residual,
    )
    names = case.data.names
    structure = Structure.parse(case.start, names) if case.theta else Structure((), names)
    given = dict(zip([twin.law.encode(t) for t in structure], case.theta, strict=True))
    given.update(twin.pinned)
    terms = [*twin.law.fixed, *(t for t in given if t not in twin.law.fixed)]
    theta = [given[term] for term in terms]
    start = twin.runs.error(terms, theta) / twin.unit
    for c, factor in enumerate(case.tolerance):
        twin.put(terms, theta, factor * start, 0.1 / (c + 1))
    twin.level = twin.rungs[case.level].tolerance * twin.unit
    return twin


def _chain(case: Case, twin: Twin, seed: int) -> AbcChain:
    """A compiled chain in the state of the plain ladder."""
    ladder = Ladder(rungs=len(case.tolerance), swap_interval=case.swap_interval, guided=case.guided)
    engine = abc_engine(
        case.data,
        case.grammar.alphabet,
        10_000,
        case.prior,
        case.moves,
        ladder,
        "default" if case.guided else "paper",
        thin=case.thin,
        is_residual=case.is_residual,
    )
    chain = engine.start(seed)
    fitting = chain.ladder
    for c, rung in enumerate(twin.rungs):
        view = as_rung(fitting.rungs.state, c)
        write_terms(view, engine.encoding, [twin.law.decode(term) for term in rung.terms])
        view.theta[: len(rung.theta)] = rung.theta
        view.theta[: len(twin.pinned)] = engine.regression.pinned_theta
        fitting.tolerances.tolerance[c], fitting.walk.width[c] = rung.tolerance, rung.width
        fitting.tolerances.distance[c] = rung.distance
        fitting.rungs.error[c] = rung.distance * twin.unit
    fitting.tolerances.level[0] = twin.level
    return chain


def _lower(case: Case, *ladders: Twin | AbcChain) -> None:
    """The level after annealing."""
    for ladder in ladders if case.lowered is not None else ():
        if isinstance(ladder, Twin):
            ladder.level = ladder.rungs[case.lowered].tolerance * ladder.unit
        else:
            unit, tolerances = ladder.engine.target.unit, ladder.ladder.tolerances
            tolerances.level[0] = tolerances.tolerance[case.lowered] * unit


def _advance(chain: AbcChain, n_samples: int, mode: int, **changed: Any) -> int:
    engine = chain.engine
    target = engine.target._replace(**changed)
    with np.errstate(all="ignore"):  # uncompiled, NumPy scalars warn where kernels give infinities
        return abc.run_abc(
            chain.rng,
            engine.rules._replace(target=target),
            engine.regression,
            chain.ladder,
            chain.fitting,
            chain.buffer,
            mode,
            n_samples,
        )


def _samples(chain: AbcChain) -> list[Sample]:
    """What the buffer holds, terms in the chain's order."""
    buffer, found = chain.buffer, []
    at_theta = at_key = 0
    terms: tuple[tuple[int, ...], ...] = ()
    for row in range(buffer.cursor.n_draws[0]):
        n = int(buffer.n_terms[row])
        if buffer.is_new[row]:
            keys = buffer.key[at_key : at_key + n].tolist()
            terms, at_key = tuple(map(chain.engine.encoding.digits, keys)), at_key + n
        theta = tuple(buffer.theta[at_theta : at_theta + n].tolist())
        at_theta += n
        values = (buffer.noise[row], buffer.log_prior[row], buffer.distance[row])
        found.append(Sample(terms, theta, *map(float, values)))
    assert [int(written[0]) for written in buffer.cursor] == [len(found), at_theta, at_key]
    return found


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
    twin = _twin(given)
    chain, rng = _chain(given, twin, 17), np.random.Generator(np.random.PCG64(17))
    assert list(twin.run(rng, n_samples, "anneal")) == []
    assert _advance(chain, n_samples, ANNEAL) == n_samples
    _assert_same_state(chain, twin)
    _lower(given, twin, chain)
    plain = list(twin.run(rng, n_samples, "record"))
    assert _advance(chain, n_samples, RECORD) == n_samples
    _assert_same_state(chain, twin)
    fast = _samples(chain)
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
    twin = _twin(given)
    twin.level = math.inf
    chain, rng = _chain(given, twin, 5), np.random.Generator(np.random.PCG64(5))
    before = [rung.distance for rung in twin.rungs]
    for _ in range(2):
        guided, twin.guided = twin.guided, 0.0
        twin.descend(rng, n_samples)
        assert _advance(chain, n_samples, DESCEND, guided=0.0) == n_samples
        _assert_same_state(chain, twin)
        twin.guided = guided
        twin.polish()
        _advance(chain, 1, POLISH)
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
    twin = _twin(given)
    inside, outside = _chain(given, twin, 3), _chain(given, twin, 3)
    _advance(inside, n_samples, mode)
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
    left, right = _samples(inside), _samples(outside)
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
    twin = _twin(given)
    whole, cut = _chain(given, twin, 8), _chain(given, twin, 8)
    for mode in (ANNEAL, RECORD):
        _advance(whole, n_samples, mode)
        done = 0
        while done < n_samples:
            n = min(7, n_samples - done)
            _advance(cut, n, mode)
            done += n
            cut.fitting.table.size[:] = cut.fitting.fits.n_entries[:] = 0
            cut.fitting.fits.n_keys[:] = cut.fitting.fits.n_values[:] = 0
            cut.fitting.table.bucket[:] = cut.fitting.fits.bucket[:] = -1
        _lower(given, whole, cut)
    _assert_same_ladders(whole, cut)
    one, other = whole.ladder, cut.ladder
    assert one.tolerances.distance.tolist() == other.tolerances.distance.tolist()
    assert _samples(whole) == _samples(cut)
    assert other.rungs.counters.saved[state.FITS] == one.rungs.counters.saved[state.FITS]
    assert cut.fitting.fits.n_made[0] > whole.fitting.fits.n_made[0]


@pytest.mark.parametrize("case", ["guided, four rungs", "residual, an output lag, guided"])
def test_the_best_structure_is_noted_whether_its_fit_was_made_or_found(case: str) -> None:
    """And its score does not depend on the order of terms in which the fit was asked for."""
    given = CASES[case]
    chain = _chain(given, _twin(given), 2)
    _advance(chain, 100 if IS_COMPILED else 20, ANNEAL)
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
        _advance(chain, 1, POLISH)
        found.append((ladder.champion.score[0], ladder.champion.error[0]))
    assert math.isfinite(found[0][0])
    assert len(set(found)) == 1
