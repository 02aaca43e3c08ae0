"""Several runs side by side: the same scores of the same samples, the best free run first.

Receives posteriors by name and, where there are any, test data; gives `Compared`, as a table and as
plain values, with a sentence for everything that makes it less than fair (``overlap`` finds it).
Its picture is drawn in ``report``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from adjoin.data.dataset import Dataset
from adjoin.data.gate import as_inputs
from adjoin.errors import AdjoinError
from adjoin.levels import LEVEL_WORDS
from adjoin.results.assessment import Assessment, assess
from adjoin.results.collection import Collection
from adjoin.results.overlap import is_same, notes_on_fitted, notes_on_parts, notes_on_tested
from adjoin.results.scoring import TEST, TRAIN, VALIDATION, Part, affordable_draws
from adjoin.text import UNKNOWN, percent

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class ComparedRun:
    """One run of a comparison.

    Parameters
    ----------
    name : str
        What it is called.
    assessment : Assessment
        What is said of it.
    data : Dataset
        What it is compared on, with every sample.
    part : Part
        The same from where it is seeded on, and what the run predicts there.
    """

    name: str
    assessment: Assessment[Collection]
    data: Dataset
    part: Part

    @property
    def seconds(self) -> float | None:
        """How long the fit took, where that is known; of a discovery the whole of it."""
        discovered = self.assessment.discovered
        if discovered is not None and "total_s" in discovered.timing:
            return discovered.timing["total_s"]
        return self.assessment.all_chains.timing.get("total_s")

    @property
    def row(self) -> dict[str, Any]:
        """Its row of the table."""
        scores, model = self.part.scores, self.assessment.model
        return {
            "name": self.name,
            "objective": self.assessment.all_chains.objective.name,
            "free_run_rmse": scores.free_run.rmse,
            "free_run_nmse": scores.free_run.nmse,
            "free_run_fit": scores.free_run.fit,
            "one_step_rmse": scores.one_step.rmse,
            "n_terms": len(model.structure),
            "coverage": scores.coverage,
            "diverged": scores.diverged,
            "verdict": self.assessment.verdict.level,
            "seconds": self.seconds,
        }

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values; scores have the one shape of all JSON."""
        return {
            "name": self.name,
            "objective": self.assessment.all_chains.objective.name,
            "equation": self.assessment.model.equation,
            "n_terms": len(self.assessment.model.structure),
            "scores": {self.part.name: self.part.scores.plain},
            "verdict": self.assessment.verdict.plain,
            "seconds": self.seconds,
        }


@dataclass(frozen=True, eq=False, repr=False)
class Compared:
    """Runs, the best free run first, with what is to be known before one believes it.

    Parameters
    ----------
    runs : tuple of ComparedRun
    notes : tuple of str
        What they were compared on, and what makes that less than fair; sentences.
    """

    runs: tuple[ComparedRun, ...]
    notes: tuple[str, ...]

    @property
    def part_name(self) -> str:
        """What the data are called: ``train``, ``validation``, or the name of the test data."""
        return self.runs[0].part.name

    @property
    def best(self) -> str:
        """The name of the run whose free run is best."""
        return self.runs[0].name

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row for each run, the best first; NaN where there is no score, as of a lost free run.

        RMSE in the unit of the output, NMSE in percent of its variance, fit 100 (1 − RMSE/σ) in
        percent; coverage of the 95 % band and the draws that ran away (`diverged`) are shares.
        """
        import pandas as pd

        frame = pd.DataFrame([run.row for run in self.runs])
        numbers = [name for name in frame if name not in ("name", "objective", "verdict")]
        return frame.astype({name: float for name in numbers if name != "n_terms"})

    @property
    def plain(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "part": self.part_name,
            "best": self.best,
            "notes": list(self.notes),
            "runs": [run.plain for run in self.runs],
        }

    @property
    def texts(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The table for people: its heads and its rows, as texts."""
        heads = ("run", "objective", "RMSE", "fit", "one step", "terms", "in band", "ran away")
        rows: list[tuple[str, ...]] = []
        for run in self.runs:
            found = run.row
            rows.append(
                (
                    run.name,
                    found["objective"],
                    _figure(found["free_run_rmse"], ".4g"),
                    _figure(found["free_run_fit"], ".1f", " %"),
                    _figure(found["one_step_rmse"], ".4g"),
                    str(found["n_terms"]),
                    UNKNOWN if found["coverage"] is None else percent(found["coverage"]),
                    percent(found["diverged"]),
                    LEVEL_WORDS[found["verdict"]],
                    _figure(found["seconds"], ".1f"),
                )
            )
        return (*heads, "verdict", "seconds"), rows

    def __repr__(self) -> str:
        heads, rows = self.texts
        widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
        lines = [
            "  ".join(
                text.ljust(width) if i < 2 else text.rjust(width)
                for i, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in (heads, *rows)
        ]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def compare_runs(
    runs: Mapping[str, Collection],
    tests: Mapping[str, Dataset] | None = None,
    test_name: str = TEST,
    draws: int | None = None,
) -> Compared:
    """Hold runs against the same data, scored on the same samples.

    Runs look back over windows of different lengths. So that all are scored on the same samples,
    the record of a short window begins as much later: each is seeded by what was measured just
    before the first sample that is scored.

    Parameters
    ----------
    runs : mapping of str to Collection
        By name, in any order.
    tests : mapping of str to Dataset, optional
        The test data with the signals of each run, by the same names. Default: the data that were
        held out, where all runs held out the same; else what each was fitted to.
    test_name : str
        What the test data are called.
    draws : int, optional
        How many models are run for the bands. Default: 200, fewer of very long records.
    """
    chosen, name, notes = _choose_data(runs, tests, test_name)
    longest = max(run.max_lag for run in runs.values())
    found = [
        _compared(key, run, chosen[key], name, longest, tests is not None, draws)
        for key, run in runs.items()
    ]
    is_alike = _are_alike(list(chosen.values()))
    if len({run.max_lag for run in runs.values()}) > 1:
        lags = ", ".join(f"{key} {run.max_lag}" for key, run in runs.items())
        notes.append(
            f"the runs look back over different numbers of samples ({lags}); all are scored from"
            f" sample {longest} of each record on"
        )
    return Compared(tuple(sorted(found, key=lambda run: _rank(run, is_alike))), tuple(notes))


def _choose_data(
    runs: Mapping[str, Collection], tests: Mapping[str, Dataset] | None, test_name: str
) -> tuple[Mapping[str, Dataset], str, list[str]]:
    """What each run is compared on, what that is called, and what is to be said of it."""
    fitted = {name: run.data for name, run in runs.items()}
    held_out = {name: run.held_out for name, run in runs.items() if run.held_out is not None}
    notes = list(notes_on_fitted(fitted))
    if tests is not None:
        return tests, test_name, [*notes, *notes_on_tested(tests, test_name, fitted, held_out)]
    is_held_out = len(held_out) == len(runs) and _are_alike(list(held_out.values()))
    n_chosen = sum(run.n_chains > 1 for run in runs.values()) if is_held_out else 0
    notes += notes_on_parts(is_held_out, len(held_out), len(runs), n_chosen > 0)
    return (held_out, VALIDATION, notes) if is_held_out else (fitted, TRAIN, notes)


def _are_alike(data: Sequence[Dataset]) -> bool:
    return all(is_same(data[0], other) for other in data[1:])


def _compared(
    name: str,
    run: Collection,
    data: Dataset,
    part_name: str,
    longest: int,
    is_test: bool,
    draws: int | None,
) -> ComparedRun:
    """One run on its data, cut such that scores begin after `longest` samples of each record."""
    data.require_window(longest)
    late = longest - run.max_lag
    cut = data if late == 0 else _without_first(data, late)
    assessment = assess(run, cut if is_test else None, draws, part_name if is_test else TEST)
    part = next((part for part in assessment.parts if part.data is cut), None)
    if part is None:
        n_draws = draws or affordable_draws(cut.n_samples)
        part = Part(part_name, cut, assessment.posterior, run, n_draws)
    return ComparedRun(name, assessment, data, part)


def _without_first(data: Dataset, n: int) -> Dataset:
    """The same data without the first `n` samples of each record."""
    records = tuple(
        replace(record, inputs=record.inputs[n:], output=record.output[n:])
        for record in data.records
    )
    return replace(data, records=records)


def _rank(run: ComparedRun, is_alike: bool) -> tuple[bool, float, float]:
    """By the error of the free run, a share of the variance where the data differ; lost ones last.

    Of free runs that are equal, or all lost, the one with fewer draws that ran away is first.
    """
    scores = run.part.scores
    error = scores.free_run.rmse if is_alike else scores.free_run.nmse
    is_lost = scores.free_run.rmse is None
    return is_lost, math.inf if error is None else error, scores.diverged


def with_signals(data: Dataset, run: Collection) -> Dataset:
    """Data with exactly the signals of a run: further inputs are left out."""
    names = run.data.names
    if data.names.output != names.output:
        raise AdjoinError(
            f"the data have the output '{data.names.output}', but the run is of '{names.output}';"
            " give data that have it"
        )
    if data.names == names:
        return data
    pairs = zip(data.records, as_inputs(data, names)[0], strict=True)
    records = tuple(replace(record, inputs=inputs) for record, inputs in pairs)
    return replace(data, records=records, names=names)


def _figure(value: float | None, form: str, unit: str = "") -> str:
    return UNKNOWN if value is None else f"{value:{form}}{unit}"
