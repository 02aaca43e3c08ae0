"""What the chains have settled: the terms that all share, and those that replace each other.

Receives a `Collection`; gives sentences to ``diagnose``, from which terminal, JSON and page have
them.
Chains that disagree on a structure mostly agree on the greater part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from adjoin.grammar.equation import term_text
from adjoin.results.alternatives import Alternatives
from adjoin.results.collection import Collection
from adjoin.results.masses import is_settled
from adjoin.text import counted

MOST_GROUPS = 4
"""So many groups of alternatives are said."""
_MOST_TERMS = 8


def settled(posterior: Collection) -> list[str]:
    """One sentence on the terms that all chains share, and one for each group of alternatives."""
    groups = posterior.alternatives
    sentences = [*_on_shared(posterior), *(_on_group(posterior, g) for g in groups[:MOST_GROUPS])]
    if n_more := len(groups[MOST_GROUPS:]):
        sentences.append(f"{counted(n_more, 'more group')} of terms replace each other")
    return sentences


def _on_shared(posterior: Collection) -> Iterator[str]:
    if posterior.n_chains == 1 or posterior.settings.keeps_terms:  # which nothing could settle
        return
    shared = posterior.shared_terms
    whose = "both" if posterior.n_chains == 2 else f"all {posterior.n_chains}"
    if not shared:
        if len(posterior.structures) > 1:
            yield f"no term is in nearly all draws of {whose} chains"
        return
    more = f" and {len(shared) - _MOST_TERMS} more" if len(shared) > _MOST_TERMS else ""
    yield f"{whose} chains share {', '.join(shared[:_MOST_TERMS])}{more}"


def _on_group(posterior: Collection, group: Alternatives) -> str:
    """Of which chains may each have their own."""
    texts = [term_text(posterior.encoding.term(key)) for key in posterior.term_keys]
    shares = posterior.inclusion_by_chain[[texts.index(term) for term in group.terms]]
    is_agreed = all(is_settled(row) for row in shares)
    return group.words if is_agreed else f"{group.words}; which of them differs by chain"
