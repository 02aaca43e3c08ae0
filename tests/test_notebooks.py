"""What notebooks show of the objects a user holds: small, self-contained, every text escaped."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser

import pytest
from tests.results.runs import POOR, TRAIN, TRUE, made

import adjoin
from adjoin import Dataset, Model
from adjoin.markup import html_heading, html_notes, html_table


class Checker(HTMLParser):
    """Refuses what is not closed, and whatever would fetch or run anything."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag not in ("script", "img", "link", "iframe")
        assert not {name for name, _ in attrs} & {"src", "href", "onclick"}
        self.open.append(tag)
        self.seen.add(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(html: str) -> set[str]:
    checker = Checker()
    checker.feed(html)
    assert checker.open == []
    return checker.seen


def test_a_model_is_its_equation() -> None:
    model = Model.parse("y(k) = 0.5*u(k-1)^2 - 0.3*y(k-1)", noise_sd=0.25, offsets={"u": 2.0})
    html = model._repr_html_()
    assert {"math", "msubsup"} <= tags(html)
    assert "0.25" in html
    assert "Δ" in html
    assert model._repr_latex_() == f"$${model.latex()}$$"


def test_a_posterior_has_its_equation_and_structures() -> None:
    html = made([[TRUE] * 3 + [POOR]])._repr_html_()
    assert {"math", "table"} <= tags(html)
    assert "4 draws of 1 chain, 2 structures" in html
    assert "u(k-1) + y(k-1)" in html


def test_a_data_set_has_its_signals() -> None:
    data = Dataset.from_arrays(TRAIN.u, TRAIN.y, ["force", "speed"], 0.1, "<script>rig</script>")
    html = data._repr_html_()
    assert {"table", "td"} <= tags(html)
    assert "&lt;script&gt;rig" in html
    assert "sampling time 0.1 s" in html
    assert re.findall(r"<td[^>]*>(force|speed|input|output)</td>", html) == [
        *("force", "input", "speed", "output")
    ]


def test_a_path_has_its_models_and_the_best() -> None:
    path = adjoin.forward_selection(TRAIN, max_lag=2, max_degree=2, max_terms=3)
    html = path._repr_html_()
    assert {"table", "math"} <= tags(html)
    assert html.count(">best<") == 1
    assert "–" in html  # nothing was held out


@pytest.mark.parametrize("text", ["<b>", "a & b", '"quoted"'])
def test_every_text_is_escaped(text: str) -> None:
    for html in (
        html_table([text], [[text]]),
        html_notes([text]),
        html_heading(text, text),
    ):
        tags(html)
        assert escape(text) in html
        assert text not in re.sub("</?(b|p)[ >]", "", html)
