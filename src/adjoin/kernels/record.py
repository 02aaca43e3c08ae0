"""Writing the present state of a chain into its trace."""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.prior import log_prior_structure
from adjoin.kernels.state import Chain, MoveTable, PriorTable, Trace


@kernel()
def record(
    chain: Chain,
    prior: PriorTable,
    moves: MoveTable,
    trace: Trace,
    log_lik: float,
    distance: float,
    is_new: bool,
) -> None:
    """Write the present state into the trace; `is_new` if its terms may differ from the last.

    Mutates: trace. Allocates: nothing.
    """
    n, row = chain.tally[0], trace.cursor[0]
    trace.n_terms[row] = n
    trace.is_new[row] = 1 if is_new else 0
    trace.scalar[row, 0] = chain.variance[0]
    trace.scalar[row, 1] = chain.variance[1]
    trace.scalar[row, 2] = log_lik
    trace.scalar[row, 3] = log_prior_structure(prior, chain, moves.n_fixed)
    trace.scalar[row, 4] = distance
    for i in range(n):
        trace.theta[trace.cursor[1] + i] = chain.theta[i]
        if is_new:
            trace.key[trace.cursor[2] + i] = chain.key[i]
    trace.cursor[0] += 1
    trace.cursor[1] += n
    if is_new:
        trace.cursor[2] += n


@kernel()
def has_room(trace: Trace, capacity: int) -> bool:
    """Whether one more sample fits into the trace, whatever it is.

    Mutates: nothing. Allocates: nothing.
    """
    return (
        trace.cursor[0] < trace.n_terms.shape[0]
        and trace.cursor[1] + capacity <= trace.theta.shape[0]
        and trace.cursor[2] + capacity <= trace.key.shape[0]
    )
