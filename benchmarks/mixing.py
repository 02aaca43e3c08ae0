"""CPU seconds to the same log posterior: the nine moves alone, and with informed moves beside them.

On measured records (see ``real.py``) and the Silverbox, at likelihood power 1 and "auto": chains
with informed moves run for `--seconds` of CPU each, listing and screening the alphabet included;
what the median of them has reached then is the mark. Chains of the nine moves run until they pass
it, or `--times` as long. Printed are the CPU seconds to the mark (medians over seeds), their ratio
(at least so much where it is never passed), and the spread between seeds (largest less smallest log
posterior, in nats) at the end of each. The log posterior is that of the present structure,
coefficients integrated out, noise too by Laplace's approximation.
"""

from __future__ import annotations

import argparse
import math
import time
from statistics import median_low
from typing import NamedTuple

import numpy as np
import real

from adjoin import Dataset, Grammar, Identifier, Prior, datasets
from adjoin.data.scaling import Scaling
from adjoin.inference.centring import log_evidence
from adjoin.inference.engines.prediction import PredictionEngine
from adjoin.inference.problem import Problem
from adjoin.inference.search import Search

INFORMED = Search(candidates=512, moves=10, interval=10)
SAMPLES = 20_000  # of an informed chain, by which its burn-in is set
BLOCKS = 60  # looks at a chain


class Course(NamedTuple):
    """CPU seconds, and the log posterior at each."""

    seconds: list[float]
    value: list[float]

    def reach(self, mark: float) -> float:
        """When the mark was passed; infinite if never."""
        passed = [s for s, v in zip(self.seconds, self.value, strict=True) if v >= mark]
        return min(passed, default=math.inf)


def make_engine(data: Dataset, scaling: Scaling, power: float, search: Search) -> PredictionEngine:
    """The default model class and prior, on one data set."""
    grammar = Grammar.narx(inputs=data.names.inputs, output=data.names.output)
    problem = Problem(data, grammar.alphabet, scaling)
    return PredictionEngine(problem, Prior(), power=power, search=search, samples=SAMPLES, thin=100)


def run(engine: PredictionEngine, seed: int, seconds: float, mark: float = math.inf) -> Course:
    """One chain for so many seconds of CPU, or until it passes a mark."""
    begin = time.process_time()
    chain, course, block = engine.start(seed), Course([], []), 200
    while (spent := time.process_time() - begin) < seconds:
        chain.advance(block)
        spent = time.process_time() - begin
        if spent < seconds / BLOCKS * (len(course.value) + 1):
            continue
        state, trace = chain.state, chain.finish()
        structure = engine.encoding.structure(tuple(state.key[: state.n_terms[0]].tolist()))
        looked = time.process_time()
        value = log_evidence(engine, structure, float(state.coefficient[0]))
        course.seconds.append(spent)
        course.value.append(value + float(trace.log_prior[-1]))
        begin += time.process_time() - looked  # looking is not sampling
        if course.value[-1] >= mark:
            break
    return course


def compare(name: str, data: Dataset, power: str, options: argparse.Namespace) -> str:
    """One row of the table."""
    pilot = Identifier(samples=2_000, seed=0, progress=False, likelihood_power=1.0)
    if power == "auto":
        pilot = pilot.set_params(likelihood_power="auto", samples=6_000)
    posterior = pilot.fit(data).posterior_
    w, scaling = posterior.power, posterior.scaling
    informed = [
        run(make_engine(data, scaling, w, INFORMED), seed, options.seconds)
        for seed in range(options.seeds)
    ]
    mark, most = (
        median_low(course.value[-1] for course in informed),
        options.times * options.seconds,
    )
    nine = [
        run(make_engine(data, scaling, w, Search()), seed, most, mark)
        for seed in range(options.seeds)
    ]
    new, old = (median_low(course.reach(mark) for course in group) for group in (informed, nine))
    ratio = f"{old / new:.1f}" if old < math.inf else f"> {most / new:.0f}"
    ends = [[course.value[-1] for course in group] for group in (nine, informed)]
    return (
        f"{name:16}{w:7.3g}{mark:12.1f}{old:9.2f}{new:10.2f}{ratio:>8} |"
        f"{np.ptp(ends[0]):10.1f}{np.ptp(ends[1]):10.1f}{mark - median_low(ends[0]):10.1f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", action="append", help="one of the sets, or silverbox")
    parser.add_argument("--power", action="append", choices=("1", "auto"))
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--times", type=float, default=12.0)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warm = Identifier(samples=300, chains=1, seed=0, progress=False, search=INFORMED)
    rng = np.random.default_rng(0)
    warm.fit(rng.standard_normal(200), rng.standard_normal(200))
    print(f"{options.seconds:g} s of CPU a chain, {options.seeds} seeds")
    print(
        f"{'set':16}{'power':>7}{'mark':>12}{'nine s':>9}{'inform. s':>10}{'ratio':>8} |"
        f"{'nine ±':>10}{'inform. ±':>10}{'gained':>10}",
        flush=True,
    )
    for name in options.only or [*real.SETS, "silverbox"]:
        for power in options.power or ("1", "auto"):
            if name == "silverbox":
                data = datasets.silverbox(split="paper").train
            else:
                data, _ = real.read(name, "train").split(real.FIT_SHARE)
            print(compare(name, data, power, options), flush=True)


if __name__ == "__main__":
    main()
