"""How far what was predicted is from what was measured, on one part of the data.

Receives data that passed the gate, and the posterior or the model to be held against them; gives a
`Part`, from which ``assessment`` answers, and `Scores`, whose one shape all JSON has. Every series
is worked out when it is first asked for, and once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.blocks import is_constant
from adjoin.data.dataset import Dataset
from adjoin.model import Model
from adjoin.modelling.simulation import Response
from adjoin.results.collection import Collection
from adjoin.results.prediction import Prediction, require_more
from adjoin.scores import fit_index, nmse, rmse

TRAIN, VALIDATION, TEST = "train", "validation", "test"
"""What parts of the data are called; test data that come from a file have its name."""

DRAWS = 200
_ROOM = 2**29  # bytes of runs at a time: of very long records fewer draws than `DRAWS` are run
_FEWEST = 20  # draws, below which there is no 95 % band

_IN_WORDS = {
    TRAIN: "the data that were fitted",
    VALIDATION: "the validation data",
    TEST: "the test data",
}


class Errors(NamedTuple):
    """Scores of one series; None where there is none: it was lost, or the output is constant."""

    rmse: float | None
    nmse: float | None
    fit: float | None


def errors_of(measured: Sequence[Float1D], series: Sequence[Float1D], n_seed: int) -> Errors:
    """Score a series, record by record, after the first `n_seed` samples of each."""
    pair = [y[n_seed:] for y in measured], [y[n_seed:] for y in series]
    if is_constant([y for y in pair[0] if len(y)]):  # no normalised score of a constant
        return Errors(_finite(rmse(*pair)), None, None)
    return Errors(*(_finite(score(*pair)) for score in (rmse, nmse, fit_index)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Scores:
    """What an equation is worth on one part of the data.

    Parameters
    ----------
    free_run, one_step : Errors
        Of its free run, and of its predictions one step ahead.
    diverged : float
        The share of posterior draws whose free run ran away; of a lone model 1 or 0.
    coverage : float or None
        The share of measured samples in the 95 % band, that of the draws that stayed; None where
        none did, and of a lone model.
    """

    free_run: Errors
    one_step: Errors
    diverged: float
    coverage: float | None

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values, in the shape that all JSON has."""
        free, ahead = self.free_run._asdict(), self.one_step._asdict()
        del ahead["fit"]
        return {
            "free_run": {**free, "diverged": self.diverged},
            "one_step": ahead,
            "coverage": self.coverage,
        }


@dataclass(frozen=True, eq=False)
class ModelRun:
    """A lone model on one part of the data; `n_seed` samples of each record are not scored."""

    model: Model
    data: Dataset
    n_seed: int

    @cached_property
    def _free_response(self) -> Response:
        require_more(self.data.outputs, self.n_seed, "score")
        seeds = [y[: self.n_seed] for y in self.data.outputs]
        return self.model.free_response(self.data.inputs, seeds)

    @property
    def model_run(self) -> list[Float1D]:
        """Its free run."""
        return self._free_response.series

    @cached_property
    def scores(self) -> Scores:
        """What it is worth."""
        measured = self.data.outputs
        ahead = self.model.predicted_response(self.data.inputs, measured)
        return Scores(
            errors_of(measured, self.model_run, self.n_seed),
            errors_of(measured, ahead.series, self.n_seed),
            float(any(at is not None for at in self._free_response.diverged)),
            None,
        )


class Comparison(NamedTuple):
    """A row of the table of predictors: whose it is, which one, and its free run's errors."""

    chains: str
    predictor: str
    errors: Errors

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values."""
        return {"chains": self.chains, "predictor": self.predictor, **self.errors._asdict()}


@dataclass(frozen=True, eq=False)
class Part:
    """One part of the data, and what was predicted there; series are lists, one per record.

    Parameters
    ----------
    name : str
        ``train``, ``validation``, or what the test data are called.
    data : Dataset
        Inputs and measured output.
    posterior : Collection
        What is reported: the selected chain, or all of them.
    all_chains : Collection
        All of them.
    draws : int
        How many models are run for the bands.
    seed : int or None
        Of the draws and their noise.
    called : str
        What a sentence calls it, where its name does not say what it is.
    numbers : tuple of int
        Its records' places in the data they are from; default: from 0 on.
    """

    name: str
    data: Dataset
    posterior: Collection
    all_chains: Collection
    draws: int = DRAWS
    seed: int | None = 0
    called: str = ""
    numbers: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What a sentence calls it."""
        return self.called or _IN_WORDS.get(self.name, self.name)

    @property
    def label(self) -> str:
        """What a table calls it."""
        return self.called or self.name

    def number(self, record: int) -> int:
        """What people call one of its records."""
        return self.numbers[record] if self.numbers else record

    @cached_property
    def typical_record(self) -> int:
        """The record with the middle one of all errors; of an even number the larger of both."""
        errors = [
            rmse([y[self.n_seed :]], [run[self.n_seed :]])
            for y, run in zip(self.data.outputs, self.model_run, strict=True)
        ]
        order = np.argsort(np.where(np.isfinite(errors), errors, np.inf), kind="stable")
        return int(order[len(order) // 2])

    @property
    def is_fitted(self) -> bool:
        """Whether the models were fitted to it."""
        return self.name == TRAIN

    @property
    def n_seed(self) -> int:
        """How many samples of each record seed the runs and are not scored."""
        return self.all_chains.max_lag

    @property
    def n_scored(self) -> int:
        """How many samples are scored."""
        return self.data.n_samples - self.n_seed * self.data.n_records

    @property
    def model_run(self) -> list[Float1D]:
        """The free run of the reported equation."""
        return self.posterior.free_run(self.data)

    @cached_property
    def prediction(self) -> Prediction:
        """Free runs of models drawn from what is reported."""
        return self._propagated(self.posterior)

    @cached_property
    def pooled_prediction(self) -> Prediction:
        """Free runs of models drawn from all chains."""
        if self.posterior is self.all_chains:
            return self.prediction
        return self._propagated(self.all_chains)

    @cached_property
    def stacked_prediction(self) -> Prediction | None:
        """Free runs of models drawn from chains by weight; None where nothing weighted them."""
        weighted = self.all_chains.stacked
        return None if weighted is self.all_chains else self._propagated(weighted)

    def _propagated(self, collection: Collection) -> Prediction:
        seeds = [y[: self.n_seed] for y in self.data.outputs]
        return collection.simulate_records(self.data.inputs, seeds, self.draws, self.seed)

    @cached_property
    def scores(self) -> Scores:
        """Of the reported equation."""
        return Scores(
            self._errors(self.model_run),
            self._errors(self.posterior.one_step(self.data)),
            self.prediction.diverged,
            _finite(self.prediction.coverage_of(self.data.outputs)),
        )

    @cached_property
    def white_box(self) -> Scores | None:
        """Of the fixed terms alone; None where there are none."""
        known = self.all_chains.white_box
        return None if known is None else ModelRun(known, self.data, self.n_seed).scores

    @cached_property
    def comparison(self) -> tuple[Comparison, ...]:
        """Free-run errors of every predictor.

        Of what is reported, of all chains, of all chains by weight, of the best candidates of a
        discovery together, and of the white box.
        """
        pooled = "all chains" if self.all_chains.n_chains > 1 else "the chain"
        if self.all_chains.weights is not None:
            pooled += ", weighted"
        is_pooled = self.posterior is self.all_chains
        whose = pooled if is_pooled else f"chain {self.posterior.chain_numbers[0]}, selected"
        rows = [
            Comparison(whose, "MAP", self.scores.free_run),
            *self._forward(whose, self.prediction),
        ]
        if not is_pooled:
            run = self.all_chains.free_run(self.data)
            rows.append(Comparison(pooled, "MAP", self._errors(run)))
            rows += self._forward(pooled, self.pooled_prediction)
        if self.stacked_prediction is not None:
            own = ", by these very data" if self.data is self.all_chains.held_out else ""
            rows += self._forward(f"all chains, weighted{own}", self.stacked_prediction)
        if self.average_errors is not None:
            rows.append(Comparison("the best candidates", "median", self.average_errors))
        if self.white_box is not None:
            rows.append(Comparison("fixed terms alone", "white box", self.white_box.free_run))
        return tuple(rows)

    def _forward(self, whose: str, prediction: Prediction) -> list[Comparison]:
        return [
            Comparison(whose, "FWD mean", self._errors(prediction.mean)),
            Comparison(whose, "FWD median", self._errors(prediction.median)),
        ]

    @cached_property
    def average_run(self) -> list[Float1D] | None:
        """Of the best candidates of a discovery together; None where they are not several."""
        found = self.all_chains.discovered
        if found is None or len(found.average) < 2:
            return None
        shortest = min(map(len, self.data.outputs))
        if shortest <= found.average.n_seed:
            return None
        return found.average.runs_of(self.data)

    @property
    def average_errors(self) -> Errors | None:
        """Of that run."""
        found = self.all_chains.discovered
        if self.average_run is None or found is None:
            return None
        n_seed = max(self.n_seed, found.average.n_seed)
        return errors_of(self.data.outputs, self.average_run, n_seed)

    @property
    def runaways(self) -> dict[str, Any]:
        """How many of the draws ran away, by record, as plain values and in words."""
        found = self.prediction
        return {
            "n_draws": found.n_draws,
            "n_stayed": list(found.n_stayed),
            "first_lost": list(found.first_lost),
            "words": found.in_words(),
        }

    def _errors(self, series: Sequence[Float1D]) -> Errors:
        return errors_of(self.data.outputs, series, self.n_seed)


def affordable_draws(n_samples: int) -> int:
    """How many draws are run where nobody says how many."""
    return max(_FEWEST, min(DRAWS, _ROOM // (8 * n_samples)))
