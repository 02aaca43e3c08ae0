"""Clean simulated experiments, and faults planted in them, for the tests of `check_data`."""

from __future__ import annotations

import numpy as np
from scipy.signal import lfilter

from adjoin import Dataset

N = 1500
KINDS = ("arx", "duffing", "volterra")


def noisy(rng: np.random.Generator, y: np.ndarray, decibels: float) -> np.ndarray:
    return y + y.std() * 10 ** (-decibels / 20) * rng.normal(size=len(y))


def excite(rng: np.random.Generator, n: int) -> np.ndarray:
    """White Gaussian, white uniform, or coloured noise."""
    kind = rng.integers(3)
    if kind == 0:
        return rng.normal(size=n)
    if kind == 1:
        return rng.uniform(-1.5, 1.5, n)
    return lfilter([1.0], [1.0, -0.6], rng.normal(size=n))


def duffing(u: np.ndarray, step: float = 0.42, substeps: int = 8) -> np.ndarray:
    """y'' + 0.3 y' + y + 0.5 y^3 = u, about 15 samples per period, by small steps."""
    h, x, v, out = step / substeps, 0.0, 0.0, []
    for force in u.tolist():
        out.append(x)
        for _ in range(substeps):
            v += h * (force - 0.3 * v - x - 0.5 * x**3)
            x += h * v
    return np.array(out)


def respond(kind: str, u: np.ndarray) -> np.ndarray:
    """The output of a system, without noise."""
    if kind == "arx":
        return lfilter([0.0, 1.0, 0.5], [1.0, -1.5, 0.7], u)
    if kind == "duffing":
        return duffing(u)
    one, two, three = (np.concatenate([np.zeros(d), u[:-d]]) for d in (1, 2, 3))
    return one + 0.6 * two + 0.3 * three + 0.4 * one * two + 0.2 * one**2 - 0.1 * two**3


def clean(kind: str, seed: int, n: int = N) -> tuple[np.ndarray, np.ndarray, np.random.Generator]:
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    u = excite(rng, n)
    return u, noisy(rng, respond(kind, u), rng.uniform(20, 40)), rng


def offset(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    return Dataset.from_arrays(u, y + 4.0 * y.std())


def oversampled(kind: str, seed: int) -> Dataset:
    """Five times as many samples of the same motion with noise of the sensor, or rows repeated."""
    rng = np.random.default_rng([seed, 7])
    u = np.repeat(excite(rng, N // 2), 5)
    if kind == "volterra":  # it has no motion between samples: a logger that is too fast
        y = np.repeat(noisy(rng, respond(kind, u[::5]), rng.uniform(20, 40)), 5)
        return Dataset.from_arrays(u, y)
    slower = np.roots([1.0, -1.5, 0.7]) ** 0.2
    y = duffing(u, 0.42 / 5, 2) if kind == "duffing" else lfilter([0.0, 1.0], np.poly(slower), u)
    return Dataset.from_arrays(u, noisy(rng, y, rng.uniform(20, 40)))


def saturated(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    low, high = np.quantile(y, [0.05, 0.95])
    return Dataset.from_arrays(u, np.clip(y, low, high))


def swapped(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    return Dataset.from_arrays(y, u)


def leaking(kind: str, seed: int) -> Dataset:
    u, y, rng = clean(kind, seed)
    lag = int(rng.integers(-3, 4))
    copy = 2.5 * np.roll(y, lag) + 1.0
    part = slice(5, -5)
    return Dataset.from_arrays(np.column_stack([u, copy])[part], y[part])


def spiky(kind: str, seed: int) -> Dataset:
    u, y, rng = clean(kind, seed)
    y = y.copy()
    y[rng.choice(len(y), 4, replace=False)] += 12.0 * y.std()
    return Dataset.from_arrays(u, y)


def drifting(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    return Dataset.from_arrays(u, y + np.linspace(-2.5, 2.5, len(y)) * y.std())


def quantised(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    step = 0.3 * y.std()
    return Dataset.from_arrays(u, np.round(y / step) * step)


def stuck(kind: str, seed: int) -> Dataset:
    u, y, rng = clean(kind, seed)
    y, start = y.copy(), int(rng.integers(100, len(y) - 200))
    y[start : start + 60] = y[start]
    return Dataset.from_arrays(u, y)


def delayed(kind: str, seed: int) -> Dataset:
    u, y, _ = clean(kind, seed)
    return Dataset.from_arrays(u[15:], y[:-15])


def controlled(kind: str, seed: int) -> Dataset:
    """A linear plant with noise of its own, whose input a controller makes from the output."""
    rng = np.random.default_rng([seed, 9])
    wish, shock = rng.normal(size=N), 0.5 * rng.normal(size=N)
    u, y = np.zeros(N), np.zeros(N)
    for k in range(1, N):
        y[k] = 0.8 * y[k - 1] + 0.5 * u[k - 1] + shock[k]
        u[k] = 0.5 * wish[k] - 0.6 * y[k - 1]
    return Dataset.from_arrays(u, y)


def collinear(kind: str, seed: int) -> Dataset:
    u, y, rng = clean(kind, seed)
    other = 3.0 * u + 0.05 * u.std() * rng.normal(size=len(u))
    return Dataset.from_arrays(np.column_stack([u, other]), y)


PLANTED = {
    "offset": offset,
    "oversampling": oversampled,
    "saturation": saturated,
    "swapped": swapped,
    "leak": leaking,
    "outliers": spiky,
    "drift": drifting,
    "quantised": quantised,
    "stuck": stuck,
    "feedback": controlled,
    "collinear": collinear,
    "delay": delayed,
}
