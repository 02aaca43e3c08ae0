"""Derivation by the definition: fold `adjoin` and `substitute` over nested trees, recursively."""

from __future__ import annotations

from adjoin.grammar import TAG, Derivation, Tree
from adjoin.grammar.tag import SITE, adjoin, substitute


def derive(tag: TAG, derivation: Derivation, number: int = 0) -> Tree:
    """The tree below one step: its elementary tree with every child's tree put into it.

    Children go in deepest address first, so that the addresses above stay what they were.
    """
    tree = tag.tree(derivation.steps[number].tree)
    children = [i for i, step in enumerate(derivation.steps) if step.parent == number]
    for child in sorted(children, key=lambda i: derivation.steps[i].address, reverse=True):
        address = derivation.steps[child].address
        guest = derive(tag, derivation, child)
        is_site = tree.nodes[tree.index(address)].mark == SITE
        tree = (substitute if is_site else adjoin)(tree, address, guest)
    return tree
