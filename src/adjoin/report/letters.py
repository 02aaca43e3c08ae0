"""How much room letters take, without drawing them.

Receives texts; tells the layout and the SVG writer their sizes. The advances of the letters are
read from the font once; kerning, which changes a label by less than a letter, is left out.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from matplotlib.backend_bases import RendererBase
from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font

FAMILY = "DejaVu Sans"  # comes with matplotlib, and is the first and widest family of a page
DESCENT = 0.24  # of the font size
# Of the font size: a line, and from one to the next; a little more than in the font, because where
# pixels are few they are rounded up.
_LINE, _NEXT_LINE = 1.08, 1.25


def text_width(text: str, fontsize: float) -> float:
    """The width of the longest line, in the unit of the font size."""
    return fontsize * max(sum(map(_advance, line)) for line in text.split("\n"))


def text_height(text: str, fontsize: float) -> float:
    """The height of all lines, in the unit of the font size."""
    return fontsize * (_LINE + _NEXT_LINE * text.count("\n"))


def text_size(line: str, fontsize: float) -> tuple[float, float, float]:
    """Width, height and depth below the baseline of one line, as matplotlib asks for them."""
    return text_width(line, fontsize), fontsize, DESCENT * fontsize


@lru_cache(maxsize=4096)
def _advance(letter: str) -> float:
    """How far a letter moves the next one, as a share of the font size."""
    font = _font()
    if not font.get_char_index(ord(letter)):
        return 1.0  # of another script, which the reader's browser has
    return float(font.load_char(ord(letter)).linearHoriAdvance) / 2**16  # in 16.16 fixed point


@lru_cache(maxsize=1)
def _font() -> FT2Font:
    font = FT2Font(findfont(FontProperties(FAMILY)))
    font.set_size(1.0, 72.0)
    return font


class Ruler(RendererBase):
    """Draws nothing, but knows how large texts and legends are."""

    def __init__(self, dpi: float = 72.0) -> None:
        super().__init__()
        self._scale = dpi / 72.0

    def points_to_pixels(self, points: Any) -> Any:
        """Pixels of the figure that is measured."""
        return points * self._scale

    def get_text_width_height_descent(
        self, s: str, prop: FontProperties, ismath: Any
    ) -> tuple[float, float, float]:
        """Of one line of text, in pixels; a formula is measured as if its letters were text."""
        return text_size(s, self._scale * prop.get_size_in_points())
