"""The states of a ladder: one rung of them, copies, and exchanges.

`rung` returns views, whose references nobody counts: kernels that Python calls must not call it.
"""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.edits import exchange_terms
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
def exchange(states: Chain, c: int) -> None:
    """Exchange terms and coefficients of rung c and the next.

    Mutates: states. Allocates: nothing.
    """
    exchange_terms(rung(states, c), rung(states, c + 1))
