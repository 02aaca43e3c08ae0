"""The states of a ladder: one rung of them, copies, and exchanges.

`rung` returns views, whose references nobody counts: kernels that Python calls must not call it.
"""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.state import Chain


@kernel()
def rung(states: Chain, c: int) -> Chain:
    """The state of one rung.

    Mutates: nothing. Allocates: nothing.
    """
    return Chain(
        states.atom[c],
        states.degree[c],
        states.key[c],
        states.theta[c],
        states.variance[c],
        states.tally[c],
    )


@kernel()
def copy_state(source: Chain, target: Chain) -> None:
    """Copy terms and coefficients.

    Mutates: target. Allocates: nothing.
    """
    n = source.tally[0]
    target.tally[0] = n
    for i in range(n):
        target.degree[i], target.key[i] = source.degree[i], source.key[i]
        target.theta[i] = source.theta[i]
        for a in range(source.atom.shape[1]):
            target.atom[i, a] = source.atom[i, a]


@kernel()
def exchange(left: Chain, right: Chain) -> None:
    """Exchange terms and coefficients.

    Mutates: left, right. Allocates: nothing.
    """
    for i in range(max(left.tally[0], right.tally[0])):
        left.degree[i], right.degree[i] = right.degree[i], left.degree[i]
        left.key[i], right.key[i] = right.key[i], left.key[i]
        left.theta[i], right.theta[i] = right.theta[i], left.theta[i]
        for a in range(left.atom.shape[1]):
            left.atom[i, a], right.atom[i, a] = right.atom[i, a], left.atom[i, a]
    left.tally[0], right.tally[0] = right.tally[0], left.tally[0]
