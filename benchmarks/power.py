"""Rules for the power of the likelihood: whether intervals hold the truth, and at what price.

``python benchmarks/power.py`` makes records with white, AR(1) and MA(1) noise under white, slow and
alternating inputs, fits the true terms by least squares, and counts how often the interval of each
coefficient, ``1.96·sd/√w``, holds the true one. For each rule it prints the mean power and the
least and the largest coverage among the coefficients, and at the end the least of all cases. Rules:

- *one*: w = 1;
- *residuals*: 1/τ, the integrated autocorrelation time of the residuals;
- *directions*: 1/mean τ over orthogonal directions, from the products of residual and regressor;
- *products*: 1/max τ_j over the coefficients, from the same products;
- *package*: what ``likelihood_power="auto"`` does, 1/max τ_j from the product of correlations.

``--structures`` fits with each power instead, and prints how many true and false terms are found.
"""

from __future__ import annotations

import argparse
import itertools

import numpy as np
from scipy.signal import lfilter

from adjoin import Dataset, Grammar, Identifier, Model
from adjoin.inference.autocorrelation import autocorrelation, integrated_time, sum_of_correlations
from adjoin.results.collection import Collection
from adjoin.results.power import dependence, estimate_power

NOISE = {
    "white": ([1.0], [1.0]),
    **{f"AR(1) {a}": ([1.0], [1.0, -a]) for a in (0.5, 0.8, 0.95, -0.8)},
    **{f"MA(1) {c}": ([1.0, c], [1.0]) for c in (0.8, -0.8)},
}
INPUT = {"white": 0.0, "slow": 0.9, "alternating": -0.8}
TERMS = {
    "FIR": "u(k) + u(k-1) + u(k-2)",
    "even": "u(k) + u(k)^2 + u(k)^3 + u(k)*u(k-1) + u(k-2)",
    "many": "u(k) + u(k)^2 + u(k)^3 + u(k)*u(k-1) + u(k)*u(k-2) + u(k-1) + u(k-1)^2 + u(k-1)^3"
    " + u(k-1)*u(k-2) + u(k-2) + u(k-2)^2 + u(k-2)^3",
}
GRAMMAR = Grammar.volterra(max_lag=2, max_degree=3)
RULES = ("one", "residuals", "directions", "products", "package")


def filtered(b: list[float], a: list[float], n: int, rng: np.random.Generator) -> np.ndarray:
    """White noise through a filter, of unit variance."""
    series = np.asarray(lfilter(b, a, rng.standard_normal(n + 300)))[300:]
    return series / series.std()


def powers(posterior: Collection) -> dict[str, float]:
    """The power by each rule."""
    columns = posterior.run.problem.rows.design(posterior.map_model.structure)
    (left,) = posterior.residuals()
    basis = np.linalg.qr(columns)[0] * left[:, None]
    pooled = np.sum([autocorrelation([c], False) * (c @ c) for c in basis.T], axis=0)
    products = np.linalg.pinv(columns) * left
    return {
        "one": 1.0,
        "residuals": 1.0 / integrated_time([left]),
        "directions": 1.0 / sum_of_correlations(pooled / pooled[0], len(left)),
        "products": 1.0
        / max(sum_of_correlations(autocorrelation([p], False), len(left)) for p in products),
        "package": estimate_power(dependence(posterior), 1).power,
    }


def known(data: Dataset, terms: str) -> Collection:
    """The posterior of the true structure."""
    from tests.systems import by_hand

    n_terms = terms.count(" + ") + 1
    return by_hand(data, [[(terms, [1.0] * n_terms, 1e-9)]], GRAMMAR)


def coverage(n: int, runs: int) -> None:
    """Print powers and coverage, case by case."""
    worst = dict.fromkeys(RULES, 1.0)
    for (noise, filters), (name, slow), (kind, terms) in itertools.product(
        NOISE.items(), INPUT.items(), TERMS.items()
    ):
        n_terms = terms.count(" + ") + 1
        inside = {rule: np.zeros(n_terms) for rule in RULES}
        mean = dict.fromkeys(RULES, 0.0)
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            u = filtered([1.0], [1.0, -slow], n, rng)
            y = Model.parse("y(k) = " + terms).simulate(u) + filtered(*filters, n, rng)
            posterior = known(Dataset.from_arrays(u, y), terms)
            columns = posterior.run.problem.rows.design(posterior.map_model.structure)
            (left,) = posterior.residuals()
            theta = np.array(list(posterior.map_model.coefficients.values()))
            variance = left @ left / (len(left) - n_terms)
            sd = np.sqrt(variance * np.diag(np.linalg.inv(columns.T @ columns)))
            for rule, power in powers(posterior).items():
                inside[rule] += np.abs(theta - 1.0) < 1.96 * sd / np.sqrt(power)
                mean[rule] += power / runs
        shown = []
        for rule in RULES:
            share = inside[rule] / runs
            worst[rule] = min(worst[rule], share.min())
            shown.append(f"{rule} {mean[rule]:.2f} {share.min():.0%}-{share.max():.0%}")
        print(f"n={n} {noise:11} {name:11} {kind:5} {'  '.join(shown)}", flush=True)
    print(f"n={n} least: " + "  ".join(f"{rule} {share:.0%}" for rule, share in worst.items()))


def structures(n: int, runs: int) -> None:
    """Print how many of two true terms are found, and how many false ones beside them."""
    truth = ("u(k-1)", "u(k-2)")
    grammar = Grammar.volterra(max_lag=3, max_degree=2)
    for (noise, filters), slow in itertools.product(NOISE.items(), (0.0, 0.9)):
        found = {rule: np.zeros(3) for rule in RULES}
        for seed in range(runs):
            rng = np.random.default_rng(seed)
            u = filtered([1.0], [1.0, -slow], n, rng)
            noiseless = Model.parse("y(k) = 0.5*u(k-1) + 0.2*u(k-2)").simulate(u)
            y = noiseless + 0.5 * filtered(*filters, n, rng)
            settings = {"grammar": grammar, "max_lag": 3, "max_degree": 2, "samples": 3000}
            settings |= {"chains": 2, "seed": seed, "progress": False}
            first = Identifier(**settings).fit(u, y).posterior_
            for rule, power in powers(first).items():
                terms = Identifier(**settings, likelihood_power=power).fit(u, y).posterior_.terms
                is_true = terms["term"].isin(truth)
                shares = (terms["inclusion"][is_true].sum(), terms["inclusion"][~is_true].sum())
                found[rule] += np.array([power, *shares]) / runs
        text = "  ".join(f"{rule} {w:.2f} {t:.2f}/{f:.2f}" for rule, (w, t, f) in found.items())
        print(f"n={n} {noise:11} input {slow:g}: {text}", flush=True)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--structures", action="store_true")
    parser.add_argument("--samples", type=int, nargs="+", default=[300, 2000])
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    for n in arguments.samples:
        (structures if arguments.structures else coverage)(n, arguments.runs)


if __name__ == "__main__":
    main()
