"""The alphabet as a list, and the terms of it that screening finds."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from tests.engines import prediction_engine
from tests.naive.prediction import Twin
from tests.naive.prior import TermPrior

from adjoin import Dataset, Grammar, Structure
from adjoin.grammar.encoding import Encoding
from adjoin.inference import pool
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.engines.prediction_chain import PredictionChain
from adjoin.inference.engines.workspace import write_terms
from adjoin.inference.moves import Moves
from adjoin.inference.pool import best_terms, likely_terms, list_alphabet, make_screening
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search
from adjoin.kernels.screening import Terms

IS_COMPILED = os.environ.get("NUMBA_DISABLE_JIT", "0") == "0"
GRAMMARS = {
    "siso": Grammar.narx(max_lag=2, max_degree=3),
    "no constant": Grammar.narx(max_lag=2, max_degree=2, constant=False),
    "two inputs": Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=2),
    "spellings": Grammar.narx(functions=("sign", "sqrtabs"), max_lag=1, max_degree=3),
    "inputs alone": Grammar.volterra(max_lag=3, max_degree=2),
}
FIXED = GRAMMARS["siso"].with_initial("1 + u(k-1)^2 + sin(u(k))")


def _listed(grammar: Grammar, prior: Prior, **more: int) -> tuple[Encoding, Terms]:
    encoding = Encoding(grammar.alphabet)
    return encoding, list_alphabet(prior.table(encoding), encoding, **more)


@pytest.mark.parametrize("name", GRAMMARS)
def test_every_term_is_listed_once_with_its_prior(name: str) -> None:
    prior = Prior(power_weight=0.3, lag_decay=0.8, constant_odds=0.4)
    encoding, terms = _listed(GRAMMARS[name], prior)
    law = TermPrior(GRAMMARS[name].alphabet, prior)
    found = [tuple(row[:d]) for row, d in zip(terms.atom.tolist(), terms.degree, strict=True)]
    assert len(set(found)) == len(found)
    assert set(found) == {term for term in law.terms if law.is_possible(term)}
    assert found == sorted(found, key=lambda term: (len(term), term))
    assert terms.key.tolist() == [encoding.key(law.decode(term)) for term in found]
    expected = [law.density(term) if term else prior.constant_odds for term in found]
    np.testing.assert_allclose(np.exp(terms.log_prior), expected, rtol=1e-12)
    assert math.fsum(np.exp(terms.log_prior[terms.degree > 0])) == pytest.approx(1.0, abs=1e-12)


def test_fixed_terms_are_not_listed() -> None:
    encoding, every = _listed(GRAMMARS["siso"], Prior())
    fixed_encoding, terms = _listed(FIXED, Prior())
    assert terms.key.tolist() == [
        key
        for key in map(fixed_encoding.key, map(encoding.term, every.key.tolist()))
        if fixed_encoding.term(key) not in FIXED.alphabet.fixed.terms
    ]
    assert len(terms.key) == len(every.key) - 2  # sin(u(k)) is not of the alphabet


def test_long_lists_end_with_a_degree() -> None:
    _, every = _listed(GRAMMARS["siso"], Prior())
    count = np.bincount(every.degree)
    for most in (0, 1, count[:2].sum(), count[:3].sum() - 1, count[:3].sum(), count.sum()):
        _, terms = _listed(GRAMMARS["siso"], Prior(), most=int(most))
        highest = max((d for d in range(4) if count[: d + 1].sum() <= most), default=0)
        assert terms.key.tolist() == every.key[every.degree <= highest].tolist()


def test_the_best_and_the_likeliest_keep_their_order() -> None:
    _, every = _listed(GRAMMARS["no constant"], Prior())
    n = len(every.key)
    likely = likely_terms(every, 4)
    wanted = np.sort(np.argsort(-every.log_prior, kind="stable")[:4])
    assert likely.key.tolist() == every.key[wanted].tolist()
    score = np.full(n, -np.inf)
    score[[1, 3, 6, 7]] = [1.0, 5.0, 2.0, 3.0]
    assert best_terms(every, score, every.key[[3]], 2).key.tolist() == every.key[[6, 7]].tolist()
    assert best_terms(every, score, every.key[[3]], 9).key.tolist() == every.key[[1, 6, 7]].tolist()


def _delayed(n: int = 400, seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    u, y = rng.standard_normal(n), np.zeros(n)
    for k in range(20, n):
        y[k] = 0.5 * y[k - 1] + 0.8 * u[k - 20] + 0.1 * rng.standard_normal()
    return Dataset.from_arrays(u, y)


LATE = Grammar.narx(max_lag=25, max_degree=2 if IS_COMPILED else 1)


def _chain(
    grammar: Grammar, data: Dataset, structure: str, noise: float, prior: Prior
) -> PredictionChain:
    """A chain at a structure, without candidates yet."""
    engine = prediction_engine(data, grammar.alphabet, prior, search=Search(candidates=12))
    chain = engine.start(0)
    terms = Structure.parse(structure, engine.encoding.names).terms
    chain.state.atom[:] = -1
    write_terms(chain.state, engine.encoding, terms)
    chain.state.noise[0] = noise
    return chain


@pytest.mark.parametrize("seed", range(5))
def test_screening_finds_a_late_term_at_once(seed: int) -> None:
    """The first pool has it, whatever the chain begins with."""
    engine = prediction_engine(_delayed(seed=seed), LATE.alphabet, search=Search(candidates=12))
    chain = engine.start(seed)
    chain.advance(1)
    assert len(chain.informed.pool.key) == 12
    assert _late(engine) in chain.informed.pool.key


@pytest.mark.parametrize("is_collinear", [False, True])
@pytest.mark.parametrize("structure", ["u(k)", "y(k-1)", "1 + u(k-2) + y(k-1) + u(k-20)"])
def test_scores_are_the_odds(structure: str, is_collinear: bool) -> None:
    """By all rows, what a term gains by joining or by replacing another: all but its ridge.

    The coefficients' prior is wide, so that what is left out, of the other terms, is little.
    """
    data = _delayed(150)
    if is_collinear:  # an offset that every column has
        data = Dataset.from_arrays(data.inputs[0][:, 0] + 20.0, data.outputs[0] + 5.0)
    grammar = Grammar.narx(max_lag=20, max_degree=1)
    prior = Prior(coefficient_sd=100.0)
    chain = _chain(grammar, data, structure, noise=0.3, prior=prior)
    engine = chain.engine
    score = chain._screen(0)
    twin = Twin(data, grammar.alphabet, prior, Moves())
    law, coefficient = twin.law, float(chain.state.coefficient[0])
    terms = [law.encode(t) for t in Structure.parse(structure, engine.encoding.names).terms]

    def log_mass(found: list[tuple[int, ...]]) -> float:
        return twin._evidence(found, 0.3, coefficient) + law.log_structure(found)

    n_compared, present = 0, log_mass(terms)
    for key, value in zip(engine.listing.key.tolist(), score, strict=True):
        term = engine.encoding.digits(key)
        if term in terms:
            continue
        joins = log_mass([*terms, term]) - present
        replaces = [log_mass([term, *(t for t in terms if t != old)]) - present for old in terms]
        assert value == pytest.approx(max([joins, *replaces]), abs=0.02)
        n_compared += 1
    assert n_compared > 35
    if not is_collinear:
        assert (np.argmax(score) == engine.listing.key.tolist().index(_late(engine))) == (
            "u(k-20)" not in structure
        )


def _late(engine: PredictionEngine) -> int:
    names = engine.encoding.names
    return engine.encoding.key(Structure.parse("u(k-20)", names).terms[0])


def test_long_records_are_screened_by_a_part_that_is_spread_over_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pool, "_MOST_ROWS", 2 * pool.ROWS)
    data, grammar = _delayed(9 * pool.ROWS), Grammar.arx(max_lag=25)
    engine = prediction_engine(data, grammar.alphabet, search=Search(candidates=12))
    chain = engine.start(0)
    screening = make_screening(engine.listing, engine.regression, 3, 3, chain.rng)
    block, n_rows = screening.basis.block, screening.basis.row.shape[1]
    width = (engine.regression.stop - engine.regression.start)[block]
    assert n_rows == width.sum() <= 3 * pool.ROWS
    assert screening.share == pytest.approx(n_rows / engine.regression.n_rows)
    assert block[0] == 0
    assert block[-1] >= len(engine.regression.start) - 5
    chain.advance(1)
    assert _late(engine) in chain.informed.pool.key


def test_where_all_is_too_much_a_part_of_the_alphabet_is_screened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another part each time; what was not looked at is not chosen."""
    data = _delayed()
    grammar = Grammar.narx(max_lag=25, max_degree=2)
    engine = prediction_engine(data, grammar.alphabet, search=Search(candidates=12))
    chain, n = engine.start(0), len(engine.listing.key)
    n_rows = int((engine.regression.stop - engine.regression.start).sum())
    monkeypatch.setattr(pool, "_MOST_WORK", 0.25 * n * (1 + chain.n_terms) * n_rows)
    seen = [np.isfinite(chain._screen(0)) for _ in range(12)]
    assert all(0.3 * n < found.sum() < 0.8 * n for found in seen)
    assert np.all(np.any(seen, axis=0) | np.isin(engine.listing.key, chain.state.key))


def test_a_pool_has_no_more_candidates_than_asked_for() -> None:
    """Even where the rungs have more terms in use than that."""
    _, every = _listed(GRAMMARS["no constant"], Prior())
    assert len(best_terms(every, np.zeros(len(every.key)), every.key[:5], -2).key) == 0
    search = Search(candidates=4, rungs=6, interval=5)
    prior = Prior(expected_terms=12.0)
    engine = prediction_engine(
        _delayed(120), GRAMMARS["siso"].alphabet, prior, search=search, samples=200
    )
    chain = engine.start(0)
    chain.advance(100)
    assert len(chain.informed.pool.key) <= 4
