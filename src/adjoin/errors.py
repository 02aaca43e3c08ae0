"""The errors and warnings that a user of adjoin can meet."""

from __future__ import annotations


class AdjoinError(ValueError):
    """Something the user gave cannot be used.

    The message says what is wrong, where, and what to do about it.
    """


class CheckpointError(AdjoinError):
    """A checkpoint cannot be used: it is damaged, of another run, or in other hands."""


class DivergenceWarning(RuntimeWarning):
    """A free run left every physical range and was stopped."""


class PipeClosed(Exception):
    """Not an error: the program that reads our output has read enough and closed it."""
