"""Pictures as markup for a page, each for a wide and for a narrow screen.

Receives functions that draw; gives the page figures of which it shows one.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from adjoin.report.style import NARROW, WIDE
from adjoin.report.svg import to_svg

Picture = Callable[[float], Axes | Figure]
"""Draws something as wide as it is told, in inches."""


def draw_both(name: str, title: str, picture: Picture, wide: float = WIDE) -> Markup:
    """A picture for wide and for narrow screens, of which the page shows one.

    `wide` is in inches: less where it stands beside something, as it is shown smaller there.
    """
    parts = []
    for screen, width in (("wide", wide), ("narrow", NARROW)):
        svg = Markup(to_svg(figure_of(picture(width)), title, f"{name}-{screen}"))
        parts.append(Markup('<div class="{}">{}</div>').format(screen, svg))
    return Markup('<figure class="picture">{}</figure>').format(Markup("").join(parts))


def figure_of(drawn: Axes | Figure) -> Figure:
    """The whole of what was drawn."""
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    assert isinstance(figure, Figure)
    return figure


@contextmanager
def without_collecting() -> Iterator[None]:
    """Leave the cycles among the objects of figures until all are drawn.

    Looking for them again and again costs a third of the time, and they hold some 20 MB a page.
    """
    is_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_on:
            gc.enable()
