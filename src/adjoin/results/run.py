"""What the chains of a run have in common: data, model class, units, settings.

Receives what an `Identifier` or a saved file brings; every posterior of the run, of all chains or
of one, shares it, and with it what is worked out once: the problem laid out, the known physics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from adjoin.data.dataset import Dataset
from adjoin.data.scaling import Scaling
from adjoin.grammar import Grammar
from adjoin.grammar.encoding import Encoding
from adjoin.inference.engine import Engine, Modes
from adjoin.inference.engines import find_engine
from adjoin.inference.objective import Objective
from adjoin.inference.problem import Problem
from adjoin.inference.settings import RunSettings
from adjoin.model import Model
from adjoin.modelling.digits import FittedTo
from adjoin.modelling.origin import Origin
from adjoin.version import __version__


@dataclass(frozen=True, eq=False)
class Run:
    """One run, apart from what its chains drew.

    Parameters
    ----------
    grammar : Grammar
        What structures are made of.
    problem : Problem
        The data that were fitted, in the user's units, and the way to those of the chains.
    settings : RunSettings
        How it was made.
    timing : mapping of str to float
        How long it took, in seconds.
    held_out : Dataset, optional
        What was kept back to choose a chain by and to be scored on.
    name : str
        What its file is called, where it was read from one.
    """

    grammar: Grammar
    problem: Problem
    settings: RunSettings = field(default_factory=RunSettings)
    timing: Mapping[str, float] = field(default_factory=dict)
    held_out: Dataset | None = None
    name: str = ""

    def __getstate__(self) -> dict[str, Any]:
        # What finds modes is a closure, which no other process can be sent; it is made again.
        return {name: value for name, value in vars(self).items() if name != "modes"}

    @property
    def data(self) -> Dataset:
        """What was fitted, in the user's units."""
        return self.problem.data

    @property
    def scaling(self) -> Scaling:
        """From the user's units to those of the chains."""
        return self.problem.rows.scaling

    @property
    def encoding(self) -> Encoding:
        """What the keys in traces stand for."""
        return self.problem.encoding

    @property
    def objective(self) -> Objective:
        """What models were judged by."""
        return self.settings.objective

    @property
    def engine(self) -> type[Engine]:
        """What drew the chains."""
        return find_engine(self.objective.name, self.problem.has_noise)

    @property
    def max_lag(self) -> int:
        """The lag window: so many samples at the start of a record seed the regressors."""
        return self.problem.rows.max_lag

    @cached_property
    def fitted_to(self) -> FittedTo:
        """What its models were fitted to, by which they know how many digits they need."""
        return FittedTo(self.data, self.max_lag)

    @cached_property
    def origin(self) -> Origin:
        """Where its models say that they came from."""
        data = ", ".join(self.settings.data) or self.data.label
        return Origin(self.name, data, self.settings.seed, __version__)

    @cached_property
    def modes(self) -> Modes:
        """What finds the best coefficients of a structure."""
        return self.engine.modes(self.problem, self.settings)

    @cached_property
    def white_box(self) -> Model | None:
        """The fixed terms alone, by least squares, to compare with.

        None where there are none, and where there is nothing beside them to compare.
        """
        fixed = self.problem.alphabet.fixed
        is_known = len(fixed) > 0 and not fixed.has_noise and not self.settings.keeps_terms
        return self.problem.white_box(fixed) if is_known else None
