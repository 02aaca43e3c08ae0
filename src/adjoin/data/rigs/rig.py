"""What a simulated rig is: an experiment that can be run, and the sensor that watches it.

Receives an experiment from the modules of this folder; gives measured inputs and output to
``datasets``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.errors import AdjoinError

Experiment = Callable[[np.random.Generator, int, float], tuple[Float2D, Float1D]]
"""Inputs (n, n_inputs) and exact output (n,) of so many samples with this sampling time."""


@dataclass(frozen=True)
class Sensor:
    r"""How an output is measured.

    .. math:: y(k) = x(k) + b + d\,k/n + ε(k), \quad ε(k) = a\,ε(k-1) + \sqrt{1 - a²}\,w(k)

    Parameters
    ----------
    noise : float
        Standard deviation of ε, in the unit of the output.
    offset, drift : float
        b, and d, which is what it drifts by over a record of n samples.
    memory : float
        a; 0 is white noise.
    """

    noise: float
    offset: float = 0.0
    drift: float = 0.0
    memory: float = 0.0

    def noise_at(self, step: float) -> float:
        """Standard deviation of the noise with this sampling time."""
        return self.noise

    def measure(self, rng: np.random.Generator, exact: Float1D, step: float) -> Float1D:
        """The exact output as it is measured."""
        n, a = len(exact), self.memory
        noise = rng.standard_normal(n)
        for k in range(1, n if a else 0):
            noise[k] = a * noise[k - 1] + np.sqrt(1.0 - a**2) * noise[k]
        return np.asarray(exact + self.offset + self.drift * np.arange(n) / n + self.noise * noise)


@dataclass(frozen=True)
class Encoder:
    r"""A rate by counting the lines that an encoder passes from one sample to the next.

    .. math:: y(k) = q\,\frac{[s(k)/q] - [s(k-1)/q]}{T}, \quad s(k) = s(k-1) + T x(k)

    with [·] the nearest whole number; x is the mean rate over the sample before. Two roundings of
    variance q²/12 make noise of standard deviation :math:`q/(T\sqrt6)`, the larger the faster one
    samples; that is where a sample passes many lines, so that the two know nothing of each other.

    Parameters
    ----------
    quantum : float
        q, the way between two lines.
    """

    quantum: float

    def noise_at(self, step: float) -> float:
        """Standard deviation of the noise with this sampling time."""
        return self.quantum / (step * math.sqrt(6.0))

    def measure(self, rng: np.random.Generator, exact: Float1D, step: float) -> Float1D:
        """The exact rate as it is counted."""
        way = rng.uniform() + np.concatenate([[0.0], np.cumsum(exact)]) * step / self.quantum
        return np.asarray(np.diff(np.round(way)) * self.quantum / step)


class Measured(NamedTuple):
    """One record: inputs (n, n_inputs), what is measured (n,), and what there is to measure."""

    inputs: Float2D
    output: Float1D
    exact: Float1D


@dataclass(frozen=True)
class Rig:
    """A rig on which experiments are run.

    Parameters
    ----------
    title : str
        What it is, in a few words.
    units : mapping of str to str
        Of every signal, inputs first, then the output, by name.
    sampling_time : float
        Seconds between two samples as an engineer would choose it.
    experiment : callable
        Runs it; see `Experiment`.
    sensor : Sensor or Encoder
        Of the output.
    oversampling : int
        How many times faster than that it is sampled.
    is_sampled : bool
        Whether the system itself lives in samples, so that it has no other sampling time.
    equation : str or None
        The system, where it is a difference equation.
    """

    title: str
    units: Mapping[str, str]
    sampling_time: float
    experiment: Experiment = field(repr=False)
    sensor: Sensor | Encoder
    oversampling: int = 1
    is_sampled: bool = False
    equation: str | None = None

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs."""
        return tuple(self.units)[:-1]

    @property
    def output(self) -> str:
        """Name of the output."""
        return tuple(self.units)[-1]

    @property
    def step(self) -> float:
        """Seconds between two samples of a record."""
        return self.sampling_time / self.oversampling

    @property
    def noise_sd(self) -> float:
        """Standard deviation of the noise in a record."""
        return self.sensor.noise_at(self.step)

    def oversampled(self, times: int) -> Rig:
        """The same rig, sampled so many times faster than an engineer would."""
        if self.is_sampled and times != 1:
            raise AdjoinError(
                f"the rig ({self.title}) is a difference equation and has one sampling time only;"
                " leave oversampling out"
            )
        return replace(self, oversampling=times)

    def record(self, rng: np.random.Generator, n_samples: int) -> Measured:
        """Run one experiment; what the sensor adds has random numbers of its own."""
        of_experiment, of_sensor = rng.spawn(2)
        inputs, exact = self.experiment(of_experiment, n_samples, self.step)
        return Measured(inputs, self.sensor.measure(of_sensor, exact, self.step), exact)
