"""The page of a case study: tables with the paper's figures beside ours, pictures, plain words.

Receives a `CasePage`; gives one self-contained HTML page in the look of the report page. All text
passes the template's escaping.
"""

from __future__ import annotations

import io

from adjoin.report.case_parts import CasePage, Drawing
from adjoin.report.colours import PAPER, THEMES
from adjoin.report.pictures import draw_both, figure_of, without_collecting
from adjoin.report.style import WIDE
from adjoin.report.templates import templates
from adjoin.version import __version__

_DPI = 150


def make_case_page(page: CasePage) -> str:
    """The whole page."""
    with without_collecting():
        pictures = {
            drawing.name: draw_both(drawing.name, drawing.title, drawing.draw)
            for section in page.sections
            for drawing in section.drawings
        }
    return (
        templates()
        .get_template("case.html.jinja")
        .render(page=page, title=page.title, themes=THEMES, pictures=pictures, version=__version__)
    )


def to_png(drawing: Drawing) -> bytes:
    """A picture for a paper or a slide."""
    figure = figure_of(drawing.draw(WIDE))
    buffer = io.BytesIO()
    # No date and no version: the same run gives the same file.
    figure.savefig(buffer, format="png", dpi=_DPI, facecolor=PAPER, metadata={"Software": None})
    return buffer.getvalue()
