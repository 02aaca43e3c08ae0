r"""Rigs in which something flows: cascaded tanks, a pneumatic cylinder, a heater.

Each experiment receives a random generator, a number of samples and the sampling time, and gives
the inputs and the exact output; ``catalogue`` puts sensors on them.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.rigs.excitation import filtered_noise, multistep
from adjoin.data.rigs.runge_kutta import State, integrate


def tanks(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""Two tanks, one above the other, and a pump: its voltage in V, the lower level in mm.

    .. math::
        \dot h_1 = k_p V - k_1 \sqrt{h_1}, \qquad \dot h_2 = k_2 \sqrt{h_1} - k_3 \sqrt{h_2} + o

    with k_p = 1.3 mm/s per V, k₁ = k₂ = 0.47 and k₃ = 0.45 √mm/s. Tanks are 100 mm high: what is
    above flows over, 40 % of it from the upper tank into the lower one (o). The voltage has steps
    between 0.5 and 4.5 V, held for 40 to 200 s, with a slow wobble of 0.2 V rms.
    """
    pump, upper, lower, height, caught = 1.3, 0.47, 0.45, 100.0, 0.4
    n_settle = math.ceil(400.0 / step)
    voltage = multistep(rng, n_settle + n, step, (0.5, 4.5), (40.0, 200.0))
    voltage += filtered_noise(rng, n_settle + n, step, 0.2, 0.03)
    voltage = np.clip(voltage, 0.0, 10.0)[:, None]

    def rate(state: State, held: State) -> State:
        first, second = state
        between = upper * math.sqrt(max(first, 0.0))
        rise, over = pump * held[0] - between, 0.0
        if first >= height and rise > 0.0:
            rise, over = 0.0, caught * rise
        into = between + over - lower * math.sqrt(max(second, 0.0))
        return rise, 0.0 if second >= height and into > 0.0 else into

    state = integrate(rate, (30.0, 30.0), voltage, step, 0.5)
    return voltage[n_settle:], np.clip(state[n_settle:, 1], 0.0, height)


def valve(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A pneumatic cylinder against a spring, behind a valve with a dead zone: V, and mm.

    .. math::
        τ \dot p = g\,d(V) - p, \qquad m \ddot x + c \dot x + k x = A p, \qquad
        d(V) = \max(V - 1.0, 0) + \min(V + 0.7, 0)

    with τ = 0.1 s, g = 1 bar/V, m = 5 kg, c = 200 Ns/m, k = 4 kN/m and a piston of A = 5 cm². The
    voltage has steps of up to 4 V either way, held for 0.3 to 1.5 s: a fifth of the time the spool
    covers its ports.
    """
    lag, gain, mass, damping, stiffness, area = 0.1, 1e5, 5.0, 200.0, 4e3, 5e-4
    n_settle = math.ceil(3.0 / step)
    voltage = multistep(rng, n_settle + n, step, (-4.0, 4.0), (0.3, 1.5))[:, None]

    def rate(state: State, held: State) -> State:
        pressure, x, v = state
        opening = max(held[0] - 1.0, 0.0) + min(held[0] + 0.7, 0.0)
        return (
            (gain * opening - pressure) / lag,
            v,
            (area * pressure - damping * v - stiffness * x) / mass,
        )

    state = integrate(rate, (0.0, 0.0, 0.0), voltage, step, 1e-2)
    return voltage[n_settle:], 1e3 * state[n_settle:, 1]


def heater(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A heater at the start of a pipe: its power in W, the temperature at the end in °C.

    .. math:: τ_1 \dot T = T_a - T + K P(t - t_d), \qquad τ_2 \dot T_m = T - T_m

    with τ₁ = 40 s, K = 0.12 K/W, surroundings of T_a = 21.5 °C, a thermometer of τ₂ = 8 s, and
    t_d = 30 s, which the water takes through the pipe: 15 samples. The power has steps between 0
    and 500 W, held for 30 to 150 s.
    """
    slow, fast, gain, around, delay = 40.0, 8.0, 0.12, 21.5, 30.0
    n_delay, n_settle = round(delay / step), math.ceil(300.0 / step)
    power = multistep(rng, n_settle + n, step, (0.0, 500.0), (30.0, 150.0))
    arriving = np.concatenate([np.zeros(n_delay), power])[: len(power)]

    def rate(state: State, held: State) -> State:
        water, shown = state
        return (around - water + gain * held[0]) / slow, (water - shown) / fast

    state = integrate(rate, (around, around), arriving[:, None], step, 1.0)
    return power[n_settle:, None], state[n_settle:, 1]
