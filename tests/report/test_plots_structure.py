"""Plots of structures, terms and lags: what is drawn is what was found."""

from __future__ import annotations

import re
from itertools import combinations

import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.report.drawn import (
    DATA,
    GRAMMAR,
    hand_made,
    line_of,
    rows_of,
    texts_of,
)
from tests.systems import by_hand, quick, simulated

from adjoin import Grammar, Posterior, Prior, Structure
from adjoin.grammar.terms import Term
from adjoin.report import colours, style
from adjoin.report.plots_structure import (
    figure_map_trees,
    lag_probabilities,
    list_terms,
    plot_inclusion,
    plot_lags,
    plot_prior_posterior,
    plot_structures,
)


def test_bars_are_masses_and_the_rest_is_summed() -> None:
    a, b, c = ("u(k)", [1.0], 1.0), ("y(k-1)", [1.0], 1.0), ("y(k-2)", [1.0], 1.0)
    posterior = hand_made([a, a, a, b], [a, b, c, ("0", [], 1.0)])
    ax = plot_structures(posterior, most=2)
    assert [bar.get_width() for bar in ax.patches] == [0.5, 0.25, 0.25]
    marks = line_of(ax, "each chain alone")[:, 0]
    assert marks.tolist() == [0.75, 0.25, 0.25, 0.25, 0.0, 0.5]
    assert texts_of(ax) == ["1.  u(k)", "0.25 to 0.75", "2.  y(k-1)", "0.250", "2 more", "0.250"]


def test_long_structures_are_told_by_their_difference() -> None:
    names = [f"{a}*{b}" for a, b in combinations(["u(k)", "u(k-1)", "u(k-2)", "y(k-1)"], 2)]
    whole = " + ".join(names)
    less, other = " + ".join(names[1:]), " + ".join([*names[:-3], "y(k-2)"])
    records = [(t, [1.0] * (1 + t.count("+")), 1.0) for t in (whole, whole, less, other)]
    ax = plot_structures(hand_made(records), width=style.NARROW)
    first, second, third = texts_of(ax)[::2]
    assert re.fullmatch(r"1\.  6 terms: u\(k\).*…", first)
    assert second == "2.  5 terms: 1st - u(k)*u(k-1)"
    assert third == "3.  4 terms: 1st, 1 added, 3 left out"


def test_inclusion_beside_its_prior(found: Posterior) -> None:
    ax = plot_inclusion(found, most=3)
    frame = found.terms.head(3)
    assert rows_of(ax) == frame["term"].tolist()
    assert [bar.get_width() for bar in ax.patches] == frame["inclusion"].tolist()
    alphabet = found.grammar.alphabet
    prior = [
        found.prior.inclusion(Structure.parse(text, alphabet.names).terms[0], alphabet)
        for text in frame["term"]
    ]
    assert line_of(ax, "prior")[:, 0].tolist() == prior
    assert f"3 of {len(found.terms)} terms" in ax.get_xlabel().replace("\n", " ")


def test_fixed_terms_are_marked_and_have_no_prior() -> None:
    posterior = quick(initial="u(k-1)", chains=1, samples=500).fit(*simulated()).posterior_
    ax = plot_inclusion(posterior)
    row = rows_of(ax).index("u(k-1)")
    grey = [bar for bar in ax.patches if to_hex(bar.get_facecolor()) == colours.MUTED]
    assert [bar.get_y() + bar.get_height() / 2 for bar in grey] == pytest.approx([row])
    assert row not in line_of(ax, "prior")[:, 1]


def test_a_lag_counts_once_however_many_terms_have_it() -> None:
    both = ("u(k-1) + u(k-1)*y(k-1)", [1.0, 1.0], 1.0)
    posterior = hand_made([both, both, ("y(k-1)", [1.0], 1.0), ("0", [], 1.0)])
    share = lag_probabilities(posterior)
    assert share["u"].tolist() == [0.0, 0.5, 0.0]
    assert np.isnan(share["y"][0])
    assert share["y"][1:].tolist() == [0.75, 0.0]
    ax = plot_lags(posterior)
    assert rows_of(ax) == ["u", "y"]
    assert sorted(texts_of(ax)) == [".50", ".75"]
    shown = [patch.get_alpha() for patch in ax.patches if patch.get_alpha()]
    assert sorted(shown) == [0.5, 0.75]


def test_functions_have_rows_of_their_own() -> None:
    grammar = Grammar.narx(functions="abs", max_lag=1, max_degree=2)
    posterior = by_hand(DATA, [[("abs(u(k))", [1.0], 1.0)]], grammar)
    share = lag_probabilities(posterior)
    assert list(share) == ["u", "abs(u)", "y", "abs(y)"]
    assert share["abs(u)"].tolist() == [1.0, 0.0]
    assert share["u"].tolist() == [0.0, 0.0]


def _terms() -> set[Term]:
    """All terms of the grammar, the constant among them."""
    terms = {
        term
        for n in (1, 2)
        for atoms in combinations(sorted(GRAMMAR.alphabet.atoms * n), n)
        for term in Structure((atoms,), GRAMMAR.alphabet.names)
    }
    terms.add(())
    assert len(terms) == GRAMMAR.alphabet.n_terms
    return terms


def test_number_of_terms_before_and_after() -> None:
    records = [("u(k)", [1.0], 1.0)] * 3 + [("0", [], 1.0)]
    posterior = hand_made(records)
    ax = plot_prior_posterior(posterior)
    stairs = {patch.get_label(): patch.get_data().values for patch in ax.patches}
    assert stairs["posterior"][:2].tolist() == [0.25, 0.75]
    assert stairs["prior"].sum() == pytest.approx(1.0)
    # The empty structure has probability Π (1 - p(t in)); 5,000 draws, false alarm 1e-5.
    inclusion = [posterior.prior.inclusion(term, GRAMMAR.alphabet) for term in _terms()]
    empty = np.prod(1.0 - np.array(inclusion))
    assert abs(stairs["prior"][0] - empty) < 4.42 * np.sqrt(empty * (1.0 - empty) / 5000)


def test_number_of_terms_before_where_it_is_learned() -> None:
    r"""The empty structure has 1/((1 + o) Σ_m e_m(p) Π_i λ_i), e_m the symmetric polynomials."""
    prior = Prior(expected_terms=3, terms_shape=2)  # whole numbers will do
    ax = plot_prior_posterior(hand_made([("u(k)", [1.0], 1.0)], settings={"prior": prior}))
    stairs = {patch.get_label(): patch.get_data().values for patch in ax.patches}
    density = [prior.term_probability(term, GRAMMAR.alphabet) for term in _terms() - {()}]
    symmetric = np.array([1.0])
    for value in density:
        symmetric = np.append(symmetric, 0.0) + value * np.append(0.0, symmetric)
    rates = (2.0 + np.arange(len(density))) / (2.0 / 3.0 + 1.0)
    empty = 0.5 / float(symmetric @ np.append(1.0, np.cumprod(rates)))
    assert abs(stairs["prior"][0] - empty) < 4.42 * np.sqrt(empty * (1.0 - empty) / 5000)


def test_trees_of_the_most_frequent_structure(found: Posterior) -> None:
    figure = figure_map_trees(found)
    words = {text.get_text() for text in figure.axes[0].texts}
    assert {"u", "y", "×"} <= words


def test_terms_that_begin_alike_are_told_apart_where_they_are_cut() -> None:
    ax = style.dress(style.new_axes(3.0, 1.5))
    start = "motor_drive_V(k-1)*generator_output(k-1)"
    list_terms(ax, [f"{start}*generator_output(k-{lag})" for lag in (2, 3)], ["", ""])
    first, second = rows_of(ax)
    assert first != second
    assert first.startswith("motor_")
    assert first.endswith("(k-2)")
