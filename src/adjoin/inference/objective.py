"""What models are judged by, as one frozen value that every later stage asks.

An `Objective` says which residual is judged, where noise enters, whether there is a likelihood, and
whether chains are ladders and of what. The samplers, the posterior, saved runs, predictions, the
report and the cases read it off here; none of them asks which engine was at work.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from adjoin.errors import AdjoinError


class Residual(StrEnum):
    """Which error of a model is judged."""

    ONE_STEP = "one-step"
    FREE_RUN = "free-run"


class Noise(StrEnum):
    """Where the noise enters: into the system, or on top of its output, white or coloured."""

    FED_BACK = "fed back"
    ON_TOP = "on top"
    COLOURED = "coloured"


class Tempered(StrEnum):
    """What differs between the rungs of a chain that is a ladder."""

    TOLERANCE = "tolerance"
    POWER = "power"


SQUARED_ERROR = "nmse"
"""What errors are measured by, unless it is a distance of the user's own."""


@dataclass(frozen=True)
class Objective:
    """What a model is judged by.

    Parameters
    ----------
    name : str
        As users write it.
    residual : Residual
        Of which prediction the errors are.
    noise : Noise
        Where it enters, and so how bands are made.
    has_likelihood : bool
        Whether there is a density of the data, and the noise a quantity with a posterior.
    ladder : Tempered or None
        What the rungs of a chain differ in; None where a chain has one state only.
    distance : str
        What the errors are measured by.
    """

    name: str
    residual: Residual
    noise: Noise
    has_likelihood: bool = True
    ladder: Tempered | None = None
    distance: str = SQUARED_ERROR

    @property
    def is_squared(self) -> bool:
        """Whether errors are judged by their squares, not by a distance of the user's own."""
        return self.distance == SQUARED_ERROR

    @property
    def is_fed_back(self) -> bool:
        """Whether noise disturbs the system itself, and not only what is measured of it."""
        return self.noise is Noise.FED_BACK

    def by(self, distance: str) -> Objective:
        """The same objective with errors measured by a distance of that name."""
        return replace(self, distance=distance)


PREDICTION = Objective("prediction", Residual.ONE_STEP, Noise.FED_BACK)
SIMULATION = Objective("simulation", Residual.FREE_RUN, Noise.ON_TOP, ladder=Tempered.POWER)
ABC = Objective(
    "abc", Residual.FREE_RUN, Noise.ON_TOP, has_likelihood=False, ladder=Tempered.TOLERANCE
)

SYNONYMS = {"osa": PREDICTION.name, "output-error": SIMULATION.name}
"""Names that mean the same, in the literature and in files of earlier versions."""


def objective_name(given: object) -> str:
    """The name of an objective, whichever of its names was given."""
    if not isinstance(given, str):
        raise AdjoinError(f"objective must be the name of one, such as 'prediction', not {given!r}")
    return SYNONYMS.get(given, given)
