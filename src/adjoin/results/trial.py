"""One new experiment, run by a model or by the models of a posterior.

Receives inputs and, where it was measured, the output, as ``adjoin simulate`` reads them; gives the
series and their scores. Without a measured output runs start at rest, and nothing is scored.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from adjoin.arrays import Float1D, Float2D
from adjoin.data.columns import place_of
from adjoin.data.dataset import Dataset, Record
from adjoin.errors import AdjoinError
from adjoin.model import Model
from adjoin.results.answers import beyond_range
from adjoin.results.collection import Collection
from adjoin.results.prediction import Prediction
from adjoin.results.scoring import Errors, ModelRun, Part, Scores, errors_of


@dataclass(frozen=True, eq=False)
class Trial:
    """What comes of it; lists are by record, each of which is run by itself.

    Parameters
    ----------
    subject : Model or Collection
        What is run.
    inputs : (n, n_inputs) array
    output : (n,) array or None
        What was measured, if anything.
    steps_ahead : int or None
        Predict so many steps ahead of what was measured; None: run freely.
    draws : int
        How many models of a posterior are run for the bands.
    seed : int or None
        Of the draws and their noise.
    bounds : sequence of (int, int)
        First row of every record, and the row behind its last. Default: all rows are one.
    """

    subject: Model | Collection
    inputs: Float2D
    output: Float1D | None = None
    steps_ahead: int | None = None
    draws: int = 100
    seed: int | None = 0
    bounds: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        if self.steps_ahead is not None and self.output is None:
            raise AdjoinError(
                f"predicting {self.steps_ahead} steps ahead needs the measured output"
                f" '{self.model.names.output}', which the data do not have"
            )
        for number, record in enumerate(self._records):
            if len(record) <= self.n_window:
                raise AdjoinError(
                    f"{len(record)} samples{place_of(number, self.n_records)} do not reach beyond"
                    f" the {self.n_window} that seed the run; give longer records"
                )

    @property
    def model(self) -> Model:
        """The model, or the MAP model of the posterior."""
        return self.subject if isinstance(self.subject, Model) else self.subject.map_model

    @property
    def n_records(self) -> int:
        """How many records there are."""
        return max(1, len(self.bounds))

    @cached_property
    def _records(self) -> list[Float2D]:
        bounds = self.bounds or [(0, len(self.inputs))]
        return [self.inputs[start:stop] for start, stop in bounds]

    @property
    def n_window(self) -> int:
        """How many samples a run starts from, measured or at rest."""
        return self.subject.max_lag

    @property
    def n_seed(self) -> int:
        """How many measured samples seed the run and are not scored."""
        return 0 if self.output is None else self.n_window

    @cached_property
    def _measured(self) -> Dataset | None:
        if self.output is None:
            return None
        outputs = [self.output[a:b] for a, b in self.bounds or [(0, len(self.output))]]
        return Dataset(tuple(map(Record, self._records, outputs)), self.model.names)

    @cached_property
    def _scored(self) -> ModelRun | Part | None:
        if self._measured is None:
            return None
        if isinstance(self.subject, Model):
            return ModelRun(self.subject, self._measured, self.n_window)
        return Part("", self._measured, self.subject, self.subject, self.draws, self.seed)

    @property
    def scores(self) -> Scores | None:
        """Of the free run and of one step ahead, however far ahead the series look."""
        return None if self._scored is None else self._scored.scores

    @cached_property
    def series(self) -> list[Float1D]:
        """The model's free run, or its predictions so many steps ahead."""
        if self._measured is None:
            at_rest = np.full(self.n_window, self.model.offsets.get(self.model.names.output, 0.0))
            return self.model.free_response(self._records, [at_rest] * self.n_records).series
        if self.steps_ahead is not None:
            data = self._measured
            return self.model.predicted_response(data.inputs, data.outputs, self.steps_ahead).series
        assert self._scored is not None
        return self._scored.model_run

    @property
    def beyond(self) -> tuple[str, ...]:
        """Which inputs leave the range that was fitted; a lone model does not know that range."""
        if isinstance(self.subject, Model):
            return ()
        return tuple(beyond_range(self._records, self.subject.data))

    @property
    def is_diverged(self) -> bool:
        """Whether the model's series is lost somewhere: it ran away."""
        return any(bool(np.isnan(series).any()) for series in self.series)

    @cached_property
    def prediction(self) -> Prediction | None:
        """The same of models drawn from a posterior; a lone model has none."""
        if isinstance(self.subject, Model):
            return None
        if self.steps_ahead is not None and self._measured is not None:
            inputs, outputs = self._measured.inputs, self._measured.outputs
            return self.subject.predict_records(
                inputs, outputs, self.steps_ahead, self.draws, self.seed
            )
        if isinstance(self._scored, Part):
            return self._scored.prediction
        return self.subject.simulate_records(self._records, None, self.draws, self.seed)

    @cached_property
    def errors_ahead(self) -> Errors | None:
        """Of the predictions so many steps ahead, where these were asked for."""
        if self.steps_ahead is None or self._measured is None:
            return None
        return errors_of(self._measured.outputs, self.series, self.n_window)

    @property
    def coverage(self) -> float | None:
        """Of the 95 % band of `prediction`."""
        if self.prediction is None or self._measured is None:
            return None
        coverage = self.prediction.coverage_of(self._measured.outputs)
        return None if math.isnan(coverage) else coverage

    @cached_property
    def average(self) -> list[Float1D] | None:
        """Free runs of the best candidates of a discovery together, where there are several.

        None where the series look some steps ahead, or a record is too short to seed them.
        """
        found = None if isinstance(self.subject, Model) else self.subject.discovered
        if found is None or len(found.average) < 2 or self.steps_ahead is not None:
            return None
        if isinstance(self._scored, Part):
            return self._scored.average_run
        at_rest = np.full(
            found.average.n_seed, self.model.offsets.get(self.model.names.output, 0.0)
        )
        return found.average.runs(self._records, [at_rest] * self.n_records)

    @property
    def average_errors(self) -> Errors | None:
        """Of these, where the output was measured."""
        return self._scored.average_errors if isinstance(self._scored, Part) else None

    @property
    def columns(self) -> dict[str, Any]:
        """All series by name, records end to end.

        `sample`, `measured`, `model`, `average`, `mean`, `median`, `sd`, and the bands.
        """
        columns: dict[str, Any] = {"sample": range(len(self.inputs))}
        if self.output is not None:
            columns["measured"] = self.output
        columns["model"] = np.concatenate(self.series)
        if self.average is not None:
            columns["average"] = np.concatenate(self.average)
        if self.prediction is not None:
            found = self.prediction
            series = {"mean": found.mean, "median": found.median, "sd": found.sd}
            series |= {f"q{100 * quantile:g}": band for quantile, band in found.bands.items()}
            columns |= {name: np.concatenate(parts) for name, parts in series.items()}
        return columns
