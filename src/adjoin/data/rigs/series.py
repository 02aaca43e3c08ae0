r"""Rigs that are difference equations: a Volterra series, bilinear, linear; and mere noise.

Each experiment receives a random generator, a number of samples and the sampling time, and gives
the inputs and the exact output; ``catalogue`` puts sensors on them.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.rigs.excitation import filtered_noise, multistep

N_SETTLE = 100
"""Samples until these systems have forgotten how they began."""
BILINEAR = (8.0, 0.9, 0.3, -0.02)
"""a₀ to a₃ of `bilinear`."""
LINEAR = (0.52, 1.6, -0.73, 12.0, 8.0)
"""a₀ to a₄ of `linear`."""


def volterra(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A loudspeaker before a microphone: voltage in V, sound pressure in Pa.

    .. math:: p(k) = \sum_{i=0}^{11} h_i V(k-i) + β \Big(\sum_{i=0}^{11} g_i V(k-i)\Big)^2

    a second-order Volterra series of kernel :math:`β g_i g_j`, with
    :math:`h_i = 0.05 \cdot 0.75^i \cos(0.6i)`, :math:`g_i = 0.6^i` and β = 4 mPa/V². There is no
    feedback in it. V is noise up to 300 Hz with 4 V rms.
    """
    lag = np.arange(12)
    first, second = 0.05 * 0.75**lag * np.cos(0.6 * lag), 0.6**lag
    voltage = filtered_noise(rng, N_SETTLE + n, step, 4.0, 300.0)
    straight, bent = (np.convolve(voltage, kernel)[: N_SETTLE + n] for kernel in (first, second))
    pressure = straight + 4e-3 * bent**2
    return voltage[N_SETTLE:, None], pressure[N_SETTLE:]


def bilinear(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""A stirred tank cooled by a stream: its flow in l/min, the temperature in °C.

    .. math:: T(k) = T(k-1) + 0.1\,(80 - T(k-1)) - 0.02\,q(k-1)\,(T(k-1) - 15)

    With more flow it is colder, and also faster: :math:`T(k) = a_0 + a_1 T(k-1) + a_2 q(k-1) + a_3
    q(k-1) T(k-1)`. The flow has steps between 1 and 12 l/min, held for 5 to 20 samples.
    """
    flow = multistep(rng, N_SETTLE + n, step, (1.0, 12.0), (5.0 * step, 20.0 * step))
    constant, own, direct, product = BILINEAR
    state = [45.0]
    for q in flow[:-1].tolist():
        state.append(constant + own * state[-1] + direct * q + product * q * state[-1])
    return flow[N_SETTLE:, None], np.array(state[N_SETTLE:])


def linear(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    r"""An amplifier with a coil: voltage in V, current in mA, with 4 mA at rest.

    .. math:: I(k) = a_0 + a_1 I(k-1) + a_2 I(k-2) + a_3 V(k-1) + a_4 V(k-2)

    with poles at 0.8 ± 0.3i. The voltage is noise up to 15 Hz (0.15 of the sampling rate) with
    0.1 V rms.
    """
    voltage = filtered_noise(rng, N_SETTLE + n, step, 0.1, 15.0)
    constant, once, twice, last, before = LINEAR
    drive = voltage.tolist()
    state = [4.0, 4.0]
    for k in range(2, len(drive)):
        past = once * state[-1] + twice * state[-2]
        state.append(constant + past + last * drive[k - 1] + before * drive[k - 2])
    return voltage[N_SETTLE:, None], np.array(state[N_SETTLE:])


def noise(rng: np.random.Generator, n: int, step: float) -> tuple[Float2D, Float1D]:
    """A sensor that is not connected: shaker voltage in V, and nothing to measure.

    What the record shows is the noise of the sensor alone, around its offset.
    """
    return filtered_noise(rng, n, step, 2.0, 40.0)[:, None], np.zeros(n)
