"""The Silverbox by free-run chains: 20,000 samples × 12 rungs, lags up to 50, λ_t = 20.

Both rules; chains that differ by their seed. The selected chain has the smallest free-run error on
the validation part; the test set, the full arrow, is scored after that choice. Needs the Silverbox
data (ADJOIN_DATA).
"""

from __future__ import annotations

import sys
import time

import numpy as np

from adjoin import Dataset, Identifier, datasets, scores
from adjoin.posterior import Posterior

N_CHAINS, N_SAMPLES, N_SEEDED = 4, 20_000, 50
RULES = {
    "rule='paper', prior='paper'": {"rule": "paper", "prior": "paper"},
    "rule='default'": {"rule": "default"},
}


def errors(posterior: Posterior, test: Dataset) -> tuple[float, float]:
    """RMSE in mV on the test set, of the MAP model and of the mean of 100 drawn models."""
    run = posterior.map_model.simulate(test.u, test.y[:N_SEEDED])
    mean = posterior.simulate(test.u, test.y[:N_SEEDED], draws=100).mean
    measured = test.y[N_SEEDED:]
    return (
        1e3 * scores.rmse(measured, run[N_SEEDED:]),
        1e3 * scores.rmse(measured, mean[N_SEEDED:]),
    )


def main() -> None:
    """Run the rules one after another; an argument sets the number of chains."""
    n_chains = int(sys.argv[1]) if len(sys.argv) > 1 else N_CHAINS
    benchmark = datasets.silverbox()
    print(f"Silverbox, {benchmark.protocol}; free run on the full arrow, mV")
    print(f"{n_chains} chains × {N_SAMPLES:,} samples × 12 rungs, λ_t = 20")
    for name, settings in RULES.items():
        identifier = Identifier(
            objective="abc",
            expected_terms=20.0,
            max_lag=50,
            max_degree=3,
            samples=N_SAMPLES,
            chains=n_chains,
            seed=0,
            progress=False,
        )
        begin = time.process_time()
        every = identifier.set_params(**settings).fit(benchmark.train).posterior_
        seconds = (time.process_time() - begin) / n_chains
        print(f"\n{name}: {seconds:.0f} s of CPU per chain (the paper: 8.1 h)")
        print(f"{'chain':>6}{'terms':>7}{'tolerance':>11}{'validation':>12}{'MAP':>8}{'FWD':>8}")
        found = every.validation_errors(benchmark.validation)
        table = {}
        for number in every.chain_numbers:
            chain = every.chain(number)
            table[number] = errors(chain, benchmark.test)
            print(
                f"{number:6}{np.median(chain.draws.size):7.0f}{1e3 * chain.noise['mean']:11.3f}"
                f"{1e3 * found[number]:12.3f}{table[number][0]:8.3f}{table[number][1]:8.3f}"
            )
        selected = min(found, key=found.__getitem__)
        pooled = errors(every, benchmark.test)
        print(
            f"selected by validation: chain {selected}, MAP {table[selected][0]:.3f} mV,"
            f" FWD {table[selected][1]:.3f}; pooled MAP {pooled[0]:.3f}, FWD {pooled[1]:.3f}"
        )
    print("\ntolerance as the standard deviation it stands for, mV; the paper's MPO: 1.079 mV")


if __name__ == "__main__":
    main()
