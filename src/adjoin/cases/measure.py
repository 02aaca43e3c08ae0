"""The error by which a case is held against the work of others.

Receives a `Score` of ours or the `Scores` the paper printed; gives the figure in the case's unit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter

from adjoin.cases.published import Scores
from adjoin.cases.scoring import Score

DIVERGES = "diverges"


@dataclass(frozen=True)
class Measure:
    """One kind of error, ours and the paper's, and what it is called where; default: NMSE.

    Parameters
    ----------
    of : function of Score
        Our error in the unit of the measure; None if the run diverges.
    printed : function of Scores
        The paper's error; None where it prints none.
    style : str
        A format of a number, with its unit.
    card : str
        Stands above the figure that is seen first.
    axis, column : str
        Of pictures and of tables, with the unit.
    key : str
        In CSV files and JSON, with the unit.
    """

    of: Callable[[Score], float | None] = attrgetter("nmse")
    printed: Callable[[Scores], float | None] = attrgetter("selected_map")
    style: str = "{:.3g} %"
    card: str = "test NMSE"
    axis: str = "NMSE on the test set (%)"
    column: str = "NMSE (%)"
    key: str = "nmse_percent"

    def text(self, score: Score) -> str:
        """Our error with its unit, or that there is none."""
        error = self.of(score)
        return DIVERGES if error is None else self.style.format(error)


NMSE = Measure()
