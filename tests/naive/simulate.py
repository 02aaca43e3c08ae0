"""Free run and prediction by the formula, sample by sample, in plain Python.

The order of the additions is part of the truth: first the terms without fed-back atoms, then those
with 1, 2, … of them, and within each those without known atoms before the others; so the compiled
kernels must agree to the last bit.
"""

from __future__ import annotations

import math

from adjoin.grammar import Atom, Structure

FUNCTIONS = {
    "": lambda x: x,
    "abs": abs,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sign": lambda x: float((x > 0) - (x < 0)),
    "exp": lambda x: math.exp(x) if x < 709 else math.inf,
    "sqrtabs": lambda x: math.sqrt(abs(x)),
    "pos": lambda x: max(x, 0.0),
}

SLOPES = {
    "": lambda x: 1.0,
    "abs": lambda x: float((x > 0) - (x < 0)),
    "sin": math.cos,
    "cos": lambda x: -math.sin(x),
    "tanh": lambda x: 1.0 - math.tanh(x) ** 2,
    "sign": lambda x: 0.0,
    "exp": FUNCTIONS["exp"],
    "sqrtabs": lambda x: math.copysign(0.5 / math.sqrt(abs(x)), x) if x != 0 else 0.0,
    "pos": lambda x: float(x > 0),
}

Series = dict[str, list[float]]


def apply(functions, word: str, x: float) -> float:
    """A function, or its slope, at x less the knot that its word has, as ``pos[0.25]`` does."""
    name, _, knot = word.rstrip("]").partition("[")
    return functions[name](x - float(knot or 0.0))


def evaluate(
    structure: Structure, theta, series: Series, k: int, fed_back: str, noise: float = 0.0
) -> float:
    """f(k) + noise, with the values of every signal taken from `series`."""

    def value(atom: Atom) -> float:
        return apply(FUNCTIONS, atom.function, series[atom.signal][k - atom.lag])

    pairs = list(zip(structure, theta, strict=True))
    driven = 0.0
    for term, coefficient in pairs:
        if all(atom.signal != fed_back for atom in term):
            product = coefficient
            for atom in term:
                product *= value(atom)
            driven += product
    total = driven + noise
    for degree in range(1, structure.max_degree + 1):
        for is_mixed in (False, True):
            for term, coefficient in pairs:
                back = [atom for atom in term if atom.signal == fed_back]
                known = [atom for atom in term if atom.signal != fed_back]
                if len(back) != degree or bool(known) != is_mixed:
                    continue
                product = coefficient
                for atom in known + back:
                    product *= value(atom)
                total += product
    return total


WIDEST = (-1e100, 1e100)


def free_run(
    structure: Structure, theta, inputs: Series, seeds, n: int, noise=None, bounds=WIDEST
) -> list[float]:
    """Simulate one record from the model's own outputs; a value out of bounds is the last one."""
    names = structure.names
    noise = list(noise) if noise is not None else [0.0] * n
    series = {**inputs, names.output: list(seeds), names.noise: noise}
    for k in range(len(seeds), n):
        value = evaluate(structure, theta, series, k, names.output, noise[k])
        series[names.output].append(value)
        if not bounds[0] <= value <= bounds[1]:
            break
    return series[names.output]


def one_step(structure: Structure, theta, inputs: Series, y) -> tuple[list[float], list[float]]:
    """Predict one record from measured outputs; also the residuals that stand for the noise."""
    names = structure.names
    first = structure.max_lag
    series = {**inputs, names.output: list(y), names.noise: [0.0] * first}
    predicted = list(y[:first])
    for k in range(first, len(y)):
        predicted.append(evaluate(structure, theta, series, k, names.noise))
        series[names.noise].append(y[k] - predicted[k])
    return predicted, series[names.noise]


def steps_ahead(
    structure: Structure, theta, inputs: Series, y, steps: int, noise=None, bounds=WIDEST
) -> list[float]:
    """Predict every sample by a free run of `steps` samples from its own origin, with noise.

    NaN where that run leaves its bounds, on the way or at its end.
    """
    names = structure.names
    noise = list(noise) if noise is not None else [0.0] * len(y)
    first = structure.max_lag
    _, residual = one_step(structure, theta, inputs, y)
    predicted = list(y[:first])
    for k in range(first, len(y)):
        origin = max(first, k - steps + 1)
        past = {
            **inputs,
            names.output: list(y[:origin]),
            names.noise: residual[:origin] + noise[origin:],
        }
        for j in range(origin, k + 1):
            value = evaluate(structure, theta, past, j, names.output, noise[j])
            past[names.output].append(value)
        run = past[names.output][origin:]
        is_lost = any(not bounds[0] <= value <= bounds[1] for value in run)
        predicted.append(math.nan if is_lost else run[-1])
    return predicted
