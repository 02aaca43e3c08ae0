"""Arrays, texts and numbers in the groups of a netCDF-4 file, and out of them.

`store` writes a variable, `store_all` those of a layout. `StoredGroup` reads, and believes nothing
before it is checked: it hands on values of exactly the type and shape asked for. Everything h5py
can object to becomes an `AdjoinError` here, in `_reading`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adjoin.errors import AdjoinError

FLOAT, INTEGER = "<f8", "<i8"

# Deflate writes at least 2 bits for 258 bytes. Whatever claims to have shrunk further was never
# written, only declared, and would take memory that the file does not account for.
_LARGEST_EXPANSION = 1032

_SMALL = 4096  # bytes; packing less does not pay
_CHUNK = 131_072  # values, a megabyte


class Series(NamedTuple):
    """What a variable is: its type, its dimensions and what it says."""

    dtype: str
    dimensions: tuple[str, ...]
    about: str


Layout = Mapping[str, Series]
"""Variables of a group by name; the first one with a dimension sets its length."""


def store(group: Any, name: str, values: Any, dimensions: Sequence[str], about: str) -> None:
    """Write a variable into an h5netcdf group, packed where that pays."""
    array = np.asarray(values)
    array = array.astype(FLOAT if array.dtype.kind == "f" else INTEGER)
    packing: dict[str, Any] = {}
    if array.ndim == 1 and array.nbytes > _SMALL:
        packing = {"chunks": (min(array.size, _CHUNK),), "compression": "gzip"}
        packing |= {"compression_opts": 4, "shuffle": True}
    variable = group.create_variable(name, tuple(dimensions), data=array, **packing)
    variable.attrs["long_name"] = about


def store_all(group: Any, layout: Layout, values: Mapping[str, Any]) -> None:
    """Write the variables of a layout into an h5netcdf group."""
    for name, series in layout.items():
        store(group, name, values[name], series.dimensions, series.about)


@dataclass(frozen=True)
class StoredGroup:
    """A group, its variables and its attributes; errors call them by their place in the file."""

    group: Any

    def fault(self, name: str, what: str) -> AdjoinError:
        """An error that names the place."""
        place = self.group.name.strip("/")
        return AdjoinError(f"{place}{'/' if place else ''}{name} {what}")

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Whatever h5py raises on content that it cannot make sense of."""
        try:
            yield
        except AdjoinError:
            raise
        except KeyError:
            raise self.fault(name, "is missing") from None
        except (OSError, ValueError, TypeError, RuntimeError) as error:
            raise self.fault(name, f"cannot be read ({error})") from None

    def child(self, name: str) -> StoredGroup:
        """The group of that name."""
        import h5py

        with self._reading(name):
            found = self.group[name]
            if not isinstance(found, h5py.Group):
                raise self.fault(name, "must be a group")
            return StoredGroup(found)

    def numbered(self, kind: str) -> list[int]:
        """The numbers i of all groups called ``kind_i``, ascending."""
        with self._reading(kind):
            found = [re.fullmatch(rf"{kind}_([0-9]{{1,9}})", name) for name in self.group]
        return sorted(int(match[1]) for match in found if match)

    def variable(self, name: str, dtype: str, shape: Sequence[int | None]) -> np.ndarray:
        """The values of a variable of that type and shape, where None stands for any length."""
        import h5py

        with self._reading(name):
            found = self.group[name]
            if not isinstance(found, h5py.Dataset):
                raise self.fault(name, "must be a variable")
            self._require(name, found, dtype, shape)
            if found.size * found.dtype.itemsize > _LARGEST_EXPANSION * found.id.get_storage_size():
                raise self.fault(name, f"claims {found.size} values that the file does not hold")
            return np.asarray(found[()], dtype=np.dtype(dtype).newbyteorder("="))

    def variables(self, layout: Layout, lengths: Mapping[str, int]) -> dict[str, np.ndarray]:
        """The values of a layout's variables, whose dimensions agree and have these lengths."""
        known, found = dict(lengths), {}
        for name, series in layout.items():
            shape = [known.get(dimension) for dimension in series.dimensions]
            found[name] = self.variable(name, series.dtype, shape)
            known.update(zip(series.dimensions, found[name].shape, strict=True))
        return found

    def require_nested(self, name: str, counts: np.ndarray, most: np.ndarray | int) -> None:
        """Refuse counts unless each is a part of the one before, and the first of `most`."""
        is_nested = (counts[..., 1:] <= counts[..., :-1]).all() and (counts[..., -1] >= 0).all()
        if not (is_nested and (counts[..., 0] <= most).all()):
            raise self.fault(name, "must have counts, each a part of the one before it")

    def attribute(self, name: str, dtype: str, shape: Sequence[int | None] = (1,)) -> np.ndarray:
        """The numbers in an attribute of that type and shape."""
        with self._reading(name):
            self._require(name, self.group.attrs.get_id(name), dtype, shape)
            return np.asarray(self.group.attrs[name], dtype=np.dtype(dtype).newbyteorder("="))

    def _require(self, name: str, found: Any, dtype: str, shape: Sequence[int | None]) -> None:
        if found.dtype != np.dtype(dtype):
            raise self.fault(name, f"must be of type {np.dtype(dtype)}, not {found.dtype}")
        # An empty dataspace has no shape at all.
        own = found.shape if found.shape is not None else ("none",)
        is_alike = len(own) == len(shape) and all(
            wanted in (None, length) for wanted, length in zip(shape, own, strict=True)
        )
        if not is_alike:
            asked = ", ".join("any" if length is None else str(length) for length in shape)
            raise self.fault(name, f"must be of shape ({asked}), not {found.shape}")

    def whole(self, name: str) -> int:
        """The whole number in an attribute."""
        return int(self.attribute(name, INTEGER)[0])

    def number(self, name: str, low: float, high: float) -> float:
        """The number in an attribute, low ≤ number < high."""
        value = float(self.attribute(name, FLOAT)[0])
        if not low <= value < high:
            raise self.fault(name, f"must be from {low:g} to below {high:g}, not {value}")
        return value

    def text(self, name: str) -> str:
        """The text in an attribute."""
        with self._reading(name):
            value = self.group.attrs[name] if not self.group.attrs.get_id(name).shape else None
            if not isinstance(value, str):
                raise self.fault(name, "must be one text")
            value.encode("utf-8")  # what h5py could not decode cannot be encoded either
            return value

    def mapping(self, name: str) -> dict[str, Any]:
        """The JSON object in an attribute."""
        try:
            value = json.loads(self.text(name), parse_constant=refuse_constant)
        except AdjoinError:
            raise
        except (ValueError, RecursionError) as error:
            raise self.fault(name, f"is not JSON ({error})") from None
        if not isinstance(value, dict):
            raise self.fault(name, "must be a JSON object")
        return value


def refuse_constant(constant: str) -> None:
    """NaN and Infinity are Python's own, not JSON."""
    raise ValueError(constant)
