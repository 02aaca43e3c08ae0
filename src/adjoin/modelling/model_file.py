"""Model files: one model as JSON that people can read and write too.

Receives a `Model`; writes and reads a file whose one truth is the equation:

    {
      "format": "adjoin model",
      "schema_version": 1,
      "equation": "y(k) = 0.5*u(k-1) + 0.3*y(k-1)",
      "inputs": ["u"],
      "output": "y",
      "noise": "e",
      "noise_sd": 0.1,
      "offsets": {"y": 293.15},
      "sampling_time": 0.01,
      "limits": [280.0, 310.0],
      "origin": {"run": "rig.nc", "data": "rig.csv", "seed": 0, "version": "0.1.0"}
    }

The equation is in deviations from the offsets; a free run that leaves the limits is lost. The
origin is the run that the model came from. All after `output` may be left out: the noise's name is
then `e`, its size and the sampling time unknown, the offsets zero, runs are not limited, and
nothing is known of an origin. Schema 1 had no limits, and 2 no origin; models without are written
in these.
"""

from __future__ import annotations

import json
import math
import os
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from adjoin.data.names import SignalNames
from adjoin.errors import AdjoinError
from adjoin.files import opened, write_whole
from adjoin.grammar.parser import read_equation
from adjoin.grammar.terms import Structure
from adjoin.modelling.origin import Origin, read_origin

if TYPE_CHECKING:
    from adjoin.model import Model

FORMAT, SCHEMA_VERSION = "adjoin model", 3
_REQUIRED = ("format", "schema_version", "equation", "inputs", "output")
_OPTIONAL = ("noise", "noise_sd", "offsets", "sampling_time", "limits", "origin")


class ModelFields(NamedTuple):
    """The arguments of a `Model`, in its order, and its origin."""

    structure: Structure
    theta: tuple[float, ...]
    noise_sd: float | None
    offsets: dict[str, float]
    limits: tuple[float, float] | None
    origin: Origin | None


def write_model(
    model: Model, path: str | os.PathLike[str], sampling_time: float | None = None
) -> None:
    """Write a model file, whole or not at all; `Model.read` gives back an equal one.

    Parameters
    ----------
    model : Model
        What to write.
    path : path
        Where to; a file that is there is replaced.
    sampling_time : float, optional
        Seconds between two samples of the data it is for; a remark in the file.
    """
    text = model_to_text(model, sampling_time)
    try:
        model_from_text(text)  # beyond the bounds of typed equations are models it cannot read
    except AdjoinError as error:
        raise AdjoinError(f"cannot write '{path}': {error}") from None
    write_whole(path, text)


def model_to_text(model: Model, sampling_time: float | None = None) -> str:
    """What a model file holds."""
    names = model.names
    fields: dict[str, Any] = {
        "format": FORMAT,
        "schema_version": 3 if model.origin is not None else 1 if model.limits is None else 2,
        "equation": model.format(None),
        "inputs": list(names.inputs),
        "output": names.output,
        "noise": names.noise,
        "noise_sd": None if model.noise_sd is None else float(model.noise_sd),
        "offsets": dict(model.offsets),
        "sampling_time": None if sampling_time is None else float(sampling_time),
    }
    if model.limits is not None:
        fields["limits"] = list(model.limits)
    if model.origin is not None:
        fields["origin"] = model.origin.plain
    return json.dumps(fields, indent=2) + "\n"


def read_model(path: str | os.PathLike[str]) -> ModelFields:
    """Read a model file: its last field is the origin, the others make a `Model`.

    Raises
    ------
    AdjoinError
        With the name of the file, for whatever is not a model file.
    """
    with opened(path) as file:
        content = file.read()
    try:
        return model_from_text(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        reason = f"it is not text in UTF-8 (byte {error.start})"
    except AdjoinError as error:
        reason = str(error)
    raise AdjoinError(f"'{path}' is not a model file that can be read: {reason}")


def model_from_text(text: str) -> ModelFields:
    """The arguments of the `Model` that a model file holds."""
    fields = _fields(text)
    inputs = fields["inputs"]
    if not (isinstance(inputs, list) and all(map(_is_text, inputs))):
        raise AdjoinError('"inputs" must be a list of names, such as ["u"]')
    output, equation = (_text(fields, name) for name in ("output", "equation"))
    names = SignalNames.declare(inputs, output)
    if "noise" in fields:
        names = SignalNames(names.inputs, output, _text(fields, "noise"))
    offsets = fields.get("offsets", {})
    if not (isinstance(offsets, dict) and all(map(_is_text, offsets))):
        raise AdjoinError('"offsets" must be numbers by signal name, such as {"y": 293.15}')
    for name, value in offsets.items():
        _require_number(f"the offset of '{name}'", value)
    noise_sd, sampling_time = fields.get("noise_sd"), fields.get("sampling_time")
    if noise_sd is not None:
        _require_number('"noise_sd"', noise_sd)
    if sampling_time is not None:
        _require_number('"sampling_time"', sampling_time)
        if sampling_time <= 0.0:
            raise AdjoinError(f'"sampling_time" must be positive, not {sampling_time!r}')
    limits = fields.get("limits")
    if limits is not None:
        if not (isinstance(limits, list) and len(limits) == 2):
            raise AdjoinError('"limits" must be two numbers, such as [280.0, 310.0]')
        for value in limits:
            _require_number("a limit", value)
        limits = limits[0], limits[1]
    origin = None if fields.get("origin") is None else read_origin(fields["origin"])
    found = read_equation(equation, names, is_respelled=False)
    return ModelFields(found.structure, found.theta, noise_sd, offsets, limits, origin)


def _fields(text: str) -> dict[str, Any]:
    """The fields of a model file of a known version, none missing and none unknown."""
    try:
        # Whole numbers as floats too: a huge one is then infinite, and refused as such.
        found = json.loads(
            text, parse_int=float, parse_constant=_refuse_constant, object_pairs_hook=_once
        )
    except json.JSONDecodeError as error:
        raise AdjoinError(
            f"it is not JSON: {error.msg} in line {error.lineno}, column {error.colno}"
        ) from None
    except RecursionError:
        raise AdjoinError("its brackets are nested too deeply") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise AdjoinError(f'it is JSON without "format": "{FORMAT}"; choose another file')
    version = found.get("schema_version")
    if not isinstance(version, float) or not version.is_integer() or version < 1:
        raise AdjoinError(f'"schema_version" must be from 1 to {SCHEMA_VERSION}, not {version!r}')
    if version > SCHEMA_VERSION:
        raise AdjoinError(
            f"it has schema version {version:.0f}, and this adjoin knows {SCHEMA_VERSION};"
            " update adjoin"
        )
    if missing := [name for name in _REQUIRED if name not in found]:
        raise AdjoinError(f'"{missing[0]}" is missing')
    if unknown := [name for name in found if name not in (*_REQUIRED, *_OPTIONAL)]:
        raise AdjoinError(
            f"it has an unknown field {unknown[0]!r}; known are {', '.join(_REQUIRED + _OPTIONAL)}"
        )
    return found


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON whose names are all different."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise AdjoinError(f"{name!r} is there twice")
        found[name] = value
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise AdjoinError(f"{text} is not a finite number")


def _text(fields: dict[str, Any], name: str) -> str:
    value = fields[name]
    if not _is_text(value):
        raise AdjoinError(f'"{name}" must be a text, not {value!r}')
    return str(value)


def _is_text(value: object) -> bool:
    """Whether a value is a text that can be printed; JSON allows halves of characters."""
    return isinstance(value, str) and not any("\ud800" <= c <= "\udfff" for c in value)


def _require_number(what: str, value: object) -> None:
    if not (isinstance(value, float) and math.isfinite(value)):
        raise AdjoinError(f"{what} must be a finite number, not {value!r}")
