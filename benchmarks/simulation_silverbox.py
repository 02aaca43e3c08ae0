"""The Silverbox by the simulation objective: MAP, pooled and stacked, for λ_t = 5 and 20.

Paper's split: fitted on the first 80 % of the multisine (69,400 samples), chain and weights by the
free run on the rest, *validation*. Full arrow / no extrapolation (its first 32,000 samples) /
validation, RMSE in mV, the first 50 samples of a run measured and not scored. *MAP* is that of the
chain that validation selects, *pooled* and *stacked* the mean of 100 draws. Seconds are CPU of a
chain. Needs the Silverbox data (ADJOIN_DATA).
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np

from adjoin import Dataset, Identifier, datasets, scores
from adjoin.posterior import Posterior

N_SEED, N_DRAWS = 50, 100


def error(measured: np.ndarray, run: np.ndarray) -> float:
    """RMSE in mV."""
    return 1e3 * scores.rmse(measured[N_SEED:], run[N_SEED:])


def figures(every: Posterior, validation: Dataset, parts: dict[str, Dataset]) -> dict[str, list]:
    """Every figure on every part."""
    selected, stacked = every.select_chain(validation), every.stack_chains(validation)
    found: dict[str, list] = {"MAP": [], "pooled": [], "stacked": []}
    for part in parts.values():
        seed = part.y[:N_SEED]
        found["MAP"].append(error(part.y, selected.map_model.simulate(part.u, seed)))
        for name, posterior in (("pooled", every), ("stacked", stacked)):
            drawn = posterior.simulate(part.u, seed, draws=N_DRAWS, n_jobs=1)
            found[name].append(error(part.y, drawn.mean))
    return found


def main() -> None:
    """One block for each λ_t."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--expected-terms", type=float, action="append")
    parser.add_argument("--samples", type=int, default=300)
    parser.add_argument("--chains", type=int, default=2)
    parser.add_argument("--rungs", type=int, default=2)
    parser.add_argument("--max-lag", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    benchmark = datasets.silverbox()
    parts = {
        "full arrow": benchmark.test,
        "no extrapolation": benchmark.tests["arrow no-extrapolation"],
        "validation": benchmark.validation,
    }
    rng = np.random.default_rng(0)
    warm = {"objective": "simulation", "progress": False, "n_jobs": 1}
    Identifier(samples=50, **warm).fit(rng.standard_normal(200), rng.standard_normal(200))
    print(f"Silverbox, {benchmark.protocol}; {options.samples} samples, lag {options.max_lag}")
    for expected_terms in options.expected_terms or (5.0, 20.0):
        identifier = Identifier(
            expected_terms=expected_terms,
            samples=options.samples,
            chains=options.chains,
            max_lag=options.max_lag,
            max_degree=3,
            center=False,
            thin=1,
            seed=options.seed,
            search={"rungs": options.rungs},
            **warm,
        )
        begin = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            every = identifier.fit(benchmark.train).posterior_
        spent = (time.process_time() - begin) / options.chains
        starts = [f"{chain['log_posterior']:.0f}" for chain in every.diagnostics["starts"]]
        print(
            f"λ_t = {expected_terms:g}: {len(every.map_model.structure)} terms, {spent:.0f} s a"
            f" chain, log posteriors {', '.join(starts)}",
            flush=True,
        )
        for name, values in figures(every, benchmark.validation, parts).items():
            print(f"  {name:8}" + " / ".join(f"{value:.3f}" for value in values), flush=True)


if __name__ == "__main__":
    main()
