"""How a run was called, and how the next one is: whole command lines, and calls of Python.

Receives a `Sample`, whose settings know the call; gives an `Origin`, which spells ``steps``. What
was read from files goes on at the terminal, and what came from arrays in Python; every argument of
the present run is kept but for those that change.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adjoin.inference.objective import SIMULATION
from adjoin.inference.stages import AUTO
from adjoin.results.sample import Sample

FIT, DISCOVER, CHECK = "fit", "discover", "check"
"""The commands that a step may ask for."""

READING = ("inputs", "output", "sampling_time", "decimal")
PREPARING = ("decimate", "detrend", "fill")
_OF_DISCOVER = ("validation", "max_lag", "max_degree", "functions", "initial", "effort", "seed")
_TO_DISCOVER = ("functions", "initial", "jobs", "n_jobs")
_ONLY_OF_PREDICTION = ("past_noise", "max_samples", "time_limit", "search", "rungs")
_OF_CLASS = ("max_lag", "max_degree", "functions", "constant")  # what a grammar of one's own says
_KEPT_AS = "discovered.nc"
_LONGEST_SEED = 10  # digits: longer ones were drawn, and nobody typed them
_UNNAMED = re.compile(r"<[^>]*>")  # a distance without a name
_DEFAULTS = {"effort": "normal", "seed": 0}  # of discover, where not None or empty


@dataclass(frozen=True)
class Origin:
    """How a run was called.

    Parameters
    ----------
    command : str
        ``fit`` or ``discover``.
    files : tuple of str
        What was read; empty where the data came from Python.
    options : mapping
        Options of the command line by their names as arguments, such as ``{"max_lag": 3}``; of
        Python, the source text of the arguments.
    is_split : bool
        Whether something was held out.
    """

    command: str = FIT
    files: tuple[str, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    is_split: bool = False

    @property
    def is_of_files(self) -> bool:
        """Whether it goes on at the terminal."""
        return bool(self.files)

    def allows(self, changes: Mapping[str, Any]) -> bool:
        """Whether the command that made the run knows these options."""
        if self.command == FIT:
            return "grammar" not in self.options or not set(_OF_CLASS) & set(changes)
        return set((*_OF_DISCOVER, *READING, *PREPARING)).issuperset(changes)

    def spell(self, command: str, changes: Mapping[str, Any]) -> str:
        """The command, or the call, with all that is kept; a change to None takes one away."""
        return self._line(command, changes) if self.is_of_files else self._call(command, changes)

    def _kept(self, command: str, changes: Mapping[str, Any]) -> dict[str, Any]:
        known = tuple(self.options)
        if command != self.command:
            known = (*READING, *PREPARING, *(_TO_DISCOVER if command == DISCOVER else ()))
        found = {name: value for name, value in self.options.items() if name in known}
        if str(changes.get("objective")).strip("'") == SIMULATION.name:
            found = {k: v for k, v in found.items() if k not in _ONLY_OF_PREDICTION}
            if str(found.get("samples")).strip("'") == AUTO:
                del found["samples"]
        found |= changes
        if self.is_of_files and changes.get("decimate"):  # once more
            found["decimate"] = changes["decimate"] * self.options.get("decimate", 1)
        return {name: value for name, value in found.items() if value is not None}

    def _line(self, command: str, changes: Mapping[str, Any]) -> str:
        words = ["adjoin", command, *self.files]
        for name, value in self._kept(command, changes).items():
            option = name.replace("_", "-")
            if isinstance(value, bool):
                words.append(f"--{option}" if value else f"--no-{option}")
            else:
                words += [f"--{option}", str(value)]
        if command == DISCOVER:  # which takes long: what it finds is not to be lost
            words += ["--out", _KEPT_AS]
        return shlex.join(words)

    def _call(self, command: str, changes: Mapping[str, Any]) -> str:
        of_data = {name: changes[name] for name in (*PREPARING, "validation") if name in changes}
        plain = {name: value for name, value in changes.items() if name not in of_data}
        if {"inputs", "output"} & set(plain):
            return ""  # only the user knows where the arrays came from
        plain = {name: value if value is None else repr(value) for name, value in plain.items()}
        if "constant" in plain:
            plain |= {"constant": None, "prior": self._prior_with_constant()}
        how = "".join(
            f".{name}()" if value is True else f".{name}({value!r})"
            for name, value in of_data.items()
            if name != "validation"
        )
        given = ", ".join(f"{k}={v}" for k, v in self._kept(command, plain).items())
        if command == CHECK:
            return f"adjoin.check_data({'train' if self.is_split else 'data'}{how})"
        if command == DISCOVER:
            return f"adjoin.discover(data{how}{', ' if given else ''}{given})"
        fit = f"adjoin.Identifier({given}).fit"
        if "validation" in of_data:
            share = 1.0 - float(of_data["validation"])
            split = f"train, validation = data{how}.split({share:g}); "
            return f"{split}{fit}(train, held_out=validation)"
        if self.is_split:
            return f"{fit}(train{how}, held_out=validation{how})"
        return f"{fit}(data{how})"

    def _prior_with_constant(self) -> str | None:
        """The source of the same prior where constants may be; None is the default one."""
        found = ast.parse(str(self.options.get("prior", "'paper'")), mode="eval").body
        if not isinstance(found, ast.Call):
            return None
        found.keywords = [one for one in found.keywords if one.arg != "constant_odds"]
        return ast.unparse(found) if found.keywords else None


def origin_of(posterior: Sample) -> Origin:
    """How this posterior was made."""
    settings, discovered = posterior.settings, posterior.discovered
    is_split = posterior.held_out is not None
    if discovered is not None:
        asked = {
            name: discovered.settings[name]
            for name in _OF_DISCOVER
            if discovered.settings.get(name) not in (None, "", (), [], _DEFAULTS.get(name))
        }
        if settings.data and settings.options is not None:
            return Origin(DISCOVER, settings.data, dict(settings.options))
        return Origin(DISCOVER, (), {name: repr(value) for name, value in asked.items()})
    if settings.data and settings.options is not None:
        return Origin(FIT, settings.data, dict(settings.options), is_split)
    if settings.keeps_terms:  # whoever fixed all terms has compared others, or may
        return Origin(DISCOVER)
    return Origin(FIT, (), _arguments(settings.call), is_split)


def _arguments(call: str) -> dict[str, str]:
    """The source text of every argument of a call."""
    tree = ast.parse(f"f({_UNNAMED.sub('distance', call)})", mode="eval").body
    assert isinstance(tree, ast.Call)
    found = {str(one.arg): ast.unparse(one.value) for one in tree.keywords}
    if len(found.get("seed", "")) > _LONGEST_SEED:
        del found["seed"]
    return found
