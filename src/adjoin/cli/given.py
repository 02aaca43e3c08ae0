"""The options of a command as they were typed: for the run, which says how to go on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

# Where its results go, what it read, and how it came about; an address is nobody else's business.
_NOT_THE_RUN = (
    "data",
    "out",
    "page",
    "resume",
    "keep_checkpoint",
    "force",
    "as_json",
    "scheduler",
)


def given_options(context: typer.Context) -> dict[str, Any]:
    """What was typed, by name, as values that JSON has; the rest has its defaults."""
    found = {
        name: value
        for name, value in context.params.items()
        if name not in _NOT_THE_RUN and _is_typed(context, name)
    }
    return {name: str(v) if isinstance(v, Path) else v for name, v in found.items()}


def _is_typed(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
