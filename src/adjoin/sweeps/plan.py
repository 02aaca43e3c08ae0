"""What is to be swept: data sets, settings with their grids, and seeds, read from a file.

Receives a TOML file or a mapping of the same shape; gives a `Plan` whose every key is known. That
files can be read and values mean something is `checked`.
"""

from __future__ import annotations

import inspect
import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from adjoin.checks import is_real
from adjoin.discovery.discovery import prepare_work
from adjoin.errors import AdjoinError
from adjoin.exchange.data_files import read_tables
from adjoin.files import opened
from adjoin.inference.options import identifier_arguments
from adjoin.text import brief

FIT, DISCOVER = "fit", "discover"
_TOP = ("data", "settings", "seeds")
_OF_RUNS = ("data", "seed", "validation", "n_jobs", "observe")  # no options of a setting


def _arguments(function: Any, but: Sequence[str] = ()) -> tuple[str, ...]:
    return tuple(name for name in inspect.signature(function).parameters if name not in but)


OPTIONS = {
    FIT: _arguments(identifier_arguments),
    DISCOVER: _arguments(prepare_work, _OF_RUNS),
}
"""What a setting may say, by its command."""
READING = _arguments(read_tables, ("files",))
"""How the files of a data set are read and prepared."""
_OF_DATA = ("file", "validation", "test", *READING)
_ELSEWHERE = {
    "seed": "seeds are at the top of the plan: seeds = [0, 1, 2]",
    "jobs": "every job is one process; how many there are at a time is said to the sweep",
    "validation": "what is held out is said of the data set",
    "report": "adjoin report makes the page of any run of the sweep",
}


@dataclass(frozen=True)
class Source:
    """A data set of a plan.

    Parameters
    ----------
    name : str
    files : tuple of str
        One or more, absolute.
    reading : mapping
        How they are read and prepared.
    validation : float or tuple of str or None
        The share that is held out, or the files that are.
    test : tuple of str
        Files that are scored and never fitted.
    """

    name: str
    files: tuple[str, ...]
    reading: Mapping[str, Any] = field(default_factory=dict)
    validation: float | tuple[str, ...] | None = None
    test: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """A command, the options that all its jobs have, and those that are tried one by one."""

    name: str
    command: str
    options: Mapping[str, Any]
    grid: Mapping[str, tuple[Any, ...]]


@dataclass(frozen=True)
class Plan:
    """All of it; `title` is what errors call it."""

    title: str
    sources: tuple[Source, ...]
    settings: tuple[Setting, ...]
    seeds: tuple[int, ...]


@contextmanager
def at(*places: str) -> Iterator[None]:
    """Let errors begin with where in the plan they are."""
    try:
        yield
    except AdjoinError as error:
        raise AdjoinError(f"{', '.join(filter(None, places))}: {error}") from None


def read_plan(given: str | os.PathLike[str] | Mapping[str, Any]) -> Plan:
    """Read a plan from a TOML file, or take a mapping of the same shape.

    Files are found from the folder of the plan; those of a mapping, from the current one.
    """
    if isinstance(given, Mapping):
        return _plan("the plan", given, Path.cwd())
    path = Path(given)
    with opened(path) as stream:
        content = stream.read()
    try:
        found = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise AdjoinError(f"'{path}' is no text of UTF-8; a plan is a TOML file") from None
    except tomllib.TOMLDecodeError as error:
        raise AdjoinError(
            f"'{path}' is no TOML: {error}; adjoin sweep --example prints a plan"
        ) from None
    return _plan(path.name, found, path.resolve().parent)


def _plan(title: str, given: Mapping[str, Any], folder: Path) -> Plan:
    with at(title):
        require_known(given, _TOP)
        sources = tuple(
            _source(name, table, folder) for name, table in _tables(given, "data", "data set")
        )
        settings = tuple(
            _setting(name, table, folder) for name, table in _tables(given, "settings", "setting")
        )
        return Plan(title, sources, settings, _seeds(given.get("seeds", (0,))))


def require_known(given: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse names that nothing is called, with the nearest that something is."""
    for name in given:
        if name not in known:
            meant = get_close_matches(str(name), known, n=1)
            hint = f"do you mean '{meant[0]}'?" if meant else f"there are {', '.join(known)}"
            raise AdjoinError(f"there is no '{brief(name)}' here; {hint}")


def _tables(
    given: Mapping[str, Any], key: str, noun: str
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    found = given.get(key)
    if not isinstance(found, Mapping) or not found:
        raise AdjoinError(
            f"there is no {noun}: a plan has at least one table [{key}.name], with a name of your"
            " choice; adjoin sweep --example prints a plan"
        )
    for name, table in found.items():
        if not isinstance(table, Mapping):
            raise AdjoinError(f"'{name}' of {key} is {brief(table)}, not a table [{key}.{name}]")
        if not str(name).strip():
            raise AdjoinError(f"a {noun} has no name; write [{key}.name]")
    return found.items()


def _source(name: str, given: Mapping[str, Any], folder: Path) -> Source:
    with at(f"[data.{name}]"):
        given = _underscored(given)
        require_known(given, _OF_DATA)
        if "file" not in given:
            raise AdjoinError("there is no file; say which, such as file = 'rig.csv'")
        reading = {key: given[key] for key in READING if given.get(key) is not None}
        for key, value in reading.items():
            reading[key] = _reading(key, value)
        share = given.get("validation")
        if share is not None and not is_real(share):
            share = _files("validation", share, folder)
        elif share is not None and not 0.0 < share < 1.0:
            raise AdjoinError(f"validation is a share between 0 and 1, or a file, not {share!r}")
        test = given.get("test")
        return Source(
            name,
            _files("file", given["file"], folder),
            reading,
            share,
            () if test is None else _files("test", test, folder),
        )


def _reading(key: str, value: Any) -> Any:
    """How to read, checked by kind; that it fits the file is found out when it is read."""
    if key == "inputs" and isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    is_text = key in ("inputs", "output", "decimal")
    is_flag = key == "detrend"
    if isinstance(value, str) != is_text or isinstance(value, bool) != is_flag:
        raise AdjoinError(f"{key} cannot be {value!r}")
    if not (is_text or is_flag) and not (is_real(value) and value >= 0):
        raise AdjoinError(f"{key} must be a number from 0 on, not {value!r}")
    if key in ("decimate", "fill") and not isinstance(value, int):
        raise AdjoinError(f"{key} must be a whole number, not {value!r}")
    return value


def _files(key: str, given: Any, folder: Path) -> tuple[str, ...]:
    names = given if isinstance(given, list | tuple) else [given]
    if not names or not all(isinstance(name, str | os.PathLike) for name in names):
        raise AdjoinError(f"{key} must be a file, or a list of files, not {given!r:.60}")
    return tuple(os.fspath((folder / name).resolve()) for name in names)


def _setting(name: str, given: Mapping[str, Any], folder: Path) -> Setting:
    with at(f"[settings.{name}]"):
        rest = _underscored(given)
        command = rest.pop("command", FIT)
        if command not in OPTIONS:
            raise AdjoinError(f"command must be '{FIT}' or '{DISCOVER}', not {command!r}")
        for key, words in _ELSEWHERE.items():
            if key in rest:
                raise AdjoinError(f"'{key}' is no option of a setting: {words}")
        require_known(rest, OPTIONS[command])
        if "grammar" in rest:
            files = _files("grammar", rest["grammar"], folder)
            rest["grammar"] = list(files) if len(files) > 1 else files[0]
        grid = {key: tuple(value) for key, value in rest.items() if isinstance(value, list | tuple)}
        for key, values in grid.items():
            if not values or len(set(map(repr, values))) < len(values):
                raise AdjoinError(f"{key} = {list(values)} must be different values, at least one")
        fixed = {key: value for key, value in rest.items() if key not in grid}
        for key, value in (*fixed.items(), *((k, v) for k, all_ in grid.items() for v in all_)):
            if not isinstance(value, str | int | float | bool | None):
                raise AdjoinError(f"{key} cannot be {value!r:.60}: text, a number, true or false")
        return Setting(name, command, fixed, grid)


def _underscored(given: Mapping[str, Any]) -> dict[str, Any]:
    """Options by their names in Python: ``max-lag`` of the command line is ``max_lag``."""
    return {str(key).replace("-", "_"): value for key, value in given.items()}


def _seeds(given: Any) -> tuple[int, ...]:
    seeds = given if isinstance(given, list | tuple | range) else [given]
    is_whole = all(isinstance(s, int) and not isinstance(s, bool) and s >= 0 for s in seeds)
    if not is_whole or not seeds or len(set(seeds)) < len(seeds):
        raise AdjoinError(
            f"seeds must be different whole numbers from 0 on, such as [0, 1, 2], not {given!r:.60}"
        )
    return tuple(seeds)
