"""Identifiers for discoveries: one that keeps its notes to its posterior, and one for given terms.

A discovery fits many, in threads, where filters of warnings, which are those of the whole process,
cannot be set aside. Whatever is worth knowing of the one that is chosen is in its diagnostics.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from adjoin.identifier import Identifier
from adjoin.inference.engine import Engine
from adjoin.inference.engines.simulation import SimulationEngine


class QuietIdentifier(Identifier):
    """The same, but chains that are left out are found in the diagnostics only."""

    def _note(self, sentence: str) -> None:
        pass


class GivenTerms(QuietIdentifier):
    """One whose terms are given, with the coefficients they were compared with.

    Free runs of terms that are nearly collinear have many optima: chains that begin elsewhere may
    stay at another one, and the equation would be another than the one that was chosen.
    """

    guess: tuple[float, ...] = ()

    def _engine(self, *args: Any, **changed: Any) -> Engine:
        found = super()._engine(*args, **changed)
        return replace(found, guess=self.guess) if isinstance(found, SimulationEngine) else found
