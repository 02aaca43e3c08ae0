"""SVG: safe in a page, the same every time, in colours that can be told apart."""

from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from tests.report.drawn import (
    OF_POSTERIOR,
    correlation,
    made_up,
    svg_of,
)

from adjoin import AdjoinError, Posterior
from adjoin.report import colours, labels
from adjoin.report.plots import (
    plot_correlation,
    plot_response,
)
from adjoin.report.svg import to_svg

NASTY = "<script>alert(1)</script> & \"$x_{$ ' #0072b2 url(#a) \x00\x1b 温度"


@pytest.fixture(scope="module")
def pictures(found: Posterior) -> dict[str, str]:
    drawn = {name: draw(found).get_figure() for name, draw in OF_POSTERIOR.items()}
    drawn["response"] = plot_response(
        made_up(), np.zeros(40), model_run=np.ones(40), output=NASTY, unit=NASTY
    ).get_figure()
    drawn["correlation"] = plot_correlation(correlation(False)).get_figure()
    return {
        name: to_svg(figure, NASTY, f"plot-{i}") for i, (name, figure) in enumerate(drawn.items())
    }


def test_svg_parses_and_its_ids_are_unique_in_a_page(pictures: dict[str, str]) -> None:
    ids: Counter[str] = Counter()
    for text in pictures.values():
        root = ElementTree.fromstring(text)
        own = [element.get("id") for element in root.iter() if element.get("id")]
        ids.update(own)
        values = [f"{k}={v}" for element in root.iter() for k, v in element.attrib.items()]
        targets = re.findall(r"(?:url\(|href=)#([^)\n]+)", "\n".join(values))
        assert targets
        assert set(targets) <= set(own)
        assert (root.get("role"), root.get("width")) == ("img", "100%")
        assert "height" not in root.attrib
        assert root[0].tag.endswith("title")
        assert root.get("aria-labelledby") == root[0].get("id")
        assert not re.search("<style|<metadata|<!DOCTYPE|<[?]xml", text)
    assert max(ids.values()) == 1


def test_svg_has_variables_instead_of_colours(pictures: dict[str, str]) -> None:
    for name, text in pictures.items():
        for element in ElementTree.fromstring(text).iter():
            for value in element.attrib.values():
                assert not re.search("#[0-9a-fA-F]{6}(?![-_0-9a-zA-Z])", value), (name, value)
    used = set(re.findall(r"var\((--[\w-]+)\)", pictures["structures"]))
    assert {"--ink", "--faint", "--muted", "--colour-1"} <= used <= set(colours.THEMES["dark"])


def test_what_users_write_is_text_in_svg(pictures: dict[str, str]) -> None:
    root = ElementTree.fromstring(pictures["response"])
    assert not [element for element in root.iter() if "script" in element.tag]
    assert root[0].text == labels.plain(NASTY)
    written = " ".join(root.itertext())
    assert written.count("<script>alert(1)</script>") == 3  # title, output, unit
    for part in ("$x_{$", "#0072b2", "url(#a)", "温度"):
        assert written.count(part) == 3
    assert "\x1b" not in written


def test_svg_is_the_same_every_time(found: Posterior) -> None:
    for name in ("structures", "coefficients", "trace"):
        first, second = (svg_of(OF_POSTERIOR[name](found)) for _ in range(2))
        assert first == second, name


def test_a_prefix_is_an_id() -> None:
    with pytest.raises(AdjoinError, match="a prefix is letters"):
        to_svg(Figure(), prefix='a"b')


def test_colours_are_told_apart_by_their_text() -> None:
    palette = [colours.INK, colours.MUTED, colours.FAINT, colours.PAPER, *colours.COLOURS]
    assert len(set(palette)) == len(palette) == len(colours.CSS_VARIABLES)
    assert set(colours.CSS_VARIABLES) == set(palette)
    assert all(colour == to_hex(colour) for colour in palette)  # as matplotlib writes them


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_can_be_told_from_their_paper(theme: str) -> None:
    """WCAG asks for a contrast of 4.5 for text and of 3 for lines and bars."""
    paper = _luminance(colours.THEMES[theme]["--paper"])
    for variable in colours.CSS_VARIABLES.values():
        own = _luminance(colours.THEMES[theme][variable])
        contrast = (max(own, paper) + 0.05) / (min(own, paper) + 0.05)
        if variable in ("--ink", "--muted"):
            assert contrast >= 4.5, variable
        elif variable.startswith("--colour"):
            assert contrast >= 3.0, variable


def _luminance(colour: str) -> float:
    """Relative luminance as WCAG defines it."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255.0
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])
