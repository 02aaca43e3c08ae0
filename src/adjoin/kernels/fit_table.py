"""The table of free-run fits: what was fitted is looked up by the set of terms.

Receives fits from ``fits``; hands them to the ladder. A fit is a function of the set of terms and
the data alone, so the table may forget at any time.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D, Float2D
from adjoin.kernels._jit import kernel
from adjoin.kernels.hashing import hash_keys
from adjoin.kernels.state import Chain, FitTable, FitWork


@kernel()
def sort_terms(chain: Chain, fits: FitTable) -> None:
    """The keys of a structure in ascending order, and where each is.

    Mutates: fits.sorted, fits.place. Allocates: nothing.
    """
    for i in range(chain.tally[0]):
        key, j = chain.key[i], i
        while j > 0 and fits.sorted[j - 1] > key:
            fits.sorted[j], fits.place[j] = fits.sorted[j - 1], fits.place[j - 1]
            j -= 1
        fits.sorted[j], fits.place[j] = key, i


@kernel()
def find_entry(fits: FitTable, n: int) -> int:
    """The entry of the n sorted keys, or -1 - b for the empty bucket b where it belongs.

    Mutates: nothing. Allocates: nothing.
    """
    n_buckets = fits.bucket.shape[0]
    b = hash_keys(fits.sorted, n, n_buckets)
    while fits.bucket[b] >= 0:
        entry = fits.bucket[b]
        is_same = fits.n_terms[entry] == n
        first = fits.first_key[entry]
        for i in range(n if is_same else 0):
            if fits.key[first + i] != fits.sorted[i]:
                is_same = False
                break
        if is_same:
            return entry
        b = (b + 1) & (n_buckets - 1)
    return -1 - b


@kernel()
def forget_fits(fits: FitTable) -> None:
    """Forget all fits.

    Mutates: fits. Allocates: nothing.
    """
    for i in range(fits.size.shape[0]):
        fits.size[i] = 0
    for b in range(fits.bucket.shape[0]):
        fits.bucket[b] = -1


@kernel()
def n_values(n: int) -> int:
    """How many numbers a fit of n terms takes: coefficients, lengths, factor.

    Mutates: nothing. Allocates: nothing.
    """
    return 2 * n + n * (n + 1) // 2


@kernel()
def look_up(chain: Chain, own: FitWork) -> int:
    """The entry of a chain's structure; if there is none, -1 and the structure is in the scratch.

    Mutates: own. Allocates: nothing.
    """
    fits, scratch, n = own.fits, own.scratch, chain.tally[0]
    sort_terms(chain, fits)
    found = find_entry(fits, n)
    if found >= 0:
        return found
    for i in range(n):
        place = fits.place[i]
        scratch.degree[i], scratch.key[i] = chain.degree[place], chain.key[place]
        for a in range(chain.atom.shape[1]):
            scratch.atom[i, a] = chain.atom[place, a]
    scratch.tally[0] = n
    return -1


@kernel()
def add_fit(own: FitWork, error: float, foreseen: float) -> int:
    """Enter the fit of the scratch that `fit_structure` has just made; its entry.

    Mutates: own. Allocates: nothing.
    """
    fits, n = own.fits, own.scratch.tally[0]
    if (
        fits.size[0] == fits.n_terms.shape[0]
        or fits.size[1] + 2 * n > fits.key.shape[0]
        or fits.size[2] + n_values(n) > fits.value.shape[0]
    ):
        forget_fits(fits)
    entry = fits.size[0]
    fits.bucket[-1 - find_entry(fits, n)] = entry
    fits.n_terms[entry] = n
    fits.first_key[entry], fits.first_value[entry] = fits.size[1], fits.size[2]
    fits.scalar[entry, 0], fits.scalar[entry, 1] = error, foreseen
    fits.scalar[entry, 2] = 0.0
    for i in range(n):
        fits.key[fits.size[1] + i] = fits.sorted[i]
    fits.size[0] += 1
    fits.size[1] += 2 * n
    if error < math.inf:
        store_fit(fits, entry, n, own)
        fits.size[2] += n_values(n)
    return entry


@kernel()
def store_fit(fits: FitTable, entry: int, n: int, own: FitWork) -> None:
    """Write a fit that succeeded into its place in the pools.

    Mutates: fits. Allocates: nothing.
    """
    linear, value, first = own.linear, fits.value, fits.first_value[entry]
    order = fits.first_key[entry] + n
    log_det, at = 0.0, first + 2 * n
    for i in range(n):
        fits.key[order + i] = own.run.order[i]
        value[first + i] = own.run.program.theta[i]
        value[first + n + i] = linear.length[i]
        log_det += math.log(linear.factor[i, i] * linear.length[i])
        for j in range(i, n):
            value[at] = linear.factor[i, j]
            at += 1
    fits.scalar[entry, 2] = log_det


@kernel()
def load_factor(fits: FitTable, entry: int, factor: Float2D) -> None:
    """The upper factor of a fit.

    Mutates: factor. Allocates: nothing.
    """
    n = fits.n_terms[entry]
    at = fits.first_value[entry] + 2 * n
    for i in range(n):
        for j in range(i, n):
            factor[i, j] = fits.value[at]
            at += 1


@kernel()
def fitted_theta(fits: FitTable, entry: int, theta: Float1D) -> None:
    """The optimum, in the order of the structure that was looked up last.

    Mutates: theta. Allocates: nothing.
    """
    n, first, order = fits.n_terms[entry], fits.first_value[entry], fits.first_key[entry]
    for i in range(n):
        theta[fits.place[fits.key[order + n + i]]] = fits.value[first + i]
