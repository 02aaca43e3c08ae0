"""Benchmark data: the academic system of the paper, the Silverbox, wave forces, and rigs.

Gives a `Benchmark`: training, validation and test sets with the protocol they belong to. Simulated
data come from a seed alone; measured data are read from a file the user names.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.checks import is_count
from adjoin.data import waves as physics
from adjoin.data.dataset import Dataset, Record
from adjoin.data.defects import gap
from adjoin.data.names import SignalNames
from adjoin.data.readers import from_object, read_data
from adjoin.data.rigs.catalogue import CATALOGUE
from adjoin.data.rigs.rig import Sensor
from adjoin.errors import AdjoinError
from adjoin.model import Model

if TYPE_CHECKING:
    import pandas as pd

ACADEMIC_EQUATION = "y(k) = 0.5*u(k-1) - 0.3*u(k-5)^3 + 0.3*y(k-1)"

SILVERBOX_EQUATION = (
    "y(k) = -2.6143*y(k-1)^3 + 2.4638*y(k-1)^2*y(k-2) - 1.8405*y(k-1)*y(k-2)*y(k-3)"
    " + 1.7409*y(k-1) + 1.6417*y(k-2)*y(k-3)^2 - 1.0511*y(k-2) - 0.5677*y(k-2)^3"
    " + 0.3683*u(k-1) + 0.2961*u(k-1)*y(k-1)*y(k-3) + 0.2410*y(k-4)^3 + 0.1676*y(k-5)"
    " - 0.1017*u(k-3) - 0.0906*u(k-4) - 0.0835*u(k-2) + 0.0455*u(k) + 0.0175*u(k-5)"
    " - 0.0147*y(k-7) + 0.0068*y(k-1)^2 - 0.0049*y(k-3)^2 + 0.0031*u(k-7)"
)
"""The equation printed in the paper (OSA, MAP, λ_t = 5), in volts around the training means."""

MORISON = "u(k)*abs(u(k)) + udot(k)"
"""Drag and inertia of a slender cylinder in waves, as ``Identifier(initial=...)`` takes them."""

RIGS = tuple(CATALOGUE)
"""Names of the simulated rigs, as `rig` takes them."""

_RIG_SEED = 50  # samples, more than any lag that a rig needs
_RIG_PARTS = (1400, 600, 1000)
_DEMO_ROWS, _DEMO_GAP, _DEMO_GAP_BEGIN = 2500, 60, 1640
_WAVE_SEED = 10  # samples, as many as the default largest lag
_SHORTEST_WAVE_RECORD = 6 * _WAVE_SEED  # thirds of which as much is scored as seeds
_SILVERBOX_LENGTH = 131_072
_SILVERBOX_FILES = ("SNLS80mV.csv", "SNLS80mV.mat")


@dataclass(frozen=True)
class Benchmark:
    """Data with the protocol they are to be used under.

    Unpacks as ``train, validation, test = benchmark``.

    Parameters
    ----------
    name, protocol : str
        What it is, and how it is split and scored.
    train : Dataset
        To learn from.
    validation : Dataset or None
        To choose with; None where the protocol leaves that to the user.
    tests : mapping of str to Dataset
        To score on, never to choose with; the first is the main one.
    n_seed : int
        How many samples at the start of a test set seed the recursion and are not scored.
    offsets : mapping of str to float
        What was subtracted from the measured signals, by name.
    truth : Model or None
        The system that made the data, where it is known.
    noise_sd : float or None
        The standard deviation of the noise that was added to the output, where it is known.
    initial : str or None
        The known part of the physics, as ``Identifier(initial=...)`` takes it.
    constants : mapping of str to float
        The true coefficients of its terms, by their text, where they are known.
    """

    name: str
    protocol: str
    train: Dataset
    validation: Dataset | None
    tests: Mapping[str, Dataset]
    n_seed: int
    offsets: Mapping[str, float]
    truth: Model | None = None
    noise_sd: float | None = None
    initial: str | None = None
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def test(self) -> Dataset:
        """The main test set."""
        return next(iter(self.tests.values()))

    def __iter__(self) -> Iterator[Dataset | None]:
        return iter((self.train, self.validation, self.test))


def academic(
    seed: int = 0, n_train: int = 1000, n_validation: int = 500, n_test: int = 500
) -> Benchmark:
    r"""The paper's simulated system, with white noise on its output at 20 dB.

    .. math:: y(k) = 0.5\,u(k-1) - 0.3\,u(k-5)^3 + 0.3\,y(k-1), \quad \hat y = y + ε

    with u standard normal and :math:`σ_ε = σ_y / 10`. The noise is measurement noise: it is added
    to the simulated output and not fed back.

    Parameters
    ----------
    seed : int
        The data are a function of it alone.
    n_train, n_validation, n_test : int
        Number of samples in each part, consecutive in time.
    """
    rng = _generator(seed)
    truth = Model.parse(ACADEMIC_EQUATION)
    n_warm_up = 50  # from rest; 0.3**50 is below rounding
    n_samples = n_train + n_validation + n_test
    u = rng.standard_normal(n_warm_up + n_samples)
    y = truth.simulate(u)[n_warm_up:]
    noise_sd = float(np.std(y)) * 10.0 ** (-20.0 / 20.0)
    data = Dataset.from_arrays(
        u[n_warm_up:], y + noise_sd * rng.standard_normal(n_samples), label=f"academic, seed {seed}"
    )
    train, validation, test = data.split(n_train, n_validation, n_test)
    return Benchmark(
        name="academic",
        protocol=f"{n_train}/{n_validation}/{n_test} samples, noise on the output at 20 dB",
        train=train,
        validation=validation,
        tests={"test": test},
        n_seed=truth.max_lag,
        offsets={},
        truth=truth,
        noise_sd=noise_sd,
    )


def waves(seed: int = 0) -> Benchmark:
    r"""Wave forces on a slender cylinder: a synthetic sea, not the Christchurch Bay Tower record.

    That record is not public, so this stands in for it: 3,000 samples at 0.6 s, about ten a wave.
    A random sea (Pierson and Moskowitz's spectrum, H_s = 3 m, T_p = 6 s, cosine-power spreading)
    runs by linear theory over 9 m of water. The force per length at the axis of a cylinder of
    0.480 m, in kN/m,

    .. math:: F = \mathrm{Re}\{C_d' |U - W|(U - W) + C_m' \dot U + C_l' i|U|U \cos φ\} + ε

    has drag relative to a wake W, which remembers where the water came from, inertia, and vortex
    shedding, which leaks in where the flow U = u + iv is oblique. Morison's equation
    :math:`C_d' u|u| + C_m' \dot u` knows nothing of W, v and φ. The velocity u is measured with
    noise 1.228 m before the axis, and the acceleration ``udot`` is its central difference. Every
    constant stands in `adjoin.data.waves`; they were chosen once, such that Morison's equation
    fitted by least squares leaves 18 to 21 % of the test part's variance for each seed from 0 to 9
    (the paper has 19.46 % on the real record).

    Parameters
    ----------
    seed : int
        The data are a function of it alone.
    """
    rig = physics.Rig()
    u, udot, force = physics.record(_generator(seed), 3000, rig=rig)
    data = Dataset.from_arrays(
        np.column_stack([u, udot]),
        force,
        SignalNames(("u", "udot"), "F"),
        rig.sampling_time,
        f"synthetic waves, seed {seed}",
    )
    return _in_thirds(
        data,
        name="waves (synthetic)",
        protocol="synthetic sea, not the Christchurch Bay Tower record; 1000/1000/1000 samples",
        noise_sd=rig.force_noise,
        constants={"u(k)*abs(u(k))": rig.drag_constant, "udot(k)": rig.inertia_constant},
    )


def rig(name: str, seed: int = 0, oversampling: int | None = None) -> Benchmark:
    """A simulated rig with the signals, units and sensors that an engineer would meet.

    One record of 2,000 samples, of which the first 70 % train and the rest validates, and a second
    experiment of 1,000 samples, of the same kind with another input, which tests. Every constant
    stands in `adjoin.data.rigs`.

    Parameters
    ----------
    name : str
        One of `RIGS`.
    seed : int
        The data are a function of it, the name and `oversampling` alone.
    oversampling : int, optional
        How many times faster than an engineer would it is sampled. Default: 5 of ``"duffing"``, 1
        of all others; rigs that are difference equations take no other.
    """
    if name not in RIGS:
        raise AdjoinError(f"no rig is called {name!r}; known are {', '.join(RIGS)}")
    if oversampling is not None and not is_count(oversampling):
        raise AdjoinError(f"oversampling must be a whole number from 1 on, not {oversampling!r}")
    chosen = CATALOGUE[name]
    if oversampling is not None:
        chosen = chosen.oversampled(int(oversampling))
    n_train, n_validation, n_test = _RIG_PARTS
    names = SignalNames.declare(chosen.inputs, chosen.output)
    learned, tested = (
        Dataset((Record(found.inputs, found.output),), names, chosen.step, f"{name}, seed {seed}")
        for found in (
            chosen.record(rng, n)
            for rng, n in zip(
                _generator(seed).spawn(2), (n_train + n_validation, n_test), strict=True
            )
        )
    )
    train, validation = learned.split(n_train, n_validation)
    units = ", ".join(f"{signal} in {unit}" for signal, unit in chosen.units.items())
    return Benchmark(
        name=name,
        protocol=f"simulated {chosen.title}; {units}; {n_train}/{n_validation} samples of one"
        f" experiment and {n_test} of another",
        train=train,
        validation=validation,
        tests={"test": tested},
        n_seed=_RIG_SEED,
        offsets={},
        truth=Model.parse(chosen.equation) if chosen.equation else None,
        noise_sd=chosen.noise_sd,
    )


def demo_rig(seed: int = 0) -> pd.DataFrame:
    """A record as a logger would leave it: a shaken mass on a hardening spring, with faults.

    The Duffing oscillator of `rig`, 2,500 rows at 100 Hz. The displacement sensor has an offset of
    2.5 mm and white noise of 0.1 mm, and 60 rows are missing after row 1,640.

    Parameters
    ----------
    seed : int
        The data are a function of it alone.

    Returns
    -------
    pandas.DataFrame
        Columns ``time [s]``, ``force [N]`` and ``displacement [mm]``.
    """
    import pandas as pd

    duffing = CATALOGUE["duffing"].oversampled(1)
    still = replace(duffing, sensor=Sensor(noise=duffing.noise_sd, offset=2.5))
    n_all = _DEMO_ROWS + _DEMO_GAP
    inputs, output, _ = still.record(_generator(seed), n_all)
    frame = pd.DataFrame(
        {
            "time [s]": np.round(still.step * np.arange(n_all), 6),
            "force [N]": np.round(inputs[:, 0], 3),
            "displacement [mm]": np.round(output, 3),
        }
    )
    return gap(frame, _DEMO_GAP_BEGIN, _DEMO_GAP)


def wave_record(
    path: str | os.PathLike[str],
    velocity: str = "velocity",
    acceleration: str = "acceleration",
    force: str = "force",
    *,
    sampling_time: float | None = None,
    decimal: str | None = None,
) -> Benchmark:
    """A record of wave forces of your own, as `waves` has it: inputs u and udot, output F.

    Its consecutive thirds are training, validation and test data.

    Parameters
    ----------
    path : path
        A text table or a MATLAB file; see `adjoin.read_data`.
    velocity, acceleration, force : str
        The columns that become u, udot and F, in whatever units they are.
    sampling_time : float, optional
        Seconds between two samples.
    decimal : {".", ","}, optional
        The decimal mark of a text table. Default: found out.
    """
    columns = [velocity, acceleration]
    read = read_data(path, columns, force, sampling_time=sampling_time, decimal=decimal)
    if len(read.names.inputs) != 2:
        raise AdjoinError(
            f"{path}: velocity and acceleration must be one column each, but {velocity!r} and"
            f" {acceleration!r} stand for {len(read.names.inputs)}; choose single columns"
        )
    if read.n_samples < _SHORTEST_WAVE_RECORD:
        raise AdjoinError(
            f"{path}: the record has {read.n_samples} samples, too few to train, validate and test"
            f" on a third each; it takes {_SHORTEST_WAVE_RECORD} at least"
        )
    names = SignalNames(("u", "udot"), "F")
    return _in_thirds(
        replace(read, names=names),
        name="wave record",
        protocol="a wave record of your own in consecutive thirds",
    )


def _in_thirds(
    data: Dataset,
    name: str,
    protocol: str,
    noise_sd: float | None = None,
    constants: Mapping[str, float] | None = None,
) -> Benchmark:
    """Wave forces under the paper's protocol: consecutive thirds, Morison's equation known."""
    third = data.n_samples // 3
    train, validation, test = data.split(third, third, data.n_samples - 2 * third)
    return Benchmark(
        name=name,
        protocol=protocol,
        train=train,
        validation=validation,
        tests={"test": test},
        n_seed=_WAVE_SEED,
        offsets={},
        noise_sd=noise_sd,
        initial=MORISON,
        constants=constants or {},
    )


def silverbox(path: str | os.PathLike[str] | None = None, split: str = "paper") -> Benchmark:
    """The Silverbox, an electronic Duffing oscillator measured by Wigren and Schoukens (2013).

    Parameters
    ----------
    path : path, optional
        ``SNLS80mV.csv`` or ``SNLS80mV.mat``, or the folder that holds it. Default: the folder named
        by the environment variable ``ADJOIN_DATA``, else the ``nonlinear_benchmarks`` package.
    split : {"paper", "official"}
        ``"paper"``: the first 80 % of the multisine train, the rest validates, the arrow tests; the
        training means are subtracted from everything. ``"official"``: the split of
        ``nonlinear_benchmarks``, raw volts; the first 75 % of the multisine train, and its rest and
        the arrow test. Scores under the two protocols are not comparable.
    """
    if split not in ("paper", "official"):
        raise AdjoinError(f"split must be 'paper' or 'official', not {split!r}")
    everything = _silverbox_record(path)
    multisine = everything[40_650:127_400]
    if split == "official":
        train, rest = multisine.split(0.75)
        arrow = everything[100:40_575]
        return Benchmark(
            name="silverbox",
            protocol="official split: trained on the first 75 % of the multisine, raw volts",
            train=_labelled(train, "multisine, training"),
            validation=None,
            tests={
                "arrow full": _labelled(arrow, "arrow full"),
                "arrow no-extrapolation": _labelled(arrow[:32_000], "arrow no-extrapolation"),
                "multisine": _labelled(rest, "multisine, test"),
            },
            n_seed=50,
            offsets={},
        )
    n_train = int(0.8 * multisine.n_samples)
    offsets = {
        "u": float(np.mean(multisine.u[:n_train])),
        "y": float(np.mean(multisine.y[:n_train])),
    }
    train, validation = _shifted(multisine, offsets).split(n_train)
    arrow = _shifted(everything[100:40_575], offsets)
    return Benchmark(
        name="silverbox",
        protocol="paper split: trained on the first 80 % of the multisine, training means removed",
        train=_labelled(train, "multisine, training"),
        validation=_labelled(validation, "multisine, validation"),
        tests={
            "arrow full": _labelled(arrow, "arrow full"),
            "arrow no-extrapolation": _labelled(arrow[:32_000], "arrow no-extrapolation"),
        },
        n_seed=50,
        offsets=offsets,
    )


def _generator(seed: int) -> np.random.Generator:
    """The random numbers of a seed; data must be those of a seed, so None is refused too."""
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise AdjoinError(f"a seed is a whole number from 0 on, not {seed!r}")
    return np.random.default_rng(int(seed))


def _silverbox_record(path: str | os.PathLike[str] | None) -> Dataset:
    """The whole measurement as one record, whichever source it comes from."""
    file = _find_silverbox(path)
    data = read_data(file, "V1", "V2") if file is not None else from_object(_download_silverbox())
    if data.n_samples != _SILVERBOX_LENGTH:
        raise AdjoinError(
            f"the Silverbox record has {_SILVERBOX_LENGTH} samples, but {file or 'the download'}"
            f" has {data.n_samples}; is it SNLS80mV of the official archive?"
        )
    names = SignalNames(("u",), "y")
    return Dataset.from_arrays(data.u, data.y, names, sampling_time=1 / 610.35, label="Silverbox")


def _find_silverbox(path: str | os.PathLike[str] | None) -> Path | None:
    folder = path if path is not None else os.environ.get("ADJOIN_DATA")
    if folder is None:
        return None
    if Path(folder).is_dir():
        for name in _SILVERBOX_FILES:
            if (Path(folder) / name).is_file():
                return Path(folder) / name
        raise AdjoinError(f"neither {' nor '.join(_SILVERBOX_FILES)} is in the folder '{folder}'")
    return Path(folder)


def _download_silverbox() -> Any:
    try:
        import nonlinear_benchmarks
    except ImportError:
        raise AdjoinError(
            "no Silverbox data: pass path='.../SNLS80mV.csv', set ADJOIN_DATA to the folder that"
            " holds it, or `pip install nonlinear_benchmarks`, which downloads it"
        ) from None
    return nonlinear_benchmarks.Silverbox(train_test_split=False)


def _shifted(data: Dataset, offsets: Mapping[str, float]) -> Dataset:
    (record,) = data.records
    moved = Record(record.inputs - offsets["u"], record.output - offsets["y"])
    return replace(data, records=(moved,))


def _labelled(data: Dataset, part: str) -> Dataset:
    return replace(data, label=f"{data.label}, {part}")
