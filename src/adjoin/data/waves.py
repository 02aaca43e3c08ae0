r"""A synthetic sea and the force it puts on a slender cylinder, with more in it than Morison knows.

A stand-in for the record of the Christchurch Bay Tower, which is not public: nothing here was
measured. The geometry is the tower's small cylinder; sea state, coefficients and noise are chosen.
Receives a random generator from ``datasets``; gives velocity, acceleration and force per length.

The flow is a complex number :math:`U = u + iv`, with u along the mean direction of the waves (the
force sleeve's) and v across it. The force on the sleeve is the real part of

.. math::
    \underbrace{\tfrac12 ρ D C_d\, |U - W| (U - W)}_\text{drag}
    + \underbrace{\tfrac14 π ρ D^2 C_m\, \dot U}_\text{inertia}
    + \underbrace{\tfrac12 ρ D C_l\, i\,|U| U \cos φ}_\text{vortex shedding}

with a wake W and a shedding phase φ that remember the way s the water has gone, :math:`ds = |U|dt`:

.. math:: \frac{dW}{ds} = \frac{αU - W}{λD}, \qquad \frac{dφ}{ds} = \frac{2π\,\mathrm{St}}{D}

With :math:`α = C_l = 0`, waves of one direction, no noise, and the meter at the cylinder, this is
Morison's equation :math:`F = C_d' u|u| + C_m' \dot u`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adjoin.arrays import Float1D, Float2D

Complex1D = np.ndarray[tuple[int], np.dtype[np.complex128]]
Complex2D = np.ndarray[tuple[int, int], np.dtype[np.complex128]]

GRAVITY = 9.80665
"""m/s²"""
DENSITY = 1.025
"""Of sea water, t/m³, so that forces are in kN."""
DIRECTION: Float1D = np.radians(np.arange(-90.0, 91.0, 5.0))
"""Where the components of the sea run to, from the mean direction."""
STEPS = 8
"""Steps of the wake between two samples; twice as many change the force by 2 % of its noise."""
RUN_IN = 100
"""Samples until the wake has forgotten that it began at rest, about ten waves."""


@dataclass(frozen=True)
class Sea:
    """A sea state: waves of a storm in shallow water.

    Parameters
    ----------
    height : float
        Significant wave height H_s, m.
    period : float
        Of the peak of the spectrum, T_p, s.
    depth : float
        Of the water, h, m.
    spreading : float
        s: directions are spread as cos^2s(θ/2); 12 is about 22 degrees to either side.
    """

    height: float = 3.0
    period: float = 6.0
    depth: float = 9.0
    spreading: float = 12.0


@dataclass(frozen=True)
class Rig:
    """The cylinder, what the flow does to it, and how it is measured.

    Parameters
    ----------
    diameter : float
        D, m.
    level : float
        z of force sleeve and velocity meter, m; the mean water level is 0.
    offset : float
        How far the velocity meter stands before the cylinder's axis, against the waves, m.
    drag, inertia : float
        C_d, on the velocity relative to the wake, and C_m.
    deficit : float
        α: a wake fully grown follows the flow with this share of its velocity.
    memory : float
        λ: the way the water goes while the wake forgets all but 1/e, in diameters.
    lift : float
        C_l, amplitude of the force across the flow; where the flow is oblique it leaks into F.
    strouhal : float
        St: pairs of vortices per diameter of way.
    sampling_time : float
        s.
    velocity_noise, force_noise : float
        Standard deviations of the white noise of the two sensors, m/s and kN/m.
    """

    diameter: float = 0.480
    level: float = -3.0
    offset: float = 1.228
    drag: float = 1.5
    inertia: float = 2.0
    deficit: float = 0.7
    memory: float = 2.5
    lift: float = 1.0
    strouhal: float = 0.2
    sampling_time: float = 0.6
    velocity_noise: float = 0.14
    force_noise: float = 0.11

    @property
    def drag_constant(self) -> float:
        """C_d' = ρ D C_d / 2, kN/m per (m/s)²."""
        return 0.5 * DENSITY * self.diameter * self.drag

    @property
    def inertia_constant(self) -> float:
        """C_m' = π ρ D² C_m / 4, kN/m per m/s²."""
        return 0.25 * np.pi * DENSITY * self.diameter**2 * self.inertia


def wavenumber(omega: Float1D, depth: float) -> Float1D:
    r"""Solve the dispersion relation :math:`ω^2 = g k \tanh kh` for k, by Newton's method.

    Parameters
    ----------
    omega : (n,) float64
        Angular frequencies above 0, rad/s.
    depth : float
        h, m.
    """
    deep = omega**2 / GRAVITY
    k = deep / np.sqrt(np.tanh(deep * depth))  # within 5 % everywhere, so few steps are enough
    for _ in range(6):
        t = np.tanh(k * depth)
        k = k - (k * t - deep) / (t + k * depth * (1.0 - t**2))
    return np.asarray(k)


def spectrum(frequency: Float1D, sea: Sea) -> Float1D:
    r"""Pierson and Moskowitz's density of the surface elevation, m²/Hz.

    .. math:: S(f) = \tfrac{5}{16} H_s^2 f_p^4 f^{-5} \exp(-\tfrac54 (f_p/f)^4), \quad f_p = 1/T_p
    """
    ratio = 1.0 / (sea.period * frequency)
    shape = 5.0 * ratio**5 * np.exp(-1.25 * ratio**4)
    return np.asarray(sea.height**2 / 16.0 * sea.period * shape)


def draw_sea(rng: np.random.Generator, frequency: Float1D, sea: Sea) -> Complex2D:
    r"""Random amplitudes a of wave components, m: a Gaussian sea.

    .. math:: \tfrac12\,\mathrm{E}|a_{jm}|^2 = S(f_j)\,Δf\, D(θ_m), \quad
              D(θ) ∝ \cos^{2s}(θ/2), \quad \sum_m D(θ_m) = 1

    Returns
    -------
    (n_frequencies, n_directions) complex128
        For evenly spaced frequencies and the directions `DIRECTION`.
    """
    share = np.cos(DIRECTION / 2.0) ** (2.0 * sea.spreading)
    variance = np.outer(spectrum(frequency, sea) * frequency[0], share / share.sum())
    real, imaginary = rng.standard_normal((2, *variance.shape))
    return np.asarray(np.sqrt(variance) * (real + 1j * imaginary))


def flow(
    amplitude: Complex2D, sea: Sea, level: float, x: float, n_steps: int, step: float
) -> tuple[Complex1D, Complex1D]:
    r"""Velocity U = u + iv, m/s, and its rate, m/s², at the point (x, 0, level), by linear theory.

    .. math:: u(t) = \mathrm{Re} \sum_{jm} ω_j \frac{\cosh k_j(h+z)}{\sinh k_j h} \cosθ_m\,
              a_{jm}\, e^{i(ω_j t - k_j x \cosθ_m)}

    and v with sin θ for the cos θ that is no phase.

    Parameters
    ----------
    amplitude : (n_frequencies, n_directions) complex128
        Of the frequencies 1, 2, … over the duration ``n_steps * step``.
    """
    number = np.arange(1.0, len(amplitude) + 1.0)
    omega = 2.0 * np.pi / (n_steps * step) * number
    k = wavenumber(omega, sea.depth)
    depth_factor = omega * np.cosh(k * (sea.depth + level)) / np.sinh(k * sea.depth)
    there = amplitude * np.exp(-1j * x * np.outer(k, np.cos(DIRECTION)))
    along, across = (depth_factor * (there @ part(DIRECTION)) for part in (np.cos, np.sin))

    def series(component: Complex1D) -> Float1D:
        padded = np.zeros(n_steps // 2 + 1, dtype=np.complex128)
        padded[1 : len(component) + 1] = 0.5 * n_steps * component
        return np.fft.irfft(padded, n_steps)

    velocity = series(along) + 1j * series(across)
    rate = series(1j * omega * along) + 1j * series(1j * omega * across)
    return velocity, rate


def wake(velocity: Complex1D, step: float, rig: Rig) -> Complex1D:
    r"""The wake's velocity W, from rest; the flow counts with its mean over each step.

    .. math:: W_{n+1} = α\bar U_n + (W_n - α\bar U_n)\, e^{-|\bar U_n| Δt / λD}, \quad
              \bar U_n = \tfrac12 (U_n + U_{n+1})
    """
    mean = 0.5 * (velocity[:-1] + velocity[1:])
    kept = np.exp(-np.abs(mean) * step / (rig.memory * rig.diameter))
    state = [0j]
    for goal, share in zip((rig.deficit * mean).tolist(), kept.tolist(), strict=True):
        state.append(goal + (state[-1] - goal) * share)
    return np.array(state, dtype=np.complex128)


def force(velocity: Complex1D, rate: Complex1D, step: float, phase: float, rig: Rig) -> Float1D:
    """The force per length on the sleeve, kN/m: the sum in the module's formula.

    Parameters
    ----------
    velocity, rate : (n,) complex128
        Of the flow at the axis, `step` seconds apart.
    phase : float
        φ of the shedding at the start, rad. A van der Pol wake oscillator behind a cylinder that
        does not move stays on its limit cycle, so the phase is all there is of it.
    """
    relative = velocity - wake(velocity, step, rig)
    speed = np.abs(velocity)
    way = np.cumsum(speed) * step
    shedding = np.cos(phase + 2.0 * np.pi * rig.strouhal / rig.diameter * way)
    lift_constant = 0.5 * DENSITY * rig.diameter * rig.lift
    total = (
        rig.drag_constant * np.abs(relative) * relative
        + rig.inertia_constant * rate
        + lift_constant * 1j * speed * velocity * shedding
    )
    return np.asarray(total.real)


def record(
    rng: np.random.Generator, n_samples: int, sea: Sea | None = None, rig: Rig | None = None
) -> Float2D:
    """Measured velocity u, acceleration, and force per length: what an experimenter would have.

    The velocity is that at the meter, before the axis, with noise. The acceleration is not measured
    but its central difference over two samples. The force is that at the axis, with noise. Of a
    record at least twice as long, the stretch with the steadiest sea is taken.

    Returns
    -------
    (3, n_samples) float64
    """
    sea, rig = sea or Sea(), rig or Rig()
    n_all = 2 ** int(np.ceil(np.log2(2 * n_samples + 2 * RUN_IN)))  # a fast length
    n_steps, step = n_all * STEPS, rig.sampling_time / STEPS
    n_frequencies = int(4.0 / sea.period * n_all * rig.sampling_time)  # beyond 4 f_p all is calm
    frequency = np.arange(1, n_frequencies + 1) / (n_all * rig.sampling_time)
    amplitude = draw_sea(rng, frequency, sea)
    at_axis = flow(amplitude, sea, rig.level, 0.0, n_steps, step)
    at_meter, _ = flow(amplitude, sea, rig.level, -rig.offset, n_steps, step)
    exact = force(*at_axis, step, rng.uniform(0.0, 2.0 * np.pi), rig)
    u = at_meter.real[::STEPS] + rig.velocity_noise * rng.standard_normal(n_all)
    measured = exact[::STEPS] + rig.force_noise * rng.standard_normal(n_all)
    everything = np.stack([u, np.gradient(u, rig.sampling_time), measured])[:, RUN_IN:-RUN_IN]
    begin = steadiest(everything[0], n_samples)
    return np.ascontiguousarray(everything[:, begin : begin + n_samples])


def steadiest(u: Float1D, n_samples: int) -> int:
    r"""Where the stretch begins whose three thirds are most like the whole record.

    .. math:: \arg\min_b \max_{i=0,1,2} \left|\log\frac{\overline{u^2}_{b,i}}{\overline{u^2}}\right|

    As one would pick a stretch to learn from and to test on: the sea grows and falls in groups of
    waves, and thirds of a record in which it happens to differ say little about each other.
    """
    third = n_samples // 3
    total = np.concatenate([[0.0], np.cumsum(u**2)])
    energy = (total[third:] - total[:-third]) / (third * np.mean(u**2))
    n_begins = len(u) - n_samples + 1
    unlike = [np.abs(np.log(energy[i * third : i * third + n_begins])) for i in range(3)]
    return int(np.argmin(np.max(unlike, axis=0)))
