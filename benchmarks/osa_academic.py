"""The paper's academic case under its settings: how many chains find the true structure.

30,000 samples, 4 chains, λ_t = 1, 5 and 20, ten data seeds; prior and moves of the paper. A chain
has found the truth if the structure it visits most often after burn-in is the true one.
"""

from __future__ import annotations

import time

import numpy as np

from adjoin import Identifier, datasets

N_SEEDS, N_CHAINS, N_SAMPLES = 10, 4, 30_000
PAPER = {1.0: ("3 of 4", 0.747, 0.04), 5.0: ("4 of 4", 0.987, 0.03), 20.0: ("3 of 4", 0.678, 0.05)}
"""Chains that found the truth, mean mass of the true structure, hours."""


def main() -> None:
    """Run all and print one table."""
    print(f"academic system, {N_SEEDS} data seeds × {N_CHAINS} chains × {N_SAMPLES:,} samples\n")
    print(f"{'':4}{'ours':>44}{'the paper':>34}")
    header = f"{'found':>12}{'mean mass':>12}{'smallest':>10}{'s of CPU':>10}"
    print(f"{'λ_t':>4}{header}{'found':>12}{'mean mass':>12}{'hours':>10}")
    n_found = n_chains = 0
    for expected_terms in (1.0, 5.0, 20.0):
        masses, is_found, seconds = [], [], []
        for seed in range(N_SEEDS):
            benchmark = datasets.academic(seed)
            begin = time.process_time()
            posterior = (
                Identifier(
                    prior="paper",
                    expected_terms=expected_terms,
                    samples=N_SAMPLES,
                    chains=N_CHAINS,
                    seed=seed,
                    progress=False,
                )
                .fit(benchmark.train)
                .posterior_
            )
            seconds.append(time.process_time() - begin)
            for number in posterior.chain_numbers:
                chain = posterior.chain(number)
                is_found.append(chain.structure(0) == benchmark.truth.structure)
                rows = chain.structures
                is_truth = rows["structure"] == str(benchmark.truth.structure)
                masses.append(rows["mass"][is_truth].sum())
        n_found += sum(is_found)
        n_chains += len(is_found)
        print(
            f"{expected_terms:4.0f}{f'{sum(is_found)} of {len(is_found)}':>12}"
            f"{np.mean(masses):12.3f}{np.min(masses):10.3f}{np.median(seconds):10.3f}"
            f"{PAPER[expected_terms][0]:>12}{PAPER[expected_terms][1]:12.3f}"
            f"{PAPER[expected_terms][2]:10.2f}"
        )
    print(f"\ntogether {n_found} of {n_chains} chains; times are per run of {N_CHAINS} chains")


if __name__ == "__main__":
    main()
