"""Checks of plain arguments that several stages take: counts, numbers, seeds.

Receives what a user passed, with its name; raises `AdjoinError` that says what is wrong with it.
"""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np

from adjoin.errors import AdjoinError


def is_real(value: object) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_count(value: object) -> bool:
    """Whether a value is a whole number from 1 on; True is not."""
    return isinstance(value, Integral) and not isinstance(value, bool) and int(value) > 0


def require_count(name: str, value: object) -> None:
    """Refuse what is not a whole number from 1 on."""
    if not is_count(value):
        raise AdjoinError(f"{name} must be a whole number from 1 on, not {value!r}")


def require_seed(value: int | None) -> int | None:
    """The seed; what is neither None nor a whole number from 0 on is refused."""
    is_whole = isinstance(value, Integral) and not isinstance(value, bool)
    if value is not None and not (is_whole and value >= 0):
        raise AdjoinError(f"seed must be a whole number from 0 on, or None, not {value!r}")
    return value


def make_generator(seed: int | None) -> np.random.Generator:
    """NumPy's generator of a checked seed."""
    return np.random.default_rng(require_seed(seed))
