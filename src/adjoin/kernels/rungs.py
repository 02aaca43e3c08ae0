"""The rungs of a ladder: the state of one, and the exchange of neighbours.

Whatever the rungs differ in, the engine's own loop decides whether an exchange is made; these
kernels make and count it. `rung` returns views, whose references nobody counts: kernels that Python
calls must not call it.
"""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.edits import exchange_terms
from adjoin.kernels.ladders import Rungs
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
        states.noise[c],
        states.coefficient[c],
        states.n_terms[c],
        states.n_drawn[c],
    )


@kernel()
def first_of_pairs(n_drawn: int, interval: int) -> int:
    """The coldest rung that is exchanged with its neighbour now: 0 and 1 by turns.

    Every second pair takes part, so that no rung is in two; `n_drawn` is a multiple of `interval`.

    Mutates: nothing. Allocates: nothing.
    """
    return (n_drawn // interval) % 2


@kernel()
def exchange(rungs: Rungs, c: int, is_made: bool) -> None:
    """Count an exchange of rung c with the next and, if it is made, exchange terms and errors.

    Mutates: rungs. Allocates: nothing.
    """
    rungs.counters.swap[c, 0] += 1
    if is_made:
        rungs.counters.swap[c, 1] += 1
        exchange_terms(rung(rungs.state, c), rung(rungs.state, c + 1))
        rungs.error[c], rungs.error[c + 1] = rungs.error[c + 1], rungs.error[c]
