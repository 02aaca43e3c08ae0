r"""An oversampled drive: whether the input is found, the noise told right, and the free run good.

A mass on a rail is pushed by a motor and watched by an encoder with steps of 1 µm, 25,000 samples
at 1 kHz, no other noise:

.. math:: m \ddot x = F - b \dot x - F_c \tanh(\dot x / v_s), \qquad y = q\,[x / q]

with m = 1 kg, b = 2 Ns/m, v_s = 20 mm/s and q = 1 µm, the force held for a sample and ten
Runge-Kutta steps in each. A controller makes x follow a multisine (0.05 to 1 Hz, 0.2 m rms) with a
second one on its force (1 to 20 Hz, 0.1 N rms); what is kept is that force and the position, so the
record is open loop and bounded. From one sample to the next the motor moves the mass by about a
micrometre, and a lag explains all the rest: so little is left to find the input by. Two rigs:
*viscous* (F_c = 0), whose true structure is in the model class, and *Coulomb* (F_c = 0.3 N), whose
friction is in no class of functions of one signal.

What is called the truth, all by least squares one step ahead on the same record:

- *true*: y(k-1), y(k-2), u(k-1), u(k-2), a constant, and with Coulomb friction also
  tanh of the velocity (y(k-1) - y(k-2))/T at the known v_s.
- *linear*: the same without the tanh: the truth as far as polynomials can say it. Both leave about
  √6·q/√12 = 0.7 µm, what rounding does to a second difference.
- *window*: all lags up to ``max_lag`` of y and u and a constant. Rounding is measurement noise,
  which longer lags average out, so an equation may leave less than the truth's: down to this.

*own* is the noise over the one-step residual of the MAP model itself: 1, unless the prior is a
floor. The noise counts as right if *own* is from 0.8 to 1.2, and the noise from 0.8·window to
1.2·linear. Free runs are seeded by 50 samples, which are not scored: RMSE in mm of the true and
linear fits, of the MAP model, and of mean and median of 100 draws, on another record of the same
rig; and over that of the linear fit, also on the training record.
"""

from __future__ import annotations

import argparse
import math
from typing import Any, NamedTuple

import numpy as np
from identifier_options import add_identifier_options, cpu_seconds, identifier_settings, said

from adjoin import Identifier, scores

N_SAMPLES, N_SETTLE, N_SEED, N_STEPS = 25_000, 2_000, 50, 10
STEP, QUANTUM = 1e-3, 1e-6
MASS, DAMPING, SLIP = 1.0, 2.0, 0.02
STIFFNESS, RATE = 100.0, 20.0  # of the controller: N/m, Ns/m
RIGS = {"viscous": 0.0, "Coulomb": 0.3}
"""Dry friction in N."""
SETTINGS: dict[str, dict[str, Any]] = {
    "max_lag=10, max_degree=4 (default)": {},
    "max_lag=3, max_degree=2": {"max_lag": 3, "max_degree": 2},
}
TEST_SEEDS = 1_000  # test records have other seeds than any training record


class Fit(NamedTuple):
    """Coefficients by least squares, and the standard deviation that they leave."""

    theta: np.ndarray
    noise: float


def multisine(rng: np.random.Generator, low: float, high: float, n: int, power: float) -> Any:
    """Frequency (rad/s), amplitude ∝ f^power and phase of `n` sines of unit rms together."""
    frequency = rng.uniform(low, high, n)
    amplitude = frequency**power
    amplitude /= math.sqrt(0.5 * np.sum(amplitude**2))
    return 2.0 * np.pi * frequency, amplitude, rng.uniform(0.0, 2.0 * np.pi, n)


def record(seed: int, dry: float) -> tuple[np.ndarray, np.ndarray]:
    """Force in N and measured position in m."""
    rng = np.random.default_rng(seed)
    time = STEP * np.arange(N_SAMPLES + N_SETTLE)[:, None]
    omega, amplitude, phase = multisine(rng, 0.05, 1.0, 30, -1.0)
    wanted = 0.2 * np.sin(omega * time + phase) @ amplitude
    speed = 0.2 * np.cos(omega * time + phase) @ (omega * amplitude)
    omega, amplitude, phase = multisine(rng, 1.0, 20.0, 60, 0.0)
    extra = 0.1 * np.sin(omega * time + phase) @ amplitude
    x, v = float(wanted[0]), float(speed[0])
    force, position = np.empty(len(time)), np.empty(len(time))
    for k in range(len(time)):
        f = STIFFNESS * (wanted[k] - x) + RATE * (speed[k] - v) + extra[k]
        force[k], position[k] = f, x
        x, v = advance(x, v, float(f), dry)
    measured = QUANTUM * np.round(position / QUANTUM)
    return force[N_SETTLE:], measured[N_SETTLE:]


def advance(x: float, v: float, force: float, dry: float) -> tuple[float, float]:
    """Position and velocity one sample later."""
    h = STEP / N_STEPS

    def rate(v: float) -> float:
        return (force - DAMPING * v - dry * math.tanh(v / SLIP)) / MASS

    for _ in range(N_STEPS):
        a1 = rate(v)
        a2 = rate(v + h / 2 * a1)
        a3 = rate(v + h / 2 * a2)
        a4 = rate(v + h * a3)
        x += h * (v + h / 6 * (a1 + a2 + a3))
        v += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4)
    return x, v


def least_squares(columns: list[np.ndarray], y: np.ndarray) -> Fit:
    """Fit `y`, with columns of unit size, since they differ by ten orders of magnitude."""
    matrix = np.column_stack(columns)
    size = np.sqrt(np.mean(matrix**2, axis=0))
    theta = np.linalg.lstsq(matrix / size, y, rcond=None)[0] / size
    return Fit(theta, float(np.sqrt(np.mean((y - matrix @ theta) ** 2))))


def fit_truth(u: np.ndarray, y: np.ndarray, has_friction: bool) -> Fit:
    """The terms of the truth, with or without the friction."""
    columns = [y[1:-1], y[:-2], u[1:-1], u[:-2], np.ones(len(y) - 2)]
    if has_friction:
        columns.append(np.tanh((y[1:-1] - y[:-2]) / (STEP * SLIP)))
    return least_squares(columns, y[2:])


def fit_window(u: np.ndarray, y: np.ndarray, max_lag: int) -> Fit:
    """Every linear term with a lag up to `max_lag`, and a constant."""
    rows = range(max_lag + 1)
    columns = [u[max_lag - lag : len(u) - lag] for lag in rows]
    columns += [y[max_lag - lag : len(y) - lag] for lag in rows[1:]]
    return least_squares([*columns, np.ones(len(y) - max_lag)], y[max_lag:])


def run_truth(fit: Fit, u: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The free run of `fit_truth`."""
    a1, a2, b1, b2, constant, *friction = fit.theta.tolist()
    series = y[:N_SEED].tolist()
    force = u.tolist()
    for k in range(N_SEED, len(u)):
        moved = a1 * series[-1] + a2 * series[-2] + b1 * force[k - 1] + b2 * force[k - 2]
        if friction:
            moved += friction[0] * math.tanh((series[-1] - series[-2]) / (STEP * SLIP))
        series.append(moved + constant)
    return np.array(series)


def error(y: np.ndarray, run: np.ndarray) -> float:
    """RMSE in mm; infinite where the run diverges."""
    found = 1e3 * scores.rmse(y[N_SEED:], run[N_SEED:])
    return found if math.isfinite(found) else math.inf


class Row(NamedTuple):
    """Of one fit; noise in µm, errors of free runs in mm."""

    seed: int
    n_terms: int
    has_input: bool
    noise: float
    own: float
    linear_noise: float
    window_noise: float
    true_error: float
    linear_error: float
    map_error: float
    mean_error: float
    median_error: float
    linear_train: float
    map_train: float
    lost: float
    seconds: float
    equation: str

    @property
    def is_right(self) -> bool:
        """Whether the noise is within 20 %, of its own model's and of the truth's."""
        is_free = 0.8 <= self.own <= 1.2
        return is_free and 0.8 * self.window_noise <= self.noise <= 1.2 * self.linear_noise

    def __str__(self) -> str:
        runs = [self.true_error, self.linear_error]
        runs += [self.map_error, self.mean_error, self.median_error]
        errors = "".join(f"{value:10.4g}" for value in runs)
        return (
            f"{self.seed:4}{self.n_terms:6}{'yes' if self.has_input else 'no':>6}{self.noise:9.3f}"
            f"{self.own:7.2f}{self.linear_noise:8.3f}{self.window_noise:8.3f}{errors}"
            f"{self.map_error / self.linear_error:8.2f}{self.map_train / self.linear_train:8.2f}"
            f"{self.mean_error / self.linear_error:10.3g}{self.lost:7.0%}{self.seconds:7.1f}"
        )


def measure(seed: int, dry: float, settings: dict[str, Any]) -> Row:
    """Fit one record and run the result on another."""
    (u, y), (u_test, y_test) = record(seed, dry), record(TEST_SEEDS + seed, dry)
    true, linear = fit_truth(u, y, dry > 0.0), fit_truth(u, y, False)
    begin = cpu_seconds()
    found = Identifier(seed=seed, progress=False, **settings).fit(u, y).posterior_
    seconds = cpu_seconds() - begin
    model = found.map_model
    residual = (y - model.predict(u, y))[found.max_lag :]
    runs = found.simulate(u_test, y_test[:N_SEED], draws=100)
    return Row(
        seed=seed,
        n_terms=len(model.structure),
        has_input=any(atom.signal == "u" for term in model.structure for atom in term),
        noise=1e6 * float(found.noise["mean"]),
        own=float(found.noise["mean"]) / float(np.sqrt(np.mean(residual**2))),
        linear_noise=1e6 * linear.noise,
        window_noise=1e6 * fit_window(u, y, found.max_lag).noise,
        true_error=error(y_test, run_truth(true, u_test, y_test)),
        linear_error=error(y_test, run_truth(linear, u_test, y_test)),
        map_error=error(y_test, model.simulate(u_test, y_test[:N_SEED])),
        mean_error=error(y_test, runs.mean),
        median_error=error(y_test, runs.bands[0.5]),
        linear_train=error(y, run_truth(linear, u, y)),
        map_train=error(y, model.simulate(u, y[:N_SEED])),
        lost=runs.diverged,
        seconds=seconds,
        equation=str(model),
    )


def summary(rows: list[Row]) -> str:
    """How many are as they should be, and the spread."""
    n = len(rows)
    noise = [row.noise / row.linear_noise for row in rows]
    own = [row.own for row in rows]
    ratio = [row.map_error / row.linear_error for row in rows]
    mean = [row.mean_error / row.linear_error for row in rows]
    return (
        f"  input in {sum(row.has_input for row in rows)} of {n};"
        f" noise within 20 % in {sum(row.is_right for row in rows)} of {n}"
        f" ({min(noise):.2f} to {max(noise):.2f} of linear,"
        f" {min(own):.2f} to {max(own):.2f} of its own);\n "
        f" free run of MAP {min(ratio):.2f} to {max(ratio):.2f} of linear,"
        f" median {np.median(ratio):.2f}, at most 2 in {sum(r <= 2.0 for r in ratio)} of {n};"
        f" of the mean {min(mean):.3g} to {max(mean):.3g}"
    )


def main() -> None:
    """Print a table per rig and setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="how many records (default 5)")
    parser.add_argument("--equations", action="store_true", help="print every MAP model")
    add_identifier_options(parser)
    options = parser.parse_args()
    changed = identifier_settings(options)
    print(f"drive, {N_SAMPLES:,} samples at 1 kHz, {said(options)}; noise in µm, free runs in mm")
    for rig, dry in RIGS.items():
        for name, settings in SETTINGS.items():
            print(
                f"\n{rig}, {name}\n{'seed':>4}{'terms':>6}{'input':>6}{'noise':>9}{'own':>7}"
                f"{'linear':>8}{'window':>8}{'true':>10}{'linear':>10}{'MAP':>10}{'mean':>10}"
                f"{'median':>10}{'MAP/lin':>8}{'train':>8}{'mean/lin':>10}{'lost':>7}{'CPU s':>7}"
            )
            rows = []
            for seed in range(options.seeds):
                rows.append(measure(seed, dry, settings | changed))
                print(rows[-1], flush=True)
                if options.equations:
                    print(f"       {rows[-1].equation}")
            print(summary(rows), flush=True)


if __name__ == "__main__":
    main()
