r"""An oscillator with sensor offsets: whether default settings centre where centring is best.

A mass on a hardening spring, about 25 samples a period, shaken by a random force:

.. math:: \ddot x + 2ζω \dot x + ω²(x + x³) = ω² F, \qquad ζ = 0.05, \quad ω = 2π/25

F is white up to 1.5 times the natural frequency of small vibrations, of unit variance and held for
a sample; the displacement is measured with white noise of 1 % of its standard deviation. 2,000
samples to learn from, the next 2,000 to be scored on. Then

- *output*: the sensor of the output is off by so many of its standard deviations. Centring undoes
  that, nearly: around the sensor's zero the spring has a quadratic term;
- *both*: so are the sensors of output and input;
- *preload*: no sensor is off, but the force itself has such a mean. Zero is where it seems to be,
  and centring is what brings quadratic terms about.

For every seed three fits, by default settings, ``center=True`` and ``center=False``; of each the
fit index of the MAP model's free run on the test part, in raw units. An index below 0, or a run
that diverges, counts as 0. *Behind* is the better of the two less the default, in percentage
points.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from identifier_options import add_identifier_options, identifier_settings, said

from adjoin import Identifier

N_PART, N_SETTLE, N_STEPS = 2_000, 500, 10
OMEGA, ZETA, BAND = 2.0 * np.pi / 25, 0.05, 1.5 / 25
NOISE = 0.01
VARIANTS = {
    "output": (0.0, 0.1, 0.2, 0.5, 1.0, 3.0),
    "both": (0.2, 1.0),
    "preload": (0.5, 1.0),
}
"""Offsets in standard deviations."""
CENTER: dict[str, dict[str, Any]] = {
    "default": {},
    "centred": {"center": True},
    "raw": {"center": False},
}


def oscillate(seed: int, preload: float) -> tuple[np.ndarray, np.ndarray]:
    """Force and measured displacement."""
    rng = np.random.default_rng(seed)
    n = N_SETTLE + 2 * N_PART
    frequency = np.fft.rfftfreq(n)
    spectrum = rng.standard_normal(len(frequency)) + 1j * rng.standard_normal(len(frequency))
    spectrum[(frequency > BAND) | (frequency == 0.0)] = 0.0
    force = np.fft.irfft(spectrum, n)
    force = force / force.std() + preload
    state, position = np.zeros(2), np.empty(n)
    for k in range(n):
        position[k] = state[0]
        state = advance(state, float(force[k]))
    noisy = position + NOISE * position[N_SETTLE:].std() * rng.standard_normal(n)
    return force[N_SETTLE:], noisy[N_SETTLE:]


def advance(state: np.ndarray, force: float) -> np.ndarray:
    """Displacement and velocity one sample later, by Runge-Kutta steps."""
    h = 1.0 / N_STEPS
    x, v = state.tolist()

    def rate(x: float, v: float) -> float:
        return OMEGA**2 * (force - x - x * x * x) - 2.0 * ZETA * OMEGA * v

    for _ in range(N_STEPS):
        a1 = rate(x, v)
        v2 = v + h / 2 * a1
        a2 = rate(x + h / 2 * v, v2)
        v3 = v + h / 2 * a2
        a3 = rate(x + h / 2 * v2, v3)
        v4 = v + h * a3
        a4 = rate(x + h * v3, v4)
        x += h / 6 * (v + 2 * v2 + 2 * v3 + v4)
        v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return np.array([x, v])


def measured(seed: int, variant: str, offset: float) -> tuple[np.ndarray, np.ndarray]:
    """What the sensors say."""
    u, y = oscillate(seed, offset if variant == "preload" else 0.0)
    if variant != "preload":
        y = y + offset * y.std()
    if variant == "both":
        u = u + offset * u.std()
    return u, y


def fit_indices(seed: int, variant: str, offset: float, changed: dict[str, Any]) -> list[float]:
    """Of the three settings, on the test part."""
    u, y = measured(seed, variant, offset)
    found = []
    for settings in CENTER.values():
        identifier = Identifier(seed=seed, progress=False, **(changed | settings))
        index = identifier.fit(u[:N_PART], y[:N_PART]).score(u[N_PART:], y[N_PART:])
        found.append(index if index > 0.0 else 0.0)  # NaN counts as 0 too
    return found


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10, help="how many records (default 10)")
    parser.add_argument("--each", action="store_true", help="print the indices of every seed")
    add_identifier_options(parser)
    options = parser.parse_args()
    changed = identifier_settings(options)
    print(
        f"oscillator with offsets, {options.seeds} seeds, {said(options)}:"
        " fit index of the free run on test data, %"
    )
    names = "".join(f"{name:>9}" for name in CENTER)
    print(
        f"{'':16}{'mean fit index':^27} | {'behind, points':^28} | {'best':^15} | default is as\n"
        f"{'variant':>8}{'offset':>8}{names} | {'mean':>6}{'worst':>10}{'more than 1':>12} |"
        f"{'centred':>9}{'raw':>7} | centred / raw"
    )
    behind_all = []
    for variant, offsets in VARIANTS.items():
        for offset in offsets:
            table = np.array(
                [fit_indices(seed, variant, offset, changed) for seed in range(options.seeds)]
            )
            default, centred, raw = table.T
            behind = np.maximum(centred, raw) - default
            behind_all.append(behind)
            same = f"{np.sum(default == centred)} / {np.sum(default == raw)}"
            means = "".join(f"{value:9.2f}" for value in table.mean(axis=0))
            print(
                f"{variant:>8}{offset:8.1f}{means} | {behind.mean():6.2f}{behind.max():10.2f}"
                f"{f'{np.sum(behind > 1.0)} of {len(table)}':>12} |"
                f"{np.sum(centred >= raw):9}{np.sum(raw > centred):7} | {same:>13}",
                flush=True,
            )
            for seed, row in enumerate(table if options.each else ()):
                print(f"{seed:16}" + "".join(f"{value:9.2f}" for value in row))
    behind = np.array(behind_all)
    print(
        f"all: behind by {behind.mean():.2f} on average, {behind.max():.2f} at worst;"
        f" more than 1 point in {np.sum(behind > 1.0)} of {behind.size}"
    )


if __name__ == "__main__":
    main()
