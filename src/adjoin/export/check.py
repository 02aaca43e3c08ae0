"""Exported code run on a record and held against Python, by what this machine has to run it.

Receives a `Model` or an `Ensemble` and what was written of it; gives a `Check` for each language.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.export.c_parts import CCode
from adjoin.export.compiling import (
    EXACT,
    compile_program,
    find_compiler,
    run_program,
    workplace,
)
from adjoin.export.driver import Trial, fmu_driver_text, run_trials
from adjoin.export.ensemble import Ensemble
from adjoin.files import opened

if TYPE_CHECKING:
    from adjoin.model import Model

DOUBLE, SINGLE = 1e-9, 1e-2
"""The largest error of code that is right, relative to the largest value."""

_N_MADE_UP = 1000  # samples, where there is no record


@dataclass(frozen=True)
class Check:
    """What came of running one kind of code.

    Parameters
    ----------
    kind : str
        ``C``, ``FMU``, ``MATLAB``.
    error : float or None
        The largest difference to Python relative to the largest value; infinite where one is lost
        and the other is not; None where nothing could be run.
    words : str
        On what it was run, or why not.
    is_good : bool or None
        Whether the error is one of rounding; None where nothing could be run.
    """

    kind: str
    error: float | None
    words: str
    is_good: bool | None


@dataclass(frozen=True)
class Bench:
    """A record to run on: that of the training data with the most samples, or one made up."""

    inputs: Float2D
    output: Float1D
    words: str

    @property
    def rows(self) -> Float2D:
        """Inputs, then the output."""
        return np.column_stack([self.inputs, self.output])


def find_bench(model: Model) -> Bench:
    """The longest training record; without one, noise about where inputs are at rest."""
    if model.fitted_to is not None:
        record = max(model.fitted_to.data.records, key=len)
        return Bench(record.inputs, record.output, f"training record, {len(record):,} samples")
    names, rng = model.names, np.random.default_rng(0)
    n = _N_MADE_UP + model.max_lag
    inputs = [model.offsets.get(name, 0.0) + rng.normal(size=n) for name in names.inputs]
    output = np.full(n, model.offsets.get(names.output, 0.0))
    matrix = np.column_stack(inputs) if inputs else np.empty((n, 0))
    return Bench(matrix, output, f"made-up input, {n:,} samples (the model brings no data)")


def check_c(subject: Model | Ensemble, code: CCode, single: bool = False) -> Check:
    """Compile C, run it, and compare."""
    if find_compiler() is None:
        return Check("C", None, "not run: there is no C compiler", None)
    bench = find_bench(_first(subject))
    n_seed = _max_lag(subject)
    (found,) = run_trials([Trial(code, bench.rows, n_seed, single=single)])
    reference = response(subject, bench.inputs, bench.output[:n_seed])
    return _compared("C", found[n_seed:], reference[n_seed:], bench.words, single)


def check_fmu(subject: Model | Ensemble, path: str | os.PathLike[str], fmi: int) -> Check:
    """Compile the sources in an FMU, run it by the functions of the standard, and compare."""
    if find_compiler() is None:
        return Check("FMU", None, "not run: there is no C compiler", None)
    model = _first(subject)
    bench, lag = find_bench(model), _max_lag(subject)
    rest = [model.offsets.get(name, 0.0) for name in model.names.inputs]
    at_rest = np.full(lag, model.offsets.get(model.names.output, 0.0))
    padded = np.vstack([np.tile(rest, (lag, 1)).reshape(lag, -1), bench.inputs])
    reference = response(subject, padded, at_rest)[lag:]
    with opened(path) as file, zipfile.ZipFile(io.BytesIO(file.read())) as archive:
        sources = {
            name.removeprefix("sources/"): archive.read(name).decode()
            for name in archive.namelist()
            if name.startswith("sources/") and not name.endswith(".xml")
        }
    sources["driver.c"] = fmu_driver_text(fmi, len(model.names.inputs), reference.shape[1])
    with workplace(sources) as folder:
        np.ascontiguousarray(bench.inputs).tofile(folder / "in")
        compiled = [name for name in sources if name.endswith(".c")]
        flags = ("-std=c99", *EXACT, "-DADJOIN_OWN_FMI")
        program = compile_program(folder, compiled, "driver", flags)
        run_program([program, str(len(bench.inputs))], folder, "the FMU")
        found = np.fromfile(folder / "out").reshape(reference.shape)
    return _compared("FMU", found, reference, f"{bench.words}, from rest")


def check_matlab(model: Model, text: str, name: str) -> Check:
    """Run a MATLAB function by Octave, where there is one, and compare."""
    octave = shutil.which("octave-cli") or shutil.which("octave")
    if octave is None:
        return Check("MATLAB", None, "not run: there is no Octave", None)
    bench, lag = find_bench(model), model.max_lag
    given = "rows(:, 1:end-1)" if model.names.inputs else "size(rows, 1)"
    width = bench.rows.shape[1]
    commands = (
        f"f = fopen('in'); rows = fread(f, [{width}, inf], 'double')'; fclose(f);"
        f" y = {name}({given}, rows(1:{lag}, end));"
        " f = fopen('out', 'w'); fwrite(f, y, 'double'); fclose(f);"
    )
    with workplace({f"{name}.m": text}) as folder:
        bench.rows.tofile(folder / "in")
        command = [octave, "--no-gui", "--norc", "--quiet", "--eval", commands]
        run_program(command, folder, "Octave")
        found = np.fromfile(folder / "out").reshape(-1, 1)
    reference = response(model, bench.inputs, bench.output[:lag])
    return _compared("MATLAB", found[lag:], reference[lag:], f"{bench.words}, by Octave")


def check_python(model: Model, text: str, name: str = "simulate") -> Check:
    """Run a Python function in an interpreter of its own, without packages, and compare."""
    bench, lag = find_bench(model), model.max_lag
    driver = (
        "import array, found\n"
        f"n = {bench.rows.shape[1]}\n"
        "rows = array.array('d', open('in', 'rb').read())\n"
        "columns = [rows[i::n].tolist() for i in range(n)]\n"
        "given = columns[:-1] or [len(columns[-1])]\n"
        f"y = found.{name}(*given, y_init=columns[-1][:{lag}])\n"
        "open('out', 'wb').write(array.array('d', y).tobytes())\n"
    )
    with workplace({"found.py": text, "driver.py": driver}) as folder:
        bench.rows.tofile(folder / "in")
        run_program([sys.executable, "-S", "driver.py"], folder, "Python")
        found = np.fromfile(folder / "out").reshape(-1, 1)
    reference = response(model, bench.inputs, bench.output[:lag])
    return _compared("Python", found[lag:], reference[lag:], bench.words)


def response(subject: Model | Ensemble, inputs: Float2D, seeds: Float1D) -> Float2D:
    """What Python says: (n, n_outputs) as exported code has them; lost runs are NaN."""
    if not isinstance(subject, Ensemble):
        return subject.free_response([inputs], [seeds]).series[0].reshape(-1, 1)
    series = [model.free_response([inputs], [seeds]).series[0] for model in subject.models]
    runs, spread = np.array(series), np.array(subject.spread)
    return np.array([_summary(run, spread, subject) for run in runs.T])


def _summary(run: Float1D, spread: Float1D, ensemble: Ensemble) -> list[float]:
    """Mean, spreads, bands and the number of lost runs at one sample."""
    kept = ~np.isnan(run)
    n = int(kept.sum())
    if not n:
        return [np.nan] * (3 + len(ensemble.quantiles)) + [float(len(run))]
    moved = np.sort(run[kept] + spread[kept] * ensemble.score[kept])
    rank = np.clip(np.array(ensemble.quantiles) * (n + 1) - 1, 0, n - 1)
    bands = np.interp(rank, np.arange(n), moved).tolist()
    variance, noise = float(run[kept].var()), float(np.mean(spread[kept] ** 2))
    return [float(run[kept].mean()), (variance + noise) ** 0.5, variance**0.5, *bands, len(run) - n]


def _first(subject: Model | Ensemble) -> Model:
    return subject.models[0] if isinstance(subject, Ensemble) else subject


def _max_lag(subject: Model | Ensemble) -> int:
    models: Sequence[Model] = subject.models if isinstance(subject, Ensemble) else [subject]
    return max(model.max_lag for model in models)


def _compared(
    kind: str, found: Float2D, reference: Float2D, words: str, single: bool = False
) -> Check:
    error = np.inf
    if np.array_equal(np.isnan(found), np.isnan(reference)):
        size = float(np.nanmax(np.abs(reference[:, 0]), initial=0.0)) or 1.0
        error = float(np.nanmax(np.abs(found - reference), initial=0.0)) / size
    return Check(kind, error, words, error <= (SINGLE if single else DOUBLE))
