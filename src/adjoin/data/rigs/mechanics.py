r"""Rigs that move: a Duffing oscillator, a motor, a damper, a drive; and an electronic oscillator.

Each experiment receives a random generator, a number of samples and the sampling time, and gives
the inputs and the exact output; ``catalogue`` puts sensors on them. Inside, all is in metres,
kilograms and seconds; signals are in the units of the catalogue.
"""

from __future__ import annotations

import math

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.rigs.excitation import filtered_noise, multisine, multistep
from adjoin.data.rigs.runge_kutta import State, integrate

MILLI = 1e-3


def duffing(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A mass on a hardening spring, shaken by a force in N; its displacement in mm.

    .. math:: m \ddot x + c \dot x + k x + k_3 x^3 = F

    with m = 1.2 kg, c = 9 Ns/m, k = 3 kN/m (8 Hz, damping ratio 0.075), and k₃ = 15 MN/m³: at
    10 mm the cubic part is half of the linear one. F is noise up to 15 Hz with 14 N rms.
    """
    mass, damping, stiffness, cubic = 1.2, 9.0, 3.0e3, 1.5e7
    n_settle = math.ceil(2.0 / step)
    force = filtered_noise(rng, n_settle + n, step, 14.0, 15.0)[:, None]

    def rate(state: State, held: State) -> State:
        x, v = state
        return v, (held[0] - damping * v - (stiffness + cubic * x * x) * x) / mass

    state = integrate(rate, (0.0, 0.0), force, step, 2e-3)
    return force[n_settle:], state[n_settle:, 0] / MILLI


def motor(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A motor with dry friction, driven by a voltage in V; its mean speed over a sample in rad/s.

    .. math:: J \dot ω = κ\frac{V - κω}{R} - bω - M_c \tanh(ω/ω_s)

    with J = 2·10⁻⁴ kgm², κ = 0.05 Nm/A, R = 2 Ω, b = 2·10⁻⁵ Nms, ω_s = 1 rad/s. The dry friction
    M_c = 0.04 Nm takes 1.6 V to overcome, and where V stays below it the motor stands still. V has
    steps of up to 8 V either way, held for 0.1 to 0.6 s.
    """
    inertia, constant, resistance, viscous, dry, slip = 2e-4, 0.05, 2.0, 2e-5, 0.04, 1.0
    n_settle = math.ceil(1.0 / step)
    voltage = multistep(rng, n_settle + n + 1, step, (-8.0, 8.0), (0.1, 0.6))[:, None]

    def rate(state: State, held: State) -> State:
        _, speed = state
        drive = constant * (held[0] - constant * speed) / resistance
        return speed, (drive - viscous * speed - dry * math.tanh(speed / slip)) / inertia

    angle = integrate(rate, (0.0, 0.0), voltage, step, 2e-3)[:, 0]
    speed = np.diff(angle, prepend=0.0) / step
    return voltage[n_settle:-1], speed[n_settle:-1]


def damper(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A magnetorheological damper: way in mm, speed in mm/s, coil voltage in V; force in N.

    .. math::
        F = (c_0 + c_1 w)\dot x + k x + (α_0 + α_1 w) z + F_0, \quad
        \dot z = \frac{\dot x}{d}\left(1 - \frac{1 + \mathrm{sign}(\dot x z)}{2} z^2\right), \quad
        \dot w = \frac{V - w}{τ}

    Bouc and Wen's hysteresis z, which grows over d = 0.8 mm of way, and a field w that lags the
    coil by τ = 20 ms; c = 600 + 500 w Ns/m, α = 120 + 350 w N, k = 1.5 kN/m, and the gas presses
    with F₀ = 40 N. The displacement is a multisine from 0.4 to 4 Hz with 8 mm rms, the voltage has
    steps between 0 and 2 V.
    """
    way, lag = 0.8 * MILLI, 0.02
    n_settle = math.ceil(0.5 / step)
    x, v = multisine(rng, n_settle + n, step, 8.0 * MILLI, (0.4, 4.0))
    voltage = multistep(rng, n_settle + n, step, (0.0, 2.0), (0.3, 1.5))

    def rate(state: State, held: State) -> State:
        z, field = state
        speed, coil = held
        kept = z * z if speed * z > 0.0 else 0.0
        return speed / way * (1.0 - kept), (coil - field) / lag

    z, field = integrate(rate, (0.0, 0.0), np.column_stack([v, voltage]), step, 1e-3).T
    force = (600.0 + 500.0 * field) * v + 1.5e3 * x + (120.0 + 350.0 * field) * z + 40.0
    inputs = np.column_stack([x / MILLI, v / MILLI, voltage])
    return inputs[n_settle:], force[n_settle:]


def integrator(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A drive without a spring: voltage in V, position in mm.

    .. math:: \dot x = v, \qquad τ \dot v = K V - v

    with K = 20 mm/s per V and τ = 50 ms: the pole of the position is exactly 1. The voltage is a
    multisine from 0.1 to 4 Hz with 3 V rms, and the axis was homed such that it moves about the
    middle of its stroke, at 120 mm.
    """
    gain, lag, middle = 20.0, 0.05, 120.0
    n_settle = math.ceil(0.5 / step)
    voltage = multisine(rng, n_settle + n, step, 3.0, (0.1, 4.0))[0][:, None]

    def rate(state: State, held: State) -> State:
        _, v = state
        return v, (gain * held[0] - v) / lag

    position = integrate(rate, (0.0, 0.0), voltage, step, 1e-2)[n_settle:, 0]
    return voltage[n_settle:], position - position.mean() + middle


def oscillator(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""Van der Pol's oscillator, which nothing drives; its voltage in V.

    .. math:: \ddot x = ω μ\left(1 - (x/a)^2\right)\dot x - ω^2 x

    with ω = 2π·50 rad/s, μ = 0.8 and a = 1.5 V, so that it swings by 3 V to either side.
    """
    omega, mu, size = 2.0 * math.pi * 50.0, 0.8, 1.5
    n_settle = math.ceil(0.2 / step)
    start = rng.uniform(-1.0, 1.0, 2)

    def rate(state: State, held: State) -> State:
        x, v = state
        return v, omega * (mu * (1.0 - (x / size) ** 2) * v - omega * x)

    none = np.empty((n_settle + n, 0))
    state = integrate(rate, (start[0], omega * start[1]), none, step, 2.5e-4)
    return none[n_settle:], state[n_settle:, 0]
