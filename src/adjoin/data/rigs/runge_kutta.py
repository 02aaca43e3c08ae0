r"""Runge and Kutta's method of fourth order with fixed steps, for systems with held inputs.

Receives the rate of a state and the inputs of every sample; gives the state at every sample to the
rigs of this folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from adjoin.arrays import Float2D

State = Sequence[float]
Rate = Callable[[State, State], State]
"""dx/dt as a function of the state and of the inputs held over a sample."""


def integrate(
    rate: Rate, state: State, held: Float2D, sampling_time: float, finest: float
) -> Float2D:
    r"""The states x(k) of :math:`\dot x = f(x, u)`, with the inputs u(k) held for a sample.

    .. math:: x ← x + \tfrac h6 (r_1 + 2 r_2 + 2 r_3 + r_4), \quad
        r_1 = f(x), \; r_2 = f(x + \tfrac h2 r_1), \; r_3 = f(x + \tfrac h2 r_2), \;
        r_4 = f(x + h r_3)

    Parameters
    ----------
    rate : callable
        f, from and to plain numbers: of two or three states these are several times as fast as
        arrays.
    state : sequence of float
        x(0).
    held : (n_samples, n_inputs) float64
        u.
    sampling_time : float
        Seconds between two samples.
    finest : float
        No step h is longer; a sample has a whole number of them.

    Returns
    -------
    (n_samples, n_states) float64
        x(k), before u(k) acts.
    """
    n_steps = max(1, math.ceil(sampling_time / finest - 1e-9))
    h = sampling_time / n_steps
    x, found = [float(value) for value in state], []
    for u in held.tolist():
        found.append(x)
        for _ in range(n_steps):
            r1 = rate(x, u)
            r2 = rate(_moved(x, r1, h / 2.0), u)
            r3 = rate(_moved(x, r2, h / 2.0), u)
            r4 = rate(_moved(x, r3, h), u)
            x = [
                value + h / 6.0 * (a + 2.0 * (b + c) + d)
                for value, a, b, c, d in zip(x, r1, r2, r3, r4, strict=True)
            ]
    return np.array(found, dtype=np.float64)


def _moved(x: State, rate: State, h: float) -> list[float]:
    return [value + h * slope for value, slope in zip(x, rate, strict=True)]
