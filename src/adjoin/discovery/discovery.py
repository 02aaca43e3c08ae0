"""`discover`: the whole way from data to an answer, and `Discovery`, what it ends with.

Receives data and what a user allows; takes the steps of ``work`` and puts together what came of
them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from adjoin.checks import require_count
from adjoin.cluster.connection import Scheduler, check_scheduler
from adjoin.cluster.executor import executor_of
from adjoin.data.dataset import Dataset
from adjoin.data.readers import read_data
from adjoin.discovery.folds import Fold
from adjoin.discovery.kept import Kept
from adjoin.discovery.ranking import Candidate
from adjoin.discovery.settings import Setting, read_effort
from adjoin.discovery.shown import discovery_html
from adjoin.discovery.work import Clock, Settled, Work
from adjoin.discovery.workers import Workers
from adjoin.errors import AdjoinError
from adjoin.grammar.library import Functions
from adjoin.inference.checkpoint import keep
from adjoin.inference.described import describe_run
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.results.advice import Verdict
from adjoin.results.assessment import Assessment, assess
from adjoin.results.average import Average, distance
from adjoin.results.discovered import Discovered, Trial
from adjoin.threads import one_blas_thread

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Discovery:
    """What was tried, what won, and what it is worth.

    Parameters
    ----------
    candidates : tuple of Candidate
        All that were compared, best held-out free run first.
    compared_with : Candidate or None
        The path with the smallest error of those that were looked at twice.
    chosen : Candidate or None
        That one, or one that is as good and preferred to it; None where nothing is better than
        the mean of the output.
    posterior : Posterior
        Of the chosen setting, or of coefficients and noise of the chosen terms, fitted to all data.
    average : Average
        The best together, fitted to all data; the first is the equation.
    folds : tuple of Fold
        What was held out in turn.
    timing : dict
        Seconds of its steps by the clock.
    """

    candidates: tuple[Candidate, ...]
    compared_with: Candidate | None
    chosen: Candidate | None
    posterior: Posterior
    average: Average
    folds: tuple[Fold, ...]
    timing: dict[str, float]

    def __repr__(self) -> str:
        return f"Discovery({self.verdict.summary}: {self.model.equation})"

    def _repr_html_(self) -> str:
        return discovery_html(self, self.shown)

    def _repr_latex_(self) -> str:
        return self.model._repr_latex_()

    @property
    def model(self) -> Model:
        """The equation, fitted to all data."""
        return self.average.models[0]

    @property
    def equation(self) -> str:
        """The equation as text."""
        return self.model.equation

    @cached_property
    def assessment(self) -> Assessment[Posterior]:
        """What tables and pages show: the equation on all data, and on what one fold held out."""
        return assess(self.posterior)

    @property
    def verdict(self) -> Verdict:
        """What it is worth: held-out free runs first."""
        return self.assessment.verdict

    @property
    def settings(self) -> dict[str, Any]:
        """What was asked for."""
        return dict(_discovered(self.posterior).settings)

    def with_source(
        self, files: Sequence[str], options: Mapping[str, Any] | None = None
    ) -> Discovery:
        """The same, knowing which files the data are from, and the options that were typed."""
        return replace(self, posterior=self.posterior.with_source(files, options=options))

    def simulate(self, u: Any, y_init: Any = None) -> Any:
        """The median of the best candidates' free runs; a `Dataset` seeds itself."""
        return self.average.simulate(u, y_init)

    @cached_property
    def shown(self) -> list[Candidate]:
        """The best size of every setting, and the best and the chosen one, in their order."""
        return best_by_setting(self.candidates, self.compared_with, self.chosen)

    @cached_property
    def table(self) -> pd.DataFrame:
        """What is shown of the candidates, best first."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "setting": one.setting.words,
                    "n_terms": one.n_terms,
                    "held_out_nmse": one.nmse,
                    "sd": one.sd,
                    "n_lost": one.n_lost,
                    "chosen": one is self.chosen,
                }
                for one in self.shown
            ]
        )


def _discovered(posterior: Posterior) -> Discovered:
    assert posterior.discovered is not None  # `discover` has put it there
    return posterior.discovered


def best_by_setting(candidates: Sequence[Candidate], *kept: Candidate | None) -> list[Candidate]:
    """Of every setting its best size, in the order of the ranking; and those to be kept.

    Another size of a setting of which one is kept is left out, unless it is kept too.
    """
    sizes: dict[Setting, list[Candidate]] = {}
    for one in candidates:
        sizes.setdefault(one.setting, []).append(one)
    found = [
        one
        for own in sizes.values()
        for one in [one for one in own if any(one is other for other in kept)] or own[:1]
    ]
    return sorted(found, key=candidates.index)


def prepare_work(
    data: Dataset,
    *,
    validation: float | None = None,
    max_lag: int | None = None,
    max_degree: int | None = None,
    functions: Functions = (),
    initial: str | None = None,
    effort: str = "normal",
    seed: int = 0,
    n_jobs: int | None = None,
    observe: Callable[[str], None] | None = None,
) -> tuple[Work, dict[str, Any]]:
    """What all steps of a discovery share, and what was asked for, as plain values.

    Arguments that mean nothing are refused; nothing is computed yet.
    """
    work = Work(data, read_effort(effort), functions, initial, seed, n_jobs, observe)
    for name, bound in (("max_lag", max_lag), ("max_degree", max_degree)):
        if bound is not None:
            require_count(name, bound)
    asked = {
        "effort": effort,
        "validation": validation,
        "max_lag": max_lag,
        "max_degree": max_degree,
        "functions": list(work.function_names),
        "initial": initial,
        "seed": seed,
    }
    return work, asked


@one_blas_thread()
def discover(
    data: Dataset | str | os.PathLike[str],
    inputs: str | Iterable[str] | None = None,
    output: str | None = None,
    *,
    validation: float | None = None,
    max_lag: int | None = None,
    max_degree: int | None = None,
    functions: Functions = (),
    initial: str | None = None,
    effort: str = "normal",
    seed: int = 0,
    n_jobs: int | None = None,
    observe: Callable[[str], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    scheduler: Scheduler = None,
) -> Discovery:
    """Compare many ways to model the data on held-out free runs, and fit the best to all of them.

    Candidates differ in what is made small (the error of free runs, or of predictions one step
    ahead), in lags, degree and size, and in whether signals are taken as deviations from their
    means; linear models of all lags are among them, and posteriors of structures in the settings
    that do best. Each is fitted without a part of the data, fold after fold, and its free run there
    decides.

    Parameters
    ----------
    data : Dataset, or path
        As `adjoin.read_data` and `Dataset.from_arrays` give it, or a file to read.
    inputs, output : str
        Columns of a file, as for `adjoin.read_data`.
    validation : float, optional
        Hold out this last share of every record. Default: whole records in turn where there are at
        least three, else stretches of time in turn.
    max_lag, max_degree : int, optional
        Bounds of what is tried. Default: lags up to 10, beyond where linear models gain by it;
        degree 3.
    functions : sequence of str, optional
        Functions that may be in the equation, such as ``"abs"`` or ``"hinge"``.
    initial : str, optional
        Known terms of every model, such as ``"u(k)*abs(u(k)) + udot(k)"``.
    effort : {"quick", "normal", "thorough"}
        How much is tried.
    seed : int
        The result is a function of data, arguments and seed.
    n_jobs : int, optional
        How many candidates are worked out at a time. Default: one per core.
    observe : callable, optional
        Told, in words, what is being done.
    checkpoint : path, optional
        A folder, new or of an earlier call, where all that takes long is kept as soon as it is
        there: the same call goes on from it, and ends as if it had never been stopped.
    scheduler : str or dask.distributed.Client, optional
        Of a Dask cluster, whose workers do the work: its address, or a client. The result does not
        depend on it. Needs ``pip install 'adjoin[dask]'``.
    """
    clock = Clock()
    check_scheduler(scheduler)
    if isinstance(data, str | os.PathLike):
        data = read_data(data, inputs, output)
    elif inputs is not None or output is not None:
        raise AdjoinError("inputs and output are columns of a file; a Dataset has its signals")
    work, asked = prepare_work(
        data,
        validation=validation,
        max_lag=max_lag,
        max_degree=max_degree,
        functions=functions,
        initial=initial,
        effort=effort,
        seed=seed,
        n_jobs=n_jobs,
        observe=observe,
    )
    described = partial(describe_run, "discover", asked, data)
    with keep(checkpoint, described, seed) as kept, executor_of(scheduler) as executor:
        work.kept, work.workers = Kept(kept), Workers(n_jobs, executor)
        folds = work.hold_out(validation, max_lag)
        ranked = work.compare(folds, max_lag, max_degree)
        timing = {"scan_s": clock.lap()}
        settled = work.settle(ranked, folds)
    timing |= {"settle_s": clock.lap(), "total_s": clock.total}
    found = _put_together(settled, folds, data, asked, timing)
    return Discovery(
        tuple(settled.ranked),
        settled.best,
        settled.chosen,
        replace(settled.posterior, discovered=found),
        settled.average,
        folds,
        timing,
    )


def _put_together(
    settled: Settled,
    folds: Sequence[Fold],
    data: Dataset,
    asked: dict[str, Any],
    timing: dict[str, float],
) -> Discovered:
    """What goes with the posterior, as plain values."""
    best, chosen = settled.best, settled.chosen
    shown = best_by_setting(settled.ranked, best, chosen)
    trial, average = settled.trial, settled.average
    return Discovered(
        candidates=tuple(
            one.plain | {"best": one is best, "chosen": one is chosen} for one in shown
        ),
        n_tried=len(settled.ranked),
        n_lost=sum(one.n_lost > 0 for one in settled.ranked),
        folds=tuple(fold.words for fold in folds),
        beyond=_farthest(folds),
        apart=_apart(average, data),
        settings=asked,
        average=average,
        trial=Trial(trial.traces, trial.run, trial.chain_numbers),
        timing=timing,
        tried_on=settled.fold.words,
        tried_records=settled.fold.records,
    )


def _farthest(folds: Sequence[Fold]) -> dict[str, float]:
    """Signals that go farther in some held-out data than in what was fitted, and how many times."""
    found: dict[str, float] = {}
    for fold in folds:
        for name, times in fold.beyond.items():
            found[name] = max(times, found.get(name, 0.0))
    return found


def _apart(average: Average, data: Dataset) -> float | None:
    """How far the equation's free run is from the average, in standard deviations of the output."""
    if len(average) < 2:
        return None
    seeds = [output[: average.n_seed] for output in data.outputs]
    own = average.models[0].free_response(data.inputs, seeds).series
    together = average.runs_of(data)
    size = float(np.std(np.concatenate(data.outputs)))
    found = distance(own, together, size)
    return found if math.isfinite(found) else None
