"""Layout and SVG writer, held against what matplotlib itself measures and draws."""

from __future__ import annotations

import gc
import io
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib import rc_context
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from tests.report.drawn import OF_POSTERIOR, correlation

from adjoin import Posterior
from adjoin.report.labels import add_legend, add_title, label_axes
from adjoin.report.letters import text_width
from adjoin.report.pictures import without_collecting
from adjoin.report.plots import plot_correlation
from adjoin.report.style import NARROW, WIDE, dress, new_axes, new_figure
from adjoin.report.svg import to_svg


@pytest.mark.parametrize("text", ["0.25", "u(k-1)*y(k-2)^3", "−0.300", "probability", "øñ…²"])
def test_letters_are_as_wide_as_matplotlib_finds_them(text: str) -> None:
    ruler = RendererSVG(100.0, 100.0, io.StringIO())
    found, _, _ = ruler.get_text_width_height_descent(text, FontProperties(size=9.0), False)
    assert text_width(text, 9.0) == pytest.approx(found, rel=0.06)  # kerning, side bearings


def test_a_letter_that_the_font_lacks_is_a_square() -> None:
    assert text_width("温度", 9.0) == 18.0


def _places(svg: str) -> dict[str, list[tuple[float, float]]]:
    """Where each upright text stands."""
    found: dict[str, list[tuple[float, float]]] = {}
    for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text"):
        if "x" in element.attrib:
            place = float(element.attrib["x"]), float(element.attrib["y"])
            found.setdefault(element.text or "", []).append(place)
    return {text: sorted(places) for text, places in found.items()}


@pytest.mark.parametrize("name", [*OF_POSTERIOR])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_what_is_written_stands_where_matplotlib_puts_it(
    name: str, width: float, found: Posterior
) -> None:
    figure = OF_POSTERIOR[name](found, width=width).get_figure()
    ours = _places(to_svg(figure))
    whole = io.StringIO()
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(whole, format="svg")
    theirs = _places(whole.getvalue())
    assert ours.keys() == theirs.keys()
    for text, places in theirs.items():
        # A line counts for 8 % more than its font size, which is 9 points at most.
        assert np.allclose(ours[text], places, atol=0.08 * 9.0), text


def test_axes_of_a_grid_do_not_touch() -> None:
    figure = new_figure(5.0, 4.0)
    for i, ax in enumerate(figure.subplots(2, 2).ravel()):
        dress(ax).plot([0.0, 10.0**i], [0.0, 10.0 ** (5 - i)], label="a line with a long name")
        label_axes(ax, "what is below", "what is beside")
        add_title(ax, "what is above")
    figure.draw_without_rendering()
    boxes = [ax.get_tightbbox() for ax in figure.axes]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))
    whole = figure.get_tightbbox()
    assert min(whole.x0, whole.y0) > -0.02
    assert whole.x1 < 5.02
    assert whole.y1 < 4.02


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("n_letters", [30, 90])
def test_long_names_of_signals_leave_room_for_what_they_name(
    n_columns: int, n_letters: int
) -> None:
    signal = ("hydraulic_valve_command_current_of_" * 3)[: n_letters - 1] + "9"
    figure = new_figure(WIDE if n_columns == 2 else NARROW, 3.8)
    axes = figure.subplots(2, n_columns, squeeze=False).ravel()
    for ax in axes:
        plot_correlation(correlation(False, signal), ax)
    figure.draw_without_rendering()
    cell = 72.0 * figure.get_figwidth() / n_columns
    for ax in axes:
        frame = ax.get_position().transformed(figure.transSubfigure)
        title = ax.get_title("left")
        words = "".join(title.split())
        assert 72.0 / figure.dpi * frame.width > 0.7 * cell
        assert text_width(title, 9.0) < 1.02 * cell - 40.0  # beside the labels of the ticks
        assert "inputhydraulic" in words
        assert words.endswith("9:morethanchance")
    boxes = [ax.get_tightbbox() for ax in axes]
    assert not any(a.overlaps(b) for a, b in combinations(boxes, 2))


def test_more_words_than_room_are_drawn_all_the_same() -> None:
    ax = dress(new_axes(0.8, 0.5))
    ax.plot([0.0, 1.0], [-1e5, 1e5], label="a name far longer than the picture is wide")
    add_legend(ax)
    label_axes(ax, "k", "y")
    assert ">y</text>" in to_svg(ax.get_figure())


def test_an_axis_with_more_than_plain_ticks_is_left_to_matplotlib() -> None:
    ax = dress(new_axes(4.0, 2.0))
    ax.plot([1e9, 1e9 + 1.0], [0.0, 1.0])
    ax.yaxis.minorticks_on()
    svg = to_svg(ax.get_figure())
    assert "+1e9" in svg
    marks = ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}use")
    assert sum(1 for _ in marks) > 12


def test_a_formula_that_is_no_correlation_is_typeset() -> None:
    ax = dress(new_axes(4.0, 2.0))
    ax.set_ylabel(r"$\frac{1}{2}$")
    assert "$" not in "".join(ElementTree.fromstring(to_svg(ax.get_figure())).itertext())


def test_a_figure_keeps_its_resolution() -> None:
    figure = Figure(dpi=123.0)
    figure.subplots()
    to_svg(figure)
    assert figure.dpi == 123.0


def test_collecting_goes_on_after_the_pictures() -> None:
    assert gc.isenabled()
    with without_collecting():
        assert not gc.isenabled()
    assert gc.isenabled()
