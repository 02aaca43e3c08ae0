"""`Prior`: hyperparameters, the density of terms, draws to look at."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations_with_replacement

import numpy as np
import pytest

from adjoin import AdjoinError, Grammar, Prior, Structure
from adjoin.grammar import Alphabet, Term
from adjoin.grammar.spelling import reduce_product
from adjoin.grammar.terms import Atom, make_term

SMALL = Grammar.narx(max_lag=2, max_degree=3)
MORISON = Grammar.narx(("u", "udot"), "F", "abs", max_lag=1, max_degree=2)


def every_term(alphabet: Alphabet) -> list[Term]:
    """All terms but the constant, by brute force."""
    degrees = range(1, alphabet.max_degree + 1)
    products = (combinations_with_replacement(alphabet.atoms, d) for d in degrees)
    terms = (make_term(term, alphabet.names) for product in products for term in product)
    return [term for term in terms if sorted(reduce_product(term)) == sorted(term)]


@pytest.mark.parametrize(
    "name",
    [
        "expected_terms",
        "degree_rate",
        "lag_decay",
        "power_rate",
        "coefficient_sd",
        "noise_shape",
    ],
)
@pytest.mark.parametrize("value", [0, -1.0, math.nan, math.inf, "1", None, True])
def test_a_hyperparameter_out_of_range_is_named(name: str, value) -> None:
    with pytest.raises(AdjoinError, match=rf"^{name} must be .*, not {value!r}$"):
        Prior(**{name: value})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lag_decay": 1.0}, "lag_decay must be a number between 0 and 1, not 1.0"),
        ({"noise_scale": 0.0}, "noise_scale must be a positive number or None, not 0.0"),
        ({"noise_scale": "1"}, "noise_scale must be a positive number or None, not '1'"),
        ({"power_weight": -0.1}, "power_weight must be a share from 0 to 1, not -0.1"),
        ({"power_weight": 1.1}, "power_weight must be a share from 0 to 1"),
        ({"power_weight": math.nan}, "power_weight"),
        ({"coefficient_shape": 1.0}, "coefficient_shape and coefficient_scale go together"),
        ({"coefficient_scale": 1.0}, "coefficient_shape and coefficient_scale go together"),
        ({"coefficient_shape": 1.0, "coefficient_scale": 0.0}, "coefficient_scale must be"),
        ({"coefficient_shape": -1.0, "coefficient_scale": 1.0}, "coefficient_shape must be"),
        ({"units": "volts"}, "units must be 'standard' or 'raw', not 'volts'"),
    ],
)
def test_wrong_hyperparameters_are_refused(arguments, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Prior(**arguments)


def test_the_shares_of_powers_may_be_none_and_all() -> None:
    assert Prior(power_weight=0).power_weight == 0
    assert Prior(power_weight=1).power_weight == 1


def test_presets() -> None:
    assert Prior.read("default") == Prior()
    assert Prior.read("default", 8) == Prior(expected_terms=8)
    assert Prior().units == "standard"
    paper = Prior.read("paper", 10.0)
    assert paper == Prior.paper(10.0)
    assert (paper.units, paper.expected_terms, paper.noise_scale) == ("raw", 10.0, 1.0)
    # Table 1 of the paper
    assert (paper.degree_rate, paper.lag_decay, paper.power_weight) == (0.3, 0.6, 0.5)
    assert (paper.power_rate, paper.coefficient_sd, paper.noise_shape) == (0.7, 1.0, 1e-6)


def test_a_prior_carries_its_own_expected_terms() -> None:
    prior = Prior(expected_terms=3.0)
    assert Prior.read(prior) is prior
    assert Prior.read(prior, 3.0) is prior
    with pytest.raises(AdjoinError, match=r"expected_terms=7.0, but the prior has 3; set it in"):
        Prior.read(prior, 7.0)
    with pytest.raises(AdjoinError, match="expected_terms='7'"):
        Prior.read(prior, "7")


@pytest.mark.parametrize("given", ["standard", "", None, 3])
def test_unknown_presets_are_refused(given) -> None:
    with pytest.raises(AdjoinError, match=f"'default', 'paper' or an adjoin.Prior, not {given!r}"):
        Prior.read(given)


def test_settings_are_all_hyperparameters_by_name() -> None:
    prior = Prior(lag_decay=0.3, coefficient_shape=1.0, coefficient_scale=2.0)
    assert Prior(**prior.settings) == prior


@pytest.mark.parametrize("power_weight", [0.0, 0.35, 1.0])
@pytest.mark.parametrize(
    "grammar",
    [
        SMALL,
        MORISON,
        MORISON.with_initial("u(k-4)*abs(u(k))"),
        Grammar.arx(max_lag=3),
        Grammar.volterra(("u", "v"), max_lag=1, max_degree=2),
    ],
    ids=["narx", "functions", "grey box", "linear", "inputs alone"],
)
def test_the_probabilities_of_all_terms_add_up_to_one(grammar: Grammar, power_weight) -> None:
    prior = Prior(power_weight=power_weight, degree_rate=1.1)
    terms = every_term(grammar.alphabet)
    assert len(terms) + 1 == grammar.alphabet.n_terms  # the constant has odds of its own
    total = math.fsum(prior.term_probability(term, grammar.alphabet) for term in terms)
    assert total == pytest.approx(1.0, rel=1e-12)


def test_the_probability_of_a_term_by_hand() -> None:
    alphabet = SMALL.alphabet
    prior = Prior(degree_rate=0.3, lag_decay=0.6, power_weight=0.25, power_rate=0.7)
    # u has lags 0, 1, 2, y has 1 and 2, and each is chosen half the time.
    weight_u = 0.5 * 0.4 / (1 - 0.6**3)
    weight_y = 0.5 * 0.4 / (1 - 0.6**2)
    second = 0.3 / (1 + 0.3 + 0.3**2 / 2)  # P(degree 2) of a product
    mixed = prior.term_probability((Atom("u", 1), Atom("y", 1)), alphabet)
    assert mixed == pytest.approx(0.75 * second * 2 * (0.6 * weight_u) * weight_y)
    square = prior.term_probability((Atom("u", 0),) * 2, alphabet)
    second_power = 0.7 / (1 + 0.7 + 0.7**2 / 2)
    expected = 0.75 * second * weight_u**2 + 0.25 * second_power * weight_u
    assert square == pytest.approx(expected)
    assert prior.inclusion((Atom("u", 0),) * 2, alphabet) == pytest.approx(
        5 * expected / (1 + 5 * expected)
    )


def test_the_order_of_the_factors_does_not_matter() -> None:
    atoms = (Atom("y", 1), Atom("u", 0), Atom("y", 1))
    forwards = Prior().term_probability(make_term(atoms, SMALL.signals), SMALL.alphabet)
    assert Prior().term_probability(atoms, SMALL.alphabet) == forwards


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ((Atom("u", 0),) * 4, "from 1 to max_degree=3 factors, not 4"),
        ((), "from 1 to max_degree=3 factors, not 0"),
        ((Atom("u", 3),), "lags from 0 to 2, not 3"),
        ((Atom("u", 0, "abs"),), "no tree for 'u' inside abs"),
        ((Atom("w", 0),), "no signal is called 'w'"),
    ],
)
def test_terms_outside_the_alphabet_have_no_probability(term: Term, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Prior().term_probability(term, SMALL.alphabet)


def test_draws_are_a_function_of_the_seed() -> None:
    first = Prior().draw(SMALL, 20, seed=3)
    assert Prior().draw(SMALL, 20, seed=3) == first
    assert Prior().draw(SMALL, 20, seed=4) != first
    assert len(Prior().draw(SMALL, 1, seed=None)) == 1


def test_draws_stay_within_the_grammar_and_hold_the_fixed_terms() -> None:
    grammar = MORISON.with_initial("u(k-4)*abs(u(k-4))^2 + udot(k)")
    fixed, alphabet = grammar.alphabet.fixed, grammar.alphabet
    models = Prior(expected_terms=8.0, degree_rate=2.0).draw(grammar, 200, seed=1)
    assert any(len(model.structure) > len(fixed) for model in models)
    for model in models:
        assert set(fixed.terms) <= set(model.structure.terms)
        for term in set(model.structure.terms) - set(fixed.terms):
            assert len(term) <= 2
            assert set(term) <= set(alphabet.atoms)


def test_draws_include_each_term_independently_at_its_odds() -> None:
    """Inclusion λp/(1 + λp), for all 55 terms; and no correlation of the two likeliest."""
    prior, alphabet = Prior(expected_terms=6.0), SMALL.alphabet
    n = 4000
    count = Counter(t for model in prior.draw(SMALL, n, seed=0) for t in model.structure)
    terms = every_term(alphabet)
    share = {term: prior.inclusion(term, alphabet) for term in terms}
    z = [(count[t] / n - p) / math.sqrt(p * (1 - p) / n) for t, p in share.items() if n * p > 20]
    # Bonferroni for about 40 two-sided comparisons: false alarm below 40 × 3.4e-6 = 1.4e-4.
    assert len(z) > 15
    assert np.max(np.abs(z)) < 4.65
    a, b = sorted(share, key=share.__getitem__)[-2:]
    both = sum({a, b} <= set(model.structure) for model in prior.draw(SMALL, n, seed=1)) / n
    p = share[a] * share[b]
    assert abs(both - p) < 4.65 * math.sqrt(p * (1 - p) / n)


def test_a_flat_noise_prior_is_not_drawn_from() -> None:
    assert all(model.noise_sd is None for model in Prior().draw(SMALL, 5))
    drawn = Prior(noise_shape=2.0, noise_scale=3.0).draw(SMALL, 2000)
    precision = np.array([model.noise_sd**-2 for model in drawn])
    # 1/σ² ~ Gamma(2) / 3, of mean 2/3 and variance 2/9; 4.5 standard errors, false alarm 7e-6.
    assert abs(precision.mean() - 2 / 3) < 4.5 * math.sqrt(2 / 9 / 2000)


def test_coefficients_have_the_spread_of_the_prior() -> None:
    theta = [t for m in Prior(coefficient_sd=0.2).draw(SMALL, 1000, seed=2) for t in m.theta]
    # The relative error of a variance is sqrt(2/n); 4.5 of them, false alarm 7e-6.
    assert abs(np.mean(np.square(theta)) / 0.04 - 1) < 4.5 * math.sqrt(2 / len(theta))


def test_a_flat_hyperprior_of_coefficients_can_be_drawn_from() -> None:
    # Its gamma variates underflow to zero every now and then.
    prior = Prior(coefficient_shape=1e-3, coefficient_scale=1.0)
    assert len(prior.draw(SMALL, 100)) == 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n": 0}, "n must be a whole number from 1 on, not 0"),
        ({"n": 2.5}, "n must be a whole number from 1 on, not 2.5"),
        ({"seed": -1}, "seed must be a whole number from 0 on, or None, not -1"),
        ({"seed": 1.5}, "seed must be"),
        ({"grammar": "narx"}, "grammar must be an adjoin.Grammar, not 'narx'"),
        ({"grammar": Grammar.keith()}, "declares no output"),
    ],
)
def test_wrong_draws_are_refused(arguments, message: str) -> None:
    with pytest.raises(AdjoinError, match=message):
        Prior().draw(**{"grammar": SMALL, **arguments})


def test_a_prior_of_few_terms_draws_the_empty_structure() -> None:
    models = Prior(expected_terms=1e-6, constant_odds=0.0).draw(SMALL, 3)
    assert [model.structure for model in models] == [Structure((), SMALL.signals)] * 3


def test_a_learned_number_of_terms_is_drawn_whatever_its_mean() -> None:
    prior, alphabet = Prior(expected_terms=60, terms_shape=2.0), SMALL.alphabet
    models = prior.draw(SMALL, 2000, seed=3)
    for term in every_term(alphabet)[:3]:
        share = np.mean([term in model.structure.terms for model in models])
        # Of 2,000 draws, and of the 400 rates that `inclusion` averages over.
        assert share == pytest.approx(prior.inclusion(term, alphabet), abs=0.08)


def test_positions_of_arguments_are_those_of_the_first_version() -> None:
    assert Prior(5.0, 0.3, 0.6, 0.5, 0.7, 1.0, 1e-6, 1e-5) == Prior(noise_scale=1e-5)
    assert Grammar.arx("u", "y", (), 5).max_lag == 5
    assert Grammar.volterra("u", "y", (), 3, 2).max_degree == 2
