"""Coefficients with one value in all draws: said in words, and never as a spread of nothing."""

from __future__ import annotations

import pytest
from tests.results.runs import made
from tests.systems import BEHIND
from tests.test_grey_box import grey, wave

from adjoin import Posterior
from adjoin.results.unmoved import on_unmoved, unmoved_terms
from adjoin.text import summed_up

BOTH = "u(k-1) + y(k-1)"


def _moving(n: int = 60) -> list:
    """Draws of which both coefficients move."""
    return [(BOTH, [0.5 + 0.001 * (i % 7), 0.6 + 0.001 * (i % 5)], 0.01) for i in range(n)]


def _found(*chains: list) -> tuple[Posterior, list]:
    posterior = made(list(chains))
    return posterior, unmoved_terms(posterior)


def test_a_chain_whose_coefficients_stand_still_is_named_with_their_terms() -> None:
    still = [(BOTH, [0.5, 0.6 + 0.001 * (i % 5)], 0.01) for i in range(60)]
    posterior, found = _found(_moving(), still)
    assert found == [{"chain": 1, "terms": ["u(k-1)"]}]
    verdict = posterior.diagnostics["verdict"]
    reason = "in chain 1 the coefficients of u(k-1) never moved: their spread is not known"
    assert reason in verdict["reasons"]
    assert verdict["level"] != "good"
    assert posterior.diagnostics["unmoved_terms"] == found
    assert _found(_moving(), _moving())[1] == []


def test_of_a_term_that_is_hardly_ever_in_no_spread_is_expected() -> None:
    rare = ("u(k-1) + u(k-2) + y(k-1)", [0.5, 0.1, 0.6], 0.01)
    assert _found([*_moving(), rare, rare], _moving())[1] == []
    often = [("u(k-2)", [0.1], 0.01)] * 10
    assert _found([*_moving(), *often], _moving())[1] == [{"chain": 0, "terms": ["u(k-2)"]}]


def test_many_are_counted() -> None:
    names = [f"t{i}" for i in range(7)]
    ((_, reason, advice),) = on_unmoved([{"chain": i, "terms": names} for i in (0, 2)])
    assert "in chains 0, 2 the coefficients of t0, t1, t2, t3, t4 and 2 more never" in reason
    assert advice == "draw more samples"
    assert on_unmoved([]) == []


@pytest.mark.filterwarnings(BEHIND)
@pytest.mark.parametrize("objective", ["osa", "abc"])
def test_coefficients_that_were_fitted_before_are_meant_to_stay(objective: str) -> None:
    posterior = grey(objective, samples=600).fit(*wave()).posterior_
    said = [term for one in unmoved_terms(posterior) for term in one["terms"]]
    assert not {"u(k)*abs(u(k))", "u(k-1)"} & set(said)


def test_a_table_has_dashes_where_nothing_is_known_of_a_spread() -> None:
    assert summed_up(0.51234, 0.012, 0.49, 0.53) == ["0.512", "0.012", "0.490", "0.530"]
    assert summed_up(-2.0, 0.0, -2.0, -2.0) == ["-2", "–", "–", "–"]
    assert summed_up(0.3, 1e-17, 0.3, 0.3) == ["0.3", "–", "–", "–"]
    assert summed_up(0.3, float("nan"), float("nan"), float("nan")) == ["0.3", "–", "–", "–"]
