"""A free-run chain's tolerance ladder in a saved run: its layout, and what must hold of it.

Receives a `LadderTrace` and writes it into a group of its chain's; reads a group and hands back the
same ladder, or an `AdjoinError` that says what in it no chain could have left behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from adjoin.exchange.stored_group import FLOAT, INTEGER, Series, StoredGroup, store_all
from adjoin.inference.traces import LadderTrace
from adjoin.kernels.state import N_MOVES, N_SAVED, POSSIBLE

_LAYOUT = {
    "distance": Series(FLOAT, ("record",), "distance of the free run from the measured output"),
    "tolerance": Series(
        FLOAT, ("stage", "rung"), "largest distance allowed, after calibration and every stage"
    ),
    "floor": Series(FLOAT, ("stage",), "smallest distance met up to then"),
    "width": Series(FLOAT, ("rung",), "standard deviation of the random walk of coefficients"),
    "move": Series(
        INTEGER,
        ("rung", "kind", "outcome"),
        "moves proposed, possible and accepted since the ladder was frozen",
    ),
    "guided": Series(
        INTEGER, ("rung", "result"), "guided proposals, and those accepted, since it was frozen"
    ),
    "swap": Series(
        INTEGER, ("rung", "result"), "exchanges with the next rung, tried and made, since then"
    ),
    "saved": Series(
        INTEGER,
        ("fate",),
        "of all proposals: impossible moves, refused by a guide, refused by the prior; free runs,"
        " those run to the end, their steps; fits asked for; proposals",
    ),
}
_LENGTHS = {"kind": N_MOVES, "outcome": 3, "result": 2, "fate": N_SAVED}
_ROUNDING = 1e-9  # relative
_MOST = 2**60  # what no computer has counted to: 36 years of a billion a second


def write_ladder(group: Any, ladder: LadderTrace) -> None:
    """Write a chain's ladder into an h5netcdf group."""
    group.attrs["reason"] = ladder.reason
    store_all(group, _LAYOUT, ladder._asdict())


def read_ladder(group: StoredGroup, n_records: int, n_samples: int) -> LadderTrace:
    """The ladder in a group, of a chain with so many records of so many samples."""
    found = group.variables(_LAYOUT, _LENGTHS | {"record": n_records})
    ladder = LadderTrace(reason=group.text("reason"), **found)
    _check_distances(group, ladder)
    _check_counts(group, ladder, n_samples)
    return ladder


def _check_distances(group: StoredGroup, ladder: LadderTrace) -> None:
    tolerance = ladder.tolerance
    if not tolerance.size:
        raise group.fault("tolerance", "must have a stage and a rung")
    if not (tolerance > 0).all():  # nor is NaN
        raise group.fault("tolerance", "must be positive everywhere")
    if np.isinf(tolerance).any() and not np.isinf(tolerance).all():
        raise group.fault("tolerance", "must be finite everywhere, or without limit everywhere")
    colder, hotter = tolerance[:, :-1], tolerance[:, 1:]
    if not (colder * (1 - _ROUNDING) <= hotter).all():
        raise group.fault("tolerance", "must ascend from the coldest rung to the hottest")
    for name, most in (("floor", tolerance[:, 0]), ("distance", tolerance[-1, 0])):
        values = getattr(ladder, name)
        if not ((values >= 0) & (values * (1 - _ROUNDING) <= most)).all():
            raise group.fault(name, "must be from 0 to the tolerance of the coldest rung")
    if not ((ladder.width > 0) & (ladder.width < np.inf)).all():
        raise group.fault("width", "must be positive and finite everywhere")


def _check_counts(group: StoredGroup, ladder: LadderTrace, n_samples: int) -> None:
    group.require_nested("move", ladder.move, n_samples)
    group.require_nested("guided", ladder.guided, ladder.move[:, :, POSSIBLE].sum(axis=1))
    group.require_nested("swap", ladder.swap, n_samples)
    if ladder.saved.min() < 0 or ladder.saved.max() > _MOST:
        raise group.fault("saved", f"must be from 0 to {_MOST}")
