"""The paper's academic case by the simulation objective: how often the true structure is found.

λ_t = 1, 5 and 20, 25 data seeds, one chain of each start (forward selection by free runs, one step
ahead, and nothing), 10,000 samples; default prior. Found: the truth has the largest mass of all
chains together. Mass: of the truth. Seconds are CPU of a chain, compiled before. Then the intervals
of the coefficients: how many hold the truth, and how wide they are beside one-step intervals.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from adjoin import Identifier, datasets
from adjoin.posterior import Posterior

N_CHAINS, N_SAMPLES = 3, 10_000


def fit(seed: int, expected_terms: float, **settings: object) -> tuple[Posterior, float]:
    """The posterior of one data set, and the seconds of CPU that a chain took."""
    identifier = Identifier(
        expected_terms=expected_terms, chains=N_CHAINS, seed=seed, center=False, progress=False
    ).set_params(**settings)
    begin = time.process_time()
    found = identifier.fit(datasets.academic(seed).train).posterior_
    return found, (time.process_time() - begin) / N_CHAINS


def main() -> None:
    """Print one row for each λ_t, and what the intervals are worth."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=25)
    parser.add_argument("--samples", type=int, default=N_SAMPLES)
    options = parser.parse_args()
    simulation = {"objective": "simulation", "samples": options.samples}
    fit(0, 5.0, objective="simulation", samples=200)
    truth = datasets.academic(0).truth
    assert truth is not None
    print(
        f"{'λ_t':>4}{'found':>12}{'mean mass':>11}{'smallest':>10}{'s per chain':>13}{'longest':>9}"
        f"{'95 % hold':>12}{'width':>7}",
        flush=True,
    )
    for expected_terms in (1.0, 5.0, 20.0):
        masses, seconds, is_found, inside, widths = [], [], [], [], []
        for seed in range(options.seeds):
            posterior, spent = fit(seed, expected_terms, **simulation)
            frame = posterior.structures
            masses.append(float(frame["mass"][frame["structure"] == str(truth.structure)].sum()))
            is_found.append(frame["structure"].iloc[0] == str(truth.structure))
            seconds.append(spent)
            one_step, _ = fit(seed, expected_terms, samples=30_000)
            if not (masses[-1] and str(truth.structure) in set(one_step.structures["structure"])):
                continue
            own, other = (p.coefficients(truth.structure) for p in (posterior, one_step))
            for i, value in enumerate(truth.theta):
                low, high = own["q025"].iloc[i], own["q975"].iloc[i]
                inside.append(low <= value <= high)
                widths.append((high - low) / (other["q975"].iloc[i] - other["q025"].iloc[i]))
        print(
            f"{expected_terms:4.0f}{f'{sum(is_found)} of {len(is_found)}':>12}"
            f"{np.mean(masses):11.3f}{np.min(masses):10.3f}{np.median(seconds):13.2f}"
            f"{np.max(seconds):9.2f}{f'{sum(inside)} of {len(inside)}':>12}"
            f"{np.median(widths):7.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
