"""How the terms of a run were found, where candidates were compared: what goes with its posterior.

Receives what ``discovery`` compared, as plain values; goes with a `Sample` into its file, and lets
reports say what was tried without trying it again. Verdicts are worked out anew from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from adjoin.inference.traces import ChainTrace
from adjoin.results.average import Average
from adjoin.results.run import Run

ALIKE = 1.02
"""Times the mean squared error of the best (1 % in RMSE): what is beyond is not as good."""
HARDLY = 1.05
"""Times its squared error: what a posterior whose chains agree may miss more, for knowing how sure
each term is."""


class Trial(NamedTuple):
    """The chosen terms, fitted without one fold: the arguments of a `Sample`, in its order.

    What the fold held out is the run's ``held_out``.
    """

    traces: tuple[ChainTrace, ...]
    run: Run
    chain_numbers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Discovered:
    """What was compared, and how it came out.

    Parameters
    ----------
    candidates : tuple of mapping
        The best size of every model class, best first, and the ones that are ``best`` and
        ``chosen`` if they are others: ``words`` and ``settings`` of the class,
        ``n_terms``, the held-out error ``validation`` (``nmse``, the typical one, that is compared,
        its standard error ``sd`` and the mean over folds ``mean_nmse`` in percent of the output's
        variance, None where runs were lost; ``n_lost``), ``cpu_s``,
        ``is_checked`` (whether its terms were held against every fold again), ``best`` (whether it
        is the best path of those, against which the chosen one was held) and ``chosen``.
    n_tried, n_lost : int
        How many models were compared, and how many of them ran away on held-out data.
    folds : tuple of str
        What was held out, in words.
    beyond : mapping of str to float
        Signals that go farther in some held-out data than in what was fitted, and how many times.
    apart : float or None
        How far the equation's free run is from that of the average, in standard deviations of the
        output; None where there is nothing to average.
    settings : mapping
        What the comparison was asked for.
    average : Average
        The best candidates together, fitted to all data; the first is the chosen one.
    trial : Trial
        The chosen terms, fitted without one fold.
    timing : mapping of str to float
        Seconds by the clock: ``scan_s`` of the comparison, ``settle_s`` of what came after, and
        ``total_s``. Empty for runs of earlier versions.
    tried_on, tried_records : str, tuple of int
        Which fold the trial held out, in words, and of which records. Empty for earlier versions.
    """

    candidates: tuple[Mapping[str, Any], ...]
    n_tried: int
    n_lost: int
    folds: tuple[str, ...]
    beyond: Mapping[str, float]
    apart: float | None
    settings: Mapping[str, Any]
    average: Average
    trial: Trial
    timing: Mapping[str, float] = field(default_factory=dict)
    tried_on: str = ""
    tried_records: tuple[int, ...] = ()

    @property
    def chosen(self) -> Mapping[str, Any] | None:
        """The row of the chosen candidate; None where nothing was found."""
        return next((row for row in self.candidates if row["chosen"]), None)

    @property
    def best(self) -> Mapping[str, Any]:
        """The row that the chosen one was held against.

        The smallest error of the paths that were looked at twice; where nothing was, of all.
        """
        rows = self.candidates
        marked = (row for row in rows if row.get("best"))  # runs of earlier versions mark none
        twice = (row for row in rows if row["is_checked"] and not row["settings"].get("sampled"))
        return next(marked, None) or next(twice, rows[0])

    @property
    def trial_words(self) -> str:
        """What a sentence calls the data of the trial, which are a part of what was held out."""
        which = f" ({self.tried_on})" if self.tried_on else ""
        return f"what was held out{which}" if len(self.folds) == 1 else f"one fold alone{which}"

    @property
    def n_settings(self) -> int:
        """How many model classes there were."""
        return len({row["words"] for row in self.candidates})

    @property
    def plain(self) -> dict[str, Any]:
        """All but the models and the trial, as plain values."""
        return {
            "candidates": [dict(row) for row in self.candidates],
            "n_tried": self.n_tried,
            "n_lost": self.n_lost,
            "folds": list(self.folds),
            "beyond": dict(self.beyond),
            "apart": self.apart,
            "settings": dict(self.settings),
            "timing": dict(self.timing),
            "tried_on": self.tried_on,
            "tried_records": list(self.tried_records),
        }
