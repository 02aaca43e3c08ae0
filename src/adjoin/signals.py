"""Named signals, records, data sets, and the scaling in which models are fitted.

Receives what the user passes (arrays, pandas objects, lists of those) or `adjoin.readers` read;
hands lag tables to the kernels and scalings to the model. Samples and records count from 0.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from adjoin.columns import Columns, counted, place_of, shared_labels, tabulate
from adjoin.errors import AdjoinError
from adjoin.kernels.state import Float1D, Float2D, SignalTable

_RESERVED = {"k", "abs", "sin", "cos", "tanh", "sign", "exp", "sqrt", "sqrtabs"}
_ROUNDING = 1e-12  # fractions such as 0.7 + 0.2 + 0.1 miss 1 by a few units in the last place


def legal_name(text: str) -> str:
    """Return the signal name nearest to a text: ``"Force (N)"`` becomes ``"Force_N"``."""
    if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", text):
        text = "".join(map(_latin, unicodedata.normalize("NFKD", text)))
        text = re.sub(r"\W+", "_", text.encode("ascii", "ignore").decode()).strip("_") or "signal"
    text = f"_{text}" if text[0].isdigit() else text
    return f"{text}_" if text in _RESERVED else text


def _latin(character: str) -> str:
    """Spell a Greek letter by its Unicode name: ω is omega, Ω is Omega."""
    kind, _, name = unicodedata.name(character, "").partition(" LETTER ")
    if not kind.startswith("GREEK") or not name:
        return character
    spelled = name.split()[-1].lower()
    return spelled.capitalize() if kind.endswith("CAPITAL") else spelled


def split_names(names: str | Iterable[str]) -> tuple[str, ...]:
    """Take names apart: ``"u, udot"`` and ``["u", "udot"]`` are the same two."""
    if isinstance(names, str):
        return tuple(part.strip() for part in names.split(",") if part.strip())
    found = tuple(names) if isinstance(names, Iterable) else (names,)
    for name in found:
        if not isinstance(name, str):
            raise AdjoinError(f"{name!r} is not a name; write 'u, udot' or ['u', 'udot'].")
    return found


@dataclass(frozen=True)
class SignalNames:
    """The names by which equations call the signals; no inputs for an autonomous system.

    ASCII letters, digits and underscores, no digit first; `k` and the functions are reserved.
    Several inputs may be one text with commas.
    """

    inputs: tuple[str, ...] = ("u",)
    output: str = "y"
    noise: str = "e"

    def __post_init__(self) -> None:
        inputs = split_names(self.inputs)
        object.__setattr__(self, "inputs", inputs)
        for name in self.ordered:
            if (legal := legal_name(str(name))) != name:
                fault = (
                    "reserved"
                    if str(name) in _RESERVED
                    else "not legal (use letters, digits and _)"
                )
                raise AdjoinError(f"signal name {name!r} is {fault}; rename it, e.g. to {legal!r}.")
        signals = Counter((*inputs, self.output))
        name, times = signals.most_common(1)[0]
        if times > 1:
            raise AdjoinError(f"{times} signals are called {name!r}; give each its own name.")
        if self.noise in signals:
            raise AdjoinError(
                f"the signal {self.noise!r} has the name of the noise; rename it, or pass another"
                f" noise name: SignalNames(..., noise='{self.noise}_noise')."
            )

    @classmethod
    def declare(cls, inputs: str | Iterable[str], output: str = "y") -> SignalNames:
        """Name the signals, and the noise `e`, or `e_noise` where a signal has that name."""
        inputs, noise = split_names(inputs), "e"
        while noise in (*inputs, output):
            noise += "_noise"
        return cls(inputs, output, noise)

    @property
    def ordered(self) -> tuple[str, ...]:
        """Inputs, then the output, then the noise."""
        return (*self.inputs, self.output, self.noise)

    def position(self, name: str) -> int:
        """Index of a name in `ordered`."""
        if name not in self.ordered:
            raise AdjoinError(f"no signal is called {name!r}; known are {', '.join(self.ordered)}.")
        return self.ordered.index(name)


@dataclass(frozen=True, eq=False)
class Record:
    """One experiment: inputs ``(n, n_inputs)`` and output ``(n,)``, kept as read-only copies."""

    inputs: Float2D
    output: Float1D

    def __post_init__(self) -> None:
        _freeze(self, "inputs", "output")

    def __len__(self) -> int:
        return len(self.output)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Records of the same signals, checked by `from_arrays`; the sampling time is in seconds."""

    records: tuple[Record, ...]
    names: SignalNames
    sampling_time: float | None = None
    label: str = ""

    def __post_init__(self) -> None:
        is_typed = isinstance(self.names, SignalNames) and isinstance(self.records, tuple)
        if not (is_typed and self.records and all(map(self._has_shape, self.records))):
            raise AdjoinError(
                "a Dataset is made of Records and SignalNames; build it from your own data by"
                " Dataset.from_arrays(u, y)."
            )
        step = self.sampling_time
        if step is not None and not (isinstance(step, Real) and 0 < step < np.inf):
            raise AdjoinError(f"the sampling time must be a positive number, not {step!r}.")

    def _has_shape(self, record: object) -> bool:
        width = len(self.names.inputs)
        return isinstance(record, Record) and record.inputs.shape == (record.output.size, width)

    @classmethod
    def from_arrays(
        cls,
        u: Any,
        y: Any,
        names: SignalNames | Iterable[str] | None = None,
        sampling_time: float | None = None,
        label: str = "",
    ) -> Dataset:
        """Check and copy the user's data.

        Parameters
        ----------
        u : (n,) or (n, n_inputs) array, pandas Series or DataFrame, list of those, or None
            Columns of a frame name the inputs. A list of numbers is one record, a list of arrays
            or frames several. None: an autonomous system.
        y : (n,) or (n, 1) array, pandas Series or one-column DataFrame, or list of those
            The name of a Series names the output.
        names : SignalNames or sequence of str, optional
            The inputs in order, then the output. Replaces the names in the data, by position
            (frames with exactly these columns are matched by name). Default: the names in the
            data, respelled where they are not legal (``Force (N)`` is ``Force_N``), else `u`
            (`u1`, `u2`, …) and `y`.
        sampling_time : float, optional
            Seconds between two samples.
        label : str
            What reports call the data.
        """
        outputs, _ = tabulate(y, "output")
        none = [target._replace(labels=(), series=()) for target in outputs]
        inputs = none if u is None else tabulate(u, "input")[0]
        if len(inputs) != len(outputs):
            raise AdjoinError(
                f"the inputs have {counted(len(inputs), 'record')}, but the output has"
                f" {len(outputs)} (join several inputs of one record by numpy.column_stack)."
            )
        if names is None:
            labels = (*shared_labels(inputs, "u"), *(shared_labels(outputs, "y")[:1] or ("y",)))
            names = tuple(map(legal_name, labels))
        if not isinstance(names, SignalNames):
            names = _declared(names)
        titles, expected = _input_titles(names, "`names` has")
        records = []
        for columns, target in zip(inputs, outputs, strict=True):
            if columns.n_samples != target.n_samples:
                raise AdjoinError(
                    f"the inputs{target.place} have {counted(columns.n_samples, 'sample')}, but the"
                    f" output has {target.n_samples}; give every signal one value per sample"
                    " (transpose an array that holds its signals as rows)."
                )
            is_named = set(columns.labels) == set(names.inputs)
            chosen = columns.select(names.inputs) if is_named else columns
            matrix = chosen.matrix(titles, expected)
            series = target.matrix([f"output {names.output!r}"], "there must be 1 output")
            records.append(Record(matrix, series[:, 0]))
        return cls(tuple(records), names, sampling_time, label)

    @classmethod
    def join(cls, datasets: Sequence[Dataset]) -> Dataset:
        """One data set of the records of several with the same signals."""
        first, *others = datasets
        for other in others:
            if other.names != first.names:
                raise AdjoinError(
                    f"the signals differ: {', '.join(first.names.ordered[:-1])} and"
                    f" {', '.join(other.names.ordered[:-1])}; name the inputs and the output."
                )
        if not others:
            return first
        records = tuple(record for dataset in datasets for record in dataset.records)
        return cls(records, first.names, first.sampling_time, first.label)

    @property
    def n_records(self) -> int:
        """Number of records."""
        return len(self.records)

    @property
    def n_samples(self) -> int:
        """Number of samples of all records together."""
        return sum(map(len, self.records))

    @property
    def u(self) -> Any:
        """Inputs, ``(n,)`` if there is one, else ``(n, n_inputs)``; several records: a list."""
        column = 0 if len(self.names.inputs) == 1 else slice(None)
        inputs = [record.inputs[:, column] for record in self.records]
        return inputs if self.n_records > 1 else inputs[0]

    @property
    def y(self) -> Any:
        """Output ``(n,)``; several records: a list."""
        outputs = [record.output for record in self.records]
        return outputs if self.n_records > 1 else outputs[0]

    def __len__(self) -> int:
        return self.n_samples

    def __repr__(self) -> str:
        inputs = ", ".join(self.names.inputs) or "none"
        parts = [counted(self.n_records, "record"), counted(self.n_samples, "sample")]
        parts += [f"inputs ({inputs})", f"output {self.names.output}"]
        parts += [f"sampling time {self.sampling_time:g} s"] if self.sampling_time else []
        return f"Dataset({self.label + ': ' if self.label else ''}{', '.join(parts)})"

    def __getitem__(self, part: slice) -> Dataset:
        is_run = isinstance(part, slice) and part.step in (None, 1)
        is_whole = is_run and all(isinstance(i, Integral | None) for i in (part.start, part.stop))
        if self.n_records > 1 or not is_whole:
            raise AdjoinError(
                f"{part!r} of {counted(self.n_records, 'record')} is not one run of samples, as is"
                " dataset[100:200] of one record; use .split, .records, or the values .u and .y."
            )
        return self._cut([part.indices(self.n_samples)[:2]])

    def split(self, *parts: float) -> tuple[Dataset, ...]:
        """Cut every record into consecutive parts: ``train, test = dataset.split(0.8)``.

        `parts` are all fractions in (0, 1), or all numbers of samples; what they leave over is one
        more part.
        """
        counts = [int(part) for part in parts if _is_count(part)]
        fractions = [float(part) for part in parts if isinstance(part, Real) and 0 < part < 1]
        total = sum(fractions)
        if not parts or len(parts) not in (len(counts), len(fractions)) or total > 1 + _ROUNDING:
            raise AdjoinError(
                f"cannot split by {parts}; give fractions between 0 and 1 that add up to at most 1,"
                " or whole numbers of samples: split(0.6, 0.2, 0.2), split(1000, 500)."
            )
        shares = np.cumsum(counts or fractions)
        edges = []
        for n_samples in map(len, self.records):
            cuts = [round(float(share)) for share in shares * (1 if counts else n_samples)]
            edges.append([0, *cuts, n_samples])
        is_used_up = (
            all(edge[-2] == edge[-1] for edge in edges) if counts else total > 1 - _ROUNDING
        )
        if is_used_up:
            edges = [edge[:-1] for edge in edges]
        return tuple(self._cut([e[i : i + 2] for e in edges]) for i in range(len(edges[0]) - 1))

    def _cut(self, bounds: Sequence[Sequence[int]]) -> Dataset:
        records = []
        for i, (record, (start, stop)) in enumerate(zip(self.records, bounds, strict=True)):
            if not start < stop <= len(record):
                raise AdjoinError(
                    f"the part from sample {start} up to {stop}{place_of(i, self.n_records)} is"
                    f" empty or beyond the {counted(len(record), 'sample')} there are."
                )
            records.append(Record(record.inputs[start:stop], record.output[start:stop]))
        return Dataset(tuple(records), self.names, self.sampling_time, self.label)

    def require_window(self, max_lag: int) -> None:
        """Refuse records shorter than a lag window and two samples to fit."""
        for i, record in enumerate(self.records):
            if len(record) < max_lag + 2:
                raise AdjoinError(
                    f"too few samples{place_of(i, self.n_records)}: {len(record)}, but max_lag="
                    f"{max_lag} needs at least {max_lag + 2}; lower max_lag or use longer records."
                )

    def require_variation(self) -> None:
        """Refuse signals that are constant over all records together."""
        rows = zip(self.names.ordered, self._values(), strict=False)
        constant = [f"{name!r} (always {row[0]:g})" for name, row in rows if (row == row[0]).all()]
        if constant:
            raise AdjoinError(
                f"constant signals: {', '.join(constant)}; leave such an input out, or use data"
                " that vary."
            )

    def lag_table(self, max_lag: int) -> SignalTable:
        """All records end to end, with the first sample of each whose lag window is complete."""
        self.require_window(max_lag)
        start = np.cumsum([0, *map(len, self.records)], dtype=np.int64)
        return SignalTable(self._values(), start, start[:-1] + max_lag)

    def _columns(self) -> tuple[list[Columns], bool]:
        """Return the inputs as `tabulate` would return frames."""
        n, labels = self.n_records, self.names.inputs
        return [
            Columns(labels, tuple(record.inputs.T), len(record), place_of(i, n), is_frame=True)
            for i, record in enumerate(self.records)
        ], n > 1

    def _values(self) -> Float2D:
        """Return a fresh (n_signals, n_samples) array: inputs, then the output."""
        blocks = [np.vstack([record.inputs.T, record.output]) for record in self.records]
        return np.ascontiguousarray(np.hstack(blocks))


@dataclass(frozen=True, eq=False)
class Scaling:
    r"""Centred and scaled signals, and the way back to the user's units.

    .. math:: \tilde x_i = (x_i - o_i) / s_i

    with `offset` :math:`o` and `scale` :math:`s`, both ``(n_inputs + 1,)``: inputs in order, then
    the output, whose scale is also that of the noise.
    """

    names: SignalNames
    offset: Float1D
    scale: Float1D

    def __post_init__(self) -> None:
        _freeze(self, "offset", "scale")

    @classmethod
    def identity(cls, names: SignalNames) -> Scaling:
        """Leave the signals as they are."""
        return cls(names, np.zeros(len(names.inputs) + 1), np.ones(len(names.inputs) + 1))

    @classmethod
    def from_dataset(cls, dataset: Dataset, center: bool, scale: bool) -> Scaling:
        """Take mean and standard deviation over all records together; a constant keeps scale 1."""
        plain, values = cls.identity(dataset.names), dataset._values()
        deviation = values.std(axis=1)
        is_constant = (values == values[:, :1]).all(axis=1)  # its deviation may round to 1e-17
        deviation[is_constant | (deviation == 0)] = 1.0
        offset = values.mean(axis=1) if center else plain.offset
        return cls(dataset.names, offset, deviation if scale else plain.scale)

    def apply(self, dataset: Dataset) -> Dataset:
        """Return the data set in scaled units."""
        own, given = self.names.ordered[:-1], dataset.names.ordered[:-1]
        if own != given:
            raise AdjoinError(f"the scaling is of the signals {own}, but the data have {given}.")
        o, s = self.offset, self.scale
        records = [
            Record((record.inputs - o[:-1]) / s[:-1], (record.output - o[-1]) / s[-1])
            for record in dataset.records
        ]
        return Dataset(tuple(records), dataset.names, dataset.sampling_time, dataset.label)

    def coefficient_factor(self, exponents: Mapping[str, float]) -> float:
        r"""Return what turns a term's coefficient on scaled signals into the user's units.

        .. math:: \theta = \tilde\theta \; s_y / \prod_i s_i^{e_i}

        with `exponents` from signal name to :math:`e_i`, the term's total degree in that signal.
        """
        factor = self.noise_factor
        for name, exponent in exponents.items():
            i = min(self.names.position(name), len(self.names.inputs))
            factor /= float(self.scale[i]) ** exponent
        return factor

    @property
    def noise_factor(self) -> float:
        """The scale :math:`s_y` of the output, which turns scaled noise into the user's units."""
        return float(self.scale[-1])

    @property
    def offsets(self) -> dict[str, float]:
        """Offset of every input and of the output, by name."""
        return dict(zip(self.names.ordered, self.offset.tolist(), strict=False))


def as_inputs(u: Any, names: SignalNames) -> tuple[list[Float2D], bool]:
    """Check the inputs given to a fitted model.

    Frames and data sets are matched by column name, further columns are ignored. A model without
    inputs takes the number of samples. Returns ``(n, n_inputs)`` arrays, and whether several.
    """
    if not names.inputs and not hasattr(u, "__len__"):
        if not _is_count(u):
            raise AdjoinError(f"the model has no inputs; pass the number of samples, not {u!r}.")
        return [np.zeros((int(u), 0))], False
    records, several = u._columns() if isinstance(u, Dataset) else tabulate(u, "input")
    widths = {len(columns.series) for columns in records if not columns.is_frame}
    titles, expected = _input_titles(names, "the model has")
    if not names.inputs and widths - {0}:
        raise AdjoinError(
            f"the model has no inputs, but the data have {counted(max(widths), 'column')}; pass the"
            " number of samples."
        )
    if several and len(titles) > 1 and widths == {1}:
        raise AdjoinError(
            f"{expected}, but a list means several records, and each of these has 1 column; join"
            " the inputs of one record by numpy.column_stack."
        )
    chosen = [_selected(columns, names) if columns.is_frame else columns for columns in records]
    return [columns.matrix(titles, expected) for columns in chosen], several


def _selected(columns: Columns, names: SignalNames) -> Columns:
    """Return the inputs of a frame, found by name or by the text that was respelled to it."""
    if not set(names.inputs) <= set(columns.labels):
        spelled = tuple(label and legal_name(label) for label in columns.labels)
        columns = columns._replace(labels=spelled)
    return columns.select(names.inputs)


def as_series(
    y: Any, name: str, what: str = "output", may_be_empty: bool = False
) -> tuple[list[Float1D], bool]:
    """Check outputs: ``(n,)`` arrays, and whether there are several records.

    A data set gives its output. `what` is how errors call the series. A record without samples is
    refused unless it `may_be_empty`, as what seeds a model without lags.
    """
    if isinstance(y, Dataset):
        return [record.output.copy() for record in y.records], y.n_records > 1
    records, several = tabulate(y, what)
    title = f"{what} {name!r}" if what == "output" else what
    expected = f"there must be 1 {what}"
    return [
        np.empty(0)
        if may_be_empty and columns.n_samples == 0
        else columns.matrix([title], expected)[:, 0]
        for columns in records
    ], several


def _input_titles(names: SignalNames, owner: str) -> tuple[list[str], str]:
    """Return what errors call each input, and how many they say there should be."""
    listed = f" ({', '.join(names.inputs)})" if names.inputs else ""
    expected = f"{owner} {counted(len(names.inputs), 'input')}{listed}"
    return [f"input {name!r}" for name in names.inputs], expected


def _declared(names: Any) -> SignalNames:
    """Take inputs in order, then the output."""
    if not (found := split_names(names)):
        raise AdjoinError("`names` is empty; give the inputs in order, then the output.")
    return SignalNames.declare(found[:-1], found[-1])


def _is_count(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def _freeze(owner: object, *fields: str) -> None:
    for field in fields:
        array = np.array(getattr(owner, field), dtype=np.float64, order="C")
        array.setflags(write=False)
        object.__setattr__(owner, field, array)
