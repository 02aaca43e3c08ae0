"""With the likelihood off, every term is in as often as its prior odds say.

The inclusion frequency of a term must be λ_t p/(1 + λ_t p), terms independent of each other, and of
the constant o/(1 + o); where λ_t is learned, what summing over all structures gives. All
tests are two-sided t tests on batch means, Bonferroni over what one test compares; each test gives
a false alarm once in a thousand sets of seeds. The seeds are fixed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.special import gammaln
from tests.engines import prediction_engine, simulation_engine
from tests.naive.prior import Term, TermPrior

from adjoin import Dataset, Grammar
from adjoin.inference.moves import Moves
from adjoin.inference.prior import Prior
from adjoin.inference.search import Search

pytestmark = pytest.mark.skipif(
    os.environ.get("NUMBA_DISABLE_JIT", "0") != "0", reason="far too many samples for plain Python"
)

FALSE_ALARM = 1e-3
N_CHAINS, N_BATCHES = 2, 40
THIN = 10  # neighbours say little new, and records cost more than samples
UNEVEN = Moves(0.05, 0.21, 0.10, 0.14, 0.07, 0.09, 0.15, 0.06, 0.13)
LONG = Prior(degree_rate=1.0, power_rate=1.0, power_weight=0.3, lag_decay=0.8, expected_terms=4.0)
FEW = Prior(expected_terms=2.0, power_weight=0.2, degree_rate=1.0)

SISO = Grammar.narx(max_lag=2, max_degree=2)
CASES: dict[str, tuple[Grammar, Prior, Moves]] = {
    "siso": (SISO, LONG, Moves()),
    "siso, uneven moves": (SISO, LONG, UNEVEN),
    "degree 3": (Grammar.narx(max_lag=1, max_degree=3), LONG, UNEVEN),
    "two inputs": (Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=2), LONG, UNEVEN),
    "functions": (Grammar.narx(functions=("abs",), max_lag=1, max_degree=2), LONG, Moves()),
    "hinges of each signal": (
        Grammar.narx(
            functions={"u": "pos[0.3]", "y": "pos[0.3], pos[-0.2]"}, max_lag=1, max_degree=2
        ),
        LONG,
        UNEVEN,
    ),
    "fixed terms": (SISO.with_initial("u(k-1)^2 + u(k)"), LONG, UNEVEN),
    "fixed terms beyond the alphabet": (
        Grammar.narx(inputs=("u", "v"), max_lag=1, max_degree=2).with_initial(
            "u(k-3)*abs(v(k))^2 + y(k-1) + sin(u(k))"
        ),
        FEW,
        Moves(),
    ),
    "powers only": (SISO, Prior(power_weight=1.0, power_rate=1.0), Moves()),
    "inputs alone": (Grammar.volterra(max_lag=2, max_degree=3), LONG, Moves()),
    "no constant": (
        Grammar.narx(max_lag=2, max_degree=2, constant=False),
        Prior(**{**LONG.settings, "lag_uniform": 0.5}),
        Moves(),
    ),
    "spellings": (
        Grammar.narx(functions=("sign", "sqrtabs"), max_lag=1, max_degree=2),
        Prior(**{**LONG.settings, "constant_odds": 0.2}),
        UNEVEN,
    ),
    "learned": (SISO, Prior(**{**LONG.settings, "terms_shape": 4.0, "lag_uniform": 0.3}), UNEVEN),
    "learned, fixed terms": (
        SISO.with_initial("1 + u(k)"),
        Prior(**{**LONG.settings, "terms_shape": 6.0}),
        Moves(),
    ),
    "past noise": (
        Grammar.narx(max_lag=2, max_degree=2, noise=True).with_initial("e(k-1)"),
        LONG,
        UNEVEN,
    ),
    "no moves but adding": (
        Grammar.narx(max_lag=1, max_degree=2),
        LONG,
        Moves(0.2, 0.5, 0.3, 0, 0, 0, 0, 0, 0),
    ),
}


def t_values(batches: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """t statistics of the columns' means."""
    error = batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    return (batches.mean(axis=0) - expected) / error


def t_limit(n_batches: int, n_comparisons: int) -> float:
    return float(stats.t.isf(FALSE_ALARM / 2 / n_comparisons, n_batches - 1))


def _editable(law: TermPrior) -> list[Term]:
    """Terms that can come and go."""
    return [t for t in law.terms if t not in law.fixed and law.is_possible(t)]


def _sizes(density: np.ndarray) -> np.ndarray:
    """The sum of Π p(t) over all sets of m terms, for every m."""
    sums = np.array([1.0])
    for value in density:
        sums = np.append(sums, 0.0) + value * np.append(0.0, sums)
    return sums


def _expected(law: TermPrior) -> tuple[np.ndarray, float, float]:
    """Inclusion of every editable term, and mean and mean square of their number."""
    terms = _editable(law)
    if law.prior.terms_shape is None:
        odds = np.array([law.odds(term) for term in terms])
        share = odds / (1.0 + odds)
        mean = float(share.sum())
        return share, mean, float((share * (1.0 - share)).sum()) + mean**2
    # p(T) is a function of the number m of its terms, times Π p(t).
    density = np.array([law.density(term) for term in terms if term])
    n = np.arange(len(density) + 1)
    a, b = law.prior.terms_shape, law.prior.terms_shape / law.prior.expected_terms
    weight = np.exp(gammaln(a + n) - gammaln(a) - n * np.log(b + 1.0))
    size = weight * _sizes(density)
    size /= (total := size.sum())
    share = np.array(
        [
            density[i] * (weight[1:] * _sizes(np.delete(density, i))).sum() / total
            for i in range(len(density))
        ]
    )
    mean, square = float(size @ n), float(size @ n**2)
    if () in terms:  # independent of the others
        one = law.prior.constant_odds / (1.0 + law.prior.constant_odds)
        share = np.insert(share, terms.index(()), one)
        mean, square = mean + one, square + 2.0 * mean * one + one
    return share, mean, square


def _batches(
    case: str, batch_size: int, search: Search, thin: int, make: Callable[..., Any]
) -> tuple[TermPrior, np.ndarray, np.ndarray]:
    """Per batch: frequency of each term, and mean and mean square of the number of terms."""
    grammar, prior, moves = CASES[case]
    alphabet = grammar.alphabet
    inputs = alphabet.names.inputs
    data = Dataset.from_arrays(np.ones((20, len(inputs))), np.ones(20), names=(*inputs, "y"))
    # A noise shape whose draws do not overflow: the noise is beside the point here.
    prior = Prior(**{**prior.settings, "noise_shape": 1.0})
    engine = make(data, alphabet, prior, moves, 0.0, thin=thin, search=search)
    law = TermPrior(alphabet, prior)
    place = {engine.encoding.key(law.decode(t)): i for i, t in enumerate(_editable(law))}
    fixed = {engine.encoding.key(law.decode(t)) for t in law.fixed}

    def run(seed: int) -> tuple[np.ndarray, np.ndarray]:
        chain = engine.start(seed)
        chain.advance(thin * batch_size * (N_BATCHES + 1))
        trace = chain.finish()
        is_in = np.zeros((len(trace.structures), len(place)))
        for row, keys in zip(is_in, trace.structures, strict=True):
            assert fixed.issubset(keys)
            row[[place[key] for key in keys if key not in fixed]] = 1.0
        n_terms = is_in.sum(axis=1)
        batches = trace.structure.reshape(-1, batch_size)[1:]  # the first is burn-in
        share = np.array([np.bincount(batch, minlength=len(is_in)) for batch in batches])
        share = share / batch_size
        return share @ is_in, np.column_stack([share @ n_terms, share @ n_terms**2])

    with ThreadPoolExecutor(2) as pool:
        done = list(pool.map(run, range(N_CHAINS)))
    return law, np.concatenate([a for a, _ in done]), np.concatenate([b for _, b in done])


def _check(
    case: str,
    batch_size: int,
    search: Search = Search(),  # noqa: B008
    thin: int = THIN,
    make: Callable[..., Any] = prediction_engine,
) -> None:
    law, inclusion, size = _batches(case, batch_size, search, thin, make)
    expected, mean, square = _expected(law)
    # Batches in which a term is hardly ever in are too skewed for a t test: such terms together.
    is_rare = expected * batch_size < 20
    groups = np.column_stack([inclusion[:, ~is_rare], inclusion[:, is_rare].sum(axis=1)])
    wanted = np.append(expected[~is_rare], expected[is_rare].sum())
    if not is_rare.any():
        groups, wanted = groups[:, :-1], wanted[:-1]
    groups = np.column_stack([groups, size])
    wanted = np.concatenate([wanted, [mean, square]])
    worst = np.abs(t_values(groups, wanted)).max()
    assert worst < t_limit(len(groups), len(wanted))
    # Tight enough to mean something: the number of terms is known to half a percent.
    error = size[:, 0].std(ddof=1) / np.sqrt(len(size))
    assert error < (0.005 if batch_size > 1000 else 0.05) * mean


@pytest.mark.parametrize("case", ["siso", "two inputs", "fixed terms", "spellings", "learned"])
def test_prior_is_recovered_in_short(case: str) -> None:
    _check(case, batch_size=500)


WHOLE = Search(candidates=1000, moves=4, interval=2)
SEARCHES = {
    "whole alphabet": WHOLE,
    # Without a likelihood all rungs would be one: asking for more changes nothing.
    "rungs": Search(candidates=1000, moves=4, interval=2, rungs=4),
    "a part of it": Search(candidates=6, moves=4, interval=2),
}


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize("case", ["siso", "fixed terms", "learned"])
def test_prior_is_recovered_by_informed_moves_too(case: str, kind: str) -> None:
    """Beside the nine moves, which reach what is not among the candidates."""
    _check(case, batch_size=500, search=SEARCHES[kind], thin=4)


@pytest.mark.parametrize("case", ["siso", "two inputs", "spellings", "learned, fixed terms"])
def test_prior_is_recovered_by_informed_moves_alone(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grammar, prior, _ = CASES[case]
    monkeypatch.setitem(CASES, case, (grammar, prior, Moves(1.0, *[0.0] * 8)))
    _check(case, batch_size=500, search=WHOLE, thin=4)


@pytest.mark.parametrize(
    "case",
    ["siso, uneven moves", "two inputs", "fixed terms", "spellings", "learned", "past noise"],
)
def test_prior_is_recovered_by_free_runs(case: str) -> None:
    """Coefficients are proposed with every change of terms, and decided on in two stages."""
    _check(case, batch_size=500, search=Search(rungs=3), thin=20, make=simulation_engine)


@pytest.mark.slow
@pytest.mark.parametrize("case", [name for name in CASES if name != "past noise"])
def test_prior_is_recovered(case: str) -> None:
    _check(case, batch_size=3000)


@pytest.mark.parametrize(
    "case",
    ["siso", "two inputs", "functions", "fixed terms", "spellings", "no constant", "past noise"],
)
def test_structures_drawn_from_the_prior_have_the_same_frequencies(case: str) -> None:
    """Independent draws: z tests on counts, and on pairs of the likeliest terms."""
    grammar, prior, _ = CASES[case]
    law, n = TermPrior(grammar.alphabet, prior), 20_000
    editable = _editable(law)
    models = prior.draw(grammar, n=n, seed=8)
    is_in = np.zeros((n, len(editable)))
    place = {law.decode(term): i for i, term in enumerate(editable)}
    fixed = set(grammar.alphabet.fixed.terms)
    for row, model in zip(is_in, models, strict=True):
        assert fixed.issubset(model.structure.terms)
        row[[place[term] for term in model.structure if term not in fixed]] = 1.0
    odds = np.array([law.odds(term) for term in editable])
    expected = odds / (1.0 + odds)
    top = np.argsort(-expected)[:6]
    pairs = [(i, j) for i in top for j in top if i < j]
    both = np.array([(is_in[:, i] * is_in[:, j]).mean() for i, j in pairs])
    wanted = np.array([expected[i] * expected[j] for i, j in pairs])
    frequency = np.concatenate([is_in.mean(axis=0), both])
    chance = np.concatenate([expected, wanted])
    keep = n * chance > 20
    z = (frequency - chance) / np.sqrt(chance * (1.0 - chance) / n)
    assert np.abs(z[keep]).max() < stats.norm.isf(FALSE_ALARM / 2 / keep.sum())


def test_structures_drawn_with_a_learned_number_of_terms() -> None:
    """Independent draws: z tests on the inclusion of every term and on the number of terms."""
    for case in ("learned", "learned, fixed terms"):
        grammar, prior, _ = CASES[case]
        law, n = TermPrior(grammar.alphabet, prior), 20_000
        expected, mean, square = _expected(law)
        fixed = set(grammar.alphabet.fixed.terms)
        models = prior.draw(grammar, n=n, seed=8)
        drawn = [[t for t in model.structure if t not in fixed] for model in models]
        count = Counter(law.encode(term) for terms in drawn for term in terms)
        share = np.array([count[term] / n for term in _editable(law)])
        keep = n * expected > 20
        z = (share - expected) / np.sqrt(expected * (1.0 - expected) / n)
        of_size = (np.mean([len(t) for t in drawn]) - mean) / np.sqrt((square - mean**2) / n)
        limit = stats.norm.isf(FALSE_ALARM / 4 / (keep.sum() + 1))
        assert max(np.abs(z[keep]).max(), abs(of_size)) < limit


def test_coefficients_and_noise_drawn_from_the_prior() -> None:
    """Kolmogorov-Smirnov on what `Prior.draw` gives beside structures."""
    grammar = Grammar.narx(max_lag=1, max_degree=2)
    for hyper in ({}, {"coefficient_shape": 3.0, "coefficient_scale": 2.0}):
        prior = Prior(coefficient_sd=0.3, noise_shape=5.0, noise_scale=2.0, **hyper)
        models = prior.draw(grammar, n=4000, seed=9)
        noise = np.array([model.noise_sd for model in models]) ** 2
        theta = np.array([model.theta[0] for model in models if model.theta])
        law = stats.norm(scale=0.3)
        if hyper:  # normal with an inverse-gamma variance is Student's t
            law = stats.t(df=6.0, scale=np.sqrt(2.0 / 3.0))
        p_values = [
            stats.kstest(noise, stats.invgamma(5.0, scale=2.0).cdf).pvalue,
            stats.kstest(theta, law.cdf).pvalue,
        ]
        assert min(p_values) > FALSE_ALARM / 4


@pytest.mark.slow
@pytest.mark.parametrize("make", [prediction_engine, simulation_engine])
def test_variances_and_coefficients_follow_their_prior_too(make: Callable[..., Any]) -> None:
    """θ, σ² and σ_θ² of a chain without likelihood, thinned to near independence."""
    grammar = Grammar.narx(max_lag=1, max_degree=2).with_initial("u(k)")
    prior = Prior(noise_shape=4.0, noise_scale=2.0, coefficient_shape=5.0, coefficient_scale=3.0)
    prior = Prior(**{**prior.settings, "units": "raw"})
    data = Dataset.from_arrays(np.arange(20.0), np.arange(20.0))
    chain = make(data, grammar.alphabet, prior, power=0.0, thin=200).start(4)
    chain.advance(200 * 5000)
    trace = chain.finish()
    key = chain.engine.encoding.key(grammar.alphabet.fixed.terms[0])
    place = np.array([keys.index(key) for keys in trace.structures])[trace.structure]
    theta = trace.theta[trace.offset[:-1] + place]
    p_values = [
        stats.kstest(trace.noise, stats.invgamma(4.0, scale=2.0).cdf).pvalue,
        stats.kstest(trace.coefficient, stats.invgamma(5.0, scale=3.0).cdf).pvalue,
        stats.kstest(theta, stats.t(df=10.0, scale=np.sqrt(3.0 / 5.0)).cdf).pvalue,
    ]
    assert min(p_values) > FALSE_ALARM / 3
