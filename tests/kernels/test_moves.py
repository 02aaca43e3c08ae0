"""The prior of terms and the nine moves, against brute force over everything a move could draw."""

from __future__ import annotations

import math
import os
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from scipy import stats
from tests.engines import prediction_engine
from tests.naive.prediction import INVERSE, Change
from tests.naive.prediction import Moves as PlainMoves
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.grammar.encoding import Encoding
from adjoin.inference.engines.prediction import PredictionChain
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.kernels.moves import propose
from adjoin.kernels.prior import extension_weights, reduction_weights, term_priors
from adjoin.kernels.state import APPEND, IMPOSSIBLE, REMOVE, REPLACE
from adjoin.kernels.terms import term_key

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
N_STATES = 20 if IS_COMPILED else 3
N_DRAWS = 300 if IS_COMPILED else 40
N_REVERSE = 30_000 if IS_COMPILED else 300
N_COUNTED = 10_000 if IS_COMPILED else 500

UNEVEN = Moves(0.05, 0.21, 0.10, 0.14, 0.07, 0.09, 0.15, 0.06, 0.13)
LONG = Prior(
    degree_rate=1.6,
    power_rate=1.2,
    power_weight=0.35,
    lag_decay=0.8,
    expected_terms=3.0,
    noise_shape=1.0,  # not flat: uncompiled, a draw that overflows divides by zero
)

GRAMMARS = {
    "siso": Grammar.narx(max_lag=2, max_degree=3),
    "degree 4": Grammar.narx(max_lag=1, max_degree=4),
    "two inputs": Grammar.narx(inputs=("u", "v"), max_lag=2, max_degree=2),
    "functions": Grammar.narx(inputs=("u", "v"), functions=("abs",), max_lag=1, max_degree=3),
    "three inputs": Grammar.narx(inputs=("u", "v", "w"), max_lag=1, max_degree=3),
    "spellings": Grammar.narx(functions=("sign", "sqrtabs", "sin"), max_lag=1, max_degree=3),
    "no constant": Grammar.narx(max_lag=2, max_degree=3, constant=False),
    "fixed constant": Grammar.narx(max_lag=1, max_degree=3).with_initial("1 + u(k)"),
    "degree 1": Grammar.arx(functions=("sin",), max_lag=5),
    "inputs alone": Grammar.volterra(inputs=("u", "v"), max_lag=1, max_degree=3),
    "outputs alone": Grammar.narx(inputs=(), max_lag=3, max_degree=3),
    "fixed": Grammar.narx(max_lag=2, max_degree=3).with_initial("u(k-1)^2 + u(k) + y(k-1)"),
    # Fixed terms of higher degree, of larger lags and with functions that no move can reach.
    "fixed beyond": Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=2).with_initial(
        "u(k-1) + u(k)*abs(v(k-4))^2*y(k-1) + tanh(y(k-3)) + u(k-3)"
    ),
}
PRIORS = {
    "default": Prior(),
    "long": LONG,
    "products": Prior(power_weight=0.0, degree_rate=1.0),
    "powers": Prior(power_weight=1.0, power_rate=1.5),
    "learned": Prior(terms_shape=1.7, expected_terms=2.5, constant_odds=0.3, lag_uniform=0.4),
}


@numba.njit
def _propose_many(rng, move, chain, prior, moves, work, what, ratio):
    """What each of several proposals would do: edit, index, degree, key of the new term."""
    for i in range(what.shape[0]):
        edit, index, degree, log_ratio = propose(rng, move, chain, prior, moves, work)
        what[i, 0], what[i, 1], what[i, 2], what[i, 3] = edit, index, degree, -1
        if edit in (APPEND, REPLACE):
            what[i, 3] = term_key(work.atom, degree, prior.weight.shape[0])
        ratio[i] = log_ratio


@numba.njit
def _seek(rng, move, chain, prior, moves, work, wanted, n):
    """The log ratio of one proposal in particular, drawn until it comes up; NaN if it does not."""
    for _ in range(n):
        edit, index, degree, log_ratio = propose(rng, move, chain, prior, moves, work)
        key = -1
        if edit in (APPEND, REPLACE):
            key = term_key(work.atom, degree, prior.weight.shape[0])
        if edit == wanted[0] and index == wanted[1] and key == wanted[3]:
            return log_ratio
    return np.nan


@numba.njit
def _extension(prior, atom, degree):
    return extension_weights(prior, atom, degree)


@numba.njit
def _reduction(prior, atom, degree, reduced, weight):
    return reduction_weights(prior, atom, degree, reduced, weight)


class Proposals(NamedTuple):
    """Proposals of one move in one state."""

    what: np.ndarray
    ratio: np.ndarray

    def distinct(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The different rows, a log ratio of each, and how often it came."""
        code = self.what[:, 0] + 4 * (self.what[:, 1] + 32 * (self.what[:, 3] + 1))
        _, first, count = np.unique(code, return_index=True, return_counts=True)
        return self.what[first], self.ratio[first], count


class Bench:
    """One alphabet and prior, in both implementations."""

    def __init__(self, grammar: str, prior: str, moves: Moves = UNEVEN) -> None:
        alphabet = GRAMMARS[grammar].alphabet
        inputs = alphabet.names.inputs
        u = np.zeros((20, len(inputs))) if inputs else None
        data = Dataset.from_arrays(u, np.zeros(20), names=(*inputs, "y"))
        self.engine = prediction_engine(data, alphabet, prior=PRIORS[prior], moves=moves, power=0.0)
        self.encoding: Encoding = self.engine.encoding
        self.law = TermPrior(alphabet, PRIORS[prior])
        self.plain = PlainMoves(self.law, moves.probabilities)
        self.possible = [term for term in self.law.terms if self.law.is_possible(term)]
        self.chain: PredictionChain = self.engine.start(0)
        assert tuple(self.law.atoms) == self.encoding.atoms

    def key(self, term: Term) -> int:
        return self.encoding.key(self.law.decode(term))

    def random_terms(self, rng: np.random.Generator) -> list[Term]:
        """Fixed terms, then up to eight others; half of the time from the same few atoms."""
        pool = [term for term in self.possible if term not in self.law.fixed]
        if rng.random() < 0.5:
            few = set(rng.choice(self.law.derivable, size=min(3, len(self.law.derivable))))
            pool = [term for term in pool if few.issuperset(term)] or pool
        size = rng.integers(0, min(8, len(pool)) + 1)
        chosen = rng.choice(len(pool), size=size, replace=False)
        return [*self.law.fixed, *(pool[i] for i in chosen)]

    def set_state(self, terms: list[Term]) -> None:
        state = self.chain.state
        state.atom[:] = -1
        state.n_terms[0] = len(terms)
        for i, term in enumerate(terms):
            state.atom[i, : len(term)] = term
            state.degree[i], state.key[i] = len(term), self.key(term)

    def propose(self, terms: list[Term], move: str, n: int, seed: int) -> Proposals:
        self.set_state(terms)
        what, ratio = np.zeros((n, 4), dtype=np.int64), np.zeros(n)
        _propose_many(*self._arguments(move, seed), what, ratio)
        return Proposals(what, ratio)

    def seek(self, terms: list[Term], move: str, change: Change, seed: int) -> float:
        self.set_state(terms)
        wanted = np.array(self.row(terms, change), dtype=np.int64)
        return _seek(*self._arguments(move, seed), wanted, N_REVERSE)

    def _arguments(self, move: str, seed: int) -> tuple[Any, ...]:
        rules, rng = self.engine.rules, np.random.Generator(np.random.PCG64(seed))
        number = self.plain.names.index(move)
        return rng, number, self.chain.state, rules.prior, rules.moves, self.chain._work

    def change(self, terms: list[Term], what: np.ndarray) -> Change:
        edit, index, degree, key = what.tolist()
        old = None if edit == APPEND else terms[index]
        if edit == REMOVE:
            return old, None
        if edit == APPEND:
            assert index == len(terms)
        new = self.encoding.digits(key)
        assert len(new) == degree
        assert new == tuple(sorted(new))
        return old, new

    def row(self, terms: list[Term], change: Change) -> list[int]:
        """The row that `_propose_many` writes for a change."""
        old, new = change
        if new is None:
            return [REMOVE, terms.index(old), 0, -1]
        if old is None:
            return [APPEND, len(terms), len(new), self.key(new)]
        return [REPLACE, terms.index(old), len(new), self.key(new)]


BENCHES = [
    *((grammar, "long") for grammar in GRAMMARS),
    ("siso", "default"),
    ("siso", "products"),
    ("siso", "powers"),
    ("functions", "powers"),
    ("siso", "learned"),
    ("spellings", "learned"),
    ("spellings", "powers"),
    ("no constant", "learned"),
    ("fixed constant", "learned"),
    ("fixed", "default"),
]


@pytest.mark.parametrize("max_degree", [1, 2, 3, 4])
@pytest.mark.parametrize("power_weight", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("inputs", [(), ("u",), ("u", "v")])
def test_the_prior_of_terms_sums_to_one(
    inputs: tuple[str, ...], power_weight: float, max_degree: int
) -> None:
    for functions in ((), ("abs",), ("abs", "sign", "sqrtabs", "sin")):
        max_lag = 1 if len(functions) > 1 else 2
        grammar = Grammar.narx(inputs, functions=functions, max_lag=max_lag, max_degree=max_degree)
        prior = Prior(
            power_weight=power_weight,
            degree_rate=1.1,
            power_rate=0.4,
            lag_decay=0.7,
            lag_uniform=0.3,
        )
        law, encoding = TermPrior(grammar.alphabet, prior), Encoding(grammar.alphabet)
        assert len(law.terms) == grammar.alphabet.n_terms
        *terms, constant = law.terms
        assert constant == ()
        atom = np.full((len(terms), max_degree), -1, dtype=np.int64)
        for row, term in zip(atom, terms, strict=True):
            row[: len(term)] = term
        degree = np.array([len(term) for term in terms], dtype=np.int64)
        density = np.empty(len(terms))
        term_priors(prior.table(encoding), atom, degree, density)
        assert math.fsum(density) == pytest.approx(1.0, abs=1e-12)
        assert density == pytest.approx([law.density(term) for term in terms], rel=1e-12)


def test_the_prior_by_hand() -> None:
    """SISO, one delay: w = (1/2·1/1.6, 1/2·0.6/1.6, 1/2), degrees 1 and 2 with odds 1 : rate."""
    alphabet, prior = Grammar.narx(max_lag=1, max_degree=2).alphabet, Prior()
    u0, u1, y1 = ((atom,) for atom in alphabet.atoms)
    weights = {u0: 0.3125, u1: 0.1875, y1: 0.5}
    for term, weight in weights.items():
        single = weight * (0.5 / 1.3 + 0.5 / 1.7)
        double = 0.5 * 0.3 / 1.3 * weight**2 + 0.5 * 0.7 / 1.7 * weight
        assert prior.term_probability(term, alphabet) == pytest.approx(single, rel=1e-14)
        assert prior.term_probability(term * 2, alphabet) == pytest.approx(double, rel=1e-14)
    mixed = 0.5 * 0.3 / 1.3 * 2 * 0.3125 * 0.1875
    assert prior.term_probability(u0 + u1, alphabet) == pytest.approx(mixed, rel=1e-14)
    odds = 5.0 * mixed
    assert prior.inclusion(u0 + u1, alphabet) == pytest.approx(odds / (1 + odds), rel=1e-14)


@pytest.mark.parametrize(("grammar", "prior"), BENCHES)
def test_sums_over_neighbours_equal_brute_force(grammar: str, prior: str) -> None:
    bench = Bench(grammar, prior)
    law, table = bench.law, bench.engine.rules.prior
    width = bench.encoding.max_degree
    reduced, weight = np.zeros(width, dtype=np.int64), np.zeros(width)
    terms = bench.possible if IS_COMPILED else bench.possible[::5]
    for term in terms:
        atom = np.array([*term, *[-1] * (width - len(term))], dtype=np.int64)
        if 1 <= len(term) < law.max_degree:
            total, product, power = _extension(table, atom, len(term))
            expected = [density for _, density in law.extensions(term)]
            assert total * law.spelled_mass == pytest.approx(math.fsum(expected), rel=1e-12)
            again = tuple(sorted((*term, term[0])))
            assert power * law.spelled_mass == pytest.approx(law.power_part(again), rel=1e-12)
            assert total == product + power
        if len(term) >= 2:
            total = _reduction(table, atom, len(term), reduced, weight)
            expected = [density for _, density in law.reductions(term)]
            assert total * law.spelled_mass == pytest.approx(math.fsum(expected), rel=1e-12)
            assert weight[: len(term)].sum() == pytest.approx(total, rel=1e-12)


@pytest.mark.parametrize(("grammar", "prior"), BENCHES)
def test_every_ratio_equals_first_principles_and_cancels_its_reverse(
    grammar: str, prior: str
) -> None:
    bench, rng = Bench(grammar, prior), np.random.default_rng(5)
    fixed, derivable = set(bench.law.fixed), set(bench.law.derivable)
    n_checked = dict.fromkeys(INVERSE, 0)
    for seed in range(N_STATES):
        terms = bench.random_terms(rng)
        for move, inverse in INVERSE.items():
            rows, ratios, _ = bench.propose(terms, move, N_DRAWS, seed).distinct()
            for row, ratio in zip(rows[:25], ratios[:25], strict=True):
                if row[0] == IMPOSSIBLE:
                    assert ratio == -math.inf
                    continue
                old, new = change = bench.change(terms, row)
                assert old not in fixed
                assert new not in terms
                assert new is None or derivable.issuperset(new)
                after = bench.plain.apply(terms, change)
                assert after[: len(fixed)] == bench.law.fixed
                assert ratio == pytest.approx(bench.plain.log_ratio(move, terms, change), abs=1e-10)
                back = bench.seek(after, inverse, (new, old), seed)
                if not math.isnan(back):  # a rare term may not come up
                    assert ratio + back == pytest.approx(0.0, abs=1e-10)
                    n_checked[move] += 1
    if IS_COMPILED:
        assert {move for move, n in n_checked.items() if n == 0} == _lame_moves(grammar)


def _lame_moves(grammar: str) -> set[str]:
    """The moves that an alphabet never allows."""
    factor, swap = {"add_factor", "remove_factor"}, {"swap_input", "swap_output"}
    if grammar == "degree 1":
        return factor
    if grammar in ("inputs alone", "outputs alone"):
        return swap
    return set()


@pytest.mark.parametrize(("grammar", "prior"), BENCHES)
def test_proposals_come_as_often_as_the_ratios_assume(grammar: str, prior: str) -> None:
    """χ² on the frequency of each change, per state and move; one false alarm in 1e4 runs."""
    bench, rng = Bench(grammar, prior), np.random.default_rng(6)
    p_values = []
    for seed in range(N_STATES):
        terms = bench.random_terms(rng)
        for move in INVERSE:
            expected: dict[tuple[int, ...], float] = {}
            for change, chance in bench.plain.outcomes(move, terms):
                is_valid = chance > 0.0 and bench.plain.apply(terms, change) is not None
                row = tuple(bench.row(terms, change)) if is_valid else (IMPOSSIBLE, 0, 0, -1)
                expected[row] = expected.get(row, 0.0) + chance
            expected = expected or {(IMPOSSIBLE, 0, 0, -1): 1.0}
            rows, _, n_seen = bench.propose(terms, move, N_COUNTED, 1000 + seed).distinct()
            seen = dict(zip(map(tuple, rows.tolist()), n_seen.tolist(), strict=True))
            assert seen.keys() <= expected.keys()
            p_values.append(_p_value(seen, expected))
    threshold = 1e-4 / len(p_values) / len(BENCHES)
    assert min(p_values) > threshold


def _p_value(seen: dict[Any, int], expected: dict[Any, float]) -> float:
    """Of Pearson's χ², changes expected fewer than ten times put together."""
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-9)
    n = sum(seen.values())
    table = [[0.0, 0.0]]
    for what, chance in expected.items():
        if n * chance < 10:
            table[0][0] += seen.get(what, 0)
            table[0][1] += n * chance
        else:
            table.append([seen.get(what, 0), n * chance])
    if table[0][1] < 10:
        table[1][0] += table[0][0]
        table[1][1] += table[0][1]
        table = table[1:]
    if len(table) == 1:
        return 1.0
    counts = np.array(table)
    square = float(((counts[:, 0] - counts[:, 1]) ** 2 / counts[:, 1]).sum())
    return float(stats.chi2.sf(square, len(table) - 1))


def test_moves_that_are_switched_off_are_never_tried() -> None:
    still = Moves(0.5, 0.25, 0.25, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    bench = Bench("siso", "long", still)
    chain = bench.engine.start(2)
    chain.advance(2000 if IS_COMPILED else 200)
    assert not chain.finish().move[3:].any()
    terms = bench.random_terms(np.random.default_rng(0))
    for move in ("add_term", "remove_term"):
        found = bench.propose(terms, move, 50, 0)
        for row, ratio in zip(found.what, found.ratio, strict=True):
            if row[0] != IMPOSSIBLE:
                change = bench.change(terms, row)
                assert ratio == pytest.approx(bench.plain.log_ratio(move, terms, change), abs=1e-10)
