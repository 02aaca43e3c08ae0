"""Runs of several kinds, and pages made of them."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from tests.systems import by_hand, quick, simulated

from adjoin import Dataset, Grammar, Posterior, Prior, distances
from adjoin.data.dataset import Record
from adjoin.data.names import SignalNames
from adjoin.report.page import make_page
from adjoin.results.assessment import assess

UGLY = """<script>alert("x")</script> & 'so' $on$ {{ 7*7 }}"""


FREE_RUNS: dict[str, dict[str, Any]] = {
    "free run": {},
    "own distance": {"distance": distances.Spectrum()},
}


@cache
def run(kind: str) -> Posterior:
    """A small posterior of the named kind."""
    u, y = simulated(n=300)
    if kind == "validated":
        data = Dataset.from_arrays(u, y, sampling_time=0.01, label="a rig")
        train, held_out = data.split(0.7)
        return quick().fit(train, held_out=held_out).posterior_
    if kind == "rich":  # two inputs, functions, four records, a label that asks for trouble
        parts = [
            simulated("y(k) = 0.4*u(k) - 0.2*v(k-1)^2 + 0.3*y(k-1)", n, seed=n, n_inputs=2)
            for n in (80, 120, 60, 90)
        ]
        names = SignalNames(("force", "wind_speed"), "y")
        records = tuple(Record(u, y) for u, y in parts)
        data = Dataset(records, names, label=UGLY)
        found = quick(functions="abs", max_lag=1, prior=Prior(lag_decay=0.5)).fit(data).posterior_
        return found.with_settings(data=(UGLY,))
    if kind == "long names":  # four inputs with units, and more terms than a table shows at once
        names = tuple(f"hydraulic_valve_command_current_of_cylinder_{i}" for i in range(4))
        u = np.random.default_rng(1).standard_normal((300, 4))
        y = np.roll(u[:, 0], 1) + 0.1 * u[:, 1]
        data = Dataset.from_arrays(u, y, names=(*names, "piston_displacement"), sampling_time=0.01)
        pairs = [f"{a}(k-1)*{b}(k-2)" for a in names for b in names]
        terms = [*pairs, *(f"{name}(k-{lag})" for name in names for lag in range(1, 13))]
        theta = 0.1 * np.random.default_rng(0).standard_normal((8, len(terms)))
        draws = [(" + ".join(terms), row.tolist(), 1.0) for row in theta]
        data = replace(data, units=("mA",) * 4 + ("mm",))
        grammar = Grammar.narx(names, "piston_displacement", max_lag=12, max_degree=2)
        return by_hand(data, [draws, draws], grammar)
    if kind == "lone":  # one chain, and offsets
        return quick(chains=1, center=True).fit(u + 300.0, y - 5.0).posterior_
    if kind in FREE_RUNS:
        small = {"samples": 600, "ladder": {"rungs": 4, "descent": 100}}
        return quick(objective="abc", **small, **FREE_RUNS[kind]).fit(u, y).posterior_
    if kind == "prior alone":
        return quick(likelihood_power=0).fit(u, y).posterior_
    grammar = Grammar.narx(max_lag=2, max_degree=2)
    if kind == "empty":
        rng = np.random.default_rng(0)
        data = Dataset.from_arrays(*rng.standard_normal((2, 100)))
        return by_hand(data, [[("0", [], 1.0)] * 8] * 2, grammar)
    assert kind == "diverging"
    return by_hand(Dataset.from_arrays(u, y), [[("y(k-1)^2", [50.0], 1.0)] * 8] * 2, grammar)


KINDS = ("validated", "rich", "lone", "prior alone", "empty", "diverging", "free run")


@cache
def page(kind: str) -> str:
    """The page of a run."""
    return make_page(assess(run(kind), draws=30))
