"""Random models that stay finite: all functions, hinges, constants, many inputs, long lags."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np

from adjoin import Model, Structure
from adjoin.data.names import SignalNames
from adjoin.errors import DivergenceWarning
from adjoin.grammar.functions import FUNCTIONS, hinge_word
from adjoin.grammar.terms import Atom, make_term

WORDS = [name for name in FUNCTIONS if name not in ("", "pos")]
BOUNDED = ("sin", "cos", "tanh", "sign")


class Drawn(NamedTuple):
    """A model and a record to run it on."""

    model: Model
    u: np.ndarray
    y: np.ndarray

    @property
    def rows(self) -> np.ndarray:
        return np.column_stack([self.u, self.y])


def draw_model(rng: np.random.Generator, max_lag: int = 50, noise: bool = False) -> Model:
    """A model whose output is damped and bounded by what it is driven with, most of the time."""
    n_inputs = int(rng.integers(0, 5))
    names = SignalNames(tuple(f"u{i}" for i in range(n_inputs)), "y")
    lag = int(rng.integers(1, max_lag + 1))

    def atom(signal: str, word: str) -> Atom:
        smallest = 0 if signal in names.inputs else 1
        return Atom(signal, int(rng.integers(smallest, lag + 1)), word)

    def word(is_output: bool) -> str:
        kind = int(rng.integers(0, 4))
        if kind == 0:
            return hinge_word(round(float(rng.normal()), 3))
        if kind == 1 and not is_output:
            return str(rng.choice(WORDS))
        return str(rng.choice(BOUNDED)) if is_output or kind == 2 else ""

    terms: dict[tuple[Atom, ...], float] = {(): float(rng.normal())}
    terms[(Atom("y", 1),)] = float(rng.uniform(-0.6, 0.6))
    for _ in range(int(rng.integers(1, 9))):
        atoms = []
        for _ in range(int(rng.integers(1, 4))):
            signal = str(rng.choice([*names.inputs, "y"]))
            atoms.append(atom(signal, word(signal == "y")))
        scale = 0.4 if any(a.signal == "y" for a in atoms) else 1.0
        terms[tuple(atoms)] = float(scale * rng.uniform(-0.4, 0.4))
    if noise:
        terms[(Atom("e", 1), Atom("y", 1))] = 0.1
        terms[(Atom("e", 2),)] = 0.3
    structure = Structure(tuple(terms), names)
    value = {make_term(term, names): theta for term, theta in terms.items()}
    signals = [*names.inputs, "y"]
    offsets = {s: float(rng.normal(0.0, 3.0)) for s in signals if rng.random() < 0.3}
    return Model(structure, [value[term] for term in structure], 0.1, offsets)


def draw_record(model: Model, rng: np.random.Generator, n: int) -> Drawn:
    """Inputs, and an output that is not the model's, about the offsets."""
    names = model.names
    level = [model.offsets.get(name, 0.0) for name in names.inputs]
    u = rng.normal(0.0, 0.7, (n, len(level))) + level
    return Drawn(model, u, rng.normal(0.0, 0.5, n) + model.offsets.get("y", 0.0))


def expected(drawn: Drawn, is_free: bool = True) -> np.ndarray:
    """What Python says, NaN where it is lost."""
    model = drawn.model
    u = drawn.u if model.names.inputs else len(drawn.y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DivergenceWarning)
        if is_free:
            return np.asarray(model.simulate(u, drawn.y[: model.max_lag]))
        return np.asarray(model.predict([drawn.u], [drawn.y])[0])


def draw_many(n: int, n_samples: int, seed: int, max_lag: int = 50) -> tuple[list[Drawn], int]:
    """Models whose runs stay within reason, and how many were drawn in vain."""
    rng = np.random.default_rng(seed)
    found: list[Drawn] = []
    n_lost = 0
    while len(found) < n:
        drawn = draw_record(draw_model(rng, max_lag), rng, n_samples)
        series = expected(drawn)
        if np.isfinite(series).all() and np.abs(series).max() < 1e3:
            found.append(drawn)
        else:
            n_lost += 1
    return found, n_lost
