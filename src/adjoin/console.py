"""The one way that text gets to a terminal."""

from __future__ import annotations

from rich.console import Console

from adjoin.errors import PipeClosed


class _Console(Console):
    """A console that reports a closed pipe to the caller instead of ending the program itself."""

    def on_broken_pipe(self) -> None:
        raise PipeClosed


def make_console(stderr: bool = False) -> Console:
    """The one way output is set up: no colouring of numbers, long lines left to the terminal."""
    return _Console(stderr=stderr, highlight=False, soft_wrap=True)
