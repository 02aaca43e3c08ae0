"""The twelve rigs by name: units, sampling time and sensor of each.

Receives the experiments of this folder; gives ``datasets`` the rigs. Noise is about 1 to 3 % of the
standard deviation of an output: 0.01 to 0.1 % of its variance.
"""

from __future__ import annotations

import math

from adjoin.data.rigs import mechanics, processes, series
from adjoin.data.rigs.rig import Encoder, Rig, Sensor

CATALOGUE: dict[str, Rig] = {
    "duffing": Rig(
        "forced Duffing oscillator, sampled five times too fast, with sensor offset and drift",
        {"force": "N", "displacement": "mm"},
        0.01,
        mechanics.duffing,
        Sensor(noise=0.1, offset=2.5, drift=0.4),
        oversampling=5,
    ),
    "tanks": Rig(
        "two cascaded tanks that may overflow",
        {"pump_voltage": "V", "level": "mm"},
        4.0,
        processes.tanks,
        Sensor(noise=0.4),
    ),
    "motor": Rig(
        "DC motor with Coulomb friction, speed by an encoder",
        {"voltage": "V", "speed": "rad/s"},
        0.01,
        mechanics.motor,
        Encoder(quantum=2.0 * math.pi / 1024),
    ),
    "valve": Rig(
        "pneumatic cylinder behind a valve with a dead zone",
        {"valve_voltage": "V", "position": "mm"},
        0.04,
        processes.valve,
        Sensor(noise=0.2, offset=75.0),
    ),
    "heater": Rig(
        "heater with a transport delay of 15 samples",
        {"power": "W", "temperature": "°C"},
        2.0,
        processes.heater,
        Sensor(noise=0.15),
    ),
    "damper": Rig(
        "magnetorheological damper with hysteresis",
        {"displacement": "mm", "velocity": "mm/s", "coil_voltage": "V", "force": "N"},
        0.01,
        mechanics.damper,
        Sensor(noise=8.0),
    ),
    "volterra": Rig(
        "loudspeaker as a second-order Volterra series",
        {"voltage": "V", "pressure": "Pa"},
        1e-3,
        series.volterra,
        Sensor(noise=5e-3),
        is_sampled=True,
    ),
    "bilinear": Rig(
        "stirred tank cooled by a stream, a bilinear system",
        {"flow": "l/min", "temperature": "°C"},
        5.0,
        series.bilinear,
        Sensor(noise=0.15),
        is_sampled=True,
        equation="temperature(k) = 8 + 0.9*temperature(k-1) + 0.3*flow(k-1)"
        " - 0.02*flow(k-1)*temperature(k-1)",
    ),
    "linear": Rig(
        "amplifier with a coil, a linear system of second order",
        {"voltage": "V", "current": "mA"},
        0.01,
        series.linear,
        Sensor(noise=0.3),
        is_sampled=True,
        equation="current(k) = 0.52 + 1.6*current(k-1) - 0.73*current(k-2)"
        " + 12*voltage(k-1) + 8*voltage(k-2)",
    ),
    "integrator": Rig(
        "drive without a spring, an integrating system",
        {"voltage": "V", "position": "mm"},
        0.02,
        mechanics.integrator,
        Sensor(noise=0.3),
    ),
    "oscillator": Rig(
        "Van der Pol's oscillator, without an input",
        {"voltage": "V"},
        1e-3,
        mechanics.oscillator,
        Sensor(noise=0.03),
    ),
    "noise": Rig(
        "sensor that is not connected: coloured noise",
        {"shaker_voltage": "V", "acceleration": "m/s²"},
        0.01,
        series.noise,
        Sensor(noise=0.6, offset=9.8, memory=0.5),
        is_sampled=True,
    ),
}
