"""With informed moves, flips and rungs the compiled chain equals the plain one, draw for draw."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.engines import prediction_engine
from tests.kernels.test_prediction_twin import HYPER, UNEVEN, assert_same_chain, noisy_records
from tests.naive.informed import MOVES, InformedMoves, InformedTwin, list_groups
from tests.naive.prediction import State
from tests.naive.prior import Term

from adjoin import Dataset, Grammar
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
STILL = Moves(1.0, *[0.0] * 8)
"""The nine moves change nothing: all is left to the informed ones."""

SISO = Grammar.narx(max_lag=1, max_degree=2)
NINE = Grammar.narx(max_lag=1, max_degree=2, constant=False)
TWO = Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=1, max_degree=1)
LEARNED = Prior(terms_shape=1.5, expected_terms=3.0, lag_uniform=0.4)

INFORMED = Search(candidates=100, moves=6, interval=5)
TEMPERED = Search(rungs=4, hottest=0.1, interval=4)
BOTH = Search(candidates=100, moves=4, interval=3, rungs=3, hottest=0.2)
FLIPS = Search(flips=9, interval=2)
ALL = Search(candidates=100, moves=4, interval=3, rungs=3, hottest=0.2, flips=8)
EVERYTHING = {
    "power": 0.6,
    "prior": Prior(**{**HYPER.settings, "terms_shape": 2.0}),
    "moves": UNEVEN,
    "is_residual": True,
}
CASES: dict[str, tuple[Dataset, Grammar, Search, dict[str, Any], int]] = {
    "informed only": (noisy_records(), SISO, INFORMED, {"moves": STILL}, 600),
    "informed beside the nine": (noisy_records(seed=1), SISO, INFORMED, {"moves": UNEVEN}, 600),
    "rungs only": (noisy_records(seed=2), SISO, TEMPERED, {"moves": UNEVEN}, 600),
    "both": (noisy_records(seed=3), SISO, BOTH, {}, 300),
    "no constant": (noisy_records(seed=3), NINE, BOTH, {"moves": STILL}, 300),
    "two inputs": (noisy_records(2), TWO, BOTH, {"moves": UNEVEN}, 300),
    "fixed terms": (
        noisy_records(seed=4),
        SISO.with_initial("u(k-1) + u(k)*y(k-1)"),
        BOTH,
        {"moves": UNEVEN},
        300,
    ),
    "a fixed constant": (
        noisy_records(seed=5),
        SISO.with_initial("1 + y(k-1)"),
        INFORMED,
        {"moves": UNEVEN},
        400,
    ),
    "residual": (
        noisy_records(seed=6),
        SISO.with_initial("u(k-1)*u(k) + y(k-1)"),
        BOTH,
        {"is_residual": True, "moves": UNEVEN},
        300,
    ),
    "several records": (noisy_records(lengths=(30, 7, 25), seed=7), SISO, BOTH, {}, 300),
    "power": (noisy_records(seed=8), SISO, BOTH, {"power": 0.3}, 300),
    "hyperprior": (noisy_records(seed=9), SISO, BOTH, {"prior": HYPER}, 300),
    "learned number of terms": (
        noisy_records(seed=10),
        SISO,
        BOTH,
        {"prior": LEARNED, "moves": UNEVEN},
        300,
    ),
    "all at once": (
        noisy_records(2, lengths=(25, 30), seed=11),
        TWO.with_initial("u(k)*abs(u(k)) + v(k)"),
        BOTH,
        EVERYTHING,
        300,
    ),
    "flips beside informed moves": (
        noisy_records(seed=12),
        SISO,
        Search(candidates=100, moves=3, interval=2, flips=9),
        {"moves": STILL},
        400,
    ),
    "flips beside the nine": (noisy_records(seed=13), NINE, FLIPS, {"moves": UNEVEN}, 600),
    "flips, fixed terms": (
        noisy_records(seed=14),
        SISO.with_initial("u(k-1) + u(k)*y(k-1)"),
        ALL,
        {"moves": UNEVEN, "prior": LEARNED},
        300,
    ),
    "flips, all at once": (
        noisy_records(2, lengths=(25, 30), seed=15),
        TWO.with_initial("u(k)*abs(u(k)) + v(k)"),
        ALL,
        EVERYTHING,
        300,
    ),
    "flips, likelihood off": (
        noisy_records(),
        SISO,
        ALL,
        {"power": 0.0, "prior": HYPER, "moves": UNEVEN},
        600,
    ),
    "likelihood off": (
        noisy_records(),
        SISO,
        BOTH,
        {"power": 0.0, "prior": HYPER, "moves": UNEVEN},
        600,
    ),
    "likelihood off, informed only": (
        noisy_records(),
        SISO,
        INFORMED,
        {"power": 0.0, "prior": Prior(**{**HYPER.settings, "terms_shape": 2.0}), "moves": STILL},
        600,
    ),
}


def make_twin(
    data: Dataset, grammar: Grammar, search: Search, options: dict[str, Any], **more: Any
) -> InformedTwin:
    twin = InformedTwin(
        data,
        grammar.alphabet,
        n_moves=search.moves if search.candidates else 0,
        interval=search.interval,
        n_rungs=search.rungs,
        hottest=search.hottest,
        **options,
        **more,
    )
    if search.flips:
        twin.n_flips, twin.groups = search.flips, list_groups(known_structures(twin))
    return twin


def known_structures(twin: InformedTwin) -> tuple[tuple[Term, ...], ...]:
    """Some that were found before, as it were: the fixed terms and up to four others each."""
    rng = np.random.default_rng(8)
    editable = [t for t in twin.law.terms if t not in twin.law.fixed and twin.law.is_possible(t)]
    found = []
    for _ in range(6):
        drawn = rng.choice(len(editable), size=rng.integers(5), replace=False)
        found.append((*twin.law.fixed, *(editable[j] for j in drawn)))
    return tuple(found)


@pytest.mark.parametrize("case", CASES)
def test_the_compiled_chain_equals_the_plain_one(case: str) -> None:
    data, grammar, search, options, n_samples = CASES[case]
    n_samples = n_samples if IS_COMPILED else n_samples // 4
    options = {"prior": Prior(), "moves": Moves(), **options}
    twin = make_twin(data, grammar, search, options)
    engine = prediction_engine(data, grammar.alphabet, search=search, **options)
    if search.flips:
        known = [[twin.law.decode(t) for t in terms] for terms in known_structures(twin)]
        keys = tuple(tuple(engine.encoding.key(t) for t in terms) for terms in known)
        engine = replace(engine, known=keys)
    chain = engine.start(17)
    chain.advance(n_samples)
    assert_same_chain(chain, list(twin.run(17, n_samples)), twin)

    informed, ladder = chain.informed, chain.ladder
    pool = [engine.encoding.digits(key) for key in informed.pool.key.tolist()]
    assert pool == twin.pool
    counts = twin.informed_counts
    assert informed.counter.tolist() == list(counts.values())
    assert informed.use.tolist() == list(twin.use.values())
    assert informed.n_averaged[0] == twin.n_averaged
    np.testing.assert_allclose(informed.inclusion, twin.inclusion, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(ladder.power, twin.powers, rtol=1e-14)
    assert ladder.swap.tolist() == twin.swaps
    assert ladder.is_from_hot.tolist() == twin.is_from_hot
    assert ladder.n_trips[0] == twin.n_trips
    if search.candidates and IS_COMPILED:  # the comparison is worth something
        assert all(0 < counts[move][2] < counts[move][0] for move in MOVES)
        n_sweeps, n_laid_out, n_accepted = counts["sweep"]
        assert n_laid_out == n_sweeps
        # Without data the surrogate is the posterior, and nothing is refused.
        assert 0 < n_accepted < n_sweeps if twin.power else n_accepted == n_sweeps
    if search.flips and IS_COMPILED:
        n_tried, n_possible, n_made = counts["flip"]
        assert 0 < n_made < n_possible < n_tried
    if search.rungs > 1 and twin.power and IS_COMPILED:
        assert all(0 < made < tried for tried, made in twin.swaps[:-1])
        assert twin.n_trips > 0


PENALTY = 0.4


@pytest.mark.parametrize("case", ["informed only", "both", "residual", "power", "hyperprior"])
def test_whatever_the_surrogate_leaves_out(case: str) -> None:
    """κ is taken from where a chain is; here it is given, to chain and twin alike."""
    data, grammar, search, options, n_samples = CASES[case]
    n_samples = n_samples if IS_COMPILED else n_samples // 4
    options = {"prior": Prior(), "moves": Moves(), **options}
    twin = make_twin(data, grammar, search, options, penalty=PENALTY)
    chain = prediction_engine(data, grammar.alphabet, search=search, **options).start(18)
    chain.ladder.penalty[:] = PENALTY
    chain.advance(n_samples)
    assert_same_chain(chain, list(twin.run(18, n_samples)), twin)
    assert chain.informed.counter.tolist() == list(twin.informed_counts.values())


@pytest.mark.parametrize(
    "case", ["informed only", "two inputs", "residual", "power", "hyperprior", "likelihood off"]
)
def test_the_reference_follows_until_the_burn_in_ends(case: str) -> None:
    data, grammar, search, options, n_samples = CASES[case]
    n_samples = n_samples if IS_COMPILED else n_samples // 4
    options = {"prior": Prior(), "moves": Moves(), **options}
    search = replace(search, screenings=1, rungs=1)
    n_settling = n_samples // 2 // search.interval * search.interval
    twin = make_twin(data, grammar, search, options, n_settling=n_settling)
    chain = prediction_engine(
        data, grammar.alphabet, search=search, samples=2 * n_settling, **options
    ).start(19)
    chain.advance(n_samples)
    assert_same_chain(chain, list(twin.run(19, n_samples)), twin)
    assert chain.informed.n_averaged[0] == twin.n_averaged < n_samples // search.interval
    np.testing.assert_allclose(chain.ladder.reference, twin.references, rtol=1e-8)
    np.testing.assert_allclose(chain.ladder.penalty, twin.penalties, rtol=1e-6)
    assert twin.references[0] != twin.variance


def _near_copies() -> Dataset:
    """v is u but for a little of w and as much of something else.

    Of u and v alone each is clear of the other, 1/(C⁻¹)_qq = 1.4e-10; beside w they are not.
    """
    rng, n = np.random.default_rng(3), 50
    u, w, other = np.sqrt(n) * np.linalg.qr(rng.standard_normal((n, 3)))[0].T
    v = u + np.sqrt(0.7e-10) * (w + other)
    y = u + 0.5 * w + rng.standard_normal(n)
    return Dataset.from_arrays(np.column_stack([u, v, w]), y, names=("u", "v", "w", "y"))


def test_what_is_not_clear_is_refused_alike() -> None:
    """So near to singular, twins agree in every decision but not in the last digits."""
    grammar = Grammar.volterra(("u", "v", "w"), max_lag=0, max_degree=1, constant=False)
    flat = Prior(
        coefficient_sd=1e6, expected_terms=3e3, units="raw", noise_shape=1.0, noise_scale=1.0
    )
    search, options = Search(candidates=10, interval=1), {"prior": flat, "moves": STILL}
    data, n_samples = _near_copies(), 300 if IS_COMPILED else 100
    twin = make_twin(data, grammar, search, options)
    chain = prediction_engine(data, grammar.alphabet, search=search, **options).start(1)
    with np.errstate(invalid="ignore"):  # -inf less -inf, as compiled code may
        chain.advance(n_samples)
    plain, trace = list(twin.run(1, n_samples)), chain.finish()
    assert twin.n_unclear > n_samples / 20
    assert chain.informed.counter.tolist() == list(twin.informed_counts.values())
    assert chain.informed.use.tolist() == list(twin.use.values())
    np.testing.assert_allclose(trace.noise, [sample.noise for sample in plain], rtol=1e-5)
    assert np.diff(trace.offset).tolist() == [len(sample.terms) for sample in plain]


LISTED = ["both", "fixed terms", "residual", "power", "learned number of terms", "likelihood off"]


def _random_states(twin: InformedTwin, n: int) -> Iterator[State]:
    """Fixed terms, up to four others, and variances all over the place."""
    rng = np.random.default_rng(5)
    for _ in range(n):
        drawn = rng.choice(len(twin.pool), size=rng.integers(5), replace=False)
        terms = [*twin.law.fixed, *(twin.pool[j] for j in drawn)]
        yield State(terms, math.exp(rng.normal(0.0, 2.0)), math.exp(rng.normal(0.0, 1.0)))


@pytest.mark.parametrize("case", LISTED)
def test_every_outcome_of_a_move_balances_its_reverse(case: str) -> None:
    """P(T → T') m̂(T) = P(T' → T) m̂(T')."""
    data, grammar, search, options, _ = CASES[case]
    twin = make_twin(data, grammar, search, {"prior": Prior(), "moves": Moves(), **options})
    reverse = {"exchange": "exchange", "birth": "death", "death": "birth"}
    n_checked = 0
    for state in _random_states(twin, 30):
        surrogate = twin.surrogate(state.coefficient)
        moves, terms = InformedMoves(twin.pool, surrogate), state.terms
        for move, inverse in reverse.items():
            outcomes = dict(moves.outcomes(move, terms))
            assert math.fsum(outcomes.values()) < 1.0 + 1e-12
            for (old, new), chance in outcomes.items():
                after = twin.moves.apply(terms, (old, new))
                back = dict(moves.outcomes(inverse, after))[new, old]
                there = math.log(chance) + surrogate.log_mass(terms)
                assert there == pytest.approx(math.log(back) + surrogate.log_mass(after), abs=1e-9)
                n_checked += 1
    assert n_checked > 300


@pytest.mark.parametrize("case", LISTED)
def test_a_move_is_drawn_as_often_as_it_is_listed(case: str) -> None:
    """χ² of the outcomes of one state, one false alarm in a thousand sets of seeds."""
    data, grammar, search, options, _ = CASES[case]
    twin = make_twin(data, grammar, search, {"prior": Prior(), "moves": Moves(), **options})
    state = list(_random_states(twin, 4))[-1]
    moves, n = InformedMoves(twin.pool, twin.surrogate(state.coefficient)), 4000
    rng = np.random.default_rng(6)
    for move in ("exchange", "birth", "death"):
        listed = dict(moves.outcomes(move, state.terms))
        listed[None] = 1.0 - math.fsum(listed.values())
        drawn = Counter(moves.draw(rng, move, state.terms)[1] for _ in range(n))
        assert drawn.keys() <= listed.keys()
        often = [change for change, chance in listed.items() if n * chance >= 5.0]
        observed = np.array([drawn[change] for change in often])
        expected = n * np.array([listed[change] for change in often])
        observed, expected = np.append(observed, n - observed.sum()), np.append(expected, 0.0)
        expected[-1] = n - expected.sum()
        is_there = expected >= 1.0  # of what is rare there may be next to nothing
        statistic = ((observed - expected)[is_there] ** 2 / expected[is_there]).sum()
        assert statistic < stats.chi2.isf(1e-3 / 3, max(is_there.sum() - 1, 1))


@pytest.mark.parametrize("case", [case for case in CASES if CASES[case][2].flips])
def test_every_flip_leads_back(case: str) -> None:
    """A group is drawn as often in every state: P(T → T') π(T) = P(T' → T) π(T') is left to show.

    It holds if T' is flipped back to T, by the same group, and by no other way of it.
    """
    data, grammar, search, options, _ = CASES[case]
    twin = make_twin(data, grammar, search, {"prior": Prior(), "moves": Moves(), **options})
    twin.pool = [t for t in twin.law.terms if t not in twin.law.fixed and twin.law.is_possible(t)]
    n_checked = 0
    for state in _random_states(twin, 200):
        for group in twin.groups:
            after = twin.flip(state.terms, group)
            if after is not None:
                n_checked += 1
                assert set(after) != set(state.terms)
                assert after[: len(twin.law.fixed)] == [*twin.law.fixed]
                assert set(twin.flip(after, group)) == set(state.terms)
    assert n_checked > 20


@pytest.mark.parametrize("case", LISTED)
def test_the_surrogate_and_what_it_gets_wrong_are_the_posterior(case: str) -> None:
    """log ω + log m̂ + log q̂ - log π is one constant, whatever the structure and σ²."""
    data, grammar, search, options, _ = CASES[case]
    twin = make_twin(data, grammar, search, {"prior": Prior(), "moves": Moves(), **options})
    surrogate, found = twin.surrogate(0.7), []
    for terms, noise, _ in _random_states(twin, 40):
        whole = surrogate.log_remainder(terms, noise) + surrogate.log_mass(terms)
        whole += surrogate.log_noise(terms, noise)
        found.append(whole - twin.log_density(terms, noise, 0.7))
    np.testing.assert_allclose(found, found[0], rtol=0.0, atol=1e-8)
