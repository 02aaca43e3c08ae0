"""How a run was made: typed values for the package, plain ones for files and people.

Receives the arguments of an `Identifier` as they were understood; goes with the posterior into its
file, its JSON and its page. Whoever decides by a setting reads an attribute; the mapping is there
for display and scripts: ``posterior.settings["seed"]``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Protocol

from adjoin.checks import is_real
from adjoin.errors import AdjoinError
from adjoin.inference.moves import Moves
from adjoin.inference.objective import PREDICTION, Objective
from adjoin.inference.prior import FIRST, Prior

JOINT, RESIDUAL = "joint", "residual"
"""How the coefficients of fixed terms are found: with all others, or before them, to stay."""

RUNAWAY = 10.0
"""Times half the range of the fitted output, from its middle: a free run beyond is lost."""


class OwnSettings(Protocol):
    """Settings that one engine alone has: a frozen class of the engine's module."""

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has."""


@dataclass(frozen=True)
class NoSettings:
    """Of an engine that has none of its own."""

    @property
    def plain(self) -> dict[str, Any]:
        """Nothing."""
        return {}


@dataclass(frozen=True)
class RunSettings(Mapping[str, Any]):
    """All settings of a run.

    Most fields are arguments of `Identifier` by the same name, as they came out: `likelihood_power`
    is a number even where it was estimated (`power_note` says how, and `is_power_refused` whether
    it could not be), and `center` says whether anything was; `center_gain` is by how many nats the
    best posterior of deviations was above that of raw signals, where that decided. `grammar` is
    the grammar's name, `call` the arguments that make the run again, as text; `data` and
    `validation` are what the command line was given, and `options` all that was typed there but for
    where results go, by name (None: nobody knows). `own_settings` is what the engine alone has.
    `is_auto`: the samples were drawn in `stages`, each with how far its chains agreed; `samples`
    and the engine's settings are of the last, and `ended_by` says why there was none after it:
    ``agreement``, ``max_samples``, ``climbing``, ``time_limit`` or ``interrupt``. `left_out` says
    which chains are not part of the posterior, and why.
    """

    objective: Objective = PREDICTION
    inputs: tuple[str, ...] = ()
    output: str = ""
    grammar: str = ""
    max_lag: int = 0
    max_degree: int = 0
    functions: tuple[str, ...] = ()
    initial: str | None = None
    initial_mode: str = JOINT
    samples: int = 0
    burn_in: float = 0.5
    thin: int = 1
    chains: int = 0
    seed: int | None = None
    prior: Prior = field(default_factory=Prior)
    moves: Moves = field(default_factory=Moves)
    center: bool = False
    scale: bool = False
    center_gain: float | None = None
    likelihood_power: float = 1.0
    is_power_estimated: bool = False
    is_power_refused: bool = False
    power_note: str = ""
    is_complete: bool = True
    call: str = ""
    data: tuple[str, ...] = ()
    validation: float | None = None
    options: Mapping[str, Any] | None = None
    runaway: float = RUNAWAY
    is_auto: bool = False
    stages: tuple[Mapping[str, Any], ...] = ()
    ended_by: str = ""
    left_out: tuple[str, ...] = ()
    own_settings: OwnSettings = field(default_factory=NoSettings)

    @property
    def is_residual(self) -> bool:
        """Whether fixed terms kept the coefficients of their own fit."""
        return self.initial_mode == RESIDUAL

    @property
    def keeps_terms(self) -> bool:
        """Whether no move changed the structure: there are the fixed terms and nothing else."""
        search = self.own_settings.plain.get("search") or {}
        is_informed = search.get("candidates", 0) > 0 or search.get("flips", 0) > 0
        return self.moves.keep_terms and not is_informed

    @property
    def plain(self) -> dict[str, Any]:
        """By name, as values that JSON has; the engine's own first."""
        found = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "own_settings"}
        found |= {name: list(value) for name, value in found.items() if isinstance(value, tuple)}
        typed = {
            "objective": self.objective.name,
            "prior": self.prior.settings,
            "moves": self.moves.probabilities,
            "runaway": "inf" if self.runaway == math.inf else self.runaway,  # as JSON has none
        }
        return self.own_settings.plain | found | typed

    def __getitem__(self, name: str) -> Any:
        return self.plain[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.plain)

    def __len__(self) -> int:
        return len(self.plain)


def read_settings(
    values: Mapping[str, Any],
    objective: Objective,
    read_own: Callable[[Mapping[str, Any]], OwnSettings],
) -> RunSettings:
    """The settings that `RunSettings.plain` gave; what is missing has its default.

    `read_own` makes the engine's own of what is not common to all.

    Raises
    ------
    AdjoinError
        That names the setting, where a value is none that a run could have.
    """
    known = {f.name for f in fields(RunSettings)} - {"own_settings"}
    found = {name: value for name, value in values.items() if name in known}
    own_settings = read_own({name: value for name, value in values.items() if name not in known})
    if found.get("runaway") == "inf":
        found["runaway"] = math.inf
    for name, value in found.items():
        if name in _KINDS and not _KINDS[name](value):
            raise AdjoinError(f"settings: {name} cannot be {value!r}")
    listed = ("inputs", "functions", "data", "stages", "left_out")
    found |= {name: tuple(found[name]) for name in listed if name in found}
    if "prior" in found:
        found["prior"] = _read_prior(found["prior"])
    if "moves" in found:
        found["moves"] = Moves.read(found["moves"])
    return RunSettings(**{**found, "objective": objective, "own_settings": own_settings})


def _read_prior(values: Any) -> Prior:
    known = {f.name for f in fields(Prior)}
    if not (isinstance(values, dict) and known.issuperset(values)):
        raise AdjoinError("settings: must have a prior of known hyperparameters")
    # What a prior has got since was not there in runs of the first version.
    return Prior(**{**FIRST, **values})  # refuses values that mean nothing


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_flag(value: object) -> bool:
    return isinstance(value, bool)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def is_runaway(value: object) -> bool:
    """Whether a value is a number of half ranges beyond which a run can be called lost."""
    return is_real(value) and float(value) > 1.0  # type: ignore[arg-type]


def _or_none(check: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: value is None or check(value)


_KINDS: dict[str, Callable[[object], bool]] = {
    **dict.fromkeys(("output", "grammar", "call", "power_note", "ended_by"), _is_text),
    **dict.fromkeys(("max_lag", "max_degree", "samples", "thin", "chains"), _is_whole),
    **dict.fromkeys(("inputs", "functions", "data", "left_out"), _are_texts),
    **dict.fromkeys(
        ("center", "scale", "is_power_estimated", "is_power_refused", "is_complete", "is_auto"),
        _is_flag,
    ),
    **dict.fromkeys(("burn_in", "likelihood_power"), is_real),
    "moves": lambda value: isinstance(value, dict),
    "options": lambda value: value is None or isinstance(value, dict),
    "initial": _or_none(_is_text),
    "initial_mode": lambda value: value in (JOINT, RESIDUAL),
    "seed": _or_none(_is_whole),
    **dict.fromkeys(("validation", "center_gain"), _or_none(is_real)),
    "runaway": is_runaway,
    "stages": lambda value: isinstance(value, list) and all(isinstance(v, dict) for v in value),
}
