"""The Silverbox by one-step-ahead chains: 4 chains × 10,000 samples, lags up to 50, four seeds.

Two priors: the paper's hyperparameters with β = 1e-2 (raw volts), which is the neighbourhood of the
paper's result, and the default prior, with the likelihood as it is and to the power that the
autocorrelation of the residuals deserves. The selected chain has the smallest free-run error on the
validation part; the test set is scored after that choice. Needs the Silverbox data (ADJOIN_DATA).
"""

from __future__ import annotations

import time

import numpy as np

from adjoin import Identifier, Prior, datasets, scores
from adjoin.posterior import Posterior

N_CHAINS, N_SAMPLES, N_RUNS = 4, 10_000, 4
PRIORS = {
    "paper prior with β = 1e-2": {"prior": Prior(noise_scale=1e-2, units="raw")},
    "default prior": {},
    "default prior, likelihood power auto": {"likelihood_power": "auto"},
}


def free_run_error(posterior: Posterior, test: datasets.Dataset) -> float:
    """RMSE in mV of the MAP model's free run, the first 50 samples measured and not scored."""
    run = posterior.map_model.simulate(test.u, test.y[:50])
    return 1e3 * scores.rmse(test.y[50:], run[50:])


def main() -> None:
    """Run the priors one after another."""
    benchmark = datasets.silverbox()
    print(f"Silverbox, {benchmark.protocol}; free run on the full arrow, mV")
    print(f"{N_RUNS} runs of {N_CHAINS} chains × {N_SAMPLES:,} samples")
    for name, settings in PRIORS.items():
        print(f"\n{name}\n{'seed':>6}{'terms':>10}{'selected':>10}   every chain")
        errors, sizes = [], []
        for seed in range(N_RUNS):
            begin = time.perf_counter()
            identifier = Identifier(
                max_lag=50,
                samples=N_SAMPLES,
                chains=N_CHAINS,
                seed=seed,
                progress=False,
                **settings,
            )
            every = identifier.fit(benchmark.train).posterior_
            seconds = time.perf_counter() - begin
            chains = [every.chain(number) for number in every.chain_numbers]
            found = every.validation_errors(benchmark.validation, benchmark.validation)
            selected = min(found, key=found.__getitem__)
            sizes.append([np.median(np.diff(chain.draws.offset)) for chain in chains])
            errors.append([free_run_error(chain, benchmark.test) for chain in chains])
            terms = f"{min(sizes[-1]):.0f}-{max(sizes[-1]):.0f}"
            each = "  ".join(f"{error:.3f}" for error in errors[-1])
            print(
                f"{seed:6}{terms:>10}{errors[-1][selected]:10.3f}   {each}"
                f"   ({seconds:.1f} s, power {every.power:.3f})"
            )
        low, middle, high = np.quantile(errors, [0.25, 0.5, 0.75])
        print(
            f"  {np.size(errors)} chains: median {middle:.3f}, quartiles {low:.3f} and {high:.3f}"
        )
        print(f"  median terms of a chain: {np.min(sizes):.0f} to {np.max(sizes):.0f}")
    print("\nthe paper: 19.5 to 20 terms, 0.397 to 0.442 mV, 0.27 to 0.38 h")


if __name__ == "__main__":
    main()
