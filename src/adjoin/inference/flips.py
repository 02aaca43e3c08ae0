"""Groups of terms that stand in for each other: the differences of structures found before.

Receives structures as keys of their terms; hands the kernels `Flips`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np

from adjoin.grammar.encoding import Encoding
from adjoin.kernels.tables import Flips

Keys = tuple[int, ...]
"""Terms as integers."""


def differences(structures: Sequence[Keys]) -> list[tuple[Keys, Keys]]:
    """What each has that another has not, and the reverse, each pair of sides once.

    Leaves out what informed moves do: one term that comes, goes, or takes the place of another.
    """
    found: dict[tuple[Keys, Keys], None] = {}
    for left, right in combinations(map(frozenset, structures), 2):
        sides = tuple(sorted(left - right)), tuple(sorted(right - left))
        if max(map(len, sides)) > 1:
            found[min(sides, sides[::-1])] = None
    return list(found)


def make_flips(encoding: Encoding, structures: Sequence[Keys], n_tries: int) -> Flips:
    """All differences of these structures, `n_tries` of which are proposed at a time."""
    groups = differences(structures) if n_tries else []
    sides = [side for group in groups for side in group]
    keys = sorted({key for side in sides for key in side})
    row = {key: i for i, key in enumerate(keys)}
    atom = np.full((len(keys), encoding.max_degree), -1, dtype=np.int64)
    degree = np.zeros(len(keys), dtype=np.int64)
    for i, key in enumerate(keys):
        atoms = encoding.digits(key)
        atom[i, : len(atoms)], degree[i] = atoms, len(atoms)
    return Flips(
        key=_whole(keys),
        degree=degree,
        atom=atom,
        is_in=np.zeros(len(keys), dtype=np.int64),
        member=_whole(row[key] for side in sides for key in side),
        edge=np.cumsum([0, *map(len, sides)], dtype=np.int64),
        n_tries=n_tries,
    )


def _whole(values: Iterable[int]) -> np.ndarray:
    return np.array([*values], dtype=np.int64)
