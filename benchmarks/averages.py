"""Which average over chains predicts best, judged blind: the selected chain, all alike, by weight.

Every set is fitted at default settings; its validation part is cut in two halves by time. The
first selects a chain (`Posterior.select_chain`) and weighs the chains (`Posterior.stack_chains`);
the second, which has seen none of it, judges. Measured records are those of ``real.py``, in the
folder ADJOIN_DATA (or ``shared/data`` beside the project): fitted are the first 70 % of every train
record. The simulated sets are those of `adjoin.datasets`, one data set per seed. The first 50
samples of every record seed a free run and are not scored.

NMSE % over all scored samples: of the MAP model of the selected chain (*MAP*), and of *mean* and
*median* over 200 draws of the selected chain, of all chains (*pooled*), and of all chains by weight
(*stacked*). *wins* counts the fits in which a figure is the least, shared by those within 0.5 % of
it, and *ratio* is the geometric mean of figure over least. Test files are opened with ``--test``
only, which judges by them instead; nothing is to be decided by that.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from identifier_options import add_identifier_options, identifier_settings, said
from real import FIT_SHARE, N_SEED, SETS, cell, nmse, read, score_model, warm_up

from adjoin import Dataset, Identifier, Posterior, datasets

N_DRAWS, SAMPLES = 200, 30_000
SIMULATED: dict[str, Callable[[int], datasets.Benchmark]] = {
    "academic": datasets.academic,
    "waves": datasets.waves,
}
FIGURES = (
    "MAP",
    "selected mean",
    "selected median",
    "pooled mean",
    "pooled median",
    "stacked mean",
    "stacked median",
)
_TIE = 1.005  # figures this close share a win


def parts(name: str, seed: int, has_test: bool) -> tuple[Dataset, Dataset, Dataset]:
    """What is fitted, what weighs and selects, and what judges."""
    if name in SIMULATED:
        benchmark = SIMULATED[name](seed)
        fitted, validation = benchmark.train, benchmark.validation
        assert validation is not None
        weighs, judges = validation.split(0.5)
        return fitted, weighs, benchmark.test if has_test else judges
    fitted, validation = read(name, "train").split(FIT_SHARE)
    weighs, judges = validation.split(0.5)
    return fitted, weighs, read(name, "test") if has_test else judges


def figures_of(every: Posterior, weighs: Dataset, judges: Dataset) -> dict[str, Any]:
    """NMSE % of every predictor on what judges, and the weights."""
    selected, stacked = every.select_chain(weighs), every.stack_chains(weighs)
    seeds = [record[:N_SEED] for record in judges.outputs]
    found: dict[str, Any] = {"MAP": score_model(selected.map_model, judges)}
    for name, posterior in (("selected", selected), ("pooled", every), ("stacked", stacked)):
        drawn = posterior.simulate(judges.inputs, seeds, draws=N_DRAWS, n_jobs=1)
        found[f"{name} mean"] = nmse(judges, drawn.mean)
        found[f"{name} median"] = nmse(judges, drawn.median)
    found["chain"], found["weights"] = selected.chain_numbers[0], stacked.weights_
    return found


def row(name: str, seed: int, found: dict[str, Any]) -> str:
    """One line of the table."""
    cells = "".join(f"{cell(found[figure]):>17}" for figure in FIGURES)
    weights = " ".join(f"{100 * weight:.0f}" for weight in found["weights"].values())
    return f"{name:16}{seed:4}{cells}   {found['chain']}; {weights}"


def summary(fits: Iterable[dict[str, Any]]) -> str:
    """How often each figure is the least, and how far it is from it."""
    wins, logs = dict.fromkeys(FIGURES, 0.0), {figure: [] for figure in FIGURES}
    for found in fits:
        value = {f: math.inf if found[f] is None else found[f] for f in FIGURES}
        least = min(value.values())
        if not math.isfinite(least):
            continue
        winners = [figure for figure in FIGURES if value[figure] <= _TIE * least]
        for figure in winners:
            wins[figure] += 1.0 / len(winners)
        for figure in FIGURES:
            logs[figure].append(math.log(value[figure] / least))
    lines = [
        f"{'wins':20}" + "".join(f"{wins[figure]:17.2f}" for figure in FIGURES),
        f"{'ratio':20}" + "".join(f"{np.exp(np.mean(logs[figure])):17.3f}" for figure in FIGURES),
        f"{'largest ratio':20}"
        + "".join(f"{np.exp(np.max(logs[figure])):17.3f}" for figure in FIGURES),
    ]
    return "\n".join(lines)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [*SETS, *SIMULATED]
    parser.add_argument("--only", metavar="SET", action="append", choices=names)
    parser.add_argument("--seed", type=int, action="append", help="default 0, 1, 2")
    parser.add_argument("--test", action="store_true", help="judge by the test files instead")
    add_identifier_options(parser)
    return parser.parse_args()


def main() -> None:
    """Fit what was asked for, print a line for each, and who wins."""
    options = parse()
    settings = {"samples": SAMPLES, "n_jobs": 1, **identifier_settings(options)}
    warm_up(["prediction"])
    judge = "test files" if options.test else "the second half of validation"
    print(f"NMSE % on {judge}, {said(options)}")
    head = "".join(f"{figure:>17}" for figure in FIGURES)
    print(f"{'set':16}{'seed':>4}{head}   chain; weights %", flush=True)
    fits = []
    for name in options.only or [*SETS, *SIMULATED]:
        for seed in options.seed or (0, 1, 2):
            fitted, weighs, judges = parts(name, seed, options.test)
            identifier = Identifier(objective="prediction", seed=seed, progress=False)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                every = identifier.set_params(**settings).fit(fitted).posterior_
                found = figures_of(every, weighs, judges)
            fits.append(found)
            print(row(name, seed, found), flush=True)
    print(summary(fits))


if __name__ == "__main__":
    main()
