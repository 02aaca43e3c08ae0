"""Masses that the chains do not agree on are ranges, wherever they are shown."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from rich.console import Console
from tests.results.runs import GRAMMAR, HELD_OUT, POOR, TRAIN, TRUE
from tests.systems import by_hand

from adjoin.report.findings import describe, print_findings
from adjoin.report.page import make_page
from adjoin.results.assessment import assess
from adjoin.results.masses import is_settled, mass_percent, mass_text


@pytest.mark.parametrize(
    ("masses", "agreement", "text", "share"),
    [
        ((0.9, 0.95), "good", "0.925", "92.5 %"),
        ((0.9, 0.95), "poor", "0.90 to 0.95", "90 % to 95 %"),
        ((0.0, 0.98), "caution", "0.00 to 0.98", "0 % to 98 %"),
        ((0.98, 0.98), "poor", "0.98", "98 %"),
        ((0.7,), "caution", "0.925", "92.5 %"),
    ],
)
def test_a_range_where_chains_differ(
    masses: tuple[float, ...], agreement: str, text: str, share: str
) -> None:
    assert mass_text(0.925, masses, agreement) == text
    assert mass_percent(0.925, masses, agreement) == share


def test_what_differs_by_more_than_a_tenth_is_not_settled() -> None:
    assert is_settled((0.5, 0.59))
    assert not is_settled((0.5, 0.61))
    assert not is_settled((0.5, 0.5), "poor")


def test_no_page_table_or_sentence_shows_a_mass_that_a_chain_denies() -> None:
    """Validation selects a chain that is sure of what the other never drew."""
    chains = [[POOR] * 50, [TRUE] * 49 + [POOR]]
    timing = {"sampling_s": 1.0, "total_s": 1.0}
    posterior = by_hand(TRAIN, chains, GRAMMAR, held_out=HELD_OUT, timing=timing)
    found = assess(posterior, draws=20)
    assert found.is_selected
    assert found.masses() == (0.0, 0.98)
    page = io.StringIO()
    print_findings(Console(file=page, width=200), found)
    assert "mass by chain" in page.getvalue()
    assert "0.00 to 0.98" in page.getvalue()
    assert "0.980 " not in page.getvalue().split("inclusion")[0]
    html = make_page(found)
    assert "0 % to 98 %" in html
    assert "This structure" not in html.split('id="trust"')[0]  # no share of draws comes first
    assert "<td>0.980</td><td>2</td>" not in html
    assert found.unique.reasons[0].startswith("0 % to 98 % of the draws, chain by chain,")
    best = describe(found)["structures"][0]
    assert best["mass"] == 0.98
    assert best["mass_by_chain"] == [0.0, 0.98]
    assert best["is_settled"] is False
    assert "by chain" in repr(found.all_chains)
    for sentence in found.verdict.settled:
        assert sentence in re.sub("<[^>]*>", "", html).replace("&#39;", "'")


def test_a_mass_that_chains_agree_on_is_a_number() -> None:
    rng = np.random.default_rng(0)
    chains = [[(*TRUE[:2], 0.01 * rng.gamma(50.0) / 50.0) for _ in range(400)] for _ in range(2)]
    found = assess(by_hand(TRAIN, chains, GRAMMAR), draws=20)
    assert found.is_mass_settled()
    assert found.mass_text() == "1.000"
    assert describe(found)["structures"][0]["is_settled"] is True
    assert "with mass 1.000:" in repr(found.all_chains)
