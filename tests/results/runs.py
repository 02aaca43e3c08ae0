"""Posteriors written by hand, with data to hold them against."""

from __future__ import annotations

from tests.systems import by_hand, simulated

from adjoin import Dataset, Grammar, Model, Posterior

GRAMMAR = Grammar.narx(max_lag=2, max_degree=2)
U, Y = simulated(n=450)
TRAIN, HELD_OUT, TEST = Dataset.from_arrays(U, Y).split(200, 100, 150)
TRUE = ("u(k-1) + y(k-1)", [0.5, 0.6], 0.01)
POOR = ("u(k-2)", [0.3], 0.1)


def lost(data: Dataset = TRAIN) -> Posterior:
    """A posterior whose equation and draws all run away; no fit would give it."""
    wild = made([[("y(k-1)", [3.0], 0.1)] * 4], data)
    limits = wild.run.problem.limits
    vars(wild)["map_model"] = Model(wild.structure(0), (3.0,), 0.3, {}, limits)
    return wild


def made(chains: list, data: Dataset = TRAIN, held_out: Dataset | None = None) -> Posterior:
    """A posterior of these draws, chain by chain."""
    return by_hand(data, [list(chain) for chain in chains], GRAMMAR, held_out=held_out)
