"""Messages on the command line: arguments of Python, spelled as the options of a command.

Errors and advice are written once, for both: ``objective='abc'``. Receives such a message and the
command it is about; hands it to the terminal as ``--objective abc``. Whole commands, and calls of
Python, are left as they are.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

from adjoin.text import halves

_HINT = re.compile(r"(?<![\w.-])(?<!\w\()([a-z_]+)=(\{'[a-z_]+': [^{}]*\}|'[^']*'|\(\)|[\w.…+]+)")
_BARE = re.compile(r"(?<![\w.'\"/-])([a-z]+(?:_[a-z]+)+)(?![\w='\"(./\[])")
_EITHER = re.compile(r"Dataset\.\w+\([^()]*\), or (?=--)")  # of a method and an option, the option
_LADDER = re.compile(r"\{'([a-z_]+)': (.*)\}")
_OTHER_NAMES = {"n_jobs": "jobs", "path": "data"}
_OTHER_WORDS = {
    "held_out=dataset": "--validation 0.3",
    "test=dataset": "adjoin report --data test.csv",
}


def find_command(root: Any, words: Sequence[str]) -> Any:
    """The command that these words call: the last that is one, below `root`."""
    for word in words:
        root = getattr(root, "commands", {}).get(word, root)
    return root


def spell_for(words: Sequence[str], message: str) -> str:
    """A message as it is to be read by who calls the command of these words."""
    from typer.main import get_command

    from adjoin.cli.app import app

    return speller(find_command(get_command(app), words))(message)


def spell_for_fit(message: str) -> str:
    """Advice, which is about the next fit."""
    from typer.main import get_command

    from adjoin.cli.app import app

    return speller(find_command(get_command(app), ["fit"]), is_advice=True)(message)


def spell_for_discover(message: str) -> str:
    """Advice to who discovers, or is about to: what only a fit can do is said with its command."""
    from typer.main import get_command

    from adjoin.cli.app import app

    discover, fit = (find_command(get_command(app), [name]) for name in ("discover", "fit"))
    return speller(discover, fit, is_advice=True)(message)


def speller(command: Any, other: Any = None, is_advice: bool = False) -> Callable[[str], str]:
    """What spells messages for a command; what it has no option for stays as it is.

    Where `other` has the option, that command is named. Advice, unlike errors, names arguments
    without values too: a larger max_lag.
    """
    options = _options(command)
    foreign = {} if other is None else _options(other)

    def spelled(found: re.Match[str]) -> str:
        name, value = found[1], found[2]
        if inner := _LADDER.fullmatch(value):
            name, value = inner[1], inner[2]
        option, where = options.get(_OTHER_NAMES.get(name, name)) or options.get(name), ""
        if option is None and name in foreign:
            option, where = foreign[name], f"adjoin {other.name} "
        if option is None:
            return _OTHER_WORDS.get(found[0], found[0])
        if value in ("True", "False"):
            spellings = option.opts if value == "True" else option.secondary_opts
            return f"{where}{spellings[0]}" if spellings else found[0]
        plain = "" if value == "()" else value.strip("'")
        return f"{where}{option.opts[0]} {plain if plain == '…' else shlex.quote(plain)}"

    def bare(found: re.Match[str]) -> str:
        option = options.get(found[1]) if is_advice else None
        return found[0] if option is None else str(option.opts[0])

    def spell(message: str) -> str:
        words, command = halves(message)  # which is to be run as it stands
        return _EITHER.sub("", _BARE.sub(bare, _HINT.sub(spelled, words))) + command

    return spell


def _options(command: Any) -> dict[str, Any]:
    return {_name(option): option for option in command.params if _name(option)}


def _name(option: Any) -> str:
    """An option as an argument of Python would be called; empty for what is no option."""
    first = str(option.opts[0])
    return first.removeprefix("--").replace("-", "_") if first.startswith("--") else ""
