"""Runs as files: everything a `Posterior` is made of, in one sealed netCDF-4 file.

::

    /                  attributes: grammar, settings, timing, power, burn_in, chains, …
    /scaling           offset, scale (signal)
    /data/record_0     one variable per signal, by its name (k)
    /held_out/record_0 likewise, if something was kept back
    /chain_0           structure, noise, log_lik, … (record), theta (entry), key (term_entry)
    /chain_0/ladder    of a free-run chain: distance (record), tolerance (stage, rung), …
    /discovered        where candidates were compared: facts, trial (byte)

Traces are in model units, data in the user's. Receives a `Collection`; gives back the arguments
that make an equal one, to the last bit. Schema 1 had no ladders and 2 no `runaway` among the
settings; both are read as well. Schema 4 has the weights of a stacked run's chains, and 5 how its
terms were found; they are written for such runs only, so that all others can be read by earlier
versions.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from adjoin.checks import is_real
from adjoin.data.dataset import Dataset, Record
from adjoin.data.names import SignalNames, split_names
from adjoin.data.scaling import Scaling
from adjoin.data.timing import Timing
from adjoin.errors import AdjoinError
from adjoin.exchange.sealed import FORMAT, read_sealed, seal
from adjoin.exchange.stored_discovery import read_discovered, read_trial, write_discovered
from adjoin.exchange.stored_group import FLOAT, INTEGER, StoredGroup, store
from adjoin.exchange.stored_trace import read_trace, write_trace
from adjoin.files import write_whole
from adjoin.grammar import Grammar
from adjoin.grammar.encoding import Encoding
from adjoin.grammar.equation import term_text
from adjoin.inference.engines import find_engine
from adjoin.inference.objective import PREDICTION, Noise, Tempered
from adjoin.inference.problem import Problem
from adjoin.inference.settings import RunSettings, read_settings
from adjoin.inference.traces import ChainTrace
from adjoin.results.collection import Collection
from adjoin.results.discovered import Discovered, Trial
from adjoin.results.run import Run
from adjoin.version import __version__

SCHEMA = 5
_OLDEST, _PLAIN, _WEIGHTED = 1, 3, 4

_KEY_BITS = 63  # a term has at most so many factors, or its key would not fit
_LONGEST = 1e12  # seconds
_LATEST = 1e25  # of a clock, in seconds: the largest number of any signal
_SUM = 1e-9  # as far as weights may be from 1 in all


class SavedRun(NamedTuple):
    """The arguments of a `Collection`, in its order."""

    traces: tuple[ChainTrace, ...]
    run: Run
    chain_numbers: tuple[int, ...]
    weights: Mapping[int, float] | None = None
    discovered: Discovered | None = None


def write_run(saved: Collection | SavedRun, path: str | os.PathLike[str]) -> None:
    """Save a run, whole or not at all; the same run gives the same bytes.

    Raises
    ------
    AdjoinError
        If the file cannot be written, or the run is none that could be read back.
    """
    try:
        content, schema = _content(saved)
        # Better to hear now that it cannot be loaded than when the run is gone.
        _read_content(content)
    except AdjoinError as error:
        raise AdjoinError(f"cannot save the run: {error}") from None
    write_whole(path, seal(content, schema))


def _content(saved: Collection | SavedRun) -> tuple[bytes, int]:
    """A run as HDF5, and the schema that it is in."""
    import h5netcdf

    buffer, found = BytesIO(), saved.discovered
    schema = _PLAIN if saved.weights is None else _WEIGHTED
    schema = SCHEMA if found is not None else schema
    with h5netcdf.File(buffer, "w") as file:
        file.attrs.update(_root_attributes(saved.run, saved.chain_numbers, schema))
        if saved.weights is not None:
            weight = [float(saved.weights[number]) for number in saved.chain_numbers]
            file.attrs["weights"] = np.array(weight)
        _write_scaling(file.create_group("scaling"), saved.run.scaling)
        for name, data in (("data", saved.run.data), ("held_out", saved.run.held_out)):
            if data is not None:
                _write_dataset(file.create_group(name), data)
        for number, trace in zip(saved.chain_numbers, saved.traces, strict=True):
            write_trace(file.create_group(f"chain_{number}"), trace)
        if found is not None:
            trial, _ = _content(SavedRun(*found.trial))
            write_discovered(file.create_group("discovered"), found, trial)
    return buffer.getvalue(), schema


def read_run(path: str | os.PathLike[str]) -> SavedRun:
    """Read a saved run: ``Posterior(*read_run(path))`` equals the one that was saved.

    Raises
    ------
    AdjoinError
        If there is no such file, if it is damaged, not a saved run, or a newer adjoin's, and if
        something in it cannot be part of a run; it names the file and says what.
    """
    content = read_sealed(path, SCHEMA)
    try:
        return _read_content(content)
    except AdjoinError as error:
        raise AdjoinError(
            f"'{path}' is not a run as adjoin saves it: {error}; save the run again"
        ) from None


def _read_content(content: bytes, is_trial: bool = False) -> SavedRun:
    """A run of its content; a trial has none of its own, so that files cannot nest for ever."""
    import h5py

    try:
        with h5py.File(BytesIO(content), "r") as file:
            if is_trial and "discovered" in file:
                raise AdjoinError("discovered/trial must not have a trial of its own")
            return _read_root(StoredGroup(file))
    except OSError as error:  # a seal around what is not HDF5
        raise AdjoinError(f"it does not open as HDF5 ({error})") from None


def _root_attributes(run: Run, chain_numbers: tuple[int, ...], schema: int) -> dict[str, Any]:
    return {
        "title": "Posterior over equations of a dynamical system",
        "format": FORMAT,
        "schema_version": schema,
        "adjoin_version": __version__,
        "grammar": _text("the grammar", run.grammar.to_text()),
        "atoms": _atoms(run.encoding),
        "settings": _json("the settings", run.settings.plain),
        "timing": _json("the timing", run.timing),
        "power": float(run.settings.likelihood_power),
        "burn_in": float(run.settings.burn_in),
        "chains": np.array(chain_numbers, dtype=np.int64),
        "has_held_out": int(run.held_out is not None),
    }


def _read_root(root: StoredGroup) -> SavedRun:
    if root.text("format") != FORMAT or not _OLDEST <= root.whole("schema_version") <= SCHEMA:
        raise root.fault("format", f"must be {FORMAT} with schema_version {_OLDEST} to {SCHEMA}")
    grammar = Grammar.from_text(root.text("grammar"))
    signals = grammar.signals
    data = _read_dataset(root.child("data"), signals)
    # Before the atoms are listed: how many there are is then bounded by what the file holds.
    data.require_window(grammar.alphabet.max_lag)
    if grammar.alphabet.max_degree > _KEY_BITS:
        raise root.fault("grammar", f"has a max_degree beyond {_KEY_BITS}")
    encoding = Encoding(grammar.alphabet)
    if root.text("atoms") != _atoms(encoding):
        raise root.fault("atoms", "are not those of the grammar")
    chains = root.attribute("chains", INTEGER, (None,)).tolist()
    if not chains or chains != root.numbered("chain"):
        raise root.fault("chains", "must be the numbers of the groups chain_0, chain_1, …")
    has_held_out = root.whole("has_held_out")
    if has_held_out != int("held_out" in root.group):
        raise root.fault("has_held_out", "must say whether there is a group held_out")
    settings = _read_settings(root, grammar)
    traces = tuple(read_trace(root.child(f"chain_{number}"), encoding) for number in chains)
    objective = settings.objective
    has_ladder = objective.ladder is Tempered.TOLERANCE
    if {trace.ladder is not None for trace in traces} != {has_ladder}:
        raise root.fault(
            "settings",
            f"must have the objective '{objective.name}' only where"
            f" {'all' if has_ladder else 'none'} of the chains have a ladder",
        )
    if {trace.rho is not None for trace in traces} != {objective.noise is Noise.COLOURED}:
        raise root.fault("settings", "must have coloured noise only where all chains have its rho")
    scaling = _read_scaling(root.child("scaling"), signals)
    run = Run(
        grammar,
        Problem(data, grammar.alphabet, scaling, settings.is_residual, settings.runaway),
        settings,
        _read_timing(root),
        _read_dataset(root.child("held_out"), signals) if has_held_out else None,
    )
    weights = _read_weights(root, chains)
    return SavedRun(traces, run, tuple(chains), weights, _read_discovered(root, signals))


def _read_discovered(root: StoredGroup, signals: SignalNames) -> Discovered | None:
    """How the terms were found; None where nothing was compared."""
    if "discovered" not in root.group:
        return None
    group = root.child("discovered")
    trial = _read_content(read_trial(group), is_trial=True)
    if trial.run.held_out is None:
        raise group.fault("trial", "must have data that were held out")
    if trial.run.data.names.ordered[:-1] != signals.ordered[:-1]:
        raise group.fault("trial", "must be of the run's signals")
    return read_discovered(group, signals, Trial(trial.traces, trial.run, trial.chain_numbers))


def _read_weights(root: StoredGroup, chains: list[int]) -> dict[int, float] | None:
    """How much each chain counts; None where they were not weighted."""
    if "weights" not in root.group.attrs:
        return None
    weight = root.attribute("weights", FLOAT, (len(chains),))
    if not ((weight >= 0.0).all() and abs(weight.sum() - 1.0) < _SUM):
        raise root.fault("weights", "must be one number from 0 to 1 for each chain, 1 in all")
    return dict(zip(chains, weight.tolist(), strict=True))


def _read_settings(root: StoredGroup, grammar: Grammar) -> RunSettings:
    """The settings; what the first versions called osa is the prediction objective."""
    plain = root.mapping("settings")
    has_noise = grammar.alphabet.has_noise
    engine = find_engine(plain.pop("objective", PREDICTION.name), has_noise)
    plain["likelihood_power"] = root.number("power", 0.0, np.inf)
    plain["burn_in"] = root.number("burn_in", 0.0, 1.0)
    return read_settings(plain, engine.read_objective(plain), engine.read_own_settings)


def _read_timing(root: StoredGroup) -> dict[str, float]:
    timing = root.mapping("timing")
    if not all(is_real(seconds) and 0 <= seconds < _LONGEST for seconds in timing.values()):
        raise root.fault("timing", "must be numbers of seconds")
    return timing


def _write_dataset(group: Any, data: Dataset) -> None:
    _write_names(group, data.names)
    group.attrs["label"] = _text("the label", data.label)
    group.attrs["sampling_time"] = float(data.sampling_time or 0.0)  # 0: not known
    group.attrs["n_records"] = data.n_records
    said: dict[str, Any] = {"prepared": list(data.prepared), "units": list(data.units)}
    if data.timing is not None:  # beside the others, where earlier versions read over it
        said["timing"] = asdict(data.timing)
    group.attrs["preparation"] = _json("what was done to the data", said)
    for i, record in enumerate(data.records):
        part = group.create_group(f"record_{i}")
        # No signal can be called k, so no signal is taken for the coordinate of the others.
        for name, series in zip(data.names.inputs, record.inputs.T, strict=True):
            store(part, name, series, ("k",), f"input {name}")
        store(part, data.names.output, record.output, ("k",), f"output {data.names.output}")


def _read_dataset(group: StoredGroup, signals: SignalNames) -> Dataset:
    names = _read_names(group, signals)
    found = group.numbered("record")
    if not found or len(found) != group.whole("n_records"):
        raise group.fault("n_records", "must be the number of the groups record_0, record_1, …")
    return Dataset(
        tuple(_read_record(group.child(f"record_{i}"), names) for i in found),
        names,
        group.number("sampling_time", 0.0, np.inf) or None,
        group.text("label"),
        units=_texts(group, "units"),
        timing=_read_clock(group),
        prepared=_texts(group, "prepared"),
    )


def _read_clock(group: StoredGroup) -> Timing | None:
    """What the time column said of the samples; the first versions did not keep it."""
    if "preparation" not in group.group.attrs:
        return None
    found = group.mapping("preparation").get("timing")
    if found is None:
        return None
    kinds = {field.name: _KINDS[str(field.type)] for field in fields(Timing)}
    is_known = isinstance(found, dict) and "column" in found and found.keys() <= kinds.keys()
    if not (is_known and all(kinds[name](value) for name, value in found.items())):
        raise group.fault("preparation", "must have a timing as a time column has it")
    return Timing(**{**found, "starts": tuple(found.get("starts", ()))})


def _is_time(value: object) -> bool:
    """Whether it is a number of seconds, or of samples."""
    return is_real(value) and abs(float(value)) < _LATEST  # type: ignore[arg-type]


_KINDS: Mapping[str, Callable[[object], bool]] = {
    "str": lambda value: isinstance(value, str),
    "bool": lambda value: isinstance(value, bool),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    "float": lambda value: _is_time(value) and value >= 0.0,  # type: ignore[operator]
    "float | None": lambda value: value is None or (_is_time(value) and value > 0.0),  # type: ignore[operator]
    "tuple[float, ...]": lambda value: isinstance(value, list) and all(map(_is_time, value)),
}
"""What the fields of a `Timing` may hold, by their types."""


def _texts(group: StoredGroup, name: str) -> tuple[str, ...]:
    """Texts about the data; the first versions did not keep them."""
    if "preparation" not in group.group.attrs:
        return ()
    found = group.mapping("preparation").get(name, [])
    if not (isinstance(found, list) and all(isinstance(text, str) for text in found)):
        raise group.fault("preparation", "must have lists of texts")
    return tuple(found)


def _read_record(group: StoredGroup, names: SignalNames) -> Record:
    output = group.variable(names.output, FLOAT, (None,))
    series = [group.variable(name, FLOAT, output.shape) for name in names.inputs]
    values = np.column_stack([*series, output])
    if not np.isfinite(values).all():
        raise group.fault("", "must be finite everywhere")
    return Record(values[:, :-1], values[:, -1])


def _write_scaling(group: Any, scaling: Scaling) -> None:
    _write_names(group, scaling.names)
    store(group, "offset", scaling.offset, ("signal",), "o in (x - o) / s, inputs then output")
    store(group, "scale", scaling.scale, ("signal",), "s in (x - o) / s, inputs then output")


def _read_scaling(group: StoredGroup, signals: SignalNames) -> Scaling:
    names = _read_names(group, signals)
    shape = (len(names.inputs) + 1,)
    offset = group.variable("offset", FLOAT, shape)
    scale = group.variable("scale", FLOAT, shape)
    if not (np.isfinite([*offset, *scale]).all() and (scale > 0).all()):
        raise group.fault("scale", "must be positive, and it and the offset finite")
    return Scaling(names, offset, scale)


def _write_names(group: Any, names: SignalNames) -> None:
    group.attrs["inputs"] = ", ".join(names.inputs)
    group.attrs["output"], group.attrs["noise"] = names.output, names.noise


def _read_names(group: StoredGroup, signals: SignalNames) -> SignalNames:
    names = SignalNames(
        split_names(group.text("inputs")), group.text("output"), group.text("noise")
    )
    if names.ordered[:-1] != signals.ordered[:-1]:
        raise group.fault("inputs", "and output must be those of the grammar")
    return names


def _atoms(encoding: Encoding) -> str:
    """The atoms in the order of their numbers, by which keys are spelled."""
    return ", ".join(term_text((atom,)) for atom in encoding.atoms)


def _json(what: str, values: Mapping[str, Any]) -> str:
    try:
        return json.dumps(dict(values), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AdjoinError(f"{what} must be plain values ({error})") from None


def _text(what: str, text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise AdjoinError(f"{what} is not Unicode text ({error})") from None
    if "\0" in text:
        raise AdjoinError(f"{what} has a null character; take it out")
    return text
