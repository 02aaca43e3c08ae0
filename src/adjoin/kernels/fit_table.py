"""The table of free-run fits: what was fitted is looked up by the set of terms.

Receives fits from ``fits``; hands them to the ladder. A fit is a function of the set of terms and
the data alone, so the table may forget at any time.
"""

from __future__ import annotations

import math

from adjoin.arrays import Float1D, Float2D, Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.hashing import hash_keys
from adjoin.kernels.layouts import Regression
from adjoin.kernels.products import pinned_place
from adjoin.kernels.state import FITTED, Chain
from adjoin.kernels.tables import FitTable, FitWork


@kernel()
def sort_terms(chain: Chain, fitting: FitWork) -> None:
    """The keys of a structure in ascending order, and where each is.

    Mutates: fitting.sorted, fitting.place. Allocates: nothing.
    """
    for i in range(chain.n_terms[0]):
        key, j = chain.key[i], i
        while j > 0 and fitting.sorted[j - 1] > key:
            fitting.sorted[j], fitting.place[j] = fitting.sorted[j - 1], fitting.place[j - 1]
            j -= 1
        fitting.sorted[j], fitting.place[j] = key, i


@kernel()
def find_entry(fits: FitTable, key: Int1D, n: int) -> int:
    """The entry of n keys in ascending order, or -1 - b for the empty bucket b where it belongs.

    Mutates: nothing. Allocates: nothing.
    """
    n_buckets = fits.bucket.shape[0]
    b = hash_keys(key, n, n_buckets)
    while fits.bucket[b] >= 0:
        entry = fits.bucket[b]
        is_same = fits.entry.n_terms[entry] == n
        first = fits.entry.first_key[entry]
        for i in range(n if is_same else 0):
            if fits.key[first + i] != key[i]:
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
    fits.n_entries[0], fits.n_keys[0], fits.n_values[0] = 0, 0, 0
    for b in range(fits.bucket.shape[0]):
        fits.bucket[b] = -1


@kernel()
def n_values(n: int) -> int:
    """How many numbers a fit of n terms takes: coefficients, lengths, factor.

    Mutates: nothing. Allocates: nothing.
    """
    return 2 * n + n * (n + 1) // 2


@kernel()
def look_up(chain: Chain, fitting: FitWork) -> int:
    """The entry of a chain's structure; if there is none, -1 and the structure is in the scratch.

    Mutates: fitting. Allocates: nothing.
    """
    fits, scratch, n = fitting.fits, fitting.scratch, chain.n_terms[0]
    sort_terms(chain, fitting)
    found = find_entry(fits, fitting.sorted, n)
    if found >= 0:
        return found
    for i in range(n):
        place = fitting.place[i]
        scratch.degree[i], scratch.key[i] = chain.degree[place], chain.key[place]
        for a in range(chain.atom.shape[1]):
            scratch.atom[i, a] = chain.atom[place, a]
    scratch.n_terms[0] = n
    return -1


@kernel()
def take_entry(fitting: FitWork) -> int:
    """A new entry for the structure in the scratch; all others are forgotten if there is no room.

    Mutates: fitting. Allocates: nothing.
    """
    fits, found, n = fitting.fits, fitting.fits.entry, fitting.scratch.n_terms[0]
    if (
        fits.n_entries[0] == found.status.shape[0]
        or fits.n_keys[0] + 2 * n > fits.key.shape[0]
        or fits.n_values[0] + n_values(n) > fits.value.shape[0]
    ):
        forget_fits(fits)
    entry, first = fits.n_entries[0], fits.n_keys[0]
    fits.bucket[-1 - find_entry(fits, fitting.sorted, n)] = entry
    found.n_terms[entry] = n
    found.first_key[entry], found.first_value[entry] = first, fits.n_values[0]
    for i in range(n):
        fits.key[first + i] = fitting.sorted[i]
    fits.n_entries[0] += 1
    fits.n_made[0] += 1
    fits.n_keys[0] += 2 * n
    return entry


@kernel()
def add_fit(fitting: FitWork, fit: tuple[int, float, float]) -> int:
    """Enter what `fit_structure` has just made of the scratch; its entry, without a score yet.

    Mutates: fitting. Allocates: nothing.
    """
    fits, found, n = fitting.fits, fitting.fits.entry, fitting.scratch.n_terms[0]
    entry = take_entry(fitting)
    found.status[entry], found.error[entry], found.foreseen[entry] = fit
    found.log_det[entry], found.score[entry] = math.nan, math.nan
    if found.status[entry] == FITTED:
        store_fit(fits, entry, n, fitting)
        fits.n_values[0] += n_values(n)
    return entry


@kernel()
def add_mode(fitting: FitWork, data: Regression, error: float) -> int:
    """Enter what `find_mode` has just made of the scratch; its entry.

    The places of lengths and factor hold Jᵀr and JᵀJ; the latter's row of a pinned term is zero.

    Mutates: fitting. Allocates: nothing.
    """
    fits, linear, n = fitting.fits, fitting.linear, fitting.scratch.n_terms[0]
    entry = take_entry(fitting)
    fits.entry.status[entry], fits.entry.error[entry] = FITTED, error
    fits.entry.volume[entry] = fitting.colour.volume[0]
    first, order = fits.entry.first_value[entry], fits.entry.first_key[entry] + n
    at = first + 2 * n
    for i in range(n):
        fits.key[order + i] = fitting.run.order[i]
        fits.value[first + i] = fitting.run.program.theta[i]
        fits.value[first + n + i] = linear.gradient[i]
        if pinned_place(data, fitting.scratch.key[fitting.run.order[i]]) >= 0:
            linear.normal[i, i] = 0.0
        for j in range(i, n):
            fits.value[at] = linear.normal[i, j]
            at += 1
    fits.n_values[0] += n_values(n)
    return entry


@kernel()
def store_fit(fits: FitTable, entry: int, n: int, fitting: FitWork) -> None:
    """Write a fit that succeeded into its place in the pools.

    Mutates: fits. Allocates: nothing.
    """
    linear, value, first = fitting.linear, fits.value, fits.entry.first_value[entry]
    order = fits.entry.first_key[entry] + n
    log_det, at = 0.0, first + 2 * n
    for i in range(n):
        fits.key[order + i] = fitting.run.order[i]
        value[first + i] = fitting.run.program.theta[i]
        value[first + n + i] = linear.length[i]
        log_det += math.log(linear.factor[i, i] * linear.length[i])
        for j in range(i, n):
            value[at] = linear.factor[i, j]
            at += 1
    fits.entry.log_det[entry] = log_det


@kernel()
def load_factor(fits: FitTable, entry: int, factor: Float2D) -> None:
    """The upper factor of a fit.

    Mutates: factor. Allocates: nothing.
    """
    n = fits.entry.n_terms[entry]
    at = fits.entry.first_value[entry] + 2 * n
    for i in range(n):
        for j in range(i, n):
            factor[i, j] = fits.value[at]
            at += 1


@kernel()
def fitted_theta(fitting: FitWork, entry: int, theta: Float1D) -> None:
    """The optimum, in the order of the structure that was looked up last.

    Mutates: theta. Allocates: nothing.
    """
    fits, found = fitting.fits, fitting.fits.entry
    n, first, order = found.n_terms[entry], found.first_value[entry], found.first_key[entry]
    for i in range(n):
        theta[fitting.place[fits.key[order + n + i]]] = fits.value[first + i]
