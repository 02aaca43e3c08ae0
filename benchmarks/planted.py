"""Planted systems: whether the truth is found, and whether a mass means what it says.

``delays``: dead times from 5 to 40 samples (a pure delay; a delay and a first-order lag; a delay in
a product), 1,000 samples with 10 % noise that is fed back, ``max_lag=50``: how often the truth has
the largest mass, and how often something else is called good.

``alphabet``: 20 inputs, 50 lags, degree 2, that is 574,000 terms; six of them, 2,000 samples, 10 %
noise: in how many of the seeds they are found, and the largest tables.

``masses``: random sparse systems (2 to 5 terms from the prior, 300 samples, 10 to 30 dB, noise fed
back): of all structures with a mass, how many are true and how many should be, by size of mass,
with the z-score of the difference.

All with ``samples="auto"`` and otherwise default settings.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from adjoin import Dataset, Grammar, Identifier, Model, Posterior, Prior, Structure
from adjoin.results.assessment import assess

DELAYS = (5, 10, 15, 20, 25, 30, 40)
KINDS: dict[str, tuple[str, Callable[[int], str]]] = {
    "pure delay": ("u(k-{d})", lambda d: f"y(k) = 0.8*u(k-{d})"),
    "delay and lag": ("u(k-{d}) + y(k-1)", lambda d: f"y(k) = 0.5*u(k-{d}) + 0.7*y(k-1)"),
    "in a product": (
        "u(k-1) + u(k-1)*u(k-{d})",
        lambda d: f"y(k) = 0.5*u(k-1) + 0.6*u(k-1)*u(k-{d})",
    ),
}
EDGES = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95, 1.0)


def simulate(model: Model, u: np.ndarray, noise_share: float, rng: np.random.Generator) -> Dataset:
    """A response with noise that is fed back, a share of the response's standard deviation."""
    clean = model.simulate(u)
    sd = noise_share * float(np.std(clean))
    noisy = Model(model.structure, model.theta, sd)
    y = noisy.simulate(u, noise=sd * rng.standard_normal(len(u)))
    return Dataset.from_arrays(u, y, names=(*model.names.inputs, model.names.output))


def fit(data: Dataset, seed: int, **settings: object) -> Posterior:
    """A fit by itself, in one thread."""
    identifier = Identifier(samples="auto", seed=seed, progress=False, n_jobs=1, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return identifier.fit(data).posterior_


def run_delays(n_seeds: int) -> None:
    """Dead times."""
    print(
        f"{'kind':16}{'delay':>6}{'on top':>9}{'wrong, called good':>20}{'stages':>9}{'CPU s':>8}"
    )
    for kind, (structure, equation) in KINDS.items():
        for delay in DELAYS:
            truth = Structure.parse(structure.format(d=delay))
            n_found, n_fooled, n_stages, begin = 0, 0, 0, time.process_time()
            for seed in range(n_seeds):
                rng = np.random.default_rng([delay, seed])
                model = Model.parse(equation(delay))
                data = simulate(model, rng.standard_normal(1_000), 0.1, rng)
                posterior = fit(data, seed, max_lag=50)
                is_found = posterior.structure(0) == truth
                n_found += is_found
                n_fooled += not is_found and assess(posterior, draws=20).verdict.level == "good"
                n_stages += len(posterior.settings.stages)
            spent = (time.process_time() - begin) / n_seeds
            print(
                f"{kind:16}{delay:6}{n_found:6} of {n_seeds}{n_fooled:17}"
                f"{n_stages / n_seeds:12.1f}{spent:8.1f}",
                flush=True,
            )


def run_alphabet(n_seeds: int) -> None:
    """A large alphabet."""
    inputs = tuple(f"u{i}" for i in range(20))
    terms = ("u3(k-17)", "u7(k-2)*u11(k-31)", "u0(k-44)^2", "u15(k-8)", "u19(k-25)*u4(k)", "y(k-1)")
    value = (0.8, 0.6, 0.4, -0.7, 0.5, 0.5)
    right = " + ".join(f"{v}*{t}" for v, t in zip(value, terms, strict=True))
    grammar = Grammar.narx(inputs=inputs, max_lag=50, max_degree=2)
    model = Model.parse(f"y(k) = {right}", inputs=",".join(inputs))
    print(f"{grammar.alphabet.n_terms:,} terms")
    n_found = 0
    for seed in range(n_seeds):
        rng = np.random.default_rng([99, seed])
        data = simulate(model, rng.standard_normal((2_000, 20)), 0.1, rng)
        begin = time.process_time()
        posterior = fit(data, seed, grammar=grammar, max_lag=50, max_degree=2)
        n_found += posterior.structure(0) == model.structure
        print(
            f"seed {seed}: {'found' if posterior.structure(0) == model.structure else 'missed'},"
            f" {len(posterior.settings.stages)} stages, {time.process_time() - begin:.0f} s",
            flush=True,
        )
    print(f"found in {n_found} of {n_seeds}")


def draw_system(grammar: Grammar, prior: Prior, rng: np.random.Generator) -> Dataset | None:
    """A system from the prior and its data; None where it is too large or runs away."""
    (model,) = prior.draw(grammar, 1, seed=int(rng.integers(2**31)))
    if not 2 <= len(model.structure) <= 5:
        return None
    u, decibels = rng.standard_normal(300), rng.uniform(10.0, 30.0)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of those that run away there are many
        clean = model.simulate(u)
        sd = float(np.std(clean[50:])) * 10.0 ** (-decibels / 20.0)
        if not (np.isfinite(clean).all() and 1e-3 < np.std(clean) < 1e3):
            return None
        noisy = Model(model.structure, model.theta, sd)
        y = noisy.simulate(u, noise=sd * rng.standard_normal(300))
    if not (np.isfinite(y).all() and np.abs(y).max() < 1e3):
        return None
    return Dataset.from_arrays(u, y, label=str(model.structure))


def run_masses(n_systems: int) -> None:
    """What masses mean."""
    prior = Prior(units="raw")
    grammar = Grammar.narx(max_lag=5, max_degree=3)
    rng, mass, is_true, n_done = np.random.default_rng(7), [], [], 0
    while n_done < n_systems:
        data = draw_system(grammar, prior, rng)
        if data is None:
            continue
        posterior = fit(data, n_done, grammar=grammar, max_lag=5, max_degree=3, prior=prior)
        frame = posterior.structures[posterior.structures["mass"] >= EDGES[0]]
        mass += frame["mass"].tolist()
        is_true += [text == data.label for text in frame["structure"]]
        n_done += 1
    said, true = np.array(mass), np.array(is_true)
    print(f"{n_systems} systems\n{'mass':>14}{'structures':>12}{'should':>9}{'true':>6}{'z':>7}")
    for low, high in pairwise(EDGES):
        inside = (said >= low) & ((said < high) | (high == 1.0))
        should, spread = said[inside].sum(), np.sqrt((said * (1.0 - said))[inside].sum())
        z = (true[inside].sum() - should) / spread if spread else 0.0
        print(f"{low:6g} to {high:<5g}{inside.sum():11}{should:9.1f}{true[inside].sum():6}{z:7.2f}")
    spread = np.sqrt((said * (1.0 - said)).sum())
    z = (true.sum() - said.sum()) / spread
    print(f"{'all':>14}{len(said):12}{said.sum():9.1f}{true.sum():6}{z:7.2f}")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("delays", "alphabet", "masses"))
    parser.add_argument("--number", type=int, help="of seeds or systems")
    options = parser.parse_args()
    default = {"delays": 8, "alphabet": 10, "masses": 200}[options.what]
    runs = {"delays": run_delays, "alphabet": run_alphabet, "masses": run_masses}
    runs[options.what](options.number or default)


if __name__ == "__main__":
    main()
