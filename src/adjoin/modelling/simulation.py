"""One model run on data: free run, one-step and several-step prediction.

Receives a structure with coefficients and plain arrays per record; lays both out for the compiled
recursion (``kernels/simulate.py``) and gives back one series per record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.blocks import is_long, pieces
from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.grammar.functions import find_function
from adjoin.grammar.terms import Atom, Structure, function_key
from adjoin.kernels.functions import fill_function
from adjoin.kernels.layouts import Program, Recursion
from adjoin.kernels.simulate import BLOCK, LIMIT, predict_ahead, run_recursion
from adjoin.kernels.state import FREE_RUN, ONE_STEP

Row = tuple[str, str]
"""A row of the kernel's tables: signal and function."""

Bounds = tuple[float, float]
"""A simulated sample below the first or above the second is lost."""

WIDEST: Bounds = -LIMIT, LIMIT


@dataclass(frozen=True)
class Response:
    """What a model gave on each record.

    Parameters
    ----------
    series : list of (n,) float64
        The given samples first, then the computed ones; NaN where they are lost to divergence.
    diverged : list of (int or None)
        For each record the first sample that is lost, or None.
    """

    series: list[Float1D]
    diverged: list[int | None]


def free_run(
    structure: Structure,
    theta: Sequence[float],
    inputs: Sequence[Float2D],
    seeds: Sequence[Float1D],
    noise: Sequence[Float1D] | None = None,
    bounds: Bounds = WIDEST,
) -> Response:
    r"""Simulate from the model's own outputs, the paper's model-predicted output.

    .. math:: \hat y(k) = f(u(k), …, \hat y(k-1), …, ε(k-1), …) + ε(k)

    Parameters
    ----------
    structure, theta
        The model.
    inputs : one (n, n_inputs) float64 per record
    seeds : one (n_seeds,) float64 per record
        The first samples of the output, at least ``structure.max_lag`` of them.
    noise : one (n,) float64 per record, optional
        The noise ε; zero if not given.
    bounds : pair of float
        A sample outside is lost, and with it the rest of its record if the model feeds back.
    """
    if any(is_long(len(record)) for record in inputs):
        return _free_run_in_pieces(structure, theta, inputs, seeds, noise, bounds)
    program, data, work = lay_out_free_run(structure, theta, inputs, seeds, noise, bounds)
    run_recursion(program, data, FREE_RUN, work)
    return _collect(data, _bounds(inputs))


def _free_run_in_pieces(
    structure: Structure,
    theta: Sequence[float],
    inputs: Sequence[Float2D],
    seeds: Sequence[Float1D],
    noise: Sequence[Float1D] | None,
    bounds: Bounds,
) -> Response:
    """The same to the last bit, each piece seeded with the end of the one before it."""
    found: list[Float1D] = []
    diverged: list[int | None] = []
    feeds_back = any(atom.signal == structure.names.output for term in structure for atom in term)
    for number, (record, seed) in enumerate(zip(inputs, seeds, strict=True)):
        _check_window(structure, number, len(record), len(seed))
        n_seed, n_samples = len(seed), len(record)
        lost: int | None = None
        series = np.full(n_samples, np.nan)
        series[:n_seed] = seed
        for begin, end in pieces(n_seed, n_samples):
            part = slice(begin - n_seed, end)
            driven = None if noise is None else [noise[number][part]]
            before = series[begin - n_seed : begin]
            program, data, work = lay_out_free_run(
                structure, theta, [record[part]], [before], driven, bounds
            )
            run_recursion(program, data, FREE_RUN, work)
            series[begin:end] = data.predicted[n_seed:]
            if data.diverged[0] >= 0 and lost is None:
                lost = begin - n_seed + int(data.diverged[0])
            if lost is not None and feeds_back:
                break
        found.append(series)
        diverged.append(lost)
    return Response(found, diverged)


def lay_out_free_run(
    structure: Structure,
    theta: Sequence[float],
    inputs: Sequence[Float2D],
    seeds: Sequence[Float1D],
    noise: Sequence[Float1D] | None,
    bounds: Bounds = WIDEST,
) -> tuple[Program, Recursion, Float2D]:
    """The model, the data and the workspace of `free_run`, as the kernel takes them."""
    for number, (record, seed) in enumerate(zip(inputs, seeds, strict=True)):
        _check_window(structure, number, len(record), len(seed))
    names = structure.names
    start = _bounds(inputs)
    driven = np.concatenate(noise) if noise is not None else np.zeros(start[-1])
    seeded = np.zeros(start[-1])
    for begin, seed in zip(start, seeds, strict=False):
        seeded[begin : begin + len(seed)] = seed
    first = start[:-1] + [len(seed) for seed in seeds]
    series = {**_input_series(names, inputs), names.noise: driven}
    layout = _Layout(structure, theta, fed_back=names.output, n_samples=len(seeded))
    data = layout.recursion(series, seeded, seeded, driven, first, start, bounds)
    return layout.program, data, layout.workspace()


def predict(
    structure: Structure,
    theta: Sequence[float],
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    steps_ahead: int = 1,
    noise: Sequence[Float1D] | None = None,
    bounds: Bounds = WIDEST,
) -> Response:
    """Predict each sample from the measured output up to `steps_ahead` samples before it.

    Past noise is the one-step residuals up to there, zero before the first predicted sample; after
    it, `noise`, which is fed back, or zero. The first ``structure.max_lag`` samples of each record
    are copied through. Several steps ahead, a prediction is lost whose run from its origin leaves
    the `bounds`; one step ahead nothing that was predicted is fed back, and nothing can run away.
    """
    for number, record in enumerate(outputs):
        _check_window(structure, number, len(record), structure.max_lag)
    names = structure.names
    has_past_noise = any(atom.signal == names.noise for term in structure for atom in term)
    is_sum = steps_ahead == 1 and not has_past_noise
    if is_sum and any(is_long(len(record)) for record in outputs):
        return _predict_in_pieces(structure, theta, inputs, outputs, noise)
    start = _bounds(outputs)
    measured = np.concatenate(outputs)
    silence = np.zeros_like(measured)
    first = start[:-1] + structure.max_lag
    series = {**_input_series(names, inputs), names.output: measured}
    layout = _Layout(structure, theta, fed_back=names.noise, n_samples=len(measured))
    data = layout.recursion(series, silence, measured, silence, first, start)
    run_recursion(layout.program, data, ONE_STEP, layout.workspace())
    fresh = silence if noise is None else np.concatenate(noise)
    if steps_ahead == 1:
        for begin, stop in zip(data.first, data.stop, strict=True):
            data.predicted[begin:stop] += fresh[begin:stop]
        return _collect(data, start)
    residual = data.back[: len(measured)]
    for lost, stop in zip(data.diverged, data.stop, strict=True):
        if lost >= 0:
            residual[lost:stop] = np.nan  # what was lost must not pass for a residual of zero
    series = {**series, names.noise: residual}
    layout = _Layout(structure, theta, fed_back=names.output, n_samples=len(measured))
    data = layout.recursion(series, measured, measured, fresh, first, start, bounds)
    predict_ahead(layout.program, data, steps_ahead, layout.noise_row, layout.workspace())
    return _collect(data, start)


def _predict_in_pieces(
    structure: Structure,
    theta: Sequence[float],
    inputs: Sequence[Float2D],
    outputs: Sequence[Float1D],
    noise: Sequence[Float1D] | None,
) -> Response:
    """One step ahead and without past noise, to the last bit: nothing goes from piece to piece."""
    found, n_seed = [], structure.max_lag
    for number, (record, output) in enumerate(zip(inputs, outputs, strict=True)):
        series = np.empty(len(output))
        series[:n_seed] = output[:n_seed]
        for begin, end in pieces(n_seed, len(output)):
            part = slice(begin - n_seed, end)
            fresh = None if noise is None else [noise[number][part]]
            run = predict(structure, theta, [record[part]], [output[part]], noise=fresh)
            series[begin:end] = run.series[0][n_seed:]
        found.append(series)
    return Response(found, [None] * len(found))


def _check_window(structure: Structure, number: int, n_samples: int, n_seeds: int) -> None:
    """Refuse what would let the kernel read before the start of a record."""
    if n_seeds < structure.max_lag or n_samples < n_seeds:
        raise AdjoinError(
            f"record {number} has {n_samples} samples and {n_seeds} seeds, but the model looks back"
            f" {structure.max_lag}"
        )


def _bounds(records: Sequence[np.ndarray]) -> np.ndarray:
    """Where each record begins when they lie end to end, and where the last one ends."""
    return np.cumsum([0, *map(len, records)], dtype=np.int64)


def _input_series(names: SignalNames, inputs: Sequence[Float2D]) -> dict[str, Float1D]:
    return {
        name: np.concatenate([record[:, i] for record in inputs])
        for i, name in enumerate(names.inputs)
    }


def _collect(data: Recursion, start: np.ndarray) -> Response:
    series = [data.predicted[a:b].copy() for a, b in pairwise(start)]
    diverged = [int(d - a) if d >= 0 else None for d, a in zip(data.diverged, start, strict=False)]
    return Response(series, diverged)


def _fill(word: str, source: Float1D, target: Float1D) -> None:
    """Write a function of a series."""
    function = find_function(word)
    fill_function(function.code, source - function.shift, target)


class Part(NamedTuple):
    """One term, taken apart into known and fed-back atoms."""

    known: list[Atom]
    back: list[Atom]
    theta: float

    def group(self) -> int:
        """Which group of a `Program` the term belongs to."""
        return 2 * len(self.back) - (not self.known) if self.back else 0


def in_order(structure: Structure, theta: Sequence[float], fed_back: str) -> list[Part]:
    """The terms in the order in which the kernel adds them up, each factor in its turn.

    Whoever adds in this order has the same digits.
    """
    parts = [
        Part(
            [a for a in term if a.signal != fed_back],
            [a for a in term if a.signal == fed_back],
            value,
        )
        for term, value in zip(structure, theta, strict=True)
    ]
    return sorted(parts, key=Part.group)  # stable: canonical order within a group


class _Layout:
    """A model as a `Program`: which atoms are known beforehand and which are fed back."""

    def __init__(
        self, structure: Structure, theta: Sequence[float], fed_back: str, n_samples: int
    ) -> None:
        names = structure.names
        used = {(atom.signal, atom.function) for term in structure for atom in term}
        rows = sorted(used, key=lambda row: (names.position(row[0]), function_key(row[1])))
        self.known_rows: list[Row] = [row for row in rows if row[0] != fed_back]
        self.back_rows: list[Row] = [(fed_back, "")]
        self.back_rows += [row for row in rows if row[0] == fed_back and row[1]]
        noise = (names.noise, "")
        self.noise_row = self.known_rows.index(noise) if noise in self.known_rows else -1
        self.program = self._program(in_order(structure, theta, fed_back), n_samples)

    def _program(self, parts: list[Part], n_samples: int) -> Program:
        known_row = {row: i for i, row in enumerate(self.known_rows)}
        back_row = {row: i for i, row in enumerate(self.back_rows)}
        known = [atom for part in parts for atom in part.known]
        # At least 3, so that the kernel's loops for degrees 1 to 3 always find their bounds.
        max_degree = max([3, *(len(part.back) for part in parts)])
        offset = np.zeros((max_degree, len(parts)), dtype=np.int64)
        for j, part in enumerate(parts):
            for i, a in enumerate(part.back):
                offset[i, j] = back_row[a.signal, a.function] * n_samples - a.lag
        ends = np.searchsorted([part.group() for part in parts], np.arange(1, 2 * max_degree + 2))
        functions = [find_function(function) for _, function in self.back_rows]
        return Program(
            theta=np.array([part.theta for part in parts], dtype=np.float64),
            known_start=np.cumsum([0, *(len(part.known) for part in parts)], dtype=np.int64),
            known_row=np.array([known_row[a.signal, a.function] for a in known], dtype=np.int64),
            known_lag=np.array([a.lag for a in known], dtype=np.int64),
            back_offset=offset,
            group=np.array([0, *ends], dtype=np.int64),
            back_function=np.array([function.code for function in functions], dtype=np.int64),
            back_scale=np.ones(len(functions)),
            back_shift=np.array([function.shift for function in functions]),
        )

    def recursion(
        self,
        series: Mapping[str, Float1D],
        fed_back: Float1D,
        measured: Float1D,
        noise: Float1D,
        first: np.ndarray,
        start: np.ndarray,
        bounds: Bounds = WIDEST,
    ) -> Recursion:
        """The data of a recursion: `series` by signal name, `fed_back` where it is given."""
        n_samples = len(measured)
        known = np.empty((len(self.known_rows), n_samples))
        for row, (signal, function) in enumerate(self.known_rows):
            _fill(function, series[signal], known[row])
        back = np.empty((len(self.back_rows), n_samples))
        for row, (_, function) in enumerate(self.back_rows):
            _fill(function, fed_back, back[row])
        predicted = np.full(n_samples, np.nan)
        for begin, end in zip(start[:-1], first, strict=True):
            predicted[begin:end] = measured[begin:end]
        return Recursion(
            known,
            back.ravel(),
            np.ascontiguousarray(measured, dtype=np.float64),
            np.ascontiguousarray(noise, dtype=np.float64),
            predicted,
            np.ascontiguousarray(first, dtype=np.int64),
            np.ascontiguousarray(start[1:], dtype=np.int64),
            np.full(len(first), -1, dtype=np.int64),
            *bounds,
        )

    def workspace(self) -> Float2D:
        """Room for the gains of one block, and for what drives it."""
        return np.empty((len(self.program.theta) + 1, BLOCK))
