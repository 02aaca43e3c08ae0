"""What a notebook shows of a discovery: markup that is whole and escaped, and a picture."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.test_notebooks import tags

import adjoin
from adjoin import Dataset, discover
from adjoin.discovery.discovery import Discovery


@pytest.fixture(scope="module")
def data() -> Dataset:
    rng = np.random.default_rng(5)
    u, y = rng.uniform(-2.0, 2.0, size=400), np.full(400, 4.6)
    for k in range(1, 400):
        y[k] = 0.6 * y[k - 1] + 0.5 * u[k - 1] + 2.0
    made = Dataset.from_arrays(u, y + 0.02 * rng.normal(size=400), ["force", "speed"], 0.1)
    return replace(made, units=("N", "mm/s"))


@pytest.fixture(scope="module")
def found(data: Dataset) -> Discovery:
    return discover(data, max_lag=2, max_degree=1, effort="quick")


def test_it_shows_the_verdict_the_equation_and_what_was_tried(found: Discovery) -> None:
    html = found._repr_html_()
    assert {"math", "table", "td"} <= tags(html)
    assert found.verdict.summary in html
    assert html.count(">chosen<") == 1
    assert html.count("<tr>") <= 9  # a head, and eight rows at most
    assert found._repr_latex_() == found.model._repr_latex_()


def test_the_chosen_one_is_shown_though_it_is_far_down(found: Discovery) -> None:
    first = found.candidates[0]
    others = [replace(first, setting=replace(first.setting, max_lag=lag)) for lag in range(3, 15)]
    html = replace(found, candidates=(*others, first), chosen=first)._repr_html_()
    assert html.count(">chosen<") == 1
    assert "5 more" in html


def test_it_is_drawn_on_what_was_held_out(found: Discovery, data: Dataset) -> None:
    upper, lower = adjoin.plot(found).axes
    assert upper.get_ylabel() == "speed (mm/s)"
    assert lower.get_xlabel() == "time (s)"
    held = found.assessment.parts[-1].data
    assert upper.get_xlim()[1] == pytest.approx(0.1 * (len(held.outputs[0]) - 1))
    assert "measured" in upper.get_legend_handles_labels()[1]
    shown, _ = adjoin.plot(found, data, first=10, last=30).axes
    assert shown.get_xlim() == pytest.approx((1.0, 2.9))
