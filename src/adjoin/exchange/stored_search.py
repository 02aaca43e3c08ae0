"""A chain's informed moves and rungs in a saved run: their layout, and what must hold of them.

Receives a `SearchTrace` and writes it into a group of its chain's; reads a group and hands back the
same, or an `AdjoinError` that says what in it no chain could have left behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoin.exchange.stored_group import FLOAT, INTEGER, Series, StoredGroup, store_all
from adjoin.inference.traces import SearchTrace
from adjoin.kernels.state import N_INFORMED

_LAYOUT = {
    "key": Series(INTEGER, ("candidate",), "terms of the pool, as the keys of structures"),
    "inclusion": Series(
        FLOAT, ("candidate",), "probability of being in given all else, on average over the chain"
    ),
    "counter": Series(
        INTEGER,
        ("informed", "outcome"),
        "exchanges, births, deaths, sweeps and flips proposed, possible and accepted",
    ),
    "power": Series(FLOAT, ("rung",), "powers of the likelihood, the chain's own first"),
    "swap": Series(INTEGER, ("rung", "result"), "exchanges with the next rung, tried and made"),
    "n_trips": Series(INTEGER, ("one",), "states that came back from the hottest rung"),
}
_LENGTHS = {"outcome": 3, "result": 2, "one": 1}
_NO_FLIPS = N_INFORMED - 1  # counters that were written before there were flips
_MOST = 2**60  # what no computer has counted to
_ROUNDING = 1e-9


def write_search(group: Any, search: SearchTrace) -> None:
    """Write what a chain's search did into an h5netcdf group."""
    store_all(group, _LAYOUT, search._asdict())


def read_search(group: StoredGroup) -> SearchTrace:
    """What is in a group."""
    search = SearchTrace(**group.variables(_LAYOUT, _LENGTHS))
    if len(search.counter) not in (_NO_FLIPS, N_INFORMED):
        raise group.fault("counter", f"must have {N_INFORMED} rows, not {len(search.counter)}")
    lacking = np.zeros((N_INFORMED - len(search.counter), 3), dtype=np.int64)
    search = search._replace(counter=np.concatenate([search.counter, lacking]))
    if len(np.unique(search.key)) < len(search.key) or (search.key < 0).any():
        raise group.fault("key", "must be terms, each of them once")
    if not ((search.inclusion >= 0.0) & (search.inclusion <= 1.0 + _ROUNDING)).all():
        raise group.fault("inclusion", "must be from 0 to 1")
    power = search.power
    if not (len(power) and (power >= 0.0).all() and (np.diff(power) <= 0.0).all()):
        raise group.fault("power", "must descend from the coldest rung to the hottest")
    group.require_nested("counter", search.counter, _MOST)
    group.require_nested("swap", search.swap, _MOST)
    if not 0 <= search.n_trips[0] <= _MOST:
        raise group.fault("n_trips", f"must be from 0 to {_MOST}")
    return search
