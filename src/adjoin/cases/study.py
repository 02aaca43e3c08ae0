"""Runs a case: fits every setup, selects a chain by validation, and only then scores on the test.

Receives a `Plan`; gives a `Study`, whose rows are plain values and the series that pictures need.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from adjoin.arrays import Float1D
from adjoin.cases.setups import ABC, WAVES, Plan, Setup
from adjoin.data.dataset import Dataset
from adjoin.datasets import Benchmark, silverbox
from adjoin.errors import AdjoinError, DivergenceWarning
from adjoin.grammar import Structure
from adjoin.inference.rows import Rows
from adjoin.inference.runner import Snapshot
from adjoin.model import Model
from adjoin.posterior import Posterior
from adjoin.results.prediction import Prediction
from adjoin.scores import nmse, rmse
from adjoin.threads import n_workers

DRAWS = {WAVES: 400}
"""Realisations of the forward integration; of the other cases 100, as in the paper."""
_N_DRAWS = 100
_RUN_AWAY = 1e6  # percent: a run, or a draw in a mean of runs, that is on its way to infinity
_OFFICIAL_TRAIN = 0.8  # of the official training part; the rest selects the chain


@dataclass(frozen=True)
class Score:
    """The error of a free run: NMSE in percent of the variance of the measured output, and RMSE.

    None: it diverges, or is beyond a hundred standard deviations on its way there.
    """

    nmse: float | None
    rmse: float | None


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
        By test set and predictor: `selected map`, `selected fwd`, `pooled map`, `pooled fwd`; the
        forward ones on the main test set only.
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
        The MAP model of the selected chain.
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

    def score(self, predictor: str = "selected map", test: str | None = None) -> Score:
        """One score; default: on the main test set."""
        if not self.scores:
            return Score(None, None)
        by_predictor = self.scores[test] if test is not None else next(iter(self.scores.values()))
        return by_predictor[predictor]


@dataclass(frozen=True, eq=False)
class Study:
    """A case that was run.

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
        Never to be mixed with the others.
    seconds : float
        Of it all.
    is_complete : bool
        False if it was stopped.
    """

    plan: Plan
    benchmark: Benchmark
    rows: tuple[Row, ...]
    white_box: tuple[Model, Score] | None
    official: Benchmark | None
    official_rows: tuple[Row, ...]
    seconds: float
    is_complete: bool

    @property
    def every_row(self) -> tuple[Row, ...]:
        """Rows of both protocols."""
        return self.rows + self.official_rows

    @property
    def failed(self) -> tuple[Row, ...]:
        """Setups of which nothing came."""
        return tuple(row for row in self.every_row if row.error)

    def best(self, objective: str | None = None) -> Row | None:
        """The row with the smallest validation error; the test has no say in it."""
        found = [
            row for row in self.rows if not row.error and objective in (None, row.setup.objective)
        ]
        return min(found, key=lambda row: row.validation, default=None)


class Step(NamedTuple):
    """Where a study stands: the setup at work, how much of it is sampled; done with its row."""

    number: int
    setup: Setup
    share: float
    row: Row | None = None


Watcher = Callable[[Step], None]


def run_study(plan: Plan, watch: Watcher = lambda step: None) -> Study:
    """Run every setup of a plan; one that cannot be run becomes a row that says why.

    Ctrl-C ends it with the rows that are done; with none it is raised.
    """
    begin = time.perf_counter()
    benchmark = plan.benchmark()
    official = _with_validation(silverbox(plan.data, "official")) if plan.official_setups else None
    white = _white_box(benchmark)  # what it refuses would be refused by most setups, but later
    work: list[tuple[Setup, Benchmark]] = [(setup, benchmark) for setup in plan.setups]
    if official is not None:
        work += [(setup, official) for setup in plan.official_setups]
    rows: list[Row] = []
    is_complete = True
    try:
        for number, (setup, data) in enumerate(work):
            rows.append(_run(plan, number, setup, data, watch))
            watch(Step(number, setup, 1.0, rows[-1]))
    except KeyboardInterrupt:
        if not rows:
            raise
        is_complete = False
    n_own = len(plan.setups)
    return Study(
        plan,
        benchmark,
        tuple(rows[:n_own]),
        white,
        official,
        tuple(rows[n_own:]),
        time.perf_counter() - begin,
        is_complete,
    )


def _with_validation(benchmark: Benchmark) -> Benchmark:
    """A protocol that leaves validation to the user, with the last part of the training for it."""
    train, validation = benchmark.train.split(_OFFICIAL_TRAIN)
    share = f"of these the first {100 * _OFFICIAL_TRAIN:.0f} % fitted, the rest validation"
    return replace(
        benchmark,
        train=train,
        validation=validation,
        protocol=f"{benchmark.protocol}; {share}",
    )


def _run(plan: Plan, number: int, setup: Setup, benchmark: Benchmark, watch: Watcher) -> Row:
    """Fit, select, and then look at the test sets."""
    done = [0] * plan.n_chains

    def observe(snapshot: Snapshot) -> None:
        done[snapshot.chain] = snapshot.n_samples
        watch(Step(number, setup, sum(done) / (plan.n_chains * setup.samples)))

    watch(Step(number, setup, 0.0))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", DivergenceWarning)  # scores and shares of draws say it
        try:
            fitted = _fit(plan, setup, benchmark, observe)
            row = _scored(setup, fitted, benchmark, DRAWS.get(plan.case, _N_DRAWS))
        except AdjoinError as error:
            row = Row(setup, error=str(error))
    return replace(row, notes=tuple(dict.fromkeys(str(warning.message) for warning in caught)))


class _Fitted(NamedTuple):
    every: Posterior
    selected: Posterior
    validation: float
    seconds: float


def _fit(
    plan: Plan, setup: Setup, benchmark: Benchmark, observe: Callable[[Snapshot], None]
) -> _Fitted:
    """The posterior, and the chain that validation selects; no test set is within reach."""
    train, validation = benchmark.train, benchmark.validation
    assert validation is not None
    if setup.n_train is not None:
        train = train[: setup.n_train]
    identifier = setup.identifier(benchmark.initial, plan.n_chains, plan.seed, plan.n_jobs, observe)
    begin = time.process_time()
    every = identifier.fit(train).posterior_
    spent = time.process_time() - begin
    if not identifier.is_complete_:
        raise KeyboardInterrupt  # half a chain is no result to hold against the paper's
    selected = every.select_chain(validation)
    run = _free_run(selected.map_model, validation, every.max_lag)
    error = _score(validation, run, every.max_lag).rmse
    # What other programs take does not count, nor does compiling: the smaller has only one of them.
    cores = n_workers(plan.n_jobs, plan.n_chains)
    taken = cores * (every.timing["total_s"] - every.timing["compile_s"])
    seconds = min(spent, taken) / plan.n_chains
    return _Fitted(every, selected, math.inf if error is None else error, seconds)


def _scored(setup: Setup, fitted: _Fitted, benchmark: Benchmark, draws: int) -> Row:
    every, selected = fitted.every, fitted.selected
    chains = [every.chain(number) for number in every.chain_numbers]
    scores: dict[str, dict[str, Score]] = {}
    series = None
    for name, test in benchmark.tests.items():
        run = _free_run(selected.map_model, test, every.max_lag)
        scores[name] = {
            "selected map": _score(test, run, every.max_lag),
            "pooled map": _score(
                test, _free_run(every.map_model, test, every.max_lag), every.max_lag
            ),
        }
        if series is None:
            seeds = test.y[: every.max_lag]
            prediction = selected.simulate(test.u, seeds, draws)
            pooled = every.simulate(test.u, seeds, draws)
            scores[name]["selected fwd"] = _score(test, prediction.mean, every.max_lag)
            scores[name]["pooled fwd"] = _score(test, pooled.mean, every.max_lag)
            series = Series(test.y, run, prediction, every.max_lag)
            pooled_diverged = pooled.diverged
    assert series is not None
    ahead = selected.map_model.predict(benchmark.test.u, benchmark.test.y)
    masses = list(_truth_masses(chains, benchmark))
    return Row(
        setup,
        seconds=fitted.seconds,
        selected_chain=selected.chain_numbers[0],
        n_chains=every.n_chains,
        validation=fitted.validation,
        scores=scores,
        one_step=_score(benchmark.test, ahead, every.max_lag),
        n_terms=float(np.median([np.median(chain.draws.size) for chain in chains])),
        n_recovered=sum(is_mode for is_mode, _ in masses) if masses else None,
        mass=float(np.mean([mass for _, mass in masses])) if masses else None,
        coverage=series.prediction.coverage(series.measured),
        coverage_3_sigma=_within_three_sigma(series),
        diverged=series.prediction.diverged,
        pooled_diverged=pooled_diverged,
        power=every.power,
        equation=selected.map_model.equation,
        parameters=tuple(_parameters(setup, selected, benchmark)),
        is_given_truth=_has_visited_truth(selected, benchmark),
        series=series,
    )


def _free_run(model: Model, test: Dataset, n_seed: int) -> Float1D:
    found: Float1D = model.simulate(test.u, test.y[:n_seed])
    return found


def _score(test: Dataset, run: Float1D, n_seed: int) -> Score:
    pair = test.y[n_seed:], run[n_seed:]
    with np.errstate(over="ignore", invalid="ignore"):  # that is said by the missing score
        found = Score(nmse(*pair), rmse(*pair))
    return found if found.nmse is not None and found.nmse < _RUN_AWAY else Score(None, None)


def _within_three_sigma(series: Series) -> float:
    part = slice(series.n_seed, None)
    error = np.abs(series.measured - series.prediction.mean)[part]
    return float(np.mean(error <= 3.0 * series.prediction.sd[part]))


def _truth_masses(
    chains: Sequence[Posterior], benchmark: Benchmark
) -> Iterator[tuple[bool, float]]:
    """For each chain whether its most frequent structure is the truth, and the truth's mass."""
    if benchmark.truth is None:
        return
    truth = str(benchmark.truth.structure)
    for chain in chains:
        frame = chain.structures
        is_truth = frame["structure"] == truth
        yield bool(is_truth.iloc[0]), float(frame["mass"][is_truth].sum())


def _parameters(setup: Setup, selected: Posterior, benchmark: Benchmark) -> Iterator[Parameter]:
    truth: dict[str, float] = dict(benchmark.constants)
    frame: Any = None
    if setup.initial_mode == "joint" and benchmark.initial is not None:
        frame = selected.terms[selected.terms["term"].isin(_fixed_terms(selected))]
    elif benchmark.truth is not None:
        model = benchmark.truth
        truth = dict(zip(str(model.structure).split(" + "), model.theta, strict=True))
        if _has_visited_truth(selected, benchmark):
            frame = selected.coefficients(model.structure)
    if frame is None:
        frame = selected.coefficients(0)
    fixed = () if setup.initial_mode != "residual" else _fixed_terms(selected)
    for row in frame.to_dict("records"):
        mean, sd, low, high = (float(row[name]) for name in ("mean", "sd", "q025", "q975"))
        if row["term"] in fixed:  # fitted before, and kept: there is no posterior
            sd = low = high = math.nan
        yield Parameter(row["term"], mean, sd, low, high, truth.get(row["term"]))
    noise = selected.noise
    has_spread = setup.objective != ABC  # a free run has one that the tolerance implies
    yield Parameter(
        "noise",
        float(noise["mean"]),
        float(noise["sd"]) if has_spread else math.nan,
        float(noise["q025"]) if has_spread else math.nan,
        float(noise["q975"]) if has_spread else math.nan,
        # Where no model of the class is the truth, residuals hold more than the sensor's noise.
        benchmark.noise_sd if benchmark.truth is not None else None,
    )


def _fixed_terms(posterior: Posterior) -> list[str]:
    return str(posterior.grammar.alphabet.fixed).split(" + ")


def _has_visited_truth(posterior: Posterior, benchmark: Benchmark) -> bool:
    truth = benchmark.truth
    return truth is not None and str(truth.structure) in set(posterior.structures["structure"])


def _white_box(benchmark: Benchmark) -> tuple[Model, Score] | None:
    """The known physics alone, its coefficients by least squares on the training part."""
    if benchmark.initial is None:
        return None
    names, n_seed = benchmark.train.names, benchmark.n_seed
    fixed = Structure.parse(benchmark.initial, names)
    model = Rows.unscaled(benchmark.train, n_seed).white_box(fixed)
    test = benchmark.test
    return model, _score(test, _free_run(model, test, n_seed), n_seed)
