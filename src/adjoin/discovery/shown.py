"""A discovery as a notebook shows it: the verdict, the equation, what to do next, what was tried.

Receives a `Discovery`; gives its ``_repr_html_``.
"""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from adjoin.discovery.ranking import Candidate
from adjoin.levels import LEVEL_WORDS
from adjoin.markup import html_heading, html_notes, html_table
from adjoin.modelling.mathml import model_html

if TYPE_CHECKING:
    from adjoin.discovery.discovery import Discovery

_SHOWN = 8  # rows of the table
_HEADS = ("held-out simulation misses", "terms", "what was tried", "")


def discovery_html(found: Discovery, tried: list[Candidate]) -> str:
    """Small, self-contained markup; `tried` are the rows of the table, best first."""
    verdict = found.verdict
    shown = tried[:_SHOWN]
    if found.chosen is not None and found.chosen not in shown:
        shown = [*shown[:-1], found.chosen]
    more = len(tried) - len(shown)
    steps = "".join(f"<li>{escape(step)}</li>" for step in verdict.next)
    return "".join(
        (
            html_heading("Discovery", f"{LEVEL_WORDS[verdict.level]}: {verdict.summary}"),
            model_html(found.model),
            html_notes(verdict.on_model[:1]),
            f"<p>What to do next</p><ol>{steps}</ol>" if steps else "",
            html_table(_HEADS, [_row(one, one is found.chosen) for one in shown]),
            html_notes([f"{more} more, in table"] if more else []),
        )
    )


def _row(one: Candidate, is_chosen: bool) -> tuple[str, str, str, str]:
    is_lost = one.n_lost > 0 or not math.isfinite(one.nmse)
    error = "runs away" if is_lost else f"{one.nmse:.3g} ± {one.sd:.2g} %"
    return error, str(one.n_terms), one.setting.words, "chosen" if is_chosen else ""
