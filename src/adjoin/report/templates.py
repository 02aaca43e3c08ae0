"""The templates of all pages, and how they write numbers."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from adjoin.report.page_words import breakable, with_code, without_level
from adjoin.text import percent


@lru_cache(maxsize=1)  # it keeps what it has compiled
def templates() -> Environment:
    """Where pages find their templates; all text passes escaping."""
    environment = Environment(
        loader=PackageLoader("adjoin.report", "."),
        autoescape=True,
        undefined=StrictUndefined,  # a misspelled name is an error, not a gap in the page
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = _number
    environment.filters["percent"] = percent
    environment.filters["breakable"] = breakable
    environment.filters["with_code"] = with_code
    environment.filters["without_level"] = lambda short, level: without_level(level, short)
    return environment


def _number(value: float | None, digits: int = 4) -> str:
    """A number for a table; a dash where there is none."""
    if value is None:
        return "–"
    if abs(value) >= 1e15:  # an R-hat of chains that stand still in different places
        return "∞"
    return f"{value:,.{digits}g}".replace("-", "−")
