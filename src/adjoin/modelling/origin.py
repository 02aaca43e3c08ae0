"""Where a model came from: the run, its data, its seed, and the version that made it.

Receives what a posterior knows of its run; goes with the model into files and exported code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from adjoin.errors import AdjoinError

_LARGEST = 2**53  # whole numbers from here on are no longer exact in JSON


@dataclass(frozen=True)
class Origin:
    """The run that a model is of.

    Parameters
    ----------
    run : str
        What the saved run is called, if it was saved.
    data : str
        What the data are called that it was fitted to.
    seed : int, optional
        Of the run.
    version : str
        Of adjoin when the model was taken out of the run.
    """

    run: str = ""
    data: str = ""
    seed: int | None = None
    version: str = ""

    @property
    def in_words(self) -> str:
        """Such as ``the run rig.nc of rig.csv, seed 0, by adjoin 0.1.0``."""
        who = f"the run {self.run}" if self.run else "a run"
        parts = [f"{who} of {self.data}" if self.data else who]
        parts += [f"seed {self.seed}"] if self.seed is not None else []
        parts += [f"by adjoin {self.version}"] if self.version else []
        return ", ".join(parts)

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has; no seed that its numbers cannot hold."""
        seed = self.seed if self.seed is None or self.seed < _LARGEST else None
        return {"run": self.run, "data": self.data, "seed": seed, "version": self.version}


def read_origin(values: object) -> Origin:
    """The origin that `Origin.plain` gave.

    Raises
    ------
    AdjoinError
        Where a value is none that an origin could have.
    """
    if not (isinstance(values, dict) and set(values) <= {"run", "data", "seed", "version"}):
        raise AdjoinError('"origin" must have "run", "data", "seed" and "version" and nothing else')
    for name in ("run", "data", "version"):
        if not isinstance(values.get(name, ""), str):
            raise AdjoinError(f'"origin": "{name}" must be a text, not {values[name]!r}')
    seed = values.get("seed")
    if seed is not None:
        if not (isinstance(seed, float) and seed.is_integer() and 0 <= seed < _LARGEST):
            raise AdjoinError(f'"origin": "seed" must be a whole number, not {seed!r}')
        seed = int(seed)
    texts = {name: values.get(name, "") for name in ("run", "data", "version")}
    return Origin(seed=seed, **texts)
