"""`adjoin.compare`: several runs in one table and one picture.

Receives runs as a user has them, as posteriors or files; what is computed is in
``results/comparison.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from adjoin.arrays import Float1D
from adjoin.data.dataset import Dataset
from adjoin.data.readers import read_measured
from adjoin.errors import AdjoinError
from adjoin.markup import html_notes, html_table
from adjoin.posterior import Posterior, load
from adjoin.report.colours import MUTED
from adjoin.report.labels import plain
from adjoin.report.plots_runs import plot_simulations
from adjoin.report.style import SMALL, WIDE
from adjoin.results.assessment import stretches
from adjoin.results.comparison import Compared, ComparedRun, compare_runs, with_signals
from adjoin.results.overlap import is_same
from adjoin.results.scoring import TEST, TRAIN, VALIDATION

_SHORT = 400  # samples that are shown at once
_MOST = 6  # simulations that one picture can show


class RunComparison(Compared):
    """Runs side by side, the best simulation first: `table`, `plain`, `notes` and `plot`."""

    def plot(
        self,
        record: int = 0,
        first: int | None = None,
        last: int | None = None,
        width: float = WIDE,
    ) -> Figure:
        """Measured output and the simulation (free run) of every run, with their errors below.

        Of a long record it shows the stretch where the output moves most. Runs that were compared
        on other data than the best one, and those after the sixth, are named and not drawn.

        Parameters
        ----------
        record : int
            Which one, where there are several.
        first, last : int, optional
            The samples from `first` up to `last` instead.
        width : float
            Of the figure in inches.
        """
        best = self.runs[0]
        if not 0 <= record < best.data.n_records:
            raise AdjoinError(f"there is no record {record}; there are {best.data.n_records}")
        drawn = [run for run in self.runs if is_same(run.data, best.data)][:_MOST]
        measured = best.data.outputs[record]
        begin, end = _stretch(best, record, len(measured)) if first is last is None else (0, None)
        figure = plot_simulations(
            {_label(run): _aligned(run, record, len(measured)) for run in drawn},
            measured,
            time=best.data.sampling_time,
            first=begin if first is None else first,
            last=end if last is None else last,
            output=best.data.names.output,
            width=width,
        )
        if others := [run.name for run in self.runs if run not in drawn]:
            said = plain(f"not drawn: {', '.join(others)}")
            figure.text(0.01, 0.01, said, color=MUTED, fontsize=SMALL, parse_math=False)
        return figure

    def _repr_html_(self) -> str:
        return html_table(*self.texts) + html_notes(self.notes)


def _stretch(run: ComparedRun, record: int, n_samples: int) -> tuple[int, int]:
    """Where a closer look at a long record begins and ends; all of a short one."""
    if n_samples <= _SHORT:
        return 0, n_samples
    late = n_samples - len(run.part.data.records[record])
    _, begin, end = list(stretches(run.part))[record]
    return begin + late, end + late


def _aligned(run: ComparedRun, record: int, n_samples: int) -> Float1D:
    """A simulation as long as the record: nothing before the samples that seed it."""
    simulated = run.part.model_run[record]
    return np.concatenate([np.full(n_samples - len(simulated), np.nan), simulated])


def _label(run: ComparedRun) -> str:
    """What the legend says of a run."""
    error, _, fit = run.part.scores.free_run
    if error is None:
        return f"{run.name}, runs away"
    return f"{run.name}, RMSE {error:.3g}" if fit is None else f"{run.name}, fit {fit:.1f} %"


def compare(
    runs: Iterable[Posterior | str | os.PathLike[str]]
    | Mapping[str, Posterior | str | os.PathLike[str]],
    data: Dataset | str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    *,
    draws: int | None = None,
    decimal: str | None = None,
) -> RunComparison:
    """Compare runs by their simulation (free run), their predictions and their bands.

    All are scored on the same samples. Where that cannot be, or where data are not new to a run,
    the `notes` of what comes back say so.

    Parameters
    ----------
    runs : sequence of Posterior or path, or mapping of names to them
        As `adjoin.load` gives them, or the files; a file is called by its name, a posterior
        ``run 1``, ``run 2``, … by its place.
    data : Dataset or path, or a sequence of paths, optional
        Test data that no run has seen; of several files each is a record. Inputs that a run does
        not have are ignored. Default: the data that were held out, where all runs held out the
        same, else what each was fitted to.
    draws : int, optional
        How many models are run for the bands. Default: 200, fewer of very long records.
    decimal : {".", ","}, optional
        The decimal mark of a text table. Default: found out.

    Returns
    -------
    RunComparison
        ``table`` (a DataFrame, the best simulation first), ``plain`` (for JSON), ``notes``,
        ``best``, and ``plot()``.
    """
    found = _named(runs)
    if data is None:
        compared = compare_runs(found, draws=draws)
    elif isinstance(data, Dataset):
        name = TEST if data.label in ("", TRAIN, VALIDATION) else data.label
        tests = {key: _of(key, with_signals, data, run) for key, run in found.items()}
        compared = compare_runs(found, tests, name, draws)
    else:
        files = [data] if isinstance(data, str | os.PathLike) else list(data)
        tests = {
            key: Dataset.join([_of(key, read_measured, f, run.data, decimal) for f in files])
            for key, run in found.items()
        }
        compared = compare_runs(found, tests, " + ".join(Path(f).name for f in files), draws)
    return RunComparison(compared.runs, compared.notes)


def _of(name: str, read: Callable[..., Dataset], *arguments: Any) -> Dataset:
    """The data of one run; an error says of which."""
    try:
        return read(*arguments)
    except AdjoinError as error:
        raise AdjoinError(f"{name}: {error}") from None


def _named(runs: Any) -> dict[str, Posterior]:
    """Every run by a name of its own."""
    if isinstance(runs, Posterior | str | os.PathLike):
        raise AdjoinError("compare takes a list of runs: compare([first, second])")
    if isinstance(runs, Mapping):
        pairs = [(str(name), run) for name, run in runs.items()]
    else:
        pairs = [(_name(run, i), run) for i, run in enumerate(runs, start=1)]
        names = [name for name, _ in pairs]
        if len(set(names)) < len(names):  # of files with one name the folders tell them apart
            pairs = [(name if isinstance(r, Posterior) else os.fspath(r), r) for name, r in pairs]
    found = {name: run if isinstance(run, Posterior) else _loaded(run) for name, run in pairs}
    if len(found) < len(pairs):
        raise AdjoinError("a run is given twice; give each once")
    if not found:
        raise AdjoinError("there is no run to compare; give one at least, better two")
    return found


def _name(run: Any, place: int) -> str:
    is_path = isinstance(run, str | os.PathLike)
    return Path(run).name if is_path else f"run {place}"


def _loaded(run: Any) -> Posterior:
    if isinstance(run, str | os.PathLike):
        return load(run)
    raise AdjoinError(
        f"a run to compare is a Posterior, as posterior_ of an Identifier is, or the path of a"
        f" saved one, not {run!r:.60}"
    )
