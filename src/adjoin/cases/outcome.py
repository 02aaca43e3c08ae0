"""What came of a case: a `Row` per setup, and the `Study` that holds them; values, no computing.

Receives rows from `study`; hands them to the tables, records, words and pictures.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from adjoin.arrays import Float1D
from adjoin.cases.learning import Point
from adjoin.cases.scoring import Score
from adjoin.cases.setups import Plan, Setup
from adjoin.datasets import Benchmark
from adjoin.grammar.equation import term_text
from adjoin.model import Model
from adjoin.results.prediction import Prediction

NOISE = "noise"
"""What stands for a term where a `Parameter` is the standard deviation of the noise."""


@dataclass(frozen=True)
class Parameter:
    """A coefficient of the selected chain, with its 95 % interval, and the truth where known."""

    term: str
    mean: float
    sd: float
    low: float
    high: float
    truth: float | None = None

    @property
    def is_noise(self) -> bool:
        """Whether it is the standard deviation of the noise, and no coefficient."""
        return self.term == NOISE

    @property
    def is_inside(self) -> bool | None:
        """Whether the interval holds the truth; None without either."""
        if self.truth is None or math.isnan(self.low):
            return None
        return self.low <= self.truth <= self.high


@dataclass(frozen=True, eq=False)
class Series:
    """What pictures need of the selected chain on the main test set."""

    measured: Float1D
    model_run: Float1D
    prediction: Prediction
    n_seed: int


@dataclass(frozen=True, eq=False)
class Row:
    """What came of one setup.

    Parameters
    ----------
    setup : Setup
    error : str
        Why there is nothing else; empty if all went well.
    notes : tuple of str
        What the fit warned of.
    seconds : float
        Of the fit per chain, on a core of its own; without compiling.
    selected_chain : int
        The one with the smallest validation error.
    n_chains : int
    validation : float
        Free-run RMSE of the selected chain on the validation part.
    scores : dict
        By test set and predictor (`scoring.PREDICTORS`); the forward ones on the main test set
        only.
    one_step : Score or None
        Of the selected chain's MAP model on the main test set, one step ahead: how much it leans on
        measured outputs.
    n_terms : float
        Median over the chains of their median number of terms.
    n_recovered, mass : int, float or None
        Chains whose most frequent structure is the truth, and the mean mass of the truth.
    coverage, coverage_3_sigma : float
        Share of the main test set inside the 95 % band, and within three standard deviations.
    diverged, pooled_diverged : float
        Share of the draws that diverged there, of the selected chain and of all chains; the forward
        scores and bands are of the others.
    power : float
        To which the likelihood was raised.
    equation : str
        The MAP model of the selected chain, with all digits, as it goes into files.
    parameters : tuple of Parameter
        Given the true structure where that is known and was visited, else the MAP structure. With
        known physics learned jointly, its terms, whatever else is in.
    is_given_truth : bool
        Whether they are given the true structure.
    series : Series
    """

    setup: Setup
    error: str = ""
    notes: tuple[str, ...] = ()
    seconds: float = math.nan
    selected_chain: int = -1
    n_chains: int = 0
    validation: float = math.nan
    scores: dict[str, dict[str, Score]] | None = None
    one_step: Score | None = None
    n_terms: float = math.nan
    n_recovered: int | None = None
    mass: float | None = None
    coverage: float = math.nan
    coverage_3_sigma: float = math.nan
    diverged: float = 0.0
    pooled_diverged: float = 0.0
    power: float = 1.0
    equation: str = ""
    parameters: tuple[Parameter, ...] = ()
    is_given_truth: bool = False
    series: Series | None = None

    def score(self, predictor: str = "selected_map", test: str | None = None) -> Score:
        """One score; default: on the main test set."""
        if not self.scores:
            return Score(None, None)
        by_predictor = self.scores[test] if test is not None else next(iter(self.scores.values()))
        return by_predictor[predictor]


@dataclass(frozen=True, eq=False)
class Study:
    """A case that was run.

    Rows of the two protocols are kept apart: their scores cannot be compared.

    Parameters
    ----------
    plan : Plan
    benchmark : Benchmark
        The data, with the protocol of the paper.
    rows : tuple of Row
    white_box : tuple of Model and Score, or None
        The known physics alone, by least squares.
    official : Benchmark or None
        The data under the official split, where there is one.
    official_rows : tuple of Row
    seconds : float
        Of it all.
    is_complete : bool
        False if it was stopped.
    curve : tuple of Point
        The learning curve, where there is one.
    """

    plan: Plan
    benchmark: Benchmark
    rows: tuple[Row, ...]
    white_box: tuple[Model, Score] | None
    official: Benchmark | None
    official_rows: tuple[Row, ...]
    seconds: float
    is_complete: bool
    curve: tuple[Point, ...] = ()

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """Rows of both protocols."""
        return self.rows + self.official_rows

    @property
    def failed(self) -> tuple[Row, ...]:
        """Setups of which nothing came."""
        return tuple(row for row in self.all_rows if row.error)

    def usable(self, objective: str | None = None) -> list[Row]:
        """Rows under the paper's protocol that did not fail; default: of every objective."""
        return [
            row for row in self.rows if not row.error and objective in (None, row.setup.objective)
        ]

    def by_method(self) -> dict[str, list[Row]]:
        """The usable rows of each method, one per λ_t, in the order of the tables."""
        rows_of: dict[str, list[Row]] = {}
        for row in self.usable():
            rows_of.setdefault(row.setup.method, []).append(row)
        return rows_of

    def best(self, objective: str | None = None) -> Row | None:
        """The row with the smallest validation error."""
        return best_by_validation(self.usable(objective))

    def relative_to_white_box(self, row: Row) -> float | None:
        """NMSE over that of the white box, less 1; negative is better."""
        error = row.score().nmse
        if self.white_box is None or error is None or self.white_box[1].nmse is None:
            return None
        return error / self.white_box[1].nmse - 1.0


def best_by_validation(rows: Iterable[Row]) -> Row | None:
    """The row with the smallest validation error; the test has no say in it."""
    return min(rows, key=lambda row: row.validation, default=None)


def coefficients_by_term(model: Model) -> dict[str, float]:
    """The coefficients of a model by the text of their terms, as in `Parameter.term`."""
    texts = map(term_text, model.structure.terms)
    return {text: float(value) for text, value in zip(texts, model.theta, strict=True)}
