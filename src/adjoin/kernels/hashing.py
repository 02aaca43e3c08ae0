"""Where a key is looked for: hashes with open addressing, for terms and for lists of terms."""

from __future__ import annotations

from adjoin.arrays import Int1D
from adjoin.kernels._jit import kernel
from adjoin.kernels.tables import ProductTable


@kernel()
def hash_key(key: int, n_buckets: int) -> int:
    """Where to look for a key first; `n_buckets` is a power of two.

    Mutates: nothing. Allocates: nothing.
    """
    mixed = (key ^ (key >> 15) ^ (key >> 31)) & 0x7FFFFFFF
    return ((mixed * 0x9E3779B) >> 12) & (n_buckets - 1)  # an odd multiplier spreads every bit


@kernel()
def hash_keys(key: Int1D, n: int, n_buckets: int) -> int:
    """Where to look first for a list of n keys; `n_buckets` is a power of two.

    Mutates: nothing. Allocates: nothing.
    """
    mixed = n
    for i in range(n):
        mixed = (mixed * 31 + hash_key(key[i], 1 << 31)) & 0x7FFFFFFF
    return hash_key(mixed, n_buckets)


@kernel()
def find_slot(table: ProductTable, key: int) -> int:
    """The slot of a key, or -1 - b for the empty bucket b where it belongs.

    Mutates: nothing. Allocates: nothing.
    """
    n_buckets = table.bucket.shape[0]
    b = hash_key(key, n_buckets)
    while table.bucket[b] >= 0:
        if table.key[table.bucket[b]] == key:
            return table.bucket[b]
        b = (b + 1) & (n_buckets - 1)
    return -1 - b


@kernel(entry=True)
def rehash(table: ProductTable) -> None:
    """Fill the buckets anew for the slots that are taken.

    Mutates: table.bucket. Allocates: nothing.
    """
    for b in range(table.bucket.shape[0]):
        table.bucket[b] = -1
    for slot in range(table.size[0]):
        table.bucket[-1 - find_slot(table, table.key[slot])] = slot
