"""Numbers and words for people: as many digits as an uncertainty warrants, counts with their noun.

Receives values; hands texts to errors, and to tables on the terminal, in LaTeX and in reports.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

_MOST_PLACES = 7  # after or before the decimal point; beyond, an exponent reads better
UNKNOWN = "–"
"""In the place of a number that nobody knows."""
_ROUNDING = 1e-12  # of a number: a spread below is that of equal numbers, summed
_COMMAND = re.compile(r"(?<=: )(?:adjoin (?:fit|discover|check) |adjoin\.|train, ).*", re.DOTALL)
_BRIEF = 200  # characters of a user's text in an error


def halves(step: str) -> tuple[str, str]:
    """Of what to do next, the words, and the command or call that they end with; empty if none."""
    found = _COMMAND.search(step)
    return (step[: found.start()], found[0]) if found else (step, "")


def rounded(values: Sequence[float], spread: float) -> list[str]:
    """Numbers to the place of the second significant digit of their spread, zeros kept."""
    size = max(map(abs, values))
    # A spread that is rounding error alone says nothing about where to stop.
    if not (spread > _ROUNDING * size > 0.0 and math.isfinite(spread)):
        return [f"{value:.4g}" for value in values]
    places = 1 - math.floor(math.log10(spread))
    if 0 <= places <= _MOST_PLACES and size < 10**_MOST_PLACES:
        return [f"{value:.{places}f}" for value in values]
    digits = max(0, places + math.floor(math.log10(size)))
    return [f"{value:.{digits}e}" if value != spread else f"{value:.1e}" for value in values]


def summed_up(mean: float, sd: float, low: float, high: float) -> list[str]:
    """Mean, standard deviation and interval in digits; dashes where all draws were one value.

    One value says nothing about the spread; 0 would say that it is known.
    """
    if not sd > _ROUNDING * abs(mean):
        return [rounded([mean], 0.0)[0], *[UNKNOWN] * 3]
    return rounded([mean, sd, low, high], sd)


def percent(share: float, places: int = 1) -> str:
    """A share in percent: ``98.4 %``."""
    return f"{100.0 * share:.{places}f} %"


def figure(value: float) -> str:
    """A measured number to three digits, without an exponent where people read it more easily."""
    text = f"{value:.3g}"
    is_large = "e+" in text and abs(value) < 10**_MOST_PLACES
    return f"{float(text):,.0f}" if is_large else text


def counted(n: int, noun: str) -> str:
    """Say how many: ``1 record``, ``2 records``."""
    return f"{n} {noun}{'' if n == 1 else 's'}"


def ordinal(n: int) -> str:
    """Say which: ``1st``, ``2nd``, ``11th``."""
    ending = "th" if n % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(n % 10, "th")
    return f"{n}{ending}"


def brief(text: object) -> str:
    """A text as an error shows it: only its beginning, if it is long."""
    shown = str(text).strip()
    return shown if len(shown) <= _BRIEF else f"{shown[:_BRIEF]}…"
