"""Coefficients that never moved: their draws are one value, which says nothing about their spread.

Receives a `Collection`; gives `diagnose` the terms by chain, and what to say of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoin.grammar.equation import term_text
from adjoin.levels import CAUTION, Finding
from adjoin.results.collection import Collection

_RARE = 0.05  # of a chain's draws: of a term that is hardly ever in, nobody expects a spread
_MOST_TERMS = 5


def unmoved_terms(posterior: Collection) -> list[dict[str, Any]]:
    """For each chain that has some, the terms with one value in all of two draws or more.

    Those that were fitted before are meant to stay, and are left out.
    """
    draws, pinned, found = posterior.draws, set(posterior.run.problem.pinned), []
    terms = [posterior.encoding.term(key) for key in posterior.term_keys]
    chain = draws.chain[draws.owner]
    for number in posterior.chain_numbers:
        n_least = max(2.0, _RARE * np.count_nonzero(draws.chain == number))
        inside = chain == number
        term, theta = draws.term[inside], draws.theta[inside]
        low, high = np.full(len(terms), np.inf), np.full(len(terms), -np.inf)
        np.minimum.at(low, term, theta)
        np.maximum.at(high, term, theta)
        is_often = np.bincount(term, minlength=len(terms)) >= n_least
        places = np.flatnonzero(is_often & (low == high)).tolist()
        if texts := [term_text(terms[i]) for i in places if terms[i] not in pinned]:
            found.append({"chain": number, "terms": texts})
    return found


def on_unmoved(unmoved: list[dict[str, Any]]) -> list[Finding]:
    """That nothing is known about the spread of these coefficients."""
    if not unmoved:
        return []
    numbers = [str(one["chain"]) for one in unmoved]
    whose = f"chain{'s' * (len(numbers) > 1)} {', '.join(numbers)}"
    texts = list(dict.fromkeys(text for one in unmoved for text in one["terms"]))
    more = f" and {len(texts) - _MOST_TERMS} more" if len(texts) > _MOST_TERMS else ""
    reason = (
        f"in {whose} the coefficients of {', '.join(texts[:_MOST_TERMS])}{more} never moved: their"
        " spread is not known"
    )
    return [(CAUTION, reason, "draw more samples")]
