"""Values that a file lacks: how many there are in a row, and what may be done about them.

Receives which rows are incomplete, from ``tables`` and ``records``; gives `Missing`, which
``checking`` puts into words, and the one remedy that checks and errors name.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

Truths = np.ndarray[Any, np.dtype[np.bool]]

MOST_FILLED = 20
"""Longer runs of missing values are not worth inventing."""


class Missing(NamedTuple):
    """Cells without a value: how many, the most in a row, in which columns, and in which rows.

    ``runs`` are first rows and those behind the last, of ``n_rows``; of several files end to end.
    """

    n_cells: int = 0
    longest: int = 0
    columns: tuple[str, ...] = ()
    runs: tuple[tuple[int, int], ...] = ()
    n_rows: int = 0

    def joined(self, other: Missing) -> Missing:
        """Of two files together."""
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        moved = ((first + self.n_rows, end + self.n_rows) for first, end in other.runs)
        return Missing(
            self.n_cells + other.n_cells,
            max(self.longest, other.longest),
            columns,
            (*self.runs, *moved),
            self.n_rows + other.n_rows,
        )


def fill_remedy(longest: int) -> str:
    """What to do where up to so many values are missing in a row."""
    if longest <= MOST_FILLED:
        return f"fill={longest} interpolates what is missing"
    return f"fill={MOST_FILLED} interpolates short runs, and ends records at longer ones"


def runs(is_true: Truths) -> list[tuple[int, int]]:
    """Stretches of truths: first, and behind the last."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], is_true, [False]]).astype(np.int8)))
    return list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True))
