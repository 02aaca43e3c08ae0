"""The one tolerance of all chains, from where each of them has ended annealing.

Receives chains that have just annealed, packed; gives a tolerance and the reason for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from adjoin.inference.engine import Packed
from adjoin.inference.engines.abc_setup import AbcSetup
from adjoin.inference.engines.workspace import unpack_trace

_LOST = 2.0  # times the smallest quantile: a chain that ends above has not found what others have


def common_tolerance(setup: AbcSetup, packed: Sequence[Packed]) -> tuple[float, str]:
    """The tolerance of the best structure fitted by any chain; of quantiles, the largest not lost.

    Either way a chain that is hopelessly behind has no say: it would make the others vague. The
    smallest tolerance is not that of the best structure, but of the one with most terms; and of
    quantiles it would leave out chains that are behind by nothing but luck.
    """
    scores = [float(one["champion_score"][0]) for one in packed]
    tolerances = [float(one["tolerances_tolerance"][0]) for one in packed]
    if setup.is_guided and math.isfinite(max(scores)):
        number = scores.index(max(scores))
    else:
        found = [value for value in tolerances if value <= _LOST * min(tolerances)]
        number = tolerances.index(max(found))
    ladder = unpack_trace(packed[number]).ladder
    assert ladder is not None
    return tolerances[number], f"{ladder.reason}, by chain {number}; all chains share it"
