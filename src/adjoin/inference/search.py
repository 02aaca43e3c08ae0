"""How a chain searches beside the nine moves: informed moves, flips, rungs of powers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from adjoin.checks import is_real, require_count
from adjoin.errors import AdjoinError
from adjoin.inference.tempering import HOTTEST


@dataclass(frozen=True)
class Search:
    """Settings of informed moves and of tempering; the defaults are the nine moves alone.

    Parameters
    ----------
    candidates : int
        Terms in the pool of informed moves; 0: there are none.
    moves : int
        Informed moves in a sweep.
    interval : int
        Samples between two sweeps, and between two exchanges of rungs.
    rungs : int
        Powers of the likelihood, the run's own included; 1: no tempering.
    hottest : float
        The smallest of these powers, as a share of the run's own.
    screenings : int
        How often in the burn-in pool and rungs are chosen again: at its end, at half of it, at a
        quarter, and so on.
    flips : int
        How many groups of terms are proposed to be exchanged before each sweep, where structures
        are known whose differences they are.
    """

    candidates: int = 0
    moves: int = 10
    interval: int = 10
    rungs: int = 1
    hottest: float = HOTTEST
    screenings: int = 5
    flips: int = 0

    def __post_init__(self) -> None:
        for name in ("candidates", "flips"):
            if getattr(self, name) != 0:
                require_count(f"search: {name}", getattr(self, name))
        for name in ("moves", "interval", "rungs", "screenings"):
            require_count(f"search: {name}", getattr(self, name))
        if not (is_real(self.hottest) and 0.0 < self.hottest < 1.0):
            raise AdjoinError(f"search: hottest must be between 0 and 1, not {self.hottest!r}")

    @classmethod
    def read(
        cls, given: Search | Mapping[str, Any] | None, default: Search | None = None
    ) -> Search:
        """A user's choice: None (the engine's `default`), or settings by name that differ."""
        default = cls() if default is None else default
        if given is None:
            return default
        if isinstance(given, Search):
            return given
        if not isinstance(given, Mapping):
            raise AdjoinError(f"search must be settings by name, not {given!r}")
        known = [field.name for field in fields(cls)]
        if strangers := [name for name in given if name not in known]:
            raise AdjoinError(
                f"search has no setting '{strangers[0]}'; there are {', '.join(known)}"
            )
        return replace(default, **given)

    @property
    def plain(self) -> dict[str, Any]:
        """By name."""
        return asdict(self)

    @property
    def changes_terms(self) -> bool:
        """Whether there are moves beside the nine that change the structure."""
        return self.candidates > 0 or self.flips > 0

    @property
    def is_plain(self) -> bool:
        """Whether there are the nine moves only."""
        return self.candidates == 0 and self.rungs == 1 and self.flips == 0

    def adaptations(self, n_burn_in: int) -> tuple[int, ...]:
        """After how many samples pool and rungs are chosen: multiples of the interval."""
        if self.is_plain:
            return ()
        rounds = [n_burn_in // self.interval >> i for i in range(self.screenings)]
        return tuple(sorted({0, *(self.interval * n for n in rounds)}))


@dataclass(frozen=True)
class SearchSettings:
    """The own settings of an engine that has nothing but a way to search."""

    search: Search

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has."""
        return {"search": self.search.plain}

    @classmethod
    def read(cls, values: Mapping[str, Any], default: Search | None = None) -> SearchSettings:
        """From plain values; what is missing has its default."""
        if strangers := set(values) - {"search"}:
            raise AdjoinError(f"settings: '{min(strangers)}' is not known")
        return cls(Search.read(values.get("search"), default))
