"""Wave forces on ten synthetic seas: whether grey boxes beat Morison's equation, and by how much.

For every seed of `datasets.waves` the setups of ``adjoin case waves``, of which validation chooses
the value of λ_t; then the NMSE on the test part as a part of the white box's, less 1. Arguments:
the objectives (``prediction``, ``simulation``, ``abc``), default ``prediction``.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from adjoin.cases.outcome import best_by_validation
from adjoin.cases.setups import OBJECTIVES, Plan
from adjoin.cases.study import run_study
from adjoin.cases.waves import CASE, METHODS

N_SEEDS, ENOUGH = 10, 0.15
TERM_RATES = {"prediction": (1.0, 5.0, 20.0), "simulation": (5.0,), "abc": (5.0,)}
"""Free runs take their time: of those only the middle one."""


def main() -> None:
    """Print a table per objective."""
    for objective in sys.argv[1:] or ["prediction"]:
        rates = TERM_RATES[objective]
        chosen = ", ".join(f"{rate:g}" for rate in rates)
        print(f"{OBJECTIVES[objective]}, λ_t of {chosen}: NMSE against the white box's")
        heads = "".join(f"{f'method {number}':>10}" for number in METHODS)
        print(f"{'seed':>4}{'white box':>11}{heads}{'s':>6}")
        gains = []
        for seed in range(N_SEEDS):
            begin = time.perf_counter()
            study = run_study(Plan(CASE.name, (objective,), rates, seed=seed, curve=0))
            assert study.white_box is not None
            changes = []
            for number in METHODS:
                best = best_by_validation(r for r in study.usable() if r.setup.number == number)
                assert best is not None
                change = study.relative_to_white_box(best)
                changes.append(np.inf if change is None else change)
            gains.append(changes)
            cells = "".join(f"{100 * change:+9.1f}%" for change in changes)
            spent = time.perf_counter() - begin
            print(f"{seed:4}{study.white_box[1].nmse:10.2f}%{cells}{spent:6.0f}", flush=True)
        n_enough = np.sum(np.array(gains) <= -ENOUGH, axis=0)
        counts = "".join(f"{f'{n} of {N_SEEDS}':>10}" for n in n_enough)
        print(f"at least {ENOUGH:.0%} below{counts}\n")


if __name__ == "__main__":
    main()
