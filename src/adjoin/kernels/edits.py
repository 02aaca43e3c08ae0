"""Edits of the list of terms that a state holds: one term changed, all copied, all exchanged.

Receives what ``moves`` proposes; changes a `Chain`.
"""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.state import APPEND, REMOVE, Chain
from adjoin.kernels.tables import Work


@kernel()
def apply_edit(chain: Chain, edit: int, index: int, degree: int, key: int, work: Work) -> None:
    """Change the chain's list of terms as proposed; the last term takes a removed one's place.

    Mutates: chain. Allocates: nothing.
    """
    if edit == REMOVE:
        last = chain.n_terms[0] - 1
        chain.n_terms[0] = last
        chain.degree[index], chain.key[index] = chain.degree[last], chain.key[last]
        chain.theta[index] = chain.theta[last]
        for i in range(chain.atom.shape[1]):
            chain.atom[index, i] = chain.atom[last, i]
            chain.atom[last, i] = -1
        return
    if edit == APPEND:
        chain.n_terms[0] = index + 1
    chain.degree[index], chain.key[index] = degree, key
    for i in range(chain.atom.shape[1]):
        chain.atom[index, i] = work.atom[i] if i < degree else -1


@kernel()
def copy_state(source: Chain, target: Chain) -> None:
    """Copy terms and coefficients.

    Mutates: target. Allocates: nothing.
    """
    n = source.n_terms[0]
    target.n_terms[0] = n
    for i in range(n):
        target.degree[i], target.key[i] = source.degree[i], source.key[i]
        target.theta[i] = source.theta[i]
        for a in range(source.atom.shape[1]):
            target.atom[i, a] = source.atom[i, a]


@kernel()
def exchange_terms(left: Chain, right: Chain) -> None:
    """Exchange terms and coefficients.

    Mutates: left, right. Allocates: nothing.
    """
    for i in range(max(left.n_terms[0], right.n_terms[0])):
        left.degree[i], right.degree[i] = right.degree[i], left.degree[i]
        left.key[i], right.key[i] = right.key[i], left.key[i]
        left.theta[i], right.theta[i] = right.theta[i], left.theta[i]
        for a in range(left.atom.shape[1]):
            left.atom[i, a], right.atom[i, a] = right.atom[i, a], left.atom[i, a]
    left.n_terms[0], right.n_terms[0] = right.n_terms[0], left.n_terms[0]
