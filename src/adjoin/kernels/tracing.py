"""Writing the present state of a chain into its trace."""

from __future__ import annotations

from adjoin.kernels._jit import kernel
from adjoin.kernels.prior import log_prior_structure
from adjoin.kernels.state import Chain, MoveTable, PriorTable, Trace


@kernel()
def write_draw(
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
    n, cursor = chain.n_terms[0], trace.cursor
    row = cursor.n_draws[0]
    trace.n_terms[row] = n
    trace.is_new[row] = 1 if is_new else 0
    trace.noise[row] = chain.noise[0]
    trace.coefficient[row] = chain.coefficient[0]
    trace.log_lik[row] = log_lik
    trace.log_prior[row] = log_prior_structure(prior, chain, moves.n_fixed)
    trace.own[row, 0] = distance
    for i in range(n):
        trace.theta[cursor.n_theta[0] + i] = chain.theta[i]
        if is_new:
            trace.key[cursor.n_keys[0] + i] = chain.key[i]
    cursor.n_draws[0] += 1
    cursor.n_theta[0] += n
    if is_new:
        cursor.n_keys[0] += n


@kernel()
def has_room(trace: Trace, capacity: int) -> bool:
    """Whether one more sample fits into the trace, whatever it is.

    Mutates: nothing. Allocates: nothing.
    """
    return (
        trace.cursor.n_draws[0] < trace.n_terms.shape[0]
        and trace.cursor.n_theta[0] + capacity <= trace.theta.shape[0]
        and trace.cursor.n_keys[0] + capacity <= trace.key.shape[0]
    )
