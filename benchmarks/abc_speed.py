"""Speed of the free-run chains, one core, compiled and warm, and what each acceleration saves.

The academic chain is 60,000 samples of 12 rungs with λ_t = 5, as in the paper (0.71 h there).
Beside it stands the time of one complete free run of the true model in plain Python, which is what
a proposal would cost without anything: their ratio means something on a busy machine.
"""

from __future__ import annotations

import time

import numpy as np

from adjoin import Grammar, Prior, datasets
from adjoin.inference.engines.abc import AbcEngine
from adjoin.inference.problem import Problem
from adjoin.kernels.state import (
    COMPLETE,
    FITS,
    IMPOSSIBLE_MOVES,
    PROPOSALS,
    REFUSED_BY_RATIO,
    REFUSED_UNGUIDED,
    SIMULATIONS,
    STEPS,
)

N_SAMPLES, N_CHAINS, EXPECTED_TERMS = 60_000, 3, 5.0


def run_in_python(u: np.ndarray, y: np.ndarray) -> float:
    """The squared error of the true model's free run, in a plain loop."""
    simulated = y.tolist()
    inputs, total = u.tolist(), 0.0
    for k in range(10, len(inputs)):
        value = 0.5 * inputs[k - 1] - 0.3 * inputs[k - 5] ** 3 + 0.3 * simulated[k - 1]
        simulated[k] = value
        total += (y[k] - value) ** 2
    return total


def main() -> None:
    """Run both rules."""
    train = datasets.academic(0).train
    begin = time.process_time()
    for _ in range(20):
        run_in_python(train.u, train.y)
    plain = (time.process_time() - begin) / 20
    print(f"one free run of 990 samples in plain Python: {1e3 * plain:.2f} ms\n")
    for rule in ("paper", "default"):
        engine = AbcEngine(
            Problem(train, Grammar.narx().alphabet),
            N_SAMPLES,
            Prior.paper(EXPECTED_TERMS),
            rule=rule,
            thin=5,
        )
        engine.warm_up()
        seconds, saved, n_fits = [], np.zeros(0), 0
        for seed in range(N_CHAINS):
            chain = engine.start(seed)
            begin = time.process_time()
            chain.advance(N_SAMPLES)
            seconds.append(time.process_time() - begin)
            found = chain.ladder.rungs.counters.saved
            saved = found if not seed else saved + found
            n_fits += int(chain.fitting.fits.n_made[0])
        n_proposals = int(saved[PROPOSALS])
        n_possible = n_proposals - int(saved[IMPOSSIBLE_MOVES])
        n_rows = engine.regression.n_rows
        stopped = 1 - saved[STEPS] / (n_rows * saved[SIMULATIONS])
        avoided = 1 - saved[STEPS] / (n_rows * n_possible)
        per_proposal = np.median(seconds) / (n_proposals / N_CHAINS)
        print(f"rule {rule}: {', '.join(f'{s:.2f}' for s in seconds)} s of CPU per chain")
        print(
            f"  {1e6 * per_proposal:.2f} µs per proposal, {plain / per_proposal:.0f} times faster"
        )
        print(f"  proposals that are possible          {n_possible:12,} of {n_proposals:,}")
        for what, code in (
            ("refused without an ellipsoid", REFUSED_UNGUIDED),
            ("refused by the ratio, before a run", REFUSED_BY_RATIO),
            ("simulated", SIMULATIONS),
            ("  of them to the end", COMPLETE),
        ):
            print(f"  {what:36} {saved[code]:12,} {saved[code] / n_possible:8.1%}")
        print(f"  steps of simulations avoided by stopping early {stopped:8.1%}")
        print(f"  steps of possible proposals avoided in all     {avoided:8.1%}")
        print(f"  free-run fits {n_fits:,}, asked for {saved[FITS]:,} times\n")


if __name__ == "__main__":
    main()
