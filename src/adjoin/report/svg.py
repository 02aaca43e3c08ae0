"""Figures as SVG to be put into a page.

Receives figures from the plots; hands a page SVG whose colours are variables of the page, so that
one picture serves light and dark. matplotlib's own artists draw everything but the axes: those it
would draw twice, with five objects for every tick.
"""

from __future__ import annotations

import io
import re
import warnings
from operator import attrgetter
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis
from matplotlib.backend_bases import GraphicsContextBase
from matplotlib.backends.backend_svg import RendererSVG
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.spines import Spine
from matplotlib.text import Text
from matplotlib.ticker import NullLocator

from adjoin.errors import AdjoinError
from adjoin.report.colours import CSS_VARIABLES, INK
from adjoin.report.labels import plain
from adjoin.report.letters import FAMILY, text_size, text_width
from adjoin.report.ticks import read_ticks

_SVG = "http://www.w3.org/2000/svg"
_FAMILIES = f"'{FAMILY}', Verdana, sans-serif"
_DPI = 72.0  # a unit of SVG is a point
_LOWERED = 0.75  # the size of a subscript
_LETTERS = {r"\varepsilon": "ε", r"\,": "\u2009", "^2": "²"}
_UNSEEN = re.compile(r"(?<=\.\d\d)\d+")  # digits beyond a hundredth of a point
_NO_METADATA = dict.fromkeys(("Date", "Creator", "Format", "Type"))


def to_svg(figure: Figure, title: str = "plot", prefix: str = "plot") -> str:
    """A figure as SVG to be put into a page, its colours as variables of the page.

    Letters remain text, anchored where they belong, in a family whose first member is the widest:
    so a reader can search and copy them, and another font does not make them overlap.

    Parameters
    ----------
    figure : Figure
    title : str
        What it shows, for those who do not see it.
    prefix : str
        Goes before every id; another one for every figure of a page.
    """
    if not re.fullmatch(r"[A-Za-z][\w-]*", prefix, re.ASCII):
        raise AdjoinError(f"a prefix is letters, digits, - and _, a letter first, not {prefix!r}")
    root = ElementTree.fromstring(_drawn(figure))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        found = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        if len(element) and element.tag == "text":  # a formula; the writer breaks its line
            element.text = (element.text or "").strip()
            for part in element:
                part.tail = ""
        element.attrib = {name: _attribute(name, found[name], prefix) for name in found}
    for name in ("metadata", "defs"):  # the style sheet in `defs` would be the whole page's
        for element in [part for part in root.findall(name) if part.find("clipPath") is None]:
            root.remove(element)
    heading = ElementTree.Element("title", id=f"{prefix}-title")
    heading.text = plain(title)
    root.insert(0, heading)
    root.attrib = {
        "xmlns": _SVG,
        "viewBox": root.attrib["viewBox"],
        "width": "100%",
        "role": "img",
        "aria-labelledby": f"{prefix}-title",
        # Black is left out by the writer, so what has no colour takes the ink.
        "style": f"fill: var({CSS_VARIABLES[INK]}); font-family: {_FAMILIES};"
        " stroke-linejoin: round; stroke-linecap: butt",
    }
    return ElementTree.tostring(root, encoding="unicode")


class _Writer(RendererSVG):
    """matplotlib's SVG writer; texts are measured by a table, not by their glyphs.

    Symbols of correlations, φ with a subscript, are written as text: there are many of them, and
    matplotlib's formulas take longer than all else in their pictures.
    """

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Of one line of text, in points."""
        fontsize = prop.get_size_in_points()
        if not ismath:
            return text_size(s, fontsize)
        if (below := _subscript(s)) is None:
            whole: Any = super()
            found: tuple[float, float, float]
            found = whole.get_text_width_height_descent(s, prop, ismath)
            return found
        width, height, descent = text_size("ϕ", fontsize)
        return width + text_width(below, _LOWERED * fontsize), height, descent

    def draw_text(
        self,
        gc: GraphicsContextBase,
        x: float,
        y: float,
        s: str,
        prop: FontProperties,
        angle: float,
        ismath: Any = False,
        mtext: Text | None = None,
    ) -> None:
        """Write one line."""
        below = _subscript(s) if ismath else None
        if below is None:
            whole: Any = super()
            whole.draw_text(gc, x, y, s, prop, angle, ismath, mtext)
            return
        out: Any = self.writer
        size = prop.get_size_in_points()
        colour = to_hex(gc.get_rgb())
        style = f"fill: {colour}; font-size: {size:g}px; font-style: italic"
        out.start("text", style=style, transform=f"translate({x:.2f} {y:.2f}) rotate({-angle:g})")
        out.data("ϕ")
        lowered = f"font-size: {_LOWERED * size:g}px"
        out.element("tspan", below, dy=f"{0.2 * size:g}", style=lowered)
        out.end("text")


def _subscript(formula: str) -> str | None:
    """What stands below the φ of a correlation; None of any other formula."""
    found = re.fullmatch(r"\$\\phi_\{(.*)\}\$", formula)
    if found is None:
        return None
    text = found[1]
    for command, letter in _LETTERS.items():
        text = text.replace(command, letter)
    return None if re.search(r"[\\{}^_$]", text) else text.replace(" ", "")


def _drawn(figure: Figure) -> str:
    """The figure as matplotlib's writer puts it."""
    buffer, dpi = io.StringIO(), figure.dpi
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "adjoin"}), warnings.catch_warnings():
        # A letter that the font here does not have, the reader's browser may well have.
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        figure.set_dpi(_DPI)
        try:
            layout = figure.get_layout_engine()
            if layout is not None and figure.axes:
                layout.execute(figure)
            width, height = _DPI * figure.get_size_inches()
            make: Any = _Writer  # matplotlib does not say of what type its arguments are
            writer = make(width, height, buffer, metadata=_NO_METADATA)
            for ax in figure.axes:
                _draw_axes(writer, ax)
            for artist in (*figure.legends, *figure.texts):
                artist.draw(writer)
            writer.finalize()
        finally:
            figure.set_dpi(dpi)
    return buffer.getvalue()


def _draw_axes(writer: RendererSVG, ax: Axes) -> None:
    """Everything in an Axes from bottom to top, but for its background."""
    ax.autoscale_view()
    for artist in sorted(ax.get_children(), key=attrgetter("zorder")):
        if artist is ax.patch or (isinstance(artist, Axis | Spine) and not ax.axison):
            continue
        if isinstance(artist, Axis) and artist.get_visible():
            _draw_axis(writer, artist)
        else:
            artist.draw(writer)


def _draw_axis(writer: RendererSVG, axis: Axis) -> None:
    """Grid, ticks and labels; one tick is moved from place to place, as all look alike."""
    ticks = read_ticks(axis)
    has_minor = not isinstance(axis.get_minor_locator(), NullLocator)
    if has_minor or axis.get_major_formatter().get_offset():
        axis.draw(writer)  # more than a plain axis has
        return
    look = ticks.look
    for place, label in zip(ticks.places, ticks.labels, strict=True):
        look.update_position(place)
        look.label1.set_text(label)
        for part in (look.gridline, look.tick1line, look.label1):
            part.draw(writer)
    if axis.label.get_text():
        # In the other direction its place is a share of the Axes, and stays.
        reach, frame = ticks.reach + axis.labelpad, axis.axes.bbox
        x, y = axis.label.get_position()
        is_x = isinstance(axis, XAxis)
        axis.label.set_position((x, frame.y0 - reach) if is_x else (frame.x0 - reach, y))
        axis.label.draw(writer)


def _attribute(name: str, value: str, prefix: str) -> str:
    """An attribute with ids of its own, variables for colours, and no digit that nobody sees."""
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return value.replace("#", f"#{prefix}-", 1)
    if name in ("d", "x", "y"):
        return " ".join(_UNSEEN.sub("", value).split())
    value = re.sub(r"font-family: [^;]*;? ?", "", value)
    value = value.replace("url(#", f"url(#{prefix}-")
    return re.sub(r"#[0-9a-f]{6}\b", _variable, value)


def _variable(colour: re.Match[str]) -> str:
    name = CSS_VARIABLES.get(colour[0])
    return f"var({name})" if name else colour[0]
