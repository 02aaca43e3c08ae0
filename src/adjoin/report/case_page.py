"""The page of a case study: tables with the paper's figures beside ours, pictures, plain words.

Receives a `CasePage`; gives one self-contained HTML page in the look of the report page. All text
passes the template's escaping.
"""

from __future__ import annotations

import io

from markupsafe import Markup
from matplotlib.figure import Figure

from adjoin.report.case_parts import CasePage, Drawing
from adjoin.report.page import _both, _environment
from adjoin.report.style import PAPER, THEMES, WIDE
from adjoin.version import __version__

_DPI = 150


def make_case_page(page: CasePage) -> str:
    """The whole page."""
    environment = _environment()
    assert environment.loader is not None
    # The report page has the style sheet; one look is written once.
    source, _, _ = environment.loader.get_source(environment, "page.html.jinja")
    style = source.partition("<style>")[2].partition("</style>")[0]
    return environment.get_template("case.html.jinja").render(
        page=page,
        style=Markup(environment.from_string(style).render(themes=THEMES)),
        pictures={
            drawing.name: _both(drawing.name, drawing.title, drawing.draw)
            for section in page.sections
            for drawing in section.drawings
        },
        version=__version__,
    )


def to_png(drawing: Drawing) -> bytes:
    """A picture for a paper or a slide."""
    drawn = drawing.draw(WIDE)
    figure = drawn if isinstance(drawn, Figure) else drawn.figure
    assert isinstance(figure, Figure)
    buffer = io.BytesIO()
    # No date and no version: the same run gives the same file.
    figure.savefig(buffer, format="png", dpi=_DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
