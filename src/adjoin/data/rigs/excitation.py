"""Inputs as an engineer would excite a rig: steps, noise of a band, multisines.

Receives a random generator, a number of samples and the sampling time; bands are in hertz and
durations in seconds, so that a record that is sampled faster is one of the same experiment.
"""

from __future__ import annotations

import numpy as np

from adjoin.arrays import Float1D


def multistep(
    rng: np.random.Generator,
    n_samples: int,
    sampling_time: float,
    levels: tuple[float, float],
    holds: tuple[float, float],
) -> Float1D:
    """Random levels between two, each held for a random time between two, in seconds."""
    value: list[float] = []
    while len(value) < n_samples:
        length = max(1, round(rng.uniform(*holds) / sampling_time))
        value += length * [rng.uniform(*levels)]
    return np.array(value[:n_samples])


def filtered_noise(
    rng: np.random.Generator, n_samples: int, sampling_time: float, rms: float, band: float
) -> Float1D:
    """Gaussian noise that is white up to `band` hertz and nothing above it, of mean zero."""
    frequency = np.fft.rfftfreq(n_samples, sampling_time)
    real, imaginary = rng.standard_normal((2, len(frequency)))
    spectrum = real + 1j * imaginary
    spectrum[(frequency > band) | (frequency == 0.0)] = 0.0
    value = np.fft.irfft(spectrum, n_samples)
    return np.asarray(rms * value / np.sqrt(np.mean(value**2)))


def multisine(
    rng: np.random.Generator,
    n_samples: int,
    sampling_time: float,
    rms: float,
    band: tuple[float, float],
    n_lines: int = 30,
) -> tuple[Float1D, Float1D]:
    r"""Sines of one amplitude and random phases, and their slope per second.

    .. math:: u(t) = a \sum_i \sin(2π f_i t + φ_i), \quad a = \mathrm{rms}\,\sqrt{2/n}

    The frequencies :math:`f_i` are spaced by ratios over the band, each moved at random by up to
    half of its distance to the next, so that no two experiments repeat each other.
    """
    time = sampling_time * np.arange(n_samples)
    place = (np.arange(n_lines) + rng.uniform(0.0, 1.0, n_lines)) / n_lines
    omega = 2.0 * np.pi * band[0] * (band[1] / band[0]) ** place
    angle = np.outer(time, omega) + rng.uniform(0.0, 2.0 * np.pi, n_lines)
    amplitude = rms * np.sqrt(2.0 / n_lines)
    return amplitude * np.sin(angle).sum(axis=1), amplitude * np.cos(angle) @ omega
