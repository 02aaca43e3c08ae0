"""What was noticed about data, with pictures: rows for a page, and a page of their own.

Receives a `DataCheck` or a `Dataset`; hands the report page its section about the data, and the
command ``adjoin check`` its page.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from markupsafe import Markup
from matplotlib.figure import Figure

from adjoin.data.check import DataCheck, check_data
from adjoin.data.checking.finding import Finding
from adjoin.data.dataset import Dataset
from adjoin.files import write_whole
from adjoin.levels import GOOD, LEVEL_WORDS
from adjoin.report.colours import THEMES
from adjoin.report.pictures import draw_both, without_collecting
from adjoin.report.plots_check import plot_finding
from adjoin.report.templates import templates
from adjoin.text import counted
from adjoin.version import __version__

_CARD = 4.4  # inches: two stand side by side


def data_findings(
    data: Dataset | DataCheck, spell: Callable[[str], str] = lambda remedy: remedy
) -> list[dict[str, Any]]:
    """Rows for a page: ``name``, ``level``, ``words``, ``remedy`` and ``picture`` of each finding.

    Parameters
    ----------
    data : Dataset or DataCheck
        What was checked before is not checked again.
    spell : callable
        Writes a remedy as its reader needs it, such as options of a command.
    """
    found = data if isinstance(data, DataCheck) else check_data(data)
    with without_collecting():
        return [
            {
                "name": finding.name,
                "level": finding.level,
                "level_words": LEVEL_WORDS[finding.level],
                "words": finding.words[:1].upper() + finding.words[1:]
                if finding.words.startswith(("the ", "there ", "time ", "half ", "no "))
                else finding.words,
                "remedy": spell(finding.remedy),
                "picture": _picture(found.data, finding, number),
            }
            for number, finding in enumerate(found.findings)
        ]


def _picture(data: Dataset, finding: Finding, number: int) -> Markup:
    if plot_finding(data, finding) is None:
        return Markup("")

    def draw(width: float) -> Figure:
        figure = plot_finding(data, finding, width)
        assert figure is not None  # it depends on the finding alone, which has one
        return figure

    return draw_both(f"finding-{number}", finding.words, draw, _CARD)


def make_check_page(
    found: DataCheck,
    title: str = "",
    spell: Callable[[str], str] = lambda remedy: remedy,
) -> str:
    """One self-contained page of all findings.

    Parameters
    ----------
    found : DataCheck
    title : str
        At its head; default: what the data are called.
    spell : callable
        As for `data_findings`.
    """
    data = found.data
    n_bad = sum(finding.level != GOOD for finding in found.findings)
    return (
        templates()
        .get_template("check.html.jinja")
        .render(
            title=title or data.label or f"{data.names.output}: the data",
            version=__version__,
            themes=THEMES,
            data=data,
            level=found.level,
            summary=f"{counted(n_bad, 'finding')} to look at"
            if n_bad
            else "Nothing of what was looked for is wrong",
            findings=data_findings(found, spell),
        )
    )


def write_check_page(
    found: DataCheck,
    path: str | os.PathLike[str],
    title: str = "",
    spell: Callable[[str], str] = lambda remedy: remedy,
) -> None:
    """Write the page, whole or not at all; parameters as for `make_check_page`."""
    write_whole(path, make_check_page(found, title, spell))
